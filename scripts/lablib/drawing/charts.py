# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Charts of what `scripts/lab bench` has measured: what each step is worth, and at which sizes.

They know no exercise: names, sizes and their order are those of the results.
"""

import math
import re
from dataclasses import dataclass, field
from typing import AbstractSet, Dict, List, Sequence, Set, Tuple

from lablib.benchmarks import Report, Result, Scale, percent, scale, short
from lablib.drawing.canvas import WIDTH, Canvas
from lablib.drawing.picture import Picture
from lablib.drawing.style import FILLS

_COLOURS = FILLS[1:]
_ROW = 30  # the height of a bar with its gap
_CHARACTER = 7.9  # the width of one in code, in the widest of the fonts
_LONGEST_NAME = 26  # characters
_GROUP = 10  # the gap between bars of other arguments
_FAR = 3  # a copy that is so many times as fast as the fastest bar would make bars too short to see
_WIDE = 20  # a line that rises by more than this needs a logarithmic axis: both its ends count
_SAME = 1.05  # copies that differ by less are one


@dataclass
class _Series:
    """A step, or a library: what it reached by the amount of work."""

    name: str
    variant: str = ""
    library: bool = False
    rates: Dict[float, float] = field(default_factory=dict)
    of_limit: Dict[float, float] = field(default_factory=dict)

    def limit(self, work: float) -> float:
        """What a copy of the same bytes reaches; 0: not said."""
        share = self.of_limit.get(work)
        return self.rates[work] / share if share else 0


@dataclass
class _Data:
    series: List[_Series]  # steps in the order of the results, then libraries
    sizes: Dict[float, str]  # the arguments for each amount of work
    unit: str
    counted: str

    @property
    def most(self) -> float:
        return max(self.sizes, key=self.place)

    def _options(self, work: float) -> Dict[str, str]:
        """Those that set this size and differ between sizes: name and value."""
        every = [dict(_OPTION.findall(size)) for size in self.sizes.values()]
        own = dict(_OPTION.findall(self.sizes[work]))
        if any(each.keys() != own.keys() for each in every):
            return {}
        varying = {name for name in own if len({each[name] for each in every}) > 1}
        return {name: value for name, value in own.items() if name in varying}

    def place(self, work: float) -> float:
        """Where a size is along an axis: the product of the numbers that set it, or else the
        work."""
        numbers = [_NUMBER.fullmatch(value) for value in self._options(work).values()]
        if not numbers or not all(numbers):
            return work
        powers = {"": 0, "K": 10, "M": 20, "G": 30}
        return math.prod(float(n[1]) * 2.0 ** powers[n[2]] for n in numbers if n)

    @property
    def option(self) -> str:
        """What sets the size: the options that do, or else how the work is counted."""
        return " × ".join(self._options(max(self.sizes))) or self.counted

    def word(self, work: float) -> str:
        """An amount of work, as `option` gives it."""
        return " × ".join(self._options(work).values()) or _amount(work)


_OPTION = re.compile(r"(--?[\w-]+)[ =](\S+)")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([KMG]?)")


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
    data = _Data([], {}, units[0] if units else "", "")
    others = _no_sizes(shown)
    places: Dict[str, float] = {}  # of a size: the work of the step that is measured first
    for result in shown:
        size, rest = _split(result.arguments, others)
        own = _work(result)  # other steps may move more bytes for the same elements
        work = places.setdefault(" ".join(size), own) if size else own
        variant = f", {rest}" if rest else ""
        name = result.step + variant
        steps = found.setdefault(name, _Series(name, rest))
        steps.rates[work] = result.rate
        data.sizes.setdefault(work, " ".join(size))
        if result.of_limit:
            steps.of_limit[work] = result.of_limit
        if result.library_ms:  # the best, whatever step it was beside
            name = f"{_label(result.library)}{variant}"
            library = libraries.setdefault(
                f"{result.library}{variant}", _Series(name, rest, library=True)
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
    prefix: str,
    exercise: str,
    results: Sequence[Result],
    report: Report,
    compared: bool = True,
) -> List[Picture]:
    """The charts of an exercise: one of its steps at the largest size, unless they must not be
    `compared`; where there are several sizes, one of rates by size; and where there are several
    numbers of devices, one of what more of them bring. None where the program does not say what a
    run of each step does: a chart without one of the steps would say that the others are all there
    is."""
    data = _data(results)
    if not data.series or any(not result.unit for result in results):
        return []
    found = [_ladder(f"{prefix}_ladder", exercise, data, report)] if compared else []
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


@dataclass(frozen=True)
class _Copy:
    """The rates of a copy in device memory beside the steps of a chart."""

    least: float  # 0: none is known
    most: float
    of_all: bool  # each of the steps has one

    @property
    def same(self) -> bool:
        """Steps that move more bytes for an item have another limit."""
        return 0 < self.most <= _SAME * self.least

    def words(self, units: Scale) -> str:
        if self.same:
            return f"a copy in device memory, which reaches {units.text(self.most)}"
        return "a copy of as many bytes in device memory"


def _copy(series: Sequence[_Series], works: Sequence[float]) -> _Copy:
    limits = [
        each.limit(work)
        for each in series
        for work in works
        if work in each.rates and not each.library
    ]
    known = [limit for limit in limits if limit]
    return _Copy(min(known, default=0), max(known, default=0), len(known) == len(limits))


def _rate(series: _Series, work: float, units: Scale) -> str:
    text = units.text(series.rates[work])
    return f"{text}, {percent(series.of_limit[work])}" if work in series.of_limit else text


def _ladder(name: str, exercise: str, data: _Data, report: Report) -> Picture:
    work = data.most
    bars = [series for series in data.series if work in series.rates]
    copy = _copy(bars, [work])
    limit, fastest = copy.most, max(series.rates[work] for series in bars)
    drawn = copy.same and copy.of_all and limit <= _FAR * fastest
    top = max(fastest, limit if drawn else 0)
    units = scale([top], data.unit)
    size = f", {data.sizes[work]}" if data.sizes[work] else ""
    heading = f"{_title(exercise)}: each step{size}"
    left = min(300.0, max(len(series.name) for series in bars) * _CHARACTER + 32)
    rates = [_rate(series, work, units) for series in bars]
    longest = max(map(len, rates)) * _CHARACTER + 28
    right = WIDTH - max(170 if drawn else 120, longest)
    places = [44.0]
    for one, other in zip(bars, bars[1:]):
        places.append(places[-1] + _ROW + (_GROUP if one.variant != other.variant else 0))
    bottom = places[-1] + _ROW
    c = Canvas(bottom + (44 if limit else 24) + 10)
    c.text(20, 26, heading, "strong")
    words = []
    for y, text, series in zip(places, rates, bars):
        length = max(1.0, series.rates[work] / top * (right - left))
        c.text(left - 10, y + 16, series.name, "code muted" if series.library else "code", "end")
        c.box(left, y, length, _ROW - 8, "panel empty" if series.library else "blue", 2)
        beside = left + length + 8
        line = left + limit / top * (right - left)
        if drawn and beside - 4 < line < beside + len(text) * _CHARACTER:
            beside = line + 8
        c.text(beside, y + 16, text)
        words.append(f"{series.name}{' (for comparison)' if series.library else ''} {text}")
    if drawn:
        x = left + limit / top * (right - left)
        c.line(x, 38, x, bottom + 2, "orange dashed")
        label = f"copy in device memory: {units.text(limit)}, 100 %"
        beyond = x < 20 + len(label) * _CHARACTER  # it has no room to the left of its line
        c.text(x, bottom + 18, label, "orange small", "start" if beyond else "end")
        words.append(f"a copy in device memory reaches {units.text(limit)}")
    elif limit:
        c.text(20, bottom + 18, f"%: of {copy.words(units)}", "orange small")
        words.append(f"the shares are of {copy.words(units)}")
    hollow = "; hollow: for comparison" if any(series.library for series in bars) else ""
    c.text(20, c.height - 12, f"{_source(report)}; medians{hollow}", "small muted")
    text = f"Bars, a longer one is faster: {'; '.join(words)}. Measured on {_source(report)}."
    return Picture(name, heading, text, c)


_RIGHT, _TOP, _BOTTOM = 210, 60, 316  # the plotted area; its left is behind the rates
_End = Tuple[float, float, str, int]  # of a line: x, y, its name and number


def _sweep(name: str, exercise: str, data: _Data, report: Report) -> Picture:
    heading = f"{_title(exercise)}: rates by size"
    # What was measured at one size is a bar of the other chart, and no line.
    lines = any(len(series.rates) > 1 for series in data.series)
    steps = [each for each in data.series if not each.library]
    variants = {each.variant for each in steps if len(each.rates) > 1 or not lines}
    shown = [
        each
        for each in data.series
        if (each.variant in variants if each.library else len(each.rates) > 1 or not lines)
    ]
    works = sorted({work for series in shown for work in series.rates}, key=data.place)
    least, most = math.log2(data.place(works[0])), math.log2(data.place(works[-1]))
    rates = [rate for series in shown for rate in series.rates.values()]
    logarithmic = any(
        max(series.rates.values()) > _WIDE * min(series.rates.values()) for series in shown
    )
    copy = _copy(shown, works)
    limit, drawn = copy.most, copy.same and copy.of_all
    drawn = drawn and (logarithmic or limit <= _FAR * max(rates))
    top = max(*rates, limit if drawn else 0)
    units = scale([top], data.unit)
    values = _decades(min(rates), top) if logarithmic else ticks(1.05 * top)
    low, top = (values[0], values[-1]) if logarithmic else (0, 1.05 * top)
    marks = [(tick, units.number(tick)) for tick in values]
    left = 28 + max(len(text) for _, text in marks) * _CHARACTER

    def x(work: float) -> float:
        along = (math.log2(data.place(work)) - least) / (most - least or 1)
        return left + 16 + along * (WIDTH - _RIGHT - left - 32)

    def y(rate: float) -> float:
        up = math.log(rate / low) / math.log(top / low) if logarithmic else rate / top
        return _BOTTOM - up * (_BOTTOM - _TOP)

    below = _apart([(x(work), data.word(work)) for work in works])
    beside = [(y(tick), text) for tick, text in marks]
    above = f"{units.unit}, on a logarithmic scale" if logarithmic else units.unit
    c = _plot(heading, len(shown) + drawn, left, beside, below, data.option, above)
    ends: List[_End] = []
    if drawn:
        c.line(left, y(limit), WIDTH - _RIGHT, y(limit), "dashed")
        ends.append((WIDTH - _RIGHT, y(limit), "copy in device memory", -1))
    words = []
    for number, series in enumerate(shown):
        order = sorted(series.rates.items(), key=lambda each: data.place(each[0]))
        points = [(x(work), y(rate)) for work, rate in order]
        ends.append(_line(c, number, series.name, points, " dashed" if series.library else ""))
        listed = ", ".join(f"{units.text(rate)} at {data.word(work)}" for work, rate in order)
        words.append(f"{series.name}{' (for comparison)' if series.library else ''}: {listed}")
    _name_lines(c, ends)
    libraries = [len(series.rates) for series in shown if series.library]
    key = "; dashed: for comparison" if libraries else ""
    if libraries and max(libraries) == 1:
        key = "; single mark: for comparison"
    c.text(20, c.height - 12, f"{_source(report)}; medians{key}", "small muted")
    text = f"Lines, higher is faster. {'; '.join(words)}."
    if drawn:
        text += f" A copy in device memory reaches {units.text(limit)}."
    return Picture(name, heading, f"{text} Measured on {_source(report)}.", c)


def _scaling(
    name: str, exercise: str, speedups: Dict[str, Dict[int, float]], report: Report
) -> Picture:
    heading = f"{_title(exercise)}: speedup by number of devices"
    # A size that all lines have is said once, below the axis: beside a line is no room for it.
    sizes = {step.partition(", ")[2] for step in speedups}
    common = sizes.pop() if len(sizes) == 1 else ""
    if common:
        speedups = {step.partition(", ")[0]: each for step, each in speedups.items()}
    axis = f"devices, {common}" if common else "devices"
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
    above = "times as fast as one device"
    c = _plot(heading, len(speedups) + 1, left, beside, below, axis, above)
    c.line(x(1), y(1), x(most), y(most), "dashed")
    ends: List[_End] = [(x(most), y(most), "ideal", -1)]
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
    above: str,
) -> Canvas:
    """A chart without its lines, of which it has room for so many names: words at heights of the
    left side, and above these what they are; words below, and under these what they are."""
    c = Canvas(max(_BOTTOM, _TOP + 17 * names) + 74)
    c.text(20, 26, heading, "strong")
    c.text(20, 46, above, "small muted")
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
    """Draws line `number` of a chart through its points. Marks tell lines of one colour apart."""
    colour = _COLOURS[number % len(_COLOURS)]
    if len(points) > 1:
        c.curve(points, f"{colour} thick{style}")
    for x, y in points:
        c.mark(number, x, y, colour)
    return (*points[-1], name, number)


def _name_lines(c: Canvas, ends: List[_End]) -> None:
    """Writes each line's name beside its end, in a column, with its mark."""
    ends = sorted(ends, key=lambda end: end[1])
    places = _spread([end[1] for end in ends], 17, c.height - 74)
    for (x, y, text, number), place in zip(ends, places):
        colour = "muted" if number < 0 else _COLOURS[number % len(_COLOURS)]
        c.curve([(x + 6, y), (WIDTH - _RIGHT + 14, place)], "grid")
        if number >= 0:
            c.mark(number, WIDTH - _RIGHT + 20, place, colour)
        c.text(WIDTH - _RIGHT + 30, place + 4, text, f"small code {colour}")


