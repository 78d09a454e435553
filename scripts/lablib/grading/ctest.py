# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Grading by CTest: a folder in which each exercise is a test that runs grader and workers, so that
the verdict is that of `grade`. No program of a test is linked with a student's file."""

from pathlib import Path
from typing import Sequence

from lablib.errors import FAILED, OK
from lablib.exercises import Exercise
from lablib.grading import collect, grade
from lablib.grading.grade import Prepared, Record
from lablib.grading.points import Rules
from lablib.grading.reports import shown_points
from lablib.grading.sandbox import Sandbox


def write(folder: Path, exercises: Sequence[Exercise], command: Sequence[str]) -> None:
    """Makes `folder` one that CTest reads. `command` is what grades, but for the exercise."""
    lines = []
    for exercise in exercises:
        name = f"graded.{exercise.id}"
        words = " ".join(map(_quoted, [*command, "--verdict", exercise.id]))
        labels = f"graded;{exercise.chapter:02};{exercise.id}"
        lines.append(f"add_test({name} {words})")
        lines.append(f'set_tests_properties({name} PROPERTIES LABELS "{labels}")')
    grade.write_text(folder / "CTestTestfile.cmake", "\n".join(lines) + "\n")


def _quoted(word: str) -> str:
    """As CMake reads any word as it stands."""
    level = "=" * next(n for n in range(len(word) + 2) if f"]{'=' * n}]" not in word + "]")
    return f"[{level}[{word}]{level}]"


def verdict(one: Prepared, rules: Rules, folder: Path, place: Sandbox) -> int:
    """Grades one exercise of one student, and says what a report would: for a test of CTest."""
    submission = collect.Submission(folder.name, [folder])
    source = submission.sources([one.exercise])[one.exercise.id]
    record = grade.scored(grade.judge(one, source, place, lambda: False), one.steps, rules)
    for line in _lines(record, [*submission.notes, *source.notes]):
        print(line)
    points = f"{shown_points(record['points'])} of {shown_points(record['of'])} points"
    print(f"{one.exercise.id} {one.exercise.name}: {points} ({place.name})")
    return OK if record["state"] == "graded" and record["points"] == record["of"] else FAILED


def _lines(record: Record, notes: Sequence[str]) -> Sequence[str]:
    lines = [*notes, record["problem"]]
    lines += [f"{failure['case']}: {failure['text']}" for failure in record["failures"]]
    for part in record["parts"]:
        tests = f"{len(part['passed'])} of {len(part['passed']) + len(part['failed'])} tests passed"
        more = "" if part["has_work"] else ", but the work was not done as the contract requires"
        lines.append(f"{part['name']}: {tests}{more}")
    if record["hazards"]:
        lines.append(f"the CPU device reported a mistake in {', '.join(record['hazards'])}")
    return [line for line in [*lines, *record["remarks"]] if line]
