# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What authors do with whole exercises: make a new one, give one another number or name."""

import contextlib
import os
import re
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from lablib import metadata, pages, starters
from lablib.errors import FAILED, USAGE, LabError
from lablib.exercises import Exercise, find_exercises, resolve_one
from lablib.files import write_atomically
from lablib.processes import uninterrupted

TEMPLATE = Path(__file__).resolve().parents[1] / "template"
LONGEST_NAME = 30

_NO_NAMES = set(
    # Words of C++ and CUDA, and what a file or a folder of an exercise is called already.
    "alignas alignof and asm auto bool break case catch char class concept const consteval"
    " constexpr constinit continue decltype default delete do double else enum explicit export"
    " extern false float for friend goto if inline int long mutable namespace new noexcept not"
    " nullptr operator or private protected public register requires return short signed sizeof"
    " static struct switch template this throw true try typedef typeid typename union unsigned"
    " using virtual void volatile while xor std main reference hints answers result".split()
)


def paths_of(exercise: Exercise) -> List[Path]:
    """The folders and files that are this exercise's alone: all but its part of the chapter."""
    return [
        exercise.folder,
        exercise.solution_file.parent,
        exercise.tests_folder / f"{exercise.name}_test.cpp",
        exercise.bugs_file,
        exercise.equivalents_file,
        exercise.right_folder,
    ]


def new_exercise(
    root: Path, number: str, name: str, chapter_name: Optional[str]
) -> Tuple[Exercise, List[Path]]:
    """Writes a complete exercise, with a kernel that its author replaces; returns its files too."""
    chapter_number, exercise_number = _parse_id(number)
    _require_name(root, name, "an exercise")
    chapter = _chapter(root, chapter_number, chapter_name)
    exercise = Exercise(root, chapter_number, chapter, exercise_number, name)
    _require_free(root, exercise)

    texts = _texts(exercise)
    _write_all(texts)
    return exercise, sorted(texts)


def _parse_id(text: str) -> Tuple[int, int]:
    match = re.fullmatch(r"(\d{1,2})\.([1-9]\d?)", text)
    if not match or int(match[1]) == 0:
        raise LabError(
            f"'{text}' is not the number of an exercise: chapter.number is, such as 05.9.", USAGE
        )
    return int(match[1]), int(match[2])


