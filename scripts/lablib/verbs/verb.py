# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What a verb is, and the arguments that several verbs share."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence

from lablib import device
from lablib.console import say
from lablib.errors import OK, USAGE, LabError
from lablib.exercises import Exercise, find_exercises
from lablib.state import Progress
from lablib.test_program import CASE_LIMIT


class Parser(argparse.ArgumentParser):
    """Reports every mistake on the command line as a LabError."""

    def __init__(self, **options: Any) -> None:
        self.needed: Dict[str, str] = {}  # positional arguments that may not be left out
        self.options: Dict[str, str] = {}  # the long ones, with their help
        super().__init__(allow_abbrev=False, **options)

    def add_argument(self, *names: str, **how: Any) -> argparse.Action:
        for name in names:
            if name.startswith("--"):
                self.options[name] = how.get("help", "")
        return super().add_argument(*names, **how)

    def positional(self, name: str, *, metavar: str, help: str) -> None:
        """An argument that must be given; require() says so if it is not."""
        self.add_argument(name, metavar=metavar, help=help, nargs="?")
        self.needed[name] = metavar

    def error(self, message: str) -> NoReturn:
        raise LabError(f"{message}. See `{self.prog} --help`.", USAGE)


@dataclass(frozen=True)
class Verb:
    """One verb, such as `test`; or one part of `dev`."""

    name: str
    sentence: str  # what it does, for somebody who has never used it
    arguments: Callable[[Parser], None]
    run: Callable[[Path, argparse.Namespace], int]
    takes_rest: bool = False  # passes what follows -- on to a program
    parts: Sequence["Verb"] = ()
    takes_exercises: bool = False  # its first argument names an exercise: for completion

    def part(self, name: str) -> Optional["Verb"]:
        return next((part for part in self.parts if part.name == name), None)


def require(parser: Parser, options: argparse.Namespace) -> None:
    """Complains about the first positional argument that is missing."""
    for name, shown in parser.needed.items():
        if getattr(options, name) is not None:
            continue
        if name == "id":
            raise LabError(
                f"which exercise? Give its number or its name: `{parser.prog} 03.1`."
                " `scripts/lab list` shows them all.",
                USAGE,
            )
        raise LabError(f"{shown} is missing. See `{parser.prog} --help`.", USAGE)


# --- arguments -----------------------------------------------------------------------------------


def no_arguments(parser: Parser) -> None:
    """Of a verb that takes none."""


_ID = "05.1, dot_product, a unique part of a name, or a folder"


def exercise(parser: Parser) -> None:
    parser.positional("id", metavar="ID", help=_ID)


def exercises(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", nargs="*", help=_ID)


def on_device(parser: Parser) -> None:
    parser.add_argument(
        "--device",
        metavar="cpu|gpu",
        help=(
            "where kernels run; by default LAB_DEVICE, or else gpu if nvcc and a GPU are here, or"
            " else cpu"
        ),
    )


def solution(parser: Parser) -> None:
    parser.add_argument(
        "--solution", action="store_true", help="use the solution instead of your own file"
    )


def jobs(parser: Parser) -> None:
    parser.add_argument(
        "--jobs",
        "-j",
        type=positive,
        metavar="N",
        help="how many things to do at once; by default as many as there are cores",
    )


def junit_file(parser: Parser) -> None:
    parser.add_argument(
        "--junit",
        type=Path,
        metavar="FILE",
        help="also write every case's result, time and message to this file, as JUnit XML",
    )


def case_limit(parser: Parser) -> None:
    parser.add_argument(
        "--time-limit",
        type=_seconds,
        default=CASE_LIMIT,
        metavar="SECONDS",
        help=f"stop a test case after this time; {CASE_LIMIT:g} by default, 0: never",
    )


def only(parser: Parser) -> None:
    parser.add_argument(
        "--only",
        default="",
        metavar="NAME",
        help="run the tests with this in their names, such as a step's, and show what they say; an"
        " exercise is done when all of its tests pass",
    )


def program_limit(parser: Parser, default: float) -> None:
    parser.add_argument(
        "--time-limit",
        type=_seconds,
        metavar="SECONDS",
        help=f"stop the program after this time; {default:g} by default, 0: never",
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return value


def positive(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1")
    return int(text)


# --- what verbs begin with -----------------------------------------------------------------------


def seconds_a_case(options: argparse.Namespace) -> float:
    return options.time_limit or float("inf")


def chosen_device(options: argparse.Namespace) -> device.Device:
    chosen = device.choose(options.device)
    say(chosen.sentence())
    return chosen


def all_exercises(root: Path) -> List[Exercise]:
    found = find_exercises(root)
    if not found:
        raise LabError(f"there are no exercises in {root / 'labs'}: is this the whole repository?")
    return found


def progress_of(root: Path) -> Progress:
    progress = Progress(root)
    if progress.problem:
        say(f"lab: {progress.problem}.")
    return progress


def next_exercise(root: Path) -> Exercise:
    """The first one that does not pass yet."""
    following = progress_of(root).next_exercise(all_exercises(root))
    if following is None:
        raise LabError(
            "every exercise passes: there is none left. (`scripts/lab test ID` tests one again.)",
            OK,
        )
    return following
