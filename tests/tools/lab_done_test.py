# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What Done means to scripts/lab: what it looks at after the cases of an exercise have passed."""

import os
import unittest
from pathlib import Path
from unittest import mock

from fakes import STARTER, LabTest, gtest_program, script
from lablib import build, counters, done, test_program, testing
from lablib.counters import Row
from lablib.device import Device
from lablib.exercises import resolve_one
from lablib.test_program import Case, Result, Said
from lablib.todos import (
    Todos,
    _bonus_steps,
    _together,
    if_it_is_written,
    listed,
    not_about_bonus,
    open_bonus,
)

BONUS_SOLUTION = """\
int one() {
  // TODO(1): one.
  // BEGIN SOLUTION
  // STUB: return 0;
  return 1;
  // END SOLUTION
}
int two() {
  // TODO(2, bonus): two, in two
  //          regions.
  // BEGIN SOLUTION
  // STUB: throw not_written("two", 2);
  return 2;
  // END SOLUTION
}
"""
THROWN = "fails('C++ exception with description \"{}\" thrown in the test body.')"
NOT_WRITTEN = THROWN.format("two is not written yet: TODO({}) in labs/x.cu")


# As tests/support/test_main.cpp names it.
REVERSE = f"reverse, {done.DEVICE_1}"


