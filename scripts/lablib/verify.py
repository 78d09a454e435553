# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The whole course, as continuous integration runs it; and the bugs that its tests must catch."""

import datetime
import json
import os
import tempfile
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from lablib import bugs, build, junit, processes
from lablib.console import say
from lablib.device import Device
from lablib.errors import FAILED, OK, LabError
from lablib.exercises import Exercise, find_exercises


def cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def _ctest(
    root: Path, preset: str, jobs: int, choice: List[str], report: Optional[Path] = None
) -> int:
    """CTest writes straight through, so that its summary is the last thing printed."""
    command = ["ctest", "--test-dir", str(build.folder(root, preset)), *choice]
    command += ["--output-on-failure", "--no-tests=error", "--parallel", str(jobs)]
    if report is None:
        outcome = processes.run(command, cwd=root)
    else:
        with tempfile.TemporaryDirectory() as folder:
            summary = Path(folder) / "ctest.xml"
            outcome = processes.run([*command, "--output-junit", str(summary)], cwd=root)
            junit.of_ctest(summary, build.folder(root, preset) / "events").write(report)
    return OK if outcome.returncode == 0 else FAILED


def verify(
    root: Path,
    device: Device,
    jobs: Optional[int],
    report: Optional[Path] = None,
    *,
    seed: Optional[str] = None,
    all_bugs: bool = False,
) -> int:
    """Everything, but of the bugs only a sample: `seed` chooses, by default the commit."""
    jobs = jobs or cores()
    preset = build.course_preset(device)
    next_step = "Next: repair it, then `scripts/lab verify` again."
    build.build(root, preset, device, [], "the whole course", jobs=jobs, next_step=next_step)
    choice = ["-LE", "^lab$"]
    there = _bugs_there(root, preset)
    chosen = there
    if there and not all_bugs:
        seed = seed or _commit(root)
        chosen = _sample(there, seed)
        say(
            f"{len(chosen)} of {len(there)} bugs are tried, chosen by --seed {seed}; --all-bugs"
            " tries all."
        )
        names = "|".join(_target(*one).replace(".", "[.]") for one in chosen)
        choice += ["-R", f"^({_OF_NO_BUG}|({names})$)"]
    targets = [_target(*one) for one in chosen if one[1].caught_by != "compiler"]
    if targets:
        title = f"{len(targets)} bugs"
        build.build(root, preset, device, targets, title, jobs=jobs, next_step=next_step)
    return _ctest(root, preset, jobs, choice, report)


_OF_NO_BUG = "[^b]|.[^u]|..[^g]|...[^.]"  # how names begin that do not begin with `bug.`

_Bug = Tuple[Exercise, bugs.Bug]


def _target(exercise: Exercise, bug: bugs.Bug) -> str:
    return f"bug.{exercise.id}.{bug.name}"


def _bugs_there(root: Path, preset: str) -> List[_Bug]:
    """The bugs that CTest has a test of: not those of exercises that cannot be built here."""
    command = ["ctest", "--test-dir", str(build.folder(root, preset)), "--show-only=json-v1"]
    try:
        tests = json.loads(processes.capture(command, timeout=60.0) or "")["tests"]
    except ValueError as error:
        raise LabError(f"CTest does not say which tests there are: {' '.join(command)}") from error
    names = {test["name"] for test in tests}
    there = [
        (exercise, bug)
        for exercise in find_exercises(root)
        if exercise.bugs_file.exists()
        for bug in bugs.parse(exercise.bugs_file)
    ]
    return [one for one in there if _target(*one) in names]


def _sample(there: List[_Bug], seed: str) -> List[_Bug]:
    of: Dict[Exercise, List[bugs.Bug]] = {}
    for exercise, bug in there:
        of.setdefault(exercise, []).append(bug)
    return [
        (exercise, bug)
        for exercise, found in of.items()
        for bug in bugs.sample(
            found, exercise.solution_file.read_text(encoding="utf-8"), f"{seed} {exercise.id}"
        )
    ]


def _commit(root: Path) -> str:
    """Changes with each commit, and where there is none each day."""
    said = processes.capture(["git", "-C", str(root), "rev-parse", "--short", "HEAD"])
    return said or datetime.date.today().isoformat()


def verify_bugs(root: Path, exercises: List[Exercise], device: Device, jobs: Optional[int]) -> int:
    """Only the bugs, of some exercises."""
    jobs = jobs or cores()
    targets: List[str] = []
    for exercise in exercises:
        if not exercise.bugs_file.exists():
            raise LabError(f"{exercise.id} has no bugs: {exercise.bugs_file} is not there.")
        for bug in bugs.parse(exercise.bugs_file):
            if bug.caught_by == "compiler" or (bug.caught_by == "check" and device.name == "gpu"):
                continue  # built by its own test, or for the CPU device only
            targets.append(_target(exercise, bug))
    title = f"{len(targets)} bugs"
    preset = build.course_preset(device)
    build.build(root, preset, device, targets or ["help"], title, jobs=jobs)
    say(f"{title} built; each must be caught by its test:")
    names = "|".join(exercise.id.replace(".", "\\.") for exercise in exercises)
    return _ctest(root, preset, jobs, ["-L", "^bug$", "-R", f"^bug\\.({names})\\."])
