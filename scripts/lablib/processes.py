# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Other programs: started in a group of their own, and always stopped as a group."""

import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Callable, Dict, Iterator, List, Optional

from lablib.errors import LabError

TICK = 0.1  # seconds between two looks at a running program
LONGEST_LINE = 1 << 20  # bytes; what is longer is cut: nobody reads it, and it may never end
GRACE = 3.0  # seconds between the polite signal and the other one
TIME_TO_SAY = 10.0  # seconds for a program that hangs to find the line in which it was


class Interrupted(BaseException):
    """Ctrl-C, or somebody ends this process. Not an Exception: only main() may catch it."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


_held = 0
_pending: Optional[int] = None


def _on_signal(number: int, _frame: Optional[FrameType]) -> None:
    global _pending
    if _held:
        _pending = number
    else:
        raise Interrupted(number)


def install_signal_handlers() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A program in the background starts with SIGINT ignored; one that is sent to it is meant.
        if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
            continue  # nohup
        signal.signal(number, _on_signal)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """A Ctrl-C that comes in here is heard at the end of it. (Only the main thread hears it.)"""
    global _held, _pending
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _held += 1
    try:
        yield
    finally:
        _held -= 1
    if not _held and _pending is not None:
        number, _pending = _pending, None
        raise Interrupted(number)


def _group_is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # What is left may be processes that have ended and that nobody asks for: in a container the
    # first process may not care.
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True  # not Linux
    if not numbers:
        return True
    for number in numbers:
        try:
            with open(f"/proc/{number}/stat", "rb") as file:
                state, _, of_group = file.read().rsplit(b")", 1)[1].split()[:3]
        except (OSError, ValueError):
            continue
        if int(of_group) == group and state not in (b"Z", b"X"):
            return True
    return False


def stop(process: "subprocess.Popen[bytes]", *, hangs: bool = False) -> None:
    """Ends the process and everything that it started. Ninja and compilers clean up when asked. A
    program on the CPU device that `hangs` says first in which line it was."""
    signals = [(signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)]
    if hangs and _handles(process.pid, signal.SIGXCPU):
        signals.insert(0, (signal.SIGXCPU, TIME_TO_SAY))
    with uninterrupted():
        for number, patience in signals:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
            end = time.monotonic() + patience
            while time.monotonic() < end:
                process.poll()
                if not _group_is_alive(process.pid):
                    return
                time.sleep(0.01)


def _handles(process: int, number: int) -> bool:
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return False
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", status, re.M)
    return caught is not None and int(caught[1], 16) >> number - 1 & 1 == 1


class _Guardian:
    """Stops the groups that are running when this process is killed and cannot do it itself.

    A shell that knows the groups and waits for the end of a pipe, which comes with our own end.
    """

    SCRIPT = """
        trap '' INT TERM HUP
        groups=' '
        while read -r what group; do
          case $what in
            +) groups="$groups$group " ;;
            -) groups="${groups%% $group *} ${groups#* $group }" ;;
          esac
        done
        set -- $groups
        [ $# -eq 0 ] && exit
        for group; do kill -s TERM -- "-$group"; done
        sleep 3
        for group; do kill -s KILL -- "-$group"; done
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shell: Optional["subprocess.Popen[bytes]"] = None

    def tell(self, what: str, group: int) -> None:
        """`+` for a group that has been started, `-` for one that is gone."""
        with self._lock, contextlib.suppress(OSError):  # without a guardian the work goes on
            if self._shell is None:
                self._shell = subprocess.Popen(
                    ["/bin/sh", "-c", self.SCRIPT],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            assert self._shell.stdin is not None
            self._shell.stdin.write(f"{what} {group}\n".encode())
            self._shell.stdin.flush()


_guardian = _Guardian()


@dataclass
class Outcome:
    returncode: int  # negative: the number of the signal that ended it
    timed_out: bool = False
    cancelled: bool = False
    seconds: float = 0.0


def run(
    command: List[str],
    *,
    time_limit: Optional[float] = None,
    on_line: Optional[Callable[[str], None]] = None,
    on_tick: Optional[Callable[[], None]] = None,
    limit_left: Optional[Callable[[], Optional[float]]] = None,
    stop_when: Optional[Callable[[], bool]] = None,
    cwd: Optional[Path] = None,
    env: Optional[Dict[str, str]] = None,
) -> Outcome:
    """Runs a command to its end.

    Without `on_line` the command writes where we write. With it, each line of its output (both
    streams together) goes there. `time_limit` counts from the start; `limit_left`, where given, is
    asked for the seconds left instead. When time is up or `stop_when` says so, the whole group is
    stopped.
    """
    pipe = on_line is not None
    stdin = None
    if pipe or (sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()):
        # The group is not the terminal's foreground group, so that reading from it would hang.
        stdin = subprocess.DEVNULL
    sys.stdout.flush()
    sys.stderr.flush()
    start = time.monotonic()
    process = None
    try:
        with uninterrupted():
            process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE if pipe else None,
                stderr=subprocess.STDOUT if pipe else None,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
            _guardian.tell("+", process.pid)
        outcome = _wait(process, start, time_limit, on_line, on_tick, limit_left, stop_when)
        outcome.seconds = time.monotonic() - start
        return outcome
    except OSError as error:
        if process is not None:
            raise
        raise LabError(f"cannot start {command[0]}: {error.strerror or error}.") from error
    finally:
        if process is not None:
            if process.poll() is None or _group_is_alive(process.pid):
                stop(process)
            _guardian.tell("-", process.pid)
            if process.stdout:
                process.stdout.close()


def _wait(
    process: "subprocess.Popen[bytes]",
    start: float,
    time_limit: Optional[float],
    on_line: Optional[Callable[[str], None]],
    on_tick: Optional[Callable[[], None]],
    limit_left: Optional[Callable[[], Optional[float]]],
    stop_when: Optional[Callable[[], bool]],
) -> Outcome:
    output = None
    if on_line is not None and process.stdout is not None:
        output = _Lines(process.stdout, on_line)

    def left() -> Optional[float]:
        if limit_left is not None:
            return limit_left()
        return None if time_limit is None else start + time_limit - time.monotonic()

    ended_at = None
    while True:
        if output is not None and output.open:
            output.read(TICK)
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(TICK)
        if process.poll() is not None:
            # A grandchild may still hold the pipe: what is in it is read, nobody waits for more.
            ended_at = ended_at or time.monotonic()
            if output is None or not output.open or time.monotonic() - ended_at > 0.5:
                if output is not None:
                    output.finish()
                return Outcome(process.returncode)
            continue
        if on_tick is not None:
            on_tick()
        if stop_when is not None and stop_when():
            stop(process)
            return Outcome(process.poll() or 0, cancelled=True)
        remaining = left()
        if remaining is not None and remaining <= 0:
            stop(process, hangs=True)
            if output is not None:
                output.read(0)
                output.finish()
            return Outcome(process.poll() or 0, timed_out=True)


class _Lines:
    """Cuts what comes through a pipe into lines."""

    def __init__(self, stream: IO[bytes], on_line: Callable[[str], None]):
        self.stream = stream
        self.on_line = on_line
        self.rest = b""
        self.open = True
        os.set_blocking(stream.fileno(), False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(stream, selectors.EVENT_READ)

    def read(self, timeout: float) -> None:
        if not self.selector.select(timeout):
            return
        try:
            data = os.read(self.stream.fileno(), 65536)
        except BlockingIOError:
            return
        if not data:
            self.open = False
            return
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()
        if len(self.rest) > LONGEST_LINE:
            lines.append(self.rest)
            self.rest = b""
        for line in lines:
            self.on_line(line.decode("utf-8", "replace").rstrip("\r"))

    def finish(self) -> None:
        if self.rest:
            self.on_line(self.rest.decode("utf-8", "replace"))
            self.rest = b""
        self.selector.close()


def capture(command: List[str], timeout: float = 20.0) -> Optional[str]:
    """What a short command prints, or None where it is not there or fails."""
    lines: List[str] = []
    try:
        outcome = run(command, time_limit=timeout, on_line=lines.append)
    except LabError:
        return None
    if outcome.timed_out or outcome.returncode != 0:
        return None
    return "\n".join(lines)


_SIGNALS = {
    signal.SIGSEGV: (
        "a segmentation fault: it used memory that is not its own, often an index that is too "
        "large or a device pointer used on the host"
    ),
    signal.SIGBUS: "a bus error: it used memory that is not there",
    signal.SIGABRT: (
        "abort: an assertion failed, an exception was not caught, or memory was freed that malloc"
        " or new had not returned (what is above says which)"
    ),
    signal.SIGFPE: "an arithmetic error: an integer was divided by zero",
    signal.SIGILL: "an illegal instruction: a function that should return a value may not do so",
    signal.SIGKILL: "SIGKILL: somebody ended it, perhaps the system because memory ran out",
}


def signal_sentence(returncode: int) -> str:
    """What a negative return code means."""
    try:
        number = signal.Signals(-returncode)
    except ValueError:
        return f"signal {-returncode}"
    return f"{number.name}, {_SIGNALS[number]}" if number in _SIGNALS else f"signal {number.name}"
