# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapters 05 and 07: shared memory and constant memory."""

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "The tree of a reduction",
    "Eight threads and eight numbers: 3, 1, 7, 0, 4, 1, 6, 3. At the first level threads 0 to 3 add"
    " the number four places further on: 7, 2, 13, 3. After a barrier threads 0 and 1 add the one"
    " two places further on: 20, 5. After another barrier thread 0 adds the last: 25.",
    300,
)
def reduction_tree(c: Canvas) -> None:
    levels = [[3, 1, 7, 0, 4, 1, 6, 3], [7, 2, 13, 3], [20, 5], [25]]
    fills = ["blue", "green", "orange", "purple"]
    x = lambda i: 150 + 62 * i  # noqa: E731
    c.text(20, 24, "thread", "muted")
    for i in range(8):
        c.text(x(i), 24, str(i), "code muted", "middle")
    for depth, numbers in enumerate(levels):
        y = 40 + 72 * depth
        for i, number in enumerate(numbers):
            c.label(x(i) - 22, y, 44, 30, str(number), fills[depth], "code strong")
        if depth == 3:
            break
        half = 4 >> depth
        for i in range(half):
            c.arrow(x(i), y + 30, x(i), y + 72)
            c.arrow(x(i + half), y + 30, x(i) + 10, y + 72)
        c.line(112, y + 50, 640, y + 50, "red dashed")
        c.text(650, y + 48, "barrier", "small red")
        c.text(20, y + 55, f"half = {half}", "code")
    c.text(230, 284, "after three levels element 0 holds the sum of the block", "muted")


@drawing(
    "Without a barrier a thread may read too early",
    "Time runs downwards. Thread 131 writes its product late. Without a barrier thread 3 reads"
    " element 131 before that and adds whatever was there. With a barrier both threads wait for"
    " each other between the write and the read, so thread 3 reads the product.",
    260,
)
def missing_barrier(c: Canvas) -> None:
    for side, x in enumerate((20, 378)):
        c.box(x, 12, 322, 236)
        c.text(x + 12, 34, "with __syncthreads()" if side else "without a barrier", "strong")
        c.text(x + 82, 60, "thread 3", "muted", "middle")
        c.text(x + 240, 60, "thread 131", "muted", "middle")
        c.line(x + 82, 68, x + 82, 206, "grid")
        c.line(x + 240, 68, x + 240, 206, "grid")
        c.label(x + 14, 74, 136, 28, "cache[3] = …", "blue", "code")
        if side:
            c.label(x + 172, 104, 136, 28, "cache[131] = …", "orange", "code")
            c.line(x + 10, 152, x + 312, 152, "green thick")
            c.text(x + 161, 146, "barrier", "small green", "middle")
            c.label(x + 14, 170, 136, 28, "+= cache[131]", "blue", "code")
            c.arrow(x + 240, 132, x + 152, 178, "green")
            c.text(x + 161, 226, "reads what was written", "small", "middle")
        else:
            c.label(x + 14, 112, 136, 28, "+= cache[131]", "red", "code")
            c.label(x + 172, 170, 136, 28, "cache[131] = …", "orange", "code")
            c.text(x + 161, 226, "reads an old value: a race", "small red", "middle")


@drawing(
    "Banks of shared memory, with rows of 32 words and with rows of 33",
    "Four rows of a tile, each word in a box that shows its bank. With rows of 32 words, element 0"
    " of every row is in bank 0: lanes that read a column all need the same bank. With one word of"
    " padding per row, rows start in banks 0, 1, 2, 3, and the column is spread over all banks.",
    336,
)
def banks_and_padding(c: Canvas) -> None:
    for part, pitch in enumerate((32, 33)):
        y0 = 34 + 158 * part
        title = "tile[32][33]: one word of padding" if part else "tile[32][32]"
        c.text(20, y0 - 12, title, "strong code")
        for row in range(4):
            y = y0 + 28 * row
            c.text(20, y + 19, f"lane {row}", "small muted")
            columns = [0, 1, 2, 3, 4, 5, 6, 7, -1, 30, 31] + ([32] if part else [])
            for k, column in enumerate(columns):
                x = 84 + 38 * k
                if column < 0:
                    c.text(x + 19, y + 17, "…", "muted", "middle")
                    continue
                bank = (row * pitch + column) % 32
                fill = "orange" if column == 0 else "empty" if column == 32 else "blue"
                c.label(x, y, 38, 28, str(bank), fill, "code")
        x = 560
        if part:
            c.lines(x, y0 + 20, ["column 0 is in banks", "0, 1, 2, 3, …, 31:", "1 wavefront"])
            c.text(84 + 38 * 11 + 19, y0 + 128, "unused", "small muted", "middle")
        else:
            c.lines(x, y0 + 20, ["column 0 is in", "bank 0 alone:", "32 wavefronts"])
    c.text(
        20, 330, "The number in a box is its bank: (row × pitch + column) mod 32.", "small muted"
    )


