# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The book on paper: Sphinx makes one page of all, and Chromium prints it.

Chromium numbers the pages, but a style sheet cannot ask it on which of them a heading is. So it
prints twice: once to learn the numbers, and once with them in the table of contents. Only then it
writes the outline, and tags for those who have the book read aloud: a third of the time.
"""

import html
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import pypdf

Parts = Dict[str, List[str]]  # a part's title, and the names of its pages
CHAPTER = re.compile(
    r'<section id="([^"]+)"><span id="document-([^"]+)"></span>\s*'
    r'(?:<span id="[^"]+"></span>\s*)*<h2>(.*?)<a class="headerlink"'
)
EXERCISE = re.compile(r'<span id="([^"]+)"></span><h3>(\d\d\.\d+ .*?)<a class="headerlink"')


def browser() -> Optional[str]:
    return shutil.which("chromium") or shutil.which("google-chrome")


def print_book(page: Path, file: Path, parts: Parts) -> str:
    """What went wrong, if anything did. The file is written whole or not at all."""
    text = page.read_text(encoding="utf-8")
    # A chapter's anchor is before its section: on the page where the chapter before it ends.
    text = re.sub(r'(<span id="document-[^"]+"></span>)(<section id="[^"]+">)', r"\2\1", text)
    text = text.replace("</head>", f"<style>\n{_footers(text)}</style></head>", 1)
    before, chapters, after = text.partition('<div class="toctree-wrapper')
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        printed = Path(folder) / file.name
        numbers: Dict[str, int] = {}
        for last in (False, True):
            contents = _contents(text, parts, numbers)
            whole = page.with_name("whole.html")
            whole.write_text(f"{before}{contents}{chapters}{after}", encoding="utf-8")
            problem = _print(whole, printed, last)
            if problem:
                return problem
            book = pypdf.PdfReader(printed)
            numbers = {
                name.lstrip("/"): 1 + (book.get_destination_page_number(destination) or 0)
                for name, destination in book.named_destinations.items()
            }
        os.replace(printed, file)
    return ""


def _footers(text: str) -> str:
    """Each page of paper says in which chapter it is."""
    rules = []
    for number, (anchor, _, title) in enumerate(CHAPTER.findall(text)):
        words = html.unescape(re.sub(r"<[^>]+>", "", title)).replace('"', "")
        rules.append(f'@page p{number} {{ @bottom-left {{ content: "{words}"; }} }}\n')
        rules.append(f'[id="{anchor}"] {{ page: p{number}; }}\n')
    return "".join(rules)


def _contents(text: str, parts: Parts, numbers: Dict[str, int]) -> str:
    """Parts, chapters, exercises; 0 is a number that is not known yet."""
    places = [(m.start(), m[2], m[3]) for m in CHAPTER.finditer(text)]
    exercises: Dict[str, List[Tuple[str, str]]] = {name: [] for _, name, _ in places}
    for match in EXERCISE.finditer(text):
        chapter = [name for start, name, _ in places if start < match.start()][-1]
        exercises[chapter].append((match[1], match[2]))
    titles = {name: title for _, name, title in places}
    lines = ['<nav id="contents">', "<h2>Contents</h2>"]
    for part, names in parts.items():
        lines.append(f'<p class="part">{part}</p>')
        for name in names:
            lines.append(_entry("chapter", f"document-{name}", titles[name], numbers))
            if re.match(r"\d\d_", name):
                lines += [_entry("exercise", i, title, numbers) for i, title in exercises[name]]
    return "\n".join([*lines, "</nav>\n"])


def _entry(kind: str, anchor: str, title: str, numbers: Dict[str, int]) -> str:
    number = numbers.get(anchor, 0)
    return (
        f'<p class="{kind}"><a href="#{anchor}"><span>{title}</span><span>{number}</span></a></p>'
    )


def _print(page: Path, file: Path, tags: bool) -> str:
    """What the browser said, if it printed nothing."""
    command = [browser() or "", "--headless=new", "--disable-gpu", "--disable-dev-shm-usage"]
    command += ["--no-sandbox"] if os.geteuid() == 0 else []  # as root it does not start with one
    command += ["--no-pdf-header-footer"]
    command += ["--generate-pdf-document-outline" if tags else "--disable-pdf-tagging"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--print-to-pdf={file}", page.as_uri()]
    file.unlink(missing_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if file.is_file() else f"{command[0]} has printed nothing:\n{done.stderr}"
