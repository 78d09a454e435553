# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Configuring and building with CMake, only what was asked for."""

import contextlib
import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Callable, Iterator, List, NoReturn, Optional, Sequence, Tuple

from lablib import diagnostics, processes, starters
from lablib.console import Progress, is_terminal, paint, say
from lablib.device import Device, cuda_environment
from lablib.errors import FAILED, MAY_NOT_INSTALL, NOT_POSSIBLE, LabError
from lablib.exercises import Exercise
from lablib.files import short_path

MESSAGES_SHOWN = 3
LINES_SHOWN = 14  # of one message


_COME_LATE = re.compile(r"unknown target|undefined reference to [`'‘](cublas|curand|nccl)")


class BuildFailed(LabError):
    pass


class LeftOut(LabError):
    """This machine lacks what the exercise needs."""


class Cancelled(Exception):
    """The work was stopped because its result is no longer wanted."""


def folder(root: Path, preset: str) -> Path:
    return root / "build" / preset


def course_preset(device: Device) -> str:
    """The whole course with its bugs has a folder of its own: a student's is not touched."""
    return f"{device.name}-course"


def kind(solution: bool, watched: bool) -> str:
    """How targets, and folders of programs, of an exercise begin."""
    return ("watched_" if watched else "") + ("solution" if solution else "lab")


def program_path(
    root: Path, preset: str, exercise: Exercise, solution: bool, watched: bool = False
) -> Path:
    return folder(root, preset) / "bin" / f"{kind(solution, watched)}s" / exercise.full_name


def test_path(
    root: Path, preset: str, exercise: Exercise, solution: bool, watched: bool = False
) -> Path:
    tests = folder(root, preset) / "bin" / "tests"
    return tests / f"{kind(solution, watched)}s" / f"{exercise.full_name}_test"


def cases_path(root: Path, preset: str, exercise: Exercise) -> Path:
    """Says which tests there are: linked without the student's file, it has no reason to lie."""
    return folder(root, preset) / "bin" / "tests" / "cases" / exercise.full_name


# Ninja cannot read such paths in the compilers' lists of headers, and builds all anew at each
# command. CMake's own lists have their trouble with some of them, too.
_UNREADABLE = re.compile(r"""['&"`;<>|*?^$\\\n]""")


def source_folder(root: Path) -> Path:
    """The path by which CMake and the compilers know the repository: `root` itself, or a symbolic
    link to it, in the folder for temporary files, if its own path has characters that Ninja
    cannot read. The link is made where it is missing."""
    if not _UNREADABLE.search(str(root)):
        return root
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    link = Path(tempfile.gettempdir()) / f"cuda-labs-{os.getuid()}-{name}"
    try:
        link.symlink_to(root)
    except FileExistsError:
        pass
    except OSError as error:
        raise LabError(
            f"cannot make {link}, a link to this folder, whose name Ninja cannot read:"
            f" {error.strerror}. Next: give this folder a name without quotes and the like."
        ) from error
    # The folder is everybody's: what lies there must be ours.
    if link.lstat().st_uid != os.getuid() or os.readlink(link) != str(root):
        raise LabError(f"{link} is not the link to {root} that it should be. Next: remove it.")
    return link


def require_packages(root: Path) -> None:
    """Installs what is missing, once per run of lab, through scripts/setup."""
    if os.environ.get("LAB_SETUP") == "skip":
        return
    setup = root / "scripts" / "setup"
    if not setup.exists():
        return
    check = subprocess.run([str(setup), "--check", "--required"], capture_output=True, text=True)
    if check.returncode == 0:
        return
    if check.returncode != 1:
        raise LabError(
            f"scripts/setup --check failed: {check.stderr.strip() or check.stdout.strip()}"
        )
    say("Some packages that the course needs are missing:")
    say(check.stdout.rstrip())
    status = subprocess.call([str(setup)])
    if status == MAY_NOT_INSTALL:
        raise LabError(
            "the packages above are needed first. (If they are here in a place that scripts/setup"
            " does not know, LAB_SETUP=skip has it trust you.)",
            MAY_NOT_INSTALL,
        )
    if status != 0:
        raise LabError(f"scripts/setup ended with exit status {status}.", FAILED)


def _cache_value(cache: Path, name: str) -> Optional[str]:
    try:
        text = cache.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(rf"^{name}(?::\w+)?=(.*)$", text, re.MULTILINE)
    return match[1] if match else None


