# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/slow_network: ranks on nodes of their own, messages that take their time, and the model
of 20.4, which notices. Nothing is left behind; where there can be no nodes, a sentence says why."""

import csv
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from slurm_cluster import wait_until

from fakes import REPOSITORY, script

SLOW_NETWORK = REPOSITORY / "scripts" / "slow_network"
PROGRAM = REPOSITORY / "build/cpu/bin/solutions/20.4_scaling_model"
NOT_POSSIBLE = 77


def on_network(*words, **options):
    return subprocess.run(
        [SLOW_NETWORK, *map(str, words)], capture_output=True, text=True, **options
    )


def interfaces():
    return sorted(path.name for path in Path("/sys/class/net").iterdir())


def running(words):
    """Whether a process with this command line is there."""
    wanted = "\0".join([*words, ""]).encode()
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if file.read_bytes() == wanted:
                return True
        except OSError:
            pass
    return False


class SlowNetworkTest(unittest.TestCase):
    def study(self, delay):
        """20.4 on four nodes: the fitted latency of a level, and what sums of one element took, by
        the number of ranks; all in microseconds."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "study.csv"
            words = ["--size", "4096", "--message", "4096", "--predict", "1", "--repeat", "1"]
            done = on_network("--delay", delay, PROGRAM, "--ranks", "4", *words, "--csv", file)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(file, newline="") as text:
                took = {
                    int(row["ranks"]): 1e3 * float(row["ms"])
                    for row in csv.DictReader(text)
                    if row["job"] == "weak, 1 element" and row["source"] != "MODEL"
                }
        return float(re.search(r"per_level +(\S+) us", done.stdout)[1]), took

    def test_messages_take_as_long_as_they_are_told_to_and_the_fitted_latency_follows(self):
        quick, slow, slower = self.study(0), self.study(10_000), self.study(30_000)
        self.assertLess(quick[1][2], 10_000)
        for delay, (_, took) in ((10_000, slow), (30_000, slower)):
            self.assertLess(took[1], 10_000, "a rank that is alone sends nothing")
            for ranks, messages in ((2, 1), (3, 2), (4, 2)):
                self.assertGreater(took[ranks], messages * delay)
                # Ranks leave the barrier at different times: so many messages later, at most.
                self.assertLess(took[ranks], 2 * messages * delay + 10_000)
        self.assertTrue(20_000 < slower[0] - slow[0] < 50_000, f"{slow[0]} us and {slower[0]} us")

    def test_each_node_has_a_rank_before_one_has_two(self):
        done = on_network("--nodes", 3, "mpirun", "-n", "4", "hostname")
        self.assertEqual(
            sorted(done.stdout.split()), ["node1", "node1", "node2", "node3"], done.stderr
        )

    def test_the_exit_status_is_that_of_the_command(self):
        self.assertEqual(on_network("sh", "-c", "exit 7").returncode, 7)

    def test_nothing_is_left_behind_even_if_it_is_killed(self):
        before = interfaces()
        for how in ("terminate", "kill"):
            words = ["sleep", "12345.6"]
            process = subprocess.Popen([SLOW_NETWORK, *words])
            wait_until(lambda: running(words), "the command runs")
            getattr(process, how)()
            process.wait()
            wait_until(lambda: not running(words), "the command has ended")
        self.assertEqual(interfaces(), before)
        self.assertEqual(list(Path("/run").glob("netns/node*")), [])

    def test_a_sentence_says_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            script(Path(folder) / "setpriv", "#!/bin/sh\necho 'not for you' >&2\nexit 1\n")
            done = on_network("true", env={"PATH": f"{folder}:/usr/bin:/bin"})
        self.assertEqual((done.returncode, done.stdout), (NOT_POSSIBLE, ""))
        self.assertEqual(
            done.stderr,
            "slow_network: there can be no nodes here: you may not create namespaces"
            " (not for you).\n",
        )

    def test_wrong_usage_is_refused(self):
        for words in ([], ["--nodes", 0, "true"], ["--nodes", 65, "true"], ["--delay", -1, "true"]):
            done = on_network(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("it takes 1 to 64 nodes", done.stderr)


def main():
    done = on_network("true")
    if done.returncode == NOT_POSSIBLE:
        print(f"SKIPPED: {done.stderr.strip()}")
        return NOT_POSSIBLE
    program = unittest.main(sys.modules[__name__], argv=[*sys.argv, "-v"], exit=False)
    return 0 if program.result.testsRun and program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