class DoneTest(LabTest):
    def setUp(self):
        super().setUp()
        self.lab_file().write_text("// mine\n")

    def state(self):
        (line,) = [line for line in self.lab("list").stdout.splitlines() if " 05.1 " in line]
        return line.split("dot_product", 1)[1].strip()

    def test_it_ends_with_a_line_each(self):
        self.gtest("lab_test.05.1", ["A", "B"])
        done = self.lab("test", "05.1")
        self.assert_status(0, done)
        self.assertRegex(
            done.stdout,
            r"all 2 tests pass\.\n(.*\n){3}"
            r"  right +2 tests\n"
            r"  no races +all 2 tests, with every access watched \(\d+ s with the build\)\n"
            r"  no leaks +of memory.*\n"
            r"  cost +nothing was counted: no kernel of yours has an ordinary load or .*\n"
            r"  all TODOs written\n"
            r"Done\. Next: 05\.2",
        )
        build = f"cmake --build {self.root}/build/cpu --target "
        self.assertEqual(
            [
                "cmake --preset cpu",
                build + "lab_test.05.1 cases.05.1",
                build + "watched_lab_test.05.1",
            ],
            self.calls(),
        )
        self.assertEqual("done", self.state())

    def second_order(self, then: str) -> str:
        """The body of a case that begins a second thread order, and waits for the check build."""
        return (
            "(event('repetition', order='forward'), event('repetition', order='reverse'),"
            f" any('watched' in open({str(self.log)!r}).read() or time.sleep(0.01)"
            f" for _ in range(3000)) and {then})[-1]"
        )

    def test_the_check_build_is_made_beside_the_second_thread_order(self):
        self.gtest("lab_test.05.1", ["A"], self.second_order("True"))
        self.assert_status(0, self.lab("test", "05.1"))

    def test_the_check_build_is_stopped_where_a_case_fails_later(self):
        self.gtest("lab_test.05.1", ["A"], self.second_order("fails('got 1, expected 2')"))
        done = self.lab("test", "05.1", FAKE_NEVER_BUILT="watched_lab_test.05.1")
        self.assert_status(1, done)
        self.assertIn("got 1, expected 2", done.stdout)
        running = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
        self.assertFalse([one for one in running if str(self.root).encode() in one])

    def test_an_edit_ends_the_wait_for_the_check_build(self):
        exercise, cpu = resolve_one(self.root, "05.1"), Device("cpu", "")
        env = {**self.env, "FAKE_NEVER_BUILT": "watched_lab_test.05.1"}
        with mock.patch.dict(os.environ, env), self.assertRaises(build.Cancelled):
            done.check(
                self.root,
                exercise,
                Result({"Suite.A": Case("Suite.A")}),
                solution=False,
                device=cpu,
                case_limit=60,
                todos=Todos(),
                ahead=done.start_to_build(self.root, exercise, cpu, solution=False),
                stop_when=lambda: True,
            )

    def test_what_only_the_check_build_sees_is_a_failure(self):
        race = "CPU device: race on global memory in kernel k"
        self.gtest("lab_test.05.1", ["A", "B"], watched=f"name == 'A' or fails('{race}')")
        done = self.lab("test", "05.1")
        self.assert_status(1, done)
        self.assertIn("All tests pass, and yet 05.1 dot_product is not done", done.stdout)
        self.assertIn(f"What to look at first, Suite.B:\n  {race}", done.stdout)
        self.assertIn("Every value was right. The check build found the race", done.stdout)
        self.assertNotIn("Done", done.stdout)
        self.assertEqual("started", self.state())

    def on_a_gpu(self, watched: str):
        """Tests an exercise of which a GPU has one test, and the CPU device two more. `watched`:
        what the check build does."""
        script(self.bin / "nvcc", "#!/bin/sh\n")
        script(self.bin / "nvidia-smi", "#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\n")
        self.gtest("lab_test.05.1", ["A"])
        for target in ("cases.05.1", "watched_lab_test.05.1"):
            gtest_program(self.root / "programs/cpu" / target, ["A", "B", "CallsFail"], watched)
        return self.lab("test", "05.1", LAB_DEVICE="gpu")

    def test_what_a_gpu_cannot_run_is_run_on_the_cpu_device(self):
        done = self.on_a_gpu("True")
        self.assert_status(0, done)
        self.assertRegex(
            done.stdout, r"right +1 test on the GPU\n +no races +all 3 tests, with every access"
        )
        done = self.on_a_gpu("name != 'CallsFail' or fails('nobody asked cudaMemcpy')")
        self.assert_status(1, done)
        self.assertIn("All tests pass, and yet 05.1 dot_product is not done", done.stdout)
        self.assertIn("first, Suite.CallsFail:\n  nobody asked cudaMemcpy", done.stdout)
        self.assertIn("A GPU does not have this test", done.stdout)
        self.assertNotIn("Done", done.stdout)
        done = self.lab("test", "05.1", "--only", "CallsFail", LAB_DEVICE="gpu")
        self.assertIn("Its tests: A. (`--device cpu` has more.)", done.stderr)

    def test_wrong_values_in_the_check_build_are_about_rounding_or_luck(self):
        self.gtest("lab_test.05.1", ["A"], watched="fails('got 1, expected 2')")
        done = self.lab("test", "05.1")
        self.assert_status(1, done)
        self.assertIn("got 1, expected 2", done.stdout)
        self.assertIn("which rounds a*b+c once, as nvcc does", done.stdout)

    def test_a_write_past_the_end_is_found_by_the_check(self):
        report = "CPU device: kernel k wrote outside an allocation: just past the end"
        self.gtest("lab_test.05.1", ["A"], f"fails({report!r})")
        self.assertIn("Where? `scripts/lab check 05.1` names", self.lab("test", "05.1").stdout)
        named = "CPU device: kernel k, at dot_product.cu:7, reads address 0 (segmentation fault)"
        for said in ("CPU device: thread (0,0,0) called __trap()", named):
            self.gtest("lab_test.05.1", ["A"], f"fails({said!r})")
            self.assertNotIn("Where?", self.lab("test", "05.1").stdout)

    def test_only_some_tests_say_what_they_find_and_nothing_is_done(self):
        body = "name == 'First' or fails('got 1, expected 2' if name == 'Second' else 'got 3')"
        self.gtest("lab_test.05.1", ["First", "Second", "Third"], body)
        whole = self.lab("test", "05.1").stdout
        self.assertIn("Another? `scripts/lab test 05.1 --only Third` shows what one test", whole)
        before = self.state()

        third = self.lab("test", "05.1", "--only", "Third")
        self.assert_status(1, third)
        self.assertIn("dot_product, only Third: 0 of 1 tests pass", third.stdout)
        self.assertIn("got 3", third.stdout)
        self.assertNotIn("got 1", third.stdout)
        self.assertNotIn("Another?", third.stdout)

        first = self.lab("test", "05.1", "--only", "First")
        self.assert_status(0, first)
        self.assertIn(
            "Other tests did not run: `scripts/lab test 05.1` runs them all", first.stdout
        )
        self.assertNotIn("Done", first.stdout)
        self.assertEqual(before, self.state())

        none = self.lab("check", "05.1", "--only", "Fourth")
        self.assert_status(2, none)
        self.assertIn("no test of 05.1 has `Fourth` in its name", none.stderr)
        self.assertIn("Its tests: First, Second, Third.", none.stderr)

    def test_an_element_that_was_never_written_may_have_no_thread(self):
        for text, expected in (("got nan (never written?), expected 2", True), ("got 1", False)):
            self.gtest("lab_test.05.1", ["A"], f"fails({text!r})", watched="True")
            self.assertEqual(
                expected, "Perhaps no thread has that" in self.lab("test", "05.1").stdout
            )

    def test_what_the_compiler_warned_of_is_shown_where_a_test_fails(self):
        file = "labs/05_shared_memory/1_dot_product/dot_product.cu"
        warning = (
            "The compiler warns:\n"
            f"  {file}: In function 'int add(int, int)':\n"
            f"  {file}:5:9: warning: comparison '>= 0' is always true\nNext: "
        )
        self.lab_file().write_text("// mine WARN\n")
        for body, expected in (("fails('got 1, expected 2')", True), ("True", False)):
            self.gtest("lab_test.05.1", ["A"], body, watched=body)
            said = self.lab("test", "05.1").stdout
            self.assertEqual(expected, warning in said, said)
            self.assertNotIn("of something else", said)

    def test_wrong_values_where_threads_share_data_may_be_a_race(self):
        why = (
            "again.\n      Why? An index, perhaps; or two threads access the same memory without a"
            " barrier or an atomic function between them: `scripts/lab check 05.1` looks for"
            " that.\n"
            "      Stuck?"
        )
        solution = resolve_one(self.root, "05.1").solution_file
        plain = solution.read_text()
        wrong, reported = "fails('got 1, expected 2')", "fails('CPU device: past the end')"
        for text, body, expected in (
            ("__shared__ int x;", wrong, True),
            ("atomicAdd(x, 1);", "crashes(11)", True),
            ("__shared__ int x;", reported, False),  # it is known
            ("__shared__ int x;", NOT_WRITTEN.format(1), False),
            ("__shared__ int x;", THROWN.format("n is too large"), False),
            ("__shared__ int x;", THROWN.format("f failed: cudaErrorIllegalAddress"), True),
            ("", wrong, False),
        ):
            with self.subTest(text + body):
                solution.write_text(plain + text)
                self.gtest("lab_test.05.1", ["A"], body, watched=body)
                self.assertEqual(expected, why in self.lab("test", "05.1").stdout)
                self.assertNotIn("Why?", self.lab("check", "05.1").stdout)

    def test_values_that_are_wrong_alike_in_every_order_are_no_race(self):
        exercise = resolve_one(self.root, "05.1")
        exercise.solution_file.write_text("__shared__ int x;")
        orders = ["forward", "reverse", "random, seed 2"]
        for texts, expected in ((["got 1"] * 3, False), (["got 1", "got 2", "got 1"], True)):
            said = [Said(text, True, order=order) for text, order in zip(texts, orders)]
            case = Case("S.A", "failed", said, runs=3)
            result = Result(failed_runs=[case], orders=orders)
            self.assertEqual(expected, done.may_be_a_race(case, result, exercise))

    def test_only_the_plain_build_is_told_to_go_on_to_the_check(self):
        exercise = resolve_one(self.root, "05.1")
        said = ["  Right forward, wrong in reverse: two threads access the same memory here."]
        case = Case("S.A", "failed", [Said("got 1", True, order="reverse")], runs=3)
        for first, expected in ((case, True), (None, False)):  # None: the check build found it
            text = testing._next_step(exercise, False, "again", first, [case], Result(), said)
            self.assertEqual(expected, "Where? `scripts/lab check 05.1` watches" in text)
            self.assertNotIn("Why?", text)

    def test_a_file_that_blinds_the_checks_is_not_built(self):
        for word in ('__attribute__((no_sanitize("thread")))', "cpu_device::set_thread_order(0);"):
            with self.subTest(word):
                self.lab_file().write_text(
                    f"// no_sanitize in a comment is fine\n{word} void f();\n"
                )
                refused = self.lab("test", "05.1")
                self.assert_status(1, refused)
                self.assertRegex(
                    refused.stderr,
                    r"labs/\S+/dot_product.cu: the file is refused: '\w+' .*Take it out",
                )
                self.assertNotIn("building", refused.stdout)

    def test_the_cost_is_that_of_the_students_own_lines(self):
        names = "kernel file access line requests sectors ideal_sectors".replace(" ", "\t")
        rows = [
            f"k\t/a b/{file}\tglobal load\t9\t1\t{sectors}\t4"
            for file, sectors in (("given.hpp", 32), ("dot_product.cu", 8))
        ]
        table = "\n".join([names, *rows])
        self.gtest(
            "lab_test.05.1",
            ["A"],
            watched=f"open(os.environ['CPU_DEVICE_COUNTERS'], 'w').write({table!r}) > 0",
        )
        done = self.lab("test", "05.1")
        self.assertIn(
            "  8.0 sectors per request (best: 4.0); worst at dot_product.cu:9: 8.0 (best: 4.0)\n",
            done.stdout,
        )
        contract = self.lab_file().with_suffix(".hpp")
        contract.write_text("enum class step { naive, tile };\n")
        self.assertIn(
            ": 8.0 (best: 4.0); this counts all steps, including those that are slow on purpose\n",
            self.lab("test", "05.1").stdout,
        )

    def test_where_the_cases_fail_nothing_else_is_built(self):
        self.gtest("lab_test.05.1", ["A"], "fails('no')")
        self.assert_status(1, self.lab("test", "05.1"))
        self.assertFalse([call for call in self.calls() if "watched" in call])

    def test_what_was_not_run_is_not_done(self):
        self.gtest("lab_test.05.1", ["A"])
        self.cases("05.1", ["A", "B"])
        done = self.lab("test", "05.1")
        self.assert_status(1, done)
        self.assertIn("1 of 2 tests pass", done.stdout)
        self.assertIn("not run Suite.B", done.stdout)

    def test_a_test_that_the_course_does_not_have_is_none(self):
        self.gtest("lab_test.05.1", ["A", "Mine"])
        self.cases("05.1", ["A"])
        done = self.lab("test", "05.1")
        self.assert_status(1, done)
        self.assertIn("a test that the course does not have is part of it, Suite.Mine", done.stdout)

    def test_a_todo_that_is_as_it_was(self):
        self.lab_file().write_text("// mine\n" + STARTER)
        self.gtest("lab_test.05.1", ["A"])
        done = self.lab("test", "05.1")
        self.assert_status(1, done)
        self.assertIn("is not done: TODO(1) is as it was in the starter.", done.stdout)
        self.assertEqual("started", self.state())

    def test_a_bonus_may_wait(self):
        exercise = resolve_one(self.root, "05.1")
        exercise.solution_file.write_text(BONUS_SOLUTION)
        self.lab("dev", "starters")
        starter = self.lab_file().read_text()
        self.gtest(
            "lab_test.05.1", ["A", "B"], f"name == 'A' or {NOT_WRITTEN.format(2)}", "name == 'A'"
        )
        # The check build is asked for the cases that passed.
        self.lab_file().write_text(starter.replace("return 0;", "return 1;"))
        done = self.lab("test", "05.1")
        self.assert_status(0, done)
        self.assertIn("1 test passes; 1 is about a bonus that is not written.", done.stdout)
        self.assertRegex(done.stdout, r"no races +1 test,")
        self.assertRegex(done.stdout, r"core done +bonus: TODO 2\n")
        self.assertEqual("core done; bonus: TODO 2", self.state())
        self.assertIn("(1 of 2 done)", self.lab("list").stdout)
        # It may be begun, too. But who says that it is missing has to mean that TODO.
        self.lab_file().write_text(starter.replace("return 0;", "return 1;").replace("throw", "//"))
        self.assert_status(0, self.lab("test", "05.1"))
        self.assertEqual("core done; bonus: TODO 2", self.state())
        self.lab_file().write_text(starter.replace("return 0;", "return 1;"))
        for failure in (NOT_WRITTEN.format(1), "fails('got 1, expected 2')"):
            self.gtest("lab_test.05.1", ["A", "B"], f"name == 'A' or {failure}")
            self.assert_status(1, self.lab("test", "05.1"))

    def test_the_first_to_look_at_is_a_report_or_has_short_numbers(self):
        long, short = "got 571759576, expected 2433363436", "got 2, expected 1"
        report = "CPU device: past the end: thread (3,0,0) reads element 3 of 3 at k.cu:5"
        for said, first in (((long, short), "B"), ((short, long), "A"), ((short, report), "B")):
            with self.subTest(said):
                a, b = said
                self.gtest(
                    "lab_test.05.1", ["A", "B"], f"fails({a!r}) if name == 'A' else fails({b!r})"
                )
                told = self.lab("test", "05.1").stdout
                self.assertIn(f"What to look at first, Suite.{first}:", told)

    def begin_bonus(self):
        """05.1 with the core written, a bonus begun, and two steps, of which that is one."""
        exercise = resolve_one(self.root, "05.1")
        exercise.solution_file.write_text(BONUS_SOLUTION.replace('"two"', '"step two"'))
        (exercise.folder / "dot_product.hpp").write_text("enum class step { one, two };")
        self.lab("dev", "starters")
        starter = self.lab_file().read_text()
        self.lab_file().write_text(starter.replace("return 0;", "return 1;").replace("throw", "//"))

    def test_a_bonus_that_is_wrong_leaves_the_core_done(self):
        self.begin_bonus()
        cases = ["Is/one", "Is/two"]
        bodies = {
            "fails('got 1, expected 2')": r"What to look at first, Suite.Is/two:\n  got 1",
            "crashes(11)": "What to look at first, Suite.Is/two",
            "hangs()": r"It was took longer|took longer than",
        }
        for body, told in bodies.items():
            with self.subTest(body):
                # One that never ends keeps the cases behind it from being run.
                self.gtest("lab_test.05.1", cases[::-1], f"name == 'Is/one' or {body}")
                done = self.lab("test", "05.1")
                self.assert_status(0, done)
                self.assertIn("1 test passes; 1 about the bonus fails.", done.stdout)
                self.assertRegex(done.stdout, told)
                self.assertRegex(done.stdout, r"core done +bonus: TODO 2\nThe core is done; the b")
                self.assertIn("Next: edit labs/05_shared_memory/1_dot_product/", done.stdout)
                self.assertNotIn("Done.", done.stdout)
                self.assertEqual("core done; bonus: TODO 2", self.state())
        # In the check build, too.
        self.gtest("lab_test.05.1", cases[::-1], watched="name == 'Is/one' or hangs()")
        done = self.lab("test", "05.1")
        self.assert_status(0, done)
        self.assertRegex(done.stdout, r"no races +all 2 tests, .*, but for the bonus\n")
        for body in bodies:  # the other one is no bonus
            self.gtest("lab_test.05.1", cases, f"name == 'Is/two' or {body}")
            done = self.lab("test", "05.1")
            self.assert_status(1, done)
            self.assertRegex(done.stdout, "What to look at first, Suite.Is/one")
            self.assertEqual("started", self.state())

    def test_what_the_check_build_sees_of_a_bonus_leaves_the_core_done(self):
        self.begin_bonus()
        race = "fails('CPU device: race on global memory in kernel k')"
        for wrong, status in (("two", 0), ("one", 1)):
            body = f"name != 'Is/{wrong}' or {race}"
            self.gtest("lab_test.05.1", ["Is/one", "Is/two"], watched=body)
            done = self.lab("test", "05.1")
            self.assert_status(status, done)
            self.assertRegex(
                done.stdout,
                rf"What to look at first, Suite.Is/{wrong}:\n  CPU device: race",
            )
            check = self.assertRegex if status == 0 else self.assertNotRegex
            check(done.stdout, r"watched \(\d+ s with the build\), but for the bonus")
            check(done.stdout, r"core done +bonus: TODO 2\nThe core is done; the bonus is begun")
            self.assertNotIn("Done.", done.stdout)
        self.assertIn("is not done: the check build", done.stdout)

    def test_time_that_runs_out_is_that_of_the_slow_cases(self):
        begun = self.root / "begun"  # by the slow one: then the time is over
        self.gtest(
            "lab_test.05.1",
            ["Slow", "A", "B"],
            watched=f"name != 'Slow' or (open({str(begun)!r}, 'w').close(), time.sleep(600))",
        )
        cases = [Case("Suite.Slow", seconds=9), Case("Suite.A", seconds=3), Case("Suite.B")]
        with (
            mock.patch.dict(os.environ, self.env),
            mock.patch.object(
                done, "time", mock.Mock(monotonic=lambda: 100.0 if begun.exists() else 0.0)
            ),
        ):
            found = done.check(
                self.root,
                resolve_one(self.root, "05.1"),
                Result({case.name: case for case in cases}),
                solution=False,
                device=Device("cpu", ""),
                case_limit=60,
                todos=Todos(),
            )
        self.assertEqual((3, 2, None), (found.asked, found.seen, found.bad))
        what, detail = done.lines(Result(), found, None, False)[1]
        self.assertEqual("no race in", what)
        self.assertIn("2 of 3 tests (as many as 20 s allow; `scripts/lab check`", detail)
        costs = dict(done.lines(Result(), found, None, False))
        self.assertIn("not enough time for all tests", costs["cost"])
        self.assertNotIn("cost", dict(done.lines(Result(), found, None, False, costs=[])))

    def test_tests_that_are_skipped_are_not_counted_as_watched(self):
        cases = [Case("S.A", "passed", runs=1), Case("S.B", "skipped", runs=1)]
        found = done.Check(results=[Result({case.name: case for case in cases})], asked=2)
        what, detail = done.lines(Result(), found, None, False)[1]
        self.assertEqual("no races", what)
        self.assertIn("1 test, with every access watched", detail)

    def test_required_work_is_looked_at_even_if_the_time_is_over(self):
        self.gtest(
            "lab_test.05.1", ["A", "Work"], watched="name != 'Work' or fails('by one thread')"
        )
        ticks = iter(range(0, 1_000_000, 100))
        cases = [Case("Suite.A", seconds=1), Case("Suite.Work", seconds=9)]
        plain = Result({case.name: case for case in cases})
        with (
            mock.patch.dict(os.environ, self.env),
            mock.patch.object(done, "time", mock.Mock(monotonic=lambda: float(next(ticks)))),
            mock.patch.object(done.points, "is_required_work", lambda name: name == "Suite.Work"),
        ):
            found = done.check(
                self.root,
                resolve_one(self.root, "05.1"),
                plain,
                solution=False,
                device=Device("cpu", ""),
                case_limit=60,
                todos=Todos(),
            )
        self.assertEqual(["Suite.Work"], [case.name for case in found.mistakes])

    def test_where_a_bonus_is_begun_the_core_has_no_more_time_than_there_is(self):
        begun = self.root / "begun"  # by the slow one: then the time is over
        cases = [Case("Suite.Slow", seconds=9), Case("Suite.A"), Case("Suite.Work", seconds=1)]
        self.gtest(
            "lab_test.05.1",
            ["A", "Slow", "Work"],
            watched=(
                f"fails('by one thread') if name == 'Work' else name != 'Slow' or"
                f" (open({str(begun)!r}, 'w').close(), time.sleep(600))"
            ),
        )
        with (
            mock.patch.dict(os.environ, self.env),
            mock.patch.object(
                done, "time", mock.Mock(monotonic=lambda: 100.0 if begun.exists() else 0.0)
            ),
            mock.patch.object(done.points, "is_required_work", lambda name: name == "Suite.Work"),
        ):
            found = done.check(
                self.root,
                resolve_one(self.root, "05.1"),
                Result({case.name: case for case in cases}),
                solution=False,
                device=Device("cpu", ""),
                case_limit=60,
                todos=Todos(all_bonus=[2]),
            )
        self.assertEqual((3, 2), (found.asked, found.seen))
        self.assertEqual(["Suite.Work"], [case.name for case in found.failures])


