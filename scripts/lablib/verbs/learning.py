# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Verbs that build nothing: list, hint, reset, solution, doctor."""

import argparse
import datetime
import shutil
import sys
from pathlib import Path
from typing import List

from lablib import doctor, hints, metadata, starters
from lablib.console import paint
from lablib.errors import OK, LabError
from lablib.exercises import Exercise, resolve_all, resolve_one
from lablib.files import short_path, write_atomically
from lablib.state import CHANGED, DONE, STARTED, is_starter
from lablib.todos import listed
from lablib.verbs import verb
from lablib.verbs.verb import Parser, Verb

_MARKS = {DONE: ("✓", "green"), CHANGED: ("~", "yellow"), STARTED: ("…", "yellow")}


def _list(root: Path, options: argparse.Namespace) -> int:
    exercises = verb.all_exercises(root)
    progress = verb.progress_of(root)
    status = {exercise.id: progress.status(exercise) for exercise in exercises}
    following = next((exercise for exercise in exercises if status[exercise.id] != DONE), None)
    if options.id:
        exercises = resolve_all(root, options.id)
    width = max(len(exercise.full_name) for exercise in exercises) + 2
    parts = {exercise.part for exercise in verb.all_exercises(root)}
    part = ""
    for chapter in dict.fromkeys(exercise.chapter_folder for exercise in exercises):
        own = [exercise for exercise in exercises if exercise.chapter_folder == chapter]
        if len(parts) > 1 and own[0].part != part:
            print(paint(f"\n{own[0].part}" if part else own[0].part, "bold"))
            part = own[0].part
        ready = sum(status[exercise.id] == DONE for exercise in own)
        title = f"{own[0].chapter:02} {own[0].chapter_name.replace('_', ' ')}"
        print(paint(f"{title}  ({ready} of {len(own)} done)", "bold"))
        for exercise in own:
            data = metadata.find(exercise)
            minutes = f"{data.minutes:>4} min" if data else " " * 8
            state = status[exercise.id]
            mark, style = _MARKS.get(state, (" ", "dim"))
            bonus = progress.open_bonus(exercise)
            if bonus:
                state = f"core done; bonus: {listed(bonus)}"
            arrow = "  ← next" if exercise == following else ""
            print(
                f"  {paint(mark, style)} {f'{exercise.id} {exercise.name}':<{width}}"
                f"{minutes}  {paint(state, style)}{arrow}".rstrip()
            )
            if options.id:
                first = f" First: {', '.join(data.prerequisites)}." if data else ""
                line = f"    {metadata.title(exercise)}{first}{metadata.needs(exercise)}"
                print(paint(line, "dim"))
    print()
    print(f"Next: `scripts/lab test {following.id}`" if following else "Every exercise passes.")
    return OK


def _hint_arguments(parser: Parser) -> None:
    verb.exercise(parser)
    parser.add_argument(
        "number",
        metavar="N",
        nargs="?",
        help="which hint; by default the next one whose answer you have not seen",
    )


def _hint(root: Path, options: argparse.Namespace) -> int:
    exercise = resolve_one(root, options.id)
    print(hints.hint_text(exercise, verb.progress_of(root), options.number))
    return OK


def _reset(root: Path, options: argparse.Namespace) -> int:
    exercise = resolve_one(root, options.id)
    file = exercise.lab_file
    starter = starters.starter_of(exercise)
    if is_starter(exercise):
        print(f"{short_path(file, root)} is as it was at the beginning: nothing to do.")
        return OK
    try:
        if file.exists():
            backup = _backup_place(root, exercise)
            backup.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, backup)
            print(f"Your file is kept: {short_path(backup, root)}")
        write_atomically(file, starter)
    except OSError as error:
        raise LabError(f"cannot reset {file}: {error}.") from error
    print(f"{short_path(file, root)} is as it was at the beginning.")
    return OK


def _backup_place(root: Path, exercise: Exercise) -> Path:
    """Where no file is yet."""
    folder = root / ".lab" / "backup"
    name = f"{exercise.full_name}.{datetime.datetime.now().strftime('%Y%m%d-%H%M%S')}"
    backup = folder / f"{name}.cu"
    number = 1
    while backup.exists():
        number += 1
        backup = folder / f"{name}-{number}.cu"
    return backup


def _solution(root: Path, options: argparse.Namespace) -> int:
    exercise = resolve_one(root, options.id)
    try:
        text = exercise.solution_file.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(
            f"there is no solution to show: {exercise.solution_file}: {error.strerror}."
        ) from error
    print(f"// {short_path(exercise.solution_file, root)}\n")
    sys.stdout.write(text)
    return OK


def _doctor(root: Path, options: argparse.Namespace) -> int:
    return doctor.doctor(root)


VERBS: List[Verb] = [
    Verb(
        "list",
        "Show the chapters and exercises, and how far you are.",
        verb.exercises,
        _list,
        takes_exercises=True,
    ),
    Verb(
        "hint",
        "Show the next hint for an exercise, or hint number N: a question first, and its answer at"
        " the next call.",
        _hint_arguments,
        _hint,
        takes_exercises=True,
    ),
    Verb(
        "reset",
        "Put the original file of an exercise back. Your file is kept in .lab/backup.",
        verb.exercise,
        _reset,
        takes_exercises=True,
    ),
    Verb(
        "solution",
        "Show the solution of an exercise.",
        verb.exercise,
        _solution,
        takes_exercises=True,
    ),
    Verb("doctor", "Show what is installed here, and what is missing.", verb.no_arguments, _doctor),
]