def _spread(places: Sequence[float], gap: float, most: float) -> List[float]:
    """The places, in ascending order, moved as little as it takes to have the gap between them, and
    none above `most`."""
    found: List[float] = []
    for place in places:
        found.append(max(place, found[-1] + gap) if found else place)
    for i in reversed(range(len(found))):
        found[i] = min(found[i], found[i + 1] - gap if i + 1 < len(found) else most)
    return found


def _apart(places: Sequence[Tuple[float, str]]) -> List[Tuple[float, str]]:
    """Those words that do not run into the one before, each with its middle."""
    found: List[Tuple[float, str]] = []
    for x, word in places:
        width = 7 * len(word)
        if not found or x - width / 2 >= found[-1][0] + 7 * len(found[-1][1]) / 2 + 8:
            found.append((x, word))
    return found


def _decades(low: float, top: float) -> List[float]:
    """Round numbers from at most `low` to at least `top`, which are far apart."""
    digits = (1, 2, 5) if top / low < 1000 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(top)) + 1)
    every = [digit * 10.0**power for power in powers for digit in digits]
    first = max(value for value in every if value <= low)
    last = min(value for value in every if value >= top)
    return [value for value in every if first <= value <= last]


def _title(exercise: str) -> str:
    return exercise.replace("_", " ", 1)


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
