# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Grading a class: each submission of each exercise becomes a record, a file that is there as a
whole or not at all. Whoever is stopped goes on where the records end."""

import concurrent.futures
import hashlib
import json
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from lablib import build, processes, starters, test_program
from lablib.console import say
from lablib.device import Device
from lablib.errors import FAILED, LabError
from lablib.exercises import Exercise
from lablib.grading import collect, compiling, points, sandbox
from lablib.grading.compiling import Recipe
from lablib.grading.sandbox import Sandbox

CALL_SECONDS = 20.0
CASE_SECONDS = 60.0
EXERCISE_SECONDS = 600.0
FORMAT = 1  # of records
MOST_FAILURES = 5  # told of one exercise
MOST_TEXT = 2000  # of one failure

Record = Dict[str, Any]


@dataclass(frozen=True)
class Prepared:
    """What an exercise is graded with."""

    exercise: Exercise
    grader: Path
    fast: Recipe
    watched: Recipe
    steps: List[str]
    skipped: Set[str]  # cases that this machine cannot run, with the solution either
    free: Set[str]  # cases that the starter passes: they say nothing of anybody's work
    fingerprint: str


def prepare(
    root: Path, device: Device, exercises: Sequence[Exercise], place: Sandbox, work: Path
) -> List[Prepared]:
    """Builds what grades, and tries it with the solutions: a machine on which those do not pass
    can grade nobody."""
    targets = [target for exercise in exercises for target in compiling.targets(exercise)]
    build.build(root, device.name, device, targets, "what grades")
    return [_prepare(root, device, exercise, place, work) for exercise in exercises]


def _prepare(
    root: Path, device: Device, exercise: Exercise, place: Sandbox, work: Path
) -> Prepared:
    program = compiling.grader(root, device, exercise)
    fast = compiling.recipe(root, device, exercise, watched=False)
    watched = compiling.recipe(root, device, exercise, watched=True)
    digest = hashlib.sha256(program.read_bytes())
    digest.update(f"{FORMAT} {place.name} {fast.fingerprint} {watched.fingerprint}".encode())
    fingerprint = digest.hexdigest()

    known = work / "solutions" / f"{exercise.id}.json"
    record = _read(known)
    if record is None or record.get("fingerprint") != fingerprint:
        say(f"trying {exercise.id} {exercise.name} with the course's solution")
        record = {"fingerprint": fingerprint, "skipped": [], "free": []}
        text = exercise.solution_file.read_text(encoding="utf-8")
        refusal = compiling.refusal(fast, watched, text, place)
        for recipe in (fast, watched):
            why = ""
            with tempfile.TemporaryDirectory(prefix="lab_grade_") as folder:
                made = compiling.make(recipe, text, place, Path(folder) / "worker")
                if refusal or made.worker is None:
                    why = refusal or made.problem
                else:
                    result = run(program, made.worker, place)
                    first = next(iter(result.failures), None)
                    if not result.passed:
                        why = _failure(first)["text"] if first else result.ending
            if why:
                raise LabError(
                    f"{exercise.id} cannot be graded on this machine: the course's own solution"
                    f" does not pass ({why}). `scripts/lab test {exercise.id} --solution` may say"
                    " more.",
                    FAILED,
                )
            skipped = result.in_state(test_program.SKIPPED)
            record["skipped"] = sorted({*record["skipped"], *(case.name for case in skipped)})
        record["free"] = _passed_by_starter(fast, program, place)
        write(known, record)
    steps = points.steps_of(exercise.folder / f"{exercise.name}.hpp")
    skipped_cases = set(record["skipped"])
    free = set(record["free"])
    return Prepared(exercise, program, fast, watched, steps, skipped_cases, free, fingerprint)


def _passed_by_starter(fast: Recipe, program: Path, place: Sandbox) -> List[str]:
    with tempfile.TemporaryDirectory(prefix="lab_grade_") as folder:
        text = starters.generate_file(fast.exercise.solution_file)
        made = compiling.make(fast, text, place, Path(folder) / "worker")
        if made.worker is None:
            raise LabError(f"the starter of {fast.exercise.id} does not compile: {made.problem}")
        result = run(program, made.worker, place)
    return sorted(case.name for case in result.in_state(test_program.PASSED))


def run(
    program: Path,
    worker: Path,
    place: Sandbox,
    stop_when: Optional[Callable[[], bool]] = None,
    call_seconds: float = CALL_SECONDS,
) -> test_program.Result:
    """Runs an exercise's tests against a worker, which has so long for each call."""
    command = place.command(
        ["/worker"] if place.is_isolated else [str(worker)],
        sandbox.RUN,
        readable=[(worker, "/worker")],
    )
    command[0] = shutil.which(command[0]) or command[0]
    with tempfile.NamedTemporaryFile("w", prefix="lab_worker_", suffix=".txt") as file:
        file.write("\n".join(command) + "\n")
        file.flush()
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GTEST_", "CPU_DEVICE_", "LAB_", "TESTBRIDGE_"))
        }
        environment["LAB_GRADING_WORKER"] = file.name
        environment["LAB_GRADING_CALL_LIMIT"] = f"{call_seconds:g}"
        return test_program.run(
            [str(program)],
            case_limit=CASE_SECONDS,
            time_limit=EXERCISE_SECONDS,
            stop_when=(lambda _: stop_when()) if stop_when else None,
            env=environment,
        )