def _require_name(root: Path, name: str, what: str) -> None:
    """A name becomes a namespace, a folder, a file and what students type."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > LONGEST_NAME:
        raise LabError(
            f"'{name}' cannot be the name of {what}: small letters, digits and single underscores"
            f" can, at most {LONGEST_NAME}, beginning with a letter (prefix_sum).",
            USAGE,
        )
    if name in _NO_NAMES:
        raise LabError(f"'{name}' means something else already: choose another name.", USAGE)
    if what == "an exercise":
        taken = re.compile(rf"\b(class|struct|enum|namespace|using)\s+{name}\b|[\w>&*] {name}\(")
        for header in sorted((root / "common" / "include" / "lab").glob("*.hpp")):
            for line_number, line in enumerate(header.read_text(encoding="utf-8").splitlines(), 1):
                if taken.search(line) and not line.lstrip().startswith("//"):
                    raise LabError(
                        f"'{name}' is already something in the namespace lab"
                        f" ({header.relative_to(root)}:{line_number}): choose another name.",
                        USAGE,
                    )


def chapters(root: Path) -> Dict[int, str]:
    """The chapters that have a folder or a page: number and name."""
    found: Dict[int, str] = {}
    folders = [*(root / "labs").glob("*/"), *(root / "docs").glob("*.md")]
    for path in sorted(folders):
        match = re.fullmatch(r"(\d\d)_(\w+?)(\.md)?", path.name)
        if match:
            found.setdefault(int(match[1]), match[2])
    return found


def _chapter(root: Path, number: int, name: Optional[str]) -> str:
    known = chapters(root)
    if number in known:
        if name not in (None, known[number]):
            raise LabError(
                f"chapter {number:02} is {known[number]}, not {name}: leave --chapter out.", USAGE
            )
        return known[number]
    if name is None:
        raise LabError(
            f"there is no chapter {number:02} yet. If it is a new one, name it:"
            " --chapter modern_cuda",
            USAGE,
        )
    _require_name(root, name, "a chapter")
    if name in known.values():
        other = next(key for key, value in known.items() if value == name)
        raise LabError(f"chapter {other:02} is called {name} already.", USAGE)
    return name


def _require_free(root: Path, exercise: Exercise, but: Optional[Exercise] = None) -> None:
    """Neither the number nor the name belongs to another exercise, or to what is left of one."""
    for other in find_exercises(root):
        if other == but:
            continue
        if other.id == exercise.id:
            free = max(e.number for e in find_exercises(root) if e.chapter == other.chapter) + 1
            raise LabError(
                f"{other.id} is {other.name}. The next free number of this chapter is"
                f" {other.chapter:02}.{free}.",
                USAGE,
            )
        if other.name == exercise.name:
            raise LabError(
                f"{exercise.name} is the name of {other.id}: choose another name, since people call"
                " an exercise by it.",
                USAGE,
            )
    mine = set(paths_of(but)) if but else set()
    left = [path for path in paths_of(exercise) if path.exists() and path not in mine]
    for tree in ("labs", "solutions"):
        folder = root / tree / exercise.chapter_folder
        left += [p for p in folder.glob(f"{exercise.number}_*") if p not in left and p not in mine]
    page = exercise.chapter_page
    if page.exists() and (but is None or but.id != exercise.id):
        line = pages.section_line(page.read_text(encoding="utf-8"), exercise.id)
        if line:
            left.append(Path(f"{page}:{line}"))
    if left:
        listing = "\n".join(f"  {os.path.relpath(path, root)}" for path in left)
        raise LabError(
            f"something of {exercise.id} {exercise.name} is there already:\n{listing}\nNothing was"
            " written. If it is left over from an exercise that is gone, remove it first.",
            FAILED,
        )


def _fill(template: str, exercise: Exercise) -> str:
    text = (TEMPLATE / template).read_text(encoding="utf-8")
    title = exercise.chapter_name.replace("_", " ").capitalize()
    for key, value in (
        ("EXERCISE_NAME", exercise.name),
        ("EXERCISE_ID", exercise.id),
        ("CHAPTER_FOLDER", exercise.chapter_folder),
        ("CHAPTER_NUMBER", f"{exercise.chapter:02}"),
        ("CHAPTER_TITLE", title),
    ):
        text = text.replace(key, value)
    return text


def _in_order(text: str) -> str:
    """Where a name comes among other headers and using declarations depends on the name."""
    for line in (r'#include "[^"\n]*"\n', r"using \w+::[^=\n]*;\n"):
        block = re.compile(f"(?:^{line})+", re.MULTILINE)
        text = block.sub(lambda m: "".join(sorted(m[0].splitlines(keepends=True))), text)
    return text


def _texts(exercise: Exercise) -> Dict[Path, str]:
    """All that a new exercise consists of: path and text."""
    name, tests = exercise.name, exercise.tests_folder
    solution = _in_order(_fill("solution/EXERCISE_NAME.cu", exercise))
    texts = {
        exercise.folder / f"{name}.hpp": _fill("lab/EXERCISE_NAME.hpp", exercise),
        exercise.folder / "reference.hpp": _fill("lab/reference.hpp", exercise),
        exercise.folder / "main.cpp": _in_order(_fill("lab/main.cpp", exercise)),
        exercise.hints_file: _fill("lab/hints.md", exercise),
        exercise.metadata_file: _fill("lab/exercise.toml", exercise),
        exercise.solution_file: solution,
        exercise.lab_file: starters.generate(solution, str(exercise.solution_file)),
        tests / f"{name}_test.cpp": _in_order(_fill("tests/EXERCISE_NAME_test.cpp", exercise)),
        exercise.bugs_file: _fill("tests/EXERCISE_NAME.bugs", exercise),
    }
    section = _fill("docs/section.md", exercise)
    question, answer = _fill("docs/question.md", exercise), _fill("docs/answer.md", exercise)
    page, answers = exercise.chapter_page, exercise.solution_file.parents[1] / "answers.md"
    if page.exists():
        text = pages.insert_section(page.read_text(encoding="utf-8"), exercise.id, section)
    else:
        text = _fill("docs/chapter.md", exercise).replace("EXERCISE_SECTION\n", section + "\n")
    text = metadata.with_files(text, [exercise], "..", metadata.FILES["en"])
    texts[page], number = pages.add_question(text, question, str(page))
    if answers.exists():
        old = answers.read_text(encoding="utf-8")
    else:
        title = pages.title(texts[page]) or f"{exercise.chapter:02}"
        old = f"# {title}: answers\n"
    texts[answers] = pages.add_answer(old, number, answer, str(answers))
    return texts


def _write_all(texts: Dict[Path, str]) -> None:
    """All of these files, or none."""
    before = {path: path.read_bytes() if path.exists() else None for path in texts}
    made = [p for path in texts for p in reversed(path.parents) if not p.exists()]
    with uninterrupted():
        try:
            for path, text in texts.items():
                write_atomically(path, text)
        except BaseException as error:
            for path, content in before.items():
                with contextlib.suppress(OSError):
                    if content is None:
                        path.unlink()
                    else:
                        path.write_bytes(content)
            for folder in sorted(set(made), reverse=True):
                with contextlib.suppress(OSError):
                    folder.rmdir()
            if isinstance(error, OSError):
                raise LabError(f"cannot write: {error}. Nothing was changed.") from error
            raise


# --- another number or name ----------------------------------------------------------------------


def rename_exercise(root: Path, old: str, new: str) -> Tuple[Exercise, List[str]]:
    """Moves an exercise: `new` is 05.7, another_name or 05.7_another_name.

    Returns the exercise as it is now, and the places elsewhere that still say the old number or
    name, as file:line: text. What is rewritten: the exercise's own files, its section of the
    chapter (which moves along), and paths and commands in the other pages.
    """
    before = resolve_one(root, old)
    match = re.fullmatch(r"(?:(\d{1,2}\.\d{1,2})(?:_(?=.))?)?(.*)", new)
    number, name = (match[1], match[2] or before.name) if match else (None, new)
    chapter, position = _parse_id(number) if number else (before.chapter, before.number)
    if name != before.name:
        _require_name(root, name, "an exercise")
    after = Exercise(root, chapter, _chapter(root, chapter, None), position, name)
    if after == before:
        raise LabError(f"{before.id} {before.name} is called that already.", USAGE)
    _require_free(root, after, but=before)

    texts: Dict[Path, str] = {}
    for source, target in zip(paths_of(before), paths_of(after)):
        for file in [source] if source.is_file() else sorted(source.rglob("*")):
            if file.is_file():
                inside = file.relative_to(source)
                moved = target / inside if inside.parts else target
                moved = moved.with_name(re.sub(f"^{before.name}\\b", after.name, moved.name))
                text = file.read_text(encoding="utf-8")
                texts[moved] = _in_order(_rewrite(text, before, after, own=True))
    _move_section(before, after, texts)
    for other in find_exercises(root):
        file = other.metadata_file
        if other != before and file.is_file():
            text = file.read_text(encoding="utf-8")
            if f'"{before.id}"' in text:
                texts[file] = text.replace(f'"{before.id}"', f'"{after.id}"')
    for page in _other_pages(root):
        text = texts.get(page) or page.read_text(encoding="utf-8")
        changed = _rewrite(text, before, after, own=False)
        if changed != page.read_text(encoding="utf-8"):
            texts[page] = changed

    _write_all(texts)
    for path in paths_of(before):
        for file in [path, *path.rglob("*")]:
            if file.is_file() and file not in texts:
                file.unlink()
        for folder in (path, path.parent):  # goes if it is empty; the chapter's too
            with contextlib.suppress(OSError):
                folder.rmdir()
    return after, _mentions(root, before, after)


def _word(text: str) -> str:
    return rf"(?<![\w.]){re.escape(text)}(?![\w]|\.\d)"


def _rewrite(text: str, before: Exercise, after: Exercise, own: bool) -> str:
    """In its own files all says the new number and name; elsewhere only paths and commands."""
    old_place, new_place = (
        f"{e.chapter_folder}/{e.number}_{e.name}" for e in (before, after)
    )
    text = text.replace(old_place, new_place)
    text = re.sub(_word(before.full_name), after.full_name, text)
    for ending in ("bugs", "right"):
        text = text.replace(
            f"tests/{before.chapter_folder}/{before.name}.{ending}",
            f"tests/{after.chapter_folder}/{after.name}.{ending}",
        )
    if own:
        text = re.sub(_word(before.id), after.id, text)
        # Only where it is a name: `lock` may be a word of the text as well.
        places = rf"(?<=lab::){before.name}\b|\b{before.name}(?=_test\b|\.(?:hpp|cu|cpp|bugs)\b)"
        places += rf'|(?<={re.escape(after.id)} ){before.name}\b|(?<="){before.name}(?=: )'
        text = re.sub(places, after.name, text)
        if before.chapter_folder != after.chapter_folder:
            text = text.replace(before.chapter_folder, after.chapter_folder)
    else:
        command = rf"(scripts/lab (?:dev )?\w+ ){re.escape(before.id)}(?![\w.])"
        text = re.sub(command, rf"\g<1>{after.id}", text)
        text = re.sub(rf"(scripts/lab (?:dev )?\w+ ){before.name}\b", rf"\g<1>{after.name}", text)
    return text


def _move_section(before: Exercise, after: Exercise, texts: Dict[Path, str]) -> None:
    page = before.chapter_page
    if not page.exists():
        return
    rest, section = pages.cut_section(page.read_text(encoding="utf-8"), before.id)
    if not section:
        return
    texts[page] = rest
    target = after.chapter_page
    old = rest if target == page else ""
    if not old and target.exists():
        old = target.read_text(encoding="utf-8")
    section = _rewrite(section, before, after, own=True)
    text = pages.insert_section(old, after.id, section)
    texts[target] = metadata.with_files(text, [after], "..", metadata.FILES["en"])


def _other_pages(root: Path) -> List[Path]:
    found = [*root.glob("*.md")]
    for tree in ("docs", "solutions", "labs", "common"):
        found += (root / tree).rglob("*.md")
    return sorted(found)


def _mentions(root: Path, before: Exercise, after: Exercise) -> List[str]:
    wanted = [_word(before.full_name)]
    if before.id != after.id:
        wanted.append(_word(before.id))
    if before.name != after.name:
        wanted.append(rf"\b{before.name}\b")
    pattern = re.compile("|".join(wanted))
    files = _other_pages(root)
    for tree in ("labs", "solutions", "tests", "common", "cmake", ".ci", ".vscode"):
        for suffix in ("hpp", "cpp", "cu", "bugs", "cmake", "txt", "py", "json"):
            files += (root / tree).rglob(f"*.{suffix}")
    found = []
    for file in sorted(set(files)):
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        found += [
            f"{file.relative_to(root)}:{number}: {line.strip()}"
            for number, line in enumerate(lines, 1)
            if pattern.search(line)
        ]
    return found
