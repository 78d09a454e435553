# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Whether an exercise can be graded: its solution passes its tests from another process."""

from pathlib import Path
from typing import Tuple

from lablib import test_program
from lablib.exercises import Exercise
from lablib.grading import grade
from lablib.grading.sandbox import Sandbox


def try_solution(folder: Path, exercise: Exercise, place: Sandbox) -> Tuple[bool, str]:
    """Runs what the targets `compiling.targets` have built in a build folder. Whether all passed,
    and in some lines how it went."""
    programs, name = folder / "bin", exercise.full_name
    result = grade.run(programs / "graders" / name, programs / "workers" / name, place)
    skipped = len(result.in_state(test_program.SKIPPED))
    seconds = sum(case.seconds for case in result.cases.values())
    said = f"{len(result.cases)} cases, {skipped} skipped, {seconds:.0f} s"
    lines = [f"{name:30} {'passes' if result.passed else 'FAILS'}: {said}"]
    if not result.passed:
        lines += [f"  {line}" for line in result.outside[-5:] or [result.ending]]
    for case in result.failures[:3]:
        sentences = [test_program.sentence(one) for one in case.said if one.is_failure]
        lines.append(f"  {case.name}: {case.detail} {' '.join(sentences)[:600]}")
    return result.passed, "\n".join(lines)
