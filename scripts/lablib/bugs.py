# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Bugs: wrong-on-purpose versions of a solution, which its tests must reject.

A file tests/CC_chapter/<name>.bugs holds any number of these:

    # a comment
    bug: no_barrier_before_the_tree
    why: a thread adds its neighbour's product before the neighbour has written it
    caught by: test          # test, check, watched or compiler
    file: given.hpp          # where the edit is made, if not in <name>.cu: a header of labs/
    --- find
        __syncthreads();  // all products are in place
    --- replace
        // nothing
    --- end

Caught by `test`: a case fails. By `check`: the CPU device's checks report it. `watched`: a case
fails in the check build, which alone sees who accessed what (required_work.hpp).

The text to find occurs exactly once in the file. Several pairs of `--- find` and `--- replace`
before one `--- end` are one bug with several edits.

As a program (the build's own checks):
    bugs.py emit BUGS SOLUTION_FOLDER LAB_FOLDER OUTPUT_FOLDER
        writes OUTPUT_FOLDER/<bug>/ and prints a line `bug;caught by;path` for each
    bugs.py expect-caught --how test|check|watched --name BUG [--bugs FILE] [--case-limit S]
        [--time-limit S] -- PROGRAM…
    bugs.py expect-compile-error --name BUG [--bugs FILE] -- COMMAND…
"""

import argparse
import contextlib
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Set, Tuple

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from lablib import processes, test_program  # noqa: E402
from lablib.cuda_tokens import code_only  # noqa: E402
from lablib.errors import FAILED, OK, USAGE, LabError  # noqa: E402

WAYS = ("test", "check", "watched", "compiler")
CASE_LIMIT = 60.0  # seconds: a case that takes longer never ends, and so catches the bug
TIME_LIMIT = 600.0  # for all: right ones can take long on a busy machine, so it proves nothing
# Seconds for a kernel of a bug that a failing test has to catch: one that never ends is noticed
# sooner. Those of the right versions take milliseconds. (The checks make kernels slower.)
LAUNCH_LIMIT = "3"
REPORT = "CPU device: "  # how a line begins in which the CPU device says what is wrong
REPORTED = "the CPU device reported"  # what the tests' main function says of a test with a report


@dataclass
class Edit:
    line: int  # where its text begins in the .bugs file
    find: str
    replace: str


@dataclass
class Bug:
    name: str
    line: int
    why: str = ""
    caught_by: str = ""
    file: str = ""
    edits: List[Edit] = field(default_factory=list)


def parse(path: Path) -> List[Bug]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}.") from error
    return parse_lines(lines, str(path), default_file=path.stem + ".cu")


def parse_lines(lines: List[str], name: str, default_file: str) -> List[Bug]:
    found: List[Bug] = []
    bug: Optional[Bug] = None
    section = ""  # "find" or "replace" inside an edit
    texts: Dict[str, List[str]] = {}
    section_line = 0

    def error(number: int, message: str) -> LabError:
        return LabError(f"{name}:{number}: {message}.")

    def close_edit() -> None:
        assert bug is not None
        find = "\n".join(texts["find"])
        replace = "\n".join(texts["replace"])
        if not find.strip():
            raise error(section_line, "there is no text to find")
        bug.edits.append(Edit(section_line + 1, find, replace))

    for number, line in enumerate(lines, 1):
        marker = line.strip() if line.startswith("---") else ""
        if marker == "--- find":
            if bug is None:
                raise error(number, "an edit before the first `bug: name`")
            if section == "find":
                raise error(number, "--- find inside --- find: the --- replace is missing")
            if section == "replace":
                close_edit()
            section, section_line, texts = "find", number, {"find": [], "replace": []}
        elif marker == "--- replace":
            if section != "find":
                raise error(number, "--- replace without a --- find before it")
            section = "replace"
        elif marker == "--- end":
            if section != "replace":
                raise error(number, "--- end without a --- replace before it")
            close_edit()
            section = "closed"
        elif marker:
            raise error(number, f"'{marker}' is none of --- find, --- replace and --- end")
        elif section in ("find", "replace"):
            texts[section].append(line)
        elif not line.strip() or line.startswith("#"):
            continue
        else:
            key, colon, value = line.partition(":")
            key, value = key.strip(), value.strip()
            if key in ("caught by", "file", "bug"):
                value = value.split("#", 1)[0].strip()
            if not colon or key not in ("bug", "why", "caught by", "file"):
                raise error(
                    number,
                    f"'{line.strip()}' is not understood: bug, why, caught by or file is expected",
                )
            if not value:
                raise error(number, f"'{key}' is empty")
            if key == "bug":
                if bug is not None:
                    _complete(bug, error)
                if not re.fullmatch(r"[a-z][a-z0-9_]*", value):
                    raise error(
                        number,
                        f"'{value}' is not a name: small letters, digits and underscores are",
                    )
                if any(other.name == value for other in found):
                    raise error(number, f"there are two bugs with the name {value}")
                bug, section = Bug(value, number, file=default_file), ""
                found.append(bug)
                seen: List[str] = []
                continue
            if bug is None:
                raise error(number, f"'{key}' before the first `bug: name`")
            if section == "closed":
                raise error(
                    number, f"'{key}' after the --- end of {bug.name}: it belongs before --- find"
                )
            if key in seen:
                raise error(number, f"{bug.name} has two lines '{key}'")
            seen.append(key)
            if key == "why":
                bug.why = value
            elif key == "file":
                bug.file = value
            elif value not in WAYS:
                raise error(
                    number,
                    f"'caught by: {value}' is unknown: it must be test, check, watched or compiler",
                )
            else:
                bug.caught_by = value
    if section in ("find", "replace"):
        raise error(section_line, f"this --- {'find'} has no --- end")
    if bug is None:
        raise error(max(len(lines), 1), "there is no bug in this file")
    _complete(bug, error)
    return found


def _complete(bug: Bug, error: Callable[[int, str], LabError]) -> None:
    if not bug.why:
        raise error(bug.line, f"{bug.name} has no 'why:', a sentence on what goes wrong")
    if not bug.caught_by:
        raise error(bug.line, f"{bug.name} has no 'caught by:' (test, check, watched or compiler)")
    if not bug.edits:
        raise error(bug.line, f"{bug.name} has no edit (--- find … --- replace … --- end)")


def apply(bug: Bug, text: str, bugs_name: str, solution_name: str) -> str:
    changed = text
    for edit in bug.edits:
        where = f"{bugs_name}:{edit.line}: {bug.name}:"
        places = [match.start() for match in re.finditer(f"(?={re.escape(edit.find)})", changed)]
        if not places:
            raise LabError(f"{where} this text does not occur in {solution_name}.")
        if len(places) > 1:
            numbers = ", ".join(str(changed.count("\n", 0, place) + 1) for place in places)
            raise LabError(
                f"{where} this text occurs {len(places)} times in {solution_name} (lines"
                f" {numbers}): it must be one place."
            )
        if edit.find == edit.replace:
            raise LabError(f"{where} the replacement is the same text, so nothing changes.")
        changed = changed.replace(edit.find, edit.replace)
    if code_only(changed) == code_only(text):
        raise LabError(f"{bugs_name}:{bug.line}: {bug.name} changes only comments or white space.")
    return changed


def sample(found: Sequence[Bug], solution: str, seed: str) -> List[Bug]:
    """A sixteenth of the bugs of an exercise, at least one, chosen by the seed: in as many
    functions of the solution, whose text this is, as possible, and in each of them caught in
    different ways. Where there are bugs that only the check build catches, one of those is among
    two or more, and the only one for every second seed or so."""
    import random  # takes a while, and a thousand bugs are judged without it

    pick = random.Random(seed)
    order = list(found)
    pick.shuffle(order)
    number = max(len(found) // 16, 1)
    checked = [bug for bug in order if bug.caught_by in ("check", "watched")][:1]
    if number > 1 or pick.random() < 0.5:
        order = checked + [bug for bug in order if bug not in checked]

    def function(bug: Bug) -> int:
        return solution.count("\n}", 0, max(solution.find(bug.edits[0].find), 0))

    seen: Set[Tuple[int, str]] = set()
    ranks: Tuple[List[Bug], ...] = ([], [], [])  # of a new function, caught in a new way, neither
    for bug in order:
        kind = (function(bug), bug.caught_by)
        is_known = any(kind[0] == other for other, _ in seen)
        ranks[2 if kind in seen else 1 if is_known else 0].append(bug)
        seen.add(kind)
    return [bug for rank in ranks for bug in rank][:number]


def source_of(bug: Bug, solution_folder: Path, lab_folder: Path) -> Path:
    """The file that a bug edits: the solution, or a header that is given with the exercise."""
    return (lab_folder if bug.file.endswith(".hpp") else solution_folder) / bug.file


def emit(
    bugs_file: Path, solution_folder: Path, lab_folder: Path, output_folder: Path
) -> List[Tuple[Bug, Path]]:
    """Writes each bug's version of the solution, with the header that it edits if there is one.
    What has not changed is not written again."""
    import shutil  # takes a while, and a thousand bugs are judged without it

    found = parse(bugs_file)
    main_name = bugs_file.stem + ".cu"
    emitted = []
    for bug in found:
        source = source_of(bug, solution_folder, lab_folder)
        version = {}
        for path in {source, solution_folder / main_name}:
            try:
                version[path.name] = path.read_text(encoding="utf-8")
            except OSError as error:
                raise LabError(
                    f"{bugs_file}:{bug.line}: {bug.name}: there is no {path.name} in"
                    f" {path.parent}."
                ) from error
        version[bug.file] = apply(bug, version[bug.file], str(bugs_file), str(source))
        for name, text in version.items():
            _write_if_changed(output_folder / bug.name / name, text)
        for old in (output_folder / bug.name).iterdir():
            if old.name not in version:  # a header, which would come before the given one
                old.unlink()
        emitted.append((bug, output_folder / bug.name / main_name))
    if output_folder.is_dir():
        names = {bug.name for bug in found}
        for old in output_folder.iterdir():
            if old.is_dir() and old.name not in names:
                shutil.rmtree(old)
    return emitted


def _write_if_changed(path: Path, text: str) -> None:
    from lablib.files import write_atomically

    with contextlib.suppress(OSError):
        if path.read_text(encoding="utf-8") == text:
            return
    write_atomically(path, text)


@dataclass
class Verdict:
    caught: bool
    sentence: str


def reports(result: test_program.Result) -> List[str]:
    """What the CPU device reported in tests that failed. In a test that passes, a report is one
    that the test wants to see. In one that fails, the tests' main function says that there was a
    report; one that crashed could not say so any more, nor could one that was stopped, which counts
    if an expectation had failed in it by then."""
    return [
        line.replace(REPORT, "", 1)
        for run in result.failed_runs
        if run.state == test_program.CRASHED
        or any(
            said.is_failure and (run.state == test_program.TIMED_OUT or REPORTED in said.text)
            for said in run.said
        )
        for line in run.lines
        if line.startswith(REPORT)
    ]


def judge(how: str, result: test_program.Result, time_limit: float = TIME_LIMIT) -> Verdict:
    """Whether the tests have caught a bug, and by what."""
    if result.status == 77:
        return Verdict(
            False, "its tests could not run here (exit status 77), so nothing is known about it"
        )
    if not result.something_ran:
        ending = f"stopped after {time_limit:g} s" if result.timed_out else result.ending
        return Verdict(False, f"no test ran ({ending}), so nothing is known about it")
    if result.passed:
        return Verdict(False, "it survives: every test passes")
    reported = reports(result)
    if reported:
        return Verdict(True, f"caught by a report of the CPU device: {reported[0]}")
    if how == "check":
        return Verdict(
            False,
            "the tests failed but the CPU device reported nothing, and its checks are what should"
            " catch it (if a failing test is enough, write `caught by: test`, or `watched` if only"
            " the check build has one)",
        )
    if result.timed_out:
        return Verdict(
            False, f"its tests did not end within {time_limit:g} s, so nothing is known about it"
        )
    for case in result.failures:
        if case.state == test_program.TIMED_OUT:
            return Verdict(True, f"caught by a time-out: {case.name}, {case.detail}")
        if case.state == test_program.CRASHED:
            return Verdict(True, f"caught by a crash: {case.name}, {case.detail}")
    names = sorted(case.name for case in result.failures)
    if names:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return Verdict(True, f"caught by a failing test: {names[0]}{more}")
    return Verdict(False, f"no test failed, but something else is wrong: {result.ending}")


def _about(name: str, bugs_file: Optional[Path]) -> str:
    """The `why` of a bug, for somebody who sees that nothing caught it."""
    if bugs_file is None:
        return ""
    for bug in parse(bugs_file):
        if bug.name == name:
            return f"\n  why it is wrong: {bug.why}\n  where: {bugs_file}:{bug.line}"
    return f"\n  where: {bugs_file}"


def _complain(
    name: str, sentence: str, bugs_file: Optional[Path], output: Sequence[str] = ()
) -> LabError:
    """What to know comes first; the end of the output is for those who want to see it."""
    shown = "\n".join(["", "the end of what it printed:", *output[-40:]]) if output else ""
    return LabError(
        f"{name}: {sentence}.{_about(name, bugs_file)}\n  what to do: add a test case that tells"
        " this version from the right one, or, if it is not wrong after all, take the bug out."
        + shown
    )


def expect_caught(
    how: str,
    name: str,
    command: List[str],
    bugs_file: Optional[Path],
    case_limit: float = CASE_LIMIT,
    time_limit: float = TIME_LIMIT,
) -> str:
    # The first test that fails is enough; where a report is asked for, the first that has one.
    environment = dict(os.environ)
    if how != "check":
        command = [*command, "--gtest_fail_fast"]
    if how == "test":
        environment.setdefault("CPU_DEVICE_TIME_LIMIT", LAUNCH_LIMIT)
    result = test_program.run(
        command,
        case_limit=case_limit,
        time_limit=time_limit,
        stop_when=(lambda so_far: bool(reports(so_far))) if how == "check" else None,
        env=environment,
    )
    verdict = judge(how, result, time_limit)
    if not verdict.caught:
        said = [line for run in result.failed_runs for line in run.lines]
        raise _complain(name, verdict.sentence, bugs_file, [*said, *result.outside])
    return f"{name}: {verdict.sentence}"


def expect_compile_error(name: str, command: List[str], bugs_file: Optional[Path]) -> str:
    output: List[str] = []
    outcome = processes.run(command, on_line=output.append)
    if outcome.returncode == 0:
        raise _complain(name, "it survives: it compiles without an error", bugs_file)
    errors = [
        line
        for line in output
        if re.search(r"\berror\b.*:|: error", line) and not line.startswith("ninja:")
    ]
    if outcome.returncode < 0 or not any(f"/{name}/" in line for line in output) or not errors:
        print("\n".join(output[-40:]))
        raise LabError(
            f"{name}: the build failed, but not by a compiler's error in this bug's own file (see"
            " above)."
        )
    return f"{name}: caught by the compiler: {errors[0]}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bugs.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("emit")
    command.add_argument("bugs", type=Path)
    command.add_argument("solution_folder", type=Path)
    command.add_argument("lab_folder", type=Path)
    command.add_argument("output_folder", type=Path)
    command = commands.add_parser("expect-caught")
    command.add_argument("--how", choices=("test", "check", "watched"), required=True)
    command.add_argument("--case-limit", type=float, default=CASE_LIMIT)
    command.add_argument("--time-limit", type=float, default=TIME_LIMIT)
    command.add_argument("--name", required=True)
    command.add_argument("--bugs", type=Path)
    command = commands.add_parser("expect-compile-error")
    command.add_argument("--name", required=True)
    command.add_argument("--bugs", type=Path)
    return parser


def main(arguments: List[str]) -> int:
    ours, rest = arguments, []
    if "--" in arguments:
        ours, rest = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    options = _parser().parse_args(ours)
    try:
        if options.command == "emit":
            for bug, path in emit(
                options.bugs, options.solution_folder, options.lab_folder, options.output_folder
            ):
                print(f"{bug.name};{bug.caught_by};{path}")
            return OK
        if not rest:
            print(f"bugs: {options.command} needs -- and a command after it.", file=sys.stderr)
            return USAGE
        if options.command == "expect-caught":
            limits = (options.case_limit, options.time_limit)
            print(expect_caught(options.how, options.name, rest, options.bugs, *limits))
        else:
            print(expect_compile_error(options.name, rest, options.bugs))
        return OK
    except LabError as error:
        print(f"bugs: {error}", file=sys.stderr)
        return error.exit_code if error.exit_code else FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
