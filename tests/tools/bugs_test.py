# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Bugs: their files, the versions they make, and telling a caught one from one that survives."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fakes import REPOSITORY, gtest_program, script
from lablib import bugs
from lablib.errors import LabError

GOOD = """\
# Each bug is an edit.
bug: no_barrier
why: a neighbour's value is read before it is there  # not a comment
caught by: check         # test | check | watched | compiler
--- find
  __syncthreads();
--- replace
  // nothing
--- end

bug: wrong_sign
why: it subtracts
caught by: test
--- find
a + b
--- replace
a - b
--- end
"""
SOLUTION = (
    "int add(int a, int b) {\n  __syncthreads();\n  return a + b;\n}\nint twice(int c) { return c +"
    " c; }\n"
)
HEAD = "bug: x\nwhy: y\ncaught by: test\n"
EDIT = "--- find\na + b\n--- replace\nb\n--- end\n"


class SampleTest(unittest.TestCase):
    SOLUTION = "int f() {\n  one\n}\n\nint g() {\n  two\n}\n\nint h() {\n  three\n}\n"

    def bug(self, name, text, caught_by="test"):
        return bugs.Bug(name, 1, "w", caught_by, "f.cu", [bugs.Edit(1, text, "")])

    def test_functions_that_have_none_come_first(self):
        found = [self.bug(f"one{n}", "one") for n in range(46)]
        found += [self.bug("two", "two"), self.bug("three", "three")]
        for seed in map(str, range(20)):
            chosen = bugs.sample(found, self.SOLUTION, seed)
            self.assertEqual(["one", "three", "two"], sorted(bug.edits[0].find for bug in chosen))

    def ways(self, found, seeds=20):
        """How what each seed chooses is caught."""
        samples = [bugs.sample(found, self.SOLUTION, str(seed)) for seed in range(seeds)]
        return [sorted(bug.caught_by for bug in chosen) for chosen in samples]

    def test_of_two_one_needs_the_check_build_if_any_does(self):
        for way in ("check", "watched"):
            found = [self.bug(f"one{n}", "one") for n in range(20)]
            found += [self.bug(f"two{n}", "two") for n in range(18)]
            found += [self.bug("needs_it", "one", way)]
            for chosen in self.ways(found):
                self.assertEqual(sorted([way, "test"]), chosen)

    def test_a_single_one_needs_the_check_build_for_every_second_seed(self):
        found = [self.bug(f"t{n}", "one") for n in range(19)] + [self.bug("c", "one", "check")]
        chosen = self.ways(found, 200)
        self.assertEqual(200, chosen.count(["check"]) + chosen.count(["test"]))
        self.assertTrue(70 < chosen.count(["check"]) < 130, chosen.count(["check"]))

    def test_of_one_function_come_those_caught_in_different_ways(self):
        found = [self.bug(f"t{n}", "one") for n in range(44)]
        found += [self.bug("r", "one", "check"), self.bug("b", "one", "compiler")]
        found += [self.bug("other", "two"), self.bug("last", "one")]
        for chosen in self.ways(found):  # the other function's first, though it is caught alike
            self.assertEqual(3, len(chosen))
            self.assertIn(chosen, (["check", "compiler", "test"], ["check", "test", "test"]))
        found.remove(next(bug for bug in found if bug.name == "other"))
        found.append(self.bug("again", "one"))
        for chosen in self.ways(found):
            self.assertEqual(["check", "compiler", "test"], chosen)

    def test_seeds_differ_and_reach_every_bug(self):
        found = [self.bug(f"t{n}", "one") for n in range(10)]
        chosen = [bugs.sample(found, self.SOLUTION, str(seed)) for seed in range(80)]
        self.assertEqual({1}, set(map(len, chosen)))  # a sixteenth would be none
        self.assertEqual(10, len({bug.name for some in chosen for bug in some}))
        self.assertEqual(chosen[3], bugs.sample(found, self.SOLUTION, "3"))


