# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The command line of scripts/lab."""

import argparse
import datetime
import difflib
import io
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Callable, Dict, List, NoReturn, Optional, Tuple

from lablib import authoring, build, course_check, device, doctor, hints, junit, mutate, profiling
from lablib import programs, starters, testing, verify, watching
from lablib.console import paint, say
from lablib.errors import FAILED, INTERRUPTED, OK, USAGE, LabError
from lablib.exercises import Exercise, find_exercises, resolve_all, resolve_one
from lablib.files import short_path, write_atomically
from lablib.processes import Interrupted, install_signal_handlers
from lablib.state import CHANGED, DONE, STARTED, Progress, is_starter

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
  scripts/lab reset 05.1        begin an exercise anew (your file is kept)
  scripts/lab solution 05.1     show a solution
  scripts/lab doctor            what is installed here, what is missing
  scripts/lab verify            build and test the whole course, as its authors do
  scripts/lab dev …             for authors of exercises

An exercise can be called 05.1, dot_product, a part of its name, or its folder. What is missing is
installed through scripts/setup, which says what it does. `scripts/lab COMMAND --help` says more."""


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options):
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        if message == "the following arguments are required: ID":
            raise LabError(
                f"which exercise? Its number or its name follows: `{self.prog} 03.1`."
                " `scripts/lab list` shows them all.",
                USAGE,
            )
        raise LabError(f"{message}. See `{self.prog} --help`.", USAGE)


def _parser() -> Tuple[_Parser, Dict[str, _Parser]]:
    parser = _Parser(prog="scripts/lab", add_help=False)
    commands = parser.add_subparsers(dest="command", parser_class=_Parser)
    table: Dict[str, _Parser] = {}

    def add(name: str, what: str) -> _Parser:
        table[name] = commands.add_parser(name, description=what)
        return table[name]

    def exercise(command: _Parser, **how) -> None:
        command.add_argument(
            "id", metavar="ID", help="05.1, dot_product, a part of its name, or its folder", **how
        )

    def on_device(command: _Parser) -> None:
        command.add_argument(
            "--device",
            metavar="cpu|gpu",
            help=(
                "what runs the kernels; else LAB_DEVICE, else gpu where nvcc and a GPU are there,"
                " else cpu"
            ),
        )

    def solution(command: _Parser) -> None:
        command.add_argument(
            "--solution", action="store_true", help="the solution instead of your own file"
        )

    def limit(command: _Parser, default, what: str) -> None:
        command.add_argument(
            "--time-limit", type=_seconds, default=default, metavar="SECONDS", help=what
        )

    def junit_file(command: _Parser) -> None:
        command.add_argument(
            "--junit",
            type=Path,
            metavar="FILE",
            help="also write every case's result, time and message to this file, as JUnit XML",
        )

    def jobs(command: _Parser) -> None:
        command.add_argument(
            "--jobs",
            "-j",
            type=_positive,
            metavar="N",
            help="how much runs at once; all cores if not given",
        )

    command = add("list", "The chapters and exercises, and how far you are.")
    exercise(command, nargs="*")

    command = add(
        "run", "Build and run the program of an exercise. What stands after -- goes to the program."
    )
    command.usage = (
        "scripts/lab run ID [--solution] [--device cpu|gpu] [--time-limit SECONDS] [-- ARGUMENT…]"
    )
    exercise(command)
    solution(command)
    on_device(command)
    limit(
        command,
        None,
        f"stop the program after this time, {programs.TIME_LIMIT:g} if not given; 0: never",
    )

    command = add(
        "test",
        "Test your own files. Without an ID: the next unfinished exercise; a chapter: all of it.",
    )
    exercise(command, nargs="*")
    solution(command)
    on_device(command)
    limit(command, 60.0, "for each test case, 60 if not given")
    junit_file(command)

    command = add(
        "check",
        "Test your file on the CPU device while it watches every memory access: slower, finds"
        " races.",
    )
    exercise(command, nargs="+")
    solution(command)
    limit(command, 60.0, "for each test case, 60 if not given")

    command = add(
        "profile",
        "Run the program of an exercise and count, line by line, what its memory accesses cost: the"
        " CPU device's counters, or Nsight Compute's on a GPU. What stands after -- goes to the"
        " program.",
    )
    command.usage = (
        "scripts/lab profile ID [--solution] [--device cpu|gpu] [--time-limit SECONDS]"
        " [-- ARGUMENT…]"
    )
    exercise(command)
    solution(command)
    on_device(command)
    limit(
        command,
        None,
        f"stop the program after this time, {programs.TIME_LIMIT:g} if not given; 0: never",
    )

    command = add("watch", "Test your file again whenever you save it, until Ctrl-C.")
    exercise(command, nargs="?")
    on_device(command)
    limit(command, 60.0, "for each test case, 60 if not given")

    command = add("hint", "The next hint for an exercise, or hint number N.")
    exercise(command)
    command.add_argument(
        "number", metavar="N", nargs="?", help="which hint; the next unseen one if not given"
    )

    command = add(
        "reset",
        "Put the original file of an exercise back. A copy of yours is kept in .lab/backup.",
    )
    exercise(command)
    command = add("solution", "Show the solution of an exercise.")
    exercise(command)

    add("doctor", "What is installed here, and what is missing.")

    command = add(
        "verify",
        "Build and test the whole course: solutions, library, devices, tools, and the bugs that"
        " tests must catch.",
    )
    on_device(command)
    jobs(command)
    junit_file(command)

    command = add("dev", "For authors of exercises.")
    parts = command.add_subparsers(
        dest="part",
        metavar="new|check|mutate|starters|bugs|rename",
        parser_class=_Parser,
        required=True,
    )
    part = parts.add_parser("new", description="A new exercise that works, for you to replace.")
    part.add_argument("number", metavar="ID", help="its number, such as 05.9")
    part.add_argument("name", metavar="NAME", help="its name, such as prefix_sum")
    part.add_argument("--chapter", metavar="NAME", help="the name of a chapter that is new")
    part = parts.add_parser(
        "rename", description="Give an exercise another number or name: its files, its section."
    )
    exercise(part)
    part.add_argument("new", metavar="NEW", help="05.7, another_name, or 05.7_another_name")
    part = parts.add_parser(
        "check",
        description="Whether what you have changed since the main branch keeps the course's rules.",
    )
    exercise(part, nargs="*")
    part.add_argument("--all", action="store_true", help="everything, not only what has changed")
    part.add_argument("--static", action="store_true", help="only what needs no build: seconds")
    on_device(part)
    jobs(part)
    part = parts.add_parser(
        "starters", description="Make all starters in labs/ anew from the solutions."
    )
    part.add_argument(
        "--check", action="store_true", help="only compare; exit 1 if one is not the generated one"
    )
    part = parts.add_parser(
        "bugs",
        description="Build the bugs of some exercises, or of all, and see that each is caught.",
    )
    exercise(part, nargs="*")
    on_device(part)
    jobs(part)
    part = parts.add_parser(
        "mutate",
        description="Make general mistakes at every place of a solution where they fit, and see"
        " that its tests catch each one, on the CPU device.",
    )
    exercise(part, nargs="*")
    part.add_argument("--all", action="store_true", help="of all exercises")
    part.add_argument("--list", action="store_true", help="only show the mistakes")
    part.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="only this one, or this kind, such as no_barrier; may be given several times",
    )
    jobs(part)
    return parser, table


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return value


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1")
    return int(text)


def _chosen_device(options: argparse.Namespace) -> device.Device:
    chosen = device.choose(options.device)
    say(chosen.sentence())
    return chosen


def _progress(root: Path) -> Progress:
    progress = Progress(root)
    if progress.problem:
        say(f"lab: {progress.problem}.")
    return progress


def _next(root: Path) -> Exercise:
    following = _progress(root).next_exercise()
    if following is None:
        if not find_exercises(root):
            raise LabError(
                f"there are no exercises in {root / 'labs'}: is this the whole repository?"
            )
        raise LabError(
            "every exercise passes: there is none left. (`scripts/lab test ID` tests one again.)",
            OK,
        )
    return following


def list_command(root: Path, options: argparse.Namespace, rest: List[str]) -> int:
    progress = _progress(root)
    exercises = find_exercises(root)
    if not exercises:
        raise LabError(f"there are no exercises in {root / 'labs'}: is this the whole repository?")
    status = {exercise.id: progress.status(exercise) for exercise in exercises}
    following = next((exercise for exercise in exercises if status[exercise.id] != DONE), None)
    if options.id:
        exercises = resolve_all(root, options.id)
    width = max(len(exercise.full_name) for exercise in exercises) + 2
    for chapter in dict.fromkeys(exercise.chapter_folder for exercise in exercises):
        own = [exercise for exercise in exercises if exercise.chapter_folder == chapter]
        done = sum(status[exercise.id] == DONE for exercise in own)
        print(
            paint(
                f"{own[0].chapter:02} {own[0].chapter_name.replace('_', ' ')}  ({done} of"
                f" {len(own)} done)",
                "bold",
            )
        )
        for exercise in own:
            state = status[exercise.id]
            mark, style = {
                DONE: ("✓", "green"),
                CHANGED: ("~", "yellow"),
                STARTED: ("…", "yellow"),
            }.get(state, (" ", "dim"))
            arrow = "  ← next" if exercise == following else ""
            print(
                f"  {paint(mark, style)} {f'{exercise.id} {exercise.name}':<{width}}"
                f" {paint(state, style)}{arrow}"
            )
    print()
    if following is None:
        print("Every exercise passes.")
    else:
        print(f"Next: `scripts/lab test {following.id}`")
    return OK


def run_command(root: Path, options: argparse.Namespace, rest: List[str]) -> int:
    exercise = resolve_one(root, options.id)
    chosen = _chosen_device(options)
    build.require_packages(root)
    return programs.run_program(root, exercise, chosen, options.solution, rest, options.time_limit)


def _case_limit(options: argparse.Namespace) -> float:
    return options.time_limit or float("inf")


def test_command(root: Path, options: argparse.Namespace, rest: List[str]) -> int:
    if options.id:
        exercises = resolve_all(root, options.id)
    else:
        exercises = [_next(root)]
        say(f"next: {exercises[0].id} {exercises[0].name}")
    chosen = _chosen_device(options)
    build.require_packages(root)
    how = {"solution": options.solution, "case_limit": _case_limit(options)}
    if options.junit is None:
        return testing.test_all(root, exercises, chosen, **how)
    report = junit.Report()
    try:
        return testing.test_all(root, exercises, chosen, report=report, **how)
    finally:
        report.write(options.junit)


def check_command(root: Path, options: argparse.Namespace, rest: List[str]) -> int:
    exercises = resolve_all(root, options.id)
    chosen = device.Device("cpu", "its checks watch every memory access; times mean nothing here")
    say(chosen.sentence())
    build.require_packages(root)
    return testing.test_all(
        root,
        exercises,
        chosen,
        solution=options.solution,
        preset="cpu-check",
        case_limit=_case_limit(options),
    )


def profile_command(root: Path, options: argparse.Namespace, rest: List[str]) -> int:
    exercise = resolve_one(root, options.id)
    chosen = _chosen_device(options)
    build.require_packages(root)
    return profiling.profile(root, exercise, chosen, options.solution, rest, options.time_limit)


def watch_command(root: Path, options: argparse.Namespace, rest: List[str]) -> int:
    exercise = resolve_one(root, options.id) if options.id else _next(root)
    chosen = _chosen_device(options)
    build.require_packages(root)
    watching.watch(root, exercise, chosen, case_limit=_case_limit(options))
    return OK


def hint_command(root: Path, options: argparse.Namespace, rest: List[str]) -> int:
    exercise = resolve_one(root, options.id)
    print(hints.hint_text(exercise, _progress(root), options.number))
    return OK


def reset_command(root: Path, options: argparse.Namespace, rest: List[str]) -> int:
    exercise = resolve_one(root, options.id)
    file = exercise.lab_file
    starter = starters.generate_file(exercise.solution_file)
    if is_starter(exercise):
        print(f"{short_path(file, root)} is as it was at the beginning: nothing to do.")
        return OK
    try:
        if file.exists():
            stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
            folder = root / ".lab" / "backup"
            backup = folder / f"{exercise.full_name}.{stamp}.cu"
            number = 1
            while backup.exists():
                number += 1
                backup = folder / f"{exercise.full_name}.{stamp}-{number}.cu"
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, backup)
            print(f"Your file is kept: {short_path(backup, root)}")
        write_atomically(file, starter)
    except OSError as error:
        raise LabError(f"cannot reset {file}: {error}.") from error
    print(f"{short_path(file, root)} is as it was at the beginning.")
    return OK


def solution_command(root: Path, options: argparse.Namespace, rest: List[str]) -> int:
    exercise = resolve_one(root, options.id)
    try:
        text = exercise.solution_file.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(
            f"there is no solution to show: {exercise.solution_file}: {error.strerror}."
        ) from error
    print(f"// {short_path(exercise.solution_file, root)}\n")
    sys.stdout.write(text)
    return OK


def doctor_command(root: Path, options: argparse.Namespace, rest: List[str]) -> int:
    return doctor.doctor(root)


def verify_command(root: Path, options: argparse.Namespace, rest: List[str]) -> int:
    chosen = _chosen_device(options)
    build.require_packages(root)
    return verify.verify(root, chosen, options.jobs, options.junit)


def dev_command(root: Path, options: argparse.Namespace, rest: List[str]) -> int:
    parts = {
        "new": _dev_new,
        "rename": _dev_rename,
        "check": _dev_check,
        "starters": _dev_starters,
        "bugs": _dev_bugs,
        "mutate": _dev_mutate,
    }
    return parts[options.part](root, options)


def _dev_new(root: Path, options: argparse.Namespace) -> int:
    exercise, files = authoring.new_exercise(root, options.number, options.name, options.chapter)
    for path in files:
        print(short_path(path, root))
    print(
        "\nIt works as it is: its kernel doubles each element. Each file has a note, AUTHOR: …,"
        f" that says what to put there.\nNext: `scripts/lab dev check {exercise.id}` lists the"
        " notes, and CONTRIBUTING.md takes you through."
    )
    return OK


def _dev_rename(root: Path, options: argparse.Namespace) -> int:
    exercise, mentions = authoring.rename_exercise(root, options.id, options.new)
    print(f"It is {exercise.id} {exercise.name} now: {short_path(exercise.folder, root)}")
    if mentions:
        print("The old number or name stands in these places, too. Look at each:")
        print("\n".join(f"  {mention}" for mention in mentions))
    print(f"Next: `scripts/lab dev check {exercise.id}`")
    return OK


def _dev_check(root: Path, options: argparse.Namespace) -> int:
    if options.all and options.id:
        raise LabError("either --all or some exercises, not both.", USAGE)
    if options.device not in (None, "cpu", "gpu"):
        raise LabError(f"--device is '{options.device}': it must be cpu or gpu.", USAGE)
    return course_check.check(
        root,
        options.id,
        everything=options.all,
        static=options.static,
        only_device=options.device,
        jobs=options.jobs,
    )


def _dev_starters(root: Path, options: argparse.Namespace) -> int:
    wrong = 0
    exercises = find_exercises(root)
    for exercise in exercises:
        try:  # one solution with a mistake does not hide the others
            if options.check:
                problem = starters.difference(exercise.solution_file, exercise.lab_file)
            else:
                problem = ""
                starter = starters.generate_file(exercise.solution_file)
                if not is_starter(exercise):
                    write_atomically(exercise.lab_file, starter)
                    print(f"written: {short_path(exercise.lab_file, root)}")
        except LabError as error:
            problem = str(error)
        if problem:
            wrong += 1
            print(problem)
    if wrong:
        raise LabError(
            f"{wrong} of {len(exercises)} starters are not the generated ones (see above)."
        )
    print(f"All {len(exercises)} starters are the generated ones.")
    return OK


def _dev_bugs(root: Path, options: argparse.Namespace) -> int:
    if options.id:
        exercises = resolve_all(root, options.id)
    else:
        exercises = [exercise for exercise in find_exercises(root) if exercise.bugs_file.exists()]
    chosen = _chosen_device(options)
    build.require_packages(root)
    return verify.verify_bugs(root, exercises, chosen, options.jobs)


def _dev_mutate(root: Path, options: argparse.Namespace) -> int:
    if bool(options.id) == options.all:
        raise LabError("`lab dev mutate` needs exercises, or --all.", USAGE)
    exercises = find_exercises(root) if options.all else resolve_all(root, options.id)
    if options.list:
        return mutate.list_mutations(root, exercises, options.only)
    build.require_packages(root)
    chosen = device.Device("cpu", "its checks are a part of what catches mistakes")
    return mutate.mutate(root, exercises, chosen, options.jobs or verify.cores(), options.only)


COMMANDS: Dict[str, Callable[[Path, argparse.Namespace, List[str]], int]] = {
    "list": list_command,
    "run": run_command,
    "test": test_command,
    "check": check_command,
    "profile": profile_command,
    "watch": watch_command,
    "hint": hint_command,
    "reset": reset_command,
    "solution": solution_command,
    "doctor": doctor_command,
    "verify": verify_command,
    "dev": dev_command,
}


def _dispatch(root: Path, arguments: List[str]) -> int:
    rest: List[str] = []
    if "--" in arguments:
        place = arguments.index("--")
        arguments, rest = arguments[:place], arguments[place + 1 :]
    parser, table = _parser()
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(ORIENTATION)
        return OK
    name = arguments[0]
    if name not in table:
        near = difflib.get_close_matches(name, table, n=1)
        hint = f" Did you mean `scripts/lab {near[0]}`?" if near else ""
        raise LabError(
            f"there is no command '{name}'.{hint} `scripts/lab --help` shows them.", USAGE
        )
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        if name in ("run", "profile"):
            shown = " ".join(unknown)
            raise LabError(
                f"'{shown}' is not for lab. What is meant for the program stands after --: "
                f"`scripts/lab {name} {options.id} -- {shown}`",
                USAGE,
            )
        raise LabError(
            f"'{' '.join(unknown)}' is not understood. See `scripts/lab {name} --help`.", USAGE
        )
    if rest and name not in ("run", "profile"):
        raise LabError(f"`lab {name}` takes nothing after --.", USAGE)
    return COMMANDS[name](root, options, rest)


def main(arguments: List[str], root: Optional[Path] = None) -> int:
    root = root or Path(__file__).resolve().parents[2]
    install_signal_handlers()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows only ASCII
    try:
        try:
            status = _dispatch(root, arguments)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing but the end is left
        sys.stdout.flush()
        return status
    except LabError as error:
        print(f"lab: {error}" if error.exit_code else str(error), file=sys.stderr)
        return error.exit_code
    except Interrupted as interruption:
        say(("\n" if sys.stderr.isatty() else "") + "lab: stopped.")
        return INTERRUPTED if interruption.number == signal.SIGINT else 128 + interruption.number
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        print(f"lab: {error}", file=sys.stderr)
        return FAILED
