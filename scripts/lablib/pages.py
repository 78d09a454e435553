# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The text of chapters (docs/CC_chapter.md) and of their answers: sections, questions, links."""

import re
from typing import List, Optional, Tuple

from lablib.errors import LabError

_NUMBERED = re.compile(r"(\d+)\. ")

STEPS = "The steps side by side"  # a table, if the exercises have steps
LIBRARIES = "How a professional does it"  # the section after the exercises
READ_ON = "Read on"  # links, at the end


def outside_code(text: str) -> List[Tuple[int, str]]:
    """Number and text of each line that is not in a block of code (``` or ~~~)."""
    lines, fence = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip() == fence:
            fence = ""
        elif not fence:
            lines.append((number, line))
    return lines


def headings(text: str) -> List[Tuple[int, int, str]]:
    """Line, level and text of each heading."""
    found = []
    for number, line in outside_code(text):
        match = re.match(r"(#{1,6})\s+(.*?)\s*#*$", line)
        if match:
            found.append((number, len(match[1]), match[2]))
    return found


def title(text: str) -> Optional[str]:
    return next((words for _, level, words in headings(text) if level == 1), None)


def anchors(text: str) -> List[str]:
    """What a link to a heading says behind its #, as GitHub makes it."""
    found: List[str] = []
    for _, _, words in headings(text):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        count = sum(1 for other in found if other == slug or re.fullmatch(rf"{slug}-\d+", other))
        found.append(f"{slug}-{count}" if slug in found else slug)
    return found


def links(text: str) -> List[Tuple[int, str]]:
    """Line and target of each link and picture, [text](target) or [name]: target."""
    found = []
    for number, line in outside_code(text):
        line = re.sub(r"`[^`]*`", "``", line)
        found += [(number, t) for t in re.findall(r"\]\(\s*<?([^)\s>]*)>?[^)]*\)", line)]
        match = re.match(r"\s*\[[^\]]+\]:\s+(\S+)", line)
        if match:
            found.append((number, match[1]))
    return found


def section_line(text: str, exercise_id: str) -> int:
    """The line of `## 05.1 name`, or 0."""
    for number, level, words in headings(text):
        if level == 2 and words.split()[:1] == [exercise_id]:
            return number
    return 0


def insert_section(text: str, exercise_id: str, section: str) -> str:
    """Puts an exercise's section behind those with smaller numbers, before the chapter's end."""
    lines = text.splitlines()
    own = _number(exercise_id)
    place = len(lines)
    for number, level, words in headings(text):
        if level != 2:
            continue
        other = _number(words)
        if (other and own and other > own) or words in (STEPS, LIBRARIES, "Questions"):
            place = number - 1
            break
    head = "\n".join(lines[:place]).rstrip("\n")
    tail = "\n".join(lines[place:]).strip("\n")
    parts = [part for part in (head, section.strip("\n"), tail) if part]
    return "\n\n".join(parts) + "\n"


def without_libraries(text: str) -> str:
    """The text without its sections on steps, libraries and documents, which name much and explain
    nothing."""
    for heading in (STEPS, LIBRARIES, READ_ON):
        all_headings = [(n, words) for n, level, words in headings(text) if level <= 2]
        begin = next((n for n, words in all_headings if words == heading), 0)
        if not begin:
            continue
        lines = text.splitlines()
        end = next((n for n, _ in all_headings if n > begin), len(lines) + 1)
        text = "\n".join(lines[: begin - 1] + lines[end - 1 :]) + "\n"
    return text


def cut_section(text: str, exercise_id: str) -> Tuple[str, str]:
    """The text without an exercise's section, and the section ("" if there is none)."""
    begin = section_line(text, exercise_id)
    if not begin:
        return text, ""
    lines = text.splitlines()
    later = [number for number, level, _ in headings(text) if level <= 2 and number > begin]
    end = later[0] - 1 if later else len(lines)
    rest = "\n".join(lines[: begin - 1]).rstrip("\n") + "\n\n" + "\n".join(lines[end:]).strip("\n")
    return rest.strip("\n") + "\n", "\n".join(lines[begin - 1 : end]).strip("\n") + "\n"


def _number(words: str) -> Optional[Tuple[int, int]]:
    match = re.match(r"(\d\d)\.(\d+)\b", words)
    return (int(match[1]), int(match[2])) if match else None


def numbered(text: str, heading: Optional[str] = None) -> List[Tuple[int, int]]:
    """Line and number of each `1. …` at the beginning of a line; only below a heading if given."""
    begin, end = 0, len(text.splitlines()) + 1
    if heading is not None:
        all_headings = [(n, level, words) for n, level, words in headings(text) if level <= 2]
        begin = next((n for n, _, words in all_headings if words == heading), end)
        end = next((n for n, _, _ in all_headings if n > begin), end)
    found = []
    for number, line in outside_code(text):
        match = _NUMBERED.match(line)
        if match and begin < number < end:
            found.append((number, int(match[1])))
    return found


def add_question(text: str, question: str, name: str) -> Tuple[str, int]:
    """Appends to the chapter's questions; returns the number that it got."""
    if not any(words == "Questions" for _, _, words in headings(text)):
        raise LabError(f"{name}: there is no heading `## Questions`, under which a new one goes.")
    if "EXERCISE_QUESTION\n" in text:
        return text.replace("EXERCISE_QUESTION\n", _item(1, question)), 1
    there = numbered(text, "Questions")
    if not there:
        raise LabError(f"{name}: there is no numbered question under `## Questions`.")
    lines = text.splitlines()
    end = there[-1][0]  # the last question's first line; its others are indented
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    number = there[-1][1] + 1
    lines[end:end] = _item(number, question).splitlines()
    return "\n".join(lines) + "\n", number


def add_answer(text: str, number: int, answer: str, name: str) -> str:
    there = numbered(text)
    if number != len(there) + 1:
        raise LabError(
            f"{name}: question {number} would be answered here, but there are {len(there)} answers:"
            " bring the questions and the answers together first."
        )
    gap = "\n" if there else "\n\n"
    return text.rstrip("\n") + gap + _item(number, answer)


def _item(number: int, text: str) -> str:
    first, *others = text.strip("\n").splitlines()
    lead = f"{number}. "
    indented = [f"{' ' * len(lead)}{line}".rstrip() for line in others]
    return "\n".join([lead + first, *indented]) + "\n"
