# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab dev check: each rule, broken on purpose in a small course that keeps all of them."""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from fakes import REPOSITORY, LabTest, gtest_program, script
from lablib import authoring, benchmark_page, course_check, pages, starters
from lablib.errors import LabError
from lablib.exercises import find_exercises
from lablib.rules import Finding, author_version, formatter

LICENSE = "# SPDX-FileCopyrightText: x\n# SPDX-License-Identifier: Apache-2.0\n"

# A ctest that fails where a file says so, and remembers what it was asked.
CTEST = """#!{python}
import os, pathlib, sys
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write("ctest " + " ".join(sys.argv[1:]) + "\\n")
print("100% tests passed")
sys.exit(8 if pathlib.Path("tests_fail").exists() else 0)
"""


class Course(LabTest):
    """A git repository with one exercise, 05.1 first_sum, that keeps every rule."""

    def setUp(self) -> None:
        super().setUp()
        for tree in ("labs", "solutions"):
            shutil.rmtree(self.root / tree)
        (self.root / ".gitignore").write_text("build/\n.lab/\n__pycache__/\nprograms/\n*_fail\n")
        (self.root / "README.md").write_text("# A course\n\n[Chapter](docs/05_sums.md#questions)\n")
        shutil.copy(Path(__file__).resolve().parents[2] / ".clang-format", self.root)
        self.add("05.1", "first_sum", "sums")
        names = "`__global__`, `threadIdx`, `blockIdx`, `blockDim`, `cudaGetLastError`"
        self.edit("page", "\n## 05.1", f"\nNew here: {names}.\n\n## 05.1")
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()

    def add(self, number: str, name: str, chapter: str) -> None:
        """An exercise from the template, as if its author had dealt with each note."""
        exercise, files = authoring.new_exercise(self.root, number, name, chapter)
        for path in files:
            text = path.read_text()
            text = re.sub(r"\n? *<!-- AUTHOR:.*?-->(?=\n)", "", text, flags=re.DOTALL)
            text = re.sub(r"(?m)^(//|#) AUTHOR:.*\n((//|#)  .*\n)*\n?", "", text)
            path.write_text(text.replace("\n\n\n", "\n\n"))
        starter = starters.generate_file(exercise.solution_file)
        exercise.lab_file.write_text(starter)

    def git(self, *arguments: str) -> None:
        names = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        for who in ("AUTHOR", "COMMITTER"):
            names.update({f"GIT_{who}_NAME": "a", f"GIT_{who}_EMAIL": "a@example.org"})
        subprocess.run(
            ["git", *arguments], cwd=self.root, check=True, env={**os.environ, **names}
        )

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x")

    def path(self, tree: str) -> Path:
        """A file of the exercise, by a short name."""
        return self.root / {
            "contract": "labs/05_sums/1_first_sum/first_sum.hpp",
            "starter": "labs/05_sums/1_first_sum/first_sum.cu",
            "program": "labs/05_sums/1_first_sum/main.cpp",
            "metadata": "labs/05_sums/1_first_sum/exercise.toml",
            "hints": "labs/05_sums/1_first_sum/hints.md",
            "solution": "solutions/05_sums/1_first_sum/first_sum.cu",
            "test": "tests/05_sums/first_sum_test.cpp",
            "bugs": "tests/05_sums/first_sum.bugs",
            "page": "docs/05_sums.md",
            "answers": "solutions/05_sums/answers.md",
        }[tree]

    def edit(self, tree: str, old: str, new: str) -> None:
        path = self.path(tree)
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def check(self, *arguments: str) -> "subprocess.CompletedProcess":
        """`lab dev check`; without a build, for speed, in this process."""
        arguments = arguments or ("--static",)
        if "--static" not in arguments:
            return self.lab("dev", "check", *arguments)
        out, error, status = io.StringIO(), "", 0
        ids = [argument for argument in arguments if not argument.startswith("--")]
        with mock.patch.dict(os.environ, self.env), contextlib.redirect_stdout(out):
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    course_check.check(
                        self.root, ids, everything="--all" in arguments, static=True
                    )
            except LabError as problem:
                error, status = str(problem), problem.exit_code
        return subprocess.CompletedProcess(arguments, status, out.getvalue(), error)

    def assert_finds(self, pattern: str, *arguments: str) -> None:
        done = self.check(*arguments)
        self.assert_status(1, done)
        self.assertRegex(done.stdout, re.compile(pattern, re.MULTILINE))

    def assert_clean(self, *arguments: str) -> None:
        done = self.check(*arguments)
        self.assertEqual("", re.sub("(All rules|100% tests) .*\n", "", done.stdout))
        self.assert_status(0, done)


