# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""test_events_test.py PROGRAM

What a test program (misbehaving_tests.cpp) says of its cases, whatever one of them does."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from lablib import test_program  # noqa: E402

PROGRAM = ""
BAD = "Middle.Misbehaves"
NAMES = ["First.Passes", BAD, "Last.Passes", "Suite.Passes"]
NAMES += [f"Many/Crash.IfAsked/{number}" for number in range(12)]


class EventsTest(unittest.TestCase):
    def run_program(self, how="", *options, **more):
        env = {**os.environ, "MISBEHAVE": how}
        return test_program.run([PROGRAM, *options], env=env, **more)

    def bad_case(self, result, how_it_went=False):
        """The case that misbehaved; all others have passed."""
        self.assertEqual(NAMES, list(result.cases))
        for name in NAMES:
            if name != BAD:
                self.assertEqual("passed", result.cases[name].state, name)
        self.assertEqual((True, how_it_went), (result.ended, result.passed))
        return result.cases[BAD]

    def test_a_program_that_behaves(self):
        result = self.run_program()
        self.assertTrue(result.passed)
        self.assertEqual((0, NAMES), (result.status, list(result.cases)))
        self.assertEqual([], [line for case in result.cases.values() for line in case.lines])
        self.assertTrue(self.run_program("", "--gtest_repeat=2").passed)

    def test_a_failure_in_the_middle_of_what_is_printed(self):
        result = self.run_program("fail")
        case = self.bad_case(result)
        self.assertEqual((1, "failed"), (result.status, case.state))
        before, failure, after = case.said
        self.assertEqual(('before "it"\t\x01\n', "in the end\n"), (before.text, after.text))
        self.assertTrue(failure.is_failure)
        self.assertRegex(failure.place, r"misbehaving_tests\.cpp:\d+$")
        self.assertIn("Expected equality", failure.text)
        self.assertIn("after\nit", failure.text)
        self.assertEqual("backwards", failure.order)

    def test_the_rest_can_be_left_out(self):
        result = self.run_program("fail as the last")
        self.assertEqual("failed", result.cases[BAD].state)
        self.assertEqual("not run", result.cases["Last.Passes"].state)
        self.assertIn("the other tests were left out", result.detail)

    def test_many_failures_are_counted(self):
        case = self.bad_case(self.run_program("fail often"))
        told = [one.text for one in case.said]
        self.assertEqual([f"Failed\nfailure {i}" for i in range(20)], told[:20])
        # What is found when the case is over is the last.
        self.assertEqual(["Failed\nfailure 999"], told[20:])
        self.assertEqual("979 more failures are not shown", case.detail)

    def test_after_a_crash_the_others_run(self):
        case = self.bad_case(self.run_program("crash"))
        self.assertEqual("crashed", case.state)
        self.assertIn("ended by SIGSEGV", case.detail)
        self.assertEqual(["said before, without an end of line"], case.lines)

    def test_who_leaves_in_the_middle_has_not_passed(self):
        for how, status in (("exit 0", 0), ("_exit 0", 0), ("exit 77", 77)):
            with self.subTest(how):
                case = self.bad_case(self.run_program(how))
                self.assertEqual("crashed", case.state)
                self.assertIn(f"left with exit status {status} in the middle", case.detail)

    def test_after_ten_crashes_it_is_enough(self):
        result = self.run_program("crash often")
        self.assertEqual(10, len(result.in_state("crashed")))
        self.assertEqual(2, len(result.in_state("not run")))

    def test_the_first_failure_can_be_the_last(self):
        for how in ("fail", "crash"):
            result = self.run_program(how, "--gtest_fail_fast")
            self.assertEqual(1, len(result.failures))
            self.assertEqual("not run", result.cases["Last.Passes"].state)
            self.assertTrue(result.ended)

    def test_a_case_without_end_is_stopped(self):
        said = {"hang": ["it begins"], "close and hang": [], "hang and say": ["it was in line 7"]}
        for how, lines in said.items():
            with self.subTest(how):
                result = self.run_program(how, case_limit=0.5)
                case = result.cases[BAD]
                self.assertEqual("timed out", case.state)
                self.assertEqual("took longer than 0.5 s, and was stopped", case.detail)
                self.assertEqual(lines, case.lines)
                self.assertEqual("not run", result.cases["Last.Passes"].state)
                self.assertTrue(result.ended)

    def test_of_a_million_lines_the_first_and_the_last_are_kept(self):
        case = self.bad_case(self.run_program("a million lines"))
        self.assertEqual("element 0", case.lines[0])
        self.assertIn("element 999999", case.lines[-3:])
        self.assertLess(sum(map(len, case.lines)), 70_000)
        (more,) = [line for line in case.lines if line.startswith("… and ")]
        left_out = int(more.split()[2])
        shown = sum(line.startswith("element ") for line in case.lines)
        self.assertIn(left_out + shown, (1_000_000, 1_000_001))  # one may be cut in two

    def test_printing_without_end_is_stopped(self):
        for how in ("print without end", "no line end"):
            with self.subTest(how):
                result = self.run_program(how)
                case = result.cases[BAD]
                self.assertEqual("failed", case.state)
                self.assertEqual("printed more than 64 MiB, and was stopped", case.detail)
                self.assertLess(sum(map(len, case.lines)), 70_000)

    def test_only_tests_may_skip(self):
        result = self.run_program("skip")
        self.assertTrue(result.passed)
        self.assertEqual(("skipped", "not here"), self.state(result))
        result = self.run_program("foreign skip")
        self.assertEqual("failed", self.bad_case(result).state)
        self.assertIn("skipped by labs/99_chapter/1_x/x.cu", result.cases[BAD].detail)

    def state(self, result):
        return result.cases[BAD].state, result.cases[BAD].detail.strip()

    def test_what_goes_wrong_outside_of_the_cases(self):
        for how, detail in (
            ("crash at the end", "after the last test: the program was ended by SIGSEGV"),
            ("exit at the end", "after the last test: the program left with exit status 3"),
            ("fail outside", "something outside of the tests failed (see above)"),
            ("exit outside", "between two tests: the program left with exit status 0"),
        ):
            with self.subTest(how):
                result = self.run_program(how)
                self.assertFalse(result.passed)
                self.assertEqual(1, result.status)
                self.assertIn(detail, result.detail)

    def test_tests_that_do_not_run_are_missed(self):
        for cases in (None, NAMES):
            result = self.run_program("filter", cases=cases)
            self.assertFalse(result.passed)
            self.assertEqual(15, len(result.in_state("not run")))
            self.assertIn("15 tests have not run", result.detail)

    def test_variables_that_would_leave_tests_out_are_refused(self):
        for variable in ("GTEST_FILTER=First.*", "GTEST_TOTAL_SHARDS=2", "TESTBRIDGE_TEST_ONLY=x"):
            name, value = variable.split("=")
            result = test_program.run([PROGRAM], env={**os.environ, name: value})
            self.assertEqual((2, False), (result.status, result.passed))
            self.assertIn(f"{name} is set in the environment", result.outside[0])

    def test_only_what_is_asked_for_runs(self):
        result = self.run_program("crash", cases=["Last.Passes", "First.Passes", "Last.Passes"])
        self.assertTrue(result.passed)
        self.assertEqual(["Last.Passes", "First.Passes"], list(result.cases))
        self.assertEqual([name for name in NAMES if name not in result.cases], result.others)
        # After a crash, too, the rest is that of what was asked for.
        result = self.run_program("crash", cases=[BAD, "Last.Passes"])
        self.assertEqual(["crashed", "passed"], [case.state for case in result.cases.values()])

    def test_what_is_asked_for_and_not_there_is_a_failure(self):
        result = self.run_program(cases=["First.Passes", "First.Hidden"])
        self.assertFalse(result.passed)
        self.assertEqual(2, len(result.in_state("not run")))
        self.assertEqual("this program lacks the test First.Hidden", result.detail)

    def test_a_program_can_be_asked_what_it_has(self):
        self.assertEqual(NAMES, test_program.list_cases(Path(PROGRAM)))

    def test_the_tested_file_cannot_choose_the_environment(self):
        with mock.patch.dict(os.environ, {"GIVEN": "from outside"}):
            self.assertEqual("passed", self.bad_case(self.run_program("variables"), True).state)
            result = self.run_program("variables", cases=NAMES)
        self.assertTrue(result.passed)
        self.assertEqual([], result.others)

    def test_bad_options_are_said_in_a_sentence(self):
        for options, sentence in (
            (["--lab_events="], "needs the name of a file"),
            (["--lab_events=/no/such/folder/x"], "cannot write /no/such/folder/x"),
            (["--lab_cases=/no/such/file"], "cannot read /no/such/file"),
            (["--lab_list"], "need --lab_events"),
            (["--lab_case_limit=0"], "a number of seconds above 0"),
            (["--lab_case_limit=5x"], "a number of seconds above 0"),
            (["--lab_events=/dev/null", "--gtest_filter=*"], "leave it out to choose some"),
            (["--frobnicate"], "--frobnicate is not understood"),
        ):
            done = subprocess.run([PROGRAM, *options], capture_output=True, text=True)
            self.assertEqual(2, done.returncode)
            self.assertIn(sentence, done.stderr)

    def test_without_events_it_is_plain_googletest(self):
        done = subprocess.run([PROGRAM, "--gtest_filter=First.*"], capture_output=True, text=True)
        self.assertEqual(0, done.returncode)
        self.assertIn("[       OK ] First.Passes", done.stdout)

    def test_who_is_killed_takes_the_tests_along(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "pid"
            env = {**os.environ, "MISBEHAVE": "wait", "PID_FILE": str(file)}
            # The shell stands for scripts/lab, or for CTest.
            command = ["sh", "-c", f"'{PROGRAM}' --lab_events={folder}/events; true"]
            parent = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
            while not (file.exists() and file.read_text().endswith("\n")):
                self.assertIsNone(parent.poll())
                time.sleep(0.01)
            parent.send_signal(signal.SIGKILL)
            parent.wait()
            while self.is_alive(int(file.read_text())):  # CTest's limit is the limit
                time.sleep(0.01)

    @staticmethod
    def is_alive(pid):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] not in "ZX"


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
