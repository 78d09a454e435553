# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What is known about an exercise beyond its files: exercise.toml beside its main.cpp.

    minutes = 60               # for somebody who has done the exercises before it
    prerequisites = ["03.1"]   # only those that no other one of the list builds on
    bench = ["--size 1M"]      # what `scripts/lab bench` runs each step with; nothing: the defaults
    profile = "--size 64K"     # what `scripts/lab profile` runs it with: enough to see all accesses
    kernels = ["insert"]       # what the program measures of each step, if it is more than one; or
                               # its steps, if it measures them all and has no --step
    compared = false           # only if the times of the steps contain different things: no bars
    figures = "…"              # what must be known before steps are compared by `bench`'s figures
    [points]                   # only if the steps do not weigh the same
    static_shared = 60
    dynamic_shared = 40

Title, steps and libraries are not repeated there: the title is the sentence with which main.cpp
describes the program, the steps are those of the contract, and which libraries an exercise needs is
seen in its includes.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from lablib import pages
from lablib.errors import LabError
from lablib.exercises import Exercise
from lablib.grading.points import steps_of

if sys.version_info >= (3, 11):
    from tomllib import loads as parse_toml
else:

    def parse_toml(text: str) -> Dict[str, Any]:
        raise LabError("reading TOML files needs Python 3.11 or later.")


_KEYS = ("minutes", "prerequisites", "bench", "profile", "kernels", "compared", "figures", "points")
_MOST_MINUTES = 600
# Libraries that not every computer has, and their headers: as lab_missing() of CMake has them.
_LIBRARIES = {
    "Thrust": "thrust/",
    "OpenGL": "lab/opengl|cuda_gl_interop|GL/|EGL/",
    "Open MPI": r"lab/mpi_(?:job|check)|mpi\.h",
    "NCCL on a GPU": r"nccl\.h|lab/nccl",
}
_STRING = r'"(?:[^"\\]|\\.)*"'
# The words of the links to an exercise's files, in the languages of the pages.
FILES = {
    "en": ("your file", "contract", "program", "tests", "hints", "solution"),
    "pl": ("twój plik", "kontrakt", "program", "testy", "podpowiedzi (ang.)", "rozwiązanie"),
}
_SUMMARY = re.compile(r"\*About \d+ minutes?\..*\*$")


@dataclass(frozen=True)
class Metadata:
    minutes: int
    prerequisites: Tuple[str, ...] = ()
    bench: Tuple[str, ...] = ()
    profile: Optional[str] = None  # arguments; "": its defaults are small enough
    kernels: Tuple[str, ...] = ()  # their names, in the order in which a program measures them
    compared: bool = True  # whether a chart may show its steps side by side
    figures: str = ""  # a note beside them in the book
    points: Dict[str, int] = field(default_factory=dict)  # of each step; empty: all the same