class ScopeTest(Course):
    def test_a_course_that_keeps_all_rules_is_clean(self):
        self.assert_clean("--static", "--all")
        self.assert_clean("--static", "05.1")

    def test_only_what_has_changed_is_looked_at(self):
        self.edit("hints", "## 2. What", "## 2. Waht\t")
        self.commit()
        self.assert_clean("--static")  # it is in the last commit
        self.assert_finds(r"hints.md:\d+: tab", "--static", "--all")
        self.assert_finds(r"hints.md:\d+: tab", "--static", "05.1")

    def test_changed_means_staged_unstaged_untracked_or_since_the_main_branch(self):
        (self.root / "new.py").write_text("x")
        self.assert_finds("^new.py:1: license")
        self.git("add", "new.py")
        self.assert_finds("^new.py:1: license")
        self.commit()
        self.assert_clean()
        self.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
        self.assert_finds("^new.py:1: license")

    def test_what_git_says_is_passed_on(self):
        says = "fatal: detected dubious ownership"
        script(self.bin / "git", f"#!/bin/sh\necho {says} >&2\nexit 128\n")
        done = self.lab("dev", "check", "--static")
        self.assert_status(1, done)
        self.assertIn("says: fatal: detected dubious ownership", done.stderr)

    def test_ignored_files_are_nobody_s_business(self):
        (self.root / "build").mkdir()
        (self.root / "build" / "x.py").write_text("\t")
        self.assert_clean("--static", "--all")

    def test_wrong_use(self):
        for arguments in (["--all", "05.1"], ["05.7"], ["--device", "tpu"], ["--nonsense"]):
            with self.subTest(arguments):
                self.assert_status(2, self.check(*arguments))

    def test_without_git_it_says_so(self):
        shutil.rmtree(self.root / ".git")
        done = self.check()
        self.assert_status(1, done)
        self.assertIn("git", done.stderr)


