# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Hints: the sections `## 1. …` of an exercise's hints.md, one at a time. The title and the
first paragraph of a hint are a question, and are shown first; the rest, the answer, at the next
call."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

from lablib.console import say
from lablib.errors import USAGE, LabError
from lablib.exercises import Exercise
from lablib.state import Progress


@dataclass
class Hint:
    title: str
    text: str

    @property
    def question(self) -> str:
        """Its first paragraph; "" where that is all there is."""
        first, _, answer = self.text.partition("\n\n")
        return first if answer.strip() else ""


def read_hints(path: Path) -> List[Hint]:
    """The hints in their order. Their numbers must be 1, 2, 3 …: a person asks for one by it."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return []
    hints: List[Hint] = []
    in_code = False
    for line_number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        match = None if in_code else re.match(r"##\s+(\d+)\.\s*(.*)$", line)
        if match:
            if int(match[1]) != len(hints) + 1:
                raise LabError(
                    f"{path}:{line_number}: this hint has the number {match[1]} instead of"
                    f" {len(hints) + 1}."
                )
            hints.append(Hint(match[2].strip(), ""))
        elif hints:
            hints[-1].text += line + "\n"
    for hint in hints:
        hint.text = hint.text.strip("\n")
    return hints


def hint_text(exercise: Exercise, progress: Progress, number: Optional[str]) -> str:
    """The next question or answer, or that of the hint that was asked for; remembers what was
    shown."""
    hints = read_hints(exercise.hints_file)
    if not hints:
        raise LabError(f"there are no hints for {exercise.id} {exercise.name}.")
    count = "one hint" if len(hints) == 1 else f"{len(hints)} hints"
    if number is None:
        wanted = progress.hints_shown(exercise) + 1
        if wanted > len(hints):
            return (
                f"You have seen the {count} for {exercise.id} {exercise.name}. `scripts/lab hint"
                f" {exercise.id} 1` shows the first again; `scripts/lab solution {exercise.id}`"
                " shows a solution."
            )
    else:
        if not number.isdigit() or not 1 <= int(number) <= len(hints):
            raise LabError(
                f"{exercise.id} has {count}: '{number}' is not one of them"
                + ("." if len(hints) == 1 else f", choose a number from 1 to {len(hints)}."),
                USAGE,
            )
        wanted = int(number)
    hint = hints[wanted - 1]
    only_the_question = bool(hint.question) and progress.hint_is_new(exercise, wanted)
    try:
        progress.note_hint(exercise, wanted, only_the_question)
    except LabError as error:  # the hint itself is there all the same
        say(f"lab: {error} So the next time it is this hint again.")
    lines = [
        f"{exercise.id} {exercise.name}, hint {wanted} of {len(hints)}: {hint.title}".rstrip(": ")
    ]
    text = hint.question if only_the_question else hint.text
    if text:
        lines += ["", text]
    again = f"`scripts/lab hint {exercise.id}{'' if number is None else f' {wanted}'}`"
    if only_the_question:
        lines += ["", f"(Think first. {again} shows the answer.)"]
    elif wanted < len(hints):
        lines += [
            "",
            f"(When that is not enough: `scripts/lab hint {exercise.id}` shows the next one.)",
        ]
    if others := hints[wanted:]:
        lines += ["", f"Further hints, `scripts/lab hint {exercise.id} NUMBER`:"]
        lines += [f"  {n}. {other.title}" for n, other in enumerate(others, wanted + 1)]
    return "\n".join(lines)
