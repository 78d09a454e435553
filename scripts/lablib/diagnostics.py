# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Compiler output, cut into messages, the student's own first."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import List, Optional

# gcc and clang: path:12:5: error: text    nvcc: path(12): error: text    ld: path:12: undefined …
_START = re.compile(
    r"^(?P<path>[^\s:(][^:(]*)(?:\((?P<a>\d+)\)|:(?P<b>\d+)(?::\d+)?)\s*:\s*"
    r"(?P<kind>fatal error|error|warning)?"
)
_LINKER = re.compile(r"undefined reference to|multiple definition of|cannot find -l|ld returned")
# What stands before a message and belongs to it.
_BEFORE = re.compile(
    r": In .*:$|: in function .*:$|: At global scope:$|^In file included|^\s+from .*[:,]$"
)
_COMMAND = re.compile(  # what ninja prints: progress, the failed command
    r"^(\[\d+/\d+\]|FAILED:|ninja:|: && |cd .* && |\S*/(c\+\+|g\+\+|clang\+\+|nvcc)\S* )"
)


@dataclass
class Message:
    path: str
    line: int
    kind: str  # "error", "warning" or "link"
    lines: List[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def messages(output: List[str]) -> List[Message]:
    found: List[Message] = []
    before: List[str] = []
    current = None
    for line in output:
        if _COMMAND.match(line):
            current, before = None, []
        elif _BEFORE.search(line):
            before.append(line)
        else:
            message = _begin(line)
            if message is not None:
                current = message
                current.lines, before = before + [line], []
                found.append(current)
            elif current is not None:
                current.lines.append(line)
    for message in found:
        while not message.lines[-1].strip():
            message.lines.pop()
    return found


def _begin(line: str) -> Optional[Message]:
    match = _START.match(line)
    path, number = (match["path"], int(match["a"] or match["b"])) if match else ("", 0)
    if _LINKER.search(line):
        return Message(path, number, "link")
    if match and match["kind"]:
        return Message(path, number, "warning" if match["kind"] == "warning" else "error")
    return None


def own_first(found: List[Message], own_folder: Path) -> List[Message]:
    """The student's own errors, then other errors, then what the linker says, then warnings."""

    def rank(message: Message) -> int:
        own = is_in(message, own_folder)
        if message.kind == "error":
            return 0 if own else 2
        if message.kind == "warning":
            return 1 if own else 4
        return 3

    return sorted(found, key=rank)


def is_in(message: Message, folder: Path) -> bool:
    """Whether it is about a file in there, or about a template that a file in there uses."""
    tail = "/".join(folder.parts[-3:]) + "/"  # labs/05_shared_memory/1_dot_product/
    used = [line for line in message.lines if re.search(r"required (from|by) |instantiat", line)]
    return any(tail in text for text in [message.path, *used])


def shorten(text: str, root: Path) -> str:
    """Paths as seen from the root of the repository; `../../` of the build folder goes too."""
    text = text.replace(str(root) + "/", "")
    return re.sub(r"(?:\.\./)+(?=(labs|solutions|tests|common)/)", "", text)