class WrittenTest(LabTest):
    STARTER = """void f() {
  // TODO(1): this.
  throw not_written("f", 1);
  // TODO(2): and that.
}
void g() {
  // TODO(3): the other.
  throw not_written("g", 3);
}
"""

    def said(self, text, number, core):
        file = self.root / "x.cu"
        file.write_text(text)
        todos = Todos(core, together=_together(self.STARTER))
        return if_it_is_written(f"f is not written yet: TODO({number}) in x.cu", file, todos)

    def test_what_to_do_where_something_stands_below_the_todo(self):
        begun = self.STARTER.replace("this.\n", "this.\n  h();\n")
        self.assertEqual("", self.said(self.STARTER, 1, [1, 2, 3]))
        self.assertEqual(
            "You have started it; TODO(2) is as it was in the starter.",
            self.said(begun, 1, [2, 3]),
        )
        take_out = "If you have written it, take out the `throw not_written(…)` in line {}."
        self.assertEqual(take_out.format(4), self.said(begun, 1, [3]))
        self.assertEqual(take_out.format(8), self.said(self.STARTER, 3, []))
        self.assertEqual("", self.said('// throw not_written("f", 1);', 1, []))


class ChecksTest(unittest.TestCase):
    def test_a_case_that_waits_for_a_bonus_may_say_more(self):
        waits = Said("step fast is not written yet: TODO(2) in x.cu", True)
        core = Said("right values, but shared memory was not used", True)
        for said, bad in (([waits], False), ([core, waits], True), ([core], True)):
            case = Case("Requires.Tiles", "failed", said, runs=1)
            result = Result({case.name: case}, 1, failed_runs=[case], ended=True)
            found = done.Check([result], todos=Todos([], [2], [2]))
            self.assertEqual(bad, found.bad is not None)
            self.assertEqual([case] if bad else [], found.mistakes)


