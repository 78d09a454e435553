# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 21: the roofline, what is in flight, and timelines."""

from typing import Tuple

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "The roofline: two ceilings, and kernels below them",
    "Both axes are logarithmic: operations per byte to the right, operations per second upwards."
    " The roof rises with the bandwidth up to the ridge, and is level from there on. A kernel at"
    " the left is below the slope: only fewer bytes or a better use of the bandwidth help. A kernel"
    " at the right is below the level part: only better use of the arithmetic units helps. Keeping"
    " more in registers or tiles moves a kernel to the right.",
    340,
)
def roofline(c: Canvas) -> None:
    left, bottom, top, right = 70, 290, 40, 690
    ridge_x, ridge_y = 400, 80
    c.line(left, bottom, right, bottom)
    c.line(left, bottom, left, top)
    c.text((left + right) / 2, bottom + 36, "operations per byte (logarithmic)", "small", "middle")
    c.text(left + 8, top - 8, "operations per second (logarithmic)", "small")
    c.polygon(
        [(left, bottom), (left, 270), (ridge_x, ridge_y), (right, ridge_y), (right, bottom)],
        "panel",
    )
    c.curve([(left, 270), (ridge_x, ridge_y), (right, ridge_y)], "thick blue")
    c.text(178, 150, "bandwidth × intensity", "small blue", "middle")
    c.text(550, ridge_y - 12, "peak rate of arithmetic", "small blue", "middle")
    c.line(ridge_x, ridge_y, ridge_x, bottom, "dashed")
    c.text(ridge_x, bottom + 18, "ridge", "small", "middle")
    c.text(left + 12, bottom - 8, "limited by memory", "small muted")
    c.text(right - 12, bottom - 8, "limited by arithmetic", "small muted", "end")
    for x, y, roof, name in ((180, 236, 207, "A"), (520, 190, ridge_y, "B")):
        c.line(x, y, x, roof, "dashed orange")
        c.circle(x, y, 7, "orange")
        c.text(x + 14, y + 5, name, "strong")
    c.arrow(206, 238, 300, 238, "green")
    c.text(216, 256, "a larger tile", "small green")
    c.text(534, 128, "what is missing", "small")
    c.text(534, 146, "to the roof", "small")


@drawing(
    "What is in flight: latency times bandwidth",
    "Loads as bars over time, each as long as the latency. With one load at a time, most of the"
    " time nothing arrives. With four at a time, four times as much arrives in the same time. At"
    " some number data arrives all the time: more loads only wait longer.",
    330,
)
def in_flight(c: Canvas) -> None:
    left, latency = 150, 152
    rows: Tuple[Tuple[int, str], ...] = ((1, "1 in flight"), (4, "4 in flight"))
    y = 52
    c.text(left, 26, "time", "small muted")
    c.arrow(left + 36, 22, left + 120, 22)
    for count, name in rows:
        c.text(20, y + 20, name, "strong")
        for k in range(count):
            for i in range(3):
                x = left + i * (latency + 24) + k * 44 * (count > 1)
                if x + latency > 705:
                    continue
                c.box(x, y + 26 * k, latency - 22, 20, "blue")
                c.box(x + latency - 22, y + 26 * k, 22, 20, "green")
        if count == 1:
            c.brace(left, left + latency, y + 26, "latency", "small")
        y += 26 * count + 56
    c.text(left + 8, 67, "under way", "small")
    meaning = (
        "Green: the bytes arrive. While there are times without green, more loads in flight",
        "bring more bytes per second, until bytes in flight = latency × bandwidth.",
        "It does not matter whether these loads are of many warps or of few.",
    )
    c.lines(20, y - 22, meaning, "small")


@drawing(
    "What is measured from the intervals of a timeline",
    "Three rows of a timeline: copies to the device, kernels, and copies back. Below them, the time"
    " in which at least one copy runs, the time in which at least one kernel runs, the time in"
    " which both run, and the time in which nothing runs.",
    330,
)
def overlap_of_intervals(c: Canvas) -> None:
    left, unit = 150, 39
    rows = (
        ("copies up", "orange", ((0, 3), (3, 6), (9, 11))),
        ("kernels", "blue", ((3, 5), (6, 8), (11, 12))),
        ("copies back", "green", ((5, 7), (12, 13))),
    )
    for row, (name, fill, spans) in enumerate(rows):
        y = 24 + 36 * row
        c.text(20, y + 20, name, "code")
        for begin, end in spans:
            c.box(left + unit * begin, y, unit * (end - begin) - 2, 28, fill)
    results = (
        ("any copy", ((0, 7), (9, 11), (12, 13)), "10"),
        ("any kernel", ((3, 5), (6, 8), (11, 12)), "5"),
        ("both", ((3, 5), (6, 7)), "3"),
        ("idle", ((8, 9),), "1"),
    )
    for row, (name, spans, length) in enumerate(results):
        y = 156 + 34 * row
        c.text(20, y + 18, name, "code")
        for begin, end in spans:
            c.box(left + unit * begin, y, unit * (end - begin), 22, "purple")
        c.text(694, y + 17, length, "strong", "end")
    for k in range(14):
        x = left + unit * k
        c.line(x, 292, x, 298)
        c.text(x, 314, str(k), "small muted", "middle")
    c.line(left, 292, left + 13 * unit, 292)
