# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The verb export: folders for students, and for other systems."""

import argparse
from pathlib import Path

from lablib import export, packages
from lablib.console import say
from lablib.errors import OK, USAGE, LabError
from lablib.exercises import resolve_all
from lablib.grading import rubric
from lablib.verbs.verb import Parser, Verb, no_arguments


def _edition_arguments(parser: Parser) -> None:
    parser.positional("folder", metavar="DIR", help="a folder that is not there yet")
    parser.add_argument(
        "--without",
        default="solutions,bugs,answers",
        metavar="PART,PART…",
        help=f"what students do not get: {','.join(export.PARTS)} by default; the bugs are the"
        " wrong versions, with the idea behind each",
    )


def _edition(root: Path, options: argparse.Namespace) -> int:
    to = Path(options.folder).absolute()
    without = [name for name in options.without.split(",") if name]
    count = export.student_edition(root, to, without)
    say(f"{count} files in {to}. Try it there: `scripts/lab test 01.2`.")
    return OK


def _jplag_arguments(parser: Parser) -> None:
    parser.positional("submissions", metavar="FOLDER", help="as `scripts/lab grade` reads it")
    parser.positional("folder", metavar="DIR", help="a folder that is not there yet")
    parser.add_argument("--exercises", metavar="ID,ID…", default="", help="such as 03.1,05.1")


def _jplag(root: Path, options: argparse.Namespace) -> int:
    if not options.exercises:
        raise LabError("which exercises? --exercises 03.1,05.1 says so.", USAGE)
    exercises = resolve_all(root, options.exercises.split(","))
    to = Path(options.folder).absolute()
    count = export.jplag(Path(options.submissions).absolute(), exercises, to)
    one = exercises[0].id
    say(f"{count} files in {to}. For each exercise:")
    say(f"java -jar jplag.jar -l cpp -bc {to / one / 'starter'} {to / one / 'submissions'}")
    return OK


def _package(name: str) -> Verb:
    """For a system on which students hand in, and which grades."""
    system = packages.SYSTEMS[name]

    def arguments(parser: Parser) -> None:
        parser.positional("folder", metavar="DIR", help="a folder that is not there yet")
        parser.add_argument("--rubric", type=Path, metavar="FILE", help="what is graded")
        parser.add_argument(
            "--no-sandbox",
            action="store_true",
            help=f"run students' code without isolation beyond that of {system.name}",
        )
        if system.has_image:
            parser.add_argument(
                "--image",
                default=packages.Order.image,
                metavar="NAME",
                help=f"what the image will be called: {packages.Order.image} by default",
            )

    def run(root: Path, options: argparse.Namespace) -> int:
        if not options.rubric:
            raise LabError("which rubric? --rubric week5.toml says so.", USAGE)
        file = options.rubric.absolute()
        order = packages.Order(
            root,
            file,
            rubric.read(root, file),
            Path(options.folder).absolute(),
            options.no_sandbox,
            getattr(options, "image", packages.Order.image),
        )
        say(packages.write(name, order))
        return OK

    return Verb(
        name, f"Make what {system.name} takes to grade what students hand in there.", arguments, run
    )


def _which(root: Path, options: argparse.Namespace) -> int:
    raise LabError("export what? `scripts/lab export --help` shows it.", USAGE)


VERBS = (
    Verb(
        "export",
        "Make a folder for students or for another system.",
        no_arguments,
        _which,
        parts=(
            Verb(
                "student-edition",
                "Copy the course without solutions, answers and bugs: what students get.",
                _edition_arguments,
                _edition,
            ),
            *map(_package, packages.SYSTEMS),
            Verb(
                "jplag",
                "Put each exercise's submissions where JPlag can compare them.",
                _jplag_arguments,
                _jplag,
            ),
        ),
    ),
)
