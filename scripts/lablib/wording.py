# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Home-made words (docs/wording.toml) in what students read: pages, comments, messages."""

import re
from pathlib import Path
from typing import Iterator, List, NamedTuple, Tuple

from lablib import pages
from lablib.cuda_tokens import all_tokens
from lablib.errors import LabError
from lablib.metadata import parse_toml

LIST = "docs/wording.toml"
_PAGES = re.compile(r"((docs|labs|solutions)/.+|README|CONTRIBUTING)\.md")
_CODE = re.compile(r"(labs|solutions|tests/\d\d_\w+|common/(include|src))/.+\.(cu|hpp|cpp)")


class Avoided(NamedTuple):
    words: "re.Pattern[str]"
    say: str


def read_list(root: Path) -> List[Avoided]:
    """What to avoid; nothing in a repository without the list."""
    path = root / LIST
    if not path.is_file():
        return []
    try:
        entries = parse_toml(path.read_text(encoding="utf-8"))["avoid"]
        return [
            Avoided(re.compile(rf"(?<!\w)({each['words']})(?!\w)", re.IGNORECASE), each["say"])
            for each in entries
        ]
    except (ValueError, KeyError, TypeError, re.error) as error:
        raise LabError(
            f"{path}:1: each [[avoid]] needs `words`, a regular expression, and `say`: {error!r}."
        ) from error


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


def find(path: str, text: str, avoided: List[Avoided]) -> Iterator[Tuple[int, str]]:
    """Line and sentence for each word to avoid."""
    for number, line in prose(path, text):
        for each in avoided:
            for match in each.words.finditer(line):
                yield number, f"'{match[0]}' is a word of our own; better: {each.say}"
