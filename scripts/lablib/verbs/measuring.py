# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The verb bench: how fast the steps of exercises are."""

import argparse
import shlex
from pathlib import Path
from typing import List, Mapping, Sequence

from lablib import bench, benchmark_page, benchmarks, build, metadata
from lablib.console import paint, say
from lablib.drawing import charts
from lablib.errors import FAILED, OK, USAGE, LabError
from lablib.exercises import Exercise, resolve_all
from lablib.files import short_path, write_atomically
from lablib.verbs import verb
from lablib.verbs.verb import Parser, Verb


def _arguments(parser: Parser) -> None:
    verb.exercises(parser)
    verb.solution(parser)
    verb.on_device(parser)
    parser.add_argument(
        "--compare",
        type=Path,
        metavar="FILE",
        help="say what is faster or slower than in this file of --json. "
        + benchmarks.NOISE_RULE.replace("%", "%%"),
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write all samples to this file, for --compare"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write a table (bench.csv) and charts of each exercise (SVG) to this folder",
    )
    parser.add_argument(
        "--rounds",
        type=verb.positive,
        default=bench.ROUNDS,
        metavar="N",
        help=f"how often all programs are run, in turns; {bench.ROUNDS} by default",
    )
    parser.add_argument(
        "--repeat",
        type=verb.positive,
        default=bench.REPEAT,
        metavar="N",
        help=f"how many samples a program takes; {bench.REPEAT} by default",
    )
    parser.add_argument(
        "--cpu-times",
        action="store_true",
        help="without a GPU: show times of the CPU device, which say nothing about a GPU",
    )


def _chosen(root: Path, ids: List[str]) -> List[Exercise]:
    if ids:
        return resolve_all(root, ids)
    found = []
    for exercise in verb.all_exercises(root):
        data = metadata.find(exercise)
        if data and data.bench:
            found.append(exercise)
    if not found:
        raise LabError(
            "no exercise.toml has a list `bench`, so name the exercises: `scripts/lab bench 05.1`.",
            USAGE,
        )
    return found


def _bench(root: Path, options: argparse.Namespace) -> int:
    exercises = _chosen(root, options.id)
    old = benchmarks.read(options.compare) if options.compare else None  # before minutes of work
    for file in (options.json, options.out):
        if file is not None and not file.absolute().parent.is_dir():
            raise LabError(f"there is no folder {file.parent} for {file.name}.", USAGE)
    chosen = verb.chosen_device(options)
    bench.require_gpu(chosen, options.cpu_times)
    build.require_packages(root)
    report = bench.begin(root, chosen, options.rounds)
    try:
        bench.measure(
            root,
            report,
            exercises,
            chosen,
            solution=options.solution,
            arguments=[shlex.join(options.rest)] if options.rest else [],
            repeat=options.repeat,
        )
    finally:  # stopped half-way: what has been measured was minutes of work
        if report.results:
            _keep(options, report, benchmark_page.kernels(root))
    if not report.results:
        raise LabError("nothing was measured (see above).")
    return _compare(old, report) if old else OK


def _keep(
    options: argparse.Namespace, report: benchmarks.Report, kernels: Mapping[str, Sequence[str]]
) -> None:
    _print(report, kernels)
    if options.json:
        write_atomically(options.json, report.text())
        say(f"file written: {short_path(options.json, Path.cwd())}")
    if options.out:
        _write_folder(options.out, report, kernels)


def _print(report: benchmarks.Report, kernels: Mapping[str, Sequence[str]]) -> None:
    where = [report.device, report.cuda and f"CUDA {report.cuda}"]
    where += [report.driver and f"driver {report.driver}"]
    where += [f"{name}: {low:g} to {high:g}" for name, (low, high) in report.clocks.items()]
    print("; ".join(filter(None, where)))
    for exercise, results in benchmarks.by_exercise(report.results).items():
        print()
        print(paint(exercise, "bold"))
        shown = benchmarks.named(results, kernels.get(exercise, ()))
        table = [benchmarks.HEAD, *benchmarks.rows(shown, report.cpu_device)]
        widths = [max(len(row[i]) for row in table) for i in range(len(benchmarks.HEAD))]
        for row in table:
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths))
            print(f"  {line}".rstrip())


def _write_folder(
    folder: Path, report: benchmarks.Report, kernels: Mapping[str, Sequence[str]]
) -> None:
    write_atomically(folder / "bench.csv", benchmarks.csv_text(report))
    for exercise, results in benchmarks.by_exercise(report.results).items():
        if not report.cpu_device:
            shown = benchmarks.named(results, kernels.get(exercise, ()))
            for chart in charts.pictures(exercise, exercise, shown, report):
                write_atomically(folder / f"{chart.name}.svg", chart.standalone())
    say(f"files written: {short_path(folder, Path.cwd())}/")


def _compare(old: benchmarks.Report, new: benchmarks.Report) -> int:
    if (old.device, old.cpu_device) != (new.device, new.cpu_device):
        raise LabError(
            f"the old file was measured on {old.device}, and this is {new.device}: their times"
            " cannot be compared."
        )
    lines, slower = benchmarks.comparison(old, new)
    print()
    print("\n".join(lines))
    return FAILED if slower else OK


VERBS = (
    Verb(
        "bench",
        "Measure all steps of some exercises on the GPU, in turns, beside the library and the limit"
        " that their programs know; by default those of your own files. Without an ID: those"
        " exercises whose exercise.toml has a list `bench`. Arguments after -- go to the programs,"
        " in place of those lists. Exits 1 if something is slower than in the file of --compare.",
        _arguments,
        _bench,
        takes_rest=True,
        takes_exercises=True,
    ),
)
