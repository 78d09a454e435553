# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Plots of the tables that programs of this course have written on a GPU (`--csv`).

Such a file begins with a line `# ` and where it was measured. Both axes are logarithmic.
"""

import csv
import math
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple

from lablib.drawing.canvas import WIDTH, Canvas
from lablib.drawing.picture import Picture
from lablib.drawing.style import FILLS
from lablib.errors import LabError

Row = Dict[str, str]
_Points = List[Tuple[float, float]]
_COLOURS = FILLS[1:]
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 30, 52, 340  # the plotted area, with margins at its sides


def read(path: Path) -> Tuple[str, List[Row]]:
    """Where it was measured, and the rows."""
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    if not first.startswith("# "):
        raise LabError(f"{path}: the first line must be `# ` and where it was measured.")
    return first[2:], list(csv.DictReader(rest.splitlines()))


def scaling_model(name: str, source: str, rows: Sequence[Row]) -> Picture:
    """20.4: what was measured, and what the model makes of the same jobs and of larger ones."""
    jobs = list(dict.fromkeys(row["job"] for row in rows))
    longest = max(int(job.split(", ")[1].split()[0]) for job in jobs)
    shown = [job for job in jobs if job.endswith(f", {longest} elements")]
    measured = [row for row in rows if row["source"] != "MODEL"]
    most = max(int(row["ranks"]) for row in measured)
    plot = _Plot(
        f"20.4 scaling_model: a MODEL, fitted to 1 to {most} ranks",
        ("ranks", [float(row["ranks"]) for row in rows], lambda x: f"{x:,.0f}"),
        ("time of a job", _numbers(rows, "ms") + _numbers(rows, "model ms"), lambda y: f"{y:g} ms"),
        7,
    )
    words = []
    for number, job in enumerate(shown):
        colour = _COLOURS[number % len(_COLOURS)]
        of_job = [row for row in rows if row["job"] == job]
        model = [(float(row["ranks"]), float(row["model ms"])) for row in of_job]
        if any(ms <= 0 for _, ms in model):
            raise ValueError(f"the MODEL of {job} has a time that is not above 0")
        split = sum(row["source"] != "MODEL" for row in of_job)
        plot.line(model[:split], colour)
        plot.line(model[split:], f"{colour} dashed")
        scaling, message = job.split(", ")
        for shape, kind in enumerate(("measured", "held back"), 2 * number):
            points = [
                (float(row["ranks"]), float(row["ms"])) for row in of_job if row["source"] == kind
            ]
            plot.marks(shape, points, colour)
            plot.key(shape, f"{scaling} scaling, a message of {message}: {kind}", colour)
            listed = ", ".join(f"{ms:.2g} ms on {ranks:g}" for ranks, ms in points)
            words.append(f"{job}, {kind}: {listed}")
        words.append(f"the MODEL says {model[-1][1]:.2g} ms on {model[-1][0]:,.0f}")
    errors = [
        f"{max(abs(float(row['error %'])) for row in measured if row['source'] == kind):.0f} %"
        for kind in ("measured", "held back")
    ]
    plot.note("lines: the MODEL; dashed: nothing was measured, each rank has a device of its own")
    plot.note(f"worst error of the MODEL: {errors[0]} where it was fitted, {errors[1]} held back")
    return plot.picture(name, source, f"{'; '.join(words)}. Worst errors: {', '.join(errors)}.")


def roofline(name: str, source: str, rows: Sequence[Row]) -> Picture:
    """21.1: the roof that was measured, and kernels of the course under it. Those whose name ends
    with "L1 cache" have the intensity of what they ask that cache for."""
    rows = [row for row in rows if float(row["GFLOP/s"] or 0) > 0]
    places = {
        row["kernel"]: (float(row["operations/byte"]), float(row["GFLOP/s"])) for row in rows
    }
    peak = max(float(row["most GFLOP/s"]) for row in rows)
    bandwidth = max(float(row["most GFLOP/s"]) / float(row["operations/byte"]) for row in rows)
    plot = _Plot(
        "21.1 roofline: kernels of this course under the roof that was measured",
        ("operations per byte", [x for x, _ in places.values()] + [256], lambda x: f"{x:g}"),
        (
            "operations per second",
            [y for _, y in places.values()] + [1.3 * peak],
            lambda y: f"{y / 1000:g} TFLOP/s",
        ),
        4,
    )
    ridge = peak / bandwidth
    plot.line([(plot.least_x, plot.least_x * bandwidth), (ridge, peak), (plot.most_x, peak)], "")
    words = [f"the roof: {bandwidth:.0f} GB/s and {peak / 1000:.1f} TFLOP/s, ridge at {ridge:.1f}"]
    kinds: Dict[str, _Points] = {"blue": [], "orange": [], "green": []}
    for kernel, place in places.items():
        rounds = kernel.endswith("rounds")
        cache = kernel.endswith("L1 cache")
        kinds["green" if rounds else "orange" if cache else "blue"].append(place)
        if not rounds:
            words.append(f"{kernel}: {place[0]:.2g} operations per byte, {place[1]:.3g} GFLOP/s")
        if not rounds and not cache:
            plot.label(place, kernel)
            asked = places.get(f"{kernel}; L1 cache")
            if asked:
                plot.line([asked, place], "grid")
    keys = (
        ("blue", "kernels of the course, by the bytes that device memory moved"),
        ("orange", "the same, by the bytes that they asked the L1 cache for"),
        ("green", "the kernel of 21.1 with 1, 2, 4 … rounds"),
    )
    for shape, (colour, text) in enumerate(keys):
        plot.key(shape, text, colour)
    for shape in (2, 1, 0):  # the kernels are on top
        plot.marks(shape, kinds[keys[shape][0]], keys[shape][0])
    return plot.picture(name, source, f"{'; '.join(words)}.")


KINDS: Dict[str, Callable[[str, str, Sequence[Row]], Picture]] = {
    "20.4_scaling_model": scaling_model,
    "21.1_roofline": roofline,
}


def pictures(folder: Path) -> Dict[str, List[Picture]]:
    """By the exercise whose program has written the table: the names of the folder's files end with
    the exercise's, as in `h100_two_scaling_model.csv`."""
    found: Dict[str, List[Picture]] = {}
    for path in sorted(folder.glob("*.csv")):
        names = {exercise.partition("_")[2]: exercise for exercise in KINDS}
        exercise = next((names[name] for name in names if path.stem.endswith(name)), None)
        if exercise is None:
            raise LabError(f"{path}: its name must end with one of {', '.join(names)}.")
        source, rows = read(path)
        try:
            found.setdefault(exercise, []).append(KINDS[exercise](path.stem, source, rows))
        except (KeyError, ValueError) as error:
            raise LabError(f"{path} is not what the program writes with --csv: {error}.") from error
    return found


