# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Where a student's code is compiled and run: a place from which nothing else can be reached.

Bubblewrap, or podman where it is not, gives a process namespaces of its own: it sees a read-only
system, a small /tmp and the files that it needs, no network, no other process. prlimit bounds what
it may use, and control groups what all its processes may use together.

A process that needs GPUs sees those of the machine, too: with_gpus().
"""

import contextlib
import dataclasses
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from lablib.errors import NOT_POSSIBLE, USAGE, LabError

TMP_BYTES = 64 << 20
SHM_BYTES = 65536
_SYSTEM = ("/usr", "/etc/alternatives", "/etc/ld.so.cache")
_SHORT = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # in most systems links into /usr


@dataclass(frozen=True)
class Limits:
    """What one process may use; the wall clock is the business of whoever waits for it."""

    cpu_seconds: int
    memory_bytes: int  # that it may write to (RLIMIT_DATA): address space alone costs nothing
    file_bytes: int = TMP_BYTES
    processes: int = 256  # of all that the same user runs in the sandbox; not of root's. 0: any
    files: int = 1024  # mpirun has pipes for each of 64 ranks, CUDA dozens of files for a GPU

    @property
    def memory_together(self) -> int:
        """Of all processes, with what they write to /tmp and /dev/shm."""
        return self.memory_bytes + 2 * TMP_BYTES

    def command(self) -> List[str]:
        # Who may do less, as on graders of other systems, cannot allow more.
        most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        processes = self.processes if most < 0 else min(self.processes, most)
        return [
            "prlimit",
            f"--cpu={self.cpu_seconds}",
            f"--data={self.memory_bytes}",
            f"--fsize={self.file_bytes}",
            *([f"--nproc={processes}"] if processes else []),
            f"--nofile={self.files}",
            "--core=0",
            "--",
        ]


COMPILE = Limits(cpu_seconds=120, memory_bytes=3 << 30)
# A worker that counts accesses needs tables besides what the exercise is about: 06.2 needs 5 GiB
# of address space, now and then more than 6, most of which is never touched. (What CUDA reserves
# for a GPU does not count as memory.)
RUN = Limits(cpu_seconds=600, memory_bytes=8 << 30)

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp"}

Readable = Sequence[Tuple[Path, str]]


@dataclass(frozen=True)
class Sandbox:
    """How to start a command; `name` is what reports call it. This one isolates nothing."""

    name: str
    is_isolated: bool = False
    package: str = ""  # that has its program
    program: str = ""
    probe: str = "test ! -e /home"  # what is true in it, for a shell
    gpus: Tuple[str, ...] = ()  # the device files by which it reaches GPUs
    folders: Tuple[str, ...] = ()  # of the host, that are readable where they are

    def command(
        self,
        words: Sequence[str],
        limits: Limits,
        *,
        readable: Readable = (),
        folder: str = "/tmp",
    ) -> List[str]:
        """The command to start `words` with. `readable`: files and folders of the host, and where
        they are seen."""
        return [*limits.command(), *words]

    @property
    def shm_bytes(self) -> int:
        return TMP_BYTES if self.gpus else SHM_BYTES  # GPUs meet there (NCCL)

    def lacks(self) -> str:
        """What it does not do on this machine, although it starts."""
        return ""


class Bubblewrap(Sandbox):
    def command(
        self,
        words: Sequence[str],
        limits: Limits,
        *,
        readable: Readable = (),
        folder: str = "/tmp",
    ) -> List[str]:
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
        for system in _system():
            isolated += ["--ro-bind", system, system]
        for link, target in _links().items():
            isolated += ["--symlink", target, link]
        # Nobody writes there: where root grades, the kernel takes the user in here for root.
        isolated += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
        isolated += ["--size", str(TMP_BYTES), "--tmpfs", "/tmp", "--size", str(self.shm_bytes)]
        isolated += ["--tmpfs", "/dev/shm"]
        for gpu in self.gpus:
            isolated += ["--dev-bind", gpu, gpu]
        for path, seen in (*((one, one) for one in self.folders), *readable):
            isolated += ["--ro-bind", str(path), seen]
        isolated += ["--remount-ro", "/", "--chdir", folder, "--"]
        return [*limits.command(), *isolated, *words]


class Systemd(Bubblewrap):
    """Bubblewrap in a scope of systemd, whose control group limits all processes of it together.

    Not for what a cluster's scheduler started: a scope is outside of its job's control group."""

    def command(
        self,
        words: Sequence[str],
        limits: Limits,
        *,
        readable: Readable = (),
        folder: str = "/tmp",
    ) -> List[str]:
        # (The group counts the processes: other programs of the same user do not matter.)
        alone = dataclasses.replace(limits, processes=0)
        inside = super().command(words, alone, readable=readable, folder=folder)
        return [*_scope(limits.memory_together, limits.processes), *inside]

    def lacks(self) -> str:
        for resource_name, scope, script in (
            ("processes", _scope(TMP_BYTES, 1), "/bin/true; echo free"),
            ("memory", _scope(8 << 20, 9), "x=$(head -c 64M /dev/zero | tr '\\0' x); echo free"),
        ):
            if b"free" in run([*scope, "/bin/sh", "-c", script]).output:
                return f"its control groups limit no {resource_name} here"
        return ""


def _scope(memory_bytes: int, processes: int) -> List[str]:
    """Starts what follows in a control group. It becomes that program: no process is between."""
    start = ["systemd-run"]
    if os.geteuid() != 0:
        # The account's own manager is found by a variable which grading does not pass.
        start = ["env", f"XDG_RUNTIME_DIR=/run/user/{os.geteuid()}", *start, "--user"]
    return [
        *start,
        "--scope",
        "--quiet",
        "--collect",
        f"--property=MemoryMax={memory_bytes}",
        "--property=MemorySwapMax=0",
        f"--property=TasksMax={processes or 'infinity'}",
        "--",
    ]


class Podman(Sandbox):
    """A container without an image, started by podman.py. Control groups limit all processes of it
    together, so that its user's other processes, and containers, count for nothing."""

    def command(
        self,
        words: Sequence[str],
        limits: Limits,
        *,
        readable: Readable = (),
        folder: str = "/tmp",
    ) -> List[str]:
        memory = limits.memory_together
        most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        processes = 16384 if most < 0 else min(16384, most)
        options = [
            "--cap-drop=all",
            "--security-opt=no-new-privileges",
            "--security-opt=label=disable",
            "--network=none",
            "--hostname=sandbox",
            "--read-only",
            "--read-only-tmpfs=false",
            f"--tmpfs=/tmp:size={TMP_BYTES},mode=1777",
            f"--shm-size={self.shm_bytes}b",
            f"--pids-limit={limits.processes}",
            f"--memory={memory}b",
            f"--memory-swap={memory}b",
            f"--ulimit=nofile={limits.files}:{limits.files}",
            # Of all containers. Podman's default may be more than this account may have.
            f"--ulimit=nproc={processes}:{processes}",
            f"--workdir={folder}",
            # Without privileges the first user of the container is who has started it, as in the
            # other sandbox.
            "--user=" + ("65534:65534" if os.geteuid() == 0 else "0:0"),
        ]
        options += [f"--device={gpu}" for gpu in self.gpus]
        shown = [one for one in (*_system(), *self.folders) if one != "/sys"]  # podman has its own
        for path, seen in (*((one, one) for one in shown), *readable):
            options.append(f"--mount=type=bind,src={path},dst={seen},ro=true")
        links = [f"{link}={target}" for link, target in _links().items()]
        starter = Path(__file__).with_name("podman.py")
        start = [sys.executable, "-I", str(starter), *links, "--", *options, "--"]
        return [*start, *dataclasses.replace(limits, processes=0).command(), *words]


