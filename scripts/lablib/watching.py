# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Testing anew whenever a file of the exercise changes."""

import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Tuple

from lablib import build, testing
from lablib.console import is_terminal, say
from lablib.device import Device
from lablib.errors import LabError
from lablib.exercises import Exercise

POLL = 0.2  # seconds


def stamps(folder: Path) -> Dict[str, Tuple[int, int]]:
    """What changes when a file does. Files that come and go while an editor saves do not matter."""
    found = {}
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return {}
    for path in paths:
        if (
            path.name.startswith((".", "#"))
            or path.name.endswith(("~", ".swp", ".tmp"))
            or path.name.isdigit()
        ):
            continue
        try:
            status = path.stat()
        except OSError:
            continue
        found[path.name] = (status.st_mtime_ns, status.st_size)
    return found


def _names(before: Dict[str, Tuple[int, int]], after: Dict[str, Tuple[int, int]]) -> str:
    names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    return ", ".join(names) or "a file"


def watch(
    root: Path,
    exercise: Exercise,
    device: Device,
    sleep: Callable[[float], None] = time.sleep,
    **options: Any,
) -> None:
    """Never returns: Ctrl-C ends it."""
    while True:
        seen = stamps(exercise.folder)

        def changed() -> bool:
            return stamps(exercise.folder) not in (seen, {})

        try:
            testing.test_exercise(root, exercise, device, stop_when=changed, **options)
        except build.Cancelled:
            say("The file has changed meanwhile: starting over.")
            continue
        except LabError as error:
            say(f"lab: {error}")
        say(
            f"Watching {exercise.folder.relative_to(root)}: save a file there to test again, Ctrl-C"
            " to stop."
        )
        while not changed():
            sleep(POLL)
        say(f"{_names(seen, stamps(exercise.folder))} changed.")
        # An editor may write in several steps: wait until nothing moves.
        last = None
        while last != stamps(exercise.folder):
            last = stamps(exercise.folder)
            sleep(POLL / 3)
        if is_terminal(sys.stderr):
            say("─" * 60)