def read(exercise: Exercise) -> Metadata:
    """Of one exercise, apart from whether its prerequisites exist: problems() looks at all."""
    path = exercise.metadata_file
    try:
        values = parse_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LabError(f"{path}:1: {exercise.id} has no exercise.toml.") from None
    except (OSError, ValueError) as error:
        place = re.search(r"line (\d+)", str(error))
        line = place[1] if place else 1
        raise LabError(f"{path}:{line}: this cannot be read: {error}.") from error

    def refuse(key: str, message: str) -> LabError:
        lines = path.read_text(encoding="utf-8").splitlines()
        word = re.compile(rf"\[?{re.escape(key)}\b")
        line = next((n for n, text in enumerate(lines, 1) if word.match(text)), 1)
        return LabError(f"{path}:{line}: {message}.")

    for key in values:
        if key not in _KEYS:
            raise refuse(key, f"'{key}' has no meaning here; there are {', '.join(_KEYS)}")
    minutes: Any = values.get("minutes")
    if not _whole(minutes, _MOST_MINUTES):
        raise refuse("minutes", f"minutes must be a whole number from 1 to {_MOST_MINUTES}")
    before = values.get("prerequisites")
    if not isinstance(before, list) or not all(
        isinstance(each, str) and re.fullmatch(r"\d\d\.\d+", each) for each in before
    ):
        raise refuse(
            "prerequisites", 'prerequisites must be a list of exercises, such as ["03.1"], or []'
        )
    bench = values.get("bench", [])
    if not isinstance(bench, list) or not all(
        isinstance(each, str) and each.startswith("--") for each in bench
    ):
        raise refuse("bench", 'bench must be a list of arguments, such as ["--size 1M"]')
    profile: Any = values.get("profile")
    if not (profile is None or profile == "" or str(profile).startswith("--")):
        raise refuse("profile", 'profile must be arguments, such as "--size 64K", or ""')
    kernels = values.get("kernels", [])
    if not isinstance(kernels, list) or not all(each and isinstance(each, str) for each in kernels):
        raise refuse("kernels", 'kernels must be a list of names, such as ["insert", "find"]')
    compared: Any = values.get("compared", True)
    if not isinstance(compared, bool):
        raise refuse("compared", "compared must be true or false")
    figures: Any = values.get("figures", "")
    if not isinstance(figures, str):
        raise refuse("figures", "figures must be a sentence in quotes")
    points = values.get("points", {})
    if not isinstance(points, dict) or not all(_whole(each, 100) for each in points.values()):
        raise refuse("points", "points must be a table of steps, each with 1 to 100 points")
    steps = steps_of(exercise.contract_file) if points else []
    if points and sorted(points) != sorted(steps):
        known = ", ".join(steps) or "none"
        raise refuse("points", f"points must name each step of the contract once: {known}")
    return Metadata(
        minutes=minutes,
        prerequisites=tuple(before),
        bench=tuple(bench),
        profile=profile,
        kernels=tuple(kernels),
        compared=compared,
        figures=figures,
        points=points,
    )


def _whole(value: object, most: int) -> bool:
    return type(value) is int and 1 <= value <= most


def find(exercise: Exercise) -> Optional[Metadata]:
    """For who only shows it: nothing where it cannot be read."""
    try:
        return read(exercise)
    except LabError:
        return None


def problems(exercises: Sequence[Exercise]) -> List[str]:
    """What is wrong with the metadata of all exercises, each as file:line: sentence."""
    found: List[str] = []
    known: Dict[str, Metadata] = {}
    for exercise in exercises:  # in their order
        try:
            data = read(exercise)
        except LabError as error:
            found.append(str(error))
            known[exercise.id] = Metadata(0)
            continue
        earlier = _built_on(data.prerequisites, known)
        for each in data.prerequisites:
            if each not in known:
                there = any(other.id == each for other in exercises)
                problem = f"does not come before {exercise.id}" if there else "is not an exercise"
            elif data.prerequisites.count(each) > 1:
                problem = "is there twice"
            elif each in earlier:
                problem = "is a prerequisite of another one of the list: leave it out"
            else:
                continue
            found.append(f"{exercise.metadata_file}:1: prerequisites: {each} {problem}.")
            break
        known[exercise.id] = data
    return found


def _built_on(ids: Sequence[str], known: Dict[str, Metadata]) -> List[str]:
    """The prerequisites of these exercises, theirs, and so on."""
    found: List[str] = []
    for each in ids:
        before = known[each].prerequisites if each in known else ()
        found += [*before, *_built_on(before, known)]
    return found


def weights(exercise: Exercise) -> Dict[str, int]:
    """How much each step of an exercise counts; what has no points of its own counts 1."""
    data = find(exercise)
    steps = steps_of(exercise.contract_file)
    return {step: data.points.get(step, 1) if data else 1 for step in steps}


