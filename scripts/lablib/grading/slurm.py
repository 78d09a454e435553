# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Grading on a cluster: one array job of Slurm, a submission a task.

Records are what there is to know, and they are on a disk that all nodes see. So a task that was
requeued, or that two nodes run, makes the records that are not there yet, and they are the same on
each. Whether a job is under way Slurm is asked, by the job's name; nothing of it is kept here.
"""

import collections
import hashlib
import json
import os
import re
import shlex
import subprocess
import time
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from lablib.console import Progress, say
from lablib.errors import FAILED, NOT_POSSIBLE, USAGE, LabError
from lablib.grading import grade
from lablib.grading.sandbox import COMPILE
from lablib.processes import Interrupted

OWN_MIB = 1024  # of a task's memory, for the grader and ourselves
MOST_SILENCE = 600.0  # seconds in which squeue may fail: a controller that restarts is soon back


def run(
    command: Sequence[str],
    out: Path,
    missing: Callable[[], List[str]],
    *,
    partition: Optional[str],
    jobs: Optional[int],
    memory_mib: int,
    gpu: bool = False,
) -> None:
    """Has the students whom `missing` names graded, each by `command` on some node, and follows
    the job to its end. `jobs`: how many tasks may run at once; `gpu`: each has one."""
    name = "lab_grade_" + hashlib.sha256(os.fsencode(out.resolve())).hexdigest()[:12]
    _follow(name)  # an earlier one that was left alone
    students = missing()
    if not students:
        return
    folder = out / "slurm"
    tasks = min(len(students), _largest_array())
    # No job of this name is under way, so nobody reads the list that was there before.
    grade.write_text(folder / "students.json", json.dumps([tasks, students], indent=1) + "\n")
    options = ["--parsable", "--requeue", f"--job-name={name}", "--ntasks=1"]
    options += [f"--array=0-{tasks - 1}" + (f"%{jobs}" if jobs else "")]
    options += [f"--mem={max(memory_mib, COMPILE.memory_bytes >> 20) + OWN_MIB}M"]
    options += [f"--output={folder}/%A_%a.txt", "--open-mode=append", f"--chdir={folder}"]
    if gpu:
        options.append("--gres=gpu:1")
    if partition:
        options.append(f"--partition={partition}")
    answer = _ask(["sbatch", *options, f"--wrap=exec {shlex.join(command)}"])
    if answer.returncode:
        raise LabError(f"Slurm does not take the job: {_last_line(answer.stderr)}", FAILED)
    job = answer.stdout.strip().partition(";")[0]
    say(f"job {job}: {len(students)} submissions in {tasks} tasks, which write to {folder}")
    _follow(name)
    left = missing()
    if left:
        said = _said(folder, job, students.index(left[0]) % tasks)
        raise LabError(
            f"{len(left)} of {len(students)} submissions have not been graded: their tasks were"
            f" cancelled or failed{said}. The same command again submits a job for these.",
            FAILED,
        )


def mine(out: Path) -> List[str]:
    """The students whom this task of the job is to grade."""
    number = os.environ.get("SLURM_ARRAY_TASK_ID", "")
    if not number.isdigit():
        raise LabError("--slurm-task is for what --slurm submits: this is no task of a job.", USAGE)
    tasks, students = json.loads((out / "slurm" / "students.json").read_text(encoding="utf-8"))
    return list(students[int(number) :: tasks])


def node() -> str:
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename


def _follow(name: str) -> None:
    """Waits until no task of the job is in Slurm's queue."""
    progress: Optional[Progress] = None
    pause, answered = 0.5, time.monotonic()
    try:
        while True:
            states, problem = _queue(name)
            if problem and time.monotonic() - answered > MOST_SILENCE:
                raise LabError(
                    f"Slurm does not answer ({problem}). The job goes on; the same command again"
                    " follows it.",
                    FAILED,
                )
            if not problem:
                answered = time.monotonic()
                if not states:
                    return
            progress = progress or Progress("following the job")
            progress.update(problem or _in_words(states))
            time.sleep(pause)
            pause = min(pause * 1.3, 15.0)
    except Interrupted:
        say(f"The job goes on: the same command follows it, `scancel --name {name}` ends it.")
        raise
    finally:
        if progress:
            progress.done()


def _queue(name: str) -> Tuple[Dict[str, int], str]:
    """How many tasks of the job are in which state, or what Slurm says instead."""
    answer = _ask(["squeue", "--noheader", "--array", "--me", f"--name={name}", "--format=%T %r"])
    if answer.returncode:
        return {}, _last_line(answer.stderr)
    return collections.Counter(answer.stdout.splitlines()), ""


def _in_words(states: Dict[str, int]) -> str:
    """Such as `2 running, 7 pending (Resources)`."""
    words = []
    for state, count in sorted(states.items()):
        what, _, reason = state.partition(" ")
        words.append(f"{count} {what.lower()}" + ("" if reason == "None" else f" ({reason})"))
    return ", ".join(words)


def _largest_array() -> int:
    answer = _ask(["scontrol", "show", "config"])
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", answer.stdout, re.MULTILINE)
    return max(1, int(found[1])) if found else 1


def _ask(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise LabError(
            f"Slurm is not here: {command[0]} cannot be started ({error.strerror}).", NOT_POSSIBLE
        ) from error


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing"])[-1]


def _said(folder: Path, job: str, task: int) -> str:
    """The last that a task has said, for a sentence."""
    file = folder / f"{job}_{task}.txt"
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return f" ({file.name}: {_last_line(text)})"
