# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Mutations that no test can catch, each with the reason.

A file tests/CC_chapter/<name>.equivalent holds any number of these:

    # a comment
    comparison: if (i < n) sum[i] = a[i] + b[i];
      why no test can tell, in indented lines
    off_by_one.2: c[i] = a[i] + b[i];
      only the second of its kind in that line
    no_guard in one_block: if (i < n) sum[i] = a[i] + b[i];
      only where that line stands in the function one_block
    int_for_size: *
      all of a kind, in every line that has no entry of its own

What stands behind the colon is the line of the solution as it is, without the white space around
it. An entry that fits no mutation is an error, and so is one whose mutation is caught (of an entry
for every line: all of them): the list cannot rot.

tests/default.equivalent has entries for every line of every exercise. They may fit nothing, and
what they fit may be caught: they say only that a survivor of that kind is no fault of the tests.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional

from lablib.errors import LabError
from lablib.mutations import KINDS, Mutation

EVERY_LINE = "*"
_ENTRY = r"([a-z_]+)(?:\.(\d+))?(?: in (\w+))?:\s*(.*\S)\s*"


@dataclass
class Equivalent:
    kind: str
    ordinal: Optional[int]
    function: Optional[str]
    text: str  # of the solution's line
    line: int  # in the file of equivalents
    reason: str = ""
    default: bool = False  # for all exercises

    def fits(self, mutation: Mutation, text_of_line: str) -> bool:
        return (
            self.kind == mutation.kind
            and self.ordinal in (None, mutation.ordinal)
            and self.function in (None, mutation.function)
            and self.text in (EVERY_LINE, text_of_line.strip())
        )


def parse(path: Path) -> List[Equivalent]:
    """The entries of a file; none where there is no file."""
    if not path.exists():
        return []
    return parse_lines(path.read_text(encoding="utf-8").splitlines(), str(path))


def parse_lines(lines: List[str], name: str) -> List[Equivalent]:
    kinds = {kind.__name__ for kind in KINDS}
    found: List[Equivalent] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            if not found:
                raise LabError(f"{name}:{number}: a reason before the first entry.")
            found[-1].reason = f"{found[-1].reason} {line.strip()}".strip()
            continue
        match = re.fullmatch(_ENTRY, line)
        if match is None:
            raise LabError(
                f"{name}:{number}: '{line}' is not understood: `kind: line` is expected."
            )
        if match[1] not in kinds:
            raise LabError(
                f"{name}:{number}: there is no kind '{match[1]}':"
                " `scripts/lab dev mutate --list ID` shows those that there are."
            )
        if found and not found[-1].reason:
            break
        ordinal = int(match[2]) if match[2] else None
        found.append(Equivalent(match[1], ordinal, match[3], match[4], number))
    for entry in found:
        if not entry.reason:
            raise LabError(
                f"{name}:{entry.line}: no reason: say in an indented line why no test can tell."
            )
    return found


def parse_defaults(root: Path) -> List[Equivalent]:
    path = root / "tests" / "default.equivalent"
    found = parse(path)
    for entry in found:
        if (entry.text, entry.ordinal, entry.function) != (EVERY_LINE, None, None):
            raise LabError(
                f"{path}:{entry.line}: an entry for all exercises is `{entry.kind}: {EVERY_LINE}`."
            )
        entry.default = True
    return found


@dataclass
class Matched:
    of: Dict[str, Equivalent]  # the entry of each mutation that has one, by the mutation's name
    idle: List[Equivalent]  # entries that are of no use: they fit nothing, or nothing of their own


def match_all(entries: List[Equivalent], mutations: List[Mutation], text: str) -> Matched:
    lines = text.split("\n")
    of: Dict[str, Equivalent] = {}
    # The narrower entry counts: a line before every line, a number before all numbers, …
    for entry in sorted(
        entries,
        key=lambda e: (e.default, e.text == EVERY_LINE, e.ordinal is None, e.function is None),
    ):
        for mutation in mutations:
            if entry.fits(mutation, lines[mutation.line - 1]):
                of.setdefault(mutation.name, entry)
    used = {id(entry) for entry in of.values()}
    return Matched(of, [e for e in entries if id(e) not in used and not e.default])


def explain_idle(entry: Equivalent) -> str:
    return (
        f"no mutation is left for `{entry.kind}: {entry.text}`: has the solution changed? Take the"
        " entry out, or make it the line that is there now"
    )
