# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""From the results of cases to points.

The steps of an exercise (the enumerators of `step` in its contract) weigh the same; what belongs to
no step, if there is such, weighs as much as one. A part's points are the share of its tests that
pass. A test with a hundred parameters counts once, and passes if all of them do.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

from lablib.cuda_tokens import all_tokens

FULL = 100
HAZARD = Fraction(1, 2)  # what is left of the points where a hazard was found
GENERAL = "in general"


@dataclass
class Part:
    name: str
    passed: List[str] = field(default_factory=list)  # tests
    failed: List[str] = field(default_factory=list)

    @property
    def share(self) -> Fraction:
        total = len(self.passed) + len(self.failed)
        return Fraction(len(self.passed), total) if total else Fraction(0)


def steps_of(contract: Path) -> List[str]:
    """The enumerators of `enum class step` in a header; none if it has no such."""
    tokens = [token.text for token in all_tokens(contract.read_text(encoding="utf-8"))]
    for i in range(len(tokens) - 3):
        if tokens[i : i + 4] == ["enum", "class", "step", "{"]:
            names = tokens[i + 4 : tokens.index("}", i)]
            return [name for name in names if name.isidentifier()]
    return []


def test_of(case: str) -> str:
    """`Steps/Pixels.AreRight/one_17x1` is one of the cases of `Pixels.AreRight`."""
    suite, _, name = case.partition(".")
    return f"{suite.rsplit('/', 1)[-1]}.{name.split('/')[0]}"


def step_of(case: str, steps: Sequence[str]) -> str:
    """The step that a case is about, by the name of its parameter; the longest that fits."""
    parameter = case.partition(".")[2].partition("/")[2]
    fitting = [
        step for step in steps if re.search(rf"(?<![a-zA-Z0-9]){step}(?![a-zA-Z0-9])", parameter)
    ]
    return max(fitting, key=len, default=GENERAL)


def parts(cases: Dict[str, bool], steps: Sequence[str]) -> List[Part]:
    """The parts of an exercise. `cases`: whether each has passed."""
    tests: Dict[Tuple[str, str], bool] = {}
    for case, passed in cases.items():
        key = (step_of(case, steps), test_of(case))
        tests[key] = tests.get(key, True) and passed
    found = {name: Part(name) for name in (*steps, GENERAL)}
    for (step, test), passed in tests.items():
        (found[step].passed if passed else found[step].failed).append(test)
    return [part for part in found.values() if part.passed or part.failed]


def points(all_parts: Sequence[Part], has_hazard: bool) -> Fraction:
    if not all_parts:
        return Fraction(0)
    share = sum((part.share for part in all_parts), Fraction(0)) / len(all_parts)
    return FULL * share * (HAZARD if has_hazard else 1)
