# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab: testing, progress, hints and the student's files, with a fake cmake underneath."""

import json
import os
import unittest
from xml.etree import ElementTree

from fakes import SOLUTION, STARTER, LabTest
from lablib.exercises import resolve_one


class TestTest(LabTest):
    def test_all_pass(self):
        self.lab_file().write_text("// mine\n")
        self.gtest("lab_test.05.1", ["AddsNothing", "AddsOne"])
        done = self.lab("test", "05.1")
        self.assert_status(0, done)
        self.assertIn("05.1 dot_product: all 2 tests pass.", done.stdout)
        self.assertIn("ok      Suite.AddsOne", done.stdout)

    def test_the_next_one_is_the_one_after_it_that_is_not_done(self):
        following = {"05.1": "05.2", "03.1": "05.2", "05.2": "15.10"}
        for id, after in following.items():
            file = resolve_one(self.root, id).lab_file
            file.write_text(f"// mine, {id}\n")
            self.gtest(f"lab_test.{id}", ["A"])
            self.assertIn(f"Done. Next: {after} ", self.lab("test", id).stdout)
        file.write_text("// changed\n")  # behind the last one it begins anew
        resolve_one(self.root, "15.10").lab_file.write_text("// mine\n")
        self.gtest("lab_test.15.10", ["A"])
        self.assertIn("Done. Next: 05.2 ", self.lab("test", "15.10").stdout)

    def test_a_failure_shows_its_message_and_the_next_step(self):
        self.gtest(
            "lab_test.05.1",
            ["A", "B", "C"],
            "True if name == 'A' else fails('got 2, expected 3: ' + name)",
        )
        done = self.lab("test", "05.1")
        self.assert_status(1, done)
        self.assertIn("1 of 3 tests pass", done.stdout)
        self.assertIn("FAILED  Suite.B", done.stdout)
        self.assertIn("What to look at first, Suite.B:\n  got 2, expected 3: B", done.stdout)
        self.assertNotIn("expected 3: C", done.stdout)
        self.assertIn("Next: edit labs/05_shared_memory/1_dot_product/dot_product.cu", done.stdout)
        self.assertIn("`scripts/lab hint 05.1`", done.stdout)

    def test_many_cases_share_a_line_by_name(self):
        names = [f"Sum/{number}" for number in range(30)] + ["Empty"]
        self.gtest("lab_test.05.1", names, "True if name in ('Empty', 'Sum/0') else fails('wrong')")
        lines = self.lab("test", "05.1").stdout.splitlines()
        self.assertEqual(
            [
                "05.1 dot_product: 2 of 31 tests pass.",
                "  ok      Suite.Sum  1 of 30 cases",
                "  FAILED  Suite.Sum  29 of 30 cases",
                "  ok      Suite.Empty",
                "",
                "What to look at first, Suite.Sum/1:",
                "  wrong",
            ],
            lines[:7],
        )

    def test_a_program_that_is_killed_as_a_whole(self):
        for how in ("os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(0)", "file.write(b'{')"):
            with self.subTest(how):
                self.gtest("lab_test.05.1", ["A", "B", "C"], f"name != 'B' or ({how}, os._exit(0))")
                done = self.lab("test", "05.1")
                self.assert_status(1, done)
                self.assertIn("1 of 3 tests pass", done.stdout)
                self.assertIn("crashed: Suite.B  (the program ended in the middle", done.stdout)
                self.assertIn("not run Suite.C", done.stdout)

    def test_after_an_endless_kernel_the_others_are_one_line(self):
        self.gtest(
            "lab_test.05.1",
            ["A", "B", "C"],
            "(fails('CPU device: stopped kernel k: the launch ran for more than 30 s.'),"
            " event('end', case=case, result='failed'), event('ends', status=1), os._exit(1))",
        )
        lines = self.lab("test", "05.1").stdout.splitlines()
        self.assertEqual(
            [
                "05.1 dot_product: 0 of 3 tests pass.",
                "  FAILED  Suite.A",
                "  not run the others, after a kernel that never ends",
            ],
            lines[:3],
        )

    def test_the_first_todo_comes_first_but_after_what_is_wrong(self):
        def first(body):
            self.gtest("lab_test.05.1", ["A", "B", "C"], body)
            text = self.lab("test", "05.1").stdout
            return text[text.index("What to look at first") :].splitlines()[:2]

        thrown = (
            "fails('C++ exception with description \"it is not written yet:"
            " TODO(' + {'A': '10', 'B': '2', 'C': '3'}[name] + ')\" thrown in the test body.')"
        )
        self.assertEqual(
            ["What to look at first, Suite.B:", "  it is not written yet: TODO(2)"], first(thrown)
        )
        self.assertIn("0 of 3 tests pass, 3 wait for a TODO.", self.lab("test", "05.1").stdout)
        self.assertIn("  TODO    Suite.A\n", self.lab("test", "05.1").stdout)
        self.assertEqual(
            ["What to look at first, Suite.C:", "  got 1, expected 2"],
            first(f"fails('got 1, expected 2') if name == 'C' else {thrown}"),
        )

    def test_after_a_crash_the_other_cases_still_run(self):
        self.gtest(
            "lab_test.05.1", ["A", "B", "C"], "name != 'B' or crashes(signal.SIGSEGV)"
        )
        done = self.lab("test", "05.1")
        self.assert_status(1, done)
        self.assertIn("2 of 3 tests pass", done.stdout)
        self.assertIn("crashed: Suite.B  (ended by SIGSEGV)\n", done.stdout)
        self.assertIn("ok      Suite.C", done.stdout)

    def test_a_looping_case_ends_it(self):
        self.gtest("lab_test.05.1", ["A", "B", "C"], "name != 'B' or hangs()")
        done = self.lab("test", "05.1", "--time-limit", "0.5")
        self.assert_status(1, done)
        self.assertIn("timed out: Suite.B", done.stdout)
        self.assertIn("  not run the others, after a test that never ends\n", done.stdout)
        self.assertRegex(done.stdout, "took longer than 0.5 s, and was stopped(.|\n)*barrier")

    def test_a_program_that_leaves_in_the_middle_has_not_passed(self):
        self.gtest("lab_test.05.1", ["A", "B"], "name != 'B' or leaves(0)")
        done = self.lab("test", "05.1")
        self.assert_status(1, done)
        self.assertIn("crashed: Suite.B  (the program left with exit status 0", done.stdout)

    def test_no_device_is_skipped_and_not_remembered_as_passed(self):
        self.program("lab_test.05.1", "echo no usable GPU; exit 77")
        done = self.lab("test", "05.1")
        self.assert_status(77, done)
        self.assertIn("no usable GPU", done.stdout)
        self.assertNotIn("done", self.lab("list").stdout.split("05.1")[1].splitlines()[0])

    def test_no_test_is_a_failure(self):
        self.program("lab_test.05.1", "echo nothing here; exit 0")
        done = self.lab("test", "05.1")
        self.assert_status(1, done)
        self.assertIn("no test ran", done.stdout)
        self.assertIn("nothing here", done.stdout)

    def test_where_every_case_is_skipped_nothing_is_tested(self):
        self.gtest("lab_test.05.1", ["A", "B"], "skips('needs two devices')")
        done = self.lab("test", "05.1")
        self.assert_status(77, done)
        self.assertIn("not tested", done.stdout)
        self.assertIn("needs two devices", done.stdout)

    def test_a_case_that_is_skipped_has_a_line(self):
        self.gtest(
            "lab_test.05.1", ["A", "B"], "name == 'B' or skips('this needs two devices\\n')"
        )
        self.assertIn(
            "  skipped Suite.A  (this needs two devices)\n", self.lab("test", "05.1").stdout
        )

    def test_junit(self):
        body = "fails('got \x01<2>, expected 3', file='t.cpp', line=7) if name == 'A' else True"
        self.gtest("lab_test.05.1", ["A", "B"], body)
        self.lab_file("05_shared_memory/2_divergent_barrier/divergent_barrier.cu").write_text(
            "SYNTAX ERROR"
        )
        file = self.root / "results" / "junit.xml"
        done = self.lab("test", "05.1", "05.2", "--junit", str(file))
        self.assert_status(1, done)
        first, second = ElementTree.parse(file).getroot()
        self.assertEqual(
            ("lab_test.05.1", "2", "1", "0.500"),
            tuple(first.get(name) for name in ("name", "tests", "failures", "time")),
        )
        failed, passed = first
        self.assertEqual(
            {"classname": "lab_test.05.1.Suite", "name": "A", "time": "0.250"}, failed.attrib
        )
        message = failed.find("failure").get("message")
        self.assertEqual("t.cpp:7: got \ufffd<2>, expected 3", message)
        self.assertEqual([], list(passed))
        self.assertIn("does not compile", second.find("testcase/error").get("message"))
        done = self.lab("test", "05.1", "--junit", "/proc/junit.xml")
        self.assert_status(1, done)
        self.assertIn("cannot write /proc/junit.xml", done.stderr)

    def test_without_an_id_it_is_the_next_unfinished(self):
        for target in ("lab_test.03.1", "lab_test.05.1"):
            self.gtest(target, ["A"])
        self.lab_file("03_vectors/1_vector_add/vector_add.cu").write_text("// mine\n")
        self.assertIn("03.1 vector_add: 1 test passes", self.lab("test").stdout)
        self.assertIn("05.1 dot_product: 1 test passes", self.lab("test").stdout)

    def test_a_chapter_goes_on_after_one_that_does_not_compile(self):
        self.lab_file().write_text("SYNTAX ERROR")
        self.gtest("lab_test.05.1", ["A"])
        self.gtest("lab_test.05.2", ["A"])
        done = self.lab("test", "05")
        self.assert_status(1, done)
        self.assertIn("05.2 divergent_barrier: 1 test passes", done.stdout)

    def test_the_solution_does_not_count_as_progress(self):
        self.gtest("solution_test.05.1", ["A"])
        done = self.lab("test", "05.1", "--solution")
        self.assert_status(0, done)
        self.assertFalse((self.root / ".lab" / "progress.json").exists())

    def test_check_builds_what_watches_in_the_same_folder(self):
        self.gtest("watched_lab_test.05.1", ["A"], "fails('CPU device: race')")
        done = self.lab("check", "05.1", LAB_DEVICE="gpu")
        self.assert_status(1, done)
        self.assertNotIn("no mistake", done.stdout)
        self.assertEqual(
            [
                "cmake --preset cpu",
                f"cmake --build {self.root}/build/cpu --target watched_lab_test.05.1 cases.05.1",
            ],
            self.calls(),
        )
        self.assertIn("CPU device: race", done.stdout)
        self.assertIn("`scripts/lab check 05.1` again", done.stdout)
        self.gtest("watched_lab_test.05.1", ["A"])
        self.assertIn("watched, and no mistake was found.", self.lab("check", "05.1").stdout)


