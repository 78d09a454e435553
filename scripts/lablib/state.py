# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What a student has done so far: .lab/progress.json."""

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from lablib import starters
from lablib.errors import LabError
from lablib.exercises import Exercise, find_exercises
from lablib.files import write_atomically

DONE = "done"
CHANGED = "changed since it passed"
STARTED = "started"
NEW = "not started"


def file_hash(path: Path) -> Optional[str]:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


class Progress:
    """Read at the start, written at each change. A file that cannot be read counts as empty."""

    def __init__(self, root: Path):
        self.root = root
        self.path = root / ".lab" / "progress.json"
        self.problem: Optional[str] = None
        self.entries: Dict[str, Dict[str, Any]] = self._read()

    def _read(self) -> Dict[str, Dict[str, Any]]:
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            entries = data["exercises"]
            return {str(key): dict(value) for key, value in entries.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            kept = self.path.with_suffix(".broken.json")
            self.problem = f"{self.path} cannot be read: progress starts anew"
            try:
                self.path.replace(kept)
                self.problem += f" (the old file is {kept})"
            except OSError:
                pass
            return {}

    def _entry(self, exercise: Exercise) -> Dict[str, Any]:
        return self.entries.setdefault(exercise.full_name, {})

    def _save(self) -> None:
        text = json.dumps({"version": 1, "exercises": self.entries}, indent=2, sort_keys=True)
        try:
            write_atomically(self.path, text + "\n")
        except OSError as error:
            raise LabError(f"cannot write {self.path}: {error.strerror}.") from error

    def note_test(
        self,
        exercise: Exercise,
        passed: bool,
        tested_hash: Optional[str],
        device: str,
        open_bonus: Sequence[int] = (),
    ) -> None:
        """`open_bonus`: the numbers of TODOs that nobody has to write, and that are not written."""
        self.entries = self._read()  # another scripts/lab may have written meanwhile
        entry = self._entry(exercise)
        if passed:
            entry["passed_hash"] = tested_hash
            entry["passed_on"] = device
            entry["open_bonus"] = list(open_bonus)
        elif entry.get("passed_hash") == tested_hash:
            # What passed before fails now: on another device, or the tests have changed.
            del entry["passed_hash"]
        self._save()

    def hints_shown(self, exercise: Exercise) -> int:
        """The number of the last hint that was shown with its answer."""
        shown = self.entries.get(exercise.full_name, {}).get("hints_shown", 0)
        return shown if isinstance(shown, int) else 0

    def hint_is_new(self, exercise: Exercise, number: int) -> bool:
        """Whether not even its question was shown."""
        asked = self.entries.get(exercise.full_name, {}).get("hints_asked", [])
        return number > self.hints_shown(exercise) and not (
            isinstance(asked, list) and number in asked
        )

    def note_hint(self, exercise: Exercise, number: int, only_the_question: bool) -> None:
        self.entries = self._read()
        entry = self._entry(exercise)
        if only_the_question:
            asked = entry.get("hints_asked")
            entry["hints_asked"] = [*(asked if isinstance(asked, list) else []), number]
        else:
            entry["hints_shown"] = max(number, self.hints_shown(exercise))
        self._save()

    def status(self, exercise: Exercise) -> str:
        entry = self.entries.get(exercise.full_name, {})
        passed = entry.get("passed_hash")
        if passed:
            return DONE if passed == file_hash(exercise.lab_file) else CHANGED
        if is_starter(exercise) is False:
            return STARTED
        return NEW

    def open_bonus(self, exercise: Exercise) -> List[int]:
        """Of an exercise that is done, the TODOs for who wants more."""
        numbers = self.entries.get(exercise.full_name, {}).get("open_bonus", [])
        if self.status(exercise) != DONE or not isinstance(numbers, list):
            return []
        return [number for number in numbers if isinstance(number, int)]

    def is_done(self, exercise: Exercise) -> bool:
        return self.status(exercise) == DONE

    def next_exercise(
        self, exercises: Optional[List[Exercise]] = None, after: Optional[Exercise] = None
    ) -> Optional[Exercise]:
        """The first that is not done, of those after `after`, then of the others."""
        exercises = find_exercises(self.root) if exercises is None else exercises
        begin = exercises.index(after) + 1 if after is not None and after in exercises else 0
        order = exercises[begin:] + exercises[:begin]
        return next((exercise for exercise in order if not self.is_done(exercise)), None)


def is_starter(exercise: Exercise) -> Optional[bool]:
    """Whether the student's file is still the generated one; None where that cannot be told."""
    try:
        present = exercise.lab_file.read_text(encoding="utf-8")
        return present == starters.starter_of(exercise)
    except (OSError, UnicodeDecodeError, LabError):
        return None
