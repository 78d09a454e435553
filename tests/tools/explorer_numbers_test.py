# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The site's explorers and the exercises that compute the same use the same numbers."""

import re
import unittest
from fractions import Fraction
from typing import Dict

from fakes import REPOSITORY

EXERCISE = REPOSITORY / "labs/21_profiling/1_roofline/reference.hpp"
EXPLORER = REPOSITORY / "site/static/explorers/roofline.js"


def number(text: str) -> Fraction:
    """Of `7.0 / 12`, `2 / 8` or `32`."""
    above, _, below = text.partition("/")
    return Fraction(above.strip()) / Fraction(below.strip() or "1")


def found(pattern: str, text: str) -> Dict[str, Fraction]:
    return {name: number(value) for name, value in re.findall(pattern, text)}


class RooflineTest(unittest.TestCase):
    def setUp(self) -> None:
        self.exercise = EXERCISE.read_text(encoding="utf-8")
        self.explorer = EXPLORER.read_text(encoding="utf-8")

    def test_the_kernels_have_the_same_intensities(self) -> None:
        of_exercise = found(r'\{course::\w+, "([^"]+)", ([0-9./ ]+)\}', self.exercise)
        of_explorer = found(r'\["([^"]+)", ([0-9./ ]+), "', self.explorer)
        self.assertEqual(len(of_exercise), 6)
        self.assertEqual(of_exercise, of_explorer)

    def test_the_data_sheet_has_the_same_roof(self) -> None:
        match = re.search(r"kDataSheet\{([0-9']+)e9, ([0-9']+)e9\}", self.exercise)
        assert match is not None
        bandwidth, peak = (part.replace("'", "") for part in match.groups())
        self.assertIn(f'"Bandwidth, GB/s", {{value: "{bandwidth}"', self.explorer)
        self.assertIn(f'"Peak rate, GFLOP/s", {{value: "{peak}"', self.explorer)


if __name__ == "__main__":
    unittest.main()
