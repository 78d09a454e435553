# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Which TODOs of a student's file are written, and which failures are only about a bonus."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, Iterable, List, Set

from lablib import starters, test_program
from lablib.errors import LabError
from lablib.exercises import Exercise
from lablib.grading import points


@dataclass
class Todos:
    """Those that a student's file still has as the starter had them."""

    core: List[int] = field(default_factory=list)
    bonus: List[int] = field(default_factory=list)
    all_bonus: List[int] = field(default_factory=list)  # those that are written, too
    steps: List[str] = field(default_factory=list)  # of the exercise
    bonus_steps: Dict[str, List[int]] = field(default_factory=dict)  # of them, with their TODOs
    together: Dict[int, List[int]] = field(default_factory=dict)  # what a not_written() stands for

    @property
    def bonus_is_begun(self) -> bool:
        return self.bonus != self.all_bonus

    def is_of_bonus(self, case: str) -> bool:
        return points.step_of(case, self.steps) in self.bonus_steps


def open_todos(exercise: Exercise) -> Todos:
    contract = exercise.folder / f"{exercise.name}.hpp"
    try:
        text = exercise.lab_file.read_text(encoding="utf-8", errors="replace")
        starter = starters.starter_of(exercise)
        steps = points.steps_of(contract) if contract.is_file() else []
    except (OSError, LabError):
        return Todos()
    found = starters.untouched(exercise.solution_file, text)
    all_bonus = sorted({int(n) for n in re.findall(r"\bTODO\((\d+), bonus\):", starter)})
    return Todos(
        [todo.number for todo in found if not todo.bonus],
        [todo.number for todo in found if todo.bonus],
        all_bonus,
        steps,
        _bonus_steps(starter, steps, all_bonus),
        _together(starter),
    )


_THROW = re.compile(r'\bthrow\s+(?:lab::)?not_written\("[^"]*", (\d+)\)')


def _together(starter: str) -> Dict[int, List[int]]:
    """The TODOs of each not_written() of the starter: from its own to where the next one begins."""
    numbers = sorted({int(n) for n in re.findall(r"\bTODO\((\d+)(?:, bonus)?\):", starter)})
    begins = sorted({int(n) for n in _THROW.findall(starter)})
    return {
        begin: [n for n in numbers if begin <= n and not any(begin < b <= n for b in begins)]
        for begin in begins
    }


def if_it_is_written(said: str, file: Path, todos: Todos) -> str:
    """What to do if a test says that a TODO is not written, and the student's file has something
    there; or ""."""
    found = NOT_WRITTEN.search(said)
    number = int(found[1]) if found else 0
    still = {*todos.core, *todos.bonus}
    if number not in todos.together or number in still:
        return ""
    others = [n for n in todos.together[number] if n in still]
    if others:
        return f"You have started it; {as_it_was(others)}."
    text = file.read_text(encoding="utf-8", errors="replace").splitlines()
    line = next(
        (
            n
            for n, one in enumerate(text, 1)
            for throw in _THROW.finditer(one)
            if int(throw[1]) == number and "//" not in one[: throw.start()]
        ),
        None,
    )
    if line is None:
        return ""
    return f"If you have written it, take out the `throw not_written(…)` in line {line}."


def _bonus_steps(starter: str, steps: List[str], bonus: List[int]) -> Dict[str, List[int]]:
    """The steps of which the starter says that a TODO of a bonus is missing. Their TODOs go on to
    where the next one begins."""
    begins: Dict[str, List[int]] = {}
    for what, number in re.findall(r'\bnot_written\("([^"]*)", (\d+)\)', starter):
        for step in steps:
            if re.search(rf"\b{step}\b", what):
                begins.setdefault(step, []).append(int(number))
    first = {step: min(numbers) for step, numbers in begins.items() if {*numbers} <= {*bonus}}
    return {
        step: [
            number
            for number in bonus
            if number >= begin and not any(begin < other <= number for other in first.values())
        ]
        for step, begin in first.items()
    }


def bonus_apart(cases: List[str], todos: Todos) -> List[List[str]]:
    """All cases at once; where a bonus is begun, those that call it come last."""
    if not todos.bonus_is_begun:
        return [cases]

    def calls_bonus(case: str) -> bool:
        return todos.is_of_bonus(case) or points.is_required_work(case)

    parts = [
        [case for case in cases if not calls_bonus(case)],
        [case for case in cases if calls_bonus(case)],
    ]
    return [part for part in parts if part]


NOT_WRITTEN = re.compile(r"is not written yet: TODO\((\d+)\)")


