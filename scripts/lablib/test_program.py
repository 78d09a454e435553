# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Running a test program, and what it says of its cases: tests/support/test_events.hpp has the
events, one JSON object a line. The console's text is for people and is not read."""

import collections
import contextlib
import json
import os
import re
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence

from lablib import processes
from lablib.errors import LabError

PASSED = "passed"
FAILED = "failed"
CRASHED = "crashed"
TIMED_OUT = "timed out"
SKIPPED = "skipped"
NOT_RUN = "not run"

CASE_LIMIT = 60.0  # seconds for one case
CONSOLE_LINES = 100  # kept of what is said outside of the events


@dataclass
class Said:
    """What a case printed, or (`is_failure`) one of its failures."""

    text: str
    is_failure: bool = False
    file: str = ""
    line: int = 0
    order: str = ""  # of threads

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.file else ""


@dataclass
class Case:
    name: str
    state: str = NOT_RUN
    said: List[Said] = field(default_factory=list)  # in the run that failed, else in the last one
    detail: str = ""  # how it crashed, why it was skipped
    seconds: float = 0.0  # of all its runs
    runs: int = 0  # one for each thread order

    @property
    def is_bad(self) -> bool:
        return self.state in (FAILED, CRASHED, TIMED_OUT)

    @property
    def lines(self) -> List[str]:
        return [line for one in self.said for line in one.text.splitlines()]


@dataclass
class Result:
    cases: Dict[str, Case] = field(default_factory=dict)
    status: int = 1  # the program's exit status; negative: the signal that ended it
    detail: str = ""  # what is wrong with the whole program
    failed_runs: List[Case] = field(default_factory=list)  # one for each thread order
    orders: List[str] = field(default_factory=list)  # of threads, that were begun
    others: List[str] = field(default_factory=list)  # cases that nobody asked for
    outside: List[str] = field(default_factory=list)  # what was said outside of every case
    ended: bool = False  # the program has given its verdict
    timed_out: bool = False
    cancelled: bool = False

    def in_state(self, *states: str) -> List[Case]:
        return [case for case in self.cases.values() if case.state in states]

    @property
    def failures(self) -> List[Case]:
        return self.in_state(FAILED, CRASHED, TIMED_OUT)

    @property
    def something_ran(self) -> bool:
        return any(case.state != NOT_RUN for case in self.cases.values())

    @property
    def passed(self) -> bool:
        """Every case ran to its end, at least one passed, and the program says so too."""
        return (
            self.ended
            and self.status == 0
            and bool(self.in_state(PASSED))
            and not self.failures
            and not self.in_state(NOT_RUN)
        )

    def with_more(self, part: "Result") -> "Result":
        """Together with other cases of the same program, whose own end says nothing of these."""
        return replace(
            part,
            cases={**self.cases, **part.cases},
            status=self.status or part.status,
            detail=self.detail,
            failed_runs=self.failed_runs + part.failed_runs,
            orders=self.orders + part.orders,
            others=self.others + part.others,
            outside=self.outside + part.outside,
            ended=self.ended and part.ended,
            cancelled=self.cancelled or part.cancelled,
        )

    @property
    def ending(self) -> str:
        if self.detail:
            return self.detail
        if self.status < 0:
            return processes.signal_sentence(self.status)
        return f"exit status {self.status}"