class FileRulesTest(Course):
    def assert_file(self, name: str, text: str, pattern: str) -> None:
        (self.root / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        self.assert_finds(f"^{re.escape(name)}:{pattern}")
        (self.root / name).unlink()

    def test_text(self):
        self.assert_file("a.txt", "a\nb \n", "2: trailing-space")
        self.assert_file("a.txt", "a\n\tb\n", "2: tab")
        self.assert_file("a.txt", "a\nb", "2: final-newline")
        self.assert_file("a.txt", "a\n\n", "2: final-newline")
        self.assert_file("a.txt", "a\nb\r\n", "2: line-ends")
        self.assert_file("a.txt", "a\n\udcff\n", "2: encoding")
        (self.root / "Makefile").write_text("a:\n\tb\n")
        (self.root / "a.png").write_bytes(b"\x89PNG\0 \n\n")
        self.assert_clean()

    def test_licenses_and_long_lines(self):
        header = "# SPDX-FileCopyrightText: x\n# SPDX-License-Identifier: Apache-2.0\n"
        self.assert_file("a.py", "x = 1\n", "1: license")
        self.assert_file("a.cmake", header.replace("License", "Licence"), "1: license")
        self.assert_file("tool", "#!/bin/sh\n", "1: license")
        self.assert_file("a.py", header + "x" * 101 + "\n", "3: long-line: 101")
        (self.root / "a.py").write_text(header + "x" * 100 + "\n")
        (self.root / "tool").write_text("#!/bin/sh\n" + header)
        self.assert_clean()

    def test_json(self):
        self.assert_file("a.json", '{\n  "a": 1,\n}\n', "3: json")

    def test_formatting(self):
        script(
            self.bin / "clang-format",
            "#!/bin/sh\n[ $1 = --version ] && echo clang-format version 14.0.6 && exit\n"
            "for f; do grep -n 'int  ' \"$f\" /dev/null 2>/dev/null; done |"
            " sed 's/^\\([^:]*\\):\\([0-9]*\\):.*/\\1:\\2:4: error: code should be clang-formatted"
            " [-Wclang-format-violations]/' >&2\n",
        )
        self.edit("program", "int main", "int  main")
        self.assert_finds(r"^labs/05_sums/1_first_sum/main.cpp:\d+: format: run `clang-format -i")

    def test_without_the_pinned_clang_format_nothing_is_formatted_and_strict_fails(self):
        script(self.bin / "clang-format", "#!/bin/sh\necho clang-format version 18.1.3\n")
        done = self.lab("dev", "check", "--static")
        self.assert_status(0, done)
        self.assertRegex(done.stderr, "is not version .*18.1.3, so formatting was not checked")
        done = self.lab("dev", "check", "--static", "--strict")
        self.assert_status(1, done)
        self.assertIn("`scripts/setup --author` installs it", done.stderr)
        # One that setup has installed for this clone comes first.
        version = author_version(self.root, "clang-format")
        script(self.root / ".lab/tools/bin/clang-format", f"#!/bin/sh\necho version {version}\n")
        self.assert_status(0, self.lab("dev", "check", "--static", "--strict"))

    @unittest.skipUnless(formatter(REPOSITORY), "needs clang-format in the pinned version")
    def test_what_new_writes_is_formatted(self):
        self.add("05.2", "a", "sums")
        self.add("06.1", "z" * authoring.LONGEST_NAME, "more")
        with (self.root / "README.md").open("a") as readme:
            readme.write("[More](docs/06_more.md)\n")
        self.assert_clean("--static", "--all")

    def test_links(self):
        for line, pattern in (
            ("[a](nowhere.md)", "3: link: there is no nowhere.md"),
            ("![a](docs/no.png)", "3: link: there is no docs/no.png"),
            ("[a](docs/05_sums.md#nowhere)", "3: link: docs/05_sums.md has no heading #nowhere"),
            ("[a](#nowhere)", "3: link: this page has no heading #nowhere"),
            ("[a](/docs)", "3: link: .*relative"),
            ("[a]: nowhere.md", "3: link"),
        ):
            with self.subTest(line):
                self.assert_file("a.md", f"# A\n\n{line}\n", pattern)
        (self.root / "a.md").write_text(
            "# A `b` c: d_e!\n\n[x](#a-b-c-d_e) [y](docs) [z](https://example.org/no)\n"
            "`[a](no.md)`\n\n```\n[a](no.md)\n```\n"
        )
        self.assert_clean()

    def test_a_link_that_a_moved_page_breaks_is_found_though_its_own_page_is_unchanged(self):
        self.edit("page", "## Questions", "## Question")
        self.assert_finds("^README.md:3: link: docs/05_sums.md has no heading #questions")


    def test_the_readme_leads_to_every_chapter(self):
        self.add("06.1", "a", "more")
        self.assert_finds(r"^README.md:1: index: .*\[06 More\]\(docs/06_more\.md\)")
        with (self.root / "README.md").open("a") as readme:
            readme.write("[More](docs/06_more.md)\n")
        self.assertNotIn("index:", self.lab("dev", "check", "--static").stdout)


class ExerciseRulesTest(Course):
    def test_starter(self):
        self.edit("starter", "throw not_written", "return; throw not_written")
        self.assert_finds(r"first_sum.cu:\d+: starter: .*dev starters")

    def test_starters_mark_nothing_as_unused(self):
        for mark in ("(void)n;", "[[maybe_unused]] const int two = 2;"):
            with self.subTest(mark):
                self.edit("solution", "  // STUB: throw", f"  // STUB: {mark}\n  // STUB: throw")
                self.lab("dev", "starters")
                self.assert_finds(r"first_sum.cu:\d+: starter: .*unused")
                self.edit("solution", f"  // STUB: {mark}\n", "")
        self.lab("dev", "starters")
        self.assert_clean()

    def test_markers(self):
        self.edit("solution", "// END SOLUTION", "// END")
        self.assert_finds(r"^solutions/05_sums/1_first_sum/first_sum.cu:\d+: markers: ")

    def test_missing_files(self):
        for tree in ("solution", "test", "bugs", "program", "starter"):
            with self.subTest(tree):
                path = self.path(tree)
                text = path.read_text()
                path.unlink()
                name = path.relative_to(self.root)
                self.assert_finds(f"^{name}:1: missing: 05.1 has no ", "--static", "--all")
                path.write_text(text)

    def test_a_missing_file_hides_nothing_else(self):
        self.path("test").unlink()
        self.edit("starter", "throw not_written", "return; throw not_written")
        self.edit("bugs", "2 * input[i];\n--- replace", "3 * input[i];\n--- replace")
        done = self.check("--static", "--all")
        for rule in ("missing", "starter", "bugs"):
            self.assertRegex(done.stdout, rf":\d+: {rule}: ")

    def test_contract(self):
        for old, new, pattern in (
            ("namespace lab::first_sum {", "namespace lab {", "declare it in"),
            ("/// From: ", "/// by ", "does not say where the exercise comes from"),
            ("/// Requires: ", "/// Wants: ", "does not say who has to do the work"),
            ("/// Throws ", "/// Complains ", "does not say what is thrown"),
        ):
            with self.subTest(old):
                text = self.path("contract").read_text()
                self.edit("contract", old, new)
                self.assert_finds(rf"first_sum.hpp:\d+: contract: .*{pattern}")
                self.path("contract").write_text(text)
        self.path("contract").write_text(re.sub(r"(?m)^/// .*\n|^///\n", "", text))
        self.assert_finds(r"first_sum.hpp:\d+: contract: .*no doc comment")

    def test_a_contract_that_cannot_cross_to_another_process(self):
        text = self.path("contract").read_text()
        own = "struct not_possible : std::runtime_error { explicit not_possible(int line); };\n"
        self.edit("contract", "namespace lab::first_sum {\n", f"namespace lab::first_sum {{\n{own}")
        self.assert_finds(
            r"^labs/.*/first_sum.hpp:\d+: grading: 05.1 cannot be graded: the exception"
            " not_possible cannot cross: nothing says how to make one$"
        )
        self.path("contract").write_text(re.sub(r"(?ms)^result twice.*?;\n", "", text))
        self.assert_finds(": grading: 05.1 cannot be graded: first_sum.hpp declares no function$")

    def test_hints(self):
        self.path("hints").write_text("# H\n\n## 1. Why?\n\nBecause?\n\nSo.\n")
        self.assert_finds("hints.md:1: hints: 1 hints")
        self.path("hints").write_text("# H\n\n## 1. Why?\n\nSo.\n\n## 2. Do\n\nthis.\n\nOr?\n")
        self.assert_finds("hints.md:7: hints: hint 2 begins without a question")
        self.path("hints").write_text("# H\n\n## 1. Why?\n\nSo.\n\n## 2. Do\n\nthat?\n")
        self.assert_finds("hints.md:7: hints: hint 2 has no answer")
        self.path("hints").write_text("# H\n\n## 1. Why?\n\nSo.\n\n## 3. Do?\n\nYes.\n")
        self.assert_finds("hints.md:7: hints: .*number 3 instead of 2")

    def test_chapter_and_questions(self):
        for tree, old, new, pattern in (
            ("page", "## 05.1 first_sum", "## 05.1 firstsum", r"05_sums.md:\d+: chapter: .*should"),
            ("page", "## 05.1 first_sum", "## Sums", "05_sums.md:1: chapter: there is no section"),
            ("page", "1. 05.1", "* 05.1", "05_sums.md:1: questions: there are no"),
            ("page", "1. 05.1", "2. 05.1", r"05_sums.md:\d+: questions: number 2 should be 1"),
            ("page", "(../solutions/05_sums/a", "(https://x.org/a", "questions: link the answers"),
            ("answers", "1. ", "1. a\n2. ", r"answers.md:\d+: questions: 2 answers to the 1 ques"),
        ):
            with self.subTest(new):
                text = self.path(tree).read_text()
                self.edit(tree, old, new)
                self.assert_finds(pattern)
                self.path(tree).write_text(text)
        self.path("answers").unlink()
        self.assert_finds("answers.md:1: questions: .*have no answers", "--static", "--all")

    def test_bugs(self):
        self.path("bugs").write_text(self.path("bugs").read_text().rsplit("\nbug: ", 1)[0])
        self.assert_finds("first_sum.bugs:1: bugs: 3 bugs")

    def test_a_bug_that_no_longer_applies(self):
        self.edit("bugs", "2 * input[i];\n--- replace", "3 * input[i];\n--- replace")
        self.assert_finds(r"first_sum.bugs:\d+: bugs: guard_dropped: .*does not occur")
        self.edit("bugs", "caught by: test", "caught by: luck")
        self.assert_finds(r"first_sum.bugs:\d+: bugs: .*luck")

    def test_equivalents_that_name_nothing_any_more(self):
        path = self.path("bugs").with_suffix(".equivalent")
        path.write_text(LICENSE + "no_fence: __threadfence();\n  because\n")
        self.assert_finds(r"first_sum.equivalent:3: equivalents: no mutation is left for")
        path.write_text(LICENSE + "no_such_kind: *\n  because\n")
        self.assert_finds(r"first_sum.equivalent:3: equivalents: there is no kind")
        path.write_text(LICENSE + "no_guard: *\n  because\n")
        self.assert_clean()

    def test_right_solutions_in_other_styles(self):
        folder = self.path("bugs").with_suffix(".right")
        folder.mkdir()
        empty = "first_sum.right:1: right: there is no right solution here"
        self.assert_finds(empty, "--static", "--all")
        head = "// SPDX-FileCopyrightText: x\n// SPDX-License-Identifier: Apache-2.0\n\n"
        file = folder / "other_grid.cu"
        file.write_text(head + "// Other: the grid.\n\nint x;\n")
        self.assert_clean()
        file.write_text(head + "// Other: the grid.\n")
        self.assert_finds("first_sum.right/other_grid.cu:1: right: the file is empty")
        file.write_text("")
        self.assert_finds("first_sum.right/other_grid.cu:1: right: the file is empty")
        file.write_text(head + "int x;  // other\n")
        self.assert_finds("first_sum.right/other_grid.cu:1: right: say in a comment before")
        file.write_text("// Other: the grid.\n\nint x;\n")
        self.assert_finds("first_sum.right/other_grid.cu:1: license")
        file.rename(folder / "Other-Grid.cu")
        self.assert_finds("first_sum.right/Other-Grid.cu:1: right: 'Other-Grid' is not a name")
        (folder / "Other-Grid.cu").rename(folder / "notes.txt")
        self.assert_finds("first_sum.right/notes.txt:1: right: only CUDA files belong here")
        (folder / "notes.txt").unlink()
        folder.rmdir()
        other = folder.with_name("gone.right")
        other.mkdir()
        (other / "grid.cu").write_text(head + "// Other: the grid.\n\nint x;\n")
        self.assert_finds("gone.right/grid.cu:1: right: there is no exercise gone in this chapter")

    def test_metadata(self):
        self.edit("metadata", "minutes = 30", "minutes = 40")
        self.assert_finds(r"^docs/05_sums.md:\d+: metadata: .*`scripts/lab dev starters`")
        self.edit("page", "*About 30 minutes.*", "*About 40 minutes.*")
        self.assert_clean()
        self.edit("metadata", "minutes = 40", "minutes = forty")
        self.assert_finds("1_first_sum/exercise.toml:3: metadata: this cannot be read")
        self.path("metadata").unlink()
        self.assert_finds("1_first_sum/exercise.toml:1: metadata: 05.1 has no exercise.toml")

    def test_vocabulary(self):
        self.edit("page", "`cudaGetLastError`", "and more")
        self.assert_finds(
            r"first_sum.cu:\d+: vocabulary: cudaGetLastError is used .*docs/05_sums.md what it is"
        )

    def test_wording(self):
        head = LICENSE + "[[avoid]]\n"
        (self.root / "docs/wording.toml").write_text(head + "words = 'cargo'\nsay = 'tile'\n")
        self.edit("hints", "# Hints", "# Hints and cargo")
        self.assert_finds("1_first_sum/hints.md:1: wording: 'cargo' is .*better: tile")

    def test_lines_that_pages_quote(self):
        written, said = self.line_of("starter", "kThreads ="), "thread 1 writes at first_sum.cu:"
        shown = self.line_of("solution", "<<<")
        text = self.path("solution").read_text().splitlines()[shown - 1].strip()
        gdb = f"first_sum.cu:{shown}\n{shown}   {text}"
        page = self.root / "docs" / "more.md"
        page.write_text(f"# A\n\n{said}{written}\n{gdb}\nsomebody.cu:1\n1  int main() {{\n")
        self.assert_clean()
        page.write_text(f"# A\n\n{said}1\n")
        self.assert_finds("docs/more.md:3: quoted-lines: first_sum.cu:1: there is no such thing")
        page.write_text(f"# A\n\n{gdb} + 1\n")
        self.assert_finds(f"docs/more.md:3: quoted-lines: first_sum.cu:{shown}: this is not that")
        of_solutions = "<!-- Reports are of edited solutions. -->"
        stored = self.line_of("solution", "output[i] =")
        reports = f"\n  first_sum.cu:{shown}: {text}\nf(int)+0x3f in first_sum.cu:{stored}\n"
        page.write_text(f"# A\n\n{of_solutions}\n{reports}")
        self.assert_clean()
        page.write_text(f"# A\n\n{of_solutions}\n{reports.replace(': ', ': int ')}")
        self.assert_finds(f"docs/more.md:5: quoted-lines: first_sum.cu:{shown}: this is not that")
        page.write_text(f"# A\n\n{of_solutions}\n{reports.replace(f':{stored}', ':2')}")
        self.assert_finds("docs/more.md:6: quoted-lines: first_sum.cu:2: there is no such thing")

    def line_of(self, tree: str, part: str) -> int:
        lines = self.path(tree).read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if part in line)

    def test_headings_that_are_there_twice(self):
        self.edit("page", "\n## Questions", "\n### What\n\n### What\n\n## Questions")
        self.assert_finds(r"docs/05_sums.md:\d+: heading: line \d+ has this heading, too")

    def test_notes_for_the_author(self):
        self.edit("program", "#include <cstddef>", "// AUTHOR: say this\n\n#include <cstddef>")
        self.assert_finds(r"main.cpp:\d+: author-note")


