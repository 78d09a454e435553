# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Testing a student's file, and saying in a few lines what came of it."""

import functools
import math
import re
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from lablib import build, counters, diagnostics, done, junit, metadata, refused, test_program
from lablib.console import Progress, paint, say
from lablib.device import Device
from lablib.errors import FAILED, NOT_POSSIBLE, OK, USAGE, LabError
from lablib.exercises import Exercise
from lablib.files import short_path
from lablib.grading import points
from lablib.programs import ENDLESS
from lablib.state import Progress as StudentProgress
from lablib.state import file_hash
from lablib.todos import (
    NOT_WRITTEN,
    Todos,
    as_it_was,
    bonus_apart,
    if_it_is_written,
    not_about_bonus,
    open_bonus,
    open_todos,
    waits_for_bonus,
)

CASES_SHOWN = 24  # where there are more cases than this, those of one name share a line
LINES_SHOWN = 60  # of the first failure
FAILURES_SHOWN = 2  # of one case; what the CPU device reports is shown beside them

_Passes = Callable[[test_program.Case, Dict[str, str]], bool]


def test_exercise(
    root: Path,
    exercise: Exercise,
    device: Device,
    *,
    solution: bool = False,
    watched: bool = False,
    case_limit: float = test_program.CASE_LIMIT,
    only: str = "",
    stop_when: Optional[Callable[[], bool]] = None,
    report: Optional[junit.Report] = None,
) -> int:
    """Builds and runs the tests of one exercise, prints the result, remembers it. Once they pass
    (not `watched`, which is a check itself), looks further: done.py. With `only` runs those cases
    that have it in their names, and does neither."""
    command = "check" if watched else "test"
    again = f"`scripts/lab {command} {exercise.id}{' --solution' if solution else ''}`"
    tested = file_hash(exercise.lab_file)
    title = f"{exercise.id} {exercise.name}{' (the solution)' if solution else ''}"
    if not solution and exercise.lab_file.is_file():
        text = exercise.lab_file.read_text(encoding="utf-8", errors="replace")
        if sentence := refused.by_text(text):
            path = short_path(exercise.lab_file, root)
            raise LabError(f"{path}: {sentence} Take it out, then {again} again.")
    progress = StudentProgress(root)
    target = f"{build.kind(solution, watched)}_test.{exercise.id}"
    try:
        warnings = build.build(
            root,
            device.name,
            device,
            [target, f"cases.{exercise.id}"],
            f"the tests of {title}",
            own=None if solution else exercise,
            next_step=f"Next: repair it, then {again} again.",
            stop_when=stop_when,
        )
    except build.BuildFailed as error:
        if report is not None:
            report.add_failure(target, f"it does not compile: {error}")
        raise
    program = build.test_path(root, device.name, exercise, solution, watched)
    if not program.is_file():
        raise LabError(f"the build said that all is well, but {program} is not there.")

    todos = Todos() if solution else open_todos(exercise)
    all_cases = test_program.list_cases(build.cases_path(root, device.name, exercise))
    chosen = all_cases
    if only:
        chosen = _with(only, all_cases, exercise, device)
        title += f", only {only}"
    ahead: Optional[build.Ahead] = None

    def is_to_stop(so_far: test_program.Result) -> bool:
        """Looked at now and then. What is wrong mostly shows in the first thread order: if nothing
        does, the check build is worth its time."""
        nonlocal ahead
        if ahead is None and not watched and not only and len(so_far.orders) > 1:
            if not not_about_bonus([*result.failures, *so_far.failures], todos):
                ahead = done.start_to_build(root, exercise, device, solution)
        return stop_when is not None and stop_when()

    shown = Progress(f"testing {title}")
    result = test_program.Result()
    try:
        # What a begun bonus does, such as never to end, keeps no other case from being run.
        for number, names in enumerate(bonus_apart(chosen, todos)):
            part = test_program.run(
                [str(program)],
                cases=names,
                case_limit=case_limit,
                on_tick=shown.update,
                stop_when=is_to_stop,
            )
            result = part if number == 0 else result.with_more(part)
    finally:
        shown.done()
    if result.cancelled:
        if ahead is not None:
            ahead.stop()
        raise build.Cancelled
    if others := [name for name in result.others if name not in all_cases]:
        result.status = 1
        result.detail = f"a test that the course does not have is part of it, {others[0]}"
    if report is not None:
        report.add(target, result)
    core = not_about_bonus(result.failures, todos)
    bonus = [case for case in result.failures if case not in core]
    later = [case for case in bonus if waits_for_bonus(case, todos)]
    status = _status(result, bonus, todos)
    if ahead is not None and status != OK:
        ahead.stop()
    passes = functools.partial(done.passes_with, program, case_limit=case_limit)
    said = _report(root, exercise, result, status, title, bonus, later, passes)
    for line in said:
        print(line)
        if not solution and (more := if_it_is_written(line, exercise.lab_file, todos)):
            print(f"  {more}")
    if status == OK and not watched and not only:
        # What every step is required to do is one case: it has to wait for none of a bonus.
        but = [case.name for case in later if not case.name.startswith("Requires.")]
        print(flush=True)
        found = done.check(
            root,
            exercise,
            result,
            but,
            solution=solution,
            device=device,
            case_limit=case_limit,
            todos=todos,
            ahead=ahead,
            stop_when=stop_when,
        )
        if report is not None:
            for one in found.results:
                report.add(f"watched_{target}", one)
        status = FAILED if found.bad is not None or todos.core else OK
        todos.bonus = open_bonus([*bonus, *found.mistakes_in_bonus], todos)
        watched_program = build.test_path(root, "cpu", exercise, solution, watched=True)
        passes = functools.partial(done.passes_with, watched_program, case_limit=case_limit)
        for line in _further(root, exercise, result, found, todos, solution, device, passes):
            print(line)
    if not solution and not watched and not only and status != NOT_POSSIBLE:
        progress.note_test(exercise, status == OK, tested, device.name, todos.bonus)
    if status == FAILED and warnings:
        # What is no error may well be the mistake: a loop that never ends, a value never set.
        print("The compiler warns:", *warnings, sep="\n  ")
    if status == FAILED:
        first = None if watched else _most_useful(core, points.steps_of(exercise.contract_file))
        print(_next_step(exercise, solution, again, first, core, result, said))
    elif only and status == OK:
        print(f"Other tests did not run: {again} runs them all.")
    elif status == OK and watched:
        print(_after_a_check([case for case in bonus if case not in later]))
    elif status == OK and not solution:
        begun = [case for case in bonus if case not in later]
        if begun or found.mistakes_in_bonus:
            print("The core is done; the bonus is begun and not right yet.")
            first = _most_useful(begun, points.steps_of(exercise.contract_file))
            print(_next_step(exercise, solution, again, first, begun, result, said))
        else:
            print(_praise(progress, exercise))
    print(flush=True)
    return status


