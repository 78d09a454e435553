# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""`scripts/lab bench`: measures all steps of exercises, in turns."""

import datetime
import json
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from lablib import device, metadata, processes, programs
from lablib.benchmarks import NO_STEP, Report, Result
from lablib.console import Progress, say
from lablib.errors import NOT_POSSIBLE, LabError
from lablib.exercises import Exercise

RUN_LIMIT = 300.0  # seconds for one program, with the data that it makes and checks
ROUNDS = 3
REPEAT = 20

NO_GPU = (
    "`scripts/lab bench` measures GPUs, and there is none here. What the CPU device takes says"
    " nothing about a GPU's speed; --cpu-times shows it all the same."
)
CPU_TIMES = "These are times of the CPU device: they say nothing about the speed of a GPU."


@dataclass
class _Case:
    """A program and what it is run with, apart from the step's samples, which results hold."""

    exercise: Exercise
    program: Path
    step: str  # "" for a program without steps
    arguments: str
    was_run: bool = False

    @property
    def command(self) -> List[str]:
        step = ["--step", self.step] if self.step else []
        return [str(self.program), *shlex.split(self.arguments), *step]


class Failed(Exception):
    """A program that did not end well, in a few words."""


def begin(root: Path, chosen: device.Device, rounds: int) -> Report:
    """A report without results: where and when something is measured."""
    return Report(
        device="",
        cpu_device=False,
        driver=device.nvidia_smi("driver_version"),
        cuda=device.nvcc_version(chosen.nvcc) if chosen.nvcc else "",
        commit=_commit(root),
        date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        rounds=rounds,
    )


def measure(
    root: Path,
    report: Report,
    exercises: Sequence[Exercise],
    chosen: device.Device,
    *,
    solution: bool,
    arguments: Sequence[str] = (),
    repeat: int = REPEAT,
) -> None:
    """Builds and runs the programs, and adds the results to `report`, also if this is stopped
    half-way: those of sizes that all steps of an exercise have been run with. `arguments` replaces
    those of each exercise.toml."""
    paths = [
        programs.build_program(root, exercise, chosen, solution, chosen.name, "bench")
        for exercise in exercises
    ]
    found: Dict[Tuple[str, str, str], Result] = {}
    libraries: Dict[Tuple[str, str, str], Dict[str, List[float]]] = {}
    cases: List[_Case] = []
    turns = 0
    with tempfile.TemporaryDirectory(prefix="lab-bench-") as folder:
        for exercise, path in zip(exercises, paths):
            cases += _cases(exercise, path, arguments, report, Path(folder))
        try:
            for turn in range(report.rounds):
                _run_round(turn, cases, report, repeat, Path(folder), found, libraries)
                turns += 1
        finally:
            report.rounds = max(turns, 1)
            waiting = {
                (case.exercise.full_name, case.arguments) for case in cases if not case.was_run
            }
            for key, result in found.items():
                for name, times in libraries.get(key, {}).items():
                    middle = sorted(times)[len(times) // 2]
                    if name == result.library:
                        result.library_ms = middle
                    else:
                        result.others[name] = middle
            order = {exercise.full_name: number for number, exercise in enumerate(exercises)}
            whole = [
                each for each in found.values() if (each.exercise, each.arguments) not in waiting
            ]
            report.results = sorted(whole, key=lambda each: order[each.exercise])


def _run_round(
    turn: int,
    cases: List[_Case],
    report: Report,
    repeat: int,
    folder: Path,
    found: Dict[Tuple[str, str, str], Result],
    libraries: Dict[Tuple[str, str, str], Dict[str, List[float]]],
) -> None:
    """Runs each case once. Those that fail leave `cases` and `found`."""
    progress = Progress(f"round {turn + 1} of {report.rounds}:")
    # There and back: what drifts, such as a clock, does not favour one end of the list.
    for case in list(reversed(cases)) if turn % 2 else list(cases):
        progress.update(f"{case.exercise.full_name} {case.step} {case.arguments}")
        try:
            events = _run(case, repeat, folder)
        except Failed as problem:
            progress.done()
            say(f"{_name(case)} is left out: {problem}")
            cases.remove(case)
            for key in [key for key in found if _is_of(key, case)]:
                del found[key]
            continue
        _note_clocks(report)
        _take(case, events, found, libraries)
        case.was_run = True
    progress.done()


def _name(case: _Case) -> str:
    return " ".join(filter(None, (case.exercise.full_name, case.step, case.arguments)))


def _is_of(key: Tuple[str, str, str], case: _Case) -> bool:
    step = key[2].split(" (")[0]
    return (key[0], key[1], step) == (case.exercise.full_name, case.arguments, case.step)


def _cases(
    exercise: Exercise, program: Path, arguments: Sequence[str], report: Report, folder: Path
) -> List[_Case]:
    """Every step at every size; the program itself says which steps it has."""
    data = metadata.find(exercise)
    sizes = list(arguments) or list(data.bench if data else ()) or [""]
    first = _Case(exercise, program, "", sizes[0])
    try:
        events = _run(first, 1, folder)
    except Failed as problem:
        say(f"{exercise.full_name} is left out: {problem}")
        return []
    if not any(event["event"] == "kernel" for event in events):
        say(f"{exercise.full_name} is left out: its program reports no kernel's time.")
        return []
    about = events[0]
    report.device = about["device"].split(": ", 1)[-1]
    report.cpu_device = about["cpu_device"]
    return [
        _Case(exercise, program, step, size) for size in sizes for step in about["steps"] or [""]
    ]


def _run(case: _Case, repeat: int, folder: Path) -> List[Dict[str, Any]]:
    """What the program has measured. Its pictures and the like go to `folder`."""
    file = folder / "measurements"
    file.unlink(missing_ok=True)
    command = [*case.command, "--repeat", str(repeat), "--measurements", str(file)]
    output: List[str] = []
    outcome = processes.run(command, time_limit=RUN_LIMIT, on_line=output.append, cwd=folder)
    if outcome.timed_out:
        raise Failed(f"it was stopped after {RUN_LIMIT:g} s.")
    if outcome.returncode < 0:
        raise Failed(f"it was ended by {processes.signal_sentence(outcome.returncode)}.")
    if outcome.returncode != 0:
        said = [line for line in output if line.strip() and not line.startswith("Try ")]
        why = "not possible here" if outcome.returncode == NOT_POSSIBLE else "it failed"
        raise Failed(f"{why}: {said[-1].strip() if said else 'no error message'}")
    return read_measurements(file)


def read_measurements(file: Path) -> List[Dict[str, Any]]:
    """What a program has written for --measurements."""
    try:
        events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, RecursionError) as error:
        raise Failed(f"its file of measurements cannot be read: {error}.") from error
    if not all(isinstance(event, dict) for event in events):
        raise Failed("its file of measurements has lines that are no objects.")
    if not events or events[0].get("event") != "program":
        raise Failed("its file of measurements does not begin with the program.")
    return events


