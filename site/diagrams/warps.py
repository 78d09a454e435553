# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 16: masks, butterflies, scans, compaction."""

from typing import List

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "The masks of a block of 40 threads",
    "Threads 0 to 31 are warp 0, whose mask is 0xFFFFFFFF. Threads 32 to 39 are lanes 0 to 7 of"
    " warp 1, whose mask is 0xFF. Its lanes 8 to 31 do not exist.",
    190,
)
def warp_masks(c: Canvas) -> None:
    for warp, (lanes, mask) in enumerate(((32, "0xFFFFFFFF"), (8, "0x000000FF"))):
        y = 40 + 74 * warp
        c.text(20, y + 20, f"warp {warp}", "strong")
        for lane in range(32):
            x = 90 + 15.5 * lane
            there = lane < lanes
            c.box(x, y, 13, 30, "blue" if there else "empty", 2)
        first = 32 * warp
        c.text(90, y - 8, f"thread {first}", "small muted")
        c.text(
            90 + 15.5 * lanes - 2, y + 46, f"thread {first + lanes - 1}", "small muted", "end"
        )
        c.text(604, y + 20, mask, "code strong")
        if warp:
            c.text(90 + 15.5 * 20, y + 20, "no such lanes", "small muted", "middle")


@drawing(
    "A butterfly of eight lanes",
    "Eight lanes have 3, 1, 7, 0, 4, 1, 6, 3. Lanes whose numbers differ in bit 4 exchange and add:"
    " 7, 2, 13, 3, 7, 2, 13, 3. Then bit 2: 20, 5, 20, 5 and so on. Then bit 1: all have 25.",
    300,
)
def butterfly(c: Canvas) -> None:
    rows: List[List[int]] = [[3, 1, 7, 0, 4, 1, 6, 3]]
    for bit in (4, 2, 1):
        last = rows[-1]
        rows.append([last[i] + last[i ^ bit] for i in range(8)])
    fills = ("blue", "green", "orange", "purple")
    x = lambda lane: 176 + 68 * lane  # noqa: E731
    for lane in range(8):
        c.text(x(lane), 24, f"lane {lane}", "small muted", "middle")
    for r, values in enumerate(rows):
        y = 36 + 76 * r
        c.text(20, y + 20, ("mine", "xor 4", "xor 2", "xor 1")[r], "code strong")
        for lane, value in enumerate(values):
            c.label(x(lane) - 26, y, 52, 30, str(value), fills[r], "code")
        if r < 3:
            bit = 4 >> r
            for lane in range(8):
                c.arrow(x(lane), y + 30, x(lane), y + 76)
                side = 14 if lane & bit else -14
                c.arrow(x(lane), y + 30, x(lane ^ bit) + side, y + 76)
