# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Grading that is killed, and graded with other numbers of jobs: the results are the same bytes.

resume_test.py BUILD_FOLDER [KILLS [SUBMISSIONS [TIMES]]]
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
sys.path.insert(0, str(HERE))

from small_class import small_class  # noqa: E402

from lablib.errors import NOT_POSSIBLE, OK, LabError  # noqa: E402
from lablib.grading import sandbox  # noqa: E402


class ResumeTest(unittest.TestCase):
    kills, submissions, times = 6, 6, 1

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lab_resume_")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "tmp").mkdir()

    def start(self, out, jobs):
        return subprocess.Popen(
            [
                *(str(ROOT / "scripts" / "lab"), "grade", str(self.folder / "in")),
                *("--rubric", str(self.folder / "rubric.toml"), "--jobs", str(jobs)),
                *("--out", str(self.folder / out)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(self.folder / "tmp")},
        )

    def grade(self, out, jobs):
        began = time.monotonic()
        self.assertEqual(self.start(out, jobs).wait(), OK)
        return time.monotonic() - began

    def results(self, out):
        """Every file with its bytes."""
        folder = self.folder / out
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    def test_killed_at_any_moment_the_results_are_the_same(self):
        small_class(self.folder, 4)
        seconds = self.grade("alone", 2)
        expected = self.results("alone")
        seed = random.SystemRandom().randrange(1 << 32)
        print(f"{self.kills} kills, seed {seed}; without any: {seconds:.0f} s")
        moments = random.Random(seed)
        killed = finished = 0
        while killed < self.kills:
            process = self.start("killed", 2)
            try:
                status = process.wait(moments.uniform(0, seconds))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed += 1
                continue
            finished += 1
            self.assertEqual(status, OK)
            self.assertEqual(self.results("killed"), expected, f"seed {seed}")
            shutil.rmtree(self.folder / "killed")
        self.grade("killed", 2)
        self.assertEqual(self.results("killed"), expected, f"seed {seed}")
        print(f"killed {killed} times, and {finished + 1} times came to the end")

    def test_any_number_of_jobs_makes_the_same_results(self):
        small_class(self.folder, self.submissions)
        self.grade("first", 1)
        expected = self.results("first")
        for jobs in ((2, 8, 1) * self.times)[:-1]:  # the last one was the first
            with self.subTest(jobs=jobs):
                seconds = self.grade("again", jobs)
                print(f"{self.submissions} submissions with {jobs} jobs: {seconds:.0f} s")
                self.assertEqual(self.results("again"), expected)
            shutil.rmtree(self.folder / "again")


def main():
    folder, *numbers = sys.argv[1:]
    names = ("kills", "submissions", "times")
    for name, number in zip(names, numbers):
        setattr(ResumeTest, name, int(number))
    os.environ["LAB_DEVICE"] = "cpu"
    if Path(folder).resolve() != ROOT / "build" / "cpu":
        print(f"{folder}: what grades is built in build/cpu", file=sys.stderr)
        return 2
    try:
        sandbox.find()
    except LabError as error:
        print(f"SKIPPED: {error}")
        return NOT_POSSIBLE
    program = unittest.main(sys.modules[__name__], argv=[sys.argv[0], "-v"], exit=False)
    return 0 if program.result.testsRun and program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
