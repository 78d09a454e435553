# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Testing a student's file, and saying in a few lines what came of it."""

import re
from pathlib import Path
from typing import Callable, Dict, List, Optional, Tuple

from lablib import build, diagnostics, gtest
from lablib.console import Progress, paint, say
from lablib.device import Device
from lablib.errors import FAILED, NOT_POSSIBLE, OK, LabError
from lablib.exercises import Exercise
from lablib.programs import ENDLESS
from lablib.state import Progress as StudentProgress
from lablib.state import file_hash

CASES_SHOWN = 24  # where there are more cases than this, those of one name share a line
LINES_SHOWN = 60  # of the first failure


def test_exercise(
    root: Path,
    exercise: Exercise,
    device: Device,
    *,
    solution: bool = False,
    preset: Optional[str] = None,
    case_limit: float = gtest.CASE_LIMIT,
    stop_when: Optional[Callable[[], bool]] = None,
) -> int:
    """Builds and runs the tests of one exercise, prints the result, remembers it."""
    preset = preset or device.name
    command = "check" if preset == "cpu-check" else "test"
    again = f"`scripts/lab {command} {exercise.id}{' --solution' if solution else ''}`"
    tested = file_hash(exercise.lab_file)
    kind = "solution_test" if solution else "lab_test"
    title = f"{exercise.id} {exercise.name}{' (the solution)' if solution else ''}"
    progress = StudentProgress(root)
    build.build(
        root,
        preset,
        device,
        [f"{kind}.{exercise.id}"],
        f"the tests of {title}",
        own=None if solution else exercise,
        next_step=f"Next: repair it, then {again} again.",
        stop_when=stop_when,
    )
    program = build.test_path(root, preset, exercise, solution)
    if not program.is_file():
        raise LabError(f"the build said that all is well, but {program} is not there.")

    shown = Progress(f"testing {title}")
    try:
        result = gtest.run(
            program, case_limit=case_limit, on_tick=shown.update, stop_when=stop_when
        )
    finally:
        shown.done()
    if result.cancelled:
        raise build.Cancelled
    status = _status(result)
    if not solution and status != NOT_POSSIBLE and command == "test":
        progress.note_test(exercise, status == OK, tested, device.name)
    for line in _report(root, exercise, result, status, title):
        print(line)
    if status == FAILED:
        print(_next_step(exercise, solution, again))
    elif status == OK and not solution and command == "test":
        print(_praise(progress, exercise))
    print(flush=True)
    return status


def _status(result: gtest.Result) -> int:
    if result.passed:
        return OK
    nothing_ran = not result.failures and not result.in_state(gtest.PASSED)
    if nothing_ran and (
        result.returncode == NOT_POSSIBLE
        or (result.returncode == 0 and result.in_state(gtest.SKIPPED))
    ):
        return NOT_POSSIBLE
    return FAILED


