#!/usr/bin/env python3
# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Builds the site: brings its pages together in one folder, and has Sphinx turn them into HTML.
With --epub or --pdf, a book for e-readers or for paper instead; with --all, all three.

The pages are the Markdown files of the repository. They link to each other, and to source files,
relative to where they are in the repository; in the site some are elsewhere, and source files are
pages. So links are rewritten on the way. `scripts/lab docs` runs this with the tools of tools.txt.
"""

import argparse
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, Iterator, List, Tuple, Union

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "site")]

import animate
import api
import paper
import words
from diagrams import drawings

from lablib import metadata, pages, translations, version
from lablib.drawing import style
from lablib.exercises import Exercise, find_exercises

# The sections of the table of contents, as titles of pages in docs/. Chapters, translations and
# explorers are found by their names; a page that is in no section is an error of Sphinx's.
SECTIONS = {
    "Begin": ["start", "map", "systems"],
    "Part I": [r"(0\d|1[0-5])_\w+"],
    "Part II, today's CUDA": [r"(1[6-9]|2\d)_\w+"],
    "Explorers": [
        f"explorers/{name}"
        for name in ("launch", "access", "reduction", "streams", "occupancy", "roofline")
    ],
    "Reference": [
        "glossary",
        "benchmarks",
        r"benchmarks/\w+",
        "tools",
        "debugging",
        "editors",
        "api",
    ],
    "The project": [
        "instructors",
        "contributing",
        "development",
        "architecture",
        "decisions",
        "changelog",
        "citing",
    ],
    "The CPU device": ["cpu_device", r"cpu_device/\w+"],
    "Translations": [r"[a-z]{2}/\d\d_\w+"],
}

# Pages from outside of docs/, by their names in the site.
OTHER_PAGES = {
    "contributing": "CONTRIBUTING.md",
    "cpu_device": "common/cpu_device/README.md",
    **{
        f"cpu_device/{page.stem}": page.relative_to(ROOT).as_posix()
        for page in sorted((ROOT / "common/cpu_device/docs").glob("*.md"))
    },
}

# On the first page of a site that has them. Links of Markdown must lead to what is there already.
LINKS_TO_BOOKS = """
- **As a book:** <a href="cuda_labs.pdf">to print</a> (PDF),
  <a href="cuda_labs.epub">for e-readers</a> (EPUB).
"""

# What a book has no pages for: what needs a browser, and what only the site shows.
NOT_IN_BOOKS = r"explorers/|hints/|[a-z]{2}/"
INVITATION = r"\sTry it: \[[^\]]*\]\(explorers/\w+\.md\)[^.]*\."  # to one of them: a sentence

BOX_OF_FILES = r""":::{container} exercise-files
\1
:::

