# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The course's version: in CMakeLists.txt, in the changelog's newest section, in CITATION.cff, and
in a tag once it is released. And its repository's address, if CITATION.cff has it."""

import re
from pathlib import Path
from typing import Iterator, List, Tuple

from lablib.processes import capture

CHANGELOG = "docs/changelog.md"
CITATION = "CITATION.cff"
_HEADING = re.compile(r"## (\d+)\.(\d+)\.(\d+), (unreleased|\d{4}-\d\d-\d\d)")


def read(root: Path) -> str:
    """As CMakeLists.txt has it; "" if it has none."""
    try:
        text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"^project\(\s*cuda_labs\s+VERSION\s+(\d+\.\d+\.\d+)\b", text, re.MULTILINE)
    return found[1] if found else ""


def describe(root: Path) -> str:
    """`1.0.0`, or what it will be, and the commit: `1.0.0, not released, commit 0123abc`."""
    number = read(root)
    if f"v{number}" in _tags(root):
        return number
    commit = _git(root, "rev-parse", "--short", "HEAD")
    return ", ".join(filter(None, (number, "not released", commit and f"commit {commit}")))


def address(root: Path) -> str:
    """Where the repository is to be found, as CITATION.cff has it (`repository-code:`); "" if it
    says nothing."""
    try:
        cited = (root / CITATION).read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"^repository-code: *[\"']?([^\s\"']+)", cited, re.MULTILINE)
    return found[1] if found else ""


def with_address(text: str, root: Path) -> str:
    """A page that names the repository's address, if there is one."""
    return text.replace("ADDRESS-OF-THE-REPOSITORY", address(root) or "ADDRESS-OF-THE-REPOSITORY")


def _tags(root: Path) -> List[str]:
    """Of the commit that is checked out."""
    return _git(root, "tag", "--points-at", "HEAD", "--list", "v*").split()


def _git(root: Path, *arguments: str) -> str:
    """What it prints; "" where there is no repository."""
    return (capture(["git", "-C", str(root), *arguments]) or "").strip()


def problems(root: Path) -> Iterator[Tuple[str, int, str]]:
    """Where they differ: file, line, sentence."""
    if not (root / CHANGELOG).is_file():
        return
    number = read(root)
    if not number:
        yield "CMakeLists.txt", 1, "there is no `project(cuda_labs VERSION 1.2.3 …`"
        return
    if (root / CITATION).is_file():
        cited = (root / CITATION).read_text(encoding="utf-8")
        place = re.search(r"^version: (.*)$", cited, re.MULTILINE)
        if not place or place[1] != number:
            line = cited.count("\n", 0, place.start()) + 1 if place else 1
            yield CITATION, line, f"there is no `version: {number}`, as in CMakeLists.txt"
    lines = (root / CHANGELOG).read_text(encoding="utf-8").splitlines()
    sections = [(line, text) for line, text in enumerate(lines, 1) if text.startswith("## ")]
    found = []
    for line, text in sections:
        match = _HEADING.fullmatch(text)
        if not match:
            yield CHANGELOG, line, "a heading is `## 1.2.3, 2030-12-31`, or `unreleased` for a date"
            return
        found.append((line, tuple(map(int, match.groups()[:3])), match[4]))
    if not found or ".".join(map(str, found[0][1])) != number:
        line = found[0][0] if found else 1
        yield CHANGELOG, line, f"the first section is not that of {number}, as in CMakeLists.txt"
        return
    for (_, newer, _), (line, older, date) in zip(found, found[1:]):
        if older >= newer:
            yield CHANGELOG, line, "this version is not below the one before it"
        if date == "unreleased":
            yield CHANGELOG, line, "only the first section can be unreleased"
    tags = _tags(root)
    if tags and f"v{number}" not in tags:
        yield "CMakeLists.txt", 1, f"the version is {number}, and this commit's tag {tags[0]}"
    elif tags and found[0][2] == "unreleased":
        yield CHANGELOG, found[0][0], f"this commit has the tag {tags[0]}: give its section a date"
