# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""docs/benchmarks.md and its pages of figures, their charts, and the charts in chapters, from the
files of `scripts/lab bench --json` in docs/benchmarks/; and the plots of the tables there that
programs have written (`--csv`)."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

from lablib import benchmarks, exercises, figure_tables, metadata, pages
from lablib.drawing import charts, program_plots
from lablib.drawing.picture import Picture
from lablib.errors import LabError
from lablib.files import write_atomically

PAGE = "docs/benchmarks.md"
FOLDER = "docs/benchmarks"  # what was measured, and a page of figures for each part of the course
CHARTS = "docs/images/benchmarks"

_INTRO = """\
# Benchmarks

How fast the solutions of this course are on GPUs. Each exercise that has been measured has charts
or tables, of one run each, with the newest run first. Compare only what is of one run: never the
figures of one device with those of another. The table says when what was measured, on which device.
"""
_HOW = """\
## How it was measured

```
scripts/lab bench --solution --json docs/benchmarks/NAME.json    # on the GPU
scripts/lab dev benchmarks    # writes these pages and all charts
```

`scripts/lab bench` runs all steps of an exercise in turns, there and back where there are several
rounds, so that a clock that drifts favours none. Each program checks its result before it
measures, warms up, and takes samples of about a millisecond each. The tables show the median of
all samples and the quartiles around it.

*Of copy* is the rate in bytes per second as a share of a plain copy in device memory, measured in
the same run; *of library* is the library's time as a share of the step's: above 100 % the step is
faster. Some programs name further marks, such as a kernel that only reads. Each step's program
times the library and these marks for itself, right after the step; a chart, and a
chapter's table of figures, shows the best of these times. So a share may differ by a few percent
from what the rates beside it give. Above 100 % of a copy is possible: a copy writes as much as it
reads, and small data stay in the L2 cache. The time is that of the kernels; copies
between host and device are not in it, unless a kernel itself reads host memory (`zero_copy` of
12.1 and 12.3) or runs between its copies (`staged` of 12.1 and 12.2). A `+` behind a commit: not
all of the files had been committed.

All samples are warm: the kernel has run before, and nothing empties the caches between two samples.
So data that fit into the L2 cache (50 MB of an H100, 60 MB of an H200) may still be
there.

What uses several devices was measured on two, or on four H100; four H200 have not been measured.
With eight, nothing has been measured here.

Until 2026-11-25 a library's calls were timed one by one, which charges each with its launch. For
a call of less than half a millisecond that is too much, so no share is given there.

The plots of 20.4 and 21.1 show what their programs have written with `--csv`, to files in
`docs/benchmarks/`.

All rates of a chart or a table have the same unit, that of the largest one. A chart of rates by
size has a logarithmic axis where a line spans a factor of 20, and says so. A copy is a line in a
chart only if it is the same for all steps: a step that moves more bytes for each item is limited
to fewer items.
"""
# What the columns are, on each page of figures.
_COLUMNS = """
*Of copy*: the rate as a share of a copy in device memory. *Of library*: the library's time as a
share of the step's. The times are those of the kernels.
[How it was measured, and the contents](../benchmarks.md)
"""
_FIGURES = ": figures"  # in headings: the printed book has one page, in which the chapters' are
_NOTHING = "Nothing has been measured in this way yet.\n"


# Around the charts in a chapter's section. They may be moved within it: they stay where they are.
BEGIN = "<!-- Charts: written by `scripts/lab dev benchmarks`. -->"
END = "<!-- Charts end. -->"


def reports(root: Path) -> Dict[str, benchmarks.Report]:
    """By the names of their files."""
    found = {}
    names = kernels(root)
    for path in sorted((root / "docs" / "benchmarks").glob("*.json")):
        report = benchmarks.read(path)
        own = benchmarks.by_exercise(report.results).items()
        report.results = [
            each
            for exercise, results in own
            for each in benchmarks.named(results, names.get(exercise, ()))
        ]
        if report.cpu_device:
            raise LabError(f"{path} was measured on the CPU device, whose times are no figures.")
        found[path.stem] = report
    return found


