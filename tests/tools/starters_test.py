# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Starters are made from solutions, and must fail their tests in a readable way."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fakes import REPOSITORY, SOLUTION, STARTER, Tree, gtest_program, script
from lablib.course_check import report
from lablib.errors import LabError
from lablib.exercises import find_exercises
from lablib.starters import generate, size, todos, untouched


class GenerateTest(unittest.TestCase):
    def assert_error(self, text, pattern):
        with self.assertRaisesRegex(LabError, pattern):
            generate(text, "x.cu")

    def test_a_region_becomes_its_stubs(self):
        self.assertEqual(STARTER, generate(SOLUTION, "x.cu"))

    def test_hidden_lines_vanish_anywhere(self):
        text = "a;\nsecret;  // HIDDEN\n// BEGIN SOLUTION\nb;  // HIDDEN\n// END SOLUTION\nc;\n"
        self.assertEqual("a;\nc;\n", generate(text, "x.cu"))

    def test_blank_lines_do_not_pile_up_where_a_region_was(self):
        text = "a;\n\n// BEGIN SOLUTION\nb;\n// END SOLUTION\n\nc;\n\n\nd;\n"
        self.assertEqual("a;\n\nc;\n\n\nd;\n", generate(text, "x.cu"))

    def test_an_empty_stub_is_an_empty_line(self):
        text = "// BEGIN SOLUTION\n  // STUB: a;\n  // STUB:\n  // STUB:   b;\n// END SOLUTION\n"
        self.assertEqual("  a;\n\n    b;\n", generate(text, "x.cu"))

    def test_errors_name_file_and_line(self):
        region = "// BEGIN SOLUTION\n// END SOLUTION\n"
        self.assert_error("a;\n// BEGIN SOLUTION\nb;\n", r"^x\.cu:2: .*without an // END")
        self.assert_error("a;\n// END SOLUTION\n", r"^x\.cu:2: .*without a // BEGIN")
        self.assert_error(
            "// BEGIN SOLUTION\n// BEGIN SOLUTION\n// END SOLUTION\n", r"^x\.cu:2: .*line 1"
        )
        self.assert_error(region + "// STUB: a;\n", r"^x\.cu:3: .*outside of a region")
        self.assert_error("a;\n", r"^x\.cu:1: there is no // BEGIN")

    def test_a_marker_that_is_nearly_one_is_an_error(self):
        region = "// BEGIN SOLUTION\n// END SOLUTION\n"
        for line in (
            "a;  // BEGIN SOLUTION",
            "//begin solution",
            "// END SOLUTIONS",
            "a; // STUB: b;",
            "//STUB: b;",
            "// 4); STUB: b;",
            "// HIDDEN from students",
            "// Hidden",
        ):
            with self.subTest(line):
                self.assert_error(region + line + "\n", r"^x\.cu:3: .*marker")
        self.assertEqual("// a hidden cost\n", generate(region + "// a hidden cost\n", "x.cu"))


class TodosTest(unittest.TestCase):
    TEXT = """\
// Edit: from TODO(1) to TODO(3).
void f() {
  // TODO(1): begin.
  // BEGIN SOLUTION
  a();
  // STUB: a0();
  // END SOLUTION
  given();
  // BEGIN SOLUTION
  b();
  // END SOLUTION
}
// BEGIN SOLUTION
// of no TODO
// END SOLUTION
void g() {
  // TODO(3, bonus): for who wants
  //          more than TODO(1).
  // BEGIN SOLUTION
  c();
  // STUB: c0();
  // END SOLUTION
}
void h() {
  // TODO(1): and end.
  // BEGIN SOLUTION
  d();
  // STUB: d0();
  // END SOLUTION
}
"""

    def test_numbers_bonus_and_regions(self):
        one, three = todos(self.TEXT, "x.cu")
        self.assertEqual((1, False, 3), (one.number, one.bonus, len(one.regions)))
        self.assertEqual((3, True), (three.number, three.bonus))
        lines = generate(self.TEXT, "x.cu").splitlines()
        at = [lines[region.start : region.stop] for region in one.regions + three.regions]
        self.assertEqual([["  a0();"], [], ["  d0();"], ["  c0();"]], at)

    def test_what_comes_after_a_bonus_is_one_too(self):
        for old, new, line, todo in (
            ("TODO(1): and end", "TODO(3): and end", 25, 3),  # one number, not both
            ("TODO(1): and end", "TODO(4): and end", 25, 4),
            ("TODO(1): begin", "TODO(5): begin", 3, 5),  # by its number, wherever it stands
        ):
            with self.subTest(new), self.assertRaisesRegex(
                LabError, rf"^x\.cu:{line}: .*TODO\({todo}, bonus\)"
            ):
                generate(self.TEXT.replace(old, new), "x.cu")
        bonus = self.TEXT.replace("TODO(1): and end", "TODO(4, bonus): and end")
        self.assertEqual([False, True, True], [todo.bonus for todo in todos(bonus, "x.cu")])

    def test_a_todo_is_untouched_while_all_its_regions_are(self):
        starter = generate(self.TEXT, "x.cu")
        with tempfile.TemporaryDirectory() as folder:
            solution = Path(folder) / "x.cu"
            solution.write_text(self.TEXT)

            def numbers(present):
                return [todo.number for todo in untouched(solution, present)]

            self.assertEqual([1, 3], numbers(starter))
            self.assertEqual([], numbers(self.TEXT))
            self.assertEqual([], numbers("// all of it is my own"))
            for old, new, left in (
                ("  a0();", "  a();", [3]),
                ("  given();\n", "  given();\n  b();\n", [3]),  # where nothing stood
                ("  d0();", "  d0();\n  d();", [3]),
                ("  c0();\n", "", [1]),
                ("void f() {", "int helper();\n\nvoid f() {", [1, 3]),
            ):
                with self.subTest(new):
                    self.assertEqual(left, numbers(starter.replace(old, new)))


