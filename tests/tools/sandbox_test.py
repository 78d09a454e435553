# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Every sandbox that works on this machine: what is in it, what it limits, how it ends."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib.errors import LabError  # noqa: E402
from lablib.grading import sandbox  # noqa: E402

LIMITS = sandbox.Limits(cpu_seconds=30, memory_bytes=1 << 30, processes=32)
SECONDS = 120.0  # on a busy machine


def problem_of(name):
    try:
        sandbox.find(name)
    except LabError as error:
        return str(error)
    return ""


class SandboxTest:
    """For each of them."""

    name = ""

    def setUp(self):
        problem = problem_of(self.name)
        if problem:
            self.skipTest(problem)
        self.place = sandbox.find(self.name)
        folder = tempfile.TemporaryDirectory(prefix="lab_sandbox_")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_there(self, script, wall_seconds=SECONDS, limits=LIMITS, **given):
        command = self.place.command(["/bin/sh", "-c", script], limits, **given)
        return sandbox.run(command, wall_seconds=wall_seconds)

    def said(self, script, **given):
        answer = self.run_there(script, **given)
        return answer.output.decode() + answer.errors.decode()

    def test_streams_and_statuses_come_out(self):
        answer = self.run_there("echo out; echo err >&2; exit 7")
        self.assertEqual((answer.output, answer.errors), (b"out\n", b"err\n"))
        self.assertEqual(answer.status, 7)
        for signal, number in (("SEGV", 11), ("ABRT", 6), ("KILL", 9)):
            self.assertEqual(self.run_there(f"kill -{signal} $$").status, 128 + number, signal)

    def test_nothing_of_the_host_is_there_but_what_is_given(self):
        (self.folder / "given").write_text("mine\n")
        (self.folder / "secret").write_text("another's\n")
        script = f"cat /given; ls {self.folder} /home /root; cat /etc/passwd; ls /sys/class/net"
        said = self.said(script, readable=[(self.folder / "given", "/given")])
        self.assertIn("mine\n", said)
        for word in ("another's", "secret", "root:", "eth"):
            self.assertNotIn(word, said)

    def test_nobody_writes_outside_of_tmp(self):
        (self.folder / "given").write_text("mine\n")
        places = "/x /usr/x /etc/x /given /proc/sys/kernel/hostname"
        script = f'for one in {places}; do echo x >"$one" && echo "WROTE $one"; done;'
        places = "/proc/sys/kernel/core_pattern /proc/sysrq-trigger"
        script += f'for one in {places}; do test -w "$one" && echo "WROTE $one"; done'
        self.assertNotIn("WROTE", self.said(script, readable=[(self.folder / "given", "/given")]))
        self.assertEqual((self.folder / "given").read_text(), "mine\n")
        script = "head -c 100000000 /dev/zero | split -b 10000000 - /tmp/x; du -sm /tmp | cut -f1"
        mebibytes = int(self.run_there(script).output)
        self.assertLessEqual(mebibytes, sandbox.TMP_BYTES >> 20)

    def test_other_processes_cannot_be_seen(self):
        numbers = self.said("ls /proc | grep -c '^[0-9]'")
        self.assertLess(int(numbers), 8)

    def test_there_are_no_capabilities(self):
        lines = self.said("grep -E 'Cap(Eff|Prm)|NoNewPrivs' /proc/self/status").split()
        self.assertEqual(lines[1::2], ["0" * 16, "0" * 16, "1"])

    def test_a_process_cannot_have_all_the_memory(self):
        script = "head -c 2G /dev/zero | tail -c 2G >/dev/null; echo $?"
        self.assertNotEqual(self.said(script).split()[-1], "0")

    def test_what_is_late_ends_with_all_that_it_has_started(self):
        mark = f"{os.getpid()}.25"  # nobody else sleeps as long
        begun = time.monotonic()
        answer = self.run_there(f"setsid sleep {mark} & sleep {mark}", wall_seconds=15)
        self.assertTrue(answer.timed_out)
        self.assertLess(time.monotonic() - begun, 60)
        self.expect_gone(mark)

    def test_who_is_killed_leaves_nothing_behind(self):
        mark = f"{os.getpid()}.75"
        command = self.place.command(["sleep", mark], LIMITS)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + SECONDS
        while not self.sleepers(mark) and time.monotonic() < end:
            time.sleep(0.1)
        self.assertTrue(self.sleepers(mark))
        process.kill()
        process.wait()
        self.expect_gone(mark)

    def sleepers(self, mark):
        found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        return [line for line in found.splitlines() if line == f"sleep {mark}"]

    def expect_gone(self, mark):
        """The sleepers, and whatever starts them."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
            left = [line for line in found.splitlines() if mark in line]
            if not left:
                return
            time.sleep(0.2)
        self.fail(f"still running: {left}")


class BubblewrapTest(SandboxTest, unittest.TestCase):
    name = "bubblewrap"


class WithControlGroupsTest(SandboxTest):
    """For those that limit all processes of a submission together."""

    def test_all_processes_together_are_limited(self):
        limits = sandbox.Limits(cpu_seconds=30, memory_bytes=256 << 20, processes=16)
        script = "for i in $(seq 40); do sleep 5 & done 2>&1; true"
        self.assertIn("fork", self.said(script, limits=limits))
        # Each may have 200 MiB, and three of them not.
        one = "head -c 200M /dev/zero | tail -c 200M >/dev/null; [ $? = 0 ] && echo ENOUGH"
        script = f"for i in 1 2 3 4; do ({one}) & done; wait"
        self.assertLess(self.said(script, limits=limits).count("ENOUGH"), 4)


class SystemdTest(WithControlGroupsTest, unittest.TestCase):
    name = "bubblewrap-systemd"


class PodmanTest(WithControlGroupsTest, unittest.TestCase):
    name = "podman"

    def test_who_is_killed_at_once_leaves_nothing_behind(self):
        for moment in (0.05, 0.2, 0.4, 0.8):
            mark = f"{os.getpid()}.{moment * 100 + 1000:.0f}"
            process = subprocess.Popen(
                self.place.command(["sleep", mark], LIMITS),
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
            time.sleep(moment)
            process.kill()
            process.wait()
            self.expect_gone(mark)


class FindTest(unittest.TestCase):
    def test_the_first_that_works_is_taken(self):
        problems = {"bubblewrap-systemd": "", "bubblewrap": "", "podman": ""}
        with mock.patch.object(sandbox, "_problem", lambda one: problems[one.name]):
            self.assertEqual(sandbox.find().name, "bubblewrap-systemd")
            self.assertEqual(sandbox.find(on_cluster=True).name, "bubblewrap")
            problems["bubblewrap-systemd"] = "systemd-run is not installed"
            self.assertEqual(sandbox.find().name, "bubblewrap")
            self.assertEqual(sandbox.find("podman").name, "podman")
            problems["bubblewrap"] = "bwrap is not installed"
            self.assertEqual(sandbox.find().name, "podman")
            with self.assertRaisesRegex(LabError, "needs a sandbox: bwrap is not installed. Stu"):
                sandbox.find("bubblewrap")
            problems["podman"] = "podman does not work here"
            with self.assertRaisesRegex(LabError, "bwrap is not installed; podman does not work"):
                sandbox.find()
            with self.assertRaisesRegex(LabError, "no sandbox 'docker'; there are bubblewrap-sys"):
                sandbox.find("docker")
            with self.assertRaisesRegex(LabError, "'bubblewrap-systemd'; there are bubblewrap, p"):
                sandbox.find("bubblewrap-systemd", on_cluster=True)

    def test_who_may_not_make_namespaces_is_told_what_to_do(self):
        place = sandbox.Bubblewrap("bubblewrap", True, "bubblewrap", "true")
        refused = sandbox.Answer(1, b"", b"bwrap: setting up uid map: Permission denied")
        for ubuntu, said in ((True, "docs/instructors.md, 'Ubuntu'"), (False, "in a container")):
            with mock.patch.object(sandbox, "run", lambda command: refused), mock.patch.object(
                sandbox, "_restricts_user_namespaces", lambda ubuntu=ubuntu: ubuntu
            ):
                problem = sandbox._problem(place)
            self.assertIn("setting up uid map", problem)
            self.assertIn(said, problem)

    def test_limits_that_are_none_are_noticed(self):
        place = sandbox.Systemd("bubblewrap-systemd", True, "systemd", "true")
        for limited in ("", "processes", "memory"):
            wide = {"processes": b"/bin/true", "memory": b"/dev/zero"}.get(limited, b"")

            def run(command, wide=wide):
                script = command[-1].encode()
                if b"inside" in script:
                    return sandbox.Answer(0, b"inside\n", b"")
                return sandbox.Answer(0, b"free\n" if wide and wide in script else b"", b"")

            with mock.patch.object(sandbox, "run", run):
                problem = sandbox._problem(place)
            self.assertEqual(problem != "", limited != "", problem)
            self.assertIn(limited, problem)


if __name__ == "__main__":
    unittest.main()