class ProgressTest(LabTest):
    def state(self, id="05.1"):
        done = self.lab("list")
        self.assert_status(0, done)
        line = next(line for line in done.stdout.splitlines() if f" {id} " in line)
        return next(
            state
            for state in ("not started", "started", "changed since it passed", "done")
            if state in line
        )

    def test_from_not_started_to_done_and_changed(self):
        self.assertEqual("not started", self.state())
        self.gtest("lab_test.05.1", ["A"], "fails('no')")
        self.lab_file().write_text("// mine\n")
        self.assertEqual("started", self.state())
        self.lab("test", "05.1")
        self.assertEqual("started", self.state())
        self.gtest("lab_test.05.1", ["A"])
        self.lab("test", "05.1")
        self.assertEqual("done", self.state())
        self.lab_file().write_text("// mine, again\n")
        self.assertEqual("changed since it passed", self.state())
        self.lab_file().write_text("// mine\n")
        self.assertEqual("done", self.state())
        self.assertIn("(1 of 2 done)", self.lab("list").stdout)

    def test_each_part_of_the_course_has_a_heading_once_there_are_two(self):
        self.assertNotIn("Part", self.lab("list").stdout)
        self.add_exercise("16_warps", "1_warp_sum")
        self.add_exercise("17_graphs", "1_graph")
        lines = self.lab("list").stdout.splitlines()
        self.assertEqual("Part I", lines[0])
        (second,) = [i for i, line in enumerate(lines) if line.startswith("Part II")]
        self.assertTrue(lines[second + 1].startswith("16 warps"))

    def test_what_passed_and_fails_now_is_not_done(self):
        self.lab_file().write_text("// mine\n")
        self.gtest("lab_test.05.1", ["A"])
        self.lab("test", "05.1")
        self.assertEqual("done", self.state())
        self.gtest("lab_test.05.1", ["A"], "fails('no')")
        self.lab("test", "05.1")
        self.assertEqual("started", self.state())

    def test_a_broken_state_file_is_survived_and_kept(self):
        path = self.root / ".lab" / "progress.json"
        path.parent.mkdir()
        for text in ("{", "[]", '{"exercises": [1]}', '{"exercises": {"05.1_dot_product": 3}}', ""):
            path.write_text(text)
            done = self.lab("list")
            self.assert_status(0, done)
            self.assertIn("progress starts anew", done.stderr)
            self.assertEqual(text, (path.parent / "progress.broken.json").read_text())
        self.gtest("lab_test.05.1", ["A"])
        self.lab("test", "05.1")
        self.assertIn("05.1_dot_product", json.loads(path.read_text())["exercises"])
        self.assertEqual(
            ["log", "progress.broken.json", "progress.json"], sorted(os.listdir(path.parent))
        )