class ParseTest(unittest.TestCase):
    def parse(self, text):
        return bugs.parse_lines(text.splitlines(), "f.bugs", "f.cu")

    def assert_error(self, text, pattern):
        with self.assertRaisesRegex(LabError, pattern):
            self.parse(text)

    def test_a_good_file(self):
        first, second = self.parse(GOOD)
        self.assertEqual(
            ("no_barrier", "check", "f.cu", 2),
            (first.name, first.caught_by, first.file, first.line),
        )
        self.assertTrue(first.why.endswith("# not a comment"))
        self.assertEqual([bugs.Edit(6, "  __syncthreads();", "  // nothing")], first.edits)
        self.assertEqual("wrong_sign", second.name)

    def test_texts_keep_their_lines_and_comments(self):
        (bug,) = self.parse(HEAD + "--- find\n# one\n\n  two\n--- replace\n--- end\n")
        self.assertEqual([bugs.Edit(5, "# one\n\n  two", "")], bug.edits)

    def test_several_edits(self):
        (bug,) = self.parse(
            HEAD + "--- find\na\n--- replace\nb\n--- find\nc\n--- replace\nd\n--- end\n"
        )
        self.assertEqual(
            [("a", "b"), ("c", "d")], [(edit.find, edit.replace) for edit in bug.edits]
        )

    def test_errors_name_file_and_line(self):
        self.assert_error("", r"^f\.bugs:1: there is no bug")
        self.assert_error("why: y\n", r"^f\.bugs:1: 'why' before the first")
        self.assert_error("--- find\n", r"^f\.bugs:1: an edit before the first")
        self.assert_error("bug: Bad Name\n", r"^f\.bugs:1: 'Bad Name' is not a name")
        self.assert_error("\nbug:\n", r"^f\.bugs:2: 'bug' is empty")
        self.assert_error("bug: x\nhow: test\n", r"^f\.bugs:2: 'how: test' is not understood")
        self.assert_error("bug: x\nnonsense\n", r"^f\.bugs:2: 'nonsense' is not understood")
        self.assert_error(
            "bug: x\nwhy: y\ncaught by: luck\n", r"^f\.bugs:3: 'caught by: luck' is unknown"
        )
        self.assert_error("bug: x\nwhy: y\nwhy: z\n", r"^f\.bugs:3: x has two lines 'why'")
        self.assert_error("bug: x\ncaught by: test\n" + EDIT, r"^f\.bugs:1: x has no 'why:'")
        self.assert_error("bug: x\nwhy: y\n" + EDIT, r"^f\.bugs:1: x has no 'caught by:'")
        self.assert_error(HEAD, r"^f\.bugs:1: x has no edit")
        self.assert_error(
            HEAD + EDIT + HEAD + EDIT, r"^f\.bugs:9: there are two bugs with the name x"
        )
        self.assert_error(HEAD + "bug: z\n", r"^f\.bugs:1: x has no edit")
        self.assert_error(HEAD + EDIT + "file: g.cu\n", r"^f\.bugs:9: 'file' after the --- end")
        self.assert_error(HEAD + "--- replace\n", r"^f\.bugs:4: --- replace without")
        self.assert_error(HEAD + "--- end\n", r"^f\.bugs:4: --- end without")
        self.assert_error(
            HEAD + "--- find\na\n--- end\n", r"^f\.bugs:6: --- end without a --- replace"
        )
        self.assert_error(HEAD + "--- find\na\n--- find\n", r"^f\.bugs:6: --- find inside")
        self.assert_error(
            HEAD + "--- find\na\n--- replace\nb\n", r"^f\.bugs:4: this --- find has no --- end"
        )
        self.assert_error(
            HEAD + "--- find\n \n--- replace\nb\n--- end\n", r"^f\.bugs:4: there is no text to find"
        )
        self.assert_error(HEAD + "--- fnd\n", r"^f\.bugs:4: '--- fnd' is none of")


class EmitTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name)
        (self.top / "solution").mkdir()
        (self.top / "lab").mkdir()
        (self.top / "solution" / "f.cu").write_text(SOLUTION)
        self.bugs_file = self.top / "f.bugs"
        self.bugs_file.write_text(GOOD)

    def emit(self):
        return bugs.emit(
            self.bugs_file, self.top / "solution", self.top / "lab", self.top / "out"
        )

    def assert_error(self, text, pattern):
        self.bugs_file.write_text(text)
        with self.assertRaisesRegex(LabError, pattern):
            self.emit()

    def test_each_version_has_its_edit_and_no_other(self):
        self.emit()
        self.assertEqual(
            SOLUTION.replace("__syncthreads();", "// nothing"),
            (self.top / "out/no_barrier/f.cu").read_text(),
        )
        self.assertEqual(
            SOLUTION.replace("a + b", "a - b"), (self.top / "out/wrong_sign/f.cu").read_text()
        )

    def test_the_program_prints_a_line_for_each(self):
        done = subprocess.run(
            [
                sys.executable,
                REPOSITORY / "scripts/lablib/bugs.py",
                "emit",
                self.bugs_file,
                self.top / "solution",
                self.top / "lab",
                self.top / "out",
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(
            f"no_barrier;check;{self.top}/out/no_barrier/f.cu\n"
            f"wrong_sign;test;{self.top}/out/wrong_sign/f.cu\n",
            done.stdout,
        )

    def test_an_unchanged_version_is_not_written_again(self):
        self.emit()
        path = self.top / "out/no_barrier/f.cu"
        before = path.stat().st_ino, path.stat().st_mtime_ns
        self.emit()
        self.assertEqual(before, (path.stat().st_ino, path.stat().st_mtime_ns))
        (self.top / "solution" / "f.cu").write_text(SOLUTION + "// more\n")
        self.emit()
        self.assertTrue(path.read_text().endswith("// more\n"))

    def test_a_bug_that_is_gone_leaves_nothing(self):
        self.emit()
        self.bugs_file.write_text(GOOD[: GOOD.index("bug: wrong_sign")])
        self.emit()
        self.assertFalse((self.top / "out/wrong_sign").exists())

    def test_a_given_header_can_be_edited(self):
        (self.top / "lab" / "parts.hpp").write_text("int c = 1;\n")
        self.bugs_file.write_text(
            "bug: x\nwhy: y\ncaught by: test\nfile: parts.hpp # here\n--- find\n1\n---"
            " replace\n2\n--- end\n"
        )
        ((_, path),) = self.emit()
        self.assertEqual(SOLUTION, path.read_text())
        self.assertEqual("int c = 2;\n", (path.parent / "parts.hpp").read_text())
        (path.parent / "given.hpp").write_text("of an earlier bug of this name")
        self.emit()
        names = sorted(file.name for file in path.parent.iterdir())
        self.assertEqual(["f.cu", "parts.hpp"], names)

    def test_an_edit_that_does_not_apply_is_an_error(self):
        self.assert_error(
            HEAD + EDIT.replace("a + b", "a * b"),
            r"f\.bugs:5: x: this text does not occur in .*f\.cu",
        )
        self.assert_error(
            HEAD + EDIT.replace("a + b", "int "),
            r"f\.bugs:5: x: this text occurs 5 times .*lines 1, 1, 1, 5, 5",
        )
        self.assert_error("file: g.cu\n".join((HEAD, EDIT)), r"f\.bugs:1: x: there is no g\.cu")

    def test_overlapping_places_count(self):
        (self.top / "solution" / "f.cu").write_text("aaa\n")
        self.assert_error(HEAD + EDIT.replace("a + b", "aa"), "occurs 2 times")

    def test_an_edit_that_changes_nothing_is_an_error(self):
        self.assert_error(
            HEAD + "--- find\na + b\n--- replace\na + b\n--- end\n",
            r"f\.bugs:5: x: the replacement is the same",
        )
        self.assert_error(
            HEAD + "--- find\na + b;\n--- replace\na+b;  // sum\n--- end\n",
            r"f\.bugs:1: x changes only comments",
        )


class VerdictTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name)
        self.bugs_file = self.top / "f.bugs"
        self.bugs_file.write_text(GOOD)

    def caught(self, body, how="test", name="no_barrier", limit="60"):
        program = gtest_program(self.top / "program", ["A", "B"], body)
        return self.expect(program, how, name, limit)

    def expect(self, program, how="test", name="no_barrier", limit="60", whole="60"):
        return subprocess.run(
            [
                sys.executable,
                REPOSITORY / "scripts/lablib/bugs.py",
                "expect-caught",
                "--how",
                how,
                "--name",
                name,
                "--bugs",
                self.bugs_file,
                "--case-limit",
                limit,
                "--time-limit",
                whole,
                "--",
                program,
            ],
            capture_output=True,
            text=True,
            timeout=30,
        )

    REPORT = (
        "fails('CPU device: race on s[3]\\nthe CPU device reported a mistake in this test') if name"
        " == 'B' else True"
    )

    def test_a_failing_assertion(self):
        done = self.caught("fails('Expected 1') if name == 'B' else True")
        self.assertEqual(
            (0, "no_barrier: caught by a failing test: Suite.B\n"), (done.returncode, done.stdout)
        )

    def test_the_first_failing_test_is_enough(self):
        done = self.caught("fails('Expected 1')")
        self.assertEqual("no_barrier: caught by a failing test: Suite.A\n", done.stdout)

    def test_a_report_after_another_failure_is_looked_for(self):
        done = self.caught("fails('Expected 1') if name == 'A' else " + self.REPORT, how="check")
        self.assertEqual(
            "no_barrier: caught by a report of the CPU device: race on s[3]\n", done.stdout
        )

    def test_nothing_is_run_after_a_report(self):
        done = self.caught(self.REPORT.replace("'B'", "'A'") + " and time.sleep(100)", how="check")
        self.assertEqual(
            "no_barrier: caught by a report of the CPU device: race on s[3]\n", done.stdout
        )

    def test_a_kernel_without_end_is_stopped_early_except_under_the_checks(self):
        limit = "os.environ.get('CPU_DEVICE_TIME_LIMIT')"
        done = self.caught(f"fails({limit}) if {limit} == '{bugs.LAUNCH_LIMIT}' else True")
        self.assertEqual(0, done.returncode, done.stderr)
        done = self.caught(f"{self.REPORT} if {limit} is None else True", how="check")
        self.assertEqual(0, done.returncode, done.stderr)

    def test_a_report_of_the_device(self):
        for how in ("test", "check"):
            done = self.caught(self.REPORT, how)
            self.assertEqual(
                (0, "no_barrier: caught by a report of the CPU device: race on s[3]\n"),
                (done.returncode, done.stdout),
            )

    def test_a_failing_test_of_the_watched_build(self):
        done = self.caught("fails('Expected 1')", how="watched")
        self.assertEqual("no_barrier: caught by a failing test: Suite.A\n", done.stdout)
        done = self.caught("fails('Expected 1')", how="check")
        self.assertEqual(1, done.returncode)

    def test_a_crash(self):
        done = self.caught("crashes(signal.SIGSEGV)")
        self.assertEqual(0, done.returncode)
        self.assertIn("caught by a crash: Suite.A, ended by SIGSEGV", done.stdout)

    def test_a_time_out(self):
        done = self.caught("hangs()", limit="2")
        self.assertEqual(0, done.returncode)
        self.assertIn("caught by a time-out: Suite.A, took longer than 2 s", done.stdout)

    def test_cases_that_take_long_together_prove_nothing(self):
        program = gtest_program(self.top / "program", ["A", "B"], "time.sleep(1.2) or True")
        done = self.expect(program, whole="2")
        self.assertEqual(1, done.returncode)
        self.assertIn("did not end within 2 s, so nothing is known", done.stderr)

    def test_a_time_out_before_any_test_proves_nothing(self):
        done = self.expect(script(self.top / "program", "#!/bin/sh\nsleep 100\n"), whole="0.3")
        self.assertEqual(1, done.returncode)
        self.assertIn("no test ran (stopped after 0.3 s)", done.stderr)

    def test_a_bug_that_survives(self):
        done = self.caught("True")
        self.assertEqual(1, done.returncode)
        self.assertIn("no_barrier: it survives", done.stderr)
        self.assertIn("why it is wrong: a neighbour's value is read", done.stderr)
        self.assertIn("what to do: add a test case", done.stderr)
        self.assertIn("f.bugs:2", done.stderr)
        self.assertNotIn("the end of what it printed", done.stderr, "all that ran passed")

    def test_an_expected_report_in_a_passing_test_does_not_count(self):
        done = self.caught("prints('CPU device: race on s[3]\\n')")
        self.assertEqual(1, done.returncode)
        self.assertIn("it survives", done.stderr)
        done = self.caught(
            "prints('CPU device: race on s[3]\\n') if name == 'A' else fails('other')", how="check"
        )
        self.assertEqual(1, done.returncode)

    def test_a_check_bug_needs_a_report(self):
        for body in (
            "fails('Expected 1')",
            "fails('CPU device: what an error code means, which is not a report')",
            "crashes(signal.SIGSEGV)",
            "leaves(1)",
        ):
            with self.subTest(body):
                done = self.caught(body, how="check")
                self.assertEqual(1, done.returncode)
                self.assertIn("the CPU device reported nothing", done.stderr)

    def test_a_report_before_a_crash_counts(self):
        done = self.caught(
            "prints('CPU device: out of bounds') and crashes(signal.SIGSEGV)",
            how="check",
        )
        self.assertEqual(0, done.returncode)
        self.assertIn("out of bounds", done.stdout)

    def test_a_report_before_a_time_out_counts_if_something_had_failed(self):
        for fails, status in (("fails('Expected 1')", 0), ("True", 1)):
            body = f"[prints('CPU device: race on s[3]\\n'), {fails}] and hangs()"
            done = self.caught(body, how="check")
            self.assertEqual(status, done.returncode, done.stderr)
            self.assertEqual(status == 0, "race on s[3]" in done.stdout)

    ALL_WELL = """for one; do case $one in --lab_events=*) file=${one#*=} ;; esac; done
cat >> "$file" <<'END'
{"event": "program", "cases": ["S.A"]}
{"event": "begin", "case": "S.A"}
{"event": "end", "case": "S.A", "result": "passed"}
{"event": "ends", "status": 0}
END
:"""

    def test_what_proves_nothing_is_not_caught(self):
        for text, pattern in (
            ("exit 77", "could not run here"),
            ("exit 0", "no test ran"),
            ("exit 1", "no test ran"),
            ("kill -SEGV $$", "no test ran .SIGSEGV"),
            (f"{self.ALL_WELL}; exit 1", "no test failed, but something else is wrong"),
        ):
            with self.subTest(text):
                done = self.expect(script(self.top / "program", f"#!/bin/sh\n{text}\n"))
                self.assertEqual(1, done.returncode)
                self.assertRegex(done.stderr, pattern)
        self.assertEqual(1, self.expect(self.top / "not_there").returncode)

    def compile_error(self, text):
        command = script(self.top / "cmake", f"#!/bin/sh\n{text}\n")
        return subprocess.run(
            [
                sys.executable,
                REPOSITORY / "scripts/lablib/bugs.py",
                "expect-compile-error",
                "--name",
                "wrong_sign",
                "--bugs",
                self.bugs_file,
                "--",
                command,
                "--build",
                self.top,
                "--target",
                "bug.05.1.wrong_sign",
            ],
            capture_output=True,
            text=True,
            timeout=30,
        )

    def test_a_compile_error_in_its_own_file(self):
        done = self.compile_error("echo /b/bugs/05.1/wrong_sign/f.cu:3:1: error: no; exit 1")
        self.assertEqual(0, done.returncode)
        self.assertIn("wrong_sign: caught by the compiler: /b/bugs", done.stdout)

    def test_a_build_that_fails_otherwise_proves_nothing(self):
        for text in (
            "echo 'ninja: error: unknown target'; exit 1",
            "echo /common/lab.hpp:3:1: error: no; exit 1",
            "echo /b/wrong_sign/f.cu:1:1: warning: hm; exit 1",
        ):
            self.assertEqual(1, self.compile_error(text).returncode)

    def test_what_compiles_survives(self):
        done = self.compile_error("exit 0")
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, "it compiles without an error(.|\n)*it subtracts")


class ThisRepositoryTest(unittest.TestCase):
    def test_every_bug_applies(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in sorted(REPOSITORY.glob("tests/*/*.bugs")):
                with self.subTest(path.name):
                    # [0-9]_: 3_gemm, and not 7_cublasxt_gemm.
                    solutions = list(
                        REPOSITORY.glob(f"solutions/{path.parent.name}/[0-9]_{path.stem}")
                    )
                    self.assertEqual(1, len(solutions))
                    lab = REPOSITORY / "labs" / path.parent.name / solutions[0].name
                    self.assertTrue(bugs.emit(path, solutions[0], lab, Path(folder) / path.stem))


if __name__ == "__main__":
    unittest.main()