class BonusTest(unittest.TestCase):
    """Which failures are only about a bonus: `fast` is one, `plain` is none."""

    TODOS = Todos([], [], [2], ["plain", "fast"], {"fast": [2]})
    RACE = "race on shared memory in kernel {} (launched at x.cu:{}), block ({},0,0):\n  a thread"

    def failed(self, name, *failures, state="failed"):
        return Case(name, state, [Said(text, True) for text in failures], runs=1)

    def reported(self, name, kernel, line, block=0):
        race = self.RACE.format(kernel, line, block)
        case = self.failed(
            name, f"Failed\nthe CPU device reported a mistake in this test, the last one:\n{race}"
        )
        case.said.insert(0, Said(f"CPU device: {race}\n"))
        return case

    def assert_core(self, expected, *cases):
        core = not_about_bonus(cases, self.TODOS)
        self.assertEqual(expected, [case.name for case in core])

    def test_cases_of_its_step(self):
        self.assert_core(
            ["Dot.Is/plain_n1", "Other.Thing"],
            self.failed("Dot.Is/plain_n1", "no"),
            self.failed("Dot.Is/fast_n1", "no"),
            self.failed("Dot.Is/fast_n2", state="crashed"),
            self.failed("Other.Thing", "no"),
        )

    def test_required_work_that_names_a_step(self):
        refused = "Value of: as_required(…)\n  Actual: false (one thread)\nExpected: true\n"
        self.assert_core([], self.failed("Requires.Work", refused + "fast"))
        self.assert_core(
            ["Requires.Work"], self.failed("Requires.Work", refused + "fast", refused + "plain")
        )

    def test_required_work_in_which_the_cpu_device_reports(self):
        work = self.reported("Requires.Work", "k", 7)
        plain = self.reported("Dot.Is/plain_n1", "k", 7)
        fast = self.reported("Dot.Is/fast_n1", "k", 7, block=3)
        other = self.reported("Dot.Is/fast_n1", "k", 8)
        self.assert_core([], work, fast)
        self.assert_core(["Requires.Work"], work)
        self.assert_core(["Requires.Work"], work, other)
        self.assert_core(["Requires.Work", "Dot.Is/plain_n1"], work, plain, fast)

    def test_required_work_that_crashes(self):
        crash = self.failed("Requires.Work", state="crashed")
        self.assert_core(["Requires.Work"], crash)
        self.assert_core([], crash, self.failed("Dot.Is/fast_n1", state="crashed"))

    def test_its_todos_that_are_open(self):
        todos = Todos([], [6], [2, 3, 6], ["plain", "fast", "wide"], {})
        todos.bonus_steps = _bonus_steps(
            'not_written("step plain", 1); not_written("step fast", 2); not_written("wide", 6);'
            ' not_written("step plain or fast", 2)',
            ["plain", "fast", "wide"],
            [2, 3, 6],
        )
        self.assertEqual({"fast": [2, 3], "wide": [6]}, todos.bonus_steps)
        self.assertEqual([6], open_bonus([], todos))
        self.assertEqual([2, 3, 6], open_bonus([self.failed("A.B/fast", "no")], todos))
        self.assertEqual(
            [3, 6],
            open_bonus([self.failed("A.B/fast", "it is not written yet: TODO(3)")], todos),
        )


