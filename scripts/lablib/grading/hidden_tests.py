# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""A grader with further tests, which students do not have: compiled and linked with the commands
that made the course's own. They are the instructor's, so no sandbox is around this."""

import hashlib
import shlex
import subprocess
from pathlib import Path
from typing import List, Sequence

from lablib import build
from lablib.device import Device
from lablib.errors import LabError
from lablib.exercises import Exercise


def grader(
    root: Path, device: Device, exercise: Exercise, tests: Sequence[Path], into: Path
) -> Path:
    """The program, in a folder that keeps it for as long as nothing in it has changed."""
    folder = build.folder(root, device.name)
    answer = subprocess.run(
        ["ninja", "-C", str(folder), "-t", "commands", f"grader.{exercise.id}"],
        capture_output=True,
        text=True,
    )
    compiling: List[str] = []
    linking: List[str] = []
    for line in answer.stdout.splitlines():
        words = shlex.split(line)
        if f"/test_objects.{exercise.id}.dir/" in line and "-c" in words:
            compiling = words
        elif words[:2] == [":", "&&"]:
            linking = words[2 : words.index("&&", 2)]
    if not (compiling and linking):
        raise LabError(
            f"the build folder does not say how the tests of {exercise.id} are compiled."
        )
    program = folder / linking[linking.index("-o") + 1]
    digest = hashlib.sha256(answer.stdout.encode() + program.read_bytes())
    for test in tests:
        digest.update(test.name.encode() + b"\0" + test.read_bytes() + b"\0")
    made = into / f"{exercise.full_name}-{digest.hexdigest()[:16]}"
    if made.is_file():
        return made
    into.mkdir(parents=True, exist_ok=True)
    objects: List[str] = []
    for number, test in enumerate(tests):
        objects.append(f"{made}.{number}.o")
        command = [
            *compiling[: compiling.index("-MD")],
            "-o",
            objects[-1],
            "-c",
            str(test.resolve()),
        ]
        _run(command, folder, f"{test} does not compile")
    at = linking.index("-o")
    unfinished = f"{made}.new"
    command = [*linking[:at], *objects, "-o", unfinished, *linking[at + 2 :]]
    _run(command, folder, f"the further tests of {exercise.id} cannot be linked")
    for each in objects:
        Path(each).unlink()
    return Path(unfinished).rename(made)


def _run(command: Sequence[str], folder: Path, complaint: str) -> None:
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if answer.returncode:
        raise LabError(f"{complaint}:\n{answer.stderr.strip()}")
