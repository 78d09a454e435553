# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The exercises. The folders labs/CC_chapter/E_name are the only list of them."""

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Tuple

from lablib.errors import FAILED, USAGE, LabError


def part(chapter: int) -> str:
    """The part of the course: I is what the classic texts know, II what came after them."""
    return "Part I" if chapter <= 15 else "Part II, today's CUDA"


@dataclass(frozen=True)
class Exercise:
    root: Path
    chapter: int
    chapter_name: str  # "shared_memory"
    number: int
    name: str  # "dot_product"

    @property
    def id(self) -> str:
        return f"{self.chapter:02}.{self.number}"

    @property
    def full_name(self) -> str:
        return f"{self.id}_{self.name}"

    @property
    def part(self) -> str:
        return part(self.chapter)

    @property
    def chapter_folder(self) -> str:
        return f"{self.chapter:02}_{self.chapter_name}"

    @property
    def _place(self) -> Path:
        return Path(self.chapter_folder) / f"{self.number}_{self.name}"

    @property
    def folder(self) -> Path:
        return self.root / "labs" / self._place

    @property
    def contract_file(self) -> Path:
        return self.folder / f"{self.name}.hpp"

    @property
    def lab_file(self) -> Path:
        return self.folder / f"{self.name}.cu"

    @property
    def solution_file(self) -> Path:
        return self.root / "solutions" / self._place / f"{self.name}.cu"

    @property
    def kept_starter(self) -> Path:
        """In an edition without solutions, from which starters are made."""
        return self.root / "starters" / self._place / f"{self.name}.cu"

    @property
    def given_files(self) -> List[Path]:
        """The files in a clone that have the name of the student's, and are not: from its root."""
        return [file.relative_to(self.root) for file in (self.solution_file, self.kept_starter)]

    @property
    def tests_folder(self) -> Path:
        return self.root / "tests" / self.chapter_folder

    @property
    def bugs_file(self) -> Path:
        return self.tests_folder / f"{self.name}.bugs"

    @property
    def equivalents_file(self) -> Path:
        return self.tests_folder / f"{self.name}.equivalent"

    @property
    def right_folder(self) -> Path:
        """Right solutions in other styles, which the tests must not refuse."""
        return self.tests_folder / f"{self.name}.right"

    @property
    def right_files(self) -> List[Path]:
        return sorted(self.right_folder.glob("*.cu"))

    @property
    def hints_file(self) -> Path:
        return self.folder / "hints.md"

    @property
    def metadata_file(self) -> Path:
        return self.folder / "exercise.toml"

    @property
    def chapter_page(self) -> Path:
        return self.root / "docs" / f"{self.chapter_folder}.md"


def find_exercises(root: Path) -> List[Exercise]:
    found: Dict[str, Exercise] = {}
    for chapter in _numbered_folders(root / "labs", r"(\d\d)_(\w+)"):
        for folder in _numbered_folders(chapter.path, r"(\d+)_(\w+)"):
            exercise = Exercise(root, chapter.number, chapter.name, folder.number, folder.name)
            if not (
                (folder.path / "main.cpp").is_file()
                or (folder.path / f"{folder.name}.hpp").is_file()
            ):
                continue
            if exercise.id in found:
                raise LabError(
                    f"two folders have the number {exercise.id}: labs/{found[exercise.id]._place}"
                    f" and labs/{exercise._place}; give one of them another number.",
                    FAILED,
                )
            found[exercise.id] = exercise
    return sorted(found.values(), key=lambda e: (e.chapter, e.number))


@dataclass
class _Numbered:
    path: Path
    number: int
    name: str


def _numbered_folders(parent: Path, pattern: str) -> List[_Numbered]:
    if not parent.is_dir():
        return []
    folders = []
    for path in sorted(parent.iterdir()):
        match = re.fullmatch(pattern, path.name)
        if match and path.is_dir():
            folders.append(_Numbered(path, int(match[1]), match[2]))
    return folders