def _with(only: str, all_cases: List[str], exercise: Exercise, device: Device) -> List[str]:
    found = [name for name in all_cases if only in name]
    if not found:
        tests = ", ".join(
            dict.fromkeys(points.test_of(name).partition(".")[2] for name in all_cases)
        )
        raise LabError(
            f"no test of {exercise.id} has `{only}` in its name. Its tests: {tests}."
            + (" (`--device cpu` has more.)" if device.name == "gpu" else ""),
            USAGE,
        )
    return found


def _further(
    root: Path,
    exercise: Exercise,
    result: test_program.Result,
    found: done.Check,
    todos: Todos,
    solution: bool,
    device: Device,
    passes: _Passes,
) -> List[str]:
    """What was found after the cases have passed."""
    if found.bad is not None:
        lines = [
            paint(f"All tests pass, and yet {exercise.id} {exercise.name} is not done:", "red")
            + f" the check build (`scripts/lab check {exercise.id}`) finds a mistake."
        ]
        return lines + _found_by_the_check(
            root, exercise, result, found.bad, found.mistakes, passes
        )
    if todos.core:
        return [
            paint(
                f"All tests pass, and yet {exercise.id} {exercise.name} is not done:"
                f" {as_it_was(todos.core)}.",
                "red",
            ),
            "If you have written it: the code belongs below the comment.",
        ]
    lines = []
    passed = result.in_state(test_program.PASSED)
    new = [
        case
        for case in found.mistakes_in_bonus
        if case.name not in result.cases or result.cases[case.name] in passed
    ]
    if new:
        where = next(one for one in found.results if new[0] in one.failures)
        lines = [paint("The check build finds a mistake in the bonus:", "yellow")]
        lines += [*_found_by_the_check(root, exercise, result, where, new, passes), ""]
    # What MPI's ranks access is not counted: they are processes of their own.
    in_ranks = "Open MPI" in metadata.needs(exercise)
    all_lines = done.lines(
        result,
        found,
        None if solution else todos,
        device.name == "gpu",
        several_steps=len(points.steps_of(exercise.contract_file)) > 1,
        costs=[] if in_ranks else counters.explained(exercise.id),
    )
    width = max(len(what) for what, _ in all_lines)
    return lines + [
        f"  {paint(f'{what:<{width}}', 'green')}  {detail}".rstrip() for what, detail in all_lines
    ]


