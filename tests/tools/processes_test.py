# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Running other programs: their lines, their time limits, and that nothing of them stays behind."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from fakes import REPOSITORY, script
from lablib import processes
from lablib.errors import LabError

GRANDCHILD = "sleep 100 & echo $! > pid; "


class RunTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name)
        self.lines = []

    def run_shell(self, text, **options):
        return processes.run(["sh", "-c", text], cwd=self.top, on_line=self.lines.append, **options)

    def assert_gone(self, pid_file="pid"):
        pid = int((self.top / pid_file).read_text())
        end = time.monotonic() + 5
        while time.monotonic() < end:
            try:
                state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                return
            if state == "Z":
                return
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        self.fail("a process was left behind")

    def test_lines_of_both_streams_and_the_status(self):
        outcome = self.run_shell("echo one; echo two >&2; printf 'three\\r\\nfour \\377'; exit 5")
        self.assertEqual(["one", "two", "three", "four \N{REPLACEMENT CHARACTER}"], self.lines)
        self.assertEqual(5, outcome.returncode)

    def test_a_signal_is_a_negative_status(self):
        outcome = self.run_shell("kill -SEGV $$")
        self.assertEqual(-signal.SIGSEGV, outcome.returncode)
        self.assertIn("segmentation fault", processes.signal_sentence(outcome.returncode))
        self.assertEqual("signal SIGUSR1", processes.signal_sentence(-signal.SIGUSR1))

    def test_what_runs_ends_with_us_even_if_we_are_killed(self):
        # Whoever holds the pipe keeps it open: its end comes when the last one of them is gone.
        program = (
            "import sys; sys.path.insert(0, sys.argv[1]); from lablib import processes;"
            "processes.run(['true']);"
            "processes.run(['sh', '-c', 'sleep 100 & sleep 100'],"
            " on_tick=lambda: print('on', flush=True))"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(REPOSITORY / "scripts")], stdout=subprocess.PIPE
        )
        self.addCleanup(process.stdout.close)
        self.assertEqual(b"on\n", process.stdout.readline())
        process.kill()
        process.communicate(timeout=30)

    def test_the_time_limit_stops_the_whole_group(self):
        outcome = self.run_shell(GRANDCHILD + "echo here; sleep 100", time_limit=0.3)
        self.assertTrue(outcome.timed_out)
        self.assertEqual(["here"], self.lines)
        self.assert_gone()

    def test_a_program_that_ignores_the_polite_signal_is_killed(self):
        self.addCleanup(setattr, processes, "GRACE", processes.GRACE)
        processes.GRACE = 0.2
        outcome = self.run_shell(
            "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done", time_limit=0.3
        )
        self.assertTrue(outcome.timed_out)
        self.assert_gone()

    def test_a_program_that_listens_says_where_it_hangs_before_it_is_stopped(self):
        listening = "trap 'echo in line 7; exit' XCPU; "
        self.assertTrue(
            self.run_shell(listening + "while :; do sleep 0.01; done", time_limit=0.3).timed_out
        )
        self.assertIn("in line 7", self.lines)
        self.lines.clear()
        # Nobody is asked who is only no longer wanted.
        self.run_shell(listening + "while :; do sleep 0.01; done", stop_when=lambda: True)
        self.assertEqual([], self.lines)

    def test_nothing_stays_behind_after_the_end(self):
        outcome = self.run_shell(GRANDCHILD + "exit 0")
        self.assertEqual(0, outcome.returncode)
        self.assertFalse(outcome.timed_out)
        self.assert_gone()

    def test_it_is_stopped_when_no_longer_wanted(self):
        outcome = self.run_shell("sleep 100", stop_when=lambda: True)
        self.assertTrue(outcome.cancelled)

    def test_a_program_that_is_not_there(self):
        with self.assertRaisesRegex(LabError, "cannot start /nowhere: No such file"):
            processes.run(["/nowhere"])
        self.assertIsNone(processes.capture(["/nowhere"]))

    def test_signals_while_something_must_not_be_interrupted(self):
        before = signal.getsignal(signal.SIGINT)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        signal.signal(signal.SIGINT, processes._on_signal)
        reached = False
        with self.assertRaises(processes.Interrupted), processes.uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            reached = True
        self.assertTrue(reached)

    def test_another_thread_does_not_keep_the_main_one_from_hearing(self):
        inside, leave = threading.Event(), threading.Event()

        def hold():
            with processes.uninterrupted():
                inside.set()
                leave.wait(20)

        before = signal.getsignal(signal.SIGINT)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        signal.signal(signal.SIGINT, processes._on_signal)
        thread = threading.Thread(target=hold)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(leave.set)
        self.assertTrue(inside.wait(20))
        heard = False
        try:
            os.kill(os.getpid(), signal.SIGINT)
            signal.sigtimedwait([], 0)  # somewhere for it to arrive
        except processes.Interrupted:
            heard = True
        self.assertTrue(heard)

    def test_an_interruption_stops_the_group(self):
        runner = script(
            self.top / "runner.py",
            f"import sys; sys.path.insert(0, {str(REPOSITORY / 'scripts')!r})\nfrom lablib import"
            " processes\nprocesses.install_signal_handlers()\ntry:\n    processes.run(['sh', '-c',"
            f" {GRANDCHILD + 'echo started; sleep 100'!r}], on_line=lambda l: print(l,"
            " flush=True))\nexcept processes.Interrupted as i: print('interrupted', i.number)\n",
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(
                [sys.executable, runner], cwd=self.top, stdout=subprocess.PIPE, text=True
            )
            self.assertEqual("started\n", process.stdout.readline())
            process.send_signal(number)
            self.assertEqual(f"interrupted {int(number)}\n", process.communicate(timeout=10)[0])
            self.assert_gone()


if __name__ == "__main__":
    unittest.main()
