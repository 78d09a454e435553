# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab dev new and dev rename."""

import unittest
from pathlib import Path
from typing import Dict
from unittest import mock

from fakes import LabTest
from lablib import authoring, pages, starters
from lablib.errors import LabError

PAGE = """\
# 05 Shared memory

## 05.1 dot_product

See `scripts/lab test 05.1`.

## Questions

1. Why?
   And how?

[Answers](../solutions/05_shared_memory/answers.md)
"""


class Pages(LabTest):
    def setUp(self) -> None:
        super().setUp()
        (self.root / "docs").mkdir()
        (self.root / "docs/05_shared_memory.md").write_text(PAGE)
        (self.root / "solutions/05_shared_memory/answers.md").write_text("# 05\n\n1. So.\n")

    def files(self) -> Dict[str, str]:
        return {
            str(path.relative_to(self.root)): path.read_text(encoding="utf-8")
            for tree in ("labs", "solutions", "tests", "docs")
            for path in (self.root / tree).rglob("*")
            if path.is_file()
        }


class NewTest(Pages):
    def new(self, *arguments: str):
        return self.lab("dev", "new", *arguments)

    def test_it_writes_all_files_of_an_exercise_and_changes_only_its_chapter(self):
        before = self.files()
        self.assert_status(0, self.new("05.9", "prefix_sum"))
        after = self.files()
        place = "05_shared_memory/9_prefix_sum"
        self.assertEqual(
            {
                f"labs/{place}/prefix_sum.hpp",
                f"labs/{place}/reference.hpp",
                f"labs/{place}/main.cpp",
                f"labs/{place}/hints.md",
                f"labs/{place}/exercise.toml",
                f"labs/{place}/prefix_sum.cu",
                f"solutions/{place}/prefix_sum.cu",
                "tests/05_shared_memory/prefix_sum_test.cpp",
                "tests/05_shared_memory/prefix_sum.bugs",
            },
            set(after) - set(before),
        )
        changed = {path for path in before if after[path] != before[path]}
        self.assertEqual(
            {"docs/05_shared_memory.md", "solutions/05_shared_memory/answers.md"}, changed
        )
        for path in (set(after) - set(before)) - {f"labs/{place}/prefix_sum.cu"}:
            self.assertEqual(1, after[path].count("AUTHOR:"), path)
            self.assertNotRegex(after[path], "EXERCISE_|CHAPTER_")
        solution = after[f"solutions/{place}/prefix_sum.cu"]
        starter = starters.generate(solution, "prefix_sum.cu")
        self.assertEqual(starter, after[f"labs/{place}/prefix_sum.cu"])
        self.assertNotIn("AUTHOR:", starter)
        page = after["docs/05_shared_memory.md"]
        self.assertLess(page.index("## 05.1"), page.index("## 05.9 prefix_sum"))
        self.assertLess(page.index("## 05.9"), page.index("## Questions"))
        self.assertIn("   And how?\n2. 05.9: ", page)
        self.assertIn("1. So.\n2. ", after["solutions/05_shared_memory/answers.md"])

    def test_sections_stand_in_the_order_of_their_numbers(self):
        self.assert_status(0, self.new("05.10", "last"))
        self.assert_status(0, self.new("05.9", "nearly_last"))
        page = (self.root / "docs/05_shared_memory.md").read_text()
        numbers = [words.split()[0] for _, level, words in pages.headings(page) if level == 2]
        self.assertEqual(["05.1", "05.9", "05.10", "Questions"], numbers)

    def test_a_section_stands_before_what_ends_the_chapter(self):
        page = self.root / "docs/05_shared_memory.md"
        page.write_text(
            PAGE.replace("## Questions", f"## {pages.LIBRARIES}\n\n> CUB.\n\n## Questions")
        )
        self.assert_status(0, self.new("05.9", "prefix_sum"))
        found = [words for _, level, words in pages.headings(page.read_text()) if level == 2]
        self.assertEqual(
            ["05.1 dot_product", "05.9 prefix_sum", pages.LIBRARIES, "Questions"], found
        )

    def test_a_new_chapter_gets_its_pages(self):
        self.assert_status(0, self.new("16.1", "clusters", "--chapter", "modern_cuda"))
        page = (self.root / "docs/16_modern_cuda.md").read_text()
        self.assertTrue(page.startswith("# 16 Modern cuda\n"))
        self.assertIn("## 16.1 clusters\n", page)
        self.assertEqual(1, len(pages.numbered(page, "Questions")))
        answers = (self.root / "solutions/16_modern_cuda/answers.md").read_text()
        self.assertTrue(answers.startswith("# 16 Modern cuda: answers\n\n1. 24"))

    def test_what_it_refuses_changes_nothing(self):
        (self.root / "solutions/05_shared_memory/7_left").mkdir()
        (self.root / "tests/05_shared_memory").mkdir(parents=True)
        (self.root / "tests/05_shared_memory/left_over_test.cpp").write_text("")
        header = self.root / "common/include/lab/bitmap.hpp"
        header.parent.mkdir(parents=True)
        header.write_text("class bitmap;\nvoid emit(int);\n")
        before = self.files()
        for arguments, status, pattern in (
            (["05.1", "x"], 2, r"05\.1 is dot_product.*next free number.*05\.3"),
            (["05.9", "vector_add"], 2, "name of 03.1"),
            (["05.7", "x"], 1, "solutions/05_shared_memory/7_left"),
            (["05.8", "left_over"], 1, "left_over_test.cpp"),
            (["16.1", "x"], 2, "--chapter modern_cuda"),
            (["16.1", "x", "--chapter", "shared_memory"], 2, "chapter 05 is called"),
            (["16.1", "x", "--chapter", "Modern"], 2, "small letters"),
            (["05.9", "x", "--chapter", "other"], 2, "chapter 05 is shared_memory"),
            (["5", "x"], 2, "not the number"),
            (["05.0", "x"], 2, "not the number"),
            (["00.1", "x"], 2, "not the number"),
            (["05.9", "Big"], 2, "small letters"),
            (["05.9", "a__b"], 2, "small letters"),
            (["05.9", "9a"], 2, "small letters"),
            (["05.9", "a/b"], 2, "small letters"),
            (["05.9", "x" * 31], 2, "small letters"),
            (["05.9", "double"], 2, "something else"),
            (["05.9", "bitmap"], 2, r"namespace lab.*bitmap\.hpp:1"),
            (["05.9", "emit"], 2, r"bitmap\.hpp:2"),
        ):
            with self.subTest(arguments):
                done = self.new(*arguments)
                self.assert_status(status, done)
                self.assertRegex(done.stderr, pattern)
                self.assertEqual(before, self.files())

    def test_pages_that_do_not_fit_are_refused(self):
        answers = self.root / "solutions/05_shared_memory/answers.md"
        answers.write_text("# 05\n\n1. So.\n2. And so.\n")
        before = self.files()
        done = self.new("05.9", "x")
        self.assert_status(1, done)
        self.assertIn("there are 2 answers", done.stderr)
        self.assertEqual(before, self.files())

    def test_a_disk_that_is_full_leaves_nothing_half(self):
        before, count = self.files(), [0]
        write = authoring.write_atomically

        def fails_at_the_sixth(path: Path, text: str) -> None:
            count[0] += 1
            if count[0] == 6:
                raise OSError(28, "No space left on device")
            write(path, text)

        folders = {path for path in self.root.rglob("*") if path.is_dir()}
        with mock.patch.object(authoring, "write_atomically", fails_at_the_sixth):
            with self.assertRaisesRegex(LabError, "No space left.*Nothing was changed"):
                authoring.new_exercise(self.root, "05.9", "x", None)
        self.assertEqual(6, count[0])
        self.assertEqual(before, self.files())
        self.assertEqual(folders, {path for path in self.root.rglob("*") if path.is_dir()})