def _found_by_the_check(
    root: Path,
    exercise: Exercise,
    plain: test_program.Result,
    result: test_program.Result,
    mistakes: List[test_program.Case],
    passes: _Passes,
) -> List[str]:
    failures = [case for case in result.failures if case in mistakes]
    lines = [f"  {_mark(case.state)} {case.name}" for case in failures[:3]]
    lines += ["", *_first_failure(root, exercise, result, failures, passes)]
    if failures:
        first = _most_useful(failures, points.steps_of(exercise.contract_file))
        lines.append(f"  {done.how_it_was_found(first or failures[0], plain)}")
    return lines


def _status(result: test_program.Result, bonus: List[test_program.Case], todos: Todos) -> int:
    if result.passed or (
        # Nothing is missing but a bonus.
        bonus
        and result.ended
        and not result.detail
        and len(bonus) == len(result.failures)
        and result.in_state(test_program.PASSED)
        and all(todos.is_of_bonus(one.name) for one in result.in_state(test_program.NOT_RUN))
    ):
        return OK
    # Nothing ran, or every case was skipped.
    if result.status == NOT_POSSIBLE and not result.failures:
        return NOT_POSSIBLE
    return FAILED


def _report(
    root: Path,
    exercise: Exercise,
    result: test_program.Result,
    status: int,
    title: str,
    bonus: List[test_program.Case],
    later: List[test_program.Case],
    passes: _Passes,
) -> List[str]:
    """`bonus`: what failed and is about a bonus only; `later`: of that, what is not written."""
    cases = list(result.cases.values())
    passed = result.in_state(test_program.PASSED)
    if status == NOT_POSSIBLE:
        reason = result.outside or list(dict.fromkeys(case.detail for case in cases))
        return [
            paint(f"{title}: not tested, since it is not possible here.", "yellow"),
            *reason[-5:],
        ]
    if status == OK:
        more = (
            f", {len(result.in_state(test_program.SKIPPED))} skipped"
            if result.in_state(test_program.SKIPPED)
            else ""
        )
        if later:
            are = "is" if len(later) == 1 else "are"
            more += f"; {len(later)} {are} about a bonus that is not written"
        if len(later) < len(bonus):
            failing = len(bonus) - len(later)
            more += f"; {failing} about the bonus {'fails' if failing == 1 else 'fail'}"
        count = f"{len(passed)} tests pass" if bonus else f"all {len(passed)} tests pass"
        count = "1 test passes" if len(passed) == 1 else count
        lines = [paint(f"{title}: {count}{more}.", "green")]
    elif not result.something_ran:
        lines = [paint(f"{title}: no test ran.", "red")]
    else:
        waiting = sum(map(_waits_for_a_todo, cases))
        more = f", {waiting} {'waits' if waiting == 1 else 'wait'} for a TODO" if waiting else ""
        lines = [paint(f"{title}: {len(passed)} of {len(cases)} tests pass{more}.", "red")]

    endless = ""  # what never ended: tests/support/test_events.cpp has left the others out
    if any(_ENDLESS_LAUNCH in line for case in result.failures for line in case.lines):
        endless = "a kernel"
    elif any(case.state == test_program.TIMED_OUT for case in cases):
        endless = "a test"
    if endless:
        cases = [case for case in cases if case.state != test_program.NOT_RUN]
    if result.something_ran:
        lines += _listing([case for case in cases if case not in later])
    if len(cases) < len(result.cases):
        lines.append(f"  {paint('not run', 'dim')} the others, after {endless} that never ends")
    begun = [case for case in bonus if case not in later]
    if status == OK and not begun:
        return lines

    core = [case for case in result.failures if case not in bonus]
    return [*lines, "", *_first_failure(root, exercise, result, core or begun or later, passes)]


