# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of figures in the chapters, from the same files as the pages of benchmarks and the charts.

Such a table stands between two comments. The first one says of what it is:

    <!-- Figures: 05.1, h100_part2.json, size 256M -->       each step at this size
    <!-- Figures: 18.3, h100_tensor.json, rates by size -->  or `ms by size`
    <!-- Figures end. -->

A size is the options without their dashes, two of which would end a comment in EPUB.

A table that somebody wrote by hand differs from the charts below it after the next run. So where
one has a row for a step of which there are figures, it needs a comment before it that says why:

    <!-- Not in docs/benchmarks: the length of the arrays varies. -->
"""

import re
from pathlib import Path
from typing import Collection, Dict, List, Mapping, Sequence, Tuple

from lablib import benchmarks, pages
from lablib.benchmarks import Report, Result
from lablib.errors import LabError

END = "<!-- Figures end. -->"
_BLOCK = re.compile(
    r"(<!-- Figures: (?P<id>\d\d\.\d+), (?P<file>\w+)\.json, (?P<what>[^\n]*?) -->)\n"
    rf"(?P<body>.*?){re.escape(END)}",
    re.DOTALL,
)
_BY_SIZE = (" by size", ("rates", "ms"))
_REASON = "<!-- Not in docs/benchmarks: "
_UNITS = "ms|µs|ns|s|%|GB/s|GFLOP/s|TFLOP/s"
_FIGURE = re.compile(rf"\d[\d\u00a0 .]*(?: (?:{_UNITS}))?(?:,? ?\(?\d[^a-z]*\)?)?$")
_MEASURED = re.compile(rf"\b(?:{_UNITS}|[Mm]easured|rate)\b")
_UNMISTAKABLE = re.compile(rf"\d (?:{_UNITS})|\d\.\d")
_EXERCISE = re.compile(r"(\d\d\.\d+) ")


def written(chapter: Path, text: str, reports: Mapping[str, Report]) -> str:
    """The chapter with its tables as they should be. Throws a LabError that says which of them
    cannot be written."""

    def table(match: "re.Match[str]") -> str:
        where = f"{chapter}:{_line(text, match.start())}"
        report = reports.get(match["file"])
        results = report.results if report else []
        own = [each for each in results if each.exercise.startswith(f"{match['id']}_")]
        if not report or not own:
            raise LabError(f"{where}: {match['file']}.json has no figures of {match['id']}.")
        what = match["what"]
        if what.endswith(_BY_SIZE[0]) and what[: -len(_BY_SIZE[0])] in _BY_SIZE[1]:
            rows = _by_size(own, rates=what.startswith("rates"))
        else:
            rows = _of_size([each for each in own if each.arguments.replace("--", "") == what])
        if len(rows) < 2:
            raise LabError(f"{where}: {match['file']}.json has no figures of {match['id']} {what}.")
        lines = [f"| {' | '.join(row)} |" for row in rows]
        lines.insert(1, "|" + " --- |" * len(rows[0]))
        measured = f"Measured on: {report.device}, {report.date[:10]}."
        return "\n".join([match[1], "", *lines, "", f"*{_legend(own, what)}{measured}*", "", END])

    return _BLOCK.sub(table, text)


def _legend(own: Sequence[Result], what: str) -> str:
    if not what.endswith(_BY_SIZE[0]):
        return ""
    rate = benchmarks.scale((each.rate for each in own), own[0].unit).unit
    begin = f"Rates in {rate}" if what.startswith("rates") else "Times in ms"
    library = next((each.library for each in own if each.library), "")
    if library:
        return f"{begin}, and in brackets the share of the rate of {library}. "
    if any(each.of_limit for each in own):
        return f"{begin}, and in brackets the share of a copy's rate. "
    return f"{begin}. "


def _of_size(own: Sequence[Result]) -> List[List[str]]:
    library = next((each.library for each in own if each.library), "the library")
    rates = [each.rate for each in own if each.unit]
    units = benchmarks.scale(rates, own[0].unit if own else "")
    rows = [["step", "ms", units.unit, "of a copy", f"of {library}"]]
    for each in own:
        rate = units.number(each.rate) if each.unit else ""
        shares = [benchmarks.percent(share) for share in (each.of_limit, each.of_library)]
        rows.append([f"`{each.step}`", benchmarks.milliseconds(each.median_ms), rate, *shares])
    kept = [column for column in zip(*rows) if any(column[1:])]
    return [list(row) for row in zip(*kept)]


def _by_size(own: Sequence[Result], rates: bool) -> List[List[str]]:
    units = benchmarks.scale((each.rate for each in own), own[0].unit)
    sizes = list(dict.fromkeys(each.arguments for each in own))
    beside = any(each.library_ms for each in own)  # then no share is that of a copy
    rows: Dict[str, Dict[str, str]] = {}
    libraries: Dict[str, Dict[str, float]] = {}
    for each in own:
        cell = benchmarks.milliseconds(each.median_ms)
        if rates:
            cell = _three(each.rate / units.factor)
        share = each.of_library if beside else each.of_limit
        cell += f" ({benchmarks.percent(share)})" if share is not None else ""
        rows.setdefault(f"`{each.step}`", {})[each.arguments] = cell
        if each.library_ms:
            best = libraries.setdefault(each.library, {})
            best[each.arguments] = min(each.library_ms, best.get(each.arguments, each.library_ms))
    work = {each.arguments: each.items or each.bytes for each in own}
    for library, times in libraries.items():
        rows[library] = {
            size: _three(1000 * work[size] / ms / units.factor)
            if rates
            else benchmarks.milliseconds(ms)
            for size, ms in times.items()
        }
    heads = [f"`{size}`" if size else "default" for size in sizes]
    cells = [[name, *(row.get(size, "") for size in sizes)] for name, row in rows.items()]
    return [["step", *heads], *cells]


def _three(value: float) -> str:
    """Its first three digits, and all of a larger whole number."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def by_hand(text: str, steps: Mapping[str, Collection[str]]) -> List[Tuple[int, str]]:
    """The first line and the exercise of each table of a chapter that should be written from the
    files: `steps` has those with figures, by the exercise's number."""
    sections = [(line, words) for line, level, words in pages.headings(text) if level <= 2]
    written_lines = {
        number
        for match in _BLOCK.finditer(text)
        for number in range(_line(text, match.start()), _line(text, match.end()) + 1)
    }
    found = []
    before = ""  # the last line that is not empty, above a table
    lines = text.splitlines()
    first = 0  # of the table
    for number, line in enumerate(lines, 1):
        if not line.startswith("|"):
            before, first = line or before, 0
            continue
        if not first:
            first = number
        words = next((words for start, words in reversed(sections) if start < number), "")
        exercise = _EXERCISE.match(words)
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        step = re.match(r"`(\w+)`", cells[0])
        if not exercise or not step or step[1] not in steps.get(exercise[1], ()):
            continue
        measured = _MEASURED.search(f"{before} {lines[first - 1]}")
        figures = any(
            _FIGURE.match(cell) and (measured or _UNMISTAKABLE.search(cell)) for cell in cells[1:]
        )
        if figures and number not in written_lines and not before.startswith(_REASON):
            found.append((first, exercise[1]))
    return list(dict.fromkeys(found))


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
