# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The table near the end of a chapter: each step, its idea, what it is worth on a GPU, and what the
counters of the CPU device say about its memory accesses.

Ideas come from the contracts, times from docs/benchmarks/, counters from docs/counters.json, which
`scripts/lab dev steps` writes.
"""

import json
import os
import re
import shlex
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from lablib import benchmark_page, benchmarks, build, counters, metadata, pages, processes
from lablib.device import Device
from lablib.errors import LabError
from lablib.exercises import Exercise, find_exercises
from lablib.files import write_atomically
from lablib.grading.points import steps_of

COUNTERS = "docs/counters.json"
VERSION = 1
LIMIT = 120.0  # seconds for one program
BEGIN = "<!-- Steps: written by `scripts/lab dev steps`. -->"
END = "<!-- Steps end. -->"

_HEADING = f"## {pages.STEPS}"
_ATOMIC = "Atomic operations of a request on one address take turns."
_LEGEND = {
    "on a GPU": "*On a GPU*: the kernel's time, or what the program reports instead. Where a"
    " cell is empty, no run of `scripts/lab bench` has it yet (the text may have the figure of"
    " another run).",
    "global memory": "*Global memory*: the sectors of 32 bytes that a request of a warp takes on"
    " average, and in brackets the fewest it could take (`scripts/lab profile`, CPU device).",
    "shared memory": "*Shared memory*: the same in wavefronts, passes over the banks.",
}
_Sums = Dict[str, List[int]]  # by access: the numbers below, added up over all lines and launches
_SUMMED = (
    *("requests", "sectors", "ideal_sectors", "bytes_used"),
    *("wavefronts", "ideal_wavefronts", "turns"),
)
_ACCESSES = re.compile(r"(global|shared) (load|store|atomic)")


# --- measuring -----------------------------------------------------------------------------------


def measure(root: Path, exercises: Sequence[Exercise], chosen: Device, jobs: int) -> List[str]:
    """Runs each step of the solutions in the check build, with `profile` of its exercise.toml, and
    writes down what was counted. Returns those that gave nothing, each with the reason."""
    with_steps = [each for each in exercises if profile_arguments(each) is not None]
    targets = [f"{build.kind(True, True)}.{each.id}" for each in with_steps]
    if targets:
        build.build(root, "cpu", chosen, targets, "the solutions of all steps", jobs=jobs)
    found = _read(root)
    failed: List[str] = []
    with ThreadPoolExecutor(jobs) as pool:
        options = dict(zip(with_steps, pool.map(lambda each: _options(root, each), with_steps)))
        runs = [(each, option) for each in with_steps for option in options[each]]
        counted = dict(zip(runs, pool.map(lambda run: _counted(root, *run), runs)))
    for exercise in with_steps:
        steps = steps_of(exercise.contract_file)
        own: Dict[str, Any] = {"arguments": profile_arguments(exercise), "steps": {}}
        found[exercise.full_name] = own
        if len(steps) != len(options[exercise]):
            failed.append(f"{exercise.full_name}: its program does not name the contract's steps")
            continue
        for step, option in zip(steps, options[exercise]):
            result = counted[exercise, option]
            if isinstance(result, str):
                failed.append(f"{exercise.full_name} {step}: {result}")
            else:
                own["steps"][step] = {"option": option, "accesses": result}
    names = {each.full_name: each for each in find_exercises(root)}
    kept = {name: found[name] for name in names if name in found}  # in the order of the course
    write_atomically(
        root / COUNTERS, json.dumps({"version": VERSION, "exercises": kept}, indent=1) + "\n"
    )
    return failed


def profile_arguments(exercise: Exercise) -> Optional[str]:
    """Nothing for an exercise without steps, or whose steps are about something else."""
    data = metadata.find(exercise)
    return data.profile if data and steps_of(exercise.contract_file) else None


def _options(root: Path, exercise: Exercise) -> List[str]:
    """What --step calls the steps, in the order of the contract's. The program says it first."""
    with tempfile.TemporaryDirectory(prefix="lab-steps-") as folder:
        file = Path(folder) / "measurements"
        _run(root, exercise, ["--repeat", "1", "--measurements", str(file)], Path(folder))
        try:
            with open(file, encoding="utf-8") as events:
                return list(json.loads(events.readline())["steps"])
        except (OSError, ValueError, KeyError):
            return []


