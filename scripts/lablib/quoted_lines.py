# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Lines of exercises that pages quote by their number: reports of the CPU device, what gdb shows.

A line that an edit has moved is still there, so nobody notices. What a report says of a line tells
what must be in it: `waits in __syncthreads() at tree.cu:12` is no `return`. Reports are of
starters, unless the page has the comment `<!-- Reports are of edited solutions. -->`.
"""

import re
from pathlib import Path
from typing import Iterator, List, Tuple

_PLACE = r"([a-z]\w*\.cu):(\d+)"
_REPORTED = (  # what is said before the place, and what its line has
    (rf"launched at {_PLACE}", r"<<<"),
    (rf"wait in __syncthreads\(\) at {_PLACE}", r"__syncthreads\(\)"),
    (rf"writes at {_PLACE}", r"[^=!<>]=[^=]|\+\+|--"),
    (rf"reads at {_PLACE}", r"[\[*>]"),
    (rf"\+0x[0-9a-f]+ in {_PLACE}", r"[\[*>]|__syncthreads\("),  # by compute-sanitizer
)
_OF_SOLUTIONS = "<!-- Reports are of edited solutions. -->"
_SHOWN = re.compile(rf"{_PLACE}\n(\d+)[ \t]+(\S.*)")  # by gdb: the line's number, and the line
_COUNTED = re.compile(rf"^ +{_PLACE}: (\S.*)", re.MULTILINE)  # by `profile`


def wrong(root: Path, text: str) -> Iterator[Tuple[int, str]]:
    """Lines of a page, and what is wrong with what they quote. Files that are none of the course's
    are somebody's example."""
    tree, what = ("solutions", "solution") if _OF_SOLUTIONS in text else ("labs", "starter")
    for pattern, wanted in _REPORTED:
        for match in re.finditer(pattern, text):
            lines = _lines(root, tree, match[1])
            if lines and not re.search(wanted, _line(lines, int(match[2]))):
                message = f"there is no such thing in this line of the {what}: run it again"
                yield _at(text, match), f"{match[1]}:{match[2]}: {message}"
    for match in _SHOWN.finditer(text):
        lines = _lines(root, "solutions", match[1])
        if lines and (match[2] != match[3] or _line(lines, int(match[2])).strip() != match[4]):
            message = "this is not that line of the solution"
            yield _at(text, match), f"{match[1]}:{match[2]}: {message}"
    for match in _COUNTED.finditer(text):
        lines = _lines(root, tree, match[1])
        if lines and _line(lines, int(match[2])).strip() != match[3]:
            message = f"this is not that line of the {what}"
            yield _at(text, match), f"{match[1]}:{match[2]}: {message}"


def _lines(root: Path, tree: str, name: str) -> List[str]:
    for path in (root / tree).glob(f"*/*/{name}"):
        return path.read_text(encoding="utf-8").splitlines()
    return []


def _line(lines: List[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _at(text: str, match: "re.Match[str]") -> int:
    return text.count("\n", 0, match.start()) + 1
