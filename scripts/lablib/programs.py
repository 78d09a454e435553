# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Running the program of an exercise."""

import os
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from lablib import build, processes
from lablib.console import say
from lablib.device import Device
from lablib.errors import FAILED, LabError
from lablib.exercises import Exercise

TIME_LIMIT = 120.0  # seconds

ENDLESS = (
    "That often means an endless loop, a barrier (__syncthreads) that not all threads of the block "
    "reach, or a lock that is never given back."
)


class TimedOut(LabError):
    pass


def build_program(
    root: Path,
    exercise: Exercise,
    device: Device,
    solution: bool,
    preset: str,
    verb: str,
    watched: bool = False,
) -> Path:
    """Builds the program of an exercise; `verb` is the command of lab that asks for it."""
    if not (exercise.folder / "main.cpp").is_file():
        raise LabError(
            f"{exercise.id} has no program of its own: `scripts/lab test {exercise.id}` tries it."
        )
    again = verb + (" --solution" if solution else "")
    build.build(
        root,
        preset,
        device,
        [f"{build.kind(solution, watched)}.{exercise.id}"],
        f"{exercise.full_name}{' (the solution)' if solution else ''}",
        own=None if solution else exercise,
        next_step=f"Next: repair it, then `scripts/lab {again} {exercise.id}` again.",
    )
    program = build.program_path(root, preset, exercise, solution, watched)
    if not program.is_file():
        raise LabError(f"the build said that all is well, but {program} is not there.")
    return program


def run_program(
    root: Path,
    exercise: Exercise,
    device: Device,
    solution: bool,
    arguments: List[str],
    time_limit: Optional[float],
) -> int:
    program = build_program(root, exercise, device, solution, device.name, "run")
    return run_to_end(exercise, [str(program), *arguments], time_limit, arguments)


def run_to_end(
    exercise: Exercise,
    command: List[str],
    time_limit: Optional[float],
    arguments: List[str],
    env: Optional[Dict[str, str]] = None,
    verb: str = "run",
) -> int:
    """Runs a program with `arguments` (which `command` includes) and returns its exit status. It
    calls itself as it was started, by that verb of scripts/lab."""
    if time_limit is None:  # a window stays open for as long as somebody looks at it
        time_limit = 0.0 if "--window" in arguments else TIME_LIMIT
    folders = _folders_written_to(arguments)
    before = _files(folders)
    env = dict(os.environ if env is None else env)
    env["LAB_COMMAND"] = f"scripts/lab {verb} {exercise.id} --"  # what the program calls itself
    outcome = processes.run(command, time_limit=time_limit or None, env=env)
    for path in _news(before, _files(folders)):
        say(f"file written: {path}")

    if outcome.timed_out:
        raise TimedOut(
            f"{exercise.full_name} was stopped after {time_limit:g} s. {ENDLESS} "
            "(--time-limit SECONDS gives it more time, 0 any.)"
        )
    if outcome.returncode < 0:
        raise LabError(
            f"{exercise.full_name} was ended by {processes.signal_sentence(outcome.returncode)}."
        )
    return outcome.returncode if outcome.returncode in (0, 1, 2, 77) else FAILED


def _folders_written_to(arguments: List[str]) -> Dict[Path, Tuple[str, ...]]:
    """With how names of the program's files begin: elsewhere than here, others write, too."""
    folders: Dict[Path, Tuple[str, ...]] = {}
    for argument in arguments:
        path = Path(argument.split("=", 1)[-1])
        if "/" in argument and path.parent.is_dir():
            folder = path.parent.resolve()
            folders[folder] = (*folders.get(folder, ()), path.stem)
    return {**folders, Path.cwd(): ("",)}


def _files(folders: Dict[Path, Tuple[str, ...]]) -> Dict[str, Tuple[int, int]]:
    found = {}
    for folder, beginnings in folders.items():
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith(beginnings) and entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        found[entry.path] = (status.st_mtime_ns, status.st_size)
        except OSError:
            pass  # a folder that cannot be listed: then no file in it is named
    return found


def _news(before: Dict[str, Tuple[int, int]], after: Dict[str, Tuple[int, int]]) -> List[str]:
    return sorted(path for path, stamp in after.items() if before.get(path) != stamp)
