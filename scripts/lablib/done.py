# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What Done means: what `scripts/lab test` looks at once the cases of an exercise have passed.

The same cases run again in the check build: every memory access is watched and counted, and a*b+c
is rounded once, as nvcc compiles it. Where they have passed on a GPU, so do those that it cannot
run: where calls fail, and on the work that the exercise requires. And every TODO has to be written,
but for those of a bonus."""

import functools
import os
import re
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, Iterable, List, Optional, Tuple

from lablib import build, counters, test_program
from lablib.console import Progress
from lablib.device import Device
from lablib.errors import LabError
from lablib.exercises import Exercise
from lablib.grading import points
from lablib.todos import NOT_WRITTEN, Todos, bonus_apart, listed, not_about_bonus, waits_for_bonus

SECONDS = 20.0  # for everything that is looked at here, the build included
LEAST = 5.0  # seconds for the cases, however long the build has taken
QUICK = 1.0  # seconds: cases that took longer without checks are not checked all at once


@dataclass
class Check:
    """What the check build had to say of the cases."""

    results: List[test_program.Result] = field(default_factory=list)
    asked: int = 0  # cases
    seconds: float = 0.0
    time_is_over: bool = False
    rows: List[counters.Row] = field(default_factory=list)  # of the student's own file
    why_not: str = ""  # it was not possible here
    todos: Todos = field(default_factory=Todos)  # that are not written

    @property
    def bad(self) -> Optional[test_program.Result]:
        """The first result that is not what it should be."""
        mistakes = self.mistakes
        return next(
            (
                one
                for one in self.results
                if any(case in mistakes for case in one.failures)
                or not (one.passed or one.cancelled or one.failures)
            ),
            None,
        )

    @property
    def failures(self) -> List[test_program.Case]:
        return [case for one in self.results for case in one.failures]

    @property
    def mistakes(self) -> List[test_program.Case]:
        """What failed and is not only about a bonus."""
        return not_about_bonus(self.failures, self.todos)

    @property
    def mistakes_in_bonus(self) -> List[test_program.Case]:
        """What failed in a bonus that is begun."""
        mistakes = self.mistakes
        return [
            case
            for case in self.failures
            if case not in mistakes and not waits_for_bonus(case, self.todos)
        ]

    @property
    def seen(self) -> int:
        """How many cases ran to their end, in at least one thread order."""
        return sum(case.runs > 0 for one in self.results for case in one.cases.values())


def _target(exercise: Exercise, solution: bool) -> str:
    return f"{build.kind(solution, watched=True)}_test.{exercise.id}"


def _cpu(device: Device) -> Device:
    return device if device.name == "cpu" else Device("cpu", "")


def start_to_build(root: Path, exercise: Exercise, device: Device, solution: bool) -> build.Ahead:
    """The check build, beside the cases that run without it: most of them leave a core idle."""
    return build.Ahead(root, "cpu", _cpu(device), _target(exercise, solution))


def check(
    root: Path,
    exercise: Exercise,
    plain: test_program.Result,
    but: Iterable[str] = (),
    *,
    solution: bool,
    device: Device,
    case_limit: float,
    todos: Todos,
    ahead: Optional[build.Ahead] = None,
    stop_when: Optional[Callable[[], bool]] = None,
) -> Check:
    """Builds the check build of the tests and runs the cases of `plain`, without those named in
    `but`: those on required work and those that a GPU does not have, however long they take on a
    busy machine, and then those that took least time, as many as there is time for. A case may wait
    for a bonus of `todos`, and say more than that. `ahead`, where given, is what start_to_build()
    has returned. Throws build.Cancelled when `stop_when` says so."""
    start = time.monotonic()
    title = f"the checks of {exercise.id} {exercise.name}{' (the solution)' if solution else ''}"
    is_on_cpu = device.name == "cpu"
    try:
        if ahead is not None:
            ahead.wait(title, stop_when)
        build.build(
            root,
            "cpu",
            _cpu(device),
            [_target(exercise, solution), *([] if is_on_cpu else [f"cases.{exercise.id}"])],
            title,
            own=None if solution else exercise,
            stop_when=stop_when,
        )
    except LabError as error:
        if is_on_cpu:
            raise
        return Check(why_not=str(error))
    program = build.test_path(root, "cpu", exercise, solution, watched=True)
    end = max(start + SECONDS, time.monotonic() + LEAST)

    def is_over(part: List[str], so_far: test_program.Result) -> bool:
        """Whether there is no more time, and all required work of a part has been looked at."""
        results = [*found.results, so_far]
        seen = {case.name for one in results for case in one.cases.values() if case.runs > 0}
        return time.monotonic() > end and required & {*part} <= seen

    def one_is_certain(result: test_program.Result) -> bool:
        """One mistake is enough. What a case on required work says may turn out to be about a bonus
        once the cases of that have run."""
        return any(
            not (points.is_required_work(case.name) and todos.bonus_is_begun)
            for case in not_about_bonus(result.failures, todos)
        )

    def is_to_end(part: List[str], so_far: test_program.Result) -> bool:
        return (
            one_is_certain(so_far)
            or is_over(part, so_far)
            or (stop_when is not None and stop_when())
        )

    found = Check(todos=todos)
    names = list(plain.cases)
    if not is_on_cpu:
        names = test_program.list_cases(build.cases_path(root, "cpu", exercise))
    cases = [plain.cases.get(name, test_program.Case(name)) for name in names if name not in but]
    required = {
        case.name
        for case in cases
        if points.is_required_work(case.name) or case.name not in plain.cases
    }
    quickest = {
        case.name: case
        for case in sorted(cases, key=lambda case: (case.name not in required, case.seconds))
    }
    found.asked = len(quickest)

    def parts(names: List[str]) -> List[List[str]]:
        return _parts([quickest[name] for name in names])

    shown = Progress(title)
    try:
        # What a bonus does keeps no other case from being looked at.
        for part in [part for names in bonus_apart([*quickest], todos) for part in parts(names)]:
            if is_over(part, test_program.Result()):
                continue
            result, rows = _run(
                program, part, case_limit, shown, functools.partial(is_to_end, part)
            )
            found.results.append(result)
            own = [row for row in rows if Path(row.file).name == exercise.lab_file.name]
            found.rows = counters.added_up([*found.rows, *own])
            if result.cancelled and not one_is_certain(result) and not is_over(part, result):
                raise build.Cancelled
            if one_is_certain(result) or not (
                result.passed or result.failures or is_over(part, result)
            ):
                break
    finally:
        shown.done()
    found.time_is_over = time.monotonic() > end
    found.seconds = time.monotonic() - start
    return found


def _parts(order: List[test_program.Case]) -> List[List[str]]:
    """The quick ones and the slow ones, so that few are left out where the time is not enough. (To
    start a program takes a moment: one part is best where all is quick.)"""
    total = sum(case.seconds for case in order)
    names = [case.name for case in order]
    if total <= QUICK:
        return [names]
    so_far, quick = 0.0, 0
    while quick < len(order) and so_far + order[quick].seconds <= total / 2:
        so_far += order[quick].seconds
        quick += 1
    return [part for part in (names[:quick], names[quick:]) if part]


def _run(
    program: Path,
    names: List[str],
    case_limit: float,
    shown: Progress,
    stop_when: Callable[[test_program.Result], bool],
) -> Tuple[test_program.Result, List[counters.Row]]:
    with tempfile.TemporaryDirectory(prefix="lab-done-") as folder:
        file = Path(folder) / "counters"
        result = test_program.run(
            [str(program)],
            cases=names,
            case_limit=case_limit,
            on_tick=shown.update,
            stop_when=stop_when,
            env={**os.environ, "CPU_DEVICE_COUNTERS": str(file)},
        )
        return result, counters.read_table(file) if file.is_file() else []


# --- what came of it -----------------------------------------------------------------------------


def _solution_has(exercise: Exercise, pattern: str) -> bool:
    try:
        text = exercise.solution_file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(pattern, text) is not None


_SHARING = r"\b(__shared__|__sync\w+|__shfl\w+|__threadfence\w*|atomic\w+|cooperative_groups)\b"


def _was_refused(case: test_program.Case) -> bool:
    """Whether there was an exception that is not about an error of CUDA: one for invalid input."""
    thrown = [test_program.THROWN.search(said.text) for said in case.said if said.is_failure]
    return any(one is not None and "cudaError" not in one[1] for one in thrown)


def may_be_a_race(
    case: test_program.Case, result: test_program.Result, exercise: Exercise
) -> bool:
    """Whether the check build may know why it failed: the exercise is about threads that share
    data, nobody has named a cause, and not every thread order gives the same wrong values."""
    text = "\n".join(case.lines)
    by_order: Dict[str, List[str]] = {}
    for run in result.failed_runs:
        for said in run.said if run.name == case.name else ():
            by_order.setdefault(said.order, []).append(said.text)
    texts = list(by_order.values())
    return (
        (len(texts) < 2 or any(one != texts[0] for one in texts))
        and not points.is_required_work(case.name)
        and not text.startswith("CPU device: ")
        and "\nCPU device: " not in text
        and NOT_WRITTEN.search(text) is None
        and not _was_refused(case)
        and _solution_has(exercise, _SHARING)
    )


# Of a case that only one order has: tests/support/full_size.hpp.
ONE_ORDER = "this case runs in one thread order only"


# Variables of a test program's environment: work is done when it is submitted; device 0 is always
# the current one; what is timed is launched once.
AT_ONCE = {"CPU_DEVICE_STREAMS": "eager"}
ON_DEVICE_0 = {"LAB_TEST_DEVICE": "0"}
ONCE = {"LAB_TEST_LAUNCHES": "1"}


def passes_with(
    program: Path, case: test_program.Case, variables: Dict[str, str], case_limit: float
) -> bool:
    """Whether a case is right, in all thread orders, with these variables."""
    env = {**os.environ, **variables}
    return test_program.run(
        [str(program)], cases=[case.name], case_limit=case_limit, env=env
    ).passed


def in_which_order(
    case: test_program.Case,
    result: test_program.Result,
    passes: Callable[[test_program.Case, Dict[str, str]], bool],
) -> str:
    """What it means that a case is right in one order of threads and wrong in another, or "". With
    each order goes one in which streams work, and with one of them another current device and
    launches that are repeated; `passes` is asked which of these it is."""
    if any(ONE_ORDER in said.text for said in case.said):
        return ""
    wrong = {
        said.order
        for run in result.failed_runs
        if run.name == case.name
        for said in run.said
        if said.is_failure
    }
    orders = list(dict.fromkeys(result.orders))
    right = [order for order in orders if order not in wrong]
    if not wrong or "" in wrong or not right or case.runs < len(orders):
        return ""
    if all(DEVICE_1 in order for order in wrong) and not passes(case, {}):
        if passes(case, ONCE):
            return (
                "Right when what is timed is launched once, wrong when it is launched again, as a"
                " program does to measure the time: the second launch finds in memory what the"
                " first one has left there."
            )
        if passes(case, ON_DEVICE_0):
            return (
                "Right while device 0 is the current one, wrong when it is device 1: something here"
                " belongs to the device of an earlier call (memory, a stream, a symbol's value, a"
                " kernel's attribute), or to device 0, whichever is current."
            )
    if not passes(case, AT_ONCE):
        causes = [
            "two threads access the same memory here, and the result depends on which of them"
            " comes first",
            "memory is read that was never written: it holds different bytes in each order",
        ]
        if any(_UNWRITTEN.search(said.text) for said in case.said):
            causes.reverse()
        return (
            f"Right {_in_words(right)}, wrong"
            f" {_in_words([order for order in orders if order in wrong])}: {'; or '.join(causes)}."
        )
    # In reverse order work is late, too, but one stream goes on after the other.
    if any(order.startswith("reverse") for order in right):
        return (
            "Right when one stream runs after the other, wrong when they take turns: two"
            " streams use the same memory, and neither waits for the other."
        )
    return (
        "Right when all work is done immediately, wrong when it is done as late as CUDA allows: the"
        " host, or a stream, does not wait for something that is still running."
    )


# What it says.
BY_ORDER = re.compile(r"^ *Right .*, wrong ")

# In the name of an order: tests/support/test_main.cpp.
DEVICE_1 = "device 1 is current"

# Where new memory may come from: what it holds in the first order is NaN.
_UNWRITTEN = re.compile(r"\b(got|is) -?nan\b|never written")


def _in_words(orders: List[str]) -> str:
    return " and ".join(_WORDS[order.split(",")[0]] for order in orders)


_WORDS = {"forward": "forward", "reverse": "in reverse", "random": "in random order"}


# As lab/closeness.hpp and its like say it.
_WRONG_VALUES = re.compile(r"\bgot .*\bexpected\b|\belements? differs?\b|\bdo(es)? not belong\b")


def how_it_was_found(case: test_program.Case, plain: test_program.Result) -> str:
    """Of a case that only the check build finds fault with: in `plain`, the others have passed."""
    text = "\n".join(case.lines)
    if case.name not in plain.cases:
        return (
            "A GPU does not have this test: only on the CPU device can a test make calls fail, and"
            " count what threads do."
        )
    if re.search(r"CPU device: .*\brace\b", text):
        return (
            "Every value was right. The check build found the race by watching every memory access:"
            " on a GPU, either of the two may come first."
        )
    if "CPU device:" in text:
        return (
            "Every value was right, by luck. The check build found the mistake by watching every"
            " memory access."
        )
    if plain.cases[case.name].state == test_program.SKIPPED:
        return (
            "The plain build skips this test: only the check build counts what each thread"
            " accesses."
        )
    if points.is_required_work(case.name) and not _WRONG_VALUES.search(text):
        return (
            "Every value was right. The check build found it by counting what each thread accesses:"
            ' see "Requires" in the contract.'
        )
    if case.state == test_program.FAILED:
        return (
            "Right in the plain build, wrong in the check build, which rounds a*b+c once, as nvcc"
            " does for a GPU: the result depends on how it is rounded, or on luck."
        )
    return "It happens only in the check build, which watches every memory access."


def lines(
    plain: test_program.Result,
    found: Check,
    todos: Optional[Todos],
    gpu: bool,
    *,
    several_steps: bool = False,
    costs: Iterable[str] = ("sectors", "wavefronts"),
) -> List[Tuple[str, str]]:
    """What is well, each with its details."""
    passed = len(plain.in_state(test_program.PASSED))
    orders: Dict[str, None] = dict.fromkeys(order.split(",")[0] for order in plain.orders)
    how = f" with the threads in {len(orders)} orders" if len(orders) > 1 else ""
    tests = "1 test" if passed == 1 else f"{passed} tests"
    all_lines = [("right", f"{tests}{' on the GPU' if gpu else how}")]
    if found.why_not:
        all_lines.append(("not checked", f"for races: {found.why_not}"))
    else:
        # They are not among those that pass in the plain build, either.
        skipped = sum(len(one.in_state(test_program.SKIPPED)) for one in found.results)
        asked, seen = found.asked - skipped, found.seen - skipped
        what, many = "no races", "1 test" if asked == 1 else f"all {asked} tests"
        if seen < asked:
            what = "no race in"
            over = (
                f" (as many as {SECONDS:g} s allow; `scripts/lab check` watches all)"
                if found.time_is_over
                else ""
            )
            many = f"{seen} of {asked} tests{over}"
        but = ", but for the bonus" if found.mistakes_in_bonus else ""
        watched = f"with every access watched ({found.seconds:.0f} s with the build){but}"
        all_lines.append((what, f"{many}, {watched}"))
        all_lines.append(("no leaks", "of memory, streams, events or handles"))
    cost = counters.in_a_line(found.rows, costs)
    if cost and several_steps and "; worst at " in cost:
        cost += "; this counts all steps, including those that are slow on purpose"
    elif not counters.in_a_line(found.rows) and found.seen:
        why = "no kernel of yours has an ordinary load or store of global or shared memory"
        if found.time_is_over:
            why = "there was not enough time for all tests (`scripts/lab profile` shows the cost)"
        cost = f"nothing was counted: {why}"
    if cost and costs:
        all_lines.append(("cost", cost))
    if todos is not None:
        if todos.bonus:
            all_lines.append(("core done", f"bonus: {listed(todos.bonus)}"))
        else:
            all_lines.append(("all TODOs written", ""))
    return all_lines