"""

LEXERS = {".cu": "cuda", ".hpp": "cpp", ".cpp": "cpp", ".h": "cpp", ".py": "python", ".md": "none"}


def _with_closed_answer(hint: "re.Match[str]") -> str:
    """A hint whose first paragraph, the question, can be thought about before the rest is seen."""
    title, question, *answer = hint[0].strip().split("\n\n", 2)
    if not answer:
        return hint[0]
    begin = '<details class="answer"><summary>Answer</summary>'
    return f"{title}\n\n{question}\n\n{begin}\n\n{answer[0]}\n\n</details>\n\n"


class Site:
    """What the site, or a book, consists of; stage() writes it to a folder, as Sphinx wants it."""

    def __init__(self, book: bool = False, with_books: bool = False) -> None:
        self.book = book
        self.with_books = with_books
        self.exercises = find_exercises(ROOT)
        self.names: Dict[str, str] = {}  # a file of the repository -> its page, without .md
        for page in sorted((ROOT / "docs").rglob("*.md")):
            path = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
            self.names[f"docs/{path}"] = path
        for name, source in OTHER_PAGES.items():
            self.names[source[: -len(".md")]] = name
        for answers in sorted((ROOT / "solutions").glob("*/answers.md")):
            self.names[f"solutions/{answers.parent.name}/answers"] = (
                f"answers/{answers.parent.name}"
            )
        for exercise in self.exercises:
            hints = exercise.hints_file.relative_to(ROOT).with_suffix("").as_posix()
            self.names[hints] = f"hints/{exercise.full_name}"
        self.headers = api.pages(ROOT)
        self.listings: Dict[str, str] = {}  # files of exercises -> where a page shows them
        for exercise in self.exercises:
            for file, page in self._listed(exercise):
                anchor = pages.anchors(f"## {file.name}")[0]
                place = f"/{page}/{exercise.full_name}.md#{anchor}"
                self.listings[file.relative_to(ROOT).as_posix()] = place
        if book:
            found = self.names.items()
            self.names = {s: n for s, n in found if not re.match(NOT_IN_BOOKS, n)}
            self.headers = {}
        self.sources: List[str] = []  # other files that pages link to

    def stage(self, folder: Path) -> None:
        texts: Dict[str, str] = {}
        for source, name in self.names.items():
            text = (ROOT / f"{source}.md").read_text(encoding="utf-8")
            chapter = re.fullmatch(r"docs/(?:(\w\w)/)?\d\d_\w+", source)
            if chapter:
                text = self._with_boxes_of_files(text, metadata.FILES[chapter[1] or "en"][0])
            if self.book:
                text = re.sub(INVITATION, "", text)
            else:
                text = self._with_languages(text, ROOT / f"{source}.md")
            text = self._relinked(text, f"{source}.md", name)
            if name.startswith(("answers/", "hints/")) and not self.book:
                text = f"---\norphan: true\n---\n\n{self._with_way_back(text, name)}"
            texts[name] = text
        if self.book:
            title, _, rest = texts["index"].partition("\n")
            rest = rest.partition("\n- ")[0]  # without what leads to pages
            texts["index"] = f"{title}\n\n*Version {version.describe(ROOT)}*\n{rest}\n"
        else:
            for exercise in self.exercises:
                texts.update(self._exercise_pages(exercise))
            texts.update(self.headers)
            self.sources += [path for path in api.headers(ROOT) if path not in self.sources]
        if self.with_books:
            texts["index"] = texts["index"].rstrip() + LINKS_TO_BOOKS
        for source in self.sources:
            texts[f"files/{source}"] = _file_page(f"`{source}`", [ROOT / source])
        texts["index"] += self._contents()
        written = {folder / f"{name}.md" for name in texts}
        for name, text in texts.items():
            _write(folder / f"{name}.md", text)
        for old in folder.rglob("*.md"):
            if old not in written:
                old.unlink()
        moving = [f"{name}.png" for name in animate.ANIMATIONS]
        ignored = shutil.ignore_patterns(*moving)
        shutil.copytree(ROOT / "docs/images", folder / "images", dirs_exist_ok=True, ignore=ignored)
        for name in moving:  # the site's script moves them, if the reader wants that
            recorded = (ROOT / "docs/images" / name).read_bytes()
            _write(folder / "images" / name, animate.still(recorded))

    def parts(self) -> Dict[str, List[str]]:
        """The parts of the table of contents, with the pages that are there."""
        answers = {"Answers": [r"answers/\d\d_\w+"]} if self.book else {}
        found = {
            title: [
                name
                for pattern in patterns
                for name in sorted([*self.names.values(), *self.headers])
                if re.fullmatch(pattern, name)
            ]
            for title, patterns in {**SECTIONS, **answers}.items()
        }
        return {title: names for title, names in found.items() if names}

    def _contents(self) -> str:
        text = ""
        for title, names in self.parts().items():
            listed = "\n".join(names)
            shown = ":maxdepth: 2" if self.book else ":hidden:"  # the theme shows them
            text += f"\n```{{toctree}}\n{shown}\n:caption: {title}\n\n{listed}\n```\n"
        return text

    def _with_boxes_of_files(self, text: str, first: str) -> str:
        """The links to an exercise's files are in a box; a book has neither files nor links."""
        links = rf"(?ms)^(\[{re.escape(first)}\]\(.*?)\n\n"
        return re.sub(links, "" if self.book else BOX_OF_FILES, text)

    def _with_languages(self, text: str, page: Path) -> str:
        """Below the title: the page's other languages, and whether it is behind."""
        translated = translations.all_pages(ROOT)
        if page in translated:
            lines = ["", f"[English](/{page.stem}.md)"]
            count = len(translations.behind(page))
            if count:
                sentence = words.BEHIND[page.parent.name].format(count=count)
                lines += ["", ":::{note}", sentence, ":::"]
        else:
            others = [p for p in translated if translations.original(p) == page]
            links = (
                f"[{translations.LANGUAGES[p.parent.name]}](/{p.parent.name}/{p.stem}.md)"
                for p in others
            )
            lines = ["", " · ".join(links)] if others else []
        title, _, rest = text.partition("\n")
        return "\n".join([title, *lines, rest])

    @staticmethod
    def _listed(exercise: Exercise) -> Iterator[Tuple[Path, str]]:
        """The files that pages of the exercise show, and the folder of the page."""
        folder = exercise.folder
        own = [exercise.lab_file, exercise.contract_file, folder / "main.cpp"]
        others = [f for f in sorted(folder.glob("*.[hc]pp")) if f not in own]
        tests = [
            exercise.tests_folder / f"{exercise.name}_test.cpp",
            *sorted(exercise.tests_folder.glob(f"{exercise.name}*.hpp")),
            exercise.bugs_file,
        ]
        yield from ((file, "files") for file in [*own, *others])
        yield from ((file, "tests") for file in tests)
        yield exercise.solution_file, "solutions"

    def _with_way_back(self, text: str, name: str) -> str:
        """A page of hints or answers, with links below its title."""
        folder, _, own = name.partition("/")
        if folder == "answers":
            chapter = (ROOT / f"docs/{own}.md").read_text(encoding="utf-8").partition("\n")[0][2:]
            back = f"Chapter: [{chapter}](/{own}.md) ·\n[its questions](/{own}.md#questions)\n"
        else:
            exercise = next(each for each in self.exercises if each.full_name == own)
            back = self._way_back(exercise, folder)
        title, _, rest = text.partition("\n")
        if folder == "hints":
            rest = re.sub(r"(?ms)^## \d+\..*?(?=^## \d+\.|\Z)", _with_closed_answer, rest)
        return f"{title}\n\n{back}{rest}"

    @staticmethod
    def _way_back(exercise: Exercise, here: str) -> str:
        """From the exercise's page in a folder to its section and its pages in the others."""
        title = f"{exercise.id} {exercise.name}"
        anchor = pages.anchors(f"## {title}")[0]
        back = f"Chapter: [{title}](/{exercise.chapter_folder}.md#{anchor})"
        for shown in ("files", "tests", "hints", "solutions"):
            if shown == here:
                continue
            words_of_it = {"files": "your file", "solutions": "solution"}.get(shown, shown)
            back += f" ·\n[{words_of_it}](/{shown}/{exercise.full_name}.md)"
        return back + "\n"

    def _exercise_pages(self, exercise: Exercise) -> Dict[str, str]:
        name = exercise.full_name
        title = f"{exercise.id} {exercise.name}"
        titles = {"files": "your file", "tests": "its tests", "solutions": "a solution"}
        listed = [*self._listed(exercise)]
        return {
            f"{folder}/{name}": _file_page(
                f"{title}: {words_of_it}",
                [file for file, page in listed if page == folder],
                self._way_back(exercise, folder),
            )
            for folder, words_of_it in titles.items()
        }

    def _relinked(self, text: str, source: str, name: str) -> str:
        """The text with each link as seen from the page of that name."""
        lines = text.splitlines()
        for number, _ in pages.outside_code(text):
            lines[number - 1] = re.sub(
                r"(`[^`]*`)|\]\(([^)\s]+)\)",
                lambda m: m[1] or f"]({self._target(m[2], source, name)})",
                lines[number - 1],
            )
        return "\n".join(lines) + "\n"

    def _target(self, target: str, source: str, name: str) -> str:
        if re.match(r"[a-z][a-z+.-]*:|#|/", target):
            return target
        file, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), file))
        path = urllib.parse.unquote(path)
        tail = f"#{anchor}" if anchor else ""
        if path in ("README.md", "."):
            return f"/index.md{tail}"
        if path.endswith(".md") and path[: -len(".md")] in self.names:
            return f"/{self.names[path[: -len('.md')]]}.md{tail}"
        if path.startswith("docs/images/"):
            return f"/{path[len('docs/') :]}"
        if (ROOT / path).is_dir():
            readme = f"{path}/README.md"
            return self._target(readme, "", name) if (ROOT / readme).is_file() else target
        if self.book and (ROOT / path).is_file():
            return f"lab:{path}"  # the words stay, without a link
        if path in self.listings:
            return self.listings[path]
        if (ROOT / path).is_file():
            if path not in self.sources:
                self.sources.append(path)
            return f"/files/{path}.md"
        return target  # Sphinx says that it leads nowhere