class FilesTest(LabTest):
    def test_a_question_comes_before_its_answer(self):
        (self.lab_file().parent / "hints.md").write_text(
            "# Hints\n\n## 1. What is a block?\n\nWho shares\nmemory?\n\nIts threads.\n\n"
            "```\n## 2. not a hint\n```\n\n## 2. How many?\n\nCount.\n\n32.\n"
        )
        question = (
            "05.1 dot_product, hint 1 of 2: What is a block?\n\nWho shares\nmemory?\n\n"
            "(Think first. `scripts/lab hint 05.1{}` shows the answer.)\n\n"
            "Further hints, `scripts/lab hint 05.1 NUMBER`:\n  2. How many?\n"
        )
        answer = "memory?\n\nIts threads.\n\n```\n## 2. not a hint\n```\n\n(When that is not enough"
        done = self.lab("hint", "05.1")
        self.assert_status(0, done)
        self.assertEqual(question.format(""), done.stdout)
        self.assertIn(answer, self.lab("hint", "05.1").stdout)
        # So it is with a number; and what was shown once is shown as a whole.
        self.assertNotIn("32.", self.lab("hint", "05.1", "2").stdout)
        self.assertIn("hint 1 of 2", self.lab("hint", "05.1", "1").stdout)
        self.assertIn(answer, self.lab("hint", "05.1", "1").stdout)
        self.assertIn("Count.\n\n32.\n", self.lab("hint", "05.1", "2").stdout)
        self.assertIn("Count.\n\n32.\n", self.lab("hint", "05.1", "2").stdout)
        self.assertIn("You have seen the 2 hints", self.lab("hint", "05.1").stdout)
        (self.root / ".lab" / "progress.json").unlink()
        self.assertEqual(question.format(" 1"), self.lab("hint", "05.1", "1").stdout)
        for number in ("0", "3", "x", "-1"):
            done = self.lab("hint", "05.1", number)
            self.assert_status(2, done)
        self.assertIn(
            "05.1 has 2 hints: '3' is not one of them, choose a number from 1 to 2",
            self.lab("hint", "05.1", "3").stderr,
        )
        self.assert_status(1, self.lab("hint", "05.2"))

    def test_a_hint_is_shown_though_it_cannot_be_noted(self):
        (self.lab_file().parent / "hints.md").write_text("## 1. First\n\nThink.\n")
        (self.root / ".lab").write_text("no folder")
        done = self.lab("hint", "05.1")
        self.assert_status(0, done)
        self.assertIn("Think.", done.stdout)
        self.assertIn("cannot write", done.stderr)

    def test_wrongly_numbered_hints_are_an_error(self):
        (self.lab_file().parent / "hints.md").write_text("## 1. a\n## 3. b\n")
        done = self.lab("hint", "05.1")
        self.assert_status(1, done)
        self.assertIn("hints.md:2: this hint has the number 3 instead of 2", done.stderr)

    def test_reset_keeps_a_copy(self):
        self.lab_file().write_text("mine\n")
        done = self.lab("reset", "05.1")
        self.assert_status(0, done)
        self.assertEqual(STARTER, self.lab_file().read_text())
        (copy,) = (self.root / ".lab" / "backup").iterdir()
        self.assertEqual("mine\n", copy.read_text())
        self.assertRegex(copy.name, r"^05\.1_dot_product\.\d{8}-\d{6}\.cu$")
        self.assertIn(f".lab/backup/{copy.name}", done.stdout)
        self.assertIn("nothing to do", self.lab("reset", "05.1").stdout)
        self.lab_file().write_text("mine, too\n")
        self.lab("reset", "05.1")
        self.lab_file().unlink()
        self.assert_status(0, self.lab("reset", "05.1"))
        self.assertEqual(2, len(list((self.root / ".lab" / "backup").iterdir())))

    def test_solution_shows_path_and_content(self):
        done = self.lab("solution", "05.1")
        self.assert_status(0, done)
        self.assertEqual(
            f"// solutions/05_shared_memory/1_dot_product/dot_product.cu\n\n{SOLUTION}", done.stdout
        )

    def test_dev_starters(self):
        self.assert_status(0, self.lab("dev", "starters", "--check"))
        self.lab_file().write_text("other\n")
        done = self.lab("dev", "starters", "--check")
        self.assert_status(1, done)
        self.assertIn("dot_product.cu:1: this is not the starter", done.stdout)
        self.assertEqual("other\n", self.lab_file().read_text())
        done = self.lab("dev", "starters")
        self.assert_status(0, done)
        self.assertIn("written: labs/05_shared_memory/1_dot_product/dot_product.cu", done.stdout)
        self.assertEqual(STARTER, self.lab_file().read_text())


if __name__ == "__main__":
    unittest.main()