def _take(
    case: _Case,
    events: Sequence[Dict[str, Any]],
    found: Dict[Tuple[str, str, str], Result],
    libraries: Dict[Tuple[str, str, str], Dict[str, List[float]]],
) -> None:
    """Adds a run's samples to the results."""
    count, key = 0, ("", "", "")
    for event in events:
        if event["event"] == "kernel":
            count += 1
            step = case.step or NO_STEP
            step += f" ({count})" if count > 1 else ""
            key = (case.exercise.full_name, case.arguments, step)
            result = found.setdefault(
                key,
                Result(
                    exercise=case.exercise.full_name,
                    step=step,
                    arguments=case.arguments,
                    samples_ms=[],
                    bytes=event.get("bytes", 0),
                    items=event.get("items", 0),
                    item_name=event.get("item_name", ""),
                ),
            )
            result.samples_ms += event["ms"]
            result.limit = max(result.limit, event.get("limit", 0))
        elif event["event"] == "library" and key in found:
            found[key].library = found[key].library or event["name"]  # the first one it names
            libraries.setdefault(key, {}).setdefault(event["name"], []).append(event["ms"])


# --- where it is measured ------------------------------------------------------------------------

_CLOCKS = {
    "clocks.sm": "multiprocessors, MHz",
    "clocks.mem": "memory, MHz",
    "temperature.gpu": "temperature, C",
}


def _note_clocks(report: Report) -> None:
    """Right after a program, while the clocks are still those of work."""
    values = device.nvidia_smi(",".join(_CLOCKS)).split(",")
    for name, text in zip(_CLOCKS.values(), values):
        try:
            value = float(text)
        except ValueError:
            continue  # [N/A]
        lowest, highest = report.clocks.get(name, [value, value])
        report.clocks[name] = [min(lowest, value), max(highest, value)]


def _commit(root: Path) -> str:
    """With a + if files have changed since."""

    def git(*arguments: str) -> Optional[str]:
        try:
            done = subprocess.run(
                ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
            )
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "--short=12", "HEAD")
    if not commit:
        return ""
    return commit + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def require_gpu(chosen: device.Device, cpu_times: bool) -> None:
    if chosen.name == "gpu" and chosen.gpus:
        return
    if not cpu_times:
        raise LabError(NO_GPU, NOT_POSSIBLE)
    if chosen.name == "gpu":
        raise LabError("--cpu-times needs the CPU device: add --device cpu.", NOT_POSSIBLE)
    say(CPU_TIMES)