def kernels(root: Path) -> Dict[str, Tuple[str, ...]]:
    """What the program of an exercise measures of each step, if it is more than one."""
    found = {name: data.kernels for name, data in _metadata(root).items()}
    return {name: each for name, each in found.items() if each}


def _metadata(root: Path) -> Dict[str, metadata.Metadata]:
    return {
        each.full_name: metadata.read(each)
        for each in exercises.find_exercises(root)
        if each.metadata_file.is_file()  # (that it is there is a rule of its own)
    }


def _options(root: Path) -> Dict[str, List[str]]:
    """What the programs call their steps, in their order, by exercise."""
    found = {}
    for exercise in exercises.find_exercises(root):
        program = exercise.folder / "main.cpp"
        text = program.read_text(encoding="utf-8") if program.is_file() else ""
        found[exercise.full_name] = _OPTION.findall(text)
    return found


_OPTION = re.compile(r'\{"(\w+)",\s*(?:\w+::)*step::\w+')


@dataclass(frozen=True)
class _Run:
    """An exercise's part of a report."""

    file: str  # its name, without .json
    report: benchmarks.Report
    results: List[benchmarks.Result]
    charts: List[Picture]

    @property
    def steps(self) -> List[str]:
        """Without the names of kernels."""
        return [re.split(r": | \(", result.step)[0] for result in self.results]

    @property
    def where(self) -> str:
        return f"{self.report.device}, {self.report.date[:10]}"

    @property
    def conditions(self) -> str:
        report = self.report
        said = [f"CUDA {report.cuda}" if report.cuda else ""]
        said += [f"driver {report.driver}" if report.driver else ""]
        said += [f"commit `{report.commit}`" if report.commit else ""]
        said += ["1 round" if report.rounds == 1 else f"{report.rounds} rounds"]
        said += [f"{what}: {low:g} to {high:g}" for what, (low, high) in report.clocks.items()]
        return "; ".join(filter(None, [*said, f"`{self.file}.json`"])) + "."


def _runs(root: Path) -> Dict[str, List[_Run]]:
    """By exercise; the newest of each first."""
    found: Dict[str, List[_Run]] = {}
    apart = {name for name, data in _metadata(root).items() if not data.compared}
    for name, report in sorted(reports(root).items(), key=lambda r: r[1].date, reverse=True):
        for exercise, results in benchmarks.by_exercise(report.results).items():
            compared = exercise not in apart
            drawn = charts.pictures(f"{name}_{exercise}", exercise, results, report, compared)
            found.setdefault(exercise, []).append(_Run(name, report, results, drawn))
    return found


def pictures(root: Path) -> Dict[str, Picture]:
    """All charts and plots, by their files."""
    drawn = [picture for runs in _runs(root).values() for run in runs for picture in run.charts]
    for plots in program_plots.pictures(root / FOLDER).values():
        drawn += plots
    return {f"{CHARTS}/{picture.name}.svg": picture for picture in drawn}