def why_configure(root: Path, preset: str) -> Optional[str]:
    """None if the build folder is ready; "" if it is new; else what is wrong with it."""
    build = folder(root, preset)
    cache = build / "CMakeCache.txt"
    if not cache.exists():
        return ""
    home = _cache_value(cache, "CMAKE_HOME_DIRECTORY")
    if home is None:
        return "its CMakeCache.txt cannot be read"
    if os.path.realpath(home) != os.path.realpath(root):
        return f"it was made for another folder ({home})"
    if _cache_value(cache, "CMAKE_CACHEFILE_DIR") not in (
        None,
        str(folder(source_folder(root), preset)),
        os.path.realpath(build),
    ):
        return "it was moved here from another folder"
    if not (build / "build.ninja").exists():
        return "its last configuration did not finish"
    return None


@contextlib.contextmanager
def locked(root: Path, preset: str, *, wait: bool = True) -> Iterator[None]:
    """Two builds in one folder would spoil each other's results."""
    build = folder(root, preset)
    try:
        build.mkdir(parents=True, exist_ok=True)
        file = open(build / ".lab_lock", "w")
    except OSError as error:
        raise LabError(
            f"cannot write into {build}: {error.strerror}. Next: work in a copy of the course that"
            " is yours, and see that the disk is not full."
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if not wait:
                raise LabError(f"another scripts/lab is building in {build}.") from error
            say(f"another scripts/lab is building in {short_path(build, root)}: waiting for it …")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def configure(root: Path, preset: str, device: Device, force: bool = False) -> None:
    reason = why_configure(root, preset)
    if reason is None and not force:
        return
    command = ["cmake", "--preset", preset]
    source = source_folder(root)
    if source != root:
        command += ["-S", str(source), "-B", str(folder(source, preset))]
    if reason:
        say(f"build/{preset} cannot be used: {reason}. Configuring it afresh.")
        command.append("--fresh")
    if (
        device.name == "gpu"
        and device.gpus
        and reason is not None
        and not os.environ.get("CUDAARCHS")
    ):
        command.append("-DCMAKE_CUDA_ARCHITECTURES=native")
    log = _Log(root, f"{preset}.configure")
    progress = Progress(f"configuring build/{preset}")

    def on_line(line: str) -> None:
        log.add(line.replace(str(source), str(root)))
        progress.update()

    with log:
        try:
            outcome = processes.run(
                command,
                on_line=on_line,
                on_tick=progress.update,
                cwd=root,
                env=cuda_environment(device),
            )
        finally:
            progress.done()
    if outcome.returncode != 0:
        text = _cmake_errors(log.lines) or "\n".join(log.lines[-20:])
        say(text)
        raise BuildFailed(
            f"CMake could not prepare build/{preset} (all of what it said:"
            f" {short_path(log.path, root)}). Next: `scripts/lab doctor` says what is missing here."
        )


def _cmake_errors(lines: List[str]) -> str:
    kept: List[str] = []
    keeping = False
    for line in lines:
        if line.startswith("CMake Error"):
            keeping = True
        elif line.startswith(("CMake Warning", "-- ")):
            keeping = False
        if keeping:
            kept.append(line)
    return "\n".join(kept).strip()


class _Log:
    """All that a command says, in .lab/log, and in memory for whoever makes sense of it."""

    def __init__(self, root: Path, name: str):
        self.path = root / ".lab" / "log" / f"{name}.log"
        self.lines: List[str] = []
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.file = open(self.path, "w", encoding="utf-8")
        except OSError as error:
            raise LabError(f"cannot write {self.path}: {error.strerror}.") from error

    def add(self, line: str) -> None:
        self.lines.append(line)
        with contextlib.suppress(OSError):  # on a full disk the command itself says so
            self.file.write(line + "\n")

    def __enter__(self) -> "_Log":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self.file.close()


class Ahead:
    """Builds a target beside other work, with the processor time that this leaves. It says nothing:
    build() with the same target, once it is needed, finds it made or says what is wrong. (Should
    this process be killed, processes.py stops the build.)"""

    def __init__(self, root: Path, preset: str, device: Device, target: str):
        self._arguments = root, preset, device, target
        self._unwanted = threading.Event()
        self._thread = threading.Thread(target=self._build, daemon=True)
        self._thread.start()

    def _build(self) -> None:
        root, preset, device, target = self._arguments
        build_folder = folder(source_folder(root), preset)
        with contextlib.suppress(LabError), locked(root, preset, wait=False):
            processes.run(
                ["nice", "cmake", "--build", str(build_folder), "--target", target],
                on_line=lambda _: None,
                stop_when=self._unwanted.is_set,
                cwd=root,
                env=cuda_environment(device),
            )

    def stop(self) -> None:
        """Nobody needs the target any more."""
        self._unwanted.set()
        self._thread.join()

    def wait(self, title: str, stop_when: Optional[Callable[[], bool]] = None) -> None:
        """Until it is built, or could not be. Throws Cancelled when `stop_when` says so."""
        shown = Progress(f"building {title}") if is_terminal(sys.stderr) else None
        try:
            while self._thread.is_alive():
                if stop_when is not None and stop_when():
                    self.stop()
                    raise Cancelled
                if shown is not None:
                    shown.update()
                self._thread.join(processes.TICK)
        finally:
            if shown is not None:
                shown.done()


def build(
    root: Path,
    preset: str,
    device: Device,
    targets: Sequence[str],
    title: str,
    *,
    jobs: Optional[int] = None,
    own: Optional[Exercise] = None,
    next_step: str = "",
    stop_when: Optional[Callable[[], bool]] = None,
) -> List[str]:
    """Configures where needed and builds the targets; no targets: all of them. Returns what the
    compiler warned of in the files of `own`, if it had to compile them."""
    with locked(root, preset):
        if not (folder(root, preset) / ".ninja_log").exists():
            say(
                f"This is the first build in build/{preset}: it compiles what all exercises share,"
                " which takes a minute or two. Later ones take seconds."
            )
        configure(root, preset, device)
        status, log = _ninja(root, preset, device, targets, title, jobs, stop_when)
        if status != 0 and any(_COME_LATE.search(line) for line in log.lines):
            # Folders that came after the last configuration, or an #include of cuBLAS: what is
            # linked is decided there.
            configure(root, preset, device, force=True)
            status, log = _ninja(root, preset, device, targets, title, jobs, stop_when)
    if status == 0:
        return _own_warnings(root, log, own)
    if any("unknown target" in line for line in log.lines):
        _say_what_is_missing(root, preset, targets)
        raise BuildFailed(
            f"CMake does not know {' '.join(targets)}: does its folder hold a main.cpp?"
        )
    _explain(root, log, own, title, next_step)


def _own_warnings(root: Path, log: "_Log", own: Optional[Exercise]) -> List[str]:
    if own is None:
        return []
    found = [one for one in diagnostics.messages(log.lines) if one.kind == "warning"]
    found = [one for one in found if diagnostics.is_in(one, own.folder)]
    lines = [line for one in found[:MESSAGES_SHOWN] for line in diagnostics.readable(one)]
    return diagnostics.shorten("\n".join(lines), root).splitlines()


def _say_what_is_missing(root: Path, preset: str, targets: Sequence[str]) -> None:
    """Throws LeftOut where the configuration, a moment ago, left the exercise of a target out."""
    log = root / ".lab" / "log" / f"{preset}.configure.log"
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    # CMake says: Exercise 09.1 gl_image is left out: it needs X (package, package)
    for id, name, why in re.findall(r"^-- Exercise (\S+) (\S+) is left out: (.+)$", text, re.M):
        if not any(re.search(rf"\.{re.escape(id)}(\.|$)", target) for target in targets):
            continue
        why = re.sub(r" \((.+)\)$", r", which is not installed here (packages \1)", why)
        raise LeftOut(
            f"{id} {name} is not possible here: {why}. Next: `scripts/setup` installs it where it"
            " may; then the same command again.",
            NOT_POSSIBLE,
        )


def _ninja(
    root: Path,
    preset: str,
    device: Device,
    targets: Sequence[str],
    title: str,
    jobs: Optional[int],
    stop_when: Optional[Callable[[], bool]],
) -> Tuple[int, _Log]:
    source = source_folder(root)
    command = ["cmake", "--build", str(folder(source, preset))]
    if jobs:
        command += ["--parallel", str(jobs)]
    if targets:
        command += ["--target", *targets]
    log = _Log(root, f"{preset}.{targets[0] if len(targets) == 1 else 'build'}")
    progress = Progress(f"building {title}")

    def on_line(line: str) -> None:
        log.add(line.replace(str(source), str(root)))
        step = re.match(r"\[(\d+/\d+)\]", line)
        progress.update(f"[{step[1]}]" if step else None)

    # NINJA_STATUS could be anything; the progress is read from this one.
    env = {**cuda_environment(device), "NINJA_STATUS": "[%f/%t] "}
    with log:
        try:
            outcome = processes.run(
                command,
                on_line=on_line,
                on_tick=progress.update,
                stop_when=stop_when,
                cwd=root,
                env=env,
            )
        finally:
            progress.done()
    if outcome.cancelled:
        raise Cancelled
    if outcome.returncode == 0 and not progress.live and progress.seconds() > Progress.INTERVAL:
        say(f"built {title} in {progress.seconds():.0f} s")
    return outcome.returncode, log


def _header_of(function: str, own: Exercise, root: Path) -> str:
    """Where a header of the exercise promises this function, as `file:line: `."""
    name = re.sub(r"\(.*", "", function).rsplit("::", 1)[-1]
    for header in sorted(own.folder.glob("*.hpp")):
        text = header.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if re.match(rf"[^/]*\b{re.escape(name)}\(", line):
                return f"{short_path(header, root)}:{number}: "
    return ""


def _lost_includes(own: Optional[Exercise]) -> List[str]:
    """A header that is no longer included makes the compiler complain about all that was in it."""
    if own is None:
        return []
    try:
        present = own.lab_file.read_text(encoding="utf-8", errors="replace")
        lost = diagnostics.lost_includes(present, starters.starter_of(own))
    except (OSError, UnicodeDecodeError, LabError):
        return []
    if not lost:
        return []
    return [
        f"{own.lab_file.name} no longer has a line that it began with. Is it what the compiler"
        " misses?",
        *[f"  {line}" for line in lost],
        "",
    ]


def _explain(
    root: Path, log: "_Log", own: Optional[Exercise], title: str, next_step: str
) -> NoReturn:
    where = short_path(log.path, root)
    found = diagnostics.messages(log.lines)
    if any(message.kind != "warning" for message in found):
        found = [message for message in found if message.kind != "warning"]
    if own is not None:
        found = diagnostics.own_first(found, own.folder)
    if not found:
        lines = [line for line in log.lines if not re.match(r"\[\d+/\d+\]", line)]
        say(diagnostics.shorten("\n".join(lines[-30:]), root))
        raise BuildFailed(
            f"could not build {title} (all of the output: {where}). {next_step}".strip()
        )

    lost = diagnostics.undefined(found) if found[0].kind == "link" else []
    if lost and own is not None:
        for name in lost[:MESSAGES_SHOWN]:
            say(f"{_header_of(name, own, root)}{name}")
            say(f"  is asked for, and {short_path(own.lab_file, root)} does not define it.")
        say()
        say(paint(f"Could not build {title}.", "red", sys.stderr))
        raise BuildFailed(
            "a function is missing, or its name, parameters or namespace are not those of the"
            f" header. (All of the output: {where}.) {next_step}".strip()
        )

    for message in found[:MESSAGES_SHOWN]:
        lines = diagnostics.readable(message)
        if len(lines) > LINES_SHOWN:
            lines[LINES_SHOWN:] = ["    …"]
        say(diagnostics.shorten("\n".join(lines), root))
        say()
    if len(found) > MESSAGES_SHOWN:
        say(
            f"… and {len(found) - MESSAGES_SHOWN} more. The first is the one to look at: the others"
            " often follow from it."
        )
        say()

    for line in _lost_includes(own):
        say(line)
    first = found[0]
    name = diagnostics.shorten(first.path, root)
    if first.kind == "link":
        what = (
            "the parts do not fit together: a function that the header promises is not defined, or"
            " one is defined twice. Compare its name and its parameters with the header"
        )
    elif own is not None and not diagnostics.is_in(first, own.folder):
        what = (
            f"the compiler stops at {name}:{first.line}, which is not your file "
            f"(`git diff {name}` shows whether it has been changed)"
        )
    else:
        what = f"the compiler stops at {name}:{first.line}"
    say(paint(f"Could not build {title}.", "red", sys.stderr))
    raise BuildFailed(f"{what}. (All of the output: {where}.) {next_step}".strip())
