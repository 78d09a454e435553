# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The verb grade: what instructors use."""

import argparse
import dataclasses
import os
import shlex
from pathlib import Path
from typing import List, Sequence

from lablib import build, device
from lablib.console import Progress, say
from lablib.errors import OK, USAGE, LabError
from lablib.exercises import resolve_all, resolve_one
from lablib.grading import collect, ctest, formats, grade, reports, rubric, sandbox, slurm
from lablib.grading.rubric import Rubric
from lablib.verbs import verb
from lablib.verbs.verb import Parser, Verb


def _arguments(parser: Parser) -> None:
    parser.add_argument(
        "submissions",
        nargs="?",
        metavar="FOLDER",
        help="a folder that holds a folder or an archive for each student",
    )
    parser.add_argument(
        "--exercises",
        metavar="ID,ID…",
        required=False,
        help="what to grade, such as 03.1,05.1,10.4",
    )
    parser.add_argument(
        "--rubric",
        type=Path,
        metavar="FILE",
        help="what to grade, and how, in TOML (docs/instructors.md), instead of --exercises",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="where records and reports go: results/ by default",
    )
    parser.add_argument(
        "--format",
        default="",
        metavar="NAME,NAME…",
        help="also write the results as another system reads them: "
        + ", ".join([*formats.OF_A_CLASS, *formats.OF_A_STUDENT]),
    )
    verb.jobs(parser)
    parser.add_argument(
        "--device",
        metavar="cpu|gpu",
        help="gpu: run every submission on a GPU as well; overrides the rubric's device",
    )
    parser.add_argument(
        "--names",
        action="store_true",
        help="write the students' names to class.csv instead of their numbers in records/",
    )
    parser.add_argument(
        "--sandbox",
        default="",
        metavar="NAME",
        help="what isolates students' code: "
        + " or ".join(one.name for one in sandbox.ALL)
        + "; by default the first of them that works",
    )
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run students' code without isolation; every report says so",
    )
    parser.add_argument(
        "--slurm",
        action="store_true",
        help="grade on a cluster: submit an array job and follow it; --jobs limits its tasks",
    )
    parser.add_argument(
        "--partition", metavar="NAME", help="the cluster's partition; by default Slurm's default"
    )
    parser.add_argument(
        "--slurm-task", action="store_true", help="what each task of --slurm runs on its node"
    )
    parser.add_argument(
        "--build-only",
        type=Path,
        metavar="DIR",
        help="build what grades, and make DIR a folder for `ctest --test-dir DIR -L 05.1`, which"
        " grades one student's FOLDER, or labs/ of this clone",
    )
    parser.add_argument(
        "--verdict",
        metavar="ID",
        help="what each test of --build-only runs: grade one exercise of one student's FOLDER; exit"
        " status 0 if it gets all points, else 1",
    )


def _rubric(root: Path, options: argparse.Namespace) -> Rubric:
    if options.verdict:
        exercise = resolve_one(root, options.verdict)
        if not options.rubric:
            return rubric.of_exercises([exercise])
        plan = rubric.read(root, options.rubric)
        tasks = tuple(task for task in plan.tasks if task.exercise == exercise)
        if not tasks:
            raise LabError(f"{options.rubric} has no exercise {exercise.id}.", USAGE)
        return dataclasses.replace(plan, tasks=tasks)
    if bool(options.exercises) == bool(options.rubric):
        raise LabError("which exercises? --exercises 03.1,05.1 or --rubric FILE says so.", USAGE)
    if options.rubric:
        return rubric.read(root, options.rubric)
    return rubric.of_exercises(resolve_all(root, options.exercises.split(",")))


def _device(plan: Rubric, options: argparse.Namespace) -> device.Device:
    chosen = device.choose(options.device or plan.device)
    if chosen.name == "gpu":
        grade.require_gpu(chosen)
        return chosen
    for task in plan.tasks:
        if task.rules.speed:
            raise LabError(
                f"the points for the speed of {task.exercise.id} need a GPU: --device gpu, or"
                ' device = "gpu" in the rubric, runs submissions on one.',
                USAGE,
            )
    return chosen


def _sandbox(options: argparse.Namespace) -> sandbox.Sandbox:
    if options.no_sandbox and options.sandbox:
        raise LabError("--sandbox and --no-sandbox exclude each other.", USAGE)
    on_cluster = bool(options.slurm or options.slurm_task)
    return (
        sandbox.NONE
        if options.no_sandbox
        else sandbox.find(options.sandbox, on_cluster=on_cluster)
    )