def waits_for_bonus(case: test_program.Case, todos: Todos) -> bool:
    """Whether it fails only because a TODO of a bonus is not written."""
    failures = [said.text for said in case.said if said.is_failure]
    return (
        case.state == test_program.FAILED
        and bool(failures)
        and all(_is_open_bonus(text, todos) for text in failures)
    )


def _is_open_bonus(text: str, todos: Todos) -> bool:
    """Whether a failure says that a TODO of a bonus is not written. (Its first TODO may be, and the
    starter's throw still be there.)"""
    found = NOT_WRITTEN.search(text)
    return found is not None and int(found[1]) in todos.all_bonus


def not_about_bonus(failures: Iterable[test_program.Case], todos: Todos) -> List[test_program.Case]:
    """Those of all cases that failed which say something of what has to be written. The others
    belong to a step that is a bonus. (A case on required work goes through all steps: each of its
    failures names one, or is also one of a bonus step's own cases, and not of the others. What it
    says beside a failure of a bonus step, and nobody else says, is that step's, too.)"""
    failures = list(failures)
    required = [case for case in failures if points.is_required_work(case.name)]
    of_steps = [case for case in failures if case not in required]
    bonus = [
        case for case in of_steps if todos.is_of_bonus(case.name) or waits_for_bonus(case, todos)
    ]
    core = [case for case in of_steps if case not in bonus]
    of_core = _symptoms(core)
    only_bonus = _symptoms(bonus) - of_core

    def is_about_bonus(case: test_program.Case) -> bool:
        texts = [said.text for said in case.said if said.is_failure]
        if case.state != test_program.FAILED or not texts:
            return _symptoms([case]) <= only_bonus
        named = [points.without_work([text], todos.steps) for text in texts]
        of_bonus = [steps <= todos.bonus_steps.keys() for steps in named]
        return all(
            of_bonus[n]
            or _is_open_bonus(text, todos)
            or _symptoms_of(text, case) <= only_bonus
            or (any(of_bonus) and len(named[n]) > 1 and not _symptoms_of(text, case) & of_core)
            for n, text in enumerate(texts)
        )

    about_bonus = [*bonus, *filter(is_about_bonus, required)]
    return [case for case in failures if case not in about_bonus]


def _symptoms(cases: Iterable[test_program.Case]) -> Set[str]:
    """What failures say, by which the same mistake can be found in another case."""
    found: Set[str] = set()
    for case in cases:
        if case.state != test_program.FAILED:
            found.add(case.state)
        for said in case.said:
            if said.is_failure:
                found |= _symptoms_of(said.text, case)
    return found


def _symptoms_of(failure: str, case: test_program.Case) -> Set[str]:
    text = failure.removeprefix("Failed\n")
    lines = [text.partition("\n")[0]]
    if text.startswith("the CPU device reported"):
        last = text.partition(":\n")[2].partition("\n")[0]
        lines = [line for line in case.lines if line.startswith("CPU device: ")]
        lines.append(f"CPU device: {last}")
    # Whatever the numbers are, but for those of lines.
    return {re.sub(r"(?<![:\w])\d+", "#", line) for line in lines}


def open_bonus(cases: Iterable[test_program.Case], todos: Todos) -> List[int]:
    """The TODOs of a bonus that are not written, or for which such a case of it fails."""
    found = {*todos.bonus}
    for case in cases:
        steps = {points.step_of(case.name, todos.steps)}
        for said in case.said:
            missing = NOT_WRITTEN.search(said.text) if said.is_failure else None
            if missing is not None:
                found |= {int(missing[1])} & {*todos.all_bonus}
            elif said.is_failure and points.is_required_work(case.name):
                named = points.without_work([said.text], todos.steps)
                steps |= named if len(named) == 1 else set()
        if not waits_for_bonus(case, todos):
            for step in steps:
                found |= {*todos.bonus_steps.get(step, [])}
    return sorted(found)


def listed(numbers: List[int]) -> str:
    """[2] is "TODO 2", [5, 6, 7, 9] is "TODO 5 to 7 and 9"."""
    groups: List[List[int]] = []
    for number in sorted(numbers):
        if groups and groups[-1][-1] + 1 == number:
            groups[-1].append(number)
        else:
            groups.append([number])
    texts: List[str] = []
    for group in groups:
        if len(group) > 2:
            texts.append(f"{group[0]} to {group[-1]}")
        else:
            texts += map(str, group)
    return "TODO " + " and ".join([", ".join(texts[:-1]), texts[-1]] if texts[:-1] else texts)


def as_it_was(numbers: List[int]) -> str:
    if len(numbers) == 1:
        return f"TODO({numbers[0]}) is as it was in the starter"
    return f"{listed(numbers)} are as they were in the starter"