def _report(
    root: Path, exercise: Exercise, result: gtest.Result, status: int, title: str
) -> List[str]:
    cases = list(result.cases.values())
    passed = result.in_state(gtest.PASSED)
    if status == NOT_POSSIBLE:
        reason = result.outside or [line for case in cases for line in case.lines]
        return [
            paint(f"{title}: not tested, since it is not possible here.", "yellow"),
            *reason[-5:],
        ]
    if status == OK:
        more = (
            f", {len(result.in_state(gtest.SKIPPED))} skipped"
            if result.in_state(gtest.SKIPPED)
            else ""
        )
        lines = [paint(f"{title}: all {len(passed)} tests pass{more}.", "green")]
    elif not cases:
        lines = [paint(f"{title}: no test ran.", "red")]
    else:
        lines = [paint(f"{title}: {len(passed)} of {len(cases)} tests pass.", "red")]

    lines += _listing(cases)
    if status == OK:
        return lines

    lines.append("")
    first = _most_useful(result.failures)
    if first is None:
        lines.append(
            f"The program ended with exit status {result.returncode}, though no test failed. It"
            " said:"
        )
        lines += [f"  {diagnostics.shorten(line, root)}" for line in result.outside[-15:]]
        return lines
    lines.append(paint(f"What to look at first, {first.name}:", "bold"))
    said = _readable([diagnostics.shorten(line, root) for line in first.lines])
    if len(said) > LINES_SHOWN:
        said = said[: LINES_SHOWN // 2] + ["…"] + said[-LINES_SHOWN // 2 :]
    lines += [f"  {line}" for line in said]
    if first.detail:
        lines.append(
            f"  It was {first.detail}."
            if not first.detail.startswith("the ")
            else f"  {first.detail}."
        )
    if first.state == gtest.TIMED_OUT:
        lines.append(f"  {ENDLESS}")
    return lines


_MARKS = {
    gtest.PASSED: ("ok     ", "green"),
    gtest.FAILED: ("FAILED ", "red"),
    gtest.SKIPPED: ("skipped", "yellow"),
    gtest.NOT_RUN: ("not run", "dim"),
}


def _listing(cases: List[gtest.Case]) -> List[str]:
    """A line for each case; where there are many, one for all that differ in their parameter."""
    groups: Dict[Tuple[str, str], List[gtest.Case]] = {}
    total: Dict[str, int] = {}
    for case in cases:
        name = case.name
        if len(cases) > CASES_SHOWN and "/" in name.split(".", 1)[-1]:
            name = name.rsplit("/", 1)[0]
        groups.setdefault((name, case.state), []).append(case)
        total[name] = total.get(name, 0) + 1
    lines = []
    for (name, state), group in groups.items():
        mark, style = _MARKS.get(state, (f"{state}:", "red"))
        detail = f"  ({group[0].detail})" if group[0].detail else ""
        if total[name] > 1:
            detail = f"  {len(group)} of {total[name]}{detail}"
        lines.append(f"  {paint(mark, style)} {name}{detail}")
    return lines


def _most_useful(failures: List[gtest.Case]) -> Optional[gtest.Case]:
    """What is written and wrong comes before what is not written yet; there TODO(1) is first."""

    def order(case: gtest.Case) -> int:
        numbers = re.findall(r"\bTODO\((\d+)\)", "\n".join(case.lines))
        return min(map(int, numbers)) if numbers else 0

    return min(failures, key=order, default=None)


def _readable(lines: List[str]) -> List[str]:
    """GoogleTest's words around the text of an exception help nobody: the text stays."""
    text = "\n".join(lines)
    text = re.sub(
        r'(?:unknown file: Failure\n)?C\+\+ exception with description "(.*?)" thrown in [^\n]*',
        r"\1",
        text,
        flags=re.DOTALL,
    )
    return text.splitlines()


def _next_step(exercise: Exercise, solution: bool, again: str) -> str:
    if solution:
        return "This is the solution, so the course itself is at fault here, or this machine."
    file = (
        f"labs/{exercise.chapter_folder}/{exercise.number}_{exercise.name}/{exercise.lab_file.name}"
    )
    return f"Next: edit {file}, then {again} again.\n      Stuck? `scripts/lab hint {exercise.id}`"


def _praise(progress: StudentProgress, exercise: Exercise) -> str:
    following = progress.next_exercise()
    if following is None:
        return "Done. That was the last one: every exercise passes."
    return f"Done. Next: {following.id} {following.name}, `scripts/lab test {following.id}`"


def test_all(root: Path, exercises: List[Exercise], device: Device, **options) -> int:
    """Tests one exercise after the other; one that fails does not keep the others from it."""
    worst = OK
    for exercise in exercises:
        try:
            status = test_exercise(root, exercise, device, **options)
        except build.BuildFailed as error:
            if len(exercises) == 1:
                raise
            say(f"lab: {error}\n")
            status = error.exit_code
        if status not in (OK, NOT_POSSIBLE) or worst == OK:
            worst = status
    return worst
