# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Grading a class: each submission of each exercise becomes a record, a file that is there as a
whole or not at all. Whoever is stopped goes on where the records end."""

import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from lablib import bench, build, starters, test_program
from lablib.console import say
from lablib.device import Device, nvidia_smi
from lablib.errors import FAILED, NOT_POSSIBLE, LabError
from lablib.exercises import Exercise
from lablib.files import UNFINISHED, write_bytes_atomically
from lablib.grading import collect, compiling, hidden_tests, points, sandbox
from lablib.grading.compiling import Recipe
from lablib.grading.points import Rules, Speed
from lablib.grading.rubric import Limits, Rubric, Task
from lablib.grading.sandbox import Sandbox
from lablib.grading.speed import Race

DEFAULT_LIMITS = Limits()
FORMAT = 3  # of records
MOST_FAILURES = 5  # told of one exercise
MOST_TEXT = 2000  # of one failure
ROOM_BYTES = 512 << 20  # left on the disk for temporary files: less is no place to grade in

_CPU = Device("cpu", "")  # which is the judge of all submissions
_gpu_is_taken = threading.Lock()  # one run after the other: some tests fill a GPU's memory

_REPORT = "the CPU device reported "

Record = Dict[str, Any]
Table = Dict[str, Dict[str, Record]]  # by student, then by exercise


@dataclass(frozen=True)
class OnGpu:
    """What the same cases are run with on a GPU."""

    grader: Path
    worker: Recipe
    place: Sandbox  # with GPUs in it
    name: str  # and the driver's version
    race: Optional[Race] = None  # where speed has points
    asked: Set[str] = field(default_factory=set)  # cases: not those that the starter passes


@dataclass(frozen=True)
class Prepared:
    """What an exercise is graded with."""

    exercise: Exercise
    grader: Path
    fast: Recipe
    watched: Recipe
    steps: List[str]
    skipped: Set[str]  # cases that this machine cannot run, with the solution either
    free: Set[str]  # cases that the starter passes: they say nothing of anybody's work
    hidden: Set[str]  # cases of which students see no more than the name
    limits: Limits
    fingerprint: str
    gpu: Optional[OnGpu] = None


def require_gpu(device: Device) -> None:
    if not device.gpus:
        raise LabError(
            "grading on a GPU needs one, and `nvidia-smi -L` lists none here: nothing was graded."
            " --device cpu grades without.",
            NOT_POSSIBLE,
        )


def prepare(
    root: Path,
    device: Device,
    rubric: Rubric,
    place: Sandbox,
    work: Path,
    jobs: int,
    node: str = "",
) -> List[Prepared]:
    """Builds what grades, and tries it with the solutions: a machine on which those do not pass
    can grade nobody. `device`: the CPU device alone, or a GPU as well. `node`: the name of a
    further machine, which sees the same files. It builds nothing, and the solutions must do on it
    what they did on the first one."""
    _require_room()
    if not node:
        exercises = [task.exercise for task in rubric.tasks]
        targets = [target for exercise in exercises for target in compiling.targets(exercise)]
        build.build(root, _CPU.name, _CPU, [*targets, compiling.HEADERS], "what grades")
        if device.name == "gpu":
            fast = [task.exercise for task in rubric.tasks if task.rules.speed]
            targets += [f"solution.{exercise.id}" for exercise in fast]
            build.build(root, device.name, device, targets, "what grades on a GPU")
    return [
        _prepare(root, device, task, rubric.limits, place, work, jobs, node)
        for task in rubric.tasks
    ]


def _grader(root: Path, device: Device, task: Task, work: Path) -> Tuple[Path, Set[str]]:
    """The program, and which of its cases are hidden ones."""
    program = compiling.grader(root, device, task.exercise)
    if not task.hidden:
        return program, set()
    shown = set(test_program.list_cases(program))
    program = hidden_tests.grader(root, device, task.exercise, task.hidden, work / "graders")
    return program, set(test_program.list_cases(program)) - shown


def _prepare(
    root: Path,
    device: Device,
    task: Task,
    limits: Limits,
    place: Sandbox,
    work: Path,
    jobs: int,
    node: str,
) -> Prepared:
    exercise = task.exercise
    program, hidden = _grader(root, _CPU, task, work)
    fast = compiling.recipe(root, _CPU, exercise)
    watched = compiling.recipe(root, _CPU, exercise, "watched_worker")
    gpu: Optional[OnGpu] = None
    digest = hashlib.sha256(program.read_bytes())
    digest.update(f"{FORMAT} {_program()} {place.name} {limits}".encode())
    digest.update(f"{fast.fingerprint} {watched.fingerprint}".encode())
    if device.name == "gpu":
        gpu, also_hidden = _on_gpu(root, device, task, limits, place, work)
        hidden |= also_hidden
        digest.update(gpu.grader.read_bytes() + gpu.worker.fingerprint.encode())
        digest.update((gpu.race.fingerprint if gpu.race else "").encode())
    fingerprint = digest.hexdigest()

    known = work / "solutions" / f"{exercise.id}.json"
    record = _known(known, fingerprint)
    if node:
        first, known = record, work / "nodes" / node / f"{exercise.id}.json"
        if first is None:
            raise LabError(
                f"what grades {exercise.id} is not what it was when the job was submitted: the same"
                " command again submits another one.",
                FAILED,
            )
        record = _known(known, fingerprint)
    if record is None:
        record = _try(exercise, program, fast, watched, place, limits, jobs)
        if gpu:
            record["asked_on_gpu"] = _try_on_gpu(exercise, gpu, place, limits)
        record["fingerprint"] = fingerprint
        write(known, record)
    if node and record != first:
        raise LabError(
            f"{exercise.id} cannot be graded on {node}: with the course's solution and starter"
            f" other cases run or pass there than where the job was submitted ({known}).",
            FAILED,
        )
    steps = points.steps_of(exercise.folder / f"{exercise.name}.hpp")
    if gpu:
        gpu = dataclasses.replace(gpu, asked=set(record["asked_on_gpu"]))
    return Prepared(
        exercise,
        program,
        fast,
        watched,
        steps,
        set(record["skipped"]),
        set(record["free"]),
        hidden,
        limits,
        fingerprint,
        gpu,
    )


def _on_gpu(
    root: Path, device: Device, task: Task, limits: Limits, place: Sandbox, work: Path
) -> Tuple[OnGpu, Set[str]]:
    """And which of its cases are hidden ones."""
    grader, hidden = _grader(root, device, task, work)
    worker = compiling.recipe(root, device, task.exercise)
    there = sandbox.with_gpus(place, compiling.toolkit(device.nvcc or ""))
    race: Optional[Race] = None
    if task.rules.speed:
        program = build.program_path(root, device.name, task.exercise, solution=True)
        recipe = compiling.recipe(root, device, task.exercise, "solution")
        race = Race(recipe, program, task.rules.speed, there, run_limits(limits))
    name = f"{nvidia_smi('name')}, driver {nvidia_smi('driver_version')}"
    return OnGpu(grader, worker, there, name, race), hidden


@functools.lru_cache(1)
def _program() -> str:
    """Changes with this program, whose words and rules a record is made by."""
    lablib = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    own = ("refused.py", "test_program.py", "processes.py", "cuda_tokens.py", "bench.py")
    for name in (*own, "grading/*.py"):
        for path in sorted(lablib.glob(name)):
            digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _known(path: Path, fingerprint: str) -> Optional[Record]:
    record = _read(path)
    return record if record and record.get("fingerprint") == fingerprint else None


def _try(
    exercise: Exercise,
    program: Path,
    fast: Recipe,
    watched: Recipe,
    place: Sandbox,
    limits: Limits,
    jobs: int,
) -> Record:
    """Which cases cannot be run here, and which the starter passes."""
    say(f"trying {exercise.id} {exercise.name} with the course's solution")
    text = exercise.solution_file.read_text(encoding="utf-8")
    refusal = compiling.examine(fast, watched, text, place).problem
    if refusal:
        raise _not_here(exercise, refusal)
    skipped: Set[str] = set()
    stop = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            tried = [
                pool.submit(_run_solution, recipe, program, place, place, limits, stop.is_set)
                for recipe in (watched, fast)  # the slow one first
            ]
            starter = pool.submit(
                _passed_by_starter, fast, program, place, place, limits, stop.is_set
            )
            for one in reversed(tried):
                skipped |= {case.name for case in one.result().in_state(test_program.SKIPPED)}
            free = starter.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return {"skipped": sorted(skipped), "free": free}


def _try_on_gpu(exercise: Exercise, gpu: OnGpu, place: Sandbox, limits: Limits) -> List[str]:
    """The cases that the solution passes there, and the starter does not."""
    say(f"trying {exercise.id} {exercise.name} with the course's solution on the GPU")
    with _gpu_is_taken:
        result = _run_solution(gpu.worker, gpu.grader, place, gpu.place, limits)
        free = _passed_by_starter(gpu.worker, gpu.grader, place, gpu.place, limits)
        if gpu.race:
            try:
                gpu.race.run(gpu.race.solution, repeat=1)
            except bench.Failed as problem:
                raise LabError(
                    f"the speed of {exercise.id} cannot be measured on this machine, not with the"
                    f" course's solution either: {problem}",
                    FAILED,
                ) from problem
    return sorted({case.name for case in result.in_state(test_program.PASSED)}.difference(free))


def _not_here(exercise: Exercise, why: str) -> LabError:
    return LabError(
        f"{exercise.id} cannot be graded on this machine: the course's own solution does not pass"
        f" ({why}). `scripts/lab test {exercise.id} --solution` may say more.",
        FAILED,
    )


def _run_solution(
    recipe: Recipe,
    program: Path,
    place: Sandbox,
    running: Sandbox,
    limits: Limits,
    stop: Optional[Callable[[], bool]] = None,
) -> test_program.Result:
    """Compiled in one sandbox, run in the other one."""
    with tempfile.TemporaryDirectory(prefix="lab_grade_") as folder:
        text = recipe.exercise.solution_file.read_text(encoding="utf-8")
        made = compiling.make(recipe, text, place, Path(folder) / "worker")
        if made.worker is None:
            raise _not_here(recipe.exercise, made.problem)
        result = run(program, made.worker, running, stop, limits)
    if not result.passed:
        why = [line for line in result.outside if line.startswith("SKIPPED: ")]  # there is no GPU
        why += [f"{case.name}: {_failure(case, set())['text']}" for case in result.failures[:1]]
        raise _not_here(recipe.exercise, [*why, _ending(result)][0])
    return result


def _passed_by_starter(
    recipe: Recipe,
    program: Path,
    place: Sandbox,
    running: Sandbox,
    limits: Limits,
    stop: Optional[Callable[[], bool]] = None,
) -> List[str]:
    with tempfile.TemporaryDirectory(prefix="lab_grade_") as folder:
        text = starters.generate_file(recipe.exercise.solution_file)
        made = compiling.make(recipe, text, place, Path(folder) / "worker")
        if made.worker is None:
            raise LabError(f"the starter of {recipe.exercise.id} does not compile: {made.problem}")
        result = run(program, made.worker, running, stop, limits)
    return sorted(case.name for case in result.in_state(test_program.PASSED))


def run(
    program: Path,
    worker: Path,
    place: Sandbox,
    stop_when: Optional[Callable[[], bool]] = None,
    limits: Limits = DEFAULT_LIMITS,
    cases: Optional[Sequence[str]] = None,
) -> test_program.Result:
    """Runs an exercise's tests, or these cases of them, against a worker, which has so long for
    each call."""
    command = place.command(
        ["/worker"] if place.is_isolated else [str(worker)],
        run_limits(limits),
        readable=[(worker, "/worker")],
    )
    command[0] = shutil.which(command[0]) or command[0]
    with tempfile.NamedTemporaryFile("w", prefix="lab_worker_", suffix=".txt") as file:
        file.write("\n".join(command) + "\n")
        file.flush()
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GTEST_", "CPU_DEVICE_", "LAB_", "TESTBRIDGE_"))
        }
        environment["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"  # as in the worker (worker.cpp)
        # As many blocks at a time on any machine: each needs memory for the stacks of its threads,
        # and there are several submissions.
        environment["CPU_DEVICE_WORKERS"] = "2"
        environment["LAB_GRADING_WORKER"] = file.name
        environment["LAB_GRADING_CALL_LIMIT"] = f"{limits.call:g}"
        return test_program.run(
            [str(program)],
            cases=cases,
            case_limit=limits.case,
            time_limit=limits.exercise,
            stop_when=(lambda _: stop_when()) if stop_when else None,
            env=environment,
        )


def run_limits(limits: Limits) -> sandbox.Limits:
    return dataclasses.replace(sandbox.RUN, memory_bytes=int(limits.memory_mib) << 20)


def grade(
    prepared: Sequence[Prepared],
    submissions: Sequence[collect.Submission],
    place: Sandbox,
    out: Path,
    jobs: int,
    on_done: Callable[[int, int], None],
) -> None:
    """Makes every record that is not there yet."""
    exercises = [one.exercise for one in prepared]
    stop = threading.Event()
    total = len(submissions) * len(prepared)
    done = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            for first in range(0, len(submissions), 16):  # not all sources at once
                todo = []
                for submission in submissions[first : first + 16]:
                    sources = submission.sources(exercises)
                    for one in prepared:
                        source = sources[one.exercise.id]
                        todo.append(pool.submit(_record, one, submission, source, place, out, stop))
                for future in concurrent.futures.as_completed(todo):
                    future.result()
                    done += 1
                    on_done(done, total)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def record_path(out: Path, student: str, exercise: Exercise) -> Path:
    return out / "records" / number_of(student) / f"{exercise.id}.json"


def number_of(student: str) -> str:
    """Made of the student's name, which may be any text."""
    return hashlib.sha256(student.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _record(
    one: Prepared,
    submission: collect.Submission,
    source: collect.Source,
    place: Sandbox,
    out: Path,
    stop: threading.Event,
) -> None:
    if stop.is_set() or _is_done(one, submission, source, out):
        return
    _require_room()
    record = judge(one, source, place, stop.is_set)
    if stop.is_set():
        return
    _require_room()  # what could not be written might look like the submission's mistake
    record = {
        "format": FORMAT,
        "student": submission.student,
        "exercise": one.exercise.id,
        "name": one.exercise.name,
        "sandbox": place.name,
        **_key(one, submission, source),
        **record,
    }
    write(record_path(out, submission.student, one.exercise), record)


def _key(one: Prepared, submission: collect.Submission, source: collect.Source) -> Record:
    """What a record depends on."""
    return {
        "source": hashlib.sha256(source.text.encode("utf-8", "surrogatepass")).hexdigest(),
        "fingerprint": one.fingerprint,
        "notes": [*submission.notes, *source.notes],
    }


def _is_done(
    one: Prepared, submission: collect.Submission, source: collect.Source, out: Path
) -> bool:
    before = _read(record_path(out, submission.student, one.exercise)) or {}
    return all(before.get(name) == value for name, value in _key(one, submission, source).items())


def _require_room() -> None:
    """On the disk that compilers and graders write to."""
    place = tempfile.gettempdir()
    free = shutil.disk_usage(place).free
    if free < ROOM_BYTES:
        raise LabError(
            f"only {free >> 20} MiB are left in {place}, and grading needs"
            f" {ROOM_BYTES >> 20}: nothing was recorded. TMPDIR names another folder.",
            FAILED,
        )


def missing(
    prepared: Sequence[Prepared], submissions: Sequence[collect.Submission], out: Path
) -> List[str]:
    """The students some of whose records are still to be made."""
    found = []
    for submission in submissions:
        sources = submission.sources([one.exercise for one in prepared])
        if not all(_is_done(one, submission, sources[one.exercise.id], out) for one in prepared):
            found.append(submission.student)
    return found


def judge(
    one: Prepared,
    source: collect.Source,
    place: Sandbox,
    stop: Callable[[], bool],
) -> Record:
    """The verdict on one file, which says nothing of points: scored() does."""
    if not source.found:
        return _nothing("nothing to grade")
    examined = compiling.examine(one.fast, one.watched, source.text, place)
    if examined.problem:
        return _nothing("refused" if examined.is_refused else "does not compile", examined.problem)
    with tempfile.TemporaryDirectory(prefix="lab_grade_") as folder:
        worker = Path(folder) / "worker"
        made = compiling.make(one.fast, source.text, place, worker)
        if made.worker is None:
            return _nothing("does not compile", made.problem)
        result = run(one.grader, worker, place, stop, one.limits)
        passed = _passed(result, one.skipped)
        failed = result.failures
        failures = [_failure(case, one.hidden) for case in failed[:MOST_FAILURES]]
        hazards: List[str] = []
        if any(passed.values()):
            made = compiling.make(one.watched, source.text, place, worker)
            if made.worker is None:
                return _nothing("does not compile", "with its accesses watched, " + made.problem)
            # Of a case that failed it would say nothing more, and a loop would take its time again.
            again = [name for name, ok in passed.items() if ok]
            watched = run(one.grader, worker, place, stop, one.limits, again)
            also_watched = _passed(watched, one.skipped)
            # Whatever else becomes of a case there (it fails, crashes, is late or never runs), it
            # was not seen to do what it does in the other run without a mistake.
            lost = [
                watched.cases.get(name) or test_program.Case(name)
                for name, ok in passed.items()
                if ok and not also_watched.get(name)
            ]
            hazards = [
                case.name
                for case in lost
                if case.state == test_program.FAILED and any(map(_is_report, case.said))
            ]
            unseen = [
                case
                for case in lost
                if case.name not in hazards or not all(map(_is_report, _failures_of(case)))
            ]
            passed.update(dict.fromkeys((case.name for case in unseen), False))
            failed = [*failed, *unseen]
            failures += [
                _failure(case, one.hidden, "with accesses watched: ")
                for case in lost
                if case.name in hazards[:1] or case in unseen[:MOST_FAILURES]
            ]
            if not watched.something_ran:
                result = watched
        if one.gpu and any(passed.values()):
            made = compiling.make(one.gpu.worker, source.text, place, worker)
            if made.worker is None:
                return _nothing("does not compile", "on the GPU, " + made.problem)
            with _gpu_is_taken:
                there = run(one.gpu.grader, worker, one.gpu.place, stop, one.limits)
            not_there: List[test_program.Case] = []
            for name in sorted(one.gpu.asked):
                case = there.cases.get(name) or test_program.Case(name)
                ok = case.state == test_program.PASSED
                if not ok and passed.get(name, True):
                    not_there.append(case)
                passed[name] = ok and passed.get(name, True)
            failed = [*failed, *not_there]
            failures += [
                _failure(case, one.hidden, "on the GPU: ") for case in not_there[:MOST_FAILURES]
            ]
    nobodys = (one.free | one.skipped) - (one.gpu.asked if one.gpu else set())
    required = [case for case in failed if points.is_required_work(case.name)]
    verdict: Record = {
        "state": "graded",
        "cases": {name: case.state for name, case in result.cases.items()},
        "passed": {name: ok for name, ok in passed.items() if name not in nobodys},
        "without_work": sorted(
            points.without_work(
                # What crashed or never ran says nothing, which is about all steps.
                [said.text for case in required for said in _failures_of(case)]
                or ["" for _ in required],
                one.steps,
            )
        ),
        "hidden": sorted(one.hidden),
        "hazards": hazards,
        "failures": failures,
        "problem": "" if result.something_ran else _why_nothing_ran(result),
        "gpu": one.gpu.name if one.gpu else "",
        "speed": {},
    }
    is_right = all(verdict["passed"].values()) and not hazards and not verdict["without_work"]
    if one.gpu and one.gpu.race and is_right and not stop():
        with _gpu_is_taken:
            verdict["speed"] = one.gpu.race.measure(source.text, place)
    return verdict


def scored(verdict: Record, steps: Sequence[str], rules: Rules) -> Record:
    """The verdict with its points, before anything is taken for being late."""
    parts = points.parts(verdict["passed"], steps, verdict["without_work"])
    whole, full, remarks = points.points(parts, bool(verdict["hazards"]), rules), rules.full, []
    if verdict["gpu"]:
        remarks.append(
            f"It was run on a GPU as well ({verdict['gpu']}); hazards, and who did the work, only"
            " the CPU device can see."
        )
    if rules.speed:
        for_speed, said = _speed(verdict["speed"], rules.speed)
        whole, full = whole + for_speed, full + rules.speed.full
        got, of = _number(for_speed), _number(rules.speed.full)
        remarks.append(f"Speed: {got:g} of {of:g} points{said}")
    return {
        **verdict,
        "points": _number(whole),
        "of": _number(full),
        "remarks": remarks,
        "parts": [
            {
                "name": part.name,
                "share": _number(part.share(rules)),
                "weight": _number(rules.weights.get(part.name, Fraction(1))),
                "has_work": part.has_work,
                "passed": sorted(part.passed),
                "failed": sorted(part.failed),
            }
            for part in parts
        ],
    }


def _speed(measured: Record, speed: Speed) -> Tuple[Fraction, str]:
    """The points, and what there is to say of them."""
    if not measured:
        return Fraction(0), ": it is measured once everything is right."
    if measured["problem"]:
        return Fraction(0), f": {measured['problem']}"[:MOST_TEXT]
    own, solution, wall = (measured[name] for name in ("own_ms", "solution_ms", "wall_ms"))
    return speed.points(own, solution), (
        f". Its kernels took {own:.4g} ms and the solution's {solution:.4g} ms:"
        f" {solution / own:.0%} of that speed. (Whole runs took {wall['own'] / 1000:.3g} s and"
        f" {wall['solution'] / 1000:.3g} s.)"
    )


def table(
    prepared: Sequence[Prepared], students: Sequence[str], rubric: Rubric, out: Path
) -> Table:
    """Every student's records with their points, by student and exercise."""
    tasks = {task.exercise.id: task for task in rubric.tasks}
    found: Table = {}
    for student in students:
        found[student] = {}
        for one in prepared:
            task = tasks[one.exercise.id]
            record = scored(
                read_record(record_path(out, student, one.exercise)), one.steps, task.rules
            )
            left, sentence = rubric.left(task, student)
            record["points"] = _number(Fraction(str(record["points"])) * left)
            record["late"] = sentence
            found[student][one.exercise.id] = record
    return found


def _failures_of(case: test_program.Case) -> List[test_program.Said]:
    return [said for said in case.said if said.is_failure]


def _is_report(said: test_program.Said) -> bool:
    """Whether a failure is what the CPU device reported, as tests/support/test_main.cpp says it. No
    text of a submission stands at the beginning of a failure."""
    return said.is_failure and said.text.startswith((_REPORT, f"Failed\n{_REPORT}"))


def _passed(result: test_program.Result, skipped: Set[str]) -> Dict[str, bool]:
    """Of each case. `skipped`: what this machine cannot run, with the solution either."""
    return {
        name: case.state == test_program.PASSED
        or (case.state == test_program.SKIPPED and name in skipped)
        for name, case in result.cases.items()
    }


def _ending(result: test_program.Result) -> str:
    return result.outside[-1] if result.outside else result.ending


def _why_nothing_ran(result: test_program.Result) -> str:
    said = _ending(result)
    return f"no test ran: the submission's process did not answer ({said})"[:MOST_TEXT]


def _number(value: Fraction) -> float:
    return round(float(value), 4)


def _nothing(state: str, problem: str = "") -> Record:
    return {
        "state": state,
        "cases": {},
        "passed": {},
        "without_work": [],
        "hidden": [],
        "hazards": [],
        "failures": [],
        "problem": problem,
        "gpu": "",
        "speed": {},
    }


def _failure(case: test_program.Case, hidden: Set[str], before: str = "") -> Dict[str, str]:
    if case.name in hidden:  # what it was given is nobody's business
        return {"case": case.name, "text": before + "a test that is not shown failed"}
    said = [test_program.sentence(one) for one in case.said if one.is_failure]
    text = (said or [case.detail or case.state])[-1 if len(said) == 1 else 0]
    return {"case": case.name, "text": (before + text)[:MOST_TEXT]}


def _read(path: Path) -> Optional[Record]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def read_record(path: Path) -> Record:
    record = _read(path)
    if record is None:
        raise LabError(f"{path} is no record: remove it, and run the same command again.", FAILED)
    return record


def write(path: Path, record: Record) -> None:
    """Whole or not at all, and on the disk before it has its name."""
    text = json.dumps(record, ensure_ascii=True, indent=1, sort_keys=True) + "\n"
    write_text(path, text)


def sweep(out: Path) -> None:
    """Takes away what somebody was writing who was killed."""
    for unfinished in out.rglob(f"{UNFINISHED}*"):
        unfinished.unlink()


def write_text(path: Path, text: str) -> None:
    """A file with what students did: nobody but who grades may read it."""
    write_bytes_atomically(path, text.encode("utf-8"), record=True)
