# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What an instructor wants graded, and how: a file in TOML, docs/instructors.md has the reference.

Every mistake in it is one sentence that says where it is.
"""

import contextlib
import csv
import importlib
import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple

from lablib import metadata
from lablib.errors import USAGE, LabError
from lablib.exercises import Exercise, resolve_one
from lablib.grading import points, sandbox
from lablib.grading.points import Rules, Speed


@dataclass(frozen=True)
class Limits:
    """Of one exercise of one submission; the first three in seconds on the clock."""

    call: float = 20.0
    case: float = 60.0
    exercise: float = 600.0
    memory_mib: float = sandbox.RUN.memory_bytes >> 20


@dataclass(frozen=True)
class Late:
    """What is left of the points of a submission that comes after it was due."""

    per_day: Fraction = Fraction(0)  # of the points, for each day that has begun
    at_most: Fraction = Fraction(1)
    grace: timedelta = timedelta(0)
    closes: Optional[datetime] = None  # after that, nothing is left

    def left(self, due: datetime, submitted: datetime) -> Fraction:
        if self.closes is not None and submitted > self.closes:
            return Fraction(0)
        if submitted <= due + self.grace:
            return Fraction(1)
        days = math.ceil((submitted - due) / timedelta(days=1))
        return 1 - min(self.per_day * days, self.at_most)


@dataclass(frozen=True)
class Task:
    """One exercise of a rubric."""

    exercise: Exercise
    rules: Rules = field(default_factory=Rules)
    due: Optional[datetime] = None
    hidden: Tuple[Path, ...] = ()  # files of tests that students do not have


@dataclass(frozen=True)
class Rubric:
    tasks: Tuple[Task, ...]
    title: str = ""
    limits: Limits = field(default_factory=Limits)
    late: Late = field(default_factory=Late)
    submitted: Mapping[str, datetime] = field(default_factory=dict)  # by student
    device: str = "cpu"  # or "gpu": on one as well

    def left(self, task: Task, student: str) -> Tuple[Fraction, str]:
        """What is left of a submission's points for when it came; and the sentence about that."""
        if task.due is None or not self.submitted:
            return Fraction(1), ""
        when = self.submitted.get(student)
        if when is None:
            return Fraction(1), "nobody knows when it was handed in: it is taken for in time."
        if when <= task.due:
            return Fraction(1), ""
        left = self.late.left(task.due, when)
        taken = f"{float(100 * (1 - left)):g} %" if left < 1 else "nothing"
        late = timedelta(seconds=math.ceil((when - task.due).total_seconds()))
        return left, f"it was handed in late, by {late}, which takes {taken} of the points."


def of_exercises(exercises: Sequence[Exercise]) -> Rubric:
    """Where an instructor has not written one."""
    return Rubric(tuple(Task(exercise) for exercise in exercises))


def read(root: Path, path: Path) -> Rubric:
    try:
        values = _toml().loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"{path} cannot be read: {error.strerror}.", USAGE) from error
    except ValueError as error:
        raise LabError(f"{path} is no TOML: {error}.", USAGE) from error
    return _Reader(root, path).rubric(values)


def _toml() -> Any:
    for name in ("tomllib", "tomli"):  # the first is Python's own, from 3.11 on
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    raise LabError(
        "rubrics need Python 3.11 or later, which can read TOML, or the package python3-tomli.",
        USAGE,
    )


