# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Verbs for authors of exercises: verify, and the parts of dev."""

import argparse
from pathlib import Path
from typing import List

from lablib import (
    authoring,
    benchmark_page,
    build,
    course_check,
    device,
    metadata,
    mutate,
    starters,
    step_tables,
    translations,
    verify,
    vocabulary,
)
from lablib.console import say
from lablib.errors import FAILED, OK, USAGE, LabError
from lablib.exercises import find_exercises, resolve_all
from lablib.files import short_path, write_atomically
from lablib.state import is_starter
from lablib.verbs import verb
from lablib.verbs.verb import Parser, Verb


def _verify_arguments(parser: Parser) -> None:
    verb.on_device(parser)
    verb.jobs(parser)
    verb.junit_file(parser)
    parser.add_argument(
        "--seed",
        metavar="SEED",
        help="chooses which bugs and which right solutions in other styles are tried (if not given:"
        " the commit)",
    )
    parser.add_argument(
        "--all-bugs",
        action="store_true",
        help="try every bug and every right solution in another style, not a sample",
    )


def _verify(root: Path, options: argparse.Namespace) -> int:
    if options.all_bugs and options.seed is not None:
        raise LabError("--seed chooses a sample of the bugs, and --all-bugs takes all.", USAGE)
    chosen = verb.chosen_device(options)
    build.require_packages(root)
    return verify.verify(
        root, chosen, options.jobs, options.junit, seed=options.seed, all_bugs=options.all_bugs
    )


def _new_arguments(parser: Parser) -> None:
    parser.positional("number", metavar="ID", help="its number, such as 05.9")
    parser.positional("name", metavar="NAME", help="its name, such as prefix_sum")
    parser.add_argument("--chapter", metavar="NAME", help="the name of a chapter that is new")


def _new(root: Path, options: argparse.Namespace) -> int:
    exercise, files = authoring.new_exercise(root, options.number, options.name, options.chapter)
    for path in files:
        print(short_path(path, root))
    print(
        "\nIt works as it is: its kernel doubles each element. Each file has a note, AUTHOR: …,"
        f" that says what to put there.\nNext: `scripts/lab dev check {exercise.id}` lists the"
        " notes, and CONTRIBUTING.md takes you through."
    )
    return OK


def _rename_arguments(parser: Parser) -> None:
    verb.exercise(parser)
    parser.positional("new", metavar="NEW", help="05.7, another_name, or 05.7_another_name")


def _rename(root: Path, options: argparse.Namespace) -> int:
    exercise, mentions = authoring.rename_exercise(root, options.id, options.new)
    print(f"It is {exercise.id} {exercise.name} now: {short_path(exercise.folder, root)}")
    if mentions:
        print("The old number or name stands in these places, too. Look at each:")
        print("\n".join(f"  {mention}" for mention in mentions))
    print(f"Next: `scripts/lab dev check {exercise.id}`")
    return OK


def _check_arguments(parser: Parser) -> None:
    verb.exercises(parser)
    parser.add_argument("--all", action="store_true", help="everything, not only what has changed")
    parser.add_argument("--static", action="store_true", help="only what needs no build")
    parser.add_argument(
        "--gpu", action="store_true", help="compile with nvcc as well, and test if a GPU is here"
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="only tables: how much of each exercise is given, where each of CUDA's names is used"
        " first, and which chapter explains it",
    )
    parser.add_argument(
        "--strict", action="store_true", help="a rule whose tool is not installed is a finding"
    )
    verb.jobs(parser)


def _check(root: Path, options: argparse.Namespace) -> int:
    if options.all and options.id:
        raise LabError("give either --all or some exercises, not both.", USAGE)
    if options.report:
        exercises = resolve_all(root, options.id) if options.id else find_exercises(root)
        print(course_check.report(exercises))
        print(f"\n{vocabulary.table(root, exercises)}")
        return OK
    if options.static and options.gpu:
        raise LabError("--static builds nothing, so it cannot be combined with --gpu.", USAGE)
    return course_check.check(
        root,
        options.id,
        everything=options.all,
        static=options.static,
        gpu=options.gpu,
        strict=options.strict,
        jobs=options.jobs,
    )


def _starters_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--check", action="store_true", help="only compare; exit 1 if one is not the generated one"
    )


def _starters(root: Path, options: argparse.Namespace) -> int:
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
    pages = set() if options.check else {exercise.chapter_page for exercise in exercises}
    for page in sorted(page for page in pages if page.is_file()):
        text = metadata.with_summaries(page, exercises)
        if text != page.read_text(encoding="utf-8"):
            write_atomically(page, text)
            print(f"written: {short_path(page, root)}")
    for page in [] if options.check else translations.all_pages(root):
        text = translations.with_files(page, exercises)
        if text != page.read_text(encoding="utf-8"):
            write_atomically(page, text)
            print(f"written: {short_path(page, root)}")
    if wrong:
        raise LabError(
            f"{wrong} of {len(exercises)} starters are not the generated ones (see above)."
        )
    print(f"All {len(exercises)} starters are the generated ones.")
    return OK


def _bugs_arguments(parser: Parser) -> None:
    verb.exercises(parser)
    verb.on_device(parser)
    verb.jobs(parser)


def _bugs(root: Path, options: argparse.Namespace) -> int:
    if options.id:
        exercises = resolve_all(root, options.id)
    else:
        exercises = [exercise for exercise in find_exercises(root) if exercise.bugs_file.exists()]
    chosen = verb.chosen_device(options)
    build.require_packages(root)
    return verify.verify_bugs(root, exercises, chosen, options.jobs)


