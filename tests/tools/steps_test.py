# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab dev steps: the tables of steps in the chapters."""

import json
import re
import unittest

from fakes import REPOSITORY, LabTest
from lablib import rules, step_tables
from lablib.benchmarks import Report, Result
from lablib.exercises import resolve_one

CONTRACT = """
enum class step {
  first,   ///< a thread | an element,
           ///< and no more
  second,  ///< a tree
};
"""
PAGE = (
    "# 5 Shared memory\n\n## 05.1 dot_product\n\ntext\n\n## How a professional does it\n\n> CUB.\n"
)
NAMES = "kernel access requests sectors ideal_sectors bytes_used wavefronts ideal_wavefronts turns"
ROWS = {  # by what --step calls the step: what its program counts
    "one": [("sum", "global load", 8, 256, 32, 1024, 0, 0, 0)],
    "two": [
        ("sum", "global load", 6, 24, 24, 768, 0, 0, 0),
        ("sum", "global store", 2, 8, 8, 256, 0, 0, 0),
        ("sum", "shared load", 4, 0, 0, 0, 8, 4, 0),
        ("sum", "global atomic", 4, 4, 4, 16, 0, 0, 128),
    ],
}


class StepsTest(LabTest):
    def setUp(self) -> None:
        super().setUp()
        self.exercise = resolve_one(self.root, "05.1")
        self.exercise.contract_file.write_text(CONTRACT)
        self.write_metadata('profile = "--size 64"\n')
        self.exercise.chapter_page.parent.mkdir(exist_ok=True)
        self.exercise.chapter_page.write_text(PAGE)
        for step, rows in ROWS.items():
            lines = ["\t".join(NAMES.split()), *("\t".join(map(str, row)) for row in rows)]
            (self.root / step).write_text("\n".join(lines) + "\n")
        self.write_program('cp "{root}/$4" "$CPU_DEVICE_COUNTERS"')

    def write_metadata(self, more: str) -> None:
        self.exercise.metadata_file.write_text(f"minutes = 30\nprerequisites = []\n{more}")

    def write_program(self, body: str) -> None:
        events = '{"event": "program", "steps": ["one", "two"]}'
        check = (
            f"[ $3 = --repeat ] && echo '{events}' > $6 && exit\n"
            '[ "$1 $2 $3" = "--size 64 --step" ] || exit 3\n'
        )
        self.program("watched_solution.05.1", check + body.format(root=self.root))

    def test_idea_time_and_cost_of_each_step(self) -> None:
        folder = self.root / "docs" / "benchmarks"
        folder.mkdir()
        name = self.exercise.full_name
        report = Report("H200", False, "", "", "", "2026-11-23", 1)
        report.results = [Result(name, "one", "--size 1M", [9.0])]
        report.results += [
            Result(name, "one", "--size 9M", [2.0], library="cublasSdot", library_ms=1.5),
            Result(name, "two", "--size 9M", [1.0], bytes=1e9, limit=2e12),
        ]
        (folder / "h200.json").write_text(report.text())
        done = self.lab("dev", "steps", "--count")
        self.assert_status(0, done)
        rows = [line for line in self.exercise.chapter_page.read_text().splitlines() if "|" in line]
        self.assertEqual(
            [
                "| step | idea | on a GPU | global memory | shared memory |",
                "| --- | --- | --- | --- | --- |",
                "| 05.1 `first` | a thread \\| an element, and no more | 2 ms, 75 % of cublasSdot"
                " | 32.0 (4.0) sectors |  |",
                "| 05.1 `second` | a tree | 1 ms, 50 % of a copy's rate"
                " | 4.0 (4.0) sectors, atomics 32.0 turns | 2.0 (1.0) wavefronts |",
            ],
            rows,
        )
        self.assertEqual([], list(rules.check_steps(self.root)))

    def test_the_table_stands_before_the_libraries_and_is_written_once(self) -> None:
        self.assert_status(0, self.lab("dev", "steps", "05.1"))
        text = self.exercise.chapter_page.read_text()
        self.assertEqual(PAGE, text.replace(text[text.index("## The") : text.index("## How")], ""))
        self.assertIn("as contracts, benchmarks", self.lab("dev", "steps").stdout)
        self.exercise.contract_file.write_text(CONTRACT.replace("a tree", "a bush"))
        found = [finding.message for finding in rules.check_steps(self.root)]
        self.assertEqual(1, len(found), found)
        self.assert_status(0, self.lab("dev", "steps"))
        self.assertEqual(text.replace("a tree", "a bush"), self.exercise.chapter_page.read_text())

    def test_a_column_of_nothing_is_left_out(self) -> None:
        self.assert_status(0, self.lab("dev", "steps"))
        text = self.exercise.chapter_page.read_text()
        self.assertIn("| step | idea |\n", text)
        self.assertNotIn("\n\n\n", text)  # where the legend would be

    def test_every_step_of_the_course_says_its_idea(self) -> None:
        rows = [
            line
            for page in sorted((REPOSITORY / "docs").glob("[0-9][0-9]_*.md"))
            for line in page.read_text(encoding="utf-8").splitlines()
            if re.match(r"\| \d\d\.\d+ `", line)
        ]
        self.assertGreater(len(rows), 100)
        self.assertEqual([row for row in rows if re.match(r"[^|]*\|[^|]*\| +\|", row)], [])

    def test_of_steps_without_profile_nothing_is_counted(self) -> None:
        self.write_metadata("")
        self.assert_status(0, self.lab("dev", "steps", "--count"))
        self.assertIn("| step | idea |\n", self.exercise.chapter_page.read_text())
        counted = json.loads((self.root / step_tables.COUNTERS).read_text())["exercises"]
        self.assertEqual({}, counted)

    def test_steps_that_a_program_without_step_measures(self) -> None:
        self.write_metadata('kernels = ["first", "second"]\n')
        folder = self.root / "docs" / "benchmarks"
        folder.mkdir()
        report = Report("H200", False, "", "", "", "2026-11-23", 1)
        name = self.exercise.full_name
        report.results = [
            Result(name, "kernel", "--size 9M", [2.0]),
            Result(name, "kernel (2)", "--size 9M", [1.0]),
        ]
        (folder / "h200.json").write_text(report.text())
        self.assert_status(0, self.lab("dev", "steps"))
        text = self.exercise.chapter_page.read_text()
        self.assertIn("| 05.1 `first` | a thread \\| an element, and no more | 2 ms |", text)
        self.assertIn("| 05.1 `second` | a tree | 1 ms |", text)

    def test_a_step_that_fails_is_named_and_the_others_are_counted(self) -> None:
        self.write_program(
            '[ $4 = one ] && echo "no memory" && exit 1; cp "{root}/$4" "$CPU_DEVICE_COUNTERS"'
        )
        done = self.lab("dev", "steps", "05.1")
        self.assert_status(1, done)
        self.assertIn(
            "left out: 05.1_dot_product first: its program failed: no memory.", done.stderr
        )
        counted = json.loads((self.root / step_tables.COUNTERS).read_text())["exercises"]
        self.assertEqual(["second"], list(counted[self.exercise.full_name]["steps"]))

    def test_counters_that_are_damaged(self) -> None:
        (self.root / step_tables.COUNTERS).write_text("{")
        done = self.lab("dev", "steps")
        self.assert_status(1, done)
        self.assertIn("is not what `scripts/lab dev steps` writes", done.stderr)


if __name__ == "__main__":
    unittest.main()