def _system() -> List[str]:
    """What every sandbox shows of the system."""
    folders = [f"/{name}" for name in _SHORT if not os.path.islink(f"/{name}")]
    return [name for name in (*_SYSTEM, *folders) if os.path.exists(name)]


def with_gpus(place: Sandbox, folders: Sequence[Path] = ()) -> Sandbox:
    """The same sandbox with this machine's GPUs in it. `folders`: what their programs need besides
    what is below /usr."""
    patterns = ("nvidia*", "nvidia-caps*/*", "dxg")  # the last one in Windows' Linux
    found = sorted(path for pattern in patterns for path in Path("/dev").glob(pattern))
    # The driver's own folders, where the loader does not know them, and where GPUs are plugged in.
    named = [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), *map(str, folders), "/sys"]
    wanted = [name for name in named if name.startswith("/") and not name.startswith("/usr/")]
    return dataclasses.replace(
        place,
        gpus=tuple(str(path) for path in found if path.is_char_device()),
        folders=tuple(dict.fromkeys(name for name in wanted if os.path.isdir(name))),
    )


def _links() -> Dict[str, str]:
    return {f"/{name}": os.readlink(f"/{name}") for name in _SHORT if os.path.islink(f"/{name}")}


NONE = Sandbox("no sandbox: nothing was isolated")
# Without control groups podman only warns that it limits nothing.
_HAS_LIMITS = (
    "test ! -e /home && { cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null |"
    f" grep -qx {COMPILE.processes} || {{ echo 'it limits no processes' >&2; false; }}; }}"
)
ALL = (
    Systemd("bubblewrap-systemd", True, "systemd", "systemd-run"),
    Bubblewrap("bubblewrap", True, "bubblewrap", "bwrap"),
    Podman("podman", True, "podman", "podman", _HAS_LIMITS),
)


