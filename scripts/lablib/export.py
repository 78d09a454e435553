# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Folders for others: what students get, what is compared."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Callable, Dict, Iterable, List, Sequence

from lablib import starters
from lablib.errors import FAILED, USAGE, LabError
from lablib.exercises import Exercise, find_exercises
from lablib.grading import collect
from lablib.grading.reports import page_name


def _is_right(path: str) -> bool:
    """A solution in another style, which tests must not refuse."""
    return path.startswith("tests/") and ".right/" in path


# What a student edition can do without, by the names of --without.
_LEFT_OUT: Dict[str, Callable[[str], bool]] = {
    "solutions": lambda path: (
        (path.startswith("solutions/") and not path.endswith("/answers.md")) or _is_right(path)
    ),
    "answers": lambda path: path.startswith("solutions/") and path.endswith("/answers.md"),
    "bugs": lambda path: (
        (path.startswith("tests/") and path.endswith((".bugs", ".equivalent"))) or _is_right(path)
    ),
}
PARTS = list(_LEFT_OUT)

# What is of no use without the solutions: it tests or grades with them.
_OF_AUTHORS = ("tests/tools/", "grading/", "cmake/LabGrading.cmake", ".ci/", ".github/")


def tracked_files(root: Path) -> List[str]:
    answer = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True
    )
    if answer.returncode:
        raise LabError(f"{root} is no clone of the repository: {answer.stderr.strip()}.", FAILED)
    return [name for name in answer.stdout.split("\0") if name and (root / name).is_file()]


def new_folder(to: Path) -> Path:
    """A folder that is there and empty: nobody's files are mixed with others."""
    try:
        to.mkdir(parents=True, exist_ok=True)
        is_empty = next(to.iterdir(), None) is None
    except OSError as error:
        raise LabError(f"{to} cannot be made: {error.strerror}.", USAGE) from error
    if not is_empty:
        raise LabError(f"{to} is not empty: name a folder that is not there yet.", USAGE)
    return to


def student_edition(root: Path, to: Path, without: Sequence[str]) -> int:
    """Copies the course without the solutions, and says how many files that are."""
    for name in without:
        if name not in _LEFT_OUT:
            raise LabError(f"'{name}' is none of {', '.join(PARTS)}.", USAGE)
    leaves_out = [_LEFT_OUT[name] for name in without]
    files = tracked_files(root)
    gone = {path for path in files if any(test(path) for test in leaves_out)}
    if "solutions" in without:
        gone |= {path for path in files if path.startswith(_OF_AUTHORS)}
    new_folder(to)
    for path in files:
        if path not in gone:
            copy(root / path, to / path)
            if path.endswith(".md"):
                _without_links(to / path, to, [to / other for other in gone])
    for exercise in find_exercises(root):
        starter = starters.starter_of(exercise)
        (to / exercise.lab_file.relative_to(root)).write_text(starter, encoding="utf-8")
        if "solutions" in without:  # for `scripts/lab reset`
            kept = to / exercise.kept_starter.relative_to(root)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(starter, encoding="utf-8")
    return sum(1 for path in to.rglob("*") if path.is_file())


def copy(source: Path, to: Path) -> None:
    """A link stays a link."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, to, follow_symlinks=False)


def _without_links(page: Path, top: Path, gone: Iterable[Path]) -> None:
    """Of a link that leads nowhere now, its text is left; in a row of links (a · b) nothing."""
    lost = {path.resolve() for path in gone}

    def kept(match: "re.Match[str]") -> str:
        row, words, link = match.groups()
        target = (page.parent / link.partition("#")[0]).resolve()
        is_lost = target in lost or (not target.exists() and any(target in p.parents for p in lost))
        if not is_lost:
            return match[0]
        return "" if row else words

    text = page.read_text(encoding="utf-8")
    changed = re.sub(r"( ·\s)?\[([^\]\n]+)\]\(([^)\s:]+)\)", kept, text)
    if changed != text:
        page.write_text(changed, encoding="utf-8")


def jplag(submissions: Path, exercises: Sequence[Exercise], to: Path) -> int:
    """For each exercise a folder with a folder for each student, as JPlag reads them, and beside it
    the starter, which is nobody's idea."""
    new_folder(to)
    count = 0
    for submission in collect.submissions(submissions):
        for id, source in submission.sources(exercises).items():
            if source.found:
                exercise = next(one for one in exercises if one.id == id)
                file = (
                    to / id / "submissions" / page_name(submission.student) / exercise.lab_file.name
                )
                file.parent.mkdir(parents=True, exist_ok=True)
                # JPlag knows C++ by its endings, and .cu is none of them.
                file.with_suffix(".cpp").write_text(source.text, encoding="utf-8")
                count += 1
    for exercise in exercises:
        file = to / exercise.id / "starter" / f"{exercise.name}.cpp"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(starters.starter_of(exercise), encoding="utf-8")
    return count
