# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab profile: what the accesses of an exercise's kernels cost."""

import os
import shlex
import tempfile
from pathlib import Path
from typing import List, Optional

from lablib import counters, metadata, ncu, profile_page, programs, roofline
from lablib.console import say
from lablib.device import Device
from lablib.errors import USAGE, LabError
from lablib.exercises import Exercise
from lablib.files import write_atomically

SLOWER = (
    "Counting makes a program many times slower, and a small size (after --) shows the same numbers"
    " per request."
)


def profile(
    root: Path,
    exercise: Exercise,
    device: Device,
    solution: bool,
    arguments: List[str],
    time_limit: Optional[float],
    html: Optional[Path] = None,
    kernels_file: Optional[Path] = None,
) -> int:
    if html and device.name == "gpu":
        raise LabError(
            "--html draws the address of each lane, which only the CPU device knows. Try:"
            f" `scripts/lab profile {exercise.id} --device cpu --html {html}`.",
            USAGE,
        )
    if not arguments:
        data = metadata.find(exercise)
        arguments = shlex.split(data.profile or "") if data else []
        if arguments:
            say(f"arguments: {' '.join(arguments)} (enough to count; yours go after --)")
    tool = ncu.find_ncu(device.nvcc) if device.name == "gpu" else None
    program = programs.build_program(
        root, exercise, device, solution, "gpu" if tool else "cpu", "profile", watched=not tool
    )
    with tempfile.TemporaryDirectory(prefix="lab-profile-") as folder:
        file = Path(folder) / "counters"
        command = [str(program), *arguments]
        env = dict(os.environ)
        if tool:
            more = roofline.METRICS if kernels_file else ()
            options = roofline.NCU_OPTIONS if kernels_file else ()
            command = ncu.command(tool, file, command, more, options)
        else:
            env["CPU_DEVICE_COUNTERS"] = str(file)
        try:
            status = programs.run_to_end(exercise, command, time_limit, arguments, env, "profile")
        except programs.TimedOut as error:
            raise LabError(f"{error} {SLOWER}") from error
        if not file.is_file():
            if status == 0:
                raise LabError(f"{exercise.full_name} succeeded, but no access was counted.")
            return status
        rows = ncu.read_csv(file) if tool else counters.read_table(file)
        if not rows and status != 0:
            return status  # the program has said why
        say()
        kernels = ncu.read_roofline(file) if tool and kernels_file else roofline.of_rows(rows, "")
    print(counters.table(rows))
    if kernels_file:
        _write(kernels_file, roofline.csv_text(kernels))
        say(f"{kernels_file} has the kernels for `scripts/lab run 21.1 -- --rows {kernels_file}`.")
        if not tool:
            say("The CPU device counts bytes only: put the operations into the second column.")
    if html:
        folders = [exercise.folder, exercise.solution_file.parent]
        title = f"{exercise.id} {exercise.name}: what the memory accesses cost"
        _write(html, profile_page.page(rows, title, folders))
        say(f"{html} draws it: open it in a browser.")
    return status


def _write(file: Path, text: str) -> None:
    try:
        write_atomically(file, text)
    except OSError as error:
        raise LabError(f"cannot write {file}: {error.strerror}.") from error