def find(name: str = "", *, on_cluster: bool = False) -> Sandbox:
    """The sandbox of that name, or the first that works on this machine; without one, an error that
    says what it needs."""
    there = [one for one in ALL if not (on_cluster and isinstance(one, Systemd))]
    wanted = [one for one in there if not name or one.name == name]
    if not wanted:
        names = ", ".join(one.name for one in there)
        raise LabError(f"there is no sandbox '{name}'; there are {names}.", USAGE)
    problems = []
    for one in wanted:
        problem = _problem(one)
        if not problem:
            return one
        problems.append(problem)
    raise LabError(
        f"grading needs a sandbox: {'; '.join(problems)}. Students' code is never run without one,"
        " unless you ask for it: --no-sandbox says so in every report.",
        NOT_POSSIBLE,
    )


def _problem(place: Sandbox) -> str:
    """Why a sandbox is none here."""
    for program, package in ((place.program, place.package), ("prlimit", "util-linux")):
        if shutil.which(program) is None:
            return f"{program} is not installed (package {package})"
    answer = run(place.command(["/bin/sh", "-c", f"{place.probe} && echo inside"], COMPILE))
    if answer.output.strip() == b"inside":
        lacks = place.lacks()
        return lacks and f"{place.program}: {lacks}"
    said = answer.errors.decode("utf-8", "replace").strip() or f"status {answer.status}"
    hint = "in a container it may need user namespaces to be allowed"
    if isinstance(place, Bubblewrap) and _restricts_user_namespaces():
        hint = (
            "AppArmor allows user namespaces only to programs with a profile of their own;"
            " docs/instructors.md, 'Ubuntu', has the commands that give bwrap one"
        )
    return f"{place.program} does not work here: {said} ({hint})"


def _restricts_user_namespaces() -> bool:
    """Ubuntu since 23.10."""
    try:
        return (
            Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").read_text().strip()
            == "1"
        )
    except OSError:
        return False


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
                env=environment or ENVIRONMENT,
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
    """Kills a sandbox: its first process, with which all others in it end. The program that made it
    notices that, and takes away what it has made."""
    first = list(_first_processes(process.pid))
    for number in first:
        with contextlib.suppress(OSError):
            os.kill(number, 9)
    if first:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
    with contextlib.suppress(OSError):
        os.killpg(process.pid, 9)
    process.wait()


def _first_processes(number: int) -> Iterator[int]:
    """The first processes of process namespaces that a process has started."""
    try:
        children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
        for child in map(int, children):
            numbers = re.search(r"NSpid:(.*)", Path(f"/proc/{child}/status").read_text())
            if numbers and numbers[1].split()[1:][-1:] == ["1"]:
                yield child
            else:
                yield from _first_processes(child)
    except OSError:
        return
