# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Nothing is used before it is taught: CUDA's names in code, and the glossary's terms in chapters.

A chapter teaches the names that its text mentions. `cudaAddressMode…` teaches all names that begin
so; the section on libraries, which only names them, teaches none. A term is taught by the chapters
that its entry in the glossary links.
"""

import re
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from lablib import pages
from lablib.cuda_tokens import all_tokens
from lablib.exercises import Exercise

# Names that need no sentence, and why.
KNOWN_NAMES = {
    "__FILE__": "C++",
    "__LINE__": "C++",
    "__VA_ARGS__": "C++",
    "__func__": "C++",
}

# Words that mean something else, too, and what.
OTHER_MEANINGS = {
    "Overlap": "of arrays and other things, as in everyday English",
    "Scope": "of a name in C++",
    "Stable": "of a simulation whose values do not grow without bound",
}

_NAME = re.compile(
    r"(cuda|cublas|curand|nccl)[A-Z]\w*|__[a-z]\w*|atomic[A-Z]\w*|tex[123]D\w*"
    r"|(thread|block)Idx|(block|grid)Dim|warpSize"
)
_NAMESPACES = ("cuda", "cg", "cooperative_groups")
_UNROLL = "#pragma unroll"


class Problem(NamedTuple):
    path: Path
    line: int
    message: str


def names_in(text: str) -> Iterator[Tuple[int, str]]:
    """Line and text of each name of CUDA's in code, in their order."""
    tokens = all_tokens(text)
    found: List[Tuple[int, str]] = [(m.start(), _UNROLL) for m in re.finditer(_UNROLL, text)]
    for i, token in enumerate(tokens):
        if token.kind != "name":
            continue
        qualified = i + 2 < len(tokens) and tokens[i + 1].text == "::"
        if token.text in _NAMESPACES and qualified:
            if tokens[i + 2].kind == "name":
                found.append((token.start, f"{token.text}::{tokens[i + 2].text}"))
        elif _NAME.fullmatch(token.text) and token.text not in KNOWN_NAMES:
            found.append((token.start, token.text))
    for start, name in sorted(found):
        yield text.count("\n", 0, start) + 1, name


class _Chapter:
    def __init__(self, page: Path) -> None:
        self.page = page
        self.text = page.read_text(encoding="utf-8")
        self._taught = pages.without_libraries(self.text)
        self._words = set(re.findall(r"\w+", self._taught))
        self._families = tuple(re.findall(r"(\w{4,})…", self._taught))

    def teaches(self, name: str) -> bool:
        if name == _UNROLL:
            return name in self._taught
        word = name.rsplit("::", 1)[-1]
        return word in self._words or word.startswith(self._families)


def _chapters(root: Path) -> Dict[int, _Chapter]:
    found = sorted((root / "docs").glob("[0-9][0-9]_*.md"))
    return {int(page.name[:2]): _Chapter(page) for page in found}


class FirstUse(NamedTuple):
    """Of a name of CUDA's, in a starter or a solution."""

    name: str
    exercise: Exercise
    file: Path
    line: int
    taught: Optional[int]  # the first chapter that mentions it


def first_uses(root: Path, exercises: Sequence[Exercise]) -> Iterator[FirstUse]:
    """Of each name, in the order of the exercises."""
    chapters = _chapters(root)
    seen: Set[str] = set()
    for exercise in exercises:
        for file in (exercise.lab_file, exercise.solution_file):
            if not file.is_file():
                continue
            for line, name in names_in(file.read_text(encoding="utf-8", errors="replace")):
                if name in seen:
                    continue
                seen.add(name)
                teaching = (number for number, each in chapters.items() if each.teaches(name))
                yield FirstUse(name, exercise, file, line, next(teaching, None))


def table(root: Path, exercises: Sequence[Exercise]) -> str:
    """A line for each name: where it is used first, and the chapter that explains it."""
    rows = [("name", "first use", "explained in")]
    for use in first_uses(root, exercises):
        chapter = "" if use.taught is None else f"{use.taught:02}"
        rows.append((use.name, f"{use.exercise.id} {use.exercise.name}", chapter))
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        f"{name:{widths[0]}}  {use:{widths[1]}}  {chapter}".rstrip() for name, use, chapter in rows
    )


def untaught_names(root: Path, exercises: Sequence[Exercise]) -> Iterator[Problem]:
    """The first use of each name that its chapter and those before do not mention."""
    for use in first_uses(root, exercises):
        if use.taught is not None and use.taught <= use.exercise.chapter:
            continue
        late = "no chapter explains it"
        if use.taught is not None:
            late = f"it is explained only in chapter {use.taught:02}"
        yield Problem(
            use.file,
            use.line,
            f"{use.name} is used here for the first time, and {late}: say in"
            f" docs/{use.exercise.chapter_page.name} what it is",
        )


def untaught_terms(root: Path) -> Iterator[Problem]:
    """Terms of the glossary in chapters before those that explain them, without a link to it."""
    glossary = root / "docs" / "glossary.md"
    if not glossary.is_file():
        return
    chapters = _chapters(root)
    text = glossary.read_text(encoding="utf-8")
    for entry in re.finditer(r"^\*\*(.+?)\.\*\*(.*?)(?=\n\n|\Z)", text, re.M | re.S):
        explained = [int(n) for n in re.findall(r"\]\((?:\.\./labs/)?(\d\d)_", entry[2])]
        if not explained or entry[1] in OTHER_MEANINGS:
            continue
        short = re.sub(r"\s*\(.*?\)", "", entry[1]).split(", ")
        words = "|".join(re.escape(word) for word in [*short, *re.findall(r"\((.*?)\)", entry[1])])
        term = re.compile(rf"(?<![\w-])({words})s?(?![\w-])", re.IGNORECASE)
        for number, chapter in chapters.items():
            if number < min(explained):
                yield from _early(chapter, term, entry[1], min(explained))


def _early(chapter: _Chapter, term: "re.Pattern[str]", name: str, later: int) -> Iterator[Problem]:
    lines = dict(pages.outside_code(chapter.text))
    for number, line in lines.items():
        around = " ".join(lines.get(n, "") for n in (number - 1, number, number + 1))
        if term.search(re.sub(r"\]\([^)]*\)", "]", line)) and f"({later:02}_" not in around:
            yield Problem(
                chapter.page,
                number,
                f"'{name}' is explained only in chapter {later:02}: link that, or explain the term"
                " here and link this chapter in docs/glossary.md",
            )
            return  # one is enough