class TreeRulesTest(Course):
    def test_stray_files(self):
        for name in (
            "labs/05_sums/1_first_sum/notes.txt",
            "labs/05_sums/1_first_sum/nobody.hpp",
            "labs/05_sums/1_first_sum/first_sum.cu.orig",
            "labs/05_sums/picture.txt",
            "labs/05_sums/first_sum.sbatch",
            "solutions/05_sums/1_first_sum/other.cu",
            "solutions/05_sums/7_gone/gone.cu",
            "tests/05_sums/gone_test.cpp",
            "tests/05_sums/gone.bugs",
            "tests/05_sums/nobody.hpp",
        ):
            with self.subTest(name):
                path = self.root / name
                path.parent.mkdir(exist_ok=True)
                path.write_text("// x\n")
                self.assert_finds(f"^{re.escape(name)}:1: stray: ")
                path.unlink()

    def test_headers_that_somebody_includes_and_job_scripts_are_not_stray(self):
        header = "// SPDX-FileCopyrightText: x\n// SPDX-License-Identifier: Apache-2.0\n"
        (self.root / "labs/05_sums/1_first_sum/data.hpp").write_text(header)
        (self.root / "labs/05_sums/1_first_sum/data.cpp").write_text(header)
        (self.root / "tests/05_sums/help.hpp").write_text(header)
        (self.root / "labs/05_sums/1_first_sum/first_sum.sbatch").write_text(
            header.replace("// ", "# ")
        )
        self.edit("program", '#include "first', '#include "data.hpp"\n#include "first')
        self.edit("test", '#include "ref', '#include "help.hpp"\n#include "ref')
        done = self.check()
        self.assertNotIn("stray", done.stdout)

    def test_the_page_of_benchmarks(self):
        (self.root / "docs/benchmarks.md").write_text("# Benchmarks\n")
        self.assert_finds("^docs/benchmarks.md:1: benchmarks: .*`scripts/lab dev benchmarks`")
        benchmark_page.write(self.root)
        self.assertNotIn("benchmarks:", self.check().stdout)
        (self.root / "docs/benchmarks").mkdir()
        (self.root / "docs/benchmarks/a.json").write_text("{}\n")
        self.assert_finds("^docs/benchmarks.md:1: benchmarks: .*a.json is not a file of")

    def test_a_name_that_is_there_twice(self):
        self.add("05.2", "second_sum", "sums")
        for tree in ("labs", "solutions"):
            chapter = self.root / tree / "05_sums"
            (chapter / "2_second_sum").rename(chapter / "2_first_sum")
        (self.root / "labs/05_sums/2_first_sum/second_sum.hpp").rename(
            self.root / "labs/05_sums/2_first_sum/first_sum.hpp"
        )
        self.assert_finds("2_first_sum:1: name: 05.1 is called first_sum too")


