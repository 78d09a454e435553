#!/usr/bin/env python3
# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Builds the site: brings its pages together in one folder, and has Sphinx turn them into HTML.

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
from pathlib import Path
from typing import Dict, List

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "site")]

import api
from diagrams import drawings

from lablib import pages
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
    "Reference": ["glossary", "benchmarks", "tools", "debugging", "editors", "api"],
    "The project": [
        "instructors",
        "contributing",
        "development",
        "architecture",
        "cpu_device",
        "decisions",
        "changelog",
        "citing",
    ],
    "Translations": [r"[a-z]{2}/\d\d_\w+"],
}

# Pages from outside of docs/, by their names in the site.
OTHER_PAGES = {"contributing": "CONTRIBUTING.md", "cpu_device": "common/cpu_device/README.md"}

LEXERS = {".cu": "cuda", ".hpp": "cpp", ".cpp": "cpp", ".h": "cpp", ".py": "python", ".md": "none"}


class Site:
    """What the site consists of; stage() writes it to a folder, as Sphinx wants it."""

    def __init__(self) -> None:
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
        self.sources: List[str] = []  # other files that pages link to

    def stage(self, folder: Path) -> None:
        texts: Dict[str, str] = {}
        for source, name in self.names.items():
            text = (ROOT / f"{source}.md").read_text(encoding="utf-8")
            if re.fullmatch(r"docs/\d\d_\w+", source):
                text = self._with_file_links(text)
            text = self._relinked(text, f"{source}.md", name)
            if name.startswith(("answers/", "hints/")):
                text = f"---\norphan: true\n---\n\n{text}"
            texts[name] = text
        for exercise in self.exercises:
            texts.update(self._exercise_pages(exercise))
        texts.update(self.headers)
        self.sources += [path for path in api.headers(ROOT) if path not in self.sources]
        for source in self.sources:
            texts[f"files/{source}"] = _file_page(f"`{source}`", [ROOT / source])
        texts["index"] += self._contents()
        written = {folder / f"{name}.md" for name in texts}
        for name, text in texts.items():
            _write(folder / f"{name}.md", text)
        for old in folder.rglob("*.md"):
            if old not in written:
                old.unlink()
        shutil.copytree(ROOT / "docs/images", folder / "images", dirs_exist_ok=True)

    def _contents(self) -> str:
        """The table of contents; each part is a list of pages that are there."""
        text = ""
        for title, patterns in SECTIONS.items():
            found = [
                name
                for pattern in patterns
                for name in sorted([*self.names.values(), *self.headers])
                if re.fullmatch(pattern, name)
            ]
            if found:
                listed = "\n".join(found)
                text += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{listed}\n```\n"
        return text

    def _with_file_links(self, text: str) -> str:
        """Below the heading of each exercise: where its files are."""
        for exercise in self.exercises:
            place = pages.section_line(text, exercise.id)
            if not place:
                continue
            lines = text.splitlines()
            links = (
                f"[your file, contract, program](/files/{exercise.full_name}.md)",
                f"[tests](/tests/{exercise.full_name}.md)",
                f"[hints](/hints/{exercise.full_name}.md)",
                f"[solution](/solutions/{exercise.full_name}.md)",
            )
            lines[place:place] = ["", ":::{container} exercise-files", " · ".join(links), ":::"]
            text = "\n".join(lines) + "\n"
        return text

    def _exercise_pages(self, exercise: Exercise) -> Dict[str, str]:
        folder = exercise.folder
        own = [exercise.lab_file, folder / f"{exercise.name}.hpp", folder / "main.cpp"]
        others = [f for f in sorted(folder.glob("*.[hc]pp")) if f not in own]
        tests = [
            exercise.tests_folder / f"{exercise.name}_test.cpp",
            *sorted(exercise.tests_folder.glob(f"{exercise.name}*.hpp")),
            exercise.bugs_file,
        ]
        name = exercise.full_name
        title = f"{exercise.id} {exercise.name}"
        back = f"Chapter: [{title}](/{exercise.chapter_folder}.md)\n"
        return {
            f"files/{name}": _file_page(f"{title}: your file", [*own, *others], back),
            f"tests/{name}": _file_page(f"{title}: its tests", tests, back),
            f"solutions/{name}": _file_page(f"{title}: a solution", [exercise.solution_file], back),
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
        if (ROOT / path).is_file():
            if path not in self.sources:
                self.sources.append(path)
            return f"/files/{path}.md"
        return target  # Sphinx says that it leads nowhere


def _file_page(title: str, files: List[Path], before: str = "") -> str:
    """A page that shows files. Its text is not searched: that finds chapters, not code."""
    parts = [f"---\norphan: true\nnosearch: true\n---\n\n# {title}\n\n{before}"]
    for file in files:
        if not file.is_file():
            continue
        lexer = LEXERS.get(file.suffix, "none")
        path = file.relative_to(ROOT).as_posix()
        text = file.read_text(encoding="utf-8").rstrip("\n")
        parts.append(f"## {file.name}\n\n`{path}`\n\n~~~~~{lexer}\n{text}\n~~~~~\n")
    return "\n".join(parts)


def _write(path: Path, text: str) -> None:
    """Only if it changes, so that Sphinx reads again only what has."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _write_generated_static(folder: Path) -> None:
    _write(folder / "diagrams.css", style.site_css())


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the site; warnings are errors.")
    parser.add_argument("folder", type=Path, help="where the site goes, in html/")
    folder = parser.parse_args().folder.resolve()
    stale = drawings.stale(ROOT)
    if stale:
        print(
            f"not as they would be drawn: {', '.join(stale)}."
            " `scripts/lab docs --draw` draws them.",
            file=sys.stderr,
        )
        return 1
    source = folder / "source"
    Site().stage(source)
    _write_generated_static(folder / "static")
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--quiet", "--fail-on-warning"]
    command += ["--keep-going", "--jobs", str(min(2, os.cpu_count() or 1))]
    command += ["--conf-dir", str(ROOT / "site"), "--doctree-dir", str(folder / "doctrees")]
    command += [str(source), str(folder / "html")]
    environment = {**os.environ, "LAB_SITE": json.dumps({"folder": str(folder)})}
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