class _Reader:
    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = root, path

    def wrong(self, where: str, what: str) -> NoReturn:
        raise LabError(f"{self.path}: {where} {what}.", USAGE)

    def rubric(self, values: Dict[str, Any]) -> Rubric:
        self._known(
            "",
            values,
            ["title", "device", "due", "submitted", "late", "limits", "defaults", "exercise"],
        )
        due = self._time("due", values.get("due"))
        defaults = self._table("defaults", values.get("defaults", {}))
        self._known("defaults", defaults, ["points", "hazard", "without_work"])
        listed = values.get("exercise")
        if not isinstance(listed, list) or not listed:
            self.wrong("[[exercise]]", "is missing: it names at least one exercise by its id")
        tasks: List[Task] = []
        for number, each in enumerate(listed, 1):
            task = self._task(number, self._table("[[exercise]]", each), defaults, due)
            if task.exercise.id in (other.exercise.id for other in tasks):
                self.wrong(f"exercise {task.exercise.id}", "stands there twice")
            tasks.append(task)
        limits = self._table("limits", values.get("limits", {}))
        names = ["call_seconds", "case_seconds", "exercise_seconds"]
        self._known("limits", limits, [*names, "memory_mib"])
        usual = Limits()
        memory = self._number(
            "limits.memory_mib", limits.get("memory_mib", int(usual.memory_mib)), 256, 1 << 20
        )
        call, case, whole = (
            float(self._number(f"limits.{name}", limits.get(name, default), 0.1, 36_000))
            for name, default in zip(names, (usual.call, usual.case, usual.exercise))
        )
        if not call <= case <= whole:
            self.wrong(
                "limits", "must not allow a call more than its case, or a case more than all"
            )
        title = values.get("title", "")
        if not isinstance(title, str):
            self.wrong("title", 'must be text in quotes, such as "Week 5"')
        device = values.get("device", "cpu")
        if device not in ("cpu", "gpu"):
            self.wrong("device", 'must be "cpu", or "gpu" to run every submission on a GPU as well')
        submitted = self._submitted(values.get("submitted"))
        late = self._late(self._table("late", values.get("late", {})))
        if "late" in values and not submitted:
            self.wrong("late", "needs submitted: a table of when each student handed in")
        return Rubric(
            tuple(tasks), title, Limits(call, case, whole, float(memory)), late, submitted, device
        )

    def _task(
        self, number: int, values: Dict[str, Any], defaults: Dict[str, Any], due: Optional[datetime]
    ) -> Task:
        name = values.get("id")
        if not isinstance(name, str):
            self.wrong(f"exercise number {number}", 'has no id, such as id = "05.1"')
        try:
            exercise = resolve_one(self.root, name)
        except LabError as error:
            self.wrong(f"exercise number {number}", f"is none: {str(error).rstrip('.')}")
        where = f"exercise {exercise.id}"
        known = ["id", "points", "hazard", "without_work", "due", "hidden", "weights", "speed"]
        self._known(where, values, known)
        values = {**defaults, **values}
        steps = points.steps_of(exercise.folder / f"{exercise.name}.hpp")
        weights = self._table(f"weights of {where}", values.get("weights", {}))
        self._known(f"weights of {where}", weights, [*steps, "general"])
        by_part = {
            points.GENERAL if step == "general" else step: self._number(
                f"weight {step} of {where}", weight, 0, 1_000_000
            )
            for step, weight in weights.items()
        }
        if steps and by_part and not sum(by_part.get(step, Fraction(1)) for step in steps):
            self.wrong(f"weights of {where}", "leave no step with a weight")
        rules = Rules(
            self._number(f"points of {where}", values.get("points", points.FULL), 0, 1_000_000),
            by_part,
            self._share(f"hazard of {where}", values.get("hazard", points.HAZARD)),
            self._share(
                f"without_work of {where}", values.get("without_work", points.WITHOUT_WORK)
            ),
            self._speed(exercise, f"speed of {where}", values.get("speed")),
        )
        own = self._time(f"due of {where}", values.get("due"))
        return Task(exercise, rules, own or due, self._hidden(where, values.get("hidden")))

    def _speed(self, exercise: Exercise, where: str, value: object) -> Optional[Speed]:
        if value is None:
            return None
        values = self._table(where, value)
        self._known(where, values, ["points", "full_at", "none_at", "step", "arguments"])
        if "points" not in values:
            self.wrong(where, "has no points")
        data = metadata.find(exercise)
        sizes = list(data.bench if data else ()) or [""]
        words = {"step": "", "arguments": sizes[len(sizes) // 2]}
        for name in words:
            words[name] = values.get(name, words[name])
            if not isinstance(words[name], str):
                self.wrong(f"{name} in {where}", "must be text in quotes")
        speed = Speed(
            self._number(f"points in {where}", values["points"], 0, 1_000_000),
            words["step"],
            words["arguments"],
            self._number(f"full_at in {where}", values.get("full_at", Speed.full_at), 0, 100),
            self._number(f"none_at in {where}", values.get("none_at", Speed.none_at), 0, 100),
        )
        if not speed.none_at < speed.full_at:
            self.wrong(where, "must have none_at below full_at")
        return speed

    def _hidden(self, where: str, value: object) -> Tuple[Path, ...]:
        if value is None:
            return ()
        if not isinstance(value, str):
            self.wrong(f"hidden of {where}", "must be the name of a folder, in quotes")
        folder = self.path.parent / value
        files = tuple(sorted(folder.glob("*_test.cpp")))
        if not files:
            self.wrong(f"hidden of {where}", f"is {folder}, in which there is no *_test.cpp")
        return files

    def _late(self, values: Dict[str, Any]) -> Late:
        self._known("late", values, ["per_day", "at_most", "grace_minutes", "closes"])
        minutes = self._number("late.grace_minutes", values.get("grace_minutes", 0), 0, 525_600)
        return Late(
            self._share("late.per_day", values.get("per_day", 0)),
            self._share("late.at_most", values.get("at_most", 1)),
            timedelta(minutes=float(minutes)),
            self._time("late.closes", values.get("closes")),
        )

    def _submitted(self, value: object) -> Dict[str, datetime]:
        if value is None:
            return {}
        if not isinstance(value, str):
            self.wrong("submitted", 'must be the name of a file, such as "submitted.csv"')
        path = self.path.parent / value
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self.wrong("submitted", f"is {path}, which cannot be read ({error})")
        found: Dict[str, datetime] = {}
        for number, row in enumerate(csv.reader(text.splitlines()), 1):
            if not row or (number == 1 and row == ["student", "submitted"]):
                continue
            where = f"{path.name}, line {number}:"
            if len(row) != 2:
                self.wrong(where, "must be a student and a time, with a comma between them")
            try:
                when = datetime.fromisoformat(row[1].strip())
            except ValueError:
                self.wrong(where, f"'{row[1]}' is no time such as 2026-11-20T23:59:00+01:00")
            found[row[0]] = self._time(where, when) or when
        if not found:
            self.wrong("submitted", f"is {path}, which has no student in it")
        return found

    def _known(self, where: str, values: Mapping[str, Any], names: Sequence[str]) -> None:
        for name in values:
            if name not in names:
                place = f"{name} in {where}" if where else name
                self.wrong(place, f"is not known; known are {', '.join(names)}")

    def _table(self, where: str, value: object) -> Dict[str, Any]:
        if not isinstance(value, dict):
            self.wrong(where, "must be a table")
        return value

    def _number(self, where: str, value: object, low: float, high: float) -> Fraction:
        if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
            self.wrong(where, "must be a number")
        if not low <= value <= high:  # not a number is neither
            self.wrong(where, f"must be from {low:g} to {high:g}, and is {value}")
        return Fraction(str(value))  # 0.1 as it was written

    def _share(self, where: str, value: object) -> Fraction:
        return self._number(where, value, 0, 1)

    def _time(self, where: str, value: object) -> Optional[datetime]:
        if value is None:
            return None
        if not isinstance(value, datetime):
            self.wrong(where, "must be a time such as 2026-11-20T23:59:00+01:00, without quotes")
        if value.tzinfo is None:
            self.wrong(where, f"does not say which time zone it is in: {value.isoformat()}+01:00")
        return value
