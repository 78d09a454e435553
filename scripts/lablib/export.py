# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Folders for others: what students get, what graders of other systems run, what is compared."""

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
from lablib.grading.rubric import Rubric


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
            _copy(root / path, to / path)
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


def _copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, to, follow_symlinks=False)


def _without_links(page: Path, top: Path, gone: Iterable[Path]) -> None:
    """Of a link that leads nowhere now, its text is left."""
    lost = {path.resolve() for path in gone}

    def kept(match: "re.Match[str]") -> str:
        target = (page.parent / match[2].partition("#")[0]).resolve()
        is_lost = target in lost or (not target.exists() and any(target in p.parents for p in lost))
        return match[1] if is_lost else match[0]

    text = page.read_text(encoding="utf-8")
    changed = re.sub(r"\[([^\]\n]+)\]\(([^)\s:]+)\)", kept, text)
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


_SETUP = """\
#!/usr/bin/env bash
# Once, when the image is made: packages, and all that grades.
set -euo pipefail
cd /autograder/source
tar xf course.tar
cd course
apt-get update
export DEBIAN_FRONTEND=noninteractive
scripts/setup --student
apt-get install -y bubblewrap
# A rubric is TOML, which Python reads by itself from 3.11 on.
python3 -c 'import tomllib' 2>/dev/null || apt-get install -y python3-tomli
mkdir -p /tmp/nobody/nobody
scripts/lab grade /tmp/nobody --rubric ../rubric/rubric.toml --out /tmp/first {sandbox}
"""

_RUN = """\
#!/usr/bin/env bash
# For each submission.
set -euo pipefail
cd /autograder/source/course
rm -rf /tmp/class /tmp/results
mkdir -p /tmp/class
# A copy: grading follows no links. Links inside stay links.
cp -a /autograder/submission/. /tmp/class/submission || echo "Not everything could be copied."
scripts/lab grade /tmp/class --rubric ../rubric/rubric.toml --out /tmp/results \\
  --format gradescope {sandbox}
cp /tmp/results/gradescope/*.json /autograder/results/results.json
"""


def gradescope(root: Path, rubric_file: Path, rubric: Rubric, to: Path, no_sandbox: bool) -> None:
    """The contents of an autograder's archive: setup.sh, run_autograder, the course, the rubric."""
    new_folder(to)
    sandbox = "--no-sandbox" if no_sandbox else ""
    for name, text in (("setup.sh", _SETUP), ("run_autograder", _RUN)):
        (to / name).write_text(text.replace("{sandbox}", sandbox), encoding="utf-8")
        (to / name).chmod(0o755)
    names = to / "names"
    names.write_text("".join(f"{name}\0" for name in tracked_files(root)), encoding="utf-8")
    subprocess.run(
        ["tar", "cf", str(to / "course.tar"), "-C", str(root), "--transform=s,^,course/,"]
        + ["--null", f"--files-from={names}"],
        check=True,
    )
    names.unlink()
    _copy(rubric_file, to / "rubric" / "rubric.toml")
    for task in rubric.tasks:
        for test in task.hidden:
            _copy(test, to / "rubric" / test.relative_to(rubric_file.parent))