class BuildTest(Course):
    def setUp(self) -> None:
        super().setUp()
        script(self.bin / "ctest", CTEST.format(python=sys.executable))
        for kind in ("lab", "solution"):
            self.program(f"{kind}.05.1", "exit 0\n")
            self.gtest(f"{kind}_test.05.1", ["A"])
        gtest_program(self.root / "programs/grader.05.1", ["A"])
        self.program("worker.05.1", "exit 0\n")
        for bug in re.findall(r"(?m)^bug: (\w+)", self.path("bugs").read_text()):
            gtest_program(self.root / "programs" / f"bug.05.1.{bug}", ["A"])
        self.edit("solution", "every thread doubles", "each thread doubles")
        self.edit("starter", "every thread doubles", "each thread doubles")

    def test_a_changed_exercise_is_built_with_its_bugs_and_tested(self):
        self.assert_clean("--jobs", "2")
        calls = "\n".join(self.calls())
        self.assertIn("cmake --preset cpu-course", calls)  # a warning is an error there
        self.assertIn("--target lab.05.1 lab_test.05.1 solution.05.1 solution_test.05.1", calls)
        self.assertIn("bug.05.1.guard_dropped", calls)
        self.assertIn("-L ^05[.]1$ -LE ^lab$", calls)

    def test_static_and_pages_build_nothing(self):
        self.assert_clean("--static")
        self.commit()
        self.edit("page", "Every element", "Each element")
        self.assert_clean()
        self.assertEqual([], self.calls())

    def test_what_does_not_compile_is_found(self):
        self.edit("solution", "// STUB: throw", "// STUB: SYNTAX ERROR; throw")
        self.edit("starter", "throw not_written", "SYNTAX ERROR; throw not_written")
        self.assert_finds("first_sum.cu:1: build: 05.1 does not build", "--jobs", "2")

    def test_tests_that_fail_are_found(self):
        (self.root / "tests_fail").write_text("")
        self.assert_finds("first_sum.cu:1: tests: tests of 05.1 failed", "--jobs", "2")

    def test_a_program_that_fails_is_found(self):
        self.program("solution.05.1", "echo oh no\nexit 1\n")
        self.assert_finds(
            r"oh no\nsolutions/.*: program: the program 05.1_first_sum ended with 1",
            "--jobs",
            "2",
        )
        self.program("solution.05.1", "exit 77\n")
        self.assert_clean("--jobs", "2")

    def test_what_passes_in_one_process_and_not_in_two_is_found(self):
        says = """fails("'f' has no 'g'", file="first_sum_test.cpp", line=7)"""
        gtest_program(self.root / "programs/grader.05.1", ["A", "B"], says)
        self.assert_finds(
            r"  Suite.A: .*'f' has no 'g'(?s:.*)"
            r"^solutions/.*: grading: 05.1 cannot be graded: its solution, in another process than"
            r" its tests, does not pass them \(see above\)",
            "--jobs",
            "2",
        )
        gtest_program(self.root / "programs/grader.05.1", ["A"], "crashes(11)")
        self.assert_finds("grading: 05.1 cannot be graded", "--jobs", "2")

    def test_nvcc_is_asked_only_where_that_is_wanted(self):
        script(self.bin / "nvcc", "#!/bin/sh\n")
        self.assert_clean("--jobs", "2")
        self.assertNotIn("cmake --preset gpu", "\n".join(self.calls()))
        self.assert_clean("--gpu")
        calls = "\n".join(self.calls())
        self.assertRegex(calls, "cmake --preset gpu-course")
        self.assertRegex(calls, r"cmake --build \S.*build/gpu-course ")

    def test_an_exercise_that_is_named_has_its_mutations_tried(self):
        exercise = find_exercises(self.root)
        for status, findings in ((0, 0), (1, 1)):
            with mock.patch.object(course_check.mutate, "mutate", return_value=status) as tried:
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    found = course_check._survivors(self.root, exercise, 2)
            self.assertEqual([exercise[0]], tried.call_args[0][1])
            self.assertEqual(findings, len(found))
        self.assertIn("mutations: the tests of 05.1 do not catch every mutation", out.getvalue())
        # Without a Ninja that knows how the tests are built they cannot be tried.
        self.assert_finds("first_sum.cu:1: mutations: cannot read from Ninja", "05.1")

    def test_shared_code_asks_for_all(self):
        (self.root / "common").mkdir()
        (self.root / "common" / "a.txt").write_text("x\n")
        self.assertIn("dev check --all", self.check("--jobs", "2").stderr)


class PagesTest(unittest.TestCase):
    def test_anchors_are_those_of_github(self):
        text = "# A b\n## `x_y` – [c](d.md), e!\n## A b\n```\n# no\n```\n### Größe 1.5\n"
        self.assertEqual(["a-b", "x_y--c-e", "a-b-1", "größe-15"], pages.anchors(text))

    def test_a_finding_is_one_line_that_editors_understand(self):
        self.assertEqual("a/b.md:3: link: gone", str(Finding("a/b.md", 3, "link", "gone")))


if __name__ == "__main__":
    unittest.main()