class Reader:
    """Makes a result of events, as they come."""

    def __init__(self, cases: Optional[Sequence[str]] = None) -> None:
        self.result = Result()
        self.asked_for = cases  # None: whatever the program has
        self.result.cases = {name: Case(name) for name in cases or []}
        self.current: Optional[Case] = None  # this run of the case under way
        self.done = 0
        self._rest = b""

    def title(self) -> str:
        return f"[{self.done}/{len(self.result.cases)}] {self.current.name if self.current else ''}"

    def feed(self, data: bytes) -> None:
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()  # a line that is not whole says nothing
        for line in lines:
            with contextlib.suppress(ValueError):
                event = json.loads(line.decode("utf-8", "replace"))
                if isinstance(event, dict):
                    self._take(event)

    def _take(self, event: Dict[str, Any]) -> None:
        what, name = event.get("event"), str(event.get("case", ""))
        if what == "program":
            if self.asked_for is None:
                self.result.cases = {name: Case(name) for name in map(str, event.get("cases", []))}
            self.result.others = list(map(str, event.get("others", [])))
        elif what == "repetition":
            self.result.orders.append(str(event.get("order", "")))
        elif what == "begin":
            self.current = Case(name)
        elif what == "output":
            self._say(Said(str(event.get("text", ""))))
        elif what == "failure":
            file, line = str(event.get("file", "")), int(event.get("line", 0))
            text, order = str(event.get("message", "")), str(event.get("order", ""))
            self._say(Said(text, True, file, line, order))
        elif what == "end" and self.current is not None and self.current.name == name:
            signal = int(event.get("signal", 0))
            detail = str(event.get("detail", ""))
            if signal:
                detail = "ended by " + processes.signal_sentence(-signal)
            self.end_case(str(event.get("result", FAILED)), detail, float(event.get("seconds", 0)))
        elif what == "ends":
            self.result.ended = True
            self.result.detail = str(event.get("detail", ""))

    def _say(self, said: Said) -> None:
        if self.current is not None:
            self.current.said.append(said)
        else:
            self.result.outside += said.text.splitlines()

    def end_case(self, state: str, detail: str, seconds: float = 0.0) -> None:
        run, self.current = self.current, None
        assert run is not None
        run.state, run.detail = state, detail
        if run.is_bad:
            self.result.failed_runs.append(run)
        before = self.result.cases.get(run.name)
        if before is None:  # not one of those that the program is made of
            before = Case(run.name, FAILED, [], "this program has no such case")
            self.result.cases[run.name] = before
        run.seconds, run.runs = before.seconds + seconds, before.runs + 1
        self.done += before.state == NOT_RUN
        if before.is_bad:  # one failure is enough
            before.seconds, before.runs = run.seconds, run.runs
        else:
            self.result.cases[run.name] = run


def run(
    command: Sequence[str],
    *,
    cases: Optional[Sequence[str]] = None,
    case_limit: Optional[float] = None,
    time_limit: Optional[float] = None,
    on_tick: Optional[Callable[[str], None]] = None,
    stop_when: Optional[Callable[[Result], bool]] = None,
    cwd: Optional[Path] = None,
    env: Optional[Dict[str, str]] = None,
) -> Result:
    """Runs these cases of a program, or all that it has. `stop_when` is asked now and then, and
    ends it early."""
    console: Deque[str] = collections.deque(maxlen=CONSOLE_LINES)
    reader = Reader(cases)
    with tempfile.NamedTemporaryFile(prefix="lab_events_") as file, tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="lab_cases_"
    ) as names:

        def read() -> None:
            reader.feed(file.read())

        def tick() -> None:
            read()
            if on_tick is not None:
                on_tick(reader.title())

        whole = [*command, f"--lab_events={file.name}"]
        if cases is not None:
            names.write("".join(f"{name}\n" for name in cases))
            names.flush()
            whole.append(f"--lab_cases={names.name}")
        if case_limit is not None:
            whole.append(f"--lab_case_limit={case_limit:g}")
        outcome = processes.run(
            whole,
            time_limit=time_limit,
            on_line=console.append,
            on_tick=tick,
            stop_when=(lambda: stop_when(reader.result)) if stop_when else None,
            cwd=cwd,
            env=env,
        )
        read()
    result = reader.result
    result.status = outcome.returncode
    result.timed_out, result.cancelled = outcome.timed_out, outcome.cancelled
    if reader.current is not None:
        if outcome.timed_out:
            reader.end_case(TIMED_OUT, f"stopped after {time_limit:g} s")
        elif not outcome.cancelled:  # the program itself could not say it any more
            how = f"the program ended in the middle of this case: {result.ending}"
            reader.end_case(CRASHED, how)
    if not result.something_ran:
        result.outside += console
    if not result.ended and result.status == 0:
        result.status = 1  # whatever it did, it did not run its tests to their end
        result.detail = "the program left with exit status 0 before the end of its tests"
    return result


def list_cases(program: Path) -> List[str]:
    """The cases of a program, which is believed: no student's file is part of it."""
    with tempfile.NamedTemporaryFile(prefix="lab_events_") as file:
        outcome = processes.run(
            [str(program), "--lab_list", f"--lab_events={file.name}"], time_limit=60
        )
        reader = Reader()
        reader.feed(file.read())
    if outcome.returncode != 0 or not reader.result.cases:
        raise LabError(f"{program} does not say which tests there are.")
    return list(reader.result.cases)


