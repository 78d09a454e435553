# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The whole course, as continuous integration runs it; the bugs that its tests must catch, and the
right solutions that they must not refuse."""

import datetime
import json
import os
import random
import tempfile
from pathlib import Path
from typing import Dict, List, Optional, Set, Tuple

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
    """Everything, but of the bugs and the other right solutions only a sample: `seed` chooses, by
    default the commit. On a GPU also the CPU device's tests that are plain CUDA."""
    jobs = jobs or cores()
    preset = build.course_preset(device)
    next_step = "Next: repair it, then `scripts/lab verify` again."
    build.build(root, preset, device, [], "the whole course", jobs=jobs, next_step=next_step)
    choice = ["-LE", "^lab$" if device.name == "gpu" else "^(lab|cpu_device)$"]
    tests = _tests_there(root, preset)
    there, right_there = _bugs_there(root, tests), _right_of(find_exercises(root), tests)
    chosen, right = there, right_there
    if (there or right_there) and not all_bugs:
        seed = seed or _commit(root)
        chosen, right = _sample(there, seed), _sample_of_right(right_there, seed)
        what = f"{len(chosen)} of {len(there)} bugs"
        if right_there:
            what += f" and {len(right)} of {len(right_there)} right solutions in other styles"
        say(f"{what} are tried, chosen by --seed {seed}; --all-bugs tries all.")
        named = [_target(*one) for one in chosen] + [_right_test(*one) for one in right]
        names = "|".join(name.replace(".", "[.]") for name in named)
        choice += ["-R", f"^({_OF_NO_SAMPLE}|({names})$)"]
    targets = [_target(*one) for one in chosen if one[1].caught_by != "compiler"]
    targets += _right_targets(right, device)
    if targets:
        title = f"{len(targets)} bugs"
        if right:
            title += " and right solutions in other styles"
        build.build(root, preset, device, targets, title, jobs=jobs, next_step=next_step)
    return _ctest(root, preset, jobs, choice, report)


def _beginning_otherwise(*words: str) -> str:
    """How names begin that begin with none of these words: CMake's expressions cannot negate."""
    begun = sorted({word[:length] for word in words for length in range(len(word))})
    return "|".join(
        f"{begin}[^{''.join(sorted({w[len(begin)] for w in words if w.startswith(begin)}))}]"
        for begin in begun
    )


_OF_NO_SAMPLE = _beginning_otherwise("bug.", "right.")

_Bug = Tuple[Exercise, bugs.Bug]
_Right = Tuple[Exercise, str]  # and the name of the style


def _target(exercise: Exercise, bug: bugs.Bug) -> str:
    return f"bug.{exercise.id}.{bug.name}"


def _right_test(exercise: Exercise, style: str) -> str:
    return f"right.{exercise.id}.{style}"


def _right_targets(chosen: List[_Right], device: Device) -> List[str]:
    """What their tests run: on the CPU device also the build that watches every access."""
    kinds = ("", "watched_") if device.name == "cpu" else ("",)
    return [f"{kind}{_right_test(*one)}" for one in chosen for kind in kinds]


def _tests_there(root: Path, preset: str) -> Set[str]:
    """What CTest has a test of: not exercises that cannot be built here."""
    command = ["ctest", "--test-dir", str(build.folder(root, preset)), "--show-only=json-v1"]
    try:
        tests = json.loads(processes.capture(command, timeout=60.0) or "")["tests"]
    except ValueError as error:
        raise LabError(f"CTest does not say which tests there are: {' '.join(command)}") from error
    return {test["name"] for test in tests}


def _bugs_there(root: Path, tests: Set[str]) -> List[_Bug]:
    there = [
        (exercise, bug)
        for exercise in find_exercises(root)
        if exercise.bugs_file.exists()
        for bug in bugs.parse(exercise.bugs_file)
    ]
    return [one for one in there if _target(*one) in tests]


def _right_of(exercises: List[Exercise], tests: Set[str]) -> List[_Right]:
    there = [(exercise, file.stem) for exercise in exercises for file in exercise.right_files]
    return [one for one in there if _right_test(*one) in tests]


def _sample_of_right(there: List[_Right], seed: str) -> List[_Right]:
    """One of every sixth exercise that has any."""
    of: Dict[Exercise, List[str]] = {}
    for exercise, style in there:
        of.setdefault(exercise, []).append(style)
    pick = random.Random(seed)
    exercises = pick.sample(sorted(of, key=lambda one: one.id), (len(of) + 5) // 6)
    return [(exercise, pick.choice(of[exercise])) for exercise in exercises]


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


def build_right(
    root: Path, exercises: List[Exercise], device: Device, jobs: Optional[int]
) -> int:
    """Builds the right solutions in other styles of these exercises; returns how many there are."""
    preset = build.course_preset(device)
    right: List[_Right] = []
    if any(exercise.right_files for exercise in exercises):
        right = _right_of(exercises, _tests_there(root, preset))
    if right:
        title = f"{len(right)} right solutions in other styles"
        build.build(root, preset, device, _right_targets(right, device), title, jobs=jobs)
    return len(right)


def verify_bugs(root: Path, exercises: List[Exercise], device: Device, jobs: Optional[int]) -> int:
    """Only the bugs of some exercises, and their right solutions in other styles."""
    jobs = jobs or cores()
    targets: List[str] = []
    for exercise in exercises:
        if not exercise.bugs_file.exists():
            raise LabError(f"{exercise.id} has no bugs: {exercise.bugs_file} is not there.")
        for bug in bugs.parse(exercise.bugs_file):
            if bug.caught_by == "compiler" or (bug.caught_by == "check" and device.name == "gpu"):
                continue  # built by its own test, or for the CPU device only
            targets.append(_target(exercise, bug))
    count = len(targets)
    preset = build.course_preset(device)
    build.build(root, preset, device, targets or ["help"], f"{count} bugs", jobs=jobs)
    right = build_right(root, exercises, device, jobs)
    say(
        f"{count} bugs and {right} right solutions in other styles built; tests must catch each bug"
        " and refuse none of the others:"
        if right
        else f"{count} bugs built; each must be caught by its test:"
    )
    names = "|".join(exercise.id.replace(".", "\\.") for exercise in exercises)
    return _ctest(root, preset, jobs, ["-L", "^(bug|right)$", "-R", f"^(bug|right)\\.({names})\\."])
