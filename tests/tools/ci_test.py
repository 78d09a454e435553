# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

""".ci: running lanes one after the other, and what a lane does without its tool."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from fakes import REPOSITORY, script


class EachTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.lanes = Path(temporary.name) / "lanes"
        for name, status in (("good", 0), ("bad", 3), ("absent", 77)):
            script(self.lanes / name, f"#!/bin/sh\necho this is {name}\nexit {status}\n")

    def each(self, *lanes):
        return subprocess.run(
            [str(REPOSITORY / ".ci/each"), str(self.lanes), *lanes],
            capture_output=True,
            text=True,
        )

    def test_what_the_last_lane_prints_comes_last(self):
        done = self.each("good", "good")
        self.assertEqual(0, done.returncode)
        self.assertTrue(done.stdout.endswith("this is good\n"))
        self.assertRegex(done.stdout, r"== good: passed in \d+ s\n== good: ")

    def test_one_that_fails_does_not_keep_the_others_from_running(self):
        done = self.each("bad", "good")
        self.assertEqual(1, done.returncode)
        self.assertIn("this is good", done.stdout)
        self.assertRegex(done.stdout, r"== bad: FAILED after \d+ s \(exit status 3\)")
        self.assertIn("== failed: bad; ", done.stderr)

    def test_one_that_could_not_run_is_not_called_passed(self):
        done = self.each("absent", "good")
        self.assertEqual(0, done.returncode)
        self.assertIn("== absent: LEFT OUT", done.stdout)
        self.assertIn("nothing is known about it: absent", done.stderr)

    def test_a_lane_that_is_not_there(self):
        done = self.each("good", "nonsense")
        self.assertEqual(2, done.returncode)
        self.assertIn("no lane 'nonsense'; there are: absent bad good", done.stderr)
        self.assertEqual("", done.stdout)


class LanesTest(unittest.TestCase):
    def test_every_lane_is_run_and_explained(self):
        contributing = (REPOSITORY / "CONTRIBUTING.md").read_text()
        for runner, folder in (("run", "lanes"), ("nightly", "nights")):
            text = (REPOSITORY / ".ci" / runner).read_text()
            named = re.search(rf"^{folder}=\((.*)\)$", text, re.MULTILINE)[1].split()
            there = sorted(os.listdir(REPOSITORY / ".ci" / folder))
            self.assertEqual(there, sorted(named))
            for name in there:
                self.assertTrue(os.access(REPOSITORY / ".ci" / folder / name, os.X_OK), name)
                self.assertRegex(contributing, rf"(?m)^\|[^|]*`{name}`")

    def test_a_lane_without_its_tool_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(REPOSITORY / ".ci", Path(folder) / ".ci")
            for lane in ("python", "spelling"):
                done = subprocess.run(
                    [f"{folder}/.ci/lanes/{lane}"], capture_output=True, text=True
                )
                self.assertEqual(1, done.returncode, lane)
                self.assertIn("`scripts/setup --author` installs it", done.stderr)


if __name__ == "__main__":
    unittest.main()