def _grade(root: Path, options: argparse.Namespace) -> int:
    if options.build_only or options.verdict:
        return _grade_by_ctest(root, options)
    if options.submissions is None:
        raise LabError("FOLDER is missing. See `scripts/lab grade --help`.", USAGE)
    if options.slurm_task:
        return _grade_a_part(root, options)
    if options.partition and not options.slurm:
        raise LabError("--partition is for --slurm.", USAGE)
    plan = _rubric(root, options)
    wanted = formats.names(options.format, plan.title)
    exercises = [task.exercise for task in plan.tasks]
    out = (options.out or Path("results")).absolute()
    chosen = _device(plan, options)
    place = _sandbox(options)
    submissions = collect.submissions(Path(options.submissions).absolute())
    build.require_packages(root)
    say(
        f"{len(submissions)} submissions, {len(exercises)} exercises; {place.name};"
        f" {'CPU device and GPU' if chosen.name == 'gpu' else 'CPU device'}; results in {out}"
    )
    out.mkdir(mode=0o700, parents=True, exist_ok=True)  # names of students stand in there
    jobs = options.jobs or os.cpu_count() or 1
    prepared = grade.prepare(root, chosen, plan, place, out / "records", jobs)
    if options.slurm:
        command = [*_again(root, options, chosen, place, out), "--slurm-task"]
        if options.exercises:
            command += ["--exercises", ",".join(exercise.id for exercise in exercises)]
        slurm.run(
            command,
            out,
            lambda: grade.missing(prepared, submissions, out),
            partition=options.partition,
            jobs=options.jobs,
            memory_mib=int(plan.limits.memory_mib),
            gpu=chosen.name == "gpu",
        )
    else:
        _make_records(prepared, submissions, place, out, jobs)
    grade.sweep(out)
    students = [submission.student for submission in submissions]
    table = grade.table(prepared, students, plan, out)
    reports.write_all(out, table, exercises, place.name, plan.title, options.names)
    formats.write(out, wanted, table, plan.title or "CUDA Labs")
    say(f"Done: {out / 'index.html'} shows the class, {out / 'class.csv'} has the points.")
    return OK


def _make_records(
    prepared: Sequence[grade.Prepared],
    submissions: Sequence[collect.Submission],
    place: sandbox.Sandbox,
    out: Path,
    jobs: int,
) -> None:
    progress = Progress("grading")
    try:
        grade.grade(
            prepared,
            submissions,
            place,
            out,
            jobs,
            lambda done, total: progress.update(f"[{done}/{total}]"),
        )
    finally:
        progress.done()


def _again(
    root: Path,
    options: argparse.Namespace,
    chosen: device.Device,
    place: sandbox.Sandbox,
    out: Path,
) -> List[str]:
    """The command to grade the same by, from any folder."""
    command = [str(root / "scripts" / "lab"), "grade", "--out", str(out), "--device", chosen.name]
    if options.submissions:
        command.append(str(Path(options.submissions).absolute()))
    if options.rubric:
        command += ["--rubric", str(options.rubric.absolute())]
    return [*command, *(["--sandbox", place.name] if place.is_isolated else ["--no-sandbox"])]


def _grade_a_part(root: Path, options: argparse.Namespace) -> int:
    """A task of --slurm: the records of some students, and nothing else."""
    plan = _rubric(root, options)
    out = (options.out or Path("results")).absolute()
    mine = set(slurm.mine(out))
    node = slurm.node()
    try:
        place = _sandbox(options)
        chosen = _device(plan, options)
        prepared = grade.prepare(root, chosen, plan, place, out / "records", 1, node)
        every = collect.submissions(Path(options.submissions).absolute())
        submissions = [submission for submission in every if submission.student in mine]
        _make_records(prepared, submissions, place, out, 1)
    except LabError as error:
        raise LabError(f"on node {node} {error}", error.exit_code) from error
    return OK


def _grade_by_ctest(root: Path, options: argparse.Namespace) -> int:
    """--build-only, and the tests that it makes."""
    plan = _rubric(root, options)
    work = (options.build_only or options.out or Path("results")).absolute()
    folder = Path(options.submissions or root / "labs").absolute()
    if not folder.is_dir():
        raise LabError(f"{folder} is no folder: with --build-only it is one student's.", USAGE)
    chosen = _device(plan, options)
    place = _sandbox(options)
    build.require_packages(root)
    jobs = 1 if options.verdict else options.jobs or os.cpu_count() or 1
    prepared = grade.prepare(root, chosen, plan, place, work, jobs)
    if options.verdict:
        return ctest.verdict(prepared[0], plan.tasks[0].rules, folder, place)
    exercises = [task.exercise for task in plan.tasks]
    ctest.write(work, exercises, _again(root, options, chosen, place, work))
    say(f"Done: `ctest --test-dir {shlex.quote(str(work))} -L {exercises[0].id}` grades {folder}.")
    return OK


VERBS = (
    Verb(
        "grade",
        "Grade a class: compile and test each submission in a sandbox, and write points, feedback"
        " and reports. If it is stopped, the same command continues where it was.",
        _arguments,
        _grade,
    ),
)
