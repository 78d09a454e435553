# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""docs/benchmarks.md and its charts, from the files of `scripts/lab bench --json` in
docs/benchmarks/."""

from pathlib import Path
from typing import Dict, List

from lablib import benchmarks, rate_chart
from lablib.errors import LabError
from lablib.files import write_atomically

PAGE = "docs/benchmarks.md"
CHARTS = "docs/images/benchmarks"

_INTRO = """\
# Benchmarks

How fast the solutions of this course are, measured with

```
scripts/lab bench --solution --json docs/benchmarks/NAME.json      # on the GPU
scripts/lab dev benchmarks                                         # writes this page from all files
```

`scripts/lab bench` runs all steps of an exercise in turns, in several rounds, there and back, so
that a clock that drifts favours none. Each program checks its result before it measures, warms up,
and takes samples of about a millisecond each. The tables show the median of all samples and the
quartiles around it. *Of copy* is the rate in bytes per second as a share of a plain copy in device
memory, measured in the same run; *of library* is the library's time as a share of the step's: above
100 % the step is faster.
"""
_NOTHING = "Nothing has been measured in this way yet.\n"


def files(root: Path) -> Dict[str, str]:
    """The page and the charts, as they should be: path and text."""
    parts = [_INTRO]
    found: Dict[str, str] = {}
    for path in sorted((root / "docs" / "benchmarks").glob("*.json")):
        report = benchmarks.read(path)
        if report.cpu_device:
            raise LabError(f"{path} was measured on the CPU device, whose times are no figures.")
        parts.append(_section(path.stem, report, found))
    if len(parts) == 1:
        parts.append(_NOTHING)
    found[PAGE] = "\n".join(parts)
    return found


def _section(name: str, report: benchmarks.Report, charts: Dict[str, str]) -> str:
    where = [f"CUDA {report.cuda}" if report.cuda else ""]
    where += [f"driver {report.driver}" if report.driver else ""]
    where += [f"commit `{report.commit}`" if report.commit else ""]
    where += ["1 round" if report.rounds == 1 else f"{report.rounds} rounds"]
    where += [f"{what}: {low:g} to {high:g}" for what, (low, high) in report.clocks.items()]
    lines = [f"## {report.device}, {report.date[:10]}", "", "; ".join(filter(None, where)) + "."]
    for exercise, results in benchmarks.by_exercise(report.results).items():
        rows = [benchmarks.HEAD, tuple("---" for _ in benchmarks.HEAD)]
        rows += benchmarks.rows(results, cpu_device=False)
        lines += ["", f"### {exercise}, {name}", ""]
        lines += [f"| {' | '.join(cell.replace('|', ' ') for cell in row)} |" for row in rows]
        chart = rate_chart.svg(f"{exercise}, {report.device}", results)
        if chart:
            file = f"{name}_{exercise}.svg"
            charts[f"{CHARTS}/{file}"] = chart
            lines += ["", f"![Rates of {exercise} by size](images/benchmarks/{file})"]
    return "\n".join(lines) + "\n"


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
