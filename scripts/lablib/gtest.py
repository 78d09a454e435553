# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Running a GoogleTest program and understanding what it prints."""

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Optional

from lablib import processes

PASSED = "passed"
FAILED = "failed"
CRASHED = "crashed"
TIMED_OUT = "timed out"
SKIPPED = "skipped"
NOT_RUN = "not run"

CASE_LIMIT = 60.0  # seconds for one case
CRASHES = 10  # after so many the rest is not run: each takes a new process and a report of its own


@dataclass
class Case:
    name: str
    state: str = NOT_RUN
    lines: List[str] = field(default_factory=list)  # of the time that it failed, else of the last
    detail: str = ""  # how it crashed


@dataclass
class Result:
    cases: Dict[str, Case]
    returncode: int
    outside: List[str]  # what was printed outside of every case
    cancelled: bool = False

    def in_state(self, *states: str) -> List[Case]:
        return [case for case in self.cases.values() if case.state in states]

    @property
    def failures(self) -> List[Case]:
        return self.in_state(FAILED, CRASHED, TIMED_OUT)

    @property
    def passed(self) -> bool:
        """Every case ran to its end, at least one passed, and the program says so too."""
        return (
            self.returncode == 0
            and bool(self.in_state(PASSED))
            and not self.failures
            and not self.in_state(NOT_RUN)
        )


_RUN = re.compile(r"^\[ RUN      \] (\S+)$")
_END = re.compile(r"^(.*?)\[(       OK |  FAILED  |  SKIPPED )\] (\S+?)(?:, where .*)? \(\d+ ms\)$")

_STATES = {"OK": PASSED, "FAILED": FAILED, "SKIPPED": SKIPPED}


def list_cases(program: Path, timeout: float = CASE_LIMIT) -> Optional[List[str]]:
    text = processes.capture([str(program), "--gtest_list_tests"], timeout=timeout)
    if text is None:
        return None
    cases: List[str] = []
    suite = ""
    for line in text.splitlines():
        name = line.split("#", 1)[0].rstrip()
        if re.fullmatch(r"\S+\.", name):
            suite = name
        elif re.fullmatch(r"  \S+", name) and suite and "DISABLED_" not in suite + name:
            cases.append(suite + name.strip())
    return cases


def run(
    program: Path,
    *,
    case_limit: float = CASE_LIMIT,
    on_tick: Optional[Callable[[str], None]] = None,
    stop_when: Optional[Callable[[], bool]] = None,
) -> Result:
    """Runs all cases. After a crash the rest runs in a new process (CRASHES times at most), after a
    time-out nothing."""
    names = list_cases(program) or []
    result = Result({name: Case(name) for name in names}, 0, [])
    todo: List[str] = []
    while True:
        reader = _Reader(result, case_limit)
        command = [str(program), "--gtest_color=no"]
        if todo:
            command.append("--gtest_filter=" + ":".join(todo))
        outcome = processes.run(
            command,
            on_line=reader.line,
            on_tick=(lambda: on_tick(reader.title())) if on_tick else None,
            limit_left=reader.seconds_left,
            stop_when=stop_when,
        )
        result.returncode = outcome.returncode
        if outcome.cancelled:
            result.cancelled = True
            return result
        if outcome.timed_out:
            reader.end_badly(TIMED_OUT, f"stopped after {case_limit:g} s")
            result.returncode = result.returncode or 1
            return result
        crashed = reader.current is not None or outcome.returncode < 0
        if not crashed:
            return result
        if outcome.returncode < 0:
            how = "ended by " + processes.signal_sentence(outcome.returncode)
        else:
            how = (
                f"the program left with exit status {outcome.returncode} in the middle of this case"
            )
        reader.end_badly(CRASHED, how)
        result.returncode = result.returncode or 1
        todo = [case.name for case in result.in_state(NOT_RUN)]
        if not todo or not reader.progress or len(result.in_state(CRASHED)) >= CRASHES:
            return result


def read_runs(output: List[str]) -> List[Case]:
    """Every run of every case in a finished output; one that has no end counts as crashed."""
    runs: List[Case] = []
    current: Optional[Case] = None
    for line in output:
        begin, end = _RUN.match(line), _END.match(line)
        if begin:
            current = Case(begin[1], CRASHED)
            runs.append(current)
        elif end and current is not None and end[3] == current.name:
            if end[1].strip():
                current.lines.append(end[1])
            current.state = _STATES[end[2].strip()]
            current = None
        elif current is not None:
            current.lines.append(line)
    return runs


class _Reader:
    """Follows the output of one run of the program."""

    def __init__(self, result: Result, case_limit: float):
        self.result = result
        self.case_limit = case_limit
        self.current: Optional[Case] = None
        self.started = time.monotonic()
        self.lines: List[str] = []
        self.progress = False  # this run got something done

    def title(self) -> str:
        done = len(self.result.cases) - len(self.result.in_state(NOT_RUN))
        return f"[{done}/{len(self.result.cases)}] {self.current.name if self.current else ''}"

    def seconds_left(self) -> float:
        # Until the first case begins, the machine may just be busy.
        limit = self.case_limit if self.progress else max(self.case_limit, CASE_LIMIT)
        return self.started + limit - time.monotonic()

    def line(self, line: str) -> None:
        match = _RUN.match(line)
        if match:
            self.current = self.result.cases.setdefault(match[1], Case(match[1]))
            self.started = time.monotonic()
            self.lines = []
            self.progress = True
            return
        match = _END.match(line)
        if match and self.current is not None and match[3] == self.current.name:
            if match[1].strip():
                self.lines.append(match[1])
            self._end(_STATES[match[2].strip()])
            self.started = time.monotonic()
            return
        if self.current is not None:
            self.lines.append(line)
        else:
            self.result.outside.append(line)

    def _end(self, state: str, detail: str = "") -> None:
        case = self.current
        # The same case may run several times, in several thread orders: one failure is enough.
        if case is not None and case.state not in (FAILED, CRASHED, TIMED_OUT):
            case.state, case.lines, case.detail = state, self.lines, detail
        self.current = None
        self.lines = []

    def end_badly(self, state: str, detail: str) -> None:
        if self.current is None:  # outside of every case: nothing to blame but the program
            self.result.outside.append(detail)
            return
        self._end(state, detail)
