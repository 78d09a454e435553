# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The verb grade: what instructors use."""

import argparse
import os
from pathlib import Path

from lablib import build, device
from lablib.console import Progress, say
from lablib.errors import OK, USAGE, LabError
from lablib.exercises import resolve_all
from lablib.grading import collect, formats, grade, reports, rubric, sandbox
from lablib.grading.rubric import Rubric
from lablib.verbs import verb
from lablib.verbs.verb import Parser, Verb


def _arguments(parser: Parser) -> None:
    parser.positional(
        "submissions", metavar="FOLDER", help="a folder with a folder or an archive a student"
    )
    parser.add_argument(
        "--exercises",
        metavar="ID,ID…",
        required=False,
        help="what to grade, such as 03.1,05.1,10.4",
    )
    parser.add_argument(
        "--rubric",
        type=Path,
        metavar="FILE",
        help="what to grade, and how, in TOML (docs/instructors.md); in the place of --exercises",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="where records and reports go: results/ by default",
    )
    parser.add_argument(
        "--format",
        default="",
        metavar="NAME,NAME…",
        help="also write the results as another system reads them: "
        + ", ".join([*formats.OF_A_CLASS, *formats.OF_A_STUDENT]),
    )
    verb.jobs(parser)
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run students' code with nothing around it; every report says so",
    )


def _rubric(root: Path, options: argparse.Namespace) -> Rubric:
    if bool(options.exercises) == bool(options.rubric):
        raise LabError("which exercises? --exercises 03.1,05.1 or --rubric FILE says so.", USAGE)
    if options.rubric:
        return rubric.read(root, options.rubric)
    return rubric.of_exercises(resolve_all(root, options.exercises.split(",")))


def _grade(root: Path, options: argparse.Namespace) -> int:
    plan = _rubric(root, options)
    wanted = formats.names(options.format)
    exercises = [task.exercise for task in plan.tasks]
    out = (options.out or Path("results")).absolute()
    place = sandbox.NONE if options.no_sandbox else sandbox.find()
    submissions = collect.submissions(Path(options.submissions).absolute())
    chosen = device.choose("cpu")
    build.require_packages(root)
    say(
        f"{len(submissions)} submissions, {len(exercises)} exercises; {place.name};"
        f" results in {out}"
    )
    prepared = grade.prepare(root, chosen, plan, place, out / "records")
    progress = Progress("grading")
    try:
        grade.grade(
            prepared,
            submissions,
            place,
            out,
            options.jobs or os.cpu_count() or 1,
            lambda done, total: progress.update(f"[{done}/{total}]"),
        )
    finally:
        progress.done()
    students = [submission.student for submission in submissions]
    table = grade.table(prepared, students, plan, out)
    reports.write_all(out, table, exercises, place.name, plan.title)
    formats.write(out, wanted, table, plan.title or "CUDA Labs")
    say(f"Done: {out / 'index.html'} shows the class, {out / 'class.csv'} has the points.")
    return OK


VERBS = (
    Verb(
        "grade",
        "Grade a class: compile and test each submission in a sandbox, and write points, feedback"
        " and reports. The same command again goes on where it was stopped.",
        _arguments,
        _grade,
    ),
)
