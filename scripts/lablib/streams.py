# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Standard output and standard error, whatever the caller has made of them: closed, a full disk, a
reader that has had enough.

What is asked for goes to standard output: if it cannot be written, the command has failed and
says so. Standard error only tells how the work goes: if nobody can read that, the work goes on.
"""

import io
import os
import signal
import sys
from typing import Any

from lablib.errors import FAILED


class OutputLost(Exception):
    """Standard output cannot be written to."""


class _Output(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            raise OutputLost(error.strerror or str(error)) from error


class _Log(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def install() -> None:
    """Called once, before anything is opened."""
    for descriptor in (0, 1, 2):
        _reopen_if_closed(descriptor)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)
    sys.stdout = _text(_Output(1, "w", closefd=False), sys.stdout)
    sys.stderr = _text(_Log(2, "w", closefd=False), sys.stderr)


def _reopen_if_closed(descriptor: int) -> None:
    """A file that is opened later must not become standard output, and be written into."""
    try:
        os.fstat(descriptor)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, descriptor)
        if null != descriptor:
            os.close(null)


def _text(raw: io.FileIO, before: Any) -> io.TextIOWrapper:
    # A terminal that knows only ASCII is no reason to stop.
    encoding = getattr(before, "encoding", None) or "utf-8"
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors="replace",
        line_buffering=raw.isatty() or raw.fileno() == 2,
    )


def give_up(error: OutputLost) -> int:
    """The exit status after an OutputLost."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is still in the buffer
    if isinstance(error.__cause__, BrokenPipeError):  # as in `scripts/lab list | head -1`
        return 128 + signal.SIGPIPE
    print(f"lab: cannot write the output: {error}.", file=sys.stderr)
    return FAILED