class RenameTest(Pages):
    def setUp(self) -> None:
        super().setUp()
        authoring.new_exercise(self.root, "05.9", "prefix_sum", None)

    def rename(self, *arguments: str):
        return self.lab("dev", "rename", *arguments)

    def assert_no_trace(self, *words: str) -> None:
        for path, text in self.files().items():
            for word in words:
                self.assertNotIn(word, path)
                for line in text.splitlines():
                    if not line.startswith(("2. ", "   <!--")):  # questions are numbered by hand
                        self.assertNotIn(word, line, path)

    def test_another_number(self):
        done = self.rename("05.9", "05.7")
        self.assert_status(0, done)
        self.assertIn("05.7 prefix_sum", done.stdout)
        self.assertRegex(done.stdout, r"docs/05_shared_memory.md:\d+: 2\. 05\.9: ")
        self.assert_no_trace("05.9", "9_prefix_sum")
        self.assertIn("labs/05_shared_memory/7_prefix_sum/prefix_sum.cu", self.files())
        self.assertEqual([], list(self.root.glob("*/05_shared_memory/9_*")))

    def test_another_number_in_the_prerequisites_of_others(self):
        authoring.new_exercise(self.root, "05.10", "scan", None)
        file = self.root / "labs/05_shared_memory/10_scan/exercise.toml"
        file.write_text('minutes = 1\nprerequisites = ["05.9"]\n')
        self.assert_status(0, self.rename("05.9", "05.7"))
        self.assertEqual('minutes = 1\nprerequisites = ["05.7"]\n', file.read_text())

    def test_another_name(self):
        style = self.root / "tests/05_shared_memory/prefix_sum.right/other.cu"
        style.parent.mkdir()
        style.write_text("// 05.9 prefix_sum, other\nnamespace lab::prefix_sum {}\n")
        self.assert_status(0, self.rename("prefix_sum", "scan_block"))
        self.assert_no_trace("prefix_sum")
        files = self.files()
        self.assertIn("tests/05_shared_memory/scan_block.bugs", files)
        style = files["tests/05_shared_memory/scan_block.right/other.cu"]
        self.assertIn("namespace lab::scan_block {", style)
        self.assertEqual([], list(self.root.glob("tests/*/prefix_sum*")))
        contract = files["labs/05_shared_memory/9_scan_block/scan_block.hpp"]
        self.assertIn("namespace lab::scan_block {", contract)

    def test_another_chapter_takes_the_section_along(self):
        authoring.new_exercise(self.root, "16.1", "clusters", "modern_cuda")
        self.assert_status(0, self.rename("05.9", "16.2_scan_block"))
        self.assert_no_trace("prefix_sum", "9_")
        page = (self.root / "docs/16_modern_cuda.md").read_text()
        self.assertLess(page.index("## 16.1"), page.index("## 16.2 scan_block"))
        self.assertLess(page.index("## 16.2"), page.index("## Questions"))
        self.assertNotIn("scan_block", (self.root / "docs/05_shared_memory.md").read_text())

    def test_the_starter_is_still_the_generated_one_and_commands_elsewhere_follow(self):
        (self.root / "README.md").write_text("`scripts/lab test 05.9`, 1.05.9, 105.9\n")
        self.assert_status(0, self.rename("05.9", "05.4_a"))
        place = "05_shared_memory/4_a/a.cu"
        self.assertEqual(
            starters.generate_file(self.root / "solutions" / place),
            (self.root / "labs" / place).read_text(),
        )
        readme = (self.root / "README.md").read_text()
        self.assertEqual("`scripts/lab test 05.4`, 1.05.9, 105.9\n", readme)

    def test_what_it_refuses(self):
        before = self.files()
        for new, pattern in (
            ("05.1", "05.1 is dot_product"),
            ("vector_add", "name of 03.1"),
            ("05.9", "called that already"),
            ("16.1", "no chapter 16"),
            ("05.4_", "small letters"),
            ("A", "small letters"),
        ):
            with self.subTest(new):
                done = self.rename("05.9", new)
                self.assertNotEqual(0, done.returncode)
                self.assertRegex(done.stderr, pattern)
                self.assertEqual(before, self.files())


if __name__ == "__main__":
    unittest.main()