def files(root: Path) -> Dict[str, str]:
    """The pages, the charts and the chapters, as they should be: path and text."""
    runs, plots = _runs(root), program_plots.pictures(root / FOLDER)
    notes = {name: data.figures for name, data in _metadata(root).items()}
    _check_steps(root, runs, notes)
    found = {path: picture.standalone() for path, picture in pictures(root).items()}
    sources = {
        exercise: [_Source.read(root / FOLDER / f"{picture.name}.csv") for picture in drawn]
        for exercise, drawn in plots.items()
    }
    devices = sorted(
        {run.report.device for own in runs.values() for run in own}
        | {source.device for own in sources.values() for source in own}
    )
    contents = [f"| {' | '.join(['exercise', *devices])} |", "| --- |" + " --- |" * len(devices)]
    for exercise in sorted({*runs, *plots}):
        own, drawn = runs.get(exercise, []), plots.get(exercise, [])
        part, page = _part(exercise)
        head = f"# Benchmarks: {part}\n{_COLUMNS}"
        section = _section(root, exercise, own, notes.get(exercise, ""))
        for picture, source in zip(drawn, sources.get(exercise, [])):
            said = f"**{source.where}.** `{picture.name}.csv`."
            section += "\n".join(["", said, *_shown([picture], "../")]) + "\n"
        found[page] = found.get(page, head) + section
        cells = [f"[{_heading(exercise)}]({_target(exercise)})"]
        for device in devices:
            dates = [run.report.date[:10] for run in own if run.report.device == device]
            dates += [
                f"{source.date} (plot)"
                for source in sources.get(exercise, [])
                if source.device == device
            ]
            cells.append(", ".join(dict.fromkeys(dates)))
        contents.append(f"| {' | '.join(cells)} |")
    listed = "\n".join(contents) + "\n" if len(contents) > 2 else _NOTHING
    found[PAGE] = "\n".join([_INTRO, listed, _HOW])
    blocks: Dict[str, str] = {}
    for exercise, own in runs.items():
        for run in [run for run in own if run.charts][:1]:
            blocks[exercise] = _block(exercise, run, notes.get(exercise, ""))
    for chapter in sorted((root / "docs").glob("[0-9][0-9]_*.md")):
        text = chapter.read_text(encoding="utf-8")
        wanted = figure_tables.written(chapter, _with_charts(text, blocks), reports(root))
        if wanted != text:
            found[chapter.relative_to(root).as_posix()] = wanted
    return found


def _part(exercise: str) -> Tuple[str, str]:
    """The part of the course, and its page."""
    part = exercises.part(int(exercise[:2])).partition(",")[0]
    return part, f"{FOLDER}/{part.lower().replace(' ', '_')}.md"


def _heading(exercise: str) -> str:
    """As in its chapter."""
    return exercise.replace("_", " ", 1)


def _target(exercise: str) -> str:
    """Where a page in docs/ finds its figures."""
    anchor = pages.anchors(f"## {_heading(exercise)}{_FIGURES}")[0]
    return f"{_part(exercise)[1][len('docs/') :]}#{anchor}"


@dataclass(frozen=True)
class _Source:
    """Where a plot's table was measured."""

    device: str
    date: str
    where: str

    @staticmethod
    def read(path: Path) -> "_Source":
        where = program_plots.read(path)[0].partition(": ")[0]
        device = re.match(r"(?:\d+ )?([^,]+)", where)
        date = re.search(r"\d{4}-\d\d-\d\d", where)
        if not device or not date:
            raise LabError(f"{path}: the first line must name a device and a date.")
        return _Source(device[1], date[0], where)


def _check_steps(root: Path, runs: Dict[str, List[_Run]], notes: Dict[str, str]) -> None:
    """A step without figures is a question that a reader has: the exercise must answer it."""
    for exercise, options in _options(root).items():
        measured = {step for run in runs.get(exercise, []) for step in run.steps}
        for option in options:
            if measured and option not in measured and f"`{option}`" not in notes[exercise]:
                raise LabError(
                    f"{exercise}: {FOLDER} has no figures of `{option}`: `figures` in its"
                    " exercise.toml must say why."
                )


def _newer(own: Sequence[_Run], run: _Run) -> str:
    """A sentence about the steps that only newer runs have; "" if there are none."""
    newer = [step for other in own for step in other.steps if other.report.date > run.report.date]
    names = [f"`{step}`" for step in dict.fromkeys(newer) if step not in run.steps]
    return f" This run is older than {' and '.join(names)}." if names else ""


