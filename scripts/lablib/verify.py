# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The whole course, as continuous integration runs it; and the bugs that its tests must catch."""

import os
import tempfile
from pathlib import Path
from typing import List, Optional

from lablib import bugs, build, junit, processes
from lablib.console import say
from lablib.device import Device
from lablib.errors import FAILED, OK, LabError
from lablib.exercises import Exercise


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


def verify(root: Path, device: Device, jobs: Optional[int], report: Optional[Path] = None) -> int:
    jobs = jobs or cores()
    build.build(
        root,
        build.course_preset(device),
        device,
        [],
        "the whole course",
        jobs=jobs,
        next_step="Next: repair it, then `scripts/lab verify` again.",
    )
    return _ctest(root, build.course_preset(device), jobs, ["-LE", "^lab$"], report)


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
            targets.append(f"bug.{exercise.id}.{bug.name}")
    title = f"{len(targets)} bugs"
    preset = build.course_preset(device)
    build.build(root, preset, device, targets or ["help"], title, jobs=jobs)
    say(f"{title} built; each must be caught by its test:")
    names = "|".join(exercise.id.replace(".", "\\.") for exercise in exercises)
    return _ctest(root, preset, jobs, ["-L", "^bug$", "-R", f"^bug\\.({names})\\."])
