# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Home-made words (docs/wording.toml) in what students read: pages, comments, messages, names."""

import re
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from lablib import pages
from lablib.cuda_tokens import all_tokens
from lablib.errors import LabError
from lablib.metadata import parse_toml

LIST = "docs/wording.toml"
_PAGES = re.compile(r"((docs|labs|solutions)/.+|README|CONTRIBUTING)\.md")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define\b((?:\\\n|[^\n])*)", re.MULTILINE)
_WHAT_OF_EXCEPTION = re.compile(r"what\(\)")
_CODE = re.compile(r"(labs|solutions|tests/\d\d_\w+|common/(include|src))/.+\.(cu|hpp|cpp)")


class Avoided(NamedTuple):
    words: "Optional[re.Pattern[str]]"  # in prose
    names: "Optional[re.Pattern[str]]"  # of variables, functions and types
    say: str
    folders: "Optional[re.Pattern[str]]" = None  # of the repository; none: wherever it is read

    def is_for(self, path: str) -> bool:
        return self.folders is None or bool(self.folders.fullmatch(path.split("/", 1)[0]))


def read_list(root: Path) -> List[Avoided]:
    """What to avoid; nothing in a repository without the list."""
    path = root / LIST
    if not path.is_file():
        return []
    try:
        entries = parse_toml(path.read_text(encoding="utf-8"))["avoid"]
        return [_avoided(each) for each in entries]
    except (ValueError, KeyError, TypeError, re.error) as error:
        raise LabError(
            f"{path}:1: each [[avoid]] needs `words` or `names`, regular expressions, and `say`:"
            f" {error!r}."
        ) from error


def _avoided(entry: Dict[str, str]) -> Avoided:
    words, names, folders = entry.get("words"), entry.get("names"), entry.get("folders")
    if not (words or names):
        raise KeyError("words")
    return Avoided(
        re.compile(rf"(?<!\w)({words})(?!\w)", re.IGNORECASE) if words else None,
        re.compile(names) if names else None,
        entry["say"],
        re.compile(folders) if folders else None,
    )


def is_read(path: str) -> bool:
    """Whether students read what is in this file of the repository."""
    return bool(_PAGES.fullmatch(path) or _CODE.fullmatch(path))


def prose(path: str, text: str) -> Iterator[Tuple[int, str]]:
    """Line and text of what people read: no code."""
    if path.endswith(".md"):
        for number, line in pages.outside_code(text):
            yield number, re.sub(r"`[^`]*`", "``", line)
        return
    # In tests and in common/, students read what `///` explains.
    comment = r"//+<?(.*)" if path.startswith(("labs/", "solutions/")) else r"///<?(.*)"
    for match in re.finditer(comment, text):
        yield text.count("\n", 0, match.start()) + 1, match[1]
    for token in all_tokens(text):
        if token.kind == "string":
            yield text.count("\n", 0, token.start) + 1, token.text


def names(path: str, text: str) -> Iterator[Tuple[int, str]]:
    """Line and text of each name in a program, those of its macros last.

    Without the `what()` that every exception has.
    """
    if path.endswith(".md"):
        return
    macros = [(match.start(1), match[1]) for match in _MACRO.finditer(text)]
    for start, code in [(0, text), *macros]:
        for token in all_tokens(code):
            if token.kind == "name" and not _WHAT_OF_EXCEPTION.match(code, token.start):
                yield text.count("\n", 0, start + token.start) + 1, token.text


def find(path: str, text: str, avoided: List[Avoided]) -> Iterator[Tuple[int, str]]:
    """Line and sentence for each word to avoid."""
    avoided = [each for each in avoided if each.is_for(path)]
    for number, line in prose(path, text):
        for each in avoided:
            for match in each.words.finditer(line) if each.words else ():
                yield number, f"'{match[0]}' is a word of our own; better: {each.say}"
    for number, name in names(path, text):
        for each in avoided:
            if each.names and each.names.fullmatch(name):
                yield number, f"'{name}' is no name for this; better: {each.say}"