def _mutate_arguments(parser: Parser) -> None:
    verb.exercises(parser)
    parser.add_argument("--all", action="store_true", help="all exercises")
    parser.add_argument("--list", action="store_true", help="only show the mutations")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="only this one, or this kind, such as no_barrier; may be given several times",
    )
    verb.jobs(parser)


def _mutate(root: Path, options: argparse.Namespace) -> int:
    if bool(options.id) == options.all:
        raise LabError("`scripts/lab dev mutate` needs some exercises, or --all.", USAGE)
    exercises = find_exercises(root) if options.all else resolve_all(root, options.id)
    if options.list:
        return mutate.list_mutations(root, exercises, options.only)
    build.require_packages(root)
    chosen = device.Device("cpu", "its checks are a part of what catches mistakes")
    return mutate.mutate(root, exercises, chosen, options.jobs or verify.cores(), options.only)


def _benchmarks(root: Path, options: argparse.Namespace) -> int:
    changed = benchmark_page.write(root)
    for path in changed:
        print(f"{'written' if (root / path).is_file() else 'removed'}: {path}")
    if not changed:
        print(f"{benchmark_page.PAGE} is as the files in docs/benchmarks/ have it.")
    return OK


def _steps_arguments(parser: Parser) -> None:
    verb.exercises(parser)
    verb.jobs(parser)
    parser.add_argument(
        "--count", action="store_true", help="run the steps and count their accesses again"
    )


def _steps(root: Path, options: argparse.Namespace) -> int:
    failed: List[str] = []
    if options.count or options.id:
        exercises = resolve_all(root, options.id) if options.id else find_exercises(root)
        build.require_packages(root)
        jobs = options.jobs or verify.cores()
        failed = step_tables.measure(root, exercises, device.choose("cpu"), jobs)
        for each in failed:
            say(f"left out: {each}.")
    changed = step_tables.write(root)
    for path in changed:
        print(f"written: {path}")
    if not changed:
        print("The tables of steps are as contracts, benchmarks and counters have them.")
    return FAILED if failed else OK


def _translations_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--record",
        metavar="PAGE",
        help="note that this page, such as pl/01, is up to date with the English one",
    )


def _translations(root: Path, options: argparse.Namespace) -> int:
    if options.record:
        page = translations.find(root, options.record)
        translations.record(page)
        for line, problem in translations.problems(page):
            raise LabError(f"{short_path(page, root)}:{line}: {problem}.")
    for page in translations.all_pages(root):
        name = short_path(page, root)
        wrong = [f"{name}:{line}: {problem}" for line, problem in translations.problems(page)]
        if wrong:
            raise LabError(f"{wrong[0]}.")
        found = translations.behind(page)
        for each in found:
            english = short_path(translations.original(page), root)
            words = f": {each.words}" if each.words else ""
            print(f"{name}:{each.translated}: {each.change} in {english}:{each.english}{words}")
        count = len(found)
        of = len(translations.records(page))
        print(f"{name}: {f'{count} of {of} paragraphs are behind' if count else 'up to date'}")
    return OK


PARTS = (
    Verb("new", "Write a new exercise that works, for you to replace.", _new_arguments, _new),
    Verb(
        "check",
        "Check that what you have changed since the main branch keeps the course's rules. For an"
        " exercise that you name, this also names the mutations that its tests let pass.",
        _check_arguments,
        _check,
        takes_exercises=True,
    ),
    Verb(
        "mutate",
        "Make general mistakes wherever they fit in a solution, one at a time, and see whether its"
        " tests on the CPU device catch each one.",
        _mutate_arguments,
        _mutate,
        takes_exercises=True,
    ),
    Verb(
        "starters",
        "Write all starters in labs/ anew from the solutions, and what chapters say of minutes and"
        " prerequisites from each exercise.toml.",
        _starters_arguments,
        _starters,
    ),
    Verb(
        "benchmarks",
        "Write docs/benchmarks.md and its charts from the files of `scripts/lab bench --json` in"
        " docs/benchmarks/.",
        verb.no_arguments,
        _benchmarks,
    ),
    Verb(
        "steps",
        "Write the chapters' tables of steps; with --count or an ID, count accesses first.",
        _steps_arguments,
        _steps,
        takes_exercises=True,
    ),
    Verb(
        "translations",
        "Say which paragraphs of translated pages are behind the English ones.",
        _translations_arguments,
        _translations,
    ),
    Verb(
        "bugs",
        "Build the bugs of some exercises, or of all, and see that each is caught; and that right"
        " solutions in other styles are not refused.",
        _bugs_arguments,
        _bugs,
        takes_exercises=True,
    ),
    Verb(
        "rename",
        "Give an exercise another number or name, in its files and in its section.",
        _rename_arguments,
        _rename,
        takes_exercises=True,
    ),
)


def _dev(root: Path, options: argparse.Namespace) -> int:
    names = ", ".join(part.name for part in PARTS)
    raise LabError(f"`scripts/lab dev` needs one of {names}; `scripts/lab dev --help`.", USAGE)


VERBS = (
    Verb(
        "verify",
        "Build and test the whole course: solutions, library, tools, and a sample of"
        " the bugs that tests must catch and of the right solutions that they must not refuse.",
        _verify_arguments,
        _verify,
    ),
    Verb("dev", "For authors of exercises.", verb.no_arguments, _dev, parts=PARTS),
)
