# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The command line of scripts/lab: finds the verb, calls it, and turns what happens into an exit
status."""

import argparse
import difflib
import importlib
import signal
import sys
from pathlib import Path
from typing import Iterable, Iterator, List, Optional, Tuple

from lablib import streams, version
from lablib.console import say
from lablib.errors import FAILED, INTERRUPTED, OK, USAGE, LabError
from lablib.processes import Interrupted, install_signal_handlers
from lablib.verbs import MODULES
from lablib.verbs.verb import Parser, Verb, require

ORIENTATION = """\
CUDA Labs: learn CUDA by writing it, with a GPU or without one.

Each exercise is a folder such as labs/05_shared_memory/1_dot_product. You edit one file in it, the
.cu file; its tests tell you when it is right. Begin with:

  scripts/lab list              the chapters and exercises, and how far you are
  scripts/lab test 03.1         test your file (without a number: the next unfinished exercise)
  scripts/lab hint 03.1         a hint, then the next one
  scripts/lab run 03.1          run your program; with --solution, the solved one

Also:

  scripts/lab watch 05.1        test again whenever you save
  scripts/lab check 05.1        test under the CPU device's checks for races and bad accesses
  scripts/lab profile 05.1      what memory accesses cost: sectors, bank conflicts, atomics
  scripts/lab bench 05.1        how fast each step is on a GPU
  scripts/lab reset 05.1        begin an exercise anew (your file is kept)
  scripts/lab solution 05.1     show a solution
  scripts/lab doctor            what is installed here, what is missing
  scripts/lab docs              build the course's site, for a browser
  scripts/lab completion bash   have your shell complete verbs and exercises (also zsh, fish)
  scripts/lab grade …           for instructors: grade a class (docs/instructors.md)
  scripts/lab export …          for instructors: the course without solutions, and more
  scripts/lab verify            build and test the whole course, as its authors do
  scripts/lab dev …             for authors of exercises

An exercise can be called 05.1, dot_product, a unique part of its name, or its folder. What is
missing is installed through scripts/setup, which says what it does. `scripts/lab VERB --help` says
more about a verb, and `scripts/lab --version` which version of the course this is."""


def main(arguments: List[str], root: Optional[Path] = None) -> int:
    root = root or Path(__file__).resolve().parents[2]
    install_signal_handlers()
    try:
        status = _status(root, arguments)
        sys.stdout.flush()
        return status
    except streams.OutputLost as error:
        return streams.give_up(error)


def _status(root: Path, arguments: List[str]) -> int:
    try:
        try:
            return _dispatch(root, arguments)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing but the end is left
    except LabError as error:
        message = f"lab: {error}" if error.exit_code else str(error)
        status = error.exit_code
    except Interrupted as interruption:
        message = ("\n" if sys.stderr.isatty() else "") + "lab: stopped."
        number = interruption.number
        status = INTERRUPTED if number == signal.SIGINT else 128 + number
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        message, status = f"lab: {where}{error.strerror or error}.", FAILED
    say(message)
    return status


def _dispatch(root: Path, arguments: List[str]) -> int:
    rest: List[str] = []
    given_rest = "--" in arguments
    if given_rest:
        place = arguments.index("--")
        arguments, rest = arguments[:place], arguments[place + 1 :]
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(ORIENTATION)
        return OK
    if arguments == ["--version"]:
        print(f"CUDA Labs {version.describe(root)}")
        return OK
    verb, name, arguments = _verb(arguments)
    if verb.parts:
        return _help_on_parts(root, verb, arguments)
    parser = Parser(prog=f"scripts/lab {name}", description=verb.sentence, add_help=False)
    parser.add_argument("-h", "--help", action="store_true", help="show this text and exit")
    verb.arguments(parser)
    options, unknown = parser.parse_known_args(arguments)
    if options.help:
        parser.print_help()
        return OK
    _refuse_unknown(verb, name, options, unknown)
    if given_rest and not verb.takes_rest:
        raise LabError(f"`scripts/lab {name}` takes nothing after --.", USAGE)
    require(parser, options)
    if getattr(options, "solution", False) and not (root / "solutions").is_dir():
        raise LabError("this edition of the course has no solutions: leave out --solution.", FAILED)
    options.rest = rest
    return verb.run(root, options)


def all_verbs() -> Iterator[Verb]:
    """One module of verbs after the other: whoever stops at a verb does not wait for the rest."""
    for module in MODULES:
        yield from importlib.import_module(f"lablib.verbs.{module}").VERBS


def _verb(arguments: List[str]) -> Tuple[Verb, str, List[str]]:
    """The verb, or the part of one; its full name; and the arguments that are left."""
    verb, name, arguments = _find(all_verbs(), arguments[0], ""), arguments[0], arguments[1:]
    if verb.parts and arguments and not arguments[0].startswith("-"):
        verb = _find(verb.parts, arguments[0], f"{name} ")
        name, arguments = f"{name} {arguments[0]}", arguments[1:]
    return verb, name, arguments


def _find(verbs: Iterable[Verb], name: str, before: str) -> Verb:
    names = []
    for verb in verbs:
        if verb.name == name:
            return verb
        names.append(verb.name)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean `scripts/lab {before}{near[0]}`?" if near else ""
    raise LabError(
        f"there is no command '{before}{name}'.{hint} `scripts/lab {before}--help` shows them.",
        USAGE,
    )


def _help_on_parts(root: Path, verb: Verb, arguments: List[str]) -> int:
    """`dev` without the part that is meant."""
    if arguments[:1] not in (["-h"], ["--help"]):
        return verb.run(root, argparse.Namespace())
    print(f"usage: scripts/lab {verb.name} PART …\n\n{verb.sentence} The parts:\n")
    width = max(len(part.name) for part in verb.parts) + 2
    for part in verb.parts:
        print(f"  {part.name:<{width}}{part.sentence}")
    print(f"\n`scripts/lab {verb.name} PART --help` says more about one.")
    return OK


def _refuse_unknown(
    verb: Verb, name: str, options: argparse.Namespace, unknown: List[str]
) -> None:
    if not unknown:
        return
    shown = " ".join(unknown)
    if verb.takes_rest and options.id:
        raise LabError(
            f"'{shown}' is not for lab. Arguments for the program follow --:"
            f" `scripts/lab {name} {options.id} -- {shown}`",
            USAGE,
        )
    raise LabError(f"'{shown}' is not understood. See `scripts/lab {name} --help`.", USAGE)
