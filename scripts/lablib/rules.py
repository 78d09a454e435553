# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The course's rules that can be checked by reading: of one file, of one exercise, of the tree.

Each rule yields findings: where, which rule, and what to do about it.
"""

import json
import re
import shutil
import subprocess
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

from lablib import (
    benchmark_page,
    bugs,
    equivalents,
    hints,
    metadata,
    mutations,
    pages,
    quoted_lines,
    right,
    starters,
    step_tables,
    translations,
    version,
    vocabulary,
    wording,
)
from lablib.errors import LabError
from lablib.exercises import Exercise
from lablib.grading import contracts

COLUMNS = 100  # of a line of Python; clang-format sees to C++
LEAST_HINTS = 2
LEAST_BUGS = 4

CXX = (".cpp", ".hpp", ".cu", ".cuh", ".h")
_WITH_LICENSE = (
    *(*CXX, ".S", ".py", ".cmake", ".sh"),
    *(".bugs", ".equivalent", ".toml", ".yml", ".yaml"),
)
_TABS_ALLOWED = ("Makefile", ".S", ".mk")
_LICENSE = ("SPDX-FileCopyrightText: ", "SPDX-License-Identifier: ")


@dataclass(frozen=True, order=True)
class Finding:
    path: str  # as seen from the root
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


# --- one file ------------------------------------------------------------------------------------


def check_file(root: Path, path: str) -> Iterator[Finding]:
    try:
        data = (root / path).read_bytes()
    except OSError:
        return
    if b"\0" in data[:8192] or not data:
        return  # a picture; an empty __init__.py
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        yield Finding(path, line, "encoding", "this is not UTF-8: save the file as UTF-8")
        return
    yield from _text(path, text)
    yield from _license(path, text)
    if path.endswith(".json"):
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            yield Finding(path, error.lineno, "json", f"this is not JSON: {error.msg}")


def _text(path: str, text: str) -> Iterator[Finding]:
    tabs = not path.endswith(_TABS_ALLOWED)
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.endswith("\r"):
            yield Finding(path, number, "line-ends", "ends with CR LF: use LF alone")
            break
        if line != line.rstrip():
            yield Finding(path, number, "trailing-space", "take the space at the end away")
        if tabs and "\t" in line:
            yield Finding(path, number, "tab", "use spaces instead of the tab")
        if path.endswith(".py") and len(line) > COLUMNS:
            yield Finding(
                path, number, "long-line", f"{len(line)} columns: break it at {COLUMNS} or before"
            )
    if not text.endswith("\n"):
        yield Finding(path, len(lines), "final-newline", "the last line must end with a newline")
    elif text.endswith("\n\n"):
        yield Finding(path, len(lines) - 1, "final-newline", "take the empty lines at the end away")


def _license(path: str, text: str) -> Iterator[Finding]:
    name = path.rsplit("/", 1)[-1]
    if not (
        path.endswith(_WITH_LICENSE)
        or name in ("CMakeLists.txt", "Dockerfile", ".clangd")
        or text.startswith("#!")
    ):
        return
    first = [line for line in text.splitlines() if not line.startswith("#!")][:2]
    for line, wanted in zip([*first, "", ""], _LICENSE):
        if wanted not in line:
            yield Finding(
                path,
                1,
                "license",
                "begin with the two lines `SPDX-FileCopyrightText: The CUDA Labs authors` and"
                " `SPDX-License-Identifier: Apache-2.0`, as the other files do",
            )
            return


def check_formatting(root: Path, paths: Sequence[str]) -> Iterator[Finding]:
    """With clang-format; without the right one nothing is found (see formatter_problem())."""
    tool = formatter(root)
    files = [path for path in paths if path.endswith(CXX) or _is_header(path)]
    if tool is None or not files:
        return
    for begin in range(0, len(files), 100):
        command = [tool, "--dry-run", "-Werror", "--ferror-limit=0", *files[begin : begin + 100]]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        seen: Set[str] = set()
        for line in done.stderr.splitlines():
            match = re.match(r"(.+?):(\d+):\d+: error: .*clang-format", line)
            if match and match[1] not in seen:
                seen.add(match[1])
                yield Finding(
                    match[1], int(match[2]), "format", f"run `clang-format -i {match[1]}`"
                )
        if done.returncode != 0 and not seen:
            raise LabError(f"clang-format failed: {done.stderr.strip()}")


def author_tool(root: Path, name: str) -> Optional[str]:
    """What `scripts/setup --author` has installed for this clone, or else what is on the PATH."""
    return shutil.which(name, path=str(root / ".lab" / "tools" / "bin")) or shutil.which(name)


def formatter(root: Path) -> Optional[str]:
    """The clang-format whose version is the pinned one: others lay out some lines differently."""
    return None if formatter_problem(root) else author_tool(root, "clang-format")


def formatter_problem(root: Path) -> str:
    """Why formatting cannot be checked; "" if it can."""
    pinned = author_version(root, "clang-format")
    tool = author_tool(root, "clang-format")
    if tool is None:
        return "clang-format is not installed"
    done = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False)
    if pinned and pinned not in done.stdout.split():
        return f"{tool} is not version {pinned}: {done.stdout.strip()}"
    return ""


def author_version(root: Path, name: str) -> str:
    """The version of an author's tool that scripts/author_tools.txt pins."""
    text = (root / "scripts" / "author_tools.txt").read_text(encoding="utf-8")
    match = re.search(rf"^{re.escape(name)}==(\S+)", text, re.MULTILINE)
    return match[1] if match else ""


