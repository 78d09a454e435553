# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""docs/benchmarks.md, its charts, and the charts in chapters, from the files of
`scripts/lab bench --json` in docs/benchmarks/; and the plots of the tables there that programs have
written (`--csv`)."""

import re
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

from lablib import benchmarks, pages
from lablib.drawing import charts, program_plots
from lablib.drawing.picture import Picture
from lablib.errors import LabError
from lablib.files import write_atomically

PAGE = "docs/benchmarks.md"
CHARTS = "docs/images/benchmarks"

_INTRO = """\
# Benchmarks

How fast the solutions of this course are, measured with

```
scripts/lab bench --solution --json docs/benchmarks/NAME.json    # on the GPU
scripts/lab dev benchmarks    # writes this page and all charts
```

`scripts/lab bench` runs all steps of an exercise in turns, there and back where there are several
rounds, so that a clock that drifts favours none. The last word of a heading is the name of the file
in `docs/benchmarks/` that the section is made from.

Each program checks its result before it measures, warms up, and takes samples of about a
millisecond each. The tables show the median of all samples and the quartiles around it. *Of copy*
is the rate in bytes per second as a share of a plain copy in device memory, measured in the same
run; *of library* is the library's time as a share of the step's: above 100 % the step is faster.
Above 100 % of a copy is possible: a copy writes as much as it reads, and small data stay in the
second-level cache. The time is that of the kernels; copies between host and device are not in it,
unless a kernel itself reads host memory (`zero_copy` of 12.1). A `+` behind a commit: not all of
the files had been committed.

The figures of several devices are from two. The programs take four or eight as well, but on so many
nothing has been measured here.

Until 2026-11-25 a library's calls were timed one by one, which charges each with its launch. For a
call of less than half a millisecond that is too much, so no share is given there.
"""
_PLOTS = """\
## Plots of programs

From tables that programs have written with `--csv`. Their files are in `docs/benchmarks/`, and
begin with where and how they were measured.
"""
_NOTHING = "Nothing has been measured in this way yet.\n"


# Around the charts in a chapter's section. They may be moved within it: they stay where they are.
BEGIN = "<!-- Charts: written by `scripts/lab dev benchmarks`. -->"
END = "<!-- Charts end. -->"


def reports(root: Path) -> Dict[str, benchmarks.Report]:
    """By the names of their files."""
    found = {}
    for path in sorted((root / "docs" / "benchmarks").glob("*.json")):
        report = benchmarks.read(path)
        if report.cpu_device:
            raise LabError(f"{path} was measured on the CPU device, whose times are no figures.")
        found[path.stem] = report
    return found


def pictures(root: Path) -> Dict[str, Picture]:
    """All charts and plots, by their files."""
    found = [
        picture
        for name, report in reports(root).items()
        for _, _, drawn in _exercises(name, report)
        for picture in drawn
    ]
    found += program_plots.pictures(root / "docs" / "benchmarks")
    return {f"{CHARTS}/{picture.name}.svg": picture for picture in found}


def _plots(root: Path) -> List[str]:
    """The section of the page for the plots, where there are some."""
    drawn = program_plots.pictures(root / "docs" / "benchmarks")
    return ["\n".join([_PLOTS, *_shown(drawn)]) + "\n"] if drawn else []


def _exercises(
    name: str, report: benchmarks.Report
) -> Iterator[Tuple[str, List[benchmarks.Result], List[Picture]]]:
    for exercise, results in benchmarks.by_exercise(report.results).items():
        yield exercise, results, charts.pictures(f"{name}_{exercise}", exercise, results, report)


def files(root: Path) -> Dict[str, str]:
    """The page, the charts and the chapters, as they should be: path and text."""
    parts = [_INTRO]
    found = {path: picture.standalone() for path, picture in pictures(root).items()}
    newest: Dict[str, Tuple[str, str]] = {}  # by exercise: date, and charts for its chapter
    for name, report in reports(root).items():
        parts.append(_section(name, report))
        for exercise, _, drawn in _exercises(name, report):
            if drawn:
                block = _block(name, report, exercise, drawn)
                newest[exercise] = max(newest.get(exercise, ("", "")), (report.date, block))
    parts += _plots(root)
    if len(parts) == 1:
        parts.append(_NOTHING)
    found[PAGE] = "\n".join(parts)
    for chapter in sorted((root / "docs").glob("[0-9][0-9]_*.md")):
        text = chapter.read_text(encoding="utf-8")
        wanted = _with_charts(text, {exercise: block for exercise, (_, block) in newest.items()})
        if wanted != text:
            found[chapter.relative_to(root).as_posix()] = wanted
    return found


def _section(name: str, report: benchmarks.Report) -> str:
    where = [f"CUDA {report.cuda}" if report.cuda else ""]
    where += [f"driver {report.driver}" if report.driver else ""]
    where += [f"commit `{report.commit}`" if report.commit else ""]
    where += ["1 round" if report.rounds == 1 else f"{report.rounds} rounds"]
    where += [f"{what}: {low:g} to {high:g}" for what, (low, high) in report.clocks.items()]
    lines = [f"## {report.device}, {report.date[:10]}, {name}", ""]
    lines += ["; ".join(filter(None, where)) + "."]
    for exercise, results, drawn in _exercises(name, report):
        rows = [benchmarks.HEAD, tuple("---" for _ in benchmarks.HEAD)]
        rows += benchmarks.rows(results, cpu_device=False)
        lines += ["", f"### {exercise}, {name}", *_shown(drawn), ""]
        lines += [f"| {' | '.join(cell.replace('|', ' ') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _shown(drawn: List[Picture]) -> List[str]:
    return [
        line
        for picture in drawn
        for line in ("", f"![{_alt(picture)}](images/benchmarks/{picture.name}.svg)")
    ]


def _alt(picture: Picture) -> str:
    """Brackets would end it."""
    return re.sub(r"[\[\]]", " ", f"{picture.title}; the table of benchmarks has the figures")


def _block(name: str, report: benchmarks.Report, exercise: str, drawn: List[Picture]) -> str:
    anchor = pages.anchors(f"### {exercise}, {name}")[0]
    commit = f", commit `{report.commit}`" if report.commit else ""
    where = f"{report.device}, {report.date[:10]}{commit}"
    note = f"*Measured on: {where}. [All figures](benchmarks.md#{anchor}).*"
    return "\n".join([BEGIN, *_shown(drawn), "", note, "", END])


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


def stale(root: Path) -> List[str]:
    """The files that are not as they should be, or that should not be there."""
    wanted = files(root)
    found = [
        path
        for path, text in wanted.items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    ]
    there = [path.relative_to(root).as_posix() for path in sorted((root / CHARTS).glob("*.svg"))]
    return found + [path for path in there if path not in wanted]


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
