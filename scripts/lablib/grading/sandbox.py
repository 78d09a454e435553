# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Where a student's code is compiled and run: a place from which nothing else can be reached.

Bubblewrap gives a process name spaces of its own: it sees a read-only system, a small /tmp and the
files that it needs, no network, no other process. prlimit bounds what it may use.
"""

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from lablib.errors import NOT_POSSIBLE, LabError

TMP_BYTES = 64 << 20
_SYSTEM = ("/usr", "/etc/alternatives", "/etc/ld.so.cache")


@dataclass(frozen=True)
class Limits:
    """What one process may use; the wall clock is the business of whoever waits for it."""

    cpu_seconds: int
    memory_bytes: int  # that it may write to (RLIMIT_DATA): address space alone costs nothing
    file_bytes: int = TMP_BYTES
    processes: int = 256  # of all that the same user runs in the sandbox; not of root's
    files: int = 256

    def command(self) -> List[str]:
        return [
            "prlimit",
            f"--cpu={self.cpu_seconds}",
            f"--data={self.memory_bytes}",
            f"--fsize={self.file_bytes}",
            f"--nproc={self.processes}",
            f"--nofile={self.files}",
            "--core=0",
            "--",
        ]


COMPILE = Limits(cpu_seconds=120, memory_bytes=3 << 30)
# A worker that counts accesses needs tables besides what the exercise is about: 06.2 needs 5 GiB
# of address space, now and then more than 6, most of which is never touched.
RUN = Limits(cpu_seconds=600, memory_bytes=8 << 30)


@dataclass(frozen=True)
class Sandbox:
    """How to start a command; `name` is what reports call it."""

    name: str
    is_isolated: bool

    def command(
        self,
        words: Sequence[str],
        limits: Limits,
        *,
        readable: Sequence[Tuple[Path, str]] = (),
        folder: str = "/tmp",
    ) -> List[str]:
        """The command to start `words` with. `readable`: files and folders of the host, and where
        they are seen."""
        if not self.is_isolated:
            return [*limits.command(), *words]
        isolated = [
            "bwrap",
            "--unshare-all",
            "--unshare-user",
            "--uid",
            "65534",
            "--gid",
            "65534",
            "--cap-drop",
            "ALL",
            "--die-with-parent",
            "--new-session",
            "--hostname",
            "sandbox",
        ]
        for system in _SYSTEM:
            isolated += ["--ro-bind-try", system, system]
        for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            folder_of_system = Path("/") / name
            if folder_of_system.is_symlink():
                target = os.readlink(folder_of_system)
                isolated += ["--symlink", target, str(folder_of_system)]
            elif folder_of_system.is_dir():
                isolated += ["--ro-bind", str(folder_of_system), str(folder_of_system)]
        # Nobody writes there: where root grades, the kernel takes the user in here for root.
        isolated += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
        isolated += ["--size", str(TMP_BYTES), "--tmpfs", "/tmp", "--size", "65536"]
        isolated += ["--tmpfs", "/dev/shm"]
        for path, seen in readable:
            isolated += ["--ro-bind", str(path), seen]
        isolated += ["--remount-ro", "/", "--chdir", folder, "--"]
        return [*limits.command(), *isolated, *words]


NONE = Sandbox("no sandbox: nothing was isolated", False)


def find() -> Sandbox:
    """The sandbox of this machine; without one, an error that says what it needs."""
    for program, package in (("bwrap", "bubblewrap"), ("prlimit", "util-linux")):
        if shutil.which(program) is None:
            raise LabError(
                f"grading needs a sandbox, and {program} is not installed (package {package})."
                " Students' code is never run without one, unless you ask for it: --no-sandbox"
                " says so in every report.",
                NOT_POSSIBLE,
            )
    found = Sandbox("bubblewrap", True)
    answer = run(found.command(["/bin/sh", "-c", "test ! -e /home && echo inside"], COMPILE))
    if answer.output.strip() != b"inside":
        said = answer.errors.decode("utf-8", "replace").strip() or f"status {answer.status}"
        raise LabError(
            f"grading needs a sandbox, and bwrap does not work here: {said}. (In a container it may"
            " need user name spaces to be allowed.) --no-sandbox grades without, and says so in"
            " every report.",
            NOT_POSSIBLE,
        )
    return found


@dataclass(frozen=True)
class Answer:
    status: int  # negative: the signal that ended it
    output: bytes
    errors: bytes
    timed_out: bool = False


def run(
    command: Sequence[str],
    *,
    wall_seconds: float = 60.0,
    output: Optional[Path] = None,
    most_errors: int = 65536,
    environment: Optional[Dict[str, str]] = None,
) -> Answer:
    """Runs a command that is not trusted; what it prints goes to files, whose size is limited."""
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as said:
        target = open(output, "wb") if output is not None else None
        try:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=target or said,
                stderr=errors,
                env=environment or {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp"},
                start_new_session=True,
            )
            timed_out = False
            try:
                status = process.wait(wall_seconds)
            except subprocess.TimeoutExpired:
                timed_out = True
                status = -9
            finally:
                if process.poll() is None:
                    end(process)
        finally:
            if target is not None:
                target.close()
        said.seek(0)
        errors.seek(0)
        return Answer(status, said.read(most_errors), errors.read(most_errors), timed_out)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kills a sandbox: its first process, with which all others in it end, and bwrap itself."""
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    except OSError:
        children = []
    for number in [*map(int, children), process.pid]:
        try:
            os.kill(number, 9)
        except OSError:
            continue
    process.wait()
