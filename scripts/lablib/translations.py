# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Translated pages: docs/pl/NAME.md is docs/NAME.md in Polish, paragraph by paragraph.

Beside it, NAME.english has a line for each paragraph: a checksum of the English one that it was
made from, and its first words. So a paragraph whose English text has changed since is known.
"""

import difflib
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, List, Sequence, Tuple

from lablib import metadata, pages
from lablib.errors import USAGE, LabError
from lablib.exercises import Exercise

LANGUAGES = {"pl": "polski"}  # by their own names


@dataclass(frozen=True)
class Paragraph:
    line: int
    text: str  # also a heading, a table, a list without blank lines, or a whole block of code

    @property
    def record(self) -> str:
        """Its line in a file .english. Where its lines are broken is no change."""
        words = self.text if self.kind == "code" else " ".join(self.text.split())
        checksum = hashlib.sha256(words.encode()).hexdigest()[:12]
        return f"{checksum}  {' '.join(self.text.split())[:60].rstrip()}"

    @property
    def kind(self) -> str:
        first = self.text.lstrip()
        heading = re.match(r"#+(?= )", first)
        if heading:
            return f"heading of level {len(heading[0])}"
        if re.match(r"```|~~~", first):
            return "code"
        return "table" if first.startswith("|") else "picture" if first.startswith("![") else "text"


@dataclass(frozen=True)
class Difference:
    """What the English page has changed since a paragraph was translated."""

    change: str  # new, changed or gone
    english: int  # the line there; for what is gone, of what is there in its place
    translated: int  # the line of the paragraph that is behind; of one that is new, where it goes
    words: str


def all_pages(root: Path) -> List[Path]:
    """The translated pages."""
    return sorted(p for p in (root / "docs").glob("[a-z][a-z]/*.md") if p.parent.name in LANGUAGES)


def find(root: Path, name: str) -> Path:
    """The page called pl/01_getting_started, or pl/01."""
    found = [p for p in all_pages(root) if f"{p.parent.name}/{p.stem}".startswith(name)]
    if len(found) != 1:
        there = ", ".join(f"{p.parent.name}/{p.stem}" for p in all_pages(root)) or "none yet"
        raise LabError(f"'{name}' is not one translated page; there are: {there}.", USAGE)
    return found[0]


def original(page: Path) -> Path:
    return page.parents[1] / page.name


def paragraphs(text: str) -> List[Paragraph]:
    """What blank lines part, outside blocks of code."""
    found: List[Paragraph] = []
    lines = text.splitlines()
    outside = {number for number, _ in pages.outside_code(text)}
    begin = 0
    for number, line in enumerate([*lines, ""], 1):
        blank = not line.strip() and (number in outside or number > len(lines))
        if blank and begin:
            found.append(Paragraph(begin, "\n".join(lines[begin - 1 : number - 1])))
            begin = 0
        elif not blank and not begin:
            begin = number
    return found


def _read(path: Path) -> List[Paragraph]:
    return paragraphs(path.read_text(encoding="utf-8"))


def records(page: Path) -> List[str]:
    path = page.with_suffix(".english")
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def with_files(page: Path, exercises: Sequence[Exercise]) -> str:
    """The page's text, with links to the exercises' files as its English page has them."""
    own = [each for each in exercises if each.chapter_page == original(page)]
    text = page.read_text(encoding="utf-8")
    return metadata.with_files(text, own, "../..", metadata.FILES[page.parent.name])


def record(page: Path) -> None:
    """Notes that the page is a translation of what the English one is now."""
    text = "".join(f"{each.record}\n" for each in _read(original(page)))
    page.with_suffix(".english").write_text(text, encoding="utf-8")


def problems(page: Path) -> Iterator[Tuple[int, str]]:
    """Why it cannot be said what is behind: line and sentence."""
    if not original(page).is_file():
        yield 1, f"there is no English page docs/{page.name}"
        return
    translated, known = _read(page), records(page)
    if len(translated) != len(known):
        yield (
            translated[-1].line if translated else 1,
            f"this page has {len(translated)} paragraphs, and its file .english knows"
            f" {len(known)}: give each English paragraph one of its own, and then run"
            f" `scripts/lab dev translations --record {page.parent.name}/{page.stem}`",
        )
        return
    checksums = {each.record.split()[0]: each for each in _read(original(page))}
    for here, line in zip(translated, known):
        english = checksums.get(line.split()[0])
        if english and english.kind != here.kind:
            yield here.line, f"a {here.kind} stands for a {english.kind} of the English page"


def behind(page: Path) -> List[Difference]:
    """What has changed in the English page since it was translated, in its order."""
    translated, english = _read(page), _read(original(page))
    old = [line.split()[0] for line in records(page)]
    new = [each.record.split()[0] for each in english]
    found: List[Difference] = []
    last = translated[-1].line if translated else 1

    def at(place: int) -> int:
        return translated[place].line if place < len(translated) else last

    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if kind == "equal":
            continue
        for i in range(max(b - a, d - c)):
            change = "changed" if a + i < b and c + i < d else "gone" if a + i < b else "new"
            here = english[min(c + i, d, len(english) - 1)]
            words = "" if change == "gone" else " ".join(here.text.split())[:60].rstrip()
            found.append(Difference(change, here.line, at(min(a + i, b)), words))
    return found
