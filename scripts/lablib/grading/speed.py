# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""How fast a right submission is on a GPU, beside the course's solution.

The exercise's own program is linked with the student's file and with the solution, and the two are
run in turns. Each measures its kernels and says what it has measured, so a student's code runs in
the process whose word counts here, and could forge it. What can be seen from outside is kept beside
it: how long each process took. A time that no such GPU can reach is refused.
"""

import os
import shlex
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List

from lablib import bench
from lablib.grading import compiling, sandbox
from lablib.grading.compiling import Recipe
from lablib.grading.points import Speed
from lablib.grading.sandbox import Sandbox

ROUNDS = 5  # in which each of the two programs is run
REPEAT = bench.REPEAT  # samples of each run
ROOM = 1.25  # how much faster than the copy bandwidth a kernel may be that only reads, or caches
MOST_BYTES = 1 << 20  # of what a program says

Measured = Dict[str, Any]  # what a record has


@dataclass(frozen=True)
class Race:
    """What the speed of an exercise is measured with."""

    recipe: Recipe  # of its program
    solution: Path  # the program with the course's solution
    speed: Speed
    place: Sandbox  # with GPUs in it
    limits: sandbox.Limits

    @property
    def fingerprint(self) -> str:
        words = f"{self.speed.step} {self.speed.arguments} {ROUNDS} {REPEAT}"
        return f"{self.recipe.fingerprint} {words}"

    def run(self, program: Path, repeat: int = REPEAT) -> Measured:
        """One run: the times of each kernel, and that of the whole. Throws bench.Failed."""
        step = f" --step {shlex.quote(self.speed.step)}" if self.speed.step else ""
        given = shlex.join(shlex.split(self.speed.arguments)) + f"{step} --repeat {repeat}"
        with tempfile.TemporaryDirectory(prefix="lab_grade_") as folder:
            seen, here = "/program", "/tmp"
            if not self.place.is_isolated:
                seen, here = shlex.quote(str(program)), shlex.quote(folder)
            script = (
                f"cd {here} && {seen} {given} --measurements {here}/measured >{here}/said 2>&1 &&"
                f" cat {here}/measured || {{ tail -n 2 {here}/said >&2; exit 1; }}"
            )
            command = self.place.command(
                ["/bin/sh", "-c", script], self.limits, readable=[(program, "/program")]
            )
            output = Path(folder) / "output"
            begun = time.monotonic()
            answer = sandbox.run(
                command,
                wall_seconds=bench.RUN_LIMIT,
                output=output,
                environment={**sandbox.ENVIRONMENT, **_of_gpus()},
            )
            wall = time.monotonic() - begun
            if answer.timed_out:
                raise bench.Failed(f"its program was stopped after {bench.RUN_LIMIT:g} s.")
            if answer.status != 0:
                said = answer.errors.decode("utf-8", "replace").strip().splitlines()
                said = [line for line in said if not line.startswith("Try ")]
                raise bench.Failed(f"its program failed: {said[-1] if said else answer.status}")
            if output.stat().st_size > MOST_BYTES:
                raise bench.Failed("its program says more than any should.")
            events = bench.read_measurements(output)
        kernels = [event for event in events if event.get("event") == "kernel"]
        for kernel in kernels:
            ms = kernel.get("ms")
            if not (isinstance(ms, list) and len(ms) == repeat and all(map(_is_number, ms))):
                raise bench.Failed("its program's times are no such.")
        if not kernels:
            raise bench.Failed("its program reports no kernel's time.")
        return {
            "ms": [kernel["ms"] for kernel in kernels],
            "least_ms": sum(map(_least, kernels)),
            "wall_ms": round(1000 * wall, 1),
        }

    def measure(self, text: str, place: Sandbox) -> Measured:
        """Every sample, for the record. `text`: a student's file; `place`: where it is compiled."""
        with tempfile.TemporaryDirectory(prefix="lab_grade_") as folder:
            made = compiling.make(self.recipe, text, place, Path(folder) / "program")
            if made.worker is None:
                return {"problem": made.problem}
            programs = {"own": made.worker, "solution": self.solution}
            runs: Dict[str, List[Measured]] = {"own": [], "solution": []}
            for turn in range(ROUNDS):
                # There and back: what drifts, such as a clock, favours neither.
                for whose in sorted(programs, reverse=turn % 2 == 1):
                    try:
                        runs[whose].append(self.run(programs[whose]))
                    except bench.Failed as problem:
                        return {"problem": f"{'the solution: ' * (whose != 'own')}{problem}"}
        return judged(runs)


def _of_gpus() -> Dict[str, str]:
    """Which GPUs, and where their driver is; grading/proxy/worker.cpp passes the same."""
    names = ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")
    return {name: os.environ[name] for name in names if name in os.environ}


def judged(runs: Dict[str, List[Measured]]) -> Measured:
    """What the runs say together. A run's time is that of all its kernels."""
    own = statistics.median(map(_time, runs["own"]))
    solution = statistics.median(map(_time, runs["solution"]))
    least = statistics.median(run["least_ms"] for run in runs["solution"])
    problem = ""
    if own < least <= solution:
        problem = "its program's times are impossible: memory is not so fast."
    if any(sum(map(sum, run["ms"])) > run["wall_ms"] for run in runs["own"]):
        problem = "its program's times are impossible: together they are longer than the run."
    walls = {who: statistics.median(run["wall_ms"] for run in runs[who]) for who in runs}
    return {
        "problem": problem,
        "own_ms": own,
        "solution_ms": solution,
        "wall_ms": walls,
        "runs": runs,
    }


def _time(run: Measured) -> float:
    return float(sum(statistics.median(samples) for samples in run["ms"]))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and 0 < value < 1e18  # nor is it NaN


def _least(kernel: Measured) -> float:
    """The milliseconds that moving its bytes takes at least; 0 if its program does not say."""
    size, limit = kernel.get("bytes", 0), kernel.get("limit", 0)
    return 1000 * size / limit / ROOM if _is_number(size) and _is_number(limit) else 0.0