def title(exercise: Exercise) -> str:
    """The sentence that main.cpp describes the program with; "" if it has none."""
    try:
        text = (exercise.folder / "main.cpp").read_text(encoding="utf-8")
    except OSError:
        return ""
    match = re.search(rf'program\(\s*"[^"]*",\s*((?:{_STRING}\s*)+)\)', text)
    parts = re.findall(_STRING, match[1]) if match else []
    return "".join(part[1:-1] for part in parts).replace('\\"', '"')


def needs(exercise: Exercise) -> str:
    """` It needs OpenGL.`, or "" for what every computer with the course has."""
    code = ""
    for folder in (exercise.folder, exercise.solution_file.parent):
        for path in sorted(folder.glob("*.[ch]*")):
            code += path.read_text(encoding="utf-8", errors="replace")
    found = [
        library
        for library, headers in _LIBRARIES.items()
        if re.search(rf'^[ \t]*#[ \t]*include[ \t]*["<](?:{headers})', code, re.MULTILINE)
    ]
    return f" It needs {_listed(found)}." if found else ""


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


# --- in the chapter ------------------------------------------------------------------------------


def with_summaries(page: Path, exercises: Sequence[Exercise]) -> str:
    """A chapter's text with the lines below each exercise's heading: time and prerequisites as its
    metadata has them, and links to its files."""
    text = page.read_text(encoding="utf-8")
    by_id = {exercise.id: exercise for exercise in exercises}
    for exercise in exercises:
        data = find(exercise)
        place = pages.section_line(text, exercise.id)
        if exercise.chapter_page != page or data is None or not place:
            continue
        lines = text.splitlines()
        own = [i for i in range(place, min(place + 2, len(lines))) if _SUMMARY.match(lines[i])]
        if own:
            lines[own[0]] = _summary(data, by_id, exercise)
        else:
            lines[place:place] = ["", _summary(data, by_id, exercise)]
        text = "\n".join(lines) + "\n"
    own_exercises = [each for each in exercises if each.chapter_page == page and find(each)]
    return with_files(text, own_exercises, "..", FILES["en"])


def with_files(text: str, exercises: Sequence[Exercise], up: str, names: Sequence[str]) -> str:
    """The text, with links to each exercise's files below the line that says how long it takes.
    `up` leads from the page's folder to the repository's."""
    for exercise in exercises:
        place = pages.section_line(text, exercise.id)
        lines = text.splitlines()
        first = next((i for i in range(place, len(lines)) if lines[i].strip()), len(lines))
        if not place or first == len(lines) or not re.match(r"\*.*\*$", lines[first]):
            continue
        begin, end = first + 1, first + 1
        if lines[end + 1 : end + 2] and lines[end + 1].startswith(f"[{names[0]}]("):
            end = next((i for i in range(end + 1, len(lines)) if not lines[i]), len(lines))
        files = (
            exercise.lab_file,
            exercise.contract_file,
            exercise.folder / "main.cpp",
            exercise.tests_folder / f"{exercise.name}_test.cpp",
            exercise.hints_file,
            exercise.solution_file,
        )
        links = [
            f"[{name}]({up}/{file.relative_to(exercise.root).as_posix()})"
            for name, file in zip(names, files)
        ]
        lines[begin:end] = ["", *(f"{link} ·" for link in links[:-1]), links[-1]]
        text = "\n".join(lines) + "\n"
    return text


def _summary(data: Metadata, by_id: Dict[str, Exercise], of: Exercise) -> str:
    links = []
    for each in data.prerequisites:
        before = by_id.get(each)
        if before is None:
            links.append(each)
            continue
        anchor = pages.anchors(f"## {before.id} {before.name}")[0]
        file = "" if before.chapter == of.chapter else before.chapter_page.name
        links.append(f"[{each}]({file}#{anchor})")
    minutes = "1 minute" if data.minutes == 1 else f"{data.minutes} minutes"
    first = f" Do {_listed(links)} first." if links else ""
    return f"*About {minutes}.{first}{needs(of)}*"
