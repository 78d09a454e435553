# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Home-made words in what students read."""

import tempfile
import unittest
from pathlib import Path
from typing import List, Tuple

from fakes import REPOSITORY
from lablib import rules, wording
from lablib.errors import LabError

LIST = """\
[[avoid]]
words = 'cargo(es)?'
say = "tile"

[[avoid]]
words = 'places (from|match)'
say = "coordinates"

[[avoid]]
names = 'which|kMine'
say = "version"

[[avoid]]
names = 'what'
folders = 'labs|solutions'
say = "a noun"
"""


class WordingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.write("docs/wording.toml", LIST)

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def found(self, path: str, text: str) -> List[Tuple[int, str]]:
        self.write(path, text)
        return [
            (finding.line, finding.message) for finding in rules.check_wording(self.root, [path])
        ]

    def test_pages(self):
        self.assertEqual(
            [(2, "'Cargo' is a word of our own; better: tile")],
            self.found("docs/05_x.md", "A tile.\nCargo.\n"),
        )
        self.assertEqual(1, len(self.found("labs/05_x/1_y/hints.md", "All places match.\n")))
        for text in (
            "supercargo, cargos\n",
            "decimal places\n",
            "the function `cargo()`\n",
            "```\ncargo\n```\n",
        ):
            with self.subTest(text):
                self.assertEqual([], self.found("README.md", text))

    def test_code(self):
        for text, lines in (
            ("/// The cargo.\nint x;\n", [1]),
            ("int x;\nint y;  ///< cargo\n", [2]),
            ('f();\nthrow wrong("3 places match");\n', [2]),
            ("// TODO(1): no cargo\nstruct cargo {};\n", [1]),
            ("int cargo = 3;  // a name\n", []),
        ):
            with self.subTest(text):
                found = self.found("labs/05_x/1_y/main.cpp", text)
                self.assertEqual(lines, [line for line, _ in found])

    def test_names(self):
        message = "'which' is no name for this; better: version"
        self.assertEqual(
            [(1, message), (2, message)],
            self.found("labs/05_x/1_y/y.cu", "void f(step which) {\n  use(of.which);\n}\n"),
        )
        self.assertEqual(1, len(self.found("tests/05_x/y.right/z.cu", "int kMine;\n")))
        self.assertEqual(
            [(2, message), (3, message)],
            self.found("labs/05_x/1_y/y.cu", "int x;\n#define USE(which) \\\n  use(which)\n"),
        )
        for path, text in (
            ("labs/05_x/1_y/y.cu", '// which\nint whichever, k_which; f("which");\n'),
            ("labs/05_x/1_y/y.cu", '#include "which.hpp"\nint Which;\n'),
            ("labs/05_x/1_y/hints.md", "which\n```\nint which;\n```\n"),
            ("tests/support/x.cpp", "int which;\n"),
        ):
            with self.subTest(path=path, text=text):
                self.assertEqual([], self.found(path, text))

    def test_names_in_some_folders_only(self):
        for path, found in (
            ("labs/05_x/1_y/y.hpp", 1),
            ("solutions/05_x/1_y/y.cu", 1),
            ("tests/05_x/y_test.cpp", 0),
            ("common/src/report.cpp", 0),
        ):
            with self.subTest(path):
                self.assertEqual(found, len(self.found(path, "void f(const view& what);\n")))

    def test_what_an_exception_says_is_a_name_of_the_library(self):
        for text, found in (
            ("print(error.what());\n", 0),
            ("const char* what() const noexcept override { return text; }\n", 0),
            ("refuse(f->what, what.size);\n", 2),
            ("what(3);\n", 1),
        ):
            with self.subTest(text):
                self.assertEqual(found, len(self.found("labs/05_x/1_y/main.cpp", text)))

    def test_outside_of_exercises_only_doc_comments_are_read(self):
        text = "// cargo\n/// cargo\n"
        self.assertEqual([2], [line for line, _ in self.found("common/src/report.cpp", text)])

    def test_which_files_are_read(self):
        for path, read in (
            ("docs/05_x.md", True),
            ("README.md", True),
            ("labs/05_x/1_y/y.hpp", True),
            ("labs/05_x/1_y/y.cu", True),
            ("solutions/05_x/1_y/y.cu", True),
            ("solutions/05_x/answers.md", True),
            ("tests/05_x/y_test.cpp", True),
            ("common/include/lab/report.hpp", True),
            ("common/src/report.cpp", True),
            ("tests/tools/y.cpp", False),
            ("scripts/lablib/x.py", False),
            ("common/cpu_device/src/x.cpp", False),
        ):
            with self.subTest(path):
                self.assertEqual(read, wording.is_read(path))

    def test_a_list_with_mistakes(self):
        for text, pattern in (
            ("[[avoid]]\nwords = '('\nsay = 'x'\n", "needs `words`"),
            ("[[avoid]]\nwords = 'x'\n", "needs `words`"),
            ("[[avoid]]\nnames = '('\nsay = 'x'\n", "needs `words`"),
            ("[[avoid]]\nsay = 'x'\n", "needs `words`"),
            ("avoid = 3\n", "needs `words`"),
            ("[[avoid]]\nnames = 'x'\nfolders = '('\nsay = 'x'\n", "needs `words`"),
            ("[[avoid\n", "needs `words`"),
            ("other = 3\n", "needs `words`"),
        ):
            self.write("docs/wording.toml", text)
            with self.subTest(text):
                with self.assertRaisesRegex(LabError, pattern):
                    wording.read_list(self.root)
                (finding,) = rules.check_wording(self.root, [])
                self.assertEqual("docs/wording.toml", finding.path)

    def test_the_course_s_own_list_finds_what_it_is_for(self):
        avoided = wording.read_list(REPOSITORY)
        for text, wanted in (
            ("Every cargo is unloaded.", 2),
            ("kMine and kFour", 2),
            ("all 3 places match", 1),
            ("the digits behind the point, one behind the other", 2),
            ("Nothing is left behind. Two decimal places, in other places.", 0),
            ("memory that nobody wrote", 1),
            ("nobody retrieved the error", 0),
            ("Nothing at or behind n is touched; behind the barrier nobody reads.", 2),
            ("No tile is overwritten that somebody still reads.", 1),
        ):
            with self.subTest(text):
                self.assertEqual(wanted, len(list(wording.find("docs/x.md", text, avoided))))
        for text, wanted in (
            ("result sum(step which, const settings& how, int who)", 3),
            ("mode.outside = places[my_place()]; kMine + place_of(kWays)", 6),
            ("coordinates in_place, replaced, showhow, place_holder", 0),
            ("draw(const view& what, direction way, step where)", 3),
            ("error.what(), whatever, somewhere, way_point", 0),
        ):
            with self.subTest(text):
                found = list(wording.find("labs/05_x/1_y/y.cu", text, avoided))
                self.assertEqual(wanted, len(found), found)


if __name__ == "__main__":
    unittest.main()