def grade(
    prepared: Sequence[Prepared],
    submissions: Sequence[collect.Submission],
    place: Sandbox,
    out: Path,
    jobs: int,
    on_done: Callable[[int, int], None],
) -> None:
    """Makes every record that is not there yet."""
    exercises = [one.exercise for one in prepared]
    stop = threading.Event()
    total = len(submissions) * len(prepared)
    done = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            for first in range(0, len(submissions), 16):  # not all sources at once
                todo = []
                for submission in submissions[first : first + 16]:
                    sources = submission.sources(exercises)
                    for one in prepared:
                        source = sources[one.exercise.id]
                        todo.append(pool.submit(_record, one, submission, source, place, out, stop))
                for future in concurrent.futures.as_completed(todo):
                    future.result()
                    done += 1
                    on_done(done, total)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def record_path(out: Path, student: str, exercise: Exercise) -> Path:
    """By a number made of the student's name, which may be any text."""
    key = hashlib.sha256(student.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return out / "records" / key / f"{exercise.id}.json"


def _record(
    one: Prepared,
    submission: collect.Submission,
    source: collect.Source,
    place: Sandbox,
    out: Path,
    stop: threading.Event,
) -> None:
    path = record_path(out, submission.student, one.exercise)
    digest = hashlib.sha256(source.text.encode("utf-8", "surrogatepass")).hexdigest()
    notes = [*submission.notes, *source.notes]
    before = _read(path)
    if (
        before is not None
        and before.get("fingerprint") == one.fingerprint
        and before.get("source") == digest
        and before.get("notes") == notes
    ):
        return
    if stop.is_set():
        return
    record = judge(one, source, place, stop.is_set)
    if stop.is_set():
        return
    record = {
        "format": FORMAT,
        "student": submission.student,
        "exercise": one.exercise.id,
        "name": one.exercise.name,
        "sandbox": place.name,
        "source": digest,
        "fingerprint": one.fingerprint,
        "notes": notes,
        **record,
    }
    write(path, record)


def judge(
    one: Prepared,
    source: collect.Source,
    place: Sandbox,
    stop: Callable[[], bool],
    call_seconds: float = CALL_SECONDS,
) -> Record:
    """The verdict on one file."""
    if not source.found:
        return _nothing("nothing to grade")
    refusal = compiling.refusal(one.fast, one.watched, source.text, place)
    if refusal:
        return _nothing("refused", refusal)
    with tempfile.TemporaryDirectory(prefix="lab_grade_") as folder:
        worker = Path(folder) / "worker"
        made = compiling.make(one.fast, source.text, place, worker)
        if made.worker is None:
            return _nothing("does not compile", made.problem)
        result = run(one.grader, worker, place, stop, call_seconds)
        states = {name: case.state for name, case in result.cases.items()}
        passed = _passed(result, one.skipped)
        failures = [_failure(case) for case in result.failures[:MOST_FAILURES]]
        hazards: List[str] = []
        if any(passed.values()):
            made = compiling.make(one.watched, source.text, place, worker)
            if made.worker is None:
                return _nothing("does not compile", "with its accesses watched, " + made.problem)
            watched = run(one.grader, worker, place, stop, call_seconds)
            also_watched = _passed(watched, one.skipped)
            # Whatever else becomes of a case there (it fails, crashes, is late or never runs), it
            # was not seen to do what it does in the other run without a mistake.
            lost = [
                watched.cases.get(name) or test_program.Case(name)
                for name, ok in passed.items()
                if ok and not also_watched.get(name)
            ]
            hazards = [
                case.name for case in lost if "the CPU device reported" in "\n".join(case.lines)
            ]
            unseen = [case for case in lost if case.name not in hazards]
            passed.update(dict.fromkeys((case.name for case in unseen), False))
            failures += [
                _failure(case, "with accesses watched: ")
                for case in lost
                if case.name in hazards[:1] or case in unseen[:MOST_FAILURES]
            ]
            if not watched.something_ran:
                result = watched
    nobodys = one.free | one.skipped
    worked_for = {name: ok for name, ok in passed.items() if name not in nobodys}
    parts = points.parts(worked_for, one.steps)
    total = points.points(parts, bool(hazards))
    return {
        "state": "graded",
        "points": _number(total),
        "of": points.FULL,
        "parts": [
            {
                "name": part.name,
                "share": _number(part.share),
                "passed": sorted(part.passed),
                "failed": sorted(part.failed),
            }
            for part in parts
        ],
        "cases": states,
        "hazards": hazards,
        "failures": failures,
        "problem": "" if result.something_ran else _why_nothing_ran(result),
    }


def _passed(result: test_program.Result, skipped: Set[str]) -> Dict[str, bool]:
    """Of each case. `skipped`: what this machine cannot run, with the solution either."""
    return {
        name: case.state == test_program.PASSED
        or (case.state == test_program.SKIPPED and name in skipped)
        for name, case in result.cases.items()
    }


def _why_nothing_ran(result: test_program.Result) -> str:
    said = result.outside[-1] if result.outside else result.ending
    return f"no test ran: the submission's process did not answer ({said})"[:MOST_TEXT]


def _number(value: Fraction) -> float:
    return round(float(value), 4)


def _nothing(state: str, problem: str = "") -> Record:
    return {
        "state": state,
        "points": 0.0,
        "of": points.FULL,
        "parts": [],
        "cases": {},
        "hazards": [],
        "failures": [],
        "problem": problem,
    }


def _failure(case: test_program.Case, before: str = "") -> Dict[str, str]:
    said = [test_program.sentence(one) for one in case.said if one.is_failure]
    text = (said or [case.detail or case.state])[-1 if len(said) == 1 else 0]
    return {"case": case.name, "text": (before + text)[:MOST_TEXT]}


def _read(path: Path) -> Optional[Record]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def read_record(path: Path) -> Record:
    record = _read(path)
    if record is None:
        raise LabError(f"{path} is no record: remove it, and run the same command again.", FAILED)
    return record


def write(path: Path, record: Record) -> None:
    """Whole or not at all, and on the disk before it has its name."""
    text = json.dumps(record, ensure_ascii=True, indent=1, sort_keys=True) + "\n"
    write_text(path, text)


def write_text(path: Path, text: str) -> None:
    with processes.uninterrupted():
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