@drawing(
    "Where Jacobi's method needs barriers",
    "One sweep of Jacobi's method: all threads read their four neighbours, a barrier, all threads"
    " write the mean to their own cell, a barrier, and the next sweep. The cell in the middle of a"
    " cross is computed from the four cells around it.",
    190,
)
def jacobi_sweep(c: Canvas) -> None:
    cells = {(1, 0): "blue", (0, 1): "blue", (2, 1): "blue", (1, 2): "blue", (1, 1): "orange"}
    for y in range(3):
        for x in range(3):
            c.box(30 + 44 * x, 30 + 44 * y, 44, 44, cells.get((x, y), "panel"), 0)
    for dx, dy in ((0, -1), (-1, 0), (1, 0), (0, 1)):
        c.arrow(96 + 40 * dx, 96 + 40 * dy, 96 + 14 * dx, 96 + 14 * dy)
    y = 62
    c.label(200, y, 116, 52, "read neighbours", "blue", "small")
    c.label(364, y, 116, 52, "write the mean", "orange", "small")
    c.label(528, y, 116, 52, "read neighbours", "blue", "small")
    for x, text in ((340, "all have read"), (504, "all have written")):
        c.line(x, 46, x, 130, "red thick")
        c.text(x, 38, "barrier", "small red", "middle")
        c.text(x, 148, text, "small", "middle")
    c.arrow(316, 88, 364, 88)
    c.arrow(480, 88, 528, 88)
    c.arrow(644, 88, 690, 88)
    c.text(340, 182, "one sweep", "small muted", "middle")
    c.bend([(200, 160), (200, 168), (498, 168), (498, 160)], tip=False)
    c.bend([(690, 168), (510, 168), (510, 160)], tip=False)
    c.text(600, 182, "the next one", "small muted", "middle")


@drawing(
    "One address for a warp, or 32",
    "On the left all threads of a warp read table[i]: the constant cache reads one word and"
    " delivers"
    " it to all of them, in one step. On the right each thread reads table[threadIdx.x]: 32"
    " different words, delivered one after the other in 32 steps.",
    236,
)
def constant_cache(c: Canvas) -> None:
    for side, x in enumerate((20, 378)):
        c.box(x, 12, 322, 212)
        c.text(x + 12, 34, "table[threadIdx.x]" if side else "table[i]", "code strong")
        c.text(x + 310, 34, "32 steps" if side else "1 step", "strong", "end")
        for i in range(6):
            tx = x + 14 + 49 * i
            lane = "…" if i == 4 else "31" if i == 5 else str(i)
            c.label(tx, 52, 44, 30, lane, "green" if i != 4 else "empty", "code")
            c.label(
                tx, 160, 44, 30, "" if i != 4 else "…", "orange" if side and i != 4 else "panel"
            )
            if i == 4:
                continue
            if side:
                c.arrow(tx + 22, 160, tx + 22, 82)
                step = "32" if i == 5 else str(i + 1)
                c.text(tx + 28, 128, step, "small orange")
            else:
                c.arrow(x + 14 + 49 * 2 + 22, 160, tx + 22, 82)
        if not side:
            c.label(x + 14 + 49 * 2, 160, 44, 30, "", "orange")
        c.text(x + 14, 212, "words in the constant cache", "small muted")
    c.text(34, 112, "lanes", "small muted")


@drawing(
    "Copies and launches in one stream",
    "The host calls copy 100, launch, copy 101, launch, copy 102, launch, and does not wait. In the"
    " stream each of them starts when the one before has finished, so the first kernel reads 100,"
    " the second 101 and the third 102.",
    170,
)
def constant_in_order(c: Canvas) -> None:
    c.text(20, 44, "host", "strong")
    c.text(20, 124, "device", "strong")
    x = 90.0
    for i in range(3):
        c.label(90 + 96 * i, 24, 46, 30, f"{100 + i}", "orange", "code")
        c.label(138 + 96 * i, 24, 46, 30, "launch", "blue", "small")
        c.label(x + 20, 104, 46, 30, f"{100 + i}", "orange", "code")
        c.label(x + 68, 104, 126, 30, f"kernel reads {100 + i}", "green", "small")
        c.arrow(113 + 96 * i, 54, x + 43, 104, "dashed")
        c.arrow(161 + 96 * i, 54, x + 100, 104, "dashed")
        x += 176
    c.text(390, 44, "the host goes on at once", "muted")
    c.arrow(90, 156, 690, 156)
    c.text(20, 160, "time", "muted")


@drawing(
    "Three passes through one constant array",
    "Vector b has 40000 elements, the constant array 16384. In pass 0 elements 0 to 16383 of b are"
    " in the array and are multiplied with the same elements of a; in pass 1 elements 16384 to"
    " 32767; in pass 2 the last 7232, while the rest of the array still holds old ones. Each pass"
    " writes 64 partial sums to places of its own.",
    250,
)
def passes(c: Canvas) -> None:
    c.text(20, 40, "b", "code strong")
    c.text(20, 94, "constant_b", "code strong")
    c.text(20, 154, "a", "code strong")
    c.text(20, 214, "partial", "code strong")
    fills = ["blue", "green", "purple"]
    spans = [(0, 16384), (16384, 32768), (32768, 40000)]
    for i, (begin, end) in enumerate(spans):
        x = 120 + 200 * i
        w = (190, 190, 104)[i]  # 7232 of 16384 are 84; the words need more
        c.label(x, 20, w, 30, f"{begin}…{end - 1}", fills[i], "small")
        c.arrow(x + w / 2, 50, x + w / 2, 74)
        c.label(x, 74, w, 30, f"pass {i}", fills[i], "strong")
        if w < 190:
            c.label(x + w, 74, 190 - w, 30, "old numbers", "empty", "small muted")
        c.label(x, 128, w, 30, f"{begin}…{end - 1}", fills[i], "small")
        c.arrow(x + w / 2, 158, x + w / 2, 194)
        c.text(x + w / 2 + 8, 180, "dot product", "small muted")
        c.label(x + w / 2 - 42, 194, 84, 30, "64 sums", fills[i], "small")
    c.text(120, 244, "The host adds all of them.", "muted")
    c.text(20, 114, "one array,", "small muted")
    c.text(20, 128, "three times", "small muted")