def _file_page(title: str, files: List[Path], before: str = "") -> str:
    """A page that shows files. Its text is not searched: that finds chapters, not code. Code needs
    the room of the contents beside the page, so what would be in them is at the beginning."""
    parts = [f"---\norphan: true\nnosearch: true\nhide-toc: true\n---\n\n# {title}\n\n{before}"]
    files = [file for file in files if file.is_file()]
    if len(files) > 1:
        links = (f"[`{file.name}`](#{pages.anchors(f'## {file.name}')[0]})" for file in files)
        parts.append(f"In this page: {' · '.join(links)}\n")
    for file in files:
        lexer = LEXERS.get(file.suffix, "none")
        path = file.relative_to(ROOT).as_posix()
        text = file.read_text(encoding="utf-8").rstrip("\n")
        parts.append(f"## {file.name}\n\n`{path}`\n\n~~~~~{lexer}\n{text}\n~~~~~\n")
    return "\n".join(parts)


def _write(path: Path, content: Union[str, bytes]) -> None:
    """Only if it changes, so that Sphinx reads again only what has."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _write_generated_static(folder: Path) -> None:
    _write(folder / "diagrams.css", style.site_css())


def _sphinx(builder: str, source: Path, folder: Path) -> bool:
    """Whether Sphinx has built folder/BUILDER without a warning."""
    command = [sys.executable, "-m", "sphinx", "--builder", builder, "--quiet", "--keep-going"]
    command += ["--fail-on-warning", "--jobs", str(min(2, os.cpu_count() or 1))]
    trees = folder / ("html.trees" if builder == "html" else "book.trees")  # read once for both
    command += ["--conf-dir", str(ROOT / "site"), "--doctree-dir", str(trees)]
    command += [str(source), str(folder / builder)]
    settings = json.dumps({"folder": str(folder), "builder": builder})
    environment = {**os.environ, "LAB_SITE": settings}
    return subprocess.run(command, env=environment, check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the site; warnings are errors.")
    parser.add_argument("folder", type=Path, help="where the site goes, in html/")
    parser.add_argument("--epub", action="store_true", help="build cuda_labs.epub instead")
    parser.add_argument("--pdf", action="store_true", help="build cuda_labs.pdf instead")
    parser.add_argument("--all", action="store_true", help="build the site with both books in it")
    options = parser.parse_args()
    folder = options.folder.resolve()
    stale = drawings.stale(ROOT)
    if stale:
        print(
            f"not as they would be drawn: {', '.join(stale)}."
            " `scripts/lab docs --draw` draws them.",
            file=sys.stderr,
        )
        return 1
    if (options.pdf or options.all) and not paper.browser():
        print(
            "Chromium prints the PDF, and it is not there: `sudo apt-get install chromium`"
            " (Ubuntu: `sudo snap install chromium`).",
            file=sys.stderr,
        )
        return 1
    _write_generated_static(folder / "static")
    with ThreadPoolExecutor() as parts:  # each waits for programs that leave a processor idle
        done = []
        if options.all or not (options.epub or options.pdf):
            done.append(parts.submit(_build_site, folder, options.all))
        if options.all or options.epub or options.pdf:
            kinds = {"epub": options.all or options.epub, "pdf": options.all or options.pdf}
            done.append(parts.submit(_build_books, folder, [k for k in kinds if kinds[k]]))
    if not all(part.result() for part in done):
        return 1
    if options.all:
        for name in ("cuda_labs.epub", "cuda_labs.pdf"):
            shutil.copy(folder / name, folder / "html" / name)
    return 0


def _build_site(folder: Path, with_books: bool) -> bool:
    Site(with_books=with_books).stage(folder / "source")
    return _sphinx("html", folder / "source", folder)


def _build_books(folder: Path, kinds: List[str]) -> bool:
    source = folder / "book"
    book = Site(book=True)
    book.stage(source)
    # The printing browser leaves a processor idle: Sphinx makes the other book meanwhile.
    if "pdf" in kinds and not _sphinx("singlehtml", source, folder):
        return False
    with ThreadPoolExecutor() as parts:
        done = []
        if "pdf" in kinds:
            done.append(parts.submit(_print_book, folder, book))
        if "epub" in kinds:
            done.append(parts.submit(_pack_book, folder, source))
    return all(part.result() for part in done)


def _print_book(folder: Path, book: Site) -> bool:
    whole = folder / "singlehtml/index.html"
    problem = paper.print_book(whole, folder / "cuda_labs.pdf", book.parts())
    if problem:
        print(problem, file=sys.stderr)
    return not problem


def _pack_book(folder: Path, source: Path) -> bool:
    shutil.rmtree(folder / "epub", ignore_errors=True)  # all that is in it would be packed
    if not _sphinx("epub", source, folder):
        return False
    shutil.copy(folder / "epub/cuda_labs.epub", folder / "cuda_labs.epub")
    return True


if __name__ == "__main__":
    sys.exit(main())