def _counted(root: Path, exercise: Exercise, option: str) -> Any:
    """The sums by access, or a sentence that says why there are none."""
    with tempfile.TemporaryDirectory(prefix="lab-steps-") as folder:
        file = Path(folder) / "counters"
        counting = {"CPU_DEVICE_COUNTERS": str(file)}
        problem = _run(root, exercise, ["--step", option], Path(folder), counting)
        return problem or _sums(counters.read_table(file) if file.is_file() else [])


def _run(
    root: Path,
    exercise: Exercise,
    arguments: List[str],
    folder: Path,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """What is wrong with how the program ended; "" if nothing is."""
    program = build.program_path(root, "cpu", exercise, solution=True, watched=True)
    output: List[str] = []
    outcome = processes.run(
        [str(program), *shlex.split(profile_arguments(exercise) or ""), *arguments],
        time_limit=LIMIT,
        on_line=output.append,
        cwd=folder,
        env={**os.environ, **variables},
    )
    if outcome.timed_out:
        return f"did not finish in {LIMIT:g} s; choose a smaller `profile` in its exercise.toml"
    if outcome.returncode != 0:
        said = [line for line in output if line.strip() and not line.startswith("Try ")]
        return f"its program failed: {said[-1].strip() if said else 'no error message'}"
    return ""


def _sums(rows: Iterable[counters.Row]) -> _Sums:
    found: _Sums = {}
    for row in rows:
        if row.requests and _ACCESSES.fullmatch(row.access):
            sums = found.setdefault(row.access, [0] * len(_SUMMED))
            for i, name in enumerate(_SUMMED):
                sums[i] += getattr(row, name)
    return dict(sorted(found.items()))


def _read(root: Path) -> Dict[str, Any]:
    path = root / COUNTERS
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] != VERSION:
            raise ValueError(f"version {data['version']}")
        return dict(data["exercises"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LabError(f"{path} is not what `scripts/lab dev steps` writes: {error}.") from error


# --- the table -----------------------------------------------------------------------------------


def ideas(contract: Path) -> Dict[str, str]:
    """What the contract says of each step, behind `///<`."""
    text = contract.read_text(encoding="utf-8")
    match = re.search(r"enum class step\s*\{(.*?)\};", text, re.DOTALL)
    found: Dict[str, str] = {}
    step = ""
    for line in match[1].splitlines() if match else []:
        code, _, comment = line.partition("///<")
        step = code.strip(" ,\t") or step
        if step.isidentifier():
            found[step] = " ".join(filter(None, (found.get(step, ""), comment.strip())))
    return found


def _access(sums: _Sums, memory: str) -> str:
    """What a request costs in this memory, and in brackets the least it could."""
    rows = [dict(zip(_SUMMED, sums.get(f"{memory} {what}", ()))) for what in ("load", "store")]
    total = {name: sum(row.get(name, 0) for row in rows) for name in _SUMMED}
    parts = []
    cost, ideal, unit = ("sectors", "ideal_sectors", "sectors")
    if memory == "shared":
        cost, ideal, unit = ("wavefronts", "ideal_wavefronts", "wavefronts")
    if total["requests"] and total[cost]:
        least = f" ({total[ideal] / total['requests']:.1f})" if total[ideal] else ""
        parts.append(f"{total[cost] / total['requests']:.1f}{least} {unit}")
    atomic = dict(zip(_SUMMED, sums.get(f"{memory} atomic", ())))
    if atomic and atomic["turns"]:
        parts.append(f"atomics {atomic['turns'] / atomic['requests']:.1f} turns")
    elif atomic:
        parts.append("atomics")
    return ", ".join(parts)


def _newest(root: Path) -> Dict[str, Tuple[benchmarks.Report, List[benchmarks.Result]]]:
    """For each exercise the last report that has it, and there the largest size."""
    found: Dict[str, Tuple[benchmarks.Report, List[benchmarks.Result]]] = {}
    for report in sorted(benchmark_page.reports(root).values(), key=lambda each: each.date):
        for name, results in benchmarks.by_exercise(report.results).items():
            found[name] = (report, [r for r in results if r.arguments == results[-1].arguments])
    return found


def _worth(results: Sequence[benchmarks.Result]) -> str:
    """Of one step."""
    if any(": " in result.step for result in results):
        kernels = ((result.step.partition(": ")[2], result.median_ms) for result in results)
        return ", ".join(f"{name} {benchmarks.milliseconds(ms)} ms" for name, ms in kernels)
    # A program that measures a step more than once, as with one device and with all of them,
    # numbers the times: "overlapped (2)". The last one is what the step is about.
    result = results[-1]
    parts = [f"{benchmarks.milliseconds(result.median_ms)} ms"]
    if result.of_library is not None:
        parts.append(f"{benchmarks.percent(result.of_library)} of {result.library}")
    elif result.of_limit is not None:
        parts.append(f"{benchmarks.percent(result.of_limit)} of a copy's rate")
    return ", ".join(parts)


def _section(
    exercises: Sequence[Exercise],
    measured: Dict[str, Tuple[benchmarks.Report, List[benchmarks.Result]]],
    counted: Dict[str, Any],
) -> str:
    rows: List[List[str]] = [["step", "idea", "on a GPU", "global memory", "shared memory"]]
    notes: List[str] = []
    for exercise in exercises:
        about = ideas(exercise.contract_file)
        report, results = measured.get(exercise.full_name, (None, []))
        times: Dict[str, List[benchmarks.Result]] = {}
        for result in results:
            times.setdefault(re.split(r": | \(", result.step)[0], []).append(result)
        own = counted.get(exercise.full_name, {"arguments": "", "steps": {}})
        for step in steps_of(exercise.contract_file):
            known = own["steps"].get(step, {"option": step, "accesses": {}})
            sums, option = known["accesses"], known["option"]
            rows.append(
                [
                    f"{exercise.id} `{step}`",
                    about.get(step, "").replace("|", "\\|"),
                    _worth(times[option]) if option in times else "",
                    _access(sums, "global"),
                    _access(sums, "shared"),
                ]
            )
        if report and results:
            size = f"`{results[0].arguments}`" if results[0].arguments else "the default size"
            notes.append(f"{exercise.id}: {report.device}, {report.date[:10]}, {size}.")
    columns = [column for column in zip(*rows) if any(column[1:])]
    table = [f"| {' | '.join(cells)} |" for cells in zip(*columns)]
    legend = [_LEGEND[column[0]] for column in columns if column[0] in _LEGEND]
    if any("atomics" in cell for column in columns for cell in column):
        legend.append(_ATOMIC)
    head = [
        _HEADING,
        "",
        BEGIN,
        "",
        *([" ".join(legend), ""] if legend else []),
        table[0],
        "|" + " --- |" * len(columns),
    ]
    tail = ["", f"Measured with `scripts/lab bench`: {' '.join(notes)}"] if notes else []
    return "\n".join([*head, *table[1:], *tail, "", END])


def files(root: Path) -> Dict[str, str]:
    """The chapters as they should be: path and text, where that differs."""
    measured, counted = _newest(root), _read(root)
    found: Dict[str, str] = {}
    by_page: Dict[Path, List[Exercise]] = {}
    for exercise in find_exercises(root):
        if exercise.contract_file.is_file() and steps_of(exercise.contract_file):
            by_page.setdefault(exercise.chapter_page, []).append(exercise)
    for page, exercises in by_page.items():
        text = page.read_text(encoding="utf-8")
        wanted = _with_table(text, _section(exercises, measured, counted))
        if wanted != text:
            found[page.relative_to(root).as_posix()] = wanted
    return found


def _with_table(text: str, section: str) -> str:
    before, begin, rest = text.partition(f"\n{_HEADING}\n")
    _, end, after = rest.partition(END)
    if not (begin and end):
        heading = f"## {pages.LIBRARIES}"
        before, found, after = text.partition(f"\n{heading}\n")
        if not found:
            return text
        after = f"{heading}\n{after}"
    return f"{before.rstrip()}\n\n{section}\n\n{after.lstrip()}"


def write(root: Path) -> List[str]:
    changed = files(root)
    for path, text in changed.items():
        write_atomically(root / path, text)
    return list(changed)
