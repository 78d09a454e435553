# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The verb docs: builds the site from docs/, and serves it; or a book of the same pages."""

import argparse
import functools
import http.server
import os
import subprocess
import sys
from pathlib import Path
from typing import List

from lablib.console import say
from lablib.errors import FAILED, OK, USAGE, LabError
from lablib.files import write_bytes_atomically
from lablib.verbs.verb import Parser, Verb


def _arguments(parser: Parser) -> None:
    parser.add_argument(
        "--serve", action="store_true", help="then serve it to browsers of this machine"
    )
    parser.add_argument(
        "--port", type=_port, default=8000, metavar="N", help="where to serve it; 8000 by default"
    )
    for kind, what in (("epub", "for e-readers"), ("pdf", "for paper (by Chromium)")):
        parser.add_argument(
            f"--{kind}",
            nargs="?",
            const="",
            metavar="FILE",
            help=f"build a book {what} instead; build/site/cuda_labs.{kind} by default",
        )
    parser.add_argument(
        "--all",
        action="store_true",
        help="build the site with both books in it, and links to them on its first page",
    )
    parser.add_argument(
        "--draw", action="store_true", help="first draw the pictures in docs/images/diagrams again"
    )
    parser.add_argument(
        "--animate",
        action="store_true",
        help="first make the animations in docs/images again, with the solutions of 04.2 and 08.4",
    )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is not a port, from 1 to 65535")
    return int(text)


def _docs(root: Path, options: argparse.Namespace) -> int:
    if options.draw:
        _run([sys.executable, str(root / "site/draw.py")], "the pictures could not be drawn.")
    built = root / "build/site"
    if options.animate:
        _run([sys.executable, str(root / "site/animate.py")], "the animations could not be made.")
    books = {
        kind: Path(file) if file else built / f"cuda_labs.{kind}"
        for kind, file in (("epub", options.epub), ("pdf", options.pdf))
        if file is not None
    }
    if books and options.all:
        raise LabError("--all builds both books; --epub and --pdf build them alone.", USAGE)
    if books and options.serve:
        raise LabError("a book is a file: --serve goes without --epub and --pdf.", USAGE)
    for file in books.values():
        if file.parent != built:
            _require_place_for(file)
    python = _tools(root)
    build = [str(python), str(root / "site/build.py"), str(built)]
    if books:
        _run([*build, *(f"--{kind}" for kind in books)], "the book could not be built.")
        for kind, file in books.items():
            if file.parent != built:
                try:
                    write_bytes_atomically(file, (built / f"cuda_labs.{kind}").read_bytes())
                except OSError as error:
                    raise LabError(f"{file} cannot be written: {error.strerror}.") from error
            say(f"the book: {file}")
        return OK
    _run([*build, *(["--all"] if options.all else [])], "the site could not be built.")
    say(f"the site: {built / 'html/index.html'}")
    if options.serve:
        _serve(built / "html", options.port)
    return OK


def _require_place_for(file: Path) -> None:
    """Before minutes are spent on what goes there."""
    folder = file.parent
    if not folder.is_dir():
        raise LabError(f"there is no folder {folder} for {file.name}.", USAGE)
    if file.is_dir():
        raise LabError(f"{file} is a folder; the book is a file.", USAGE)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise LabError(f"you may not write into {folder.resolve()}.", USAGE)


def _tools(root: Path) -> Path:
    """The Python that has the site's tools, in the versions that site/tools.txt names."""
    folder = root / ".lab/site"
    wanted = (root / "site/tools.txt").read_text(encoding="utf-8")
    python = folder / "bin/python"
    there = folder / "tools.txt"
    if there.is_file() and there.read_text(encoding="utf-8") == wanted:
        return python
    if sys.version_info < (3, 11):
        raise LabError("the site's tools need Python 3.11 or later.")
    say("lab: installing the tools of site/tools.txt into .lab/site")
    _run(
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        "there is no virtual environment (is python3-venv installed?).",
    )
    _run(
        [
            *(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--retries", "5", "--requirement", str(root / "site/tools.txt")),
        ],
        "the tools of site/tools.txt could not be installed (is PyPI reached?).",
    )
    there.write_text(wanted, encoding="utf-8")
    return python


def _run(command: List[str], complaint: str) -> None:
    if subprocess.run(command, check=False).returncode:
        raise LabError(complaint, FAILED)


def _serve(folder: Path, port: int) -> None:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        say(f"served at http://127.0.0.1:{port}/ until Ctrl-C")
        server.serve_forever()


VERBS = (
    Verb(
        "docs",
        "Build the course's site from its pages, for a browser; it needs no network when read. Or a"
        " book of them.",
        _arguments,
        _docs,
    ),
)