THROWN = re.compile(r'C\+\+ exception with description "(.*)" thrown in [^\n]*', re.DOTALL)
# EXPECT_TRUE(matches(…)), or another predicate that says what is wrong
_PREDICATE = re.compile(
    r"Value of: ((?:\w+::)*(\w+)\((.*)\))\n +Actual: false \((.*)\)\nExpected: true(.*)",
    re.DOTALL,
)
# Any other condition, with what the test says of it.
_CONDITION = re.compile(
    r"Value of: (.*)\n +Actual: (?:false|true)\nExpected: (?:true|false)\n(.+)", re.DOTALL
)
# EXPECT_EQ(actual, expected); a value that is written as it prints stands there once.
_EQUALITY = re.compile(
    r"Expected equality of these values:"
    r"\n  (?P<actual>.*)(?:\n    Which is: (?P<is>.*))?"
    r"\n  (?P<expected>.*)(?:\n    Which is: (?P<should>.*))?(?P<added>(?:\n(?!With diff:).*)*)"
)

_NEAR = re.compile(
    r"The difference between (?P<actual>.*) and (?P<expected>.*) is .*, which exceeds"
    r" (?P<error>.*), where\n(?P=actual) evaluates to (?P<is>.*),\n(?P=expected) evaluates to"
    r" (?P<should>.*), and\n(?P=error) evaluates to (?P<most>.*)\.(?P<added>(?:\n.*)*)"
)
# EXPECT_LT(actual, limit) and its like
_COMPARED = re.compile(
    r"Expected: \((?P<actual>.*)\) (?P<how>[<>!]=?) \((?P<limit>.*)\), actual: (?P<is>.*) vs"
    r" (?P<should>.*)(?P<added>(?:\n.*)*)"
)
_COMPARISONS = {
    "<": "less than",
    "<=": "at most",
    ">": "more than",
    ">=": "at least",
    "!=": "anything but",
}


def thrown(failure: Said) -> str:
    """The text of the exception that a test ended with, or "" if it was something else."""
    match = THROWN.fullmatch(failure.text.strip())
    return match[1] if match else ""


def sentence(failure: Said) -> str:
    """What a failure says, without GoogleTest's words around it; then where."""
    exception = thrown(failure)
    if exception:
        return exception
    said = _PREDICATE.fullmatch(failure.text)
    if said:  # the sentence comes first, then where, for which call, and what the test adds
        call = said[3] if said[2] == "matches" else said[1]
        if said[2] == "as_required":  # whose arguments are a page of code
            call = "as_required(…)"
        added = f"\n  {said[5].strip()}" if said[5].strip() else ""
        return f"{said[4]}\n  checked at {failure.place}: {call}{added}"
    said = _CONDITION.fullmatch(failure.text)
    if said:
        return f"{said[2].strip()}\n  checked at {failure.place}: {said[1]}"
    said = _EQUALITY.fullmatch(failure.text.rstrip("\n"))
    if said:
        actual, expected = said["is"] or said["actual"], said["should"] or said["expected"]
        return f"{said['actual']} is {actual}, expected {expected}\n  {_checked(failure, said)}"
    said = _NEAR.fullmatch(failure.text.rstrip("\n"))
    if said:
        is_literal = re.fullmatch(r"[\d.]+(e[-+]?\d+)?", said["error"])
        most = said["error"] if is_literal else said["most"]
        near = f"{said['actual']} is {said['is']}, expected {said['should']}, give or take {most}"
        return f"{near}\n  {_checked(failure, said)}"
    said = _COMPARED.fullmatch(failure.text.rstrip("\n"))
    if said:
        expected = f"{_COMPARISONS[said['how']]} {said['should']}"
        if said["limit"] != said["should"]:
            expected += f" ({said['limit']})"
        return (
            f"{said['actual']} is {said['is']}, expected {expected}\n  {_checked(failure, said)}"
        )
    text = re.sub(r"^Failed\n", "", failure.text).rstrip("\n")
    # What the tests' main function finds after a case: its place says nothing.
    if not failure.place or os.path.basename(failure.file) == "test_main.cpp":
        return text
    return f"{failure.place}: {text}"


def _checked(failure: Said, said: "re.Match[str]") -> str:
    """Where, and what the test adds."""
    return f"checked at {failure.place}" + said["added"].replace("\n", "\n  ")


def read(file: Path, passed: bool) -> Result:
    """The result of a program that somebody else ran, who knows whether it passed."""
    reader = Reader()
    reader.feed(file.read_bytes())
    result = reader.result
    if reader.current is not None:
        reader.end_case(CRASHED, "the program ended in the middle of this case")
    result.status = 0 if passed and result.ended else 1
    return result