class SizeTest(Tree):
    TEXT = """\
// A comment, and a blank line.

[[maybe_unused]] int given();
int secret();  // HIDDEN
void f() {  // given as well
  // TODO(1): two lines.
  // BEGIN SOLUTION
  // STUB: (void)secret();
  // why
  a();

  b();
  // END SOLUTION
  (void)c(), (void)d;
  // TODO(2): one more.
  // BEGIN SOLUTION
  e();
  // END SOLUTION
}
"""

    def test_what_is_counted(self):
        found = size(self.TEXT, "x.cu")
        self.assertEqual(9, found.starter)
        self.assertEqual(14, found.solution)
        self.assertEqual((4, 8, 0.5), (found.given, found.code, found.share))
        self.assertEqual(2, found.todos)
        self.assertEqual(3, found.marks)

    def test_a_call_whose_result_is_dropped_marks_nothing(self):
        text = "(void)cudaFree(p);\n// BEGIN SOLUTION\n  // STUB: f(n);\n// END SOLUTION\n"
        self.assertEqual(0, size(text, "x.cu").marks)

    def test_the_report_has_a_row_for_each_exercise_and_the_medians(self):
        exercises = find_exercises(self.root)
        exercises[0].solution_file.write_text(self.TEXT)
        lines = report(exercises).splitlines()
        self.assertEqual(len(exercises) + 2, len(lines))
        self.assertEqual(
            ["starter", "solution", "given", "%", "TODOs", "unused"], lines[0].split()
        )
        self.assertEqual(["9", "14", "50", "2", "3"], lines[1].split()[2:])
        self.assertEqual(["median", "6", "5", "67", "1", "1"], lines[-1].split())
        done = self.lab("dev", "check", "--report", exercises[0].id)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertEqual(lines[1].split(), done.stdout.splitlines()[1].split())


class ProgramTest(Tree):
    def run_starters(self, *arguments):
        return subprocess.run(
            [sys.executable, str(self.root / "scripts/lablib/starters.py"), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=60,
        )

    def test_check(self):
        solution = self.root / "solutions/03_vectors/1_vector_add/vector_add.cu"
        starter = self.root / "labs/03_vectors/1_vector_add/vector_add.cu"
        self.assertEqual(0, self.run_starters("check", solution, starter).returncode)
        starter.write_text(STARTER.replace("return b", "return a + b"))
        done = self.run_starters("check", solution, starter)
        self.assertEqual(1, done.returncode)
        self.assertIn(f"{starter}:5: this is not the starter", done.stderr)
        self.assertIn("-  return a + b;", done.stderr)
        starter.unlink()
        self.assertEqual(1, self.run_starters("check", solution, starter).returncode)

    def test_generate_prints_the_starter(self):
        solution = self.root / "solutions/03_vectors/1_vector_add/vector_add.cu"
        self.assertEqual(STARTER, self.run_starters("generate", solution).stdout)

    def fails_readably(self, body, names=("A", "B")):
        program = gtest_program(Path(self.temporary.name) / "program", list(names), body)
        return self.run_starters("fails-readably", program)

    def test_a_sentence_is_readable(self):
        for text in (
            "add returned 0, expected 3",
            (
                'C++ exception with description "vector_add is not written yet: see TODO(1)" thrown'
                " in the test body."
            ),
        ):
            with self.subTest(text):
                done = self.fails_readably(f"fails({text!r})")
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                self.assertIn(text, done.stdout)

    def test_unreadable_failures_are_refused(self):
        for body, pattern in (
            ("True", "passes its own tests"),
            ("fails('')", "without a message"),
            (
                (
                    'fails(\'C++ exception with description "std::bad_alloc" thrown in the test'
                    " body.')"
                ),
                "bare exception",
            ),
            (
                (
                    "fails('C++ exception with description \"vector::_M_range_check: __n (which is"
                    " 3) is out\" thrown in x')"
                ),
                "bare exception",
            ),
            ("fails('Unknown C++ exception thrown in the test body.')", "unknown exception"),
            ("crashes(signal.SIGSEGV)", "was ended by SIGSEGV"),
            ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
            ("name == 'A' or hangs()", "not hang"),
            ("event('ends', status=3) or sys.exit(3)", "crash"),
        ):
            with self.subTest(body):
                done = self.fails_readably(body)
                self.assertEqual(1, done.returncode)
                self.assertRegex(done.stderr, pattern)

    def test_no_device_is_passed_on(self):
        program = script(Path(self.temporary.name) / "program", "#!/bin/sh\necho no GPU\nexit 77\n")
        self.assertEqual(77, self.run_starters("fails-readably", program).returncode)

    def test_a_starter_that_hangs_is_refused(self):
        from lablib import starters

        program = script(Path(self.temporary.name) / "program", "#!/bin/sh\nsleep 100\n")
        self.assertIn("not hang", starters.fails_readably([str(program)], time_limit=0.3))


class ThisRepositoryTest(unittest.TestCase):
    def test_every_solution_generates_a_starter(self):
        for solution in sorted(REPOSITORY.glob("solutions/*/*/*.cu")):
            with self.subTest(solution.name):
                text = generate(solution.read_text(encoding="utf-8"), str(solution))
                self.assertNotIn("BEGIN SOLUTION", text)
                self.assertNotIn("STUB:", text)


if __name__ == "__main__":
    unittest.main()
