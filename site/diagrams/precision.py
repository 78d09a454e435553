# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 18: operations of tensor cores in double, and products in pieces."""

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "Lane 5's part of an operation that makes 8 x 16 elements of C",
    "Lane 5 has g = 1 and t = 1. In shared memory, its two numbers of A are in row 1, columns 2 and"
    " 3, side by side. Its numbers of B are in rows 2 and 3, in columns 2 and 3. Its sums are in"
    " rows 2 and 3 of C, columns 2 and 3.",
    316,
)
def double_operation(c: Canvas) -> None:
    side, high, left, b_left, top = 17.0, 14, 44.0, 270.0, 176
    c.text(left, top - 12, "A: 8 x 8", "strong")
    c.text(b_left, 22, "B: 8 x 16", "strong")
    c.text(b_left, top - 12, "C: 8 x 16", "strong")
    for row in range(8):
        for column in range(8):
            fill = ("blue", "green")[column - 2] if row == 1 and column in (2, 3) else "empty"
            c.box(left + side * column, top + high * row, side - 2, high - 2, fill, 1)
        for column in range(16):
            mine = row in (2, 3) and column in (2, 3)
            fill = ("blue", "green")[row - 2] if mine else "empty"
            c.box(b_left + side * column, 32 + high * row, side - 2, high - 2, fill, 1)
            fill = ("orange", "purple")[row - 2] if mine else "empty"
            c.box(b_left + side * column, top + high * row, side - 2, high - 2, fill, 1)
    c.text(left - 8, top + 11 + high, "row g", "small muted", "end")
    for row, word in ((2, "row 2 t"), (3, "row 2 t + 1")):
        c.text(b_left - 8, 43 + high * row, word, "small muted", "end")
        c.text(b_left - 8, top + 11 + high * row, word, "small muted", "end")
    right = b_left + side * 16 + 14
    for y, fill, word in (
        (70, "blue", "b[0]; a[0], a[1]"),
        (92, "green", "b[1]; a[2], a[3]"),
        (top + 26, "orange", "c[0], c[2]"),
        (top + 48, "purple", "c[1], c[3]"),
    ):
        c.box(right, y, 12, 12, fill, 1)
        c.text(right + 18, y + 10, word, "code small")
    c.text(left, 306, "Neighbours in memory are neighbours in registers.", "small muted")


@drawing(
    "A float in three pieces, and the products of the pieces",
    "Left: the 24 digits of a float are divided into three pieces of 8 digits each. Right: the nine"
    " products of the pieces of a and of b. Step one_product forms the largest one, three_products"
    " those down to 2 to the minus 8, six_products those down to 2 to the minus 16. Three are left"
    " out: they are below 2 to the minus 23.",
    344,
)
def split_products(c: Canvas) -> None:
    c.text(20, 26, "24 digits of a float", "strong")
    fills = ("blue", "green", "orange")
    for i in range(24):
        c.box(20 + 11 * i, 38, 10, 24, fills[i // 8], 1)
    c.text(20, 238, "three bfloat16, 8 digits each", "strong")
    for piece in range(3):
        y = 112 + 40 * piece
        for i in range(8):
            c.box(20 + 88 * piece + 11 * i, y, 10, 24, fills[piece], 1)
        c.arrow(20 + 88 * piece + 44, 62, 20 + 88 * piece + 44, y)
        size = ("1", "2⁻⁸", "2⁻¹⁶")[piece]
        c.text(294, y + 17, f"a{piece}, up to {size}", "small", "start")
    left, top = 462, 66
    c.text(left - 38, 26, "products of the pieces", "strong")
    for i in range(3):
        c.text(left + 38 + 82 * i, top - 8, f"b{i}", "code strong", "middle")
        c.text(left - 14, top + 30 + 62 * i, f"a{i}", "code strong", "end")
        for j in range(3):
            rank = i + j
            fill = ("blue", "green", "orange")[rank] if rank < 3 else "empty"
            word = ("1", "2⁻⁸", "2⁻¹⁶", "2⁻²⁴", "2⁻³²")[rank]
            c.label(left + 82 * j, top + 62 * i, 76, 54, word, fill)
    for i, (fill, word) in enumerate(
        (
            ("blue", "one_product"),
            ("green", "and these: three_products"),
            ("orange", "and these: six_products"),
        )
    ):
        c.box(20, 262 + 24 * i, 14, 14, fill, 1)
        c.text(44, 274 + 24 * i, word, "small")
    c.box(250, 262, 14, 14, "empty", 1)
    c.text(274, 274, "left out: as small as the rounding of a float", "small")


@drawing(
    "Where the sums are rounded",
    "For each 16 elements of k, the six products start from zero inside of the tensor core, the"
    " smallest ones first. Their sum is cut off there. Then a float addition outside adds it to the"
    " sum of all, and rounds to the nearest float.",
    220,
)
def sums_outside(c: Canvas) -> None:
    for i in range(3):
        x = 20 + 228 * i
        c.box(x, 36, 204, 84, "panel")
        c.text(x + 12, 58, f"k from {16 * i} to {16 * i + 15}", "small muted")
        c.label(x + 10, 68, 26, 34, "0", "empty", "code")
        for j, word in enumerate(("2⁻¹⁶", "2⁻⁸", "1")):
            c.label(x + 50 + 50 * j, 68, 44, 34, word, ("orange", "green", "blue")[j], "small")
            c.arrow(x + (36 if j == 0 else 44 + 50 * j), 85, x + 50 + 50 * j, 85)
        c.arrow(x + 172, 102, x + 172, 150)
        c.label(x + 140, 150, 64, 36, "+", "purple", "strong")
        if i > 0:
            c.arrow(x - 24, 168, x + 140, 168)
    c.text(20, 24, "on the tensor core: cut off", "strong")
    c.text(20, 208, "on CUDA cores: rounded to nearest", "strong")