def resolve_one(root: Path, text: str) -> Exercise:
    """The one exercise that is meant."""
    found = resolve(root, text)
    if len(found) > 1:
        raise LabError(f"'{text}' may be any of {_listing(found)}: name one of them.", USAGE)
    return found[0]


def resolve_all(root: Path, texts: List[str]) -> List[Exercise]:
    """All exercises that are meant, in their order, each once. A chapter means all of its own."""
    wanted = {exercise.id for text in texts for exercise in resolve(root, text)}
    return [exercise for exercise in find_exercises(root) if exercise.id in wanted]


def resolve(root: Path, text: str) -> List[Exercise]:
    """One exercise, or all of a chapter: 05.1, 5.1, 05, dot_product, a part of a name, a folder."""
    exercises = find_exercises(root)
    if not exercises:
        raise LabError(f"there are no exercises in {root / 'labs'}: is this the whole repository?")

    found = _by_path(root, exercises, text)
    if found:
        return found
    # A folder's name, complete or not: 1_dot_product, labs/05_shared_memory/1_dot_product/
    wanted = text.strip().rstrip("/").rsplit("/", 1)[-1].lower().replace("-", "_")
    wanted = re.sub(r"\.(cu|hpp|cpp)$", "", wanted)

    match = re.fullmatch(r"(\d+)\.(\d+)(_\w+)?", wanted)
    if match:
        found = [e for e in exercises if (e.chapter, e.number) == (int(match[1]), int(match[2]))]
        if found:
            return found
    elif wanted.isdigit():
        found = [e for e in exercises if e.chapter == int(wanted)]
        if found:
            return found
    elif wanted:
        ways: Tuple[Callable[[Exercise], bool], ...] = (
            lambda e: e.name == wanted or f"{e.number}_{e.name}" == wanted,
            lambda e: wanted in (e.chapter_name, e.chapter_folder),
            lambda e: wanted in e.name,
        )
        for number, way in enumerate(ways):
            found = [e for e in exercises if way(e)]
            if len(found) == 1 or (found and number == 1):
                return found
            if found:
                raise LabError(
                    f"'{text}' may be any of {_listing(found)}: name one of them.", USAGE
                )
        chapters = {e.chapter_folder for e in exercises if wanted in e.chapter_name}
        if len(chapters) == 1:
            return [e for e in exercises if e.chapter_folder in chapters]
        if chapters:
            names = ", ".join(sorted(chapters))
            raise LabError(f"'{text}' may be any of the chapters {names}: name one of them.", USAGE)
    raise _unknown(exercises, text, wanted)


def _by_path(root: Path, exercises: List[Exercise], text: str) -> List[Exercise]:
    """The exercises that lie at a path, or whose folder the path lies in."""
    if not text or ("/" not in text and text not in (".", "..")):
        return []
    for base in (Path.cwd(), root):
        path = Path(os.path.realpath(base / text))
        for tree in ("labs", "solutions"):
            try:
                inside = path.relative_to(Path(os.path.realpath(root / tree))).parts
            except ValueError:
                continue
            found = [e for e in exercises if inside[:2] == e._place.parts[: len(inside[:2])]]
            if inside and found and path.exists():
                return found
    return []


def _listing(exercises: List[Exercise]) -> str:
    names = [f"{e.id} {e.name}" for e in exercises]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _unknown(exercises: List[Exercise], text: str, wanted: str) -> LabError:
    names: Dict[str, Exercise] = {}
    for exercise in exercises:
        names[exercise.name] = exercise
        names[exercise.id] = exercise
        names[exercise.full_name] = exercise
    near: List[Exercise] = []
    for name in difflib.get_close_matches(wanted, names, n=6, cutoff=0.5):
        if names[name] not in near:
            near.append(names[name])
    message = f"there is no exercise '{text}'."
    if near:
        message += f" Did you mean {_listing(near[:3]).replace(' and ', ' or ')}?"
    return LabError(message + " `scripts/lab list` shows all of them.", USAGE)