def _numbers(rows: Sequence[Row], column: str) -> List[float]:
    return [float(row[column]) for row in rows if row[column]]


_Axis = Tuple[str, List[float], Callable[[float], str]]  # what, its numbers, and how to write one


class _Plot:
    def __init__(self, title: str, x: _Axis, y: _Axis, below: int) -> None:
        """`below`: so many lines of words have room under the plot."""
        self.least_x, self.most_x = min(x[1]), max(x[1])
        self._low, self._high = 0.6 * min(y[1]), 1.25 * max(y[1])
        self._title = title
        self._canvas = c = Canvas(_BOTTOM + 62 + 19 * below)
        self._next = _BOTTOM + 66.0
        self._labels = 0
        c.text(20, 26, title, "strong")
        c.text(_LEFT, _TOP + 2, y[0], "small muted")
        digits = (1, 2, 5) if self._high / self._low < 1000 else (1,)
        for power in range(-9, 16):
            for value in (digit * 10.0**power for digit in digits):
                if self._low <= value <= self._high:
                    place = self._at(self.least_x, value)[1]
                    c.line(_LEFT, place, WIDTH - _RIGHT, place, "grid")
                    c.text(_LEFT - 8, place + 5, y[2](value), "small", "end")
        step = max(1, round(math.log2(self.most_x / self.least_x) / 8))
        first = math.ceil(math.log2(self.least_x))
        for power in range(first, math.floor(math.log2(self.most_x)) + 1):
            place = self._at(2.0**power, self._low)[0]
            c.line(place, _BOTTOM, place, _BOTTOM + 5, "grid")
            if (power - first) % step == 0:
                c.text(place, _BOTTOM + 20, x[2](2.0**power), "small", "middle")
        c.text((_LEFT + WIDTH - _RIGHT) / 2, _BOTTOM + 40, x[0], "small muted", "middle")

    def _at(self, x: float, y: float) -> Tuple[float, float]:
        along = math.log(x / self.least_x) / math.log(self.most_x / self.least_x)
        up = math.log(y / self._low) / math.log(self._high / self._low)
        left = _LEFT + 14
        return left + along * (WIDTH - _RIGHT - 14 - left), _BOTTOM - up * (_BOTTOM - _TOP)

    def line(self, points: _Points, style: str) -> None:
        if len(points) > 1:
            self._canvas.curve([self._at(*point) for point in points], f"{style} thick".strip())

    def marks(self, shape: int, points: _Points, colour: str) -> None:
        for point in points:
            self._canvas.mark(shape, *self._at(*point), colour)

    def label(self, point: Tuple[float, float], text: str) -> None:
        """In turns below it and above it, where there is room: a roof comes from below left."""
        x, y = self._at(*point)
        self._labels += 1
        if x > 0.8 * WIDTH:
            self._canvas.text(x - 9, y + 22, text, "small code", "end")
        elif self._labels % 2 == 1 and x - 9 - 7.3 * len(text) > _LEFT:
            self._canvas.text(x + 9, y - 10, text, "small code")
        else:
            self._canvas.text(x + 9, y + 17, text, "small code")

    def key(self, shape: int, text: str, colour: str) -> None:
        self._canvas.mark(shape, 28, self._next - 4, colour)
        self.note(text)

    def note(self, text: str) -> None:
        self._canvas.text(42, self._next, text, "small")
        self._next += 19

    def picture(self, name: str, source: str, words: str) -> Picture:
        self._canvas.text(20, self._canvas.height - 12, source, "small muted")
        return Picture(name, self._title, f"{words} Measured on {source}.", self._canvas)
