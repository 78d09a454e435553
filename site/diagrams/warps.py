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
        c.text(90 + 15.5 * lanes - 2, y + 46, f"thread {first + lanes - 1}", "small muted", "end")
        c.text(604, y + 20, mask, "code strong")
        if warp:
            c.text(90 + 15.5 * 20, y + 46, "no such lanes", "small muted", "middle")


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


@drawing(
    "Hillis and Steele's scan of eight elements",
    "Eight elements 3, 1, 7, 0, 4, 1, 6, 3. In the level for d = 1 each adds the one before it, for"
    " d = 2 the one two before it, for d = 4 the one four before it. The result is 3, 4, 11, 11,"
    " 15, 16, 22, 25.",
    300,
)
def hillis_steele(c: Canvas) -> None:
    rows: List[List[int]] = [[3, 1, 7, 0, 4, 1, 6, 3]]
    for d in (1, 2, 4):
        last = rows[-1]
        rows.append([last[i] + (last[i - d] if i >= d else 0) for i in range(8)])
    fills = ("blue", "green", "orange", "purple")
    x = lambda i: 176 + 68 * i  # noqa: E731
    for i in range(8):
        c.text(x(i), 24, f"thread {i}", "small muted", "middle")
    for r, values in enumerate(rows):
        y = 36 + 76 * r
        c.text(20, y + 20, ("mine", "d = 1", "d = 2", "d = 4")[r], "code strong")
        for i, value in enumerate(values):
            ready = i < 1 << r
            c.label(x(i) - 26, y, 52, 30, str(value), fills[r], "code strong" if ready else "code")
        if r < 3:
            d = 1 << r
            for i in range(8):
                c.arrow(x(i), y + 30, x(i), y + 76)
                if i >= d:
                    c.arrow(x(i - d), y + 30, x(i) - 12, y + 76)


@drawing(
    "Blelloch's scan of eight elements",
    "Up: pairs of elements are added, for d = 1, 2 and 4, until the last element is the total, 25."
    " That becomes 0. Down, for d = 4, 2 and 1: the left element of a pair gets the right one, and"
    " the right one the sum of both. The result is 0, 3, 4, 11, 11, 15, 16, 22.",
    480,
)
def blelloch(c: Canvas) -> None:
    values = [3, 1, 7, 0, 4, 1, 6, 3]
    rows = [("mine", list(values), 0)]
    for d in (1, 2, 4):
        for right in range(2 * d - 1, 8, 2 * d):
            values[right] += values[right - d]
        rows.append((f"up, d = {d}", list(values), d))
    values[7] = 0
    rows.append(("total out", list(values), 0))
    for d in (4, 2, 1):
        for right in range(2 * d - 1, 8, 2 * d):
            values[right - d], values[right] = values[right], values[right] + values[right - d]
        rows.append((f"down, d = {d}", list(values), d))
    x = lambda i: 176 + 68 * i  # noqa: E731
    for i in range(8):
        c.text(x(i), 20, f"element {i}", "small muted", "middle")
    for r, (name, numbers, d) in enumerate(rows):
        y = 30 + 58 * r
        down = r > 4
        c.text(20, y + 18, name, "code strong")
        changed = (
            {j for right in range(2 * d - 1, 8, 2 * d) for j in (right, right - d)} if d else set()
        )
        if d and not down:
            changed = {j for j in changed if (j + 1) % (2 * d) == 0}
        if name == "total out":
            changed = {7}
        for i, number in enumerate(numbers):
            fill = "panel" if i not in changed else "orange" if down or r == 4 else "green"
            c.label(x(i) - 26, y, 52, 26, str(number), fill if r else "blue", "code")
        if d:
            for right in range(2 * d - 1, 8, 2 * d):
                c.arrow(x(right - d), y - 32, x(right) - 10, y)
                c.arrow(x(right), y - 32, x(right) + 6, y)
                if down:
                    c.arrow(x(right), y - 32, x(right - d) + 10, y)


@drawing(
    "Tile 7 looks back",
    "Tiles 0 to 7 have the sums 4, 9, 2, 6, 5, 8, 3 and 7. Of tiles 0 to 3 the prefixes are known:"
    " 4, 13, 15 and 21. Of tiles 4 to 6 only the aggregates 5, 8 and 3 are. Tile 7 adds 3, 8, 5"
    " and 21, which is 37, and publishes the prefix 44.",
    200,
)
def look_back(c: Canvas) -> None:
    sums, known_prefixes = [4, 9, 2, 6, 5, 8, 3, 7], 4
    x = lambda tile: 142 + 76 * tile  # noqa: E731
    for y, name in ((36, "state"), (86, "sum")):
        c.text(20, y + 20, name, "code strong")
    before = 0
    for tile, total in enumerate(sums):
        c.text(x(tile), 24, f"tile {tile}", "small muted", "middle")
        prefix, own = tile < known_prefixes, tile == len(sums) - 1
        fill = "orange" if own else "green" if prefix else "blue"
        value = sum(sums[: tile + 1]) if prefix else total
        c.label(x(tile) - 36, 36, 72, 30, "prefix" if prefix else "aggregate", fill, "small")
        c.label(x(tile) - 26, 86, 52, 30, str(value), fill, "code")
        if known_prefixes - 1 <= tile < len(sums) - 1:
            c.line(x(tile), 116, x(tile), 134)
            before += value
    c.bend([(x(known_prefixes - 1), 134), (x(7) + 34, 134), (x(7) + 34, 178), (x(7) + 26, 178)])
    c.text(x(known_prefixes - 1), 152, f"3 + 8 + 5 + 21 = {before}", "code")
    c.label(x(7) - 26, 163, 52, 30, str(before + sums[-1]), "orange", "code strong")
    c.text(x(7) - 36, 183, "the prefix that tile 7 publishes", "small muted", "end")


@drawing(
    "Where the elements of a warp go",
    "Eight lanes have 9, 2, 7, 1, 8, 3, 3, 6, and 5 is the limit. Lanes 1, 3, 5 and 6 vote to keep"
    " theirs: 2, 1, 3, 3. The number of votes before each of them is 0, 1, 2, 3. That is where they"
    " go, after the place where this warp's elements begin.",
    280,
)
def compaction(c: Canvas) -> None:
    values, limit = [9, 2, 7, 1, 8, 3, 3, 6], 5
    x = lambda lane: 176 + 68 * lane  # noqa: E731
    for lane in range(8):
        c.text(x(lane), 24, f"lane {lane}", "small muted", "middle")
    for y, name in ((36, "value"), (86, "value < 5"), (136, "votes before"), (226, "out")):
        c.text(20, y + 20, name, "code strong")
    before = 0
    for lane, value in enumerate(values):
        keep = value < limit
        c.label(x(lane) - 26, 36, 52, 30, str(value), "blue" if keep else "panel", "code")
        c.label(
            x(lane) - 26, 86, 52, 30, "1" if keep else "0", "green" if keep else "panel", "code"
        )
        c.label(x(lane) - 26, 136, 52, 30, str(before), "orange" if keep else "panel", "code")
        if keep:
            c.arrow(x(lane), 166, x(before) + 34, 226)
            c.label(x(before) + 8, 226, 52, 30, str(value), "blue", "code")
            before += 1
    c.text(x(0) + 2, 246, "place", "code", "end")
    c.text(x(5), 246, "the next warp's elements", "small muted")
