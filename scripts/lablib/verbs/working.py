# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Verbs that build and run an exercise: run, test, check, profile, watch."""

import argparse
from pathlib import Path

from lablib import build, device, junit, profiling, programs, testing, watching
from lablib.console import say
from lablib.errors import OK, USAGE, LabError
from lablib.exercises import resolve_all, resolve_one
from lablib.verbs import verb
from lablib.verbs.verb import Parser, Verb


def _program_arguments(parser: Parser) -> None:
    parser.usage = (
        f"{parser.prog} ID [--solution] [--device cpu|gpu] [--time-limit SECONDS] [-- ARGUMENT…]"
    )
    verb.exercise(parser)
    verb.solution(parser)
    verb.on_device(parser)
    verb.program_limit(parser, programs.TIME_LIMIT)


def _run(root: Path, options: argparse.Namespace) -> int:
    exercise = resolve_one(root, options.id)
    chosen = verb.chosen_device(options)
    build.require_packages(root)
    return programs.run_program(
        root, exercise, chosen, options.solution, options.rest, options.time_limit
    )


def _profile_arguments(parser: Parser) -> None:
    _program_arguments(parser)
    assert parser.usage
    parser.usage = parser.usage.replace("[-- ", "[--html FILE] [--roofline FILE] [-- ")
    parser.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help=(
            "also write this page, for a browser: for each access the lanes of its costliest"
            " request, and the sectors or banks that they access (CPU device)"
        ),
    )
    parser.add_argument(
        "--roofline",
        type=Path,
        metavar="FILE",
        help=(
            "also write the kernels' bytes, and on a GPU their operations and times, as a table"
            " (CSV) that the program of 21.1 places under the roof with --rows"
        ),
    )


def _profile(root: Path, options: argparse.Namespace) -> int:
    exercise = resolve_one(root, options.id)
    chosen = verb.chosen_device(options)
    build.require_packages(root)
    return profiling.profile(
        root,
        exercise,
        chosen,
        options.solution,
        options.rest,
        options.time_limit,
        options.html,
        options.roofline,
    )


def _test_arguments(parser: Parser) -> None:
    verb.exercises(parser)
    verb.solution(parser)
    verb.on_device(parser)
    verb.only(parser)
    verb.case_limit(parser)
    verb.junit_file(parser)


def _test(root: Path, options: argparse.Namespace) -> int:
    if options.id:
        exercises = resolve_all(root, options.id)
    else:
        exercises = [verb.next_exercise(root)]
        say(f"next: {exercises[0].id} {exercises[0].name}")
    chosen = verb.chosen_device(options)
    build.require_packages(root)
    report = junit.Report() if options.junit is not None else None
    try:
        return testing.test_all(
            root,
            exercises,
            chosen,
            solution=options.solution,
            case_limit=verb.seconds_a_case(options),
            only=options.only,
            report=report,
        )
    finally:
        if report is not None:
            report.write(options.junit)


def _check_arguments(parser: Parser) -> None:
    verb.exercises(parser)
    verb.solution(parser)
    verb.only(parser)
    verb.case_limit(parser)


def _check(root: Path, options: argparse.Namespace) -> int:
    if not options.id:
        raise LabError(
            "which exercise? Give its number or its name: `scripts/lab check 03.1`."
            " `scripts/lab list` shows them all.",
            USAGE,
        )
    exercises = resolve_all(root, options.id)
    chosen = device.Device("cpu", "its checks watch every memory access; times mean nothing here")
    say(chosen.sentence())
    build.require_packages(root)
    return testing.test_all(
        root,
        exercises,
        chosen,
        solution=options.solution,
        watched=True,
        case_limit=verb.seconds_a_case(options),
        only=options.only,
    )


def _watch_arguments(parser: Parser) -> None:
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="the next unfinished exercise if not given"
    )
    verb.on_device(parser)
    verb.case_limit(parser)


def _watch(root: Path, options: argparse.Namespace) -> int:
    exercise = resolve_one(root, options.id) if options.id else verb.next_exercise(root)
    chosen = verb.chosen_device(options)
    build.require_packages(root)
    watching.watch(root, exercise, chosen, case_limit=verb.seconds_a_case(options))
    return OK


VERBS = (
    Verb(
        "run",
        "Build and run the program of an exercise. Arguments after -- go to the program.",
        _program_arguments,
        _run,
        takes_rest=True,
        takes_exercises=True,
    ),
    Verb(
        "test",
        "Test your files: the exercises you name, all of a chapter, or by default the next one that"
        " does not pass yet.",
        _test_arguments,
        _test,
        takes_exercises=True,
    ),
    Verb(
        "check",
        "Test your file on the CPU device while it watches every memory access. This is slower, and"
        " it finds races and bad accesses.",
        _check_arguments,
        _check,
        takes_exercises=True,
    ),
    Verb(
        "profile",
        "Run the program of an exercise and count, line by line, what its memory accesses cost,"
        " with the CPU device's counters or, on a GPU, with Nsight Compute. Arguments after -- go"
        " to the program.",
        _profile_arguments,
        _profile,
        takes_rest=True,
        takes_exercises=True,
    ),
    Verb(
        "watch",
        "Test your file again whenever you save it. Ctrl-C ends it.",
        _watch_arguments,
        _watch,
        takes_exercises=True,
    ),
)