def _first_failure(
    root: Path,
    exercise: Exercise,
    result: test_program.Result,
    failures: List[test_program.Case],
    passes: _Passes,
) -> List[str]:
    """What to look at first."""
    first = _most_useful(failures, points.steps_of(exercise.contract_file))
    if first is None:
        return [
            f"No test failed, and yet something is wrong: {result.ending}. It said:",
            *[f"  {diagnostics.shorten(line, root)}" for line in result.outside[-15:]],
        ]
    lines = [paint(f"What to look at first, {first.name}:", "bold")]
    said = [diagnostics.shorten(line, root) for line in _readable(first)]
    said = [_with_line_of_todo(line, root) for line in said]
    if len(said) > LINES_SHOWN:
        said = said[: LINES_SHOWN // 2] + ["…"] + said[-LINES_SHOWN // 2 :]
    lines += [f"  {line}" for line in said]
    order = done.in_which_order(first, result, passes)
    if order:
        lines.append(f"  {order}")
    if first.detail:
        lines.append(f"  {'It was ' if first.detail.startswith('ended by') else ''}{first.detail}.")
    if _HOST_MEMORY.search("\n".join([*first.lines, *result.outside])):
        lines.append(
            "  The host has written past the end of its own memory, given it back twice, or given"
            " device memory to free() or delete. What names the line: docs/debugging.md."
        )
    if first.detail.startswith("printed more than"):
        lines.append("  Does every thread print, or a loop that never ends?")
    elif first.detail.endswith("was stopped") and not any(map(_STOPPED_AT.search, said)):
        lines.append(f"  {ENDLESS}")
    return lines


_TODO = "TODO"  # failed, since what it calls is not written yet

_MARKS = {
    test_program.PASSED: ("ok     ", "green"),
    test_program.FAILED: ("FAILED ", "red"),
    _TODO: ("TODO   ", "yellow"),
    test_program.SKIPPED: ("skipped", "yellow"),
    test_program.NOT_RUN: ("not run", "dim"),
}


def _mark(state: str) -> str:
    text, style = _MARKS.get(state, (f"{state}:", "red"))
    return paint(text, style)


def _listing(cases: List[test_program.Case]) -> List[str]:
    """A line for each case; where there are many, one for all that differ in their parameter."""
    groups: Dict[Tuple[str, str], List[test_program.Case]] = {}
    total: Dict[str, int] = {}
    for case in cases:
        name = case.name
        if len(cases) > CASES_SHOWN and "/" in name.split(".", 1)[-1]:
            name = name.rsplit("/", 1)[0]
        state = _TODO if _waits_for_a_todo(case) else case.state
        groups.setdefault((name, state), []).append(case)
        total[name] = total.get(name, 0) + 1
    lines = []
    for (name, state), group in groups.items():
        # The whole of it stands below, once.
        detail = re.split("[,:]", group[0].detail)[0].strip()
        detail = f"  ({detail})" if detail else ""
        if total[name] > 1:
            many = "all" if len(group) == total[name] else f"{len(group)} of"
            detail = f"  {many} {total[name]} cases{detail}"
        lines.append(f"  {_mark(state)} {name}{detail}")
    return lines


def _most_useful(
    failures: List[test_program.Case], steps: Sequence[str]
) -> Optional[test_program.Case]:
    """What is written and wrong comes before what is not written yet; there TODO(1) is first. Of
    both, values come before what is refused or not given back, and before who should have made
    them. (What has made none is not written yet: that comes last while a TODO waits.) Of these, the
    first step is first, and there what the CPU device has reported (unless another size says more:
    see _SAYS_LITTLE), then what fails once or twice, then short numbers (`got 2, expected 1` says
    more than ten digits each), then little data."""

    waits = any(map(_waits_for_a_todo, failures))

    def order(
        case: test_program.Case,
    ) -> Tuple[int, bool, bool, bool, int, bool, bool, bool, int, float]:
        text = "\n".join(case.lines)
        todos = re.findall(r"\bTODO\((\d+)\)", "\n".join(_readable(case)))
        values = _VALUES.search(text)
        required = points.is_required_work(case.name)
        failures = {said.text for said in case.said if said.is_failure}
        return (
            min(map(int, todos), default=_LATE if waits and required else 0),
            required,
            _BAD_INPUT.search(case.name) is not None,
            bool(failures) and all(map(_is_left, failures)),
            steps.index(step) if (step := points.step_of(case.name, steps)) in steps else 0,
            _SAYS_LITTLE.search(text) is not None,
            "CPU device: " not in text,
            len(failures) > FAILURES_SHOWN,
            _effort(*values.groups()) if values else 3,
            _amount(text),
        )

    return min(failures, key=order, default=None)


_LATE = 1000  # after the last TODO

# Numbers, or lists of them.
_VALUES = re.compile(r"\b(?:got|is) (\{.*?\}|\S+), expected (\{.*?\}|[^\s,;)]+)")


def _effort(got: str, expected: str) -> int:
    """How hard two values are to compare; cases about infinity and NaN are for later."""
    if re.fullmatch(r"-?(inf|nan)", expected):
        return 12
    return 11 if got.endswith("nan") else max(len(got), len(expected))


def _amount(text: str) -> float:
    """Of data: elements, or bytes of the allocation that an access has missed. More than any: what
    is tried at full size only."""
    if done.ONE_ORDER in text:
        return math.inf
    elements = re.search(r"\bof (\d+) elements differ", text)
    memory = re.search(r"\bdevice memory \(([\d.]+) (bytes|KiB|MiB|GiB)", text)
    if elements or not memory:
        return float(elements[1]) if elements else 0
    return float(memory[1]) * 1024.0 ** ("bytes", "KiB", "MiB", "GiB").index(memory[2])


# Cases that give bad input, or have calls fail: what the CPU device says there is often what the
# case wants to see.
_BAD_INPUT = re.compile(r"Refus|Report|Reject|AfterABad|BadLaunch")

# What mixed-up dimensions lead to at large sizes. Smaller ones have wrong values instead, or an
# access that is near an allocation.
_SAYS_LITTLE = re.compile(
    r"CPU device: the launch of .* fails: the (?:grid|block) .* is too large"
    r"|: no allocation of the device is anywhere near that address"
)

_STOPPED_AT = re.compile(r"CPU device: the program was stopped at ")  # where it did not end
_ENDLESS_LAUNCH = ": the launch ran for more than "  # the CPU device says so

# What the C library says when it finds its lists of free memory spoiled.
_HOST_MEMORY = re.compile(
    r"double free or corruption|corrupted (size|top|double)|\b(malloc|free|realloc)\(\): "
)

# What every CUDA call returns after a kernel has failed.
_STICKY = re.compile(
    r"failed: (cudaError(?:IllegalAddress|LaunchTimeout|LaunchFailure|Assert|MisalignedAddress"
    r"|IllegalInstruction|HardwareStackError|InvalidAddressSpace|InvalidPc))\b"
)


def _readable(case: test_program.Case) -> List[str]:
    """What a case said, without what helps nobody: GoogleTest's words around the text, the same
    sentence again, the calls that fail because a kernel has failed before, and what is not written
    beside what is written and wrong. Where nothing else is wrong, what such code leaves behind."""
    kept: List[str] = []
    failures = [said.text for said in case.said if said.is_failure and not _is_left(said.text)]
    missing = [text for text in failures if NOT_WRITTEN.search(text)]
    calls: Set[str] = set()  # that failed or were reported, each once
    sentences: Set[str] = set()  # that were said
    orders: List[str] = []
    follows = None
    reported = False  # by the CPU device
    text_so_far, more = "", 0
    for said in case.said:
        text = said.text
        if said.is_failure:
            if len(missing) < len(failures) and text in missing:
                continue
            if missing and len(missing) == len(failures) and _is_left(text):
                continue
            text = test_program.sentence(said)
            sentence, *checked_at = text.split("\n  checked at ", 1)
            text = "\n  checked at ".join([sentence + _advice(sentence), *checked_at])
            if said.order and said.order != "forward":  # which is nothing special
                orders.append(f"(thread order: {said.order})")
            if sentence in sentences:
                continue
            if len(sentences) >= FAILURES_SHOWN and "CPU device" not in text:
                more += 1
                continue
            sentences.add(sentence)
            again = re.match(r"the CPU device reported .* in this test, the last one:\n", text)
            if again and text[again.end() :].strip() in text_so_far:
                continue
        text_so_far += text + "\n"
        repeated = False
        for line in text.splitlines():
            if line.startswith("CPU device:"):
                repeated = line in calls
                calls.add(line)
            elif not line.startswith(" "):
                repeated = False
            if repeated:
                continue
            sticky = _STICKY.search(line)
            if sticky and reported:
                follows = sticky[1]
                if said.is_failure:
                    break  # where it was checked says nothing
                continue
            if " failed: cudaError" in line:
                if line in calls:
                    if said.is_failure:
                        break
                    continue
                calls.add(line)
            reported = reported or line.startswith("CPU device:")
            kept.append(line)
    if more:
        kept.append(f"({more} more {'failure' if more == 1 else 'failures'} of this test.)")
    if follows:
        kept.append(
            f"(After that every CUDA call fails, with {follows}, as after any kernel that fails.)"
        )
    return kept + list(dict.fromkeys(orders))


def _waits_for_a_todo(case: test_program.Case) -> bool:
    """Whether it says nothing but that something is not written yet (and what that leaves)."""
    failures = [said.text for said in case.said if said.is_failure]
    return (
        case.state == test_program.FAILED
        and any(NOT_WRITTEN.search(text) for text in failures)
        and all(NOT_WRITTEN.search(text) or _is_left(text) for text in failures)
    )


def _is_left(text: str) -> bool:
    """As tests/support/test_main.cpp says that memory or a stream was not given back."""
    return "this test leaves " in text


def _advice(sentence: str) -> str:
    if re.match(r"(\d{2,}) of \1 elements differ; first at \[0\]: got 0,", sentence):
        return "\n  Nothing is right, and it begins with 0: is the result copied back to the host?"
    some = re.match(r"\d+ of (\d+) elements differ; first at \[(\d+)\]: ", sentence)
    count, first = map(int, some.groups()) if some else (0, 0)
    # Where a block or a warp ends, something else is more likely, and one of six elements is right
    # for many reasons.
    if count >= 8 and first != 0 and first % 32 != 0 and first in (count // 4, count // 8):
        part = "quarter" if first == count // 4 else "eighth"
        return (
            f"\n  The first {part} is right: does each copy count bytes, not elements?"
            " (If you wrote no copy: is a barrier missing?)"
        )
    if re.match(r"\w+\(.*\)(?:\.\w+)? is 0, expected -?[1-9.]", sentence):
        return "\n  Still 0: was it ever set? (By a kernel: is it copied back to the host?)"
    if re.match(r"\w+\(.*\)(?:\.\w+)? is -?nan, expected -?\d", sentence):
        return "\n  New memory may contain NaN: was something read before it was written?"
    if sentence.startswith("this test leaves memory allocated"):
        pinned = "the newest is pinned" in sentence
        free, owner = ("cudaFreeHost", "pinned_buffer") if pinned else ("cudaFree", "device_buffer")
        return (
            f"\n  Free it wherever the function is left: by {free}, or by an owner such as {owner}."
        )
    return ""


def _with_line_of_todo(line: str, root: Path) -> str:
    """`TODO(2) in labs/…/x.cu` gets the number of the line where that stands."""
    match = re.search(r"(TODO\(\d+\)) in (labs/\S+?\.\w+)", line)
    if match is None:
        return line
    try:
        text = (root / match[2]).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return line
    # With a colon: the head of the file names the first and the last one, too.
    heads = (match[1] + ":", match[1][:-1] + ", bonus):")
    number = next((n for n, one in enumerate(text, 1) if any(h in one for h in heads)), None)
    return line if number is None else line[: match.end()] + f":{number}" + line[match.end() :]


def _next_step(
    exercise: Exercise,
    solution: bool,
    again: str,
    first: Optional[test_program.Case],
    failures: List[test_program.Case],
    result: test_program.Result,
    said: List[str],
) -> str:
    """`first`: the case to look at, of `failures`, where the check build has not seen it. `said`:
    what has been printed of the result. A cause is suggested only where that names none."""
    if solution:
        return "This is the solution, so the course itself is at fault here, or this machine."
    file = (
        f"labs/{exercise.chapter_folder}/{exercise.number}_{exercise.name}/{exercise.lab_file.name}"
    )
    lines = [f"Next: edit {file}, then {again} again."]
    if first is not None and any(_IN_CHECK.search(line) for line in first.lines):
        if not any(_LINE_IS_NAMED.search(line) for line in first.lines):
            lines.append(f"      Where? `scripts/lab check {exercise.id}` names line and element.")
    elif first is not None and any(done.BY_ORDER.search(line) for line in said):
        lines.append(f"      Where? `scripts/lab check {exercise.id}` watches every access.")
    elif first is not None and any("never written" in line for line in first.lines):
        lines.append(
            "      Why? Perhaps no thread has that element, which still holds what new memory"
            " does: compare grid and block with how the kernel computes its index."
        )
    elif first is not None and done.may_be_a_race(first, result, exercise):
        lines.append(
            "      Why? An index, perhaps; or two threads access the same memory without a barrier"
            " or an atomic function between them:"
            f" `scripts/lab check {exercise.id}` looks for that."
        )
    other = next(
        (
            points.test_of(one.name)
            for one in failures
            if first is not None and _differs(one, first)
        ),
        None,
    )
    if other is not None:
        lines.append(
            f"      Another? `scripts/lab test {exercise.id} --only {other.partition('.')[2]}`"
            " shows what one test says."
        )
    return "\n".join([*lines, f"      Stuck? `scripts/lab hint {exercise.id}`"])


def _differs(one: test_program.Case, first: test_program.Case) -> bool:
    """Another test, which says something else than that it is not written."""
    return points.test_of(one.name) != points.test_of(first.name) and not any(
        NOT_WRITTEN.search(line) for line in one.lines
    )


# Where the check build knows more.
_IN_CHECK = re.compile(r" wrote outside an allocation: |\(segmentation fault\)")
_LINE_IS_NAMED = re.compile(r"^CPU device: .*, at \S+:\d+")


def _after_a_check(mistakes_in_bonus: List[test_program.Case]) -> str:
    if not mistakes_in_bonus:
        return "Every access was watched, and no mistake was found."
    return "No mistake was found in the core; the one above is in the bonus."


def _praise(progress: StudentProgress, exercise: Exercise) -> str:
    following = progress.next_exercise(after=exercise)
    if following is None:
        return "Done. That was the last one: every exercise passes."
    return f"Done. Next: {following.id} {following.name}, `scripts/lab test {following.id}`"


def test_all(root: Path, exercises: List[Exercise], device: Device, **options: Any) -> int:
    """Tests one exercise after the other; one that fails does not keep the others from it."""
    worst = OK
    for exercise in exercises:
        try:
            status = test_exercise(root, exercise, device, **options)
        except build.BuildFailed as error:
            if len(exercises) == 1:
                raise
            say(f"lab: {error}\n")
            status = error.exit_code
        if status not in (OK, NOT_POSSIBLE) or worst == OK:
            worst = status
    return worst
