# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab: watch, verify, doctor and what authors use, with a fake cmake underneath."""

import json
import re
import signal
import subprocess
import time
import unittest
from xml.etree import ElementTree

from fakes import LabTest, script


class WatchTest(LabTest):
    def save(self, text):
        """In one step: a file that is emptied and then written may be seen as changed twice."""
        new = self.root / "new.cu"
        new.write_text(text)
        new.replace(self.lab_file())

    def test_it_tests_at_each_change_until_ctrl_c(self):
        self.gtest("lab_test.05.1", ["A"], "fails('not yet')")
        process = subprocess.Popen(
            [str(self.root / "scripts/lab"), "watch", "05.1"],
            env=self.env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)

        said = []

        def read_until(text):
            end = time.monotonic() + 20
            while time.monotonic() < end:
                line = process.stdout.readline()
                said.append(line)
                if text in line:
                    return
                self.assertNotEqual("", line, f"it ended before it said '{text}'")
            self.fail(f"it never said '{text}'")

        read_until("0 of 1 tests pass")
        read_until("Watching labs/05_shared_memory/1_dot_product")
        self.save("SYNTAX ERROR\n")
        read_until("dot_product.cu changed.")
        read_until("Could not build")
        read_until("Watching")
        self.gtest("lab_test.05.1", ["A"])
        self.save("right\n")
        read_until("1 test passes")
        read_until("Watching")
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=10)[0]
        # Where the signal comes in the middle of a write, Python writes that line once more.
        self.assertEqual("lab: stopped.\n", rest.replace(said[-1], ""), "after: " + "".join(said))
        self.assertEqual(130, process.returncode)

    def test_a_change_stops_a_looping_test(self):
        self.gtest("lab_test.05.1", ["A"], "time.sleep(100)")
        process = subprocess.Popen(
            [str(self.root / "scripts/lab"), "watch", "05.1"],
            env=self.env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        for line in process.stdout:
            if line.startswith("testing"):
                break
        self.gtest("lab_test.05.1", ["A"])
        self.lab_file().write_text("right\n")
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "Watching" in line:
                break
        process.send_signal(signal.SIGINT)
        process.wait(timeout=10)
        self.assertIn("starting over", "".join(lines))
        self.assertIn("1 test passes", "".join(lines))


class VerifyTest(LabTest):
    SUMMARY = (
        "100%% tests passed, 0 tests failed out of 9\\n\\nTotal Test time (real) = 1.00 sec\\n"
    )

    def ctest(self, status, tests=()):
        listing = json.dumps({"tests": [{"name": name} for name in tests]})
        script(
            self.bin / "ctest",
            f"#!/bin/sh\ncase $* in *--show-only=json-v1) echo '{listing}'; exit;; esac\n"
            f'echo "ctest $*" >> "$FAKE_LOG"\nprintf \'{self.SUMMARY}\'\nexit'
            f" {status}\n",
        )

    def test_it_ends_with_the_summary(self):
        self.ctest(0)
        done = subprocess.run(
            [str(self.root / "scripts/lab"), "verify", "--jobs", "3"],
            env=self.env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertTrue(
            done.stdout.endswith(self.SUMMARY.replace("\\n", "\n").replace("%%", "%")), done.stdout
        )
        build = f"{self.root}/build/cpu-course"
        self.assertEqual(
            [
                "cmake --preset cpu-course",
                f"cmake --build {build} --parallel 3",
                (
                    f"ctest --test-dir {build} -LE ^(lab|cpu_device)$ --output-on-failure"
                    " --no-tests=error --parallel 3"
                ),
            ],
            self.calls(),
        )

    def test_junit_has_every_case_and_what_has_none(self):
        events = self.root / "build" / "cpu-course" / "events"
        events.mkdir(parents=True)
        for name, lines in (
            (
                "solution.05.1",
                '{"event":"program","cases":["S.A","S.B"]}\n'
                '{"event":"begin","case":"S.A"}\n'
                '{"event":"end","case":"S.A","result":"passed","seconds":1.5}\n'
                '{"event":"begin","case":"S.B"}\n',  # where CTest's limit ended it
            ),
            ("lab.05.1", '{"event":"program","cases":["S.Old"]}\n'),  # of an earlier run
        ):
            (events / f"{name}.jsonl").write_text(lines)
        script(
            self.bin / "ctest",
            "#!/bin/sh\ncase $* in *--show-only=json-v1) echo '{\"tests\": []}'; exit;; esac\n"
            "while [ $# -gt 1 ]; do shift; done\ncat > \"$1\" <<'END'\n"
            '<testsuite><testcase name="solution.05.1" status="fail" time="2"/>'
            '<testcase name="lab.05.1" status="notrun" time="0">'
            '<skipped message="Unable to find executable"/></testcase>'
            '<testcase name="tools.x" status="fail" time="2">'
            "<system-out>one\ntwo</system-out></testcase>"
            '<testcase name="bug.05.1.x" status="run" time="3"/>'
            '<testcase name="bug.05.1.y" status="notrun" time="3">'
            '<skipped message="SKIP_RETURN_CODE=77"/></testcase></testsuite>\nEND\nexit 8\n',
        )
        file = self.root / "junit.xml"
        self.assert_status(1, self.lab("verify", "--junit", str(file)))
        found = [
            (suite.get("name"), case.get("name"), [part.tag for part in case])
            for suite in ElementTree.parse(file).getroot()
            for case in suite
        ]
        self.assertEqual(
            [
                ("solution.05.1", "A", []),
                ("solution.05.1", "B", ["error"]),
                ("lab.05.1", "lab.05.1", ["error"]),
                ("tools.x", "tools.x", ["failure"]),
                ("bug.05.1.x", "bug.05.1.x", []),
                ("bug.05.1.y", "bug.05.1.y", ["skipped"]),
            ],
            found,
        )

    def test_a_failure_is_its_status(self):
        self.ctest(8)
        self.assert_status(1, self.lab("verify"))

    def test_it_tries_a_sample_of_the_bugs(self):
        file = self.root / "tests/05_shared_memory/dot_product.bugs"
        file.parent.mkdir(parents=True)
        one = "bug: {}\nwhy: w\ncaught by: test\n--- find\na + b\n--- replace\nb\n--- end\n"
        names = [f"b{n}" for n in range(33)]
        file.write_text("".join(map(one.format, names)))
        # CMake may have left an exercise out, or one of its bugs.
        self.ctest(0, ["tools.x", *(f"bug.05.1.{name}" for name in names[:-1])])
        for name in names:
            self.program(f"bug.05.1.{name}", "")

        def tried(*arguments):
            self.log.write_text("")
            done = self.lab("verify", *arguments)
            self.assert_status(0, done)
            build, test = self.calls()[-2:]
            targets = build.split(" --target ")[1].split()
            return done.stderr, sorted(target.rpartition(".")[2] for target in targets), test

        said, two, test = tried("--seed", "7")
        self.assertIn("2 of 32 bugs are tried, chosen by --seed 7; --all-bugs tries all", said)
        self.assertEqual(2, len(two))
        expression = test.split(" -R ")[1].split()[0]
        matched = [name for name in sorted(names) if re.search(expression, f"bug.05.1.{name}")]
        self.assertEqual(two, matched)
        for other in ("tools.x", "hug.x", "bag.x", "bun.x", "bugs.x"):
            self.assertRegex(other, expression)
        self.assertNotRegex("bug.05.1.b", expression)
        self.assertEqual((two, test), tried("--seed", "7")[1:])
        self.assertNotEqual(1, len({str(tried("--seed", str(n))[1]) for n in range(8)}))
        self.assertIn("chosen by --seed", tried()[0])
        said, chosen, test = tried("--all-bugs")
        self.assertEqual(sorted(names[:-1]), chosen)
        self.assertNotIn(" -R ", test)
        self.assert_status(2, self.lab("verify", "--all-bugs", "--seed", "7"))

    def test_it_tries_one_right_solution_of_an_exercise(self):
        folder = self.root / "tests/05_shared_memory/dot_product.right"
        folder.mkdir(parents=True)
        styles = ("a", "b", "c", "left_out")
        for style in styles:
            (folder / f"{style}.cu").write_text("// x\n")
            for kind in ("right", "watched_right"):
                self.program(f"{kind}.05.1.{style}", "")
        # CMake may have left one out: what it needs is not there.
        self.ctest(0, ["tools.x", *(f"right.05.1.{style}" for style in styles[:-1])])

        def tried(*arguments):
            self.log.write_text("")
            done = self.lab(*arguments)
            self.assert_status(0, done)
            build, test = self.calls()[-2:]
            return done.stderr, build.split(" --target ")[1].split(), test

        said, targets, test = tried("verify", "--seed", "7")
        self.assertIn("0 of 0 bugs and 1 of 3 right solutions in other styles are tried", said)
        chosen = targets[0].rsplit(".", 1)[1]
        self.assertEqual([f"right.05.1.{chosen}", f"watched_right.05.1.{chosen}"], targets)
        expression = test.split(" -R ")[1].split()[0]
        matched = [style for style in styles if re.search(expression, f"right.05.1.{style}")]
        self.assertEqual([chosen], matched)
        for other in ("tools.x", "rift.x", "rights.x", "bright.x", "run.x"):
            self.assertRegex(other, expression)
        self.assertNotEqual(1, len({str(tried("verify", "--seed", str(n))[1]) for n in range(8)}))
        other = self.root / "tests/05_shared_memory/divergent_barrier.right/d.cu"
        other.parent.mkdir()
        other.write_text("// x\n")
        for kind in ("right", "watched_right"):
            self.program(f"{kind}.05.2.d", "")
        self.ctest(0, [*(f"right.05.1.{style}" for style in "abc"), "right.05.2.d"])
        exercises = [tried("verify", "--seed", str(n))[1][0].split(".")[2] for n in range(8)]
        self.assertEqual({"1", "2"}, set(exercises), "one of the two, another one by another seed")
        other.unlink()
        every = [f"{kind}right.05.1.{style}" for style in "abc" for kind in ("", "watched_")]
        self.ctest(0, ["tools.x", *(f"right.05.1.{style}" for style in "abc")])
        said, targets, test = tried("verify", "--all-bugs")
        self.assertEqual(every, targets)
        self.assertNotIn(" -R ", test)
        bugs = "bug: x\nwhy: w\ncaught by: test\n--- find\na\n--- replace\nb\n--- end\n"
        self.program("bug.05.1.x", "")
        (folder.parent / "dot_product.bugs").write_text(bugs)
        said, targets, test = tried("dev", "bugs", "05.1")
        self.assertEqual(every, targets)
        self.assertIn("1 bugs and 3 right solutions in other styles", said)

    def test_bugs_of_one_exercise(self):
        self.ctest(0)
        bugs = self.root / "tests/05_shared_memory/dot_product.bugs"
        bugs.parent.mkdir(parents=True)
        one = "bug: {}\nwhy: w\ncaught by: {}\n--- find\na + b\n--- replace\nb\n--- end\n"
        bugs.write_text(
            one.format("x", "test") + one.format("y", "compiler") + one.format("z", "check")
        )
        for target in ("bug.05.1.x", "bug.05.1.z"):
            self.program(target, "")
        done = self.lab("dev", "bugs", "05.1")
        self.assertIn(f"cmake --build {self.root}/build/cpu-course --parallel ", self.calls()[1])
        self.assertTrue(self.calls()[1].endswith(" --target bug.05.1.x bug.05.1.z"))
        self.assert_status(0, done)
        self.assertIn("-L ^(bug|right)$ -R ^(bug|right)\\.(05\\.1)\\. ", self.calls()[2])
        self.assert_status(1, self.lab("dev", "bugs", "03.1"))


class DoctorTest(LabTest):
    def test_missing_things_are_named_with_what_to_do(self):
        script(
            self.root / "scripts/setup",
            "#!/bin/sh\necho 'required;g++;present;12.2;the compiler'\necho"
            " 'required;libpng-dev;missing;;pictures'\necho"
            " 'optional;libglew-dev;missing;;windows'\n",
        )
        script(self.bin / "ninja", "#!/bin/sh\necho 1.11.1\n")
        done = self.lab("doctor")
        self.assert_status(1, done)
        self.assertRegex(done.stdout, r"libpng-dev +missing +pictures: scripts/setup installs it")
        self.assertRegex(done.stdout, r"libglew-dev +- ")
        self.assertIn("Missing: libpng-dev. Next: `scripts/setup`", done.stdout)
        script(
            self.root / "scripts/setup", "#!/bin/sh\necho 'optional;libglew-dev;missing;;windows'\n"
        )
        self.assert_status(0, self.lab("doctor"))

    def test_an_old_cmake_first_on_the_path(self):
        script(
            self.root / "scripts/setup",
            "#!/bin/sh\necho 'required;cmake;present;3.25.1;the build tool'\n",
        )
        script(self.bin / "cmake", "#!/bin/sh\necho cmake version 3.18.4\n")
        script(self.bin / "ninja", "#!/bin/sh\necho 1.11.1\n")
        done = self.lab("doctor")
        self.assert_status(1, done)
        self.assertRegex(done.stdout, r"cmake +missing +3\.18\.4.*too old: version 3\.25 or later")
        self.assertEqual(1, sum(line.startswith("cmake ") for line in done.stdout.splitlines()))


if __name__ == "__main__":
    unittest.main()
