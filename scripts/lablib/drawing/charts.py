# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Charts of what `scripts/lab bench` has measured: what each step is worth, and at which sizes.

They know no exercise: names, sizes and their order are those of the results.
"""

import math
import re
from dataclasses import dataclass, field
from typing import AbstractSet, Dict, List, Sequence, Set, Tuple

from lablib.benchmarks import Report, Result, percent, short
from lablib.drawing.canvas import WIDTH, Canvas
from lablib.drawing.picture import Picture
from lablib.drawing.style import FILLS

_COLOURS = FILLS[1:]
_ROW = 30  # the height of a bar with its gap
_CHARACTER = 7.9  # the width of one in code, in the widest of the fonts
_LONGEST_NAME = 26  # characters


@dataclass
class _Series:
    """A step, or a library: what it reached by the amount of work."""

    name: str
    library: bool = False
    rates: Dict[float, float] = field(default_factory=dict)
    of_limit: Dict[float, float] = field(default_factory=dict)


@dataclass
class _Data:
    series: List[_Series]  # steps in the order of the results, then libraries
    limits: Dict[float, float]  # the highest copy bandwidth that was measured, by work
    sizes: Dict[float, str]  # the arguments for each amount of work
    unit: str
    counted: str

    @property
    def most(self) -> float:
        return max(self.sizes)

    @property
    def option(self) -> str:
        """What sets the size: the only option that does, or else how the work is counted."""
        options = {size.replace("=", " ").rpartition(" ")[0] for size in self.sizes.values()}
        one = options.pop()
        return self.counted if options or " " in one or not one else one

    def word(self, work: float) -> str:
        """An amount of work, as `option` gives it."""
        if self.option == self.counted:
            return _amount(work)
        return self.sizes[work].replace("=", " ").rpartition(" ")[2]


def _label(library: str) -> str:
    """A chart has room for short names. Tables have them whole, with what stands in brackets."""
    return library if len(library) <= _LONGEST_NAME else library.split(" (")[0]


def _split(arguments: str, others: AbstractSet[str] = frozenset()) -> Tuple[List[str], str]:
    """What sets the size (options with a number, but for those named in `others`), and the rest:
    `--size 1M`, `--data sorted`."""
    options = re.findall(r"(?:^|(?<=\s))--?[\w-]+[ =]\d\S*", arguments)
    size = [option for option in options if _name(option) not in others]
    rest = arguments
    for option in size:
        rest = rest.replace(option, "", 1)
    return size, " ".join(rest.split())


def _name(option: str) -> str:
    return re.split("[ =]", option)[0]


def _no_sizes(results: Sequence[Result]) -> Set[str]:
    """The options with a number that leave the work as it is: `--tile`, of `--tile 8`."""
    found: Set[str] = set()
    first: Dict[Tuple[str, str, float], Set[str]] = {}
    for result in results:
        size, rest = _split(result.arguments)
        same = first.setdefault((result.step, rest, _work(result)), set(size))
        found.update(map(_name, same.symmetric_difference(size)))
    return found


def _work(result: Result) -> float:
    return result.items or result.bytes


def _data(results: Sequence[Result]) -> _Data:
    """Of the results whose rate is in the unit of the first; nothing where none has a rate."""
    units = [result.unit for result in results if result.unit]
    shown = [result for result in results if units and result.unit == units[0]]
    found: Dict[str, _Series] = {}
    libraries: Dict[str, _Series] = {}
    data = _Data([], {}, {}, units[0] if units else "", "")
    others = _no_sizes(shown)
    places: Dict[str, float] = {}  # of a size: the work of the step that is measured first
    for result in shown:
        size, rest = _split(result.arguments, others)
        own = _work(result)  # other steps may move more bytes for the same elements
        work = places.setdefault(" ".join(size), own) if size else own
        variant = f", {rest}" if rest else ""
        steps = found.setdefault(result.step + variant, _Series(result.step + variant))
        steps.rates[work] = result.rate
        data.sizes.setdefault(work, " ".join(size))
        if result.of_limit:
            steps.of_limit[work] = result.of_limit
            limit = result.rate / result.of_limit
            data.limits[work] = max(data.limits.get(work, 0), limit)
        if result.library_ms:  # the best, whatever step it was beside
            name = f"{_label(result.library)}{variant}"
            library = libraries.setdefault(
                f"{result.library}{variant}", _Series(name, library=True)
            )
            rate = 1000 * own / result.library_ms
            library.rates[work] = max(library.rates.get(work, 0), rate)
    data.series = [*found.values(), *libraries.values()]
    if shown:
        data.counted = f"{shown[0].item_name} of a run" if shown[0].items else "bytes of a run"
    return data


def _source(report: Report) -> str:
    parts = [report.device, f"CUDA {report.cuda}" if report.cuda else "", report.date[:10]]
    parts += [f"commit {report.commit}" if report.commit else ""]
    return ", ".join(filter(None, parts))


def pictures(
    prefix: str, exercise: str, results: Sequence[Result], report: Report
) -> List[Picture]:
    """The charts of an exercise: one of its steps at the largest size; where there are several
    sizes, one of rates by size; and where there are several numbers of devices, one of what more
    of them bring. None where the program does not say what a run of each step does: a chart
    without one of the steps would say that the others are all there is."""
    data = _data(results)
    if not data.series or any(not result.unit for result in results):
        return []
    found = [_ladder(f"{prefix}_ladder", exercise, data, report)]
    if len(data.sizes) > 1:
        found.append(_sweep(f"{prefix}_sweep", exercise, data, report))
    speedups = _speedups(results)
    if speedups:
        found.append(_scaling(f"{prefix}_scaling", exercise, speedups, report))
    return found


def _speedups(results: Sequence[Result]) -> Dict[str, Dict[int, float]]:
    """By step, and by the number of `--devices`: its rate as a multiple of that on one device. Only
    steps that were measured on one and on more."""
    rates: Dict[str, Dict[int, float]] = {}
    for result in results:
        count = re.search(r"(?:^|\s)--devices[ =](\d+)(?=\s|$)", result.arguments)
        if count and result.unit:
            rest = " ".join(result.arguments.replace(count.group(), "").split())
            name = f"{result.step}, {rest}" if rest else result.step
            rates.setdefault(name, {})[int(count.group(1))] = result.rate
    return {
        name: {count: rate / by_count[1] for count, rate in sorted(by_count.items())}
        for name, by_count in rates.items()
        if 1 in by_count and len(by_count) > 1
    }


def _rate(series: _Series, work: float, unit: str) -> str:
    text = short(series.rates[work], unit)
    return f"{text}, {percent(series.of_limit[work])}" if work in series.of_limit else text


def _ladder(name: str, exercise: str, data: _Data, report: Report) -> Picture:
    work = data.most
    bars = [series for series in data.series if work in series.rates]
    limit = data.limits.get(work, 0)
    heading = f"{exercise}: each step" + (f", {data.sizes[work]}" if data.sizes[work] else "")
    left = min(300.0, max(len(series.name) for series in bars) * _CHARACTER + 32)
    rates = [_rate(series, work, data.unit) for series in bars]
    longest = max(map(len, rates)) * _CHARACTER + 28
    right = WIDTH - max(170 if limit else 120, longest)
    top = max([limit, *(series.rates[work] for series in bars)])
    c = Canvas(44 + _ROW * len(bars) + (44 if limit else 24) + 10)
    c.text(20, 26, heading, "strong")
    words = []
    for number, series in enumerate(bars):
        y, rate = 44 + _ROW * number, series.rates[work]
        length = max(1.0, rate / top * (right - left))
        text = rates[number]
        c.text(left - 10, y + 16, series.name, "code muted" if series.library else "code", "end")
        c.box(left, y, length, _ROW - 8, "panel" if series.library else "blue", 2)
        beside = left + length + 8
        line = left + limit / top * (right - left)
        if beside - 4 < line < beside + len(text) * _CHARACTER:
            beside = line + 8
        c.text(beside, y + 16, text)
        words.append(f"{series.name}{' (a library)' if series.library else ''} {text}")
    bottom = 44 + _ROW * len(bars)
    if limit:
        x = left + limit / top * (right - left)
        c.line(x, 38, x, bottom + 2, "orange dashed")
        label = f"copy in device memory: {short(limit, data.unit)}, 100 %"
        beyond = x < 20 + len(label) * _CHARACTER  # it has no room to the left of its line
        c.text(x, bottom + 18, label, "orange small", "start" if beyond else "end")
        words.append(f"a copy in device memory reaches {short(limit, data.unit)}")
    c.text(20, c.height - 12, f"{_source(report)}; medians", "small muted")
    text = f"Bars, a longer one is faster: {'; '.join(words)}. Measured on {_source(report)}."
    return Picture(name, heading, text, c)


_RIGHT, _TOP, _BOTTOM = 210, 44, 300  # the plotted area; its left is behind the rates
_End = Tuple[float, float, str, str]  # of a line: x, y, its name and colour


def _sweep(name: str, exercise: str, data: _Data, report: Report) -> Picture:
    heading = f"{exercise}: rates by size"
    least, most = math.log2(min(data.sizes)), math.log2(data.most)
    rates = [rate for series in data.series for rate in series.rates.values()]
    top = 1.05 * max(*rates, *data.limits.values(), 0)
    marks = [(tick, short(tick, data.unit) if tick else "0") for tick in ticks(top)]
    left = 28 + max(len(text) for _, text in marks) * _CHARACTER

    def x(work: float) -> float:
        return left + 16 + (math.log2(work) - least) / (most - least) * (WIDTH - _RIGHT - left - 32)

    def y(rate: float) -> float:
        return _BOTTOM - rate / top * (_BOTTOM - _TOP)

    labels = len(data.series) + bool(data.limits)
    words_below = [(work, x(work)) for work in sorted(data.sizes)]
    below = [(x(work), data.word(work)) for work in _apart(words_below)]
    beside = [(y(tick), text) for tick, text in marks]
    c = _plot(heading, labels, left, beside, below, data.option)
    ends: List[_End] = []
    if data.limits:
        limit = max(data.limits.values())
        c.line(left, y(limit), WIDTH - _RIGHT, y(limit), "dashed")
        ends.append((WIDTH - _RIGHT, y(limit), "copy in device memory", "muted"))
    words = []
    for number, series in enumerate(data.series):
        points = [(x(work), y(rate)) for work, rate in sorted(series.rates.items())]
        ends.append(_line(c, number, series.name, points, " dashed" if series.library else ""))
        listed = ", ".join(
            f"{short(rate, data.unit)} at {data.word(work)}"
            for work, rate in sorted(series.rates.items())
        )
        words.append(f"{series.name}{' (a library)' if series.library else ''}: {listed}")
    _name_lines(c, ends)
    c.text(20, c.height - 12, f"{_source(report)}; medians", "small muted")
    text = f"Lines, higher is faster. {'; '.join(words)}."
    if data.limits:
        text += f" A copy in device memory reaches {short(max(data.limits.values()), data.unit)}."
    return Picture(name, heading, f"{text} Measured on {_source(report)}.", c)


def _scaling(
    name: str, exercise: str, speedups: Dict[str, Dict[int, float]], report: Report
) -> Picture:
    heading = f"{exercise}: what more devices bring"
    counts = sorted({count for by_count in speedups.values() for count in by_count})
    most = counts[-1]
    top = 1.05 * max(most, *(max(by_count.values()) for by_count in speedups.values()))
    left = 70

    def x(count: float) -> float:
        return left + 16 + (count - 1) / (most - 1) * (WIDTH - _RIGHT - left - 32)

    def y(speedup: float) -> float:
        return _BOTTOM - speedup / top * (_BOTTOM - _TOP)

    beside = [(y(tick), f"{tick:g} ×") for tick in ticks(top)]
    below = [(x(count), str(count)) for count in counts]
    c = _plot(heading, len(speedups) + 1, left, beside, below, "devices")
    c.line(x(1), y(1), x(most), y(most), "dashed")
    ends: List[_End] = [(x(most), y(most), "ideal", "muted")]
    words = []
    for number, (step, by_count) in enumerate(speedups.items()):
        points = [(x(count), y(speedup)) for count, speedup in by_count.items()]
        ends.append(_line(c, number, step, points))
        listed = (f"{speedup:.2f} on {count}" for count, speedup in by_count.items() if count > 1)
        words.append(f"{step}: {', '.join(listed)}")
    _name_lines(c, ends)
    c.text(20, c.height - 12, f"{_source(report)}; medians", "small muted")
    text = f"Lines: how many times as fast as one device. {'; '.join(words)}."
    return Picture(name, heading, f"{text} Measured on {_source(report)}.", c)


def _plot(
    heading: str,
    names: int,
    left: float,
    beside: Sequence[Tuple[float, str]],
    below: Sequence[Tuple[float, str]],
    what: str,
) -> Canvas:
    """A chart without its lines, of which it has room for so many names: words at heights of the
    left side, words below, and under these what they are."""
    c = Canvas(max(_BOTTOM, _TOP + 17 * names) + 74)
    c.text(20, 26, heading, "strong")
    for y, text in beside:
        c.line(left, y, WIDTH - _RIGHT, y, "grid")
        c.text(left - 8, y + 5, text, "small", "end")
    for x, text in below:
        c.text(x, _BOTTOM + 20, text, "small", "middle")
    c.text((left + WIDTH - _RIGHT) / 2, _BOTTOM + 40, what, "small muted", "middle")
    return c


def _line(
    c: Canvas, number: int, name: str, points: Sequence[Tuple[float, float]], style: str = ""
) -> _End:
    """Draws line `number` of a chart through its points."""
    colour = _COLOURS[number % len(_COLOURS)]
    if len(points) > 1:
        c.curve(points, f"{colour} thick{style}")
    for x, y in points:
        c.mark(number, x, y, colour)
    return (*points[-1], name, colour)


def _name_lines(c: Canvas, ends: List[_End]) -> None:
    """Writes each line's name beside its end, in a column."""
    ends = sorted(ends, key=lambda end: end[1])
    places = _spread([end[1] for end in ends], 17, c.height - 74)
    for (x, y, text, colour), place in zip(ends, places):
        c.curve([(x + 6, y), (WIDTH - _RIGHT + 14, place)], "grid")
        c.text(WIDTH - _RIGHT + 18, place + 4, text, f"small code {colour}")


def _spread(places: Sequence[float], gap: float, most: float) -> List[float]:
    """The places, in ascending order, moved as little as it takes to have the gap between them, and
    none above `most`."""
    found: List[float] = []
    for place in places:
        found.append(max(place, found[-1] + gap) if found else place)
    for i in reversed(range(len(found))):
        found[i] = min(found[i], found[i + 1] - gap if i + 1 < len(found) else most)
    return found


def _apart(places: Sequence[Tuple[float, float]], gap: float = 44) -> List[float]:
    """Those amounts whose words do not run into those of the one before."""
    found: List[Tuple[float, float]] = []
    for work, x in places:
        if not found or x - found[-1][1] >= gap:
            found.append((work, x))
    return [work for work, _ in found]


def ticks(top: float) -> List[float]:
    """0 and four to eight round numbers up to the top."""
    step = 10.0 ** math.floor(math.log10(top))
    for part in (1, 2, 5):
        if top / (step / part) >= 4:
            step /= part
            break
    return [i * step for i in range(int(top / step) + 1)]


def _amount(value: float) -> str:
    power = math.log2(value) if value > 0 else 0
    if value >= 1024 and power == int(power):
        return f"2^{int(power)}"
    return short(value, "").strip()
