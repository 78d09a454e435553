# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Charts of rates over sizes, as SVG files that follow the reader's light or dark scheme."""

import math
from html import escape
from typing import Dict, List, Sequence, Tuple

from lablib.benchmarks import Result, short

WIDTH, HEIGHT = 720, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 96, 30, 34, 62  # of the plotted area, from the edges
_LEGEND = 18  # the height of a line of it

# Outline colours of the course's drawings, light and dark; a dash for each repetition.
_COLOURS = (
    ("#1f5fa8", "#7ab8ff"),
    ("#995700", "#f2b350"),
    ("#23702b", "#6fd07c"),
    ("#6a3aa0", "#c6a5f7"),
    ("#b0221a", "#ff9089"),
)
_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',Arial,sans-serif"


def _css() -> str:
    def scheme(page: str, ink: str, grid: str, which: int) -> str:
        colours = "".join(
            f".s{i}{{stroke:{pair[which]}}}.d{i}{{fill:{pair[which]}}}"
            for i, pair in enumerate(_COLOURS)
        )
        areas = f".page{{fill:{page}}}text{{fill:{ink}}}"
        return f"{areas}.grid{{stroke:{grid}}}.limit{{stroke:{ink}}}{colours}"

    return (
        f"text{{font:13px {_FONT}}}path{{fill:none;stroke-width:2}}.grid{{stroke-width:1}}"
        ".limit{stroke-width:1.5;stroke-dasharray:6 4}"
        + scheme("#ffffff", "#17212b", "#c3ccd6", 0)
        + f"@media(prefers-color-scheme:dark){{{scheme('#131416', '#e8edf2', '#424c57', 1)}}}"
    )


def drawable(results: Sequence[Result]) -> List[Result]:
    """Those with a rate in the unit of the first."""
    units = [result.unit for result in results if result.unit]
    return [result for result in results if units and result.unit == units[0]]


def svg(title: str, results: Sequence[Result]) -> str:
    """Rate by size, a line a step, and one for the limit; "" where no result has a rate."""
    shown = drawable(results)
    if not shown:
        return ""
    steps: Dict[str, List[Tuple[float, float]]] = {}
    libraries: Dict[str, Dict[float, float]] = {}  # the best, whatever step it was beside
    limits: List[Tuple[float, float]] = []
    for result in shown:
        work = result.items or result.bytes
        steps.setdefault(result.step, []).append((work, result.rate))
        if result.library_ms:
            rates = libraries.setdefault(f"{result.library} (library)", {})
            rates[work] = max(rates.get(work, 0), 1000 * work / result.library_ms)
        if result.of_limit:
            limits.append((work, result.rate / result.of_limit))
    steps.update({name: list(rates.items()) for name, rates in libraries.items()})
    works = [work for points in steps.values() for work, _ in points]
    least, most = math.log2(min(works)), math.log2(max(works))
    if most - least < 1:
        least, most = least - 1, most + 1
    top = 1.05 * max(rate for points in (*steps.values(), limits) for _, rate in points)
    height = HEIGHT + _LEGEND * (len(steps) + bool(limits))

    def x(work: float) -> float:
        return _LEFT + (math.log2(work) - least) / (most - least) * (WIDTH - _LEFT - _RIGHT)

    def y(rate: float) -> float:
        return HEIGHT - _BOTTOM - rate / top * (HEIGHT - _TOP - _BOTTOM)

    unit = shown[0].unit
    parts = [f'<rect class="page" width="{WIDTH}" height="{height}"/>', _text(_LEFT, 20, title)]
    for tick in _ticks(top):
        parts.append(_path("grid", [(_LEFT, y(tick)), (WIDTH - _RIGHT, y(tick))]))
        parts.append(_text(_LEFT - 8, y(tick) + 4, short(tick, unit) if tick else "0", "end"))
    for work in sorted({round(work) for work in works}):
        parts.append(_text(x(work), HEIGHT - _BOTTOM + 20, _amount(work), "middle"))
    counted = f"{shown[0].item_name} of a run" if shown[0].items else "bytes of a run"
    parts.append(_text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - _BOTTOM + 42, counted, "middle"))
    for number, (name, points) in enumerate(steps.items()):
        colour = number % len(_COLOURS)
        place = [(x(work), y(rate)) for work, rate in sorted(points)]
        parts.append(_path(f"s{colour}", place))
        parts += [f'<circle class="d{colour}" cx="{a:.1f}" cy="{b:.1f}" r="4"/>' for a, b in place]
        row = HEIGHT + _LEGEND * number
        parts.append(_path(f"s{colour}", [(_LEFT, row - 5), (_LEFT + 24, row - 5)]))
        parts.append(_text(_LEFT + 32, row, name))
    if limits:
        highest = max(rate for _, rate in limits)
        parts.append(_path("limit", [(_LEFT, y(highest)), (WIDTH - _RIGHT, y(highest))]))
        row = HEIGHT + _LEGEND * len(steps)
        parts.append(_path("limit", [(_LEFT, row - 5), (_LEFT + 24, row - 5)]))
        parts.append(_text(_LEFT + 32, row, "the device's copy bandwidth"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
        f"<title>{escape(title)}</title><style>{_css()}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _ticks(top: float) -> List[float]:
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


def _path(kind: str, points: Sequence[Tuple[float, float]]) -> str:
    text = "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
    return f'<path class="{kind}" d="M{text}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{where}>{escape(text)}</text>'
