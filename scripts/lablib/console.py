# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What is written to the terminal: plain lines, and one line that shows progress."""

import os
import shutil
import sys
import time
from typing import Optional, TextIO


def is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def colours(stream: TextIO) -> bool:
    return (
        is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "dim": "2"}


def paint(text: str, style: str, stream: Optional[TextIO] = None) -> str:
    if not colours(stream or sys.stdout):
        return text
    return f"\033[{_CODES[style]}m{text}\033[0m"


def say(text: str = "") -> None:
    """A line about what lab itself is doing. Standard output stays for what was asked for."""
    sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)


class Progress:
    """Progress of long work: one line that changes, or without a terminal a line now and then."""

    INTERVAL = 5.0  # seconds between lines where there is no terminal, in the first minute

    def __init__(self, title: str, stream: Optional[TextIO] = None):
        self.title = title
        self.stream = stream or sys.stderr
        self.live = is_terminal(self.stream) and os.environ.get("TERM") != "dumb"
        self.start = time.monotonic()
        self.last_shown = 0.0
        self.detail = ""
        self._show(force=True)

    def seconds(self) -> float:
        return time.monotonic() - self.start

    def update(self, detail: Optional[str] = None) -> None:
        """Called at every piece of news, and now and then without any."""
        if detail is not None:
            self.detail = detail
        self._show(force=False)

    def _show(self, force: bool) -> None:
        now = time.monotonic()
        interval = 0.1 if self.live else self.INTERVAL * (1 if self.seconds() < 60 else 4)
        if not force and now - self.last_shown < interval:
            return
        self.last_shown = now
        waited = int(self.seconds())
        text = self.title + (f" {self.detail}" if self.detail else " …")
        if waited >= 2:
            text += f" ({waited} s)"
        if self.live:
            width = shutil.get_terminal_size().columns
            self.stream.write("\r" + text[: width - 1] + "\033[K")
        else:
            self.stream.write(text + "\n")
        self.stream.flush()

    def done(self, text: str = "") -> None:
        """Takes the changing line away; `text` stays instead of it."""
        if self.live:
            self.stream.write("\r\033[K")
        if text:
            self.stream.write(text + "\n")
        self.stream.flush()