def _section(root: Path, exercise: str, runs: List[_Run], figures: str) -> str:
    lines = ["", f"## {_heading(exercise)}{_FIGURES}"]
    for chapter in (root / "docs").glob(f"{exercise[:2]}_*.md"):
        anchor = pages.anchors(f"## {_heading(exercise)}")[0]
        lines += ["", f"[In the chapter](../{chapter.name}#{anchor})"]
    lines += ["", figures] if figures else []
    for run in runs:
        rows = [benchmarks.HEAD, tuple("---" for _ in benchmarks.HEAD)]
        rows += benchmarks.rows(run.results, cpu_device=False)
        said = f"**{run.where}.** {run.conditions}{_newer(runs, run)}"
        lines += ["", said, *_shown(run.charts, "../"), ""]
        lines += [f"| {' | '.join(cell.replace('|', ' ') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _shown(drawn: List[Picture], above: str = "") -> List[str]:
    lines = []
    for picture in drawn:
        title = re.sub(r"[\[\]]", " ", picture.title)  # brackets would end it
        alt = f"{title}; docs/benchmarks has the figures"
        lines += ["", f"![{alt}]({above}images/benchmarks/{picture.name}.svg)"]
    return lines


def _block(exercise: str, run: _Run, figures: str) -> str:
    commit = f", commit `{run.report.commit}`" if run.report.commit else ""
    note = f"*Measured on: {run.where}{commit}. [All figures]({_target(exercise)}).*"
    said = [figures, ""] if figures else []
    return "\n".join([BEGIN, *_shown(run.charts), "", *said, note, "", END])


def _with_charts(text: str, blocks: Dict[str, str]) -> str:
    """A chapter with the charts of its exercises: at the end of their sections, or where they
    are."""
    headings = [(number, words) for number, level, words in pages.headings(text) if level <= 2]
    lines = text.splitlines()
    for place in reversed(range(len(headings))):  # backwards: the numbers before stay
        begin, words = headings[place]
        end = headings[place + 1][0] - 1 if place + 1 < len(headings) else len(lines)
        before, here, after = _parted("\n".join(lines[begin:end]).strip("\n"))
        block = blocks.get(words.replace(" ", "_"), "")
        if not here and not block:
            continue
        section = "\n\n".join(filter(None, (before, block, after)))
        lines[begin:end] = ["", *section.splitlines(), *([""] if end < len(lines) else [])]
    return "\n".join(lines) + "\n"


def _parted(section: str) -> Tuple[str, str, str]:
    """What is before the charts, they, and what is after them."""
    before, begin, rest = section.partition(BEGIN)
    here, end, after = rest.partition(END)
    if not (begin and end):
        return section, "", ""
    return before.rstrip("\n"), here, after.strip("\n")


def by_hand(root: Path) -> List[Tuple[str, int, str]]:
    """Chapter, line and exercise of each table with figures that nothing keeps up to date."""
    steps = {
        exercise[:4]: {step for run in own for step in run.steps}
        for exercise, own in _runs(root).items()
    }
    return [
        (chapter.relative_to(root).as_posix(), line, exercise)
        for chapter in sorted((root / "docs").glob("[0-9][0-9]_*.md"))
        for line, exercise in figure_tables.by_hand(chapter.read_text(encoding="utf-8"), steps)
    ]


def stale(root: Path) -> List[str]:
    """The files that are not as they should be, or that should not be there."""
    wanted = files(root)
    found = [
        path
        for path, text in wanted.items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    ]
    there = [*sorted((root / CHARTS).glob("*.svg")), *sorted((root / FOLDER).glob("*.md"))]
    paths = [path.relative_to(root).as_posix() for path in there]
    return found + [path for path in paths if path not in wanted]


def write(root: Path) -> List[str]:
    """Writes what is stale; returns that."""
    wanted = files(root)
    changed = stale(root)
    for path in changed:
        if path in wanted:
            write_atomically(root / path, wanted[path])
        else:
            (root / path).unlink()
    return changed