def _is_header(path: str) -> bool:
    """Headers without an ending, such as <cuda/atomic>."""
    return "/include/" in path and "." not in path.rsplit("/", 1)[-1]


# --- links ---------------------------------------------------------------------------------------


def check_links(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    anchors: Dict[Path, List[str]] = {}

    def anchors_of(page: Path) -> List[str]:
        if page not in anchors:
            anchors[page] = pages.anchors(page.read_text(encoding="utf-8", errors="replace"))
        return anchors[page]

    for path in paths:
        if not path.endswith(".md") or path.startswith("scripts/template/"):
            continue
        page = root / path
        for line, target in pages.links(page.read_text(encoding="utf-8", errors="replace")):
            if re.match(r"[a-z][a-z+.-]*:", target):
                continue  # another site
            file, _, anchor = urllib.parse.unquote(target).partition("#")
            to = (page.parent / file) if file else page
            if not target:
                problem = "this link leads nowhere"
            elif file.startswith("/"):
                problem = f"{file}: write it relative to this page"
            elif not to.exists():
                problem = f"there is no {file} (as seen from {page.parent.name}/)"
            elif anchor and to.suffix == ".md" and anchor not in anchors_of(to):
                problem = f"{file or 'this page'} has no heading #{anchor}"
            else:
                continue
            yield Finding(path, line, "link", problem)


def check_index(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """README.md leads to every chapter."""
    readme = root / "README.md"
    text = readme.read_text(encoding="utf-8", errors="replace") if readme.is_file() else ""
    linked = {target.partition("#")[0] for _, target in pages.links(text)}
    for path in sorted(paths):
        if re.fullmatch(r"docs/\d\d_\w+\.md", path) and path not in linked:
            title = pages.title((root / path).read_text(encoding="utf-8")) or path
            yield Finding("README.md", 1, "index", f"no link to this chapter: [{title}]({path})")


def check_metadata(root: Path, exercises: Sequence[Exercise]) -> Iterator[Finding]:
    """Each exercise.toml, and what chapters say of them."""
    for problem in metadata.problems(exercises):
        match = re.match(r"(.+?):(\d+): (.*)", problem, re.DOTALL)
        if match is None:
            yield Finding(".", 1, "metadata", problem.rstrip("."))
            return  # this Python cannot read any of them
        path = _short(root, Path(match[1]))
        yield Finding(path, int(match[2]), "metadata", match[3].rstrip("."))
    for page in sorted({exercise.chapter_page for exercise in exercises}):
        if not page.is_file():
            continue  # which is a finding already
        present = page.read_text(encoding="utf-8").splitlines()
        wanted = metadata.with_summaries(page, exercises).splitlines()
        if present != wanted:
            yield Finding(
                _short(root, page),
                _first_difference(present, wanted),
                "metadata",
                "minutes and prerequisites are not those of exercise.toml, or links to files are"
                " not as they would be written: run `scripts/lab dev starters`",
            )


def check_wording(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """Home-made words in what students read."""
    try:
        avoided = wording.read_list(root)
    except LabError as error:
        yield _located(root, error, root / wording.LIST, "wording")
        return
    for path in paths:
        if wording.is_read(path):
            text = (root / path).read_text(encoding="utf-8", errors="replace")
            for line, message in wording.find(path, text, avoided):
                yield Finding(path, line, "wording", message)


def check_headings(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """A page's headings have names of their own: in the contents and in links."""
    for path in paths:
        if not re.match(r"docs/.*\.md$", path):
            continue
        first: Dict[str, int] = {}
        for line, _, words in pages.headings((root / path).read_text(encoding="utf-8")):
            if first.setdefault(words, line) != line:
                message = f"line {first[words]} has this heading, too: say what each is about"
                yield Finding(path, line, "heading", message)


def check_quoted_lines(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """Reports that pages quote are of the exercises as they are now."""
    for path in paths:
        if path.endswith(".md"):
            text = (root / path).read_text(encoding="utf-8", errors="replace")
            for line, message in quoted_lines.wrong(root, text):
                yield Finding(path, line, "quoted-lines", message)


def check_benchmarks(root: Path) -> Iterator[Finding]:
    """The page of benchmarks is made from their files."""
    if not (root / "docs" / "benchmarks.md").is_file() and not (root / "docs/benchmarks").is_dir():
        return
    try:
        stale = benchmark_page.stale(root)
    except LabError as error:
        yield Finding("docs/benchmarks.md", 1, "benchmarks", str(error).rstrip("."))
        return
    for path in stale:
        message = "not made from docs/benchmarks/*.json: run `scripts/lab dev benchmarks`"
        yield Finding(path, 1, "benchmarks", message)
    for path, line, exercise in benchmark_page.by_hand(root):
        message = (
            f"docs/benchmarks has figures of the steps of {exercise}: have `scripts/lab dev"
            " benchmarks` write this table, or say before it why not (figure_tables.py says how)"
        )
        yield Finding(path, line, "benchmarks", message)


def check_steps(root: Path) -> Iterator[Finding]:
    """The chapters' tables of steps are made from contracts, benchmarks and counters."""
    try:
        stale = step_tables.files(root)
    except LabError as error:
        yield Finding(step_tables.COUNTERS, 1, "steps", str(error).rstrip("."))
        return
    for path in stale:
        message = "its table of steps is not what it is made from: run `scripts/lab dev steps`"
        yield Finding(path, 1, "steps", message)


def check_translations(root: Path, exercises: Sequence[Exercise]) -> Iterator[Finding]:
    """A translation may be behind, but what is behind has to be known."""
    for page in translations.all_pages(root):
        for line, message in translations.problems(page):
            yield Finding(_short(root, page), line, "translations", message)
        present = page.read_text(encoding="utf-8").splitlines()
        wanted = translations.with_files(page, exercises).splitlines()
        if present != wanted:
            yield Finding(
                _short(root, page),
                _first_difference(present, wanted),
                "translations",
                "links to files are not as they would be written: run `scripts/lab dev starters`",
            )


def check_version(root: Path) -> Iterator[Finding]:
    """CMakeLists.txt, the changelog and the tag name the same version."""
    for path, line, message in version.problems(root):
        yield Finding(path, line, "version", message)


def check_vocabulary(root: Path, exercises: Sequence[Exercise]) -> Iterator[Finding]:
    """What is used before it is taught."""
    for problem in (
        *vocabulary.untaught_names(root, exercises),
        *vocabulary.untaught_terms(root),
    ):
        yield Finding(_short(root, problem.path), problem.line, "vocabulary", problem.message)


# --- one exercise --------------------------------------------------------------------------------


def check_exercise(root: Path, exercise: Exercise) -> Iterator[Finding]:
    yield from _missing_files(root, exercise)
    yield from _contract(root, exercise)
    yield from _hints(root, exercise)
    yield from _chapter(root, exercise)
    if exercise.solution_file.is_file():
        yield from _starter(root, exercise)
        yield from _bugs(root, exercise)
        yield from _equivalents(root, exercise)
    yield from _right(root, exercise)
    yield from _author_notes(root, exercise)


def _first_difference(present: Sequence[str], wanted: Sequence[str]) -> int:
    """The number of the first line in which they differ."""
    differ = (i for i, (a, b) in enumerate(zip(present, wanted), 1) if a != b)
    return next(differ, min(len(present), len(wanted)) + 1)


def _short(root: Path, path: Path) -> str:
    return str(path.relative_to(root))


def test_file(exercise: Exercise) -> Path:
    return exercise.tests_folder / f"{exercise.name}_test.cpp"


def _missing_files(root: Path, exercise: Exercise) -> Iterator[Finding]:
    for path, what in (
        (exercise.folder / f"{exercise.name}.hpp", "the contract"),
        (exercise.folder / "main.cpp", "the program"),
        (exercise.solution_file, "the solution"),
        (exercise.lab_file, "the starter (`scripts/lab dev starters` writes it)"),
        (test_file(exercise), "the tests"),
        (exercise.bugs_file, "the bugs"),
    ):
        if not path.is_file():
            yield Finding(_short(root, path), 1, "missing", f"{exercise.id} has no {what[4:]}")


def _starter(root: Path, exercise: Exercise) -> Iterator[Finding]:
    path = _short(root, exercise.lab_file)
    try:
        expected = starters.generate_file(exercise.solution_file)
    except LabError as error:
        yield _located(root, error, exercise.solution_file, "markers")
        return
    if not exercise.lab_file.is_file():
        return  # which is a finding already
    present = exercise.lab_file.read_text(encoding="utf-8", errors="replace")
    if present == expected:
        for line, text in enumerate(present.splitlines(), 1):
            if starters.MARK.search(text):
                yield Finding(
                    path,
                    line,
                    "starter",
                    "a starter may leave things unused: take out the (void) or [[maybe_unused]]",
                )
        return
    old, new = present.splitlines(), expected.splitlines()
    line = _first_difference(old, new)
    yield Finding(
        path,
        line,
        "starter",
        "this is not what the solution generates: change the solution, then run"
        " `scripts/lab dev starters`",
    )


def _located(root: Path, error: LabError, path: Path, rule: str) -> Finding:
    """A finding of an error that begins with file:line."""
    match = re.match(rf"{re.escape(str(path))}:(\d+): (.*)", str(error), re.DOTALL)
    line, message = (int(match[1]), match[2]) if match else (1, str(error))
    return Finding(_short(root, path), line, rule, message.rstrip("."))


def _contract(root: Path, exercise: Exercise) -> Iterator[Finding]:
    header = exercise.folder / f"{exercise.name}.hpp"
    if not header.is_file():
        return
    path, text = _short(root, header), header.read_text(encoding="utf-8", errors="replace")
    place = re.search(rf"^namespace lab::{exercise.name}\b", text, re.MULTILINE)
    if not place:
        yield Finding(path, 1, "contract", f"declare it in `namespace lab::{exercise.name}`")
    line = text.count("\n", 0, place.start()) + 1 if place else 1
    comment = "\n".join(re.findall(r"^\s*///.*$", text, re.MULTILINE))
    for pattern, what in (
        (r"///(?!<)", "has no doc comment (///): say what goes in and comes out, shapes and units"),
        (r"[Tt]hrows\b", "does not say what is thrown, and when (`/// Throws …`)"),
        (r"/// Requires: \S", "does not say who has to do the work (`/// Requires: …`)"),
        (r"/// From: \S", "does not say where the exercise comes from (`/// From: …`)"),
    ):
        if not re.search(pattern, comment):
            yield Finding(path, line, "contract", f"the contract {what}")
    try:
        contracts.read(header)
    except contracts.NotUnderstood as problem:
        message = str(problem).replace(str(header), header.name)
        yield Finding(path, line, "grading", f"{exercise.id} cannot be graded: {message}")


def _hints(root: Path, exercise: Exercise) -> Iterator[Finding]:
    path = _short(root, exercise.hints_file)
    try:
        found = hints.read_hints(exercise.hints_file)
    except LabError as error:
        yield _located(root, error, exercise.hints_file, "hints")
        return
    if len(found) < LEAST_HINTS:
        yield Finding(
            path,
            1,
            "hints",
            f"{len(found)} hints (`## 1. …`): write at least {LEAST_HINTS}, in the order in which"
            " somebody gets stuck",
        )
    lines = exercise.hints_file.read_text(encoding="utf-8").splitlines() if found else []
    for number, hint in enumerate(found, 1):
        line = next(i for i, text in enumerate(lines, 1) if re.match(rf"##\s+{number}\.", text))
        paragraphs = [part for part in re.split(r"\n\s*\n", hint.text) if part.strip()]
        if "?" not in hint.title + "".join(paragraphs[:1]):
            yield Finding(
                path, line, "hints", f"hint {number} begins without a question: ask before you tell"
            )
        elif not paragraphs or (len(paragraphs) == 1 and "?" not in hint.title):
            yield Finding(
                path,
                line,
                "hints",
                f"hint {number} has no answer: give it in a paragraph after the question",
            )


def _chapter(root: Path, exercise: Exercise) -> Iterator[Finding]:
    page = exercise.chapter_page
    answers = exercise.solution_file.parents[1] / "answers.md"
    path = _short(root, page)
    if not page.is_file():
        yield Finding(path, 1, "chapter", f"the chapter of {exercise.id} has no page")
        return
    text = page.read_text(encoding="utf-8")
    section = pages.section_line(text, exercise.id)
    heading = f"## {exercise.id} {exercise.name}"
    if not section:
        yield Finding(path, 1, "chapter", f"there is no section `{heading}`")
    elif text.splitlines()[section - 1].strip() != heading:
        yield Finding(path, section, "chapter", f"this heading should be `{heading}`")
    questions = pages.numbered(text, "Questions")
    if not questions:
        yield Finding(path, 1, "questions", "there are no `## Questions`, numbered 1. 2. 3. …")
        return
    yield from _in_order(path, questions)
    if not answers.is_file():
        yield Finding(
            _short(root, answers), 1, "questions", f"the questions of {page.name} have no answers"
        )
        return
    given = pages.numbered(answers.read_text(encoding="utf-8"))
    yield from _in_order(_short(root, answers), given)
    if len(given) != len(questions):
        line = given[-1][0] if given else 1
        yield Finding(
            _short(root, answers),
            line,
            "questions",
            f"{len(given)} answers to the {len(questions)} questions of {path}",
        )
    if f"../{_short(root, answers)}" not in [target for _, target in pages.links(text)]:
        yield Finding(
            path, questions[0][0], "questions", f"link the answers: (../{_short(root, answers)})"
        )


def _in_order(path: str, items: Iterable[Tuple[int, int]]) -> Iterator[Finding]:
    for wanted, (line, number) in enumerate(items, 1):
        if number != wanted:
            yield Finding(path, line, "questions", f"number {number} should be {wanted}")
            return


def _bugs(root: Path, exercise: Exercise) -> Iterator[Finding]:
    path = _short(root, exercise.bugs_file)
    if not exercise.bugs_file.is_file():
        return  # which is a finding already
    try:
        found = bugs.parse(exercise.bugs_file)
    except LabError as error:
        yield _located(root, error, exercise.bugs_file, "bugs")
        return
    if len(found) < LEAST_BUGS:
        yield Finding(path, 1, "bugs", f"{len(found)} bugs: write at least {LEAST_BUGS}")
    for bug in found:
        source = bugs.source_of(bug, exercise.solution_file.parent, exercise.folder)
        try:
            text = source.read_text(encoding="utf-8")
            bugs.apply(bug, text, str(exercise.bugs_file), _short(root, source))
        except OSError:
            name = _short(root, source)
            yield Finding(path, bug.line, "bugs", f"{bug.name}: there is no {name} to edit")
        except LabError as error:
            yield _located(root, error, exercise.bugs_file, "bugs")


def _equivalents(root: Path, exercise: Exercise) -> Iterator[Finding]:
    path = _short(root, exercise.equivalents_file)
    try:
        entries = equivalents.parse(exercise.equivalents_file)
        text = exercise.solution_file.read_text(encoding="utf-8")
    except LabError as error:
        yield _located(root, error, exercise.equivalents_file, "equivalents")
        return
    except UnicodeDecodeError:
        return  # the rule `encoding` says so
    if entries:
        for entry in equivalents.match_all(entries, mutations.find(text), text).idle:
            yield Finding(path, entry.line, "equivalents", equivalents.explain_idle(entry))


def _right(root: Path, exercise: Exercise) -> Iterator[Finding]:
    """The right solutions in other styles. A folder without any is for nothing."""
    folder = exercise.right_folder
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    if folder.exists() and not files:
        message = "there is no right solution here: write <style>.cu, or remove it"
        yield Finding(_short(root, folder), 1, "right", message)
    for file in files:
        problem = right.problem(file)
        if problem:
            yield Finding(_short(root, file), 1, "right", problem)


_NOTE = re.compile(r"(//|#|<!--)\s*AUTHOR:")


def _author_notes(root: Path, exercise: Exercise) -> Iterator[Finding]:
    """What `dev new` wrote for the author. The chapter's files belong to several exercises."""
    own = [*exercise.folder.glob("*"), *exercise.solution_file.parent.glob("*")]
    own += [test_file(exercise), exercise.bugs_file, exercise.chapter_page, *exercise.right_files]
    own += [exercise.solution_file.parents[1] / "answers.md"]
    for path in own:
        if not path.is_file() or path == exercise.lab_file:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if _NOTE.search(line):
                yield Finding(
                    _short(root, path),
                    number,
                    "author-note",
                    "write what this note asks for, then take the note out",
                )


# --- the tree ------------------------------------------------------------------------------------


def check_tree(
    root: Path, files: Sequence[str], exercises: Sequence[Exercise]
) -> Iterator[Finding]:
    """Names that are there twice, and files that belong to nothing."""
    names: Dict[str, Exercise] = {}
    for exercise in exercises:
        other = names.setdefault(exercise.name, exercise)
        if other is not exercise:
            yield Finding(
                _short(root, exercise.folder),
                1,
                "name",
                f"{other.id} is called {exercise.name} too: rename one of them"
                f" (`scripts/lab dev rename {exercise.id} another_name`)",
            )
    expected: Set[str] = set()
    for exercise in exercises:
        for own in (exercise.lab_file, exercise.hints_file, exercise.solution_file):
            expected.add(_short(root, own))
        for own in (test_file(exercise), exercise.bugs_file, exercise.equivalents_file):
            expected.add(_short(root, own))
        expected.update(_short(root, file) for file in exercise.right_folder.glob("*"))
        expected.add(_short(root, exercise.metadata_file))
        expected.add(_short(root, exercise.solution_file.parents[1] / "answers.md"))
    folders = {_short(root, exercise.folder): exercise for exercise in exercises}
    for path in files:
        tree, *parts = path.split("/")
        if tree not in ("labs", "solutions", "tests") or path in expected:
            continue
        if tree == "tests" and not re.match(r"\d\d_", parts[0]):
            continue
        folder = path.rsplit("/", 1)[0]
        if tree == "tests" and folder.endswith(".right"):
            name = folder[: -len(".right")]
            message = f"there is no exercise {name.rsplit('/', 1)[-1]} in this chapter"
            yield Finding(path, 1, "right", f"{message}: {folder}/ belongs to none")
            continue
        if tree == "labs" and folder in folders and path.endswith(".sbatch"):
            continue  # a job script for Slurm
        if tree != "solutions" and path.endswith((".hpp", ".cpp")):
            sources: List[Path] = []
            if folder in folders and path.endswith(".cpp"):
                continue  # part of the program
            if folder in folders:
                exercise = folders[folder]
                sources = [*exercise.folder.glob("*.[hc]*"), exercise.solution_file]
                sources.append(test_file(exercise))
            elif tree == "tests" and len(parts) == 2 and path.endswith(".hpp"):
                sources = list((root / folder).glob("*.[hc]pp"))
            name = parts[-1]
            if folder in folders and name == f"{folders[folder].name}.hpp":
                continue
            if any(
                f'#include "{name}"' in source.read_text(encoding="utf-8", errors="replace")
                for source in sources
                if source.is_file() and source != root / path
            ):
                continue
        yield Finding(
            path,
            1,
            "stray",
            "this belongs to no exercise: remove it, or put it where it belongs"
            " (CONTRIBUTING.md lists the files of an exercise)",
        )
