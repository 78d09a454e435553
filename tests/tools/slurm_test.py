# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""A class graded by a cluster on this machine: nodes are killed and filled, tasks cancelled and
requeued, and the records are those that one machine makes when nothing happens to it."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
sys.path.insert(0, str(HERE))

import slurm_cluster  # noqa: E402
from slurm_cluster import wait_until  # noqa: E402
from small_class import small_class  # noqa: E402

from lablib.errors import FAILED, INTERRUPTED, NOT_POSSIBLE, OK, LabError  # noqa: E402
from lablib.grading import sandbox  # noqa: E402

SUBMISSIONS = 8
LARGEST_ARRAY = 5  # less than there are submissions: some tasks have two


class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="lab_slurm_")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        small_class(cls.folder, SUBMISSIONS)
        cls.temporary = cls.folder / "tmp"  # on a node another disk may be there
        cls.temporary.mkdir()
        done = cls.start("alone", "--jobs", "2")
        assert done.wait() == OK, cls.said("alone")

    def setUp(self):
        name = self.id().rpartition(".")[2]
        self.out = name
        self.cluster = slurm_cluster.Cluster(self.folder / f"{name}.cluster", 2, LARGEST_ARRAY)
        self.enterContext(self.cluster)

    @classmethod
    def start(cls, out, *more, environment=os.environ):
        """The command of an instructor; what it says is in a file."""
        with open(cls.folder / f"{out}.said", "w") as said:
            return subprocess.Popen(
                [
                    *(str(ROOT / "scripts" / "lab"), "grade", str(cls.folder / "in")),
                    *("--rubric", str(cls.folder / "rubric.toml")),
                    *("--out", str(cls.folder / out), *more),
                ],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**environment, "TMPDIR": str(cls.temporary)},
            )

    @classmethod
    def said(cls, out):
        return (cls.folder / f"{out}.said").read_text()

    def submit(self):
        return self.start(self.out, "--slurm", environment=self.cluster.environment)

    def finish(self, process, status):
        try:
            self.assertEqual(process.wait(), status)
        except AssertionError:
            self.fail(f"{self.said(self.out)}\n{self.cluster.logs()}")

    def running(self, node):
        return [task for task, on in self.cluster.tasks("RUNNING") if on == node]

    def results(self, out):
        """Everything of students, by name."""
        folder = self.folder / out
        files = [*folder.glob("records/" + "[0-9a-f]" * 16 + "/*"), *folder.glob("students/*")]
        files += [folder / "class.csv", folder / "index.html", folder / "junit.xml"]
        return {str(file.relative_to(folder)): file.read_bytes() for file in files}

    def assert_all_is_as_on_one_machine(self):
        expected = self.results("alone")
        self.assertGreater(len(expected), 2 * SUBMISSIONS)
        self.assertEqual(self.results(self.out), expected)

    def restarts(self, task):
        text = self.cluster.ask("scontrol", "show", "job", task)
        return int(re.search(r"Restarts=(\d+)", text)[1])

    def test_a_lost_node_and_a_cancelled_task_change_nothing(self):
        process = self.submit()
        last = wait_until(lambda: self.cluster.tasks("PENDING"), "tasks wait")[-1][0]
        self.assertTrue(last.endswith(f"_{LARGEST_ARRAY - 1}"))
        self.cluster.ask("scancel", last)
        (lost, *_) = wait_until(lambda: self.running("n1"), "n1 works")
        (again, *_) = wait_until(lambda: self.running("n2"), "n2 works")
        self.cluster.kill("n1")
        self.cluster.ask("scontrol", "requeue", again)
        wait_until(lambda: "down" in self.cluster.state("n1"), "n1 is missed")
        self.cluster.start("n1")
        self.finish(process, FAILED)
        self.assertIn("submissions have not been graded: their tasks were", self.said(self.out))
        self.assertFalse((self.folder / self.out / "class.csv").exists())
        self.assertEqual((self.restarts(lost), self.restarts(again)), (1, 1))

        self.finish(self.submit(), OK)
        self.assertIn("1 submissions in 1 tasks", self.said(self.out))
        self.assert_all_is_as_on_one_machine()

    def test_who_leaves_and_comes_back_follows_the_same_job(self):
        process = self.submit()
        wait_until(lambda: self.cluster.tasks("RUNNING"), "a task runs")
        process.send_signal(signal.SIGINT)
        self.finish(process, INTERRUPTED)
        self.assertIn("The job goes on: the same command follows it", self.said(self.out))
        self.finish(self.submit(), OK)
        self.assertNotIn("submissions in", self.said(self.out))  # another job
        self.assert_all_is_as_on_one_machine()

    def test_a_node_whose_disk_is_full_grades_nobody(self):
        self.cluster.kill("n1")
        self.cluster.kill("n2")
        self.cluster.start("n2", f"mount -t tmpfs -o size=1M none '{self.temporary}'")
        self.finish(self.submit(), FAILED)
        self.assertRegex(self.said(self.out), r"on node n2 only \d MiB are left in")
        self.assertEqual(list((self.folder / self.out / "records").glob("[0-9a-f]" * 16)), [])
        self.cluster.kill("n2")
        self.cluster.start("n1")
        self.finish(self.submit(), OK)
        self.assert_all_is_as_on_one_machine()


def main():
    try:
        sandbox.find()
    except LabError as error:
        print(f"SKIPPED: {error}")
        return NOT_POSSIBLE
    if slurm_cluster.why_not():
        print(f"SKIPPED: a cluster is not possible here: {slurm_cluster.why_not()}")
        return NOT_POSSIBLE
    program = unittest.main(sys.modules[__name__], argv=[*sys.argv, "-v"], exit=False)
    return 0 if program.result.testsRun and program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