class WordsTest(unittest.TestCase):
    def test_todos_are_listed(self):
        for numbers, text in (
            ([2], "TODO 2"),
            ([1, 2], "TODO 1 and 2"),
            ([7, 5, 6], "TODO 5 to 7"),
            ([1, 3, 5, 6, 7, 9], "TODO 1, 3, 5 to 7 and 9"),
        ):
            self.assertEqual(text, listed(numbers))

    def in_which_order(
        self, *wrong, at_once=False, on_device_0=False, once=False, runs=3, text="no"
    ):
        run = Case("S.A", "failed", [Said(text, True, order=order) for order in wrong], runs=runs)
        result = Result(failed_runs=[run], orders=["forward", REVERSE, "random, seed 2"])
        right = {
            "{}": False,
            str(done.AT_ONCE): at_once,
            str(done.ON_DEVICE_0): on_device_0,
            str(done.ONCE): once,
        }
        return done.in_which_order(run, result, lambda case, variables: right[str(variables)])

    def test_what_the_order_says_is_known_as_a_named_cause(self):
        for wrong in ([REVERSE], ["forward", REVERSE]):
            for is_right in (False, True):
                said = self.in_which_order(*wrong, at_once=is_right, on_device_0=is_right)
                self.assertRegex(f"  {said}", done.BY_ORDER)

    def test_what_the_order_of_threads_says(self):
        self.assertEqual(
            "Right forward, wrong in reverse and in random order: two threads access the"
            " same memory here, and the result depends on which of them comes first; or memory is"
            " read that was never written: it holds different bytes in each order.",
            self.in_which_order(REVERSE, "random, seed 2"),
        )
        self.assertEqual(
            "Right in reverse and in random order, wrong forward: memory is read that was never"
            " written: it holds different bytes in each order; or two threads access the same"
            " memory here, and the result depends on which of them comes first.",
            self.in_which_order("forward", text="got -nan, expected 5.03"),
        )
        self.assertEqual(
            "Right when all work is done immediately, wrong when it is done as late as CUDA allows:"
            " the host, or a stream, does not wait for something that is still running.",
            self.in_which_order(REVERSE, "random, seed 2", at_once=True),
        )
        self.assertEqual(
            "Right when one stream runs after the other, wrong when they take turns: two"
            " streams use the same memory, and neither waits for the other.",
            self.in_which_order("random, seed 2", at_once=True),
        )
        on_device_0 = "Right while device 0 is the current one, wrong when it is device 1: "
        said = self.in_which_order(REVERSE, on_device_0=True)
        self.assertTrue(said.startswith(on_device_0), said)
        for wrong in ([REVERSE], ["forward"], [REVERSE, "random, seed 2"]):
            said = self.in_which_order(*wrong, on_device_0=wrong != [REVERSE])
            self.assertNotIn(on_device_0, said)
        said = self.in_which_order(REVERSE, once=True)
        self.assertIn("wrong when it is launched again, as a program does", said)
        self.assertRegex(f"  {said}", done.BY_ORDER)
        self.assertEqual("", self.in_which_order("forward", REVERSE, "random, seed 2"))
        self.assertEqual("", self.in_which_order(REVERSE, runs=2))  # not all orders have run
        self.assertEqual("", self.in_which_order(""))

    def test_the_order_of_threads_says_nothing_of_a_case_that_only_one_order_has(self):
        said = f"got 1, expected 2 ({done.ONE_ORDER}.)"
        self.assertEqual("", self.in_which_order("random, seed 2", text=said))
        header = Path(__file__).parents[1] / "support/full_size.hpp"
        self.assertIn(done.ONE_ORDER, header.read_text(encoding="utf-8"))

    def test_how_the_check_build_found_it(self):
        for name, said, how in (
            ("S.A", "CPU device: race on shared memory in kernel k", "watching every memory"),
            ("S.A", "CPU device: past the end: thread (1,0,0)", "by luck"),
            ("S.A", "got 1, expected 2", "rounds a*b+c once"),
            ("Requires.Work", "got 1, expected 2", "rounds a*b+c once"),
            ("Requires.Work", "CPU device: race on shared memory in kernel k", "watching every"),
            ("Requires.Work", "right values, but shared memory was not used", "counting what each"),
            ("Requires.Work", "the kernels read 4 bytes: who did the rest?", "counting what each"),
        ):
            case = Case(name, "failed", [Said(said, True)])
            passed = Result({name: Case(name, "passed")})
            self.assertIn(how, done.how_it_was_found(case, passed), said)
            self.assertIn("A GPU does not have this test", done.how_it_was_found(case, Result()))
        case = Case("S.A", "failed", [Said("got 1, expected 2", True)])
        skipped = Result({"S.A": Case("S.A", "skipped")})
        self.assertIn("only the check build counts", done.how_it_was_found(case, skipped))

    def test_the_cost_in_a_line(self):
        rows = [
            Row("k", "shared load", "x.cu", 7, requests=4, wavefronts=8, ideal_wavefronts=4),
            Row("k", "shared load", "x.cu", 7, requests=4, wavefronts=4, ideal_wavefronts=4),
            Row("k", "global load", "x.cu", 9, requests=1, sectors=32, ideal_sectors=4),
            Row("k", "global atomic", "x.cu", 9, requests=1, sectors=32, turns=3),
        ]
        self.assertEqual("", counters.in_a_line([]))
        added = counters.added_up(rows)
        self.assertEqual((3, 8, 12), (len(added), added[0].requests, added[0].wavefronts))
        self.assertEqual(4, rows[0].requests)
        self.assertEqual(
            "1.5 wavefronts per request (best: 1.0), 32.0 sectors per request (best: 4.0);"
            " worst at x.cu:9: 32.0 (best: 4.0)",
            counters.in_a_line(added),
        )
        # Chapter 03 explains sectors, and 05.4 wavefronts.
        self.assertEqual([], counters.explained("02.4"))
        self.assertEqual(["sectors"], counters.explained("05.3"))
        self.assertEqual(["sectors", "wavefronts"], counters.explained("05.4"))
        self.assertEqual(
            "32.0 sectors per request (best: 4.0); worst at x.cu:9: 32.0 (best: 4.0)",
            counters.in_a_line(added, ["sectors"]),
        )

    def test_a_predicate_that_says_what_is_wrong(self):
        said = Said(
            "Value of: is_right(which(), {1, 2})\n  Actual: false (3 of 4 (all) differ)\nExpected:"
            " true\nchunk 7",
            True,
            "t.cpp",
            7,
        )
        self.assertEqual(
            "3 of 4 (all) differ\n  checked at t.cpp:7: is_right(which(), {1, 2})\n  chunk 7",
            test_program.sentence(said),
        )

    def test_values_that_should_be_equal(self):
        head = "Expected equality of these values:\n"
        for text, sentence in (
            ("  f(1).x\n    Which is: 6\n  2U\n    Which is: 2", "f(1).x is 6, expected 2\n  @"),
            ("  n\n    Which is: 6\n  7\nstep a\nb", "n is 6, expected 7\n  @\n  step a\n  b"),
        ):
            said = test_program.sentence(Said(head + text, True, "t.cpp", 7))
            self.assertEqual(sentence.replace("@", "checked at t.cpp:7"), said)
        diff = f'{head}  a\n    Which is: "x"\n  b\n    Which is: "y"\nWith diff:\n@@ -1 +1 @@'
        self.assertEqual(f"t.cpp:7: {diff}", test_program.sentence(Said(diff, True, "t.cpp", 7)))

    def test_values_that_should_be_near_or_more(self):
        near = (
            "The difference between f(90).at(0) and {0} is 1, which exceeds {1}, where\n"
            "f(90).at(0) evaluates to 0,\n{0} evaluates to 1, and\n{1} evaluates to 0.5."
        )
        for text, sentence in (
            (near.format("1", "1e-15"), "f(90).at(0) is 0, expected 1, give or take 1e-15\n  @"),
            (
                near.format("sin(x)", "kMost") + "\nstep a",
                "f(90).at(0) is 0, expected 1, give or take 0.5\n  @\n  step a",
            ),
            (
                "Expected: (a.mean) > (b.mean), actual: 2.5 vs 3\nno double?",
                "a.mean is 2.5, expected more than 3 (b.mean)\n  @\n  no double?",
            ),
            ("Expected: (n) != (0), actual: 0 vs 0", "n is 0, expected anything but 0\n  @"),
        ):
            said = test_program.sentence(Said(text, True, "t.cpp", 7))
            self.assertEqual(sentence.replace("@", "checked at t.cpp:7"), said)

    def test_what_to_look_at_first(self):
        def failed(name, *said):
            return Case(name, "failed", [Said(text, True, "t.cpp", 7) for text in said])

        cases = [
            failed("Requires.Work", "x is not written yet: TODO(1)"),
            failed("S.Later", "x is not written yet: TODO(2)"),
            failed("S.First", "x is not written yet: TODO(1)"),
            failed("Requires.Other", "got 1, expected 2"),
            failed("S.Wrong", "got 1, expected 2"),
            failed("S.RefusesNothing", "CPU device: the launch of k fails: it has no threads"),
            failed("S.Both", "x is not written yet: TODO(1)", "got 17, expected 18"),
            failed("S.Infinite", "Actual: false (1 of 2 elements differs; got 1, expected -inf)"),
            failed("S.Long", "f() is { 1, nan, nan, nan, ... }, expected { 1, 2, 3, 4, ... }"),
            failed("S.Short", "f() is { 0, 0 }, expected { 1, 2 }"),
            failed("Refusal.OfNothing", "got 3, expected 4"),
        ]
        order = ("S.Wrong", "S.Both", "S.Short", "S.Infinite", "S.Long")
        bad_input = ("S.RefusesNothing", "Refusal.OfNothing")
        for name in (*order, *bad_input, "S.First", "Requires.Work", "S.Later", "Requires.Other"):
            self.assertEqual(name, testing._most_useful(cases, []).name)
            cases = [case for case in cases if case.name != name]

    def test_values_say_more_than_what_is_far_too_large(self):
        wrong = Case("S.Wrong", "failed", [Said("got 3.25, expected 4.5", True)])
        launch = "CPU device: the launch of k fails: the grid (1, 65537, 1) "
        for text, first in (
            (launch + "is too large: at most …", "S.Wrong"),
            (launch + "has no blocks.", "S.Launch"),
            ("CPU device: x: no allocation of the device is anywhere near that address", "S.Wrong"),
            ("CPU device: x: just past the end of device memory.", "S.Launch"),
        ):
            launch_fails = Case("S.Launch", "failed", [Said(text + "\n"), Said("f() fails", True)])
            self.assertEqual(first, testing._most_useful([launch_fails, wrong], []).name)

    def test_the_first_step_comes_first(self):
        cases = [
            Case(name, "failed", [Said(text, True)])
            for name, text in (
                ("Steps/S.A/second", "got 1, expected 2"),
                ("Steps/S.A/first", "got -nan, expected inf"),
                ("Steps/S.B/second", "CPU device: just past the end of device memory."),
                ("Steps/S.B/first", "got -nan, expected 2"),
                ("Steps/S.C/first", "got 17.25, expected 33.75"),
            )
        ]
        for name in ("S.C/first", "S.B/first", "S.A/first", "S.B/second", "S.A/second"):
            first = testing._most_useful(cases, ["first", "second"])
            self.assertEqual("Steps/" + name, first.name)
            cases.remove(first)

    def test_little_data_comes_first(self):
        for texts in (
            (
                "9 of 17 elements differ; first at [4]: got 1, expected 0",
                "60 of 65537 elements differ; first at [0]: got 0, expected 1",
            ),
            (
                "CPU device: 4 bytes past the end of device memory (1000 bytes).",
                "CPU device: just past the end of device memory (2.5 KiB, allocated at x.cu:5).",
            ),
            (
                "step a is not written yet: TODO(1)",
                f"({done.ONE_ORDER}.)\nstep a is not written yet: TODO(1)",
            ),
        ):
            few, many = (Case(text, "failed", [Said(text, True)]) for text in texts)
            self.assertIs(few, testing._most_useful([many, few], []))

    def test_what_fails_once_comes_before_what_fails_often_and_values_before_leaks(self):
        leak = Case("S.Leak", "failed", [Said("this test leaves a stream", True)])
        many, one = (
            Case(f"S.{n}", "failed", [Said(f"got {i}, expected 4{i}", True) for i in range(n)])
            for n in (3, 1)
        )
        cases = [leak, many, one]
        for expected in (one, many, leak):
            self.assertIs(expected, testing._most_useful(cases, []))
            cases.remove(expected)

    def test_two_failures_of_a_case_are_shown_and_all_that_the_device_reports(self):
        said = [Said(f"got {i}, expected 4{i}", True) for i in range(4)]
        said.append(Said("the CPU device reported a mistake in this test, the last one:\nzz", True))
        self.assertEqual(
            ["got 0, expected 40", "got 1, expected 41"]
            + said[-1].text.splitlines()
            + ["(2 more failures of this test.)"],
            testing._readable(Case("S.A", "failed", said)),
        )

    def test_what_is_not_written_beside_what_is_wrong(self):
        def readable(*texts):
            return testing._readable(Case("S.A", "failed", [Said(text, True) for text in texts]))

        missing, left = "x is not written yet: TODO(1)", "this test leaves a stream"
        self.assertEqual(["got 1, expected 2", left], readable(missing, "got 1, expected 2", left))
        self.assertEqual([missing], readable(missing, left))
        self.assertEqual([left], readable(left))

    def test_calls_that_fail_since_a_kernel_has_failed(self):
        call = (
            "Value of: as_required(f())\n  Actual: false (cudaFree(p) failed:"
            " cudaErrorLaunchFailure)\nExpected: true\nstep"
        )
        case = Case("S.A", "failed", [Said("CPU device: barrier divergence\n"), Said(call, True)])
        self.assertEqual(
            [
                "CPU device: barrier divergence",
                "(After that every CUDA call fails, with cudaErrorLaunchFailure, as after any"
                " kernel that fails.)",
            ],
            testing._readable(case),
        )

    def test_a_condition_of_which_the_test_says_what_it_means(self):
        text = "Value of: std::isnan(sum)\n  Actual: false\nExpected: true"
        self.assertEqual(
            "got 3, expected NaN\n  checked at t.cpp:7: std::isnan(sum)",
            test_program.sentence(Said(f"{text}\ngot 3, expected NaN", True, "t.cpp", 7)),
        )
        self.assertEqual(f"t.cpp:7: {text}", test_program.sentence(Said(text, True, "t.cpp", 7)))


if __name__ == "__main__":
    unittest.main()
