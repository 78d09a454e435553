# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapters 06 and 13: who has which elements of a matrix product."""

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "From a block's tile to those of its warps and lanes",
    "Left: C is divided into tiles of 128 by 128, one for each block. Middle: the tile of a block"
    " is divided into the tiles of eight warps, four rows of two, of 32 by 64 elements each. For"
    " each k the block loads 128 numbers of A and 128 of B, and warp 3 reads 32 and 64 of them."
    " Right: the tile of warp 3 consists of 2 by 2 pieces of 16 by 32. In each piece every lane has"
    " 4 by 4 elements, in four rows of eight lanes. Lane 9 is marked: its four squares are 8 by 8"
    " elements. For each k a block reads 256 numbers for 16384 products, a warp 96 for 2048, a lane"
    " 16 for 64.",
    310,
)
def warp_tiles(c: Canvas) -> None:
    top = 72
    for row in range(4):
        for column in range(4):
            mine = (row, column) == (1, 2)
            c.box(20 + 28 * column, top + 28 * row, 28, 28, "blue" if mine else "panel", 0)
    c.text(76, 22, "C", "strong", "middle")
    c.text(76, 42, "a tile for each block", "small", "middle")
    # The block's tile, 1.5 pixels an element, and the numbers of A and B for one k.
    left, width, height = 184, 96, 48
    for warp in range(8):
        x, y = left + warp % 2 * width, top + warp // 2 * height
        c.label(x, y, width, height, f"warp {warp}", "green" if warp == 3 else "blue")
    for part in range(2):
        c.box(left + width * part, top - 22, width, 12, "orange" if part == 1 else "panel", 0)
    for part in range(4):
        c.box(left - 22, top + height * part, 12, height, "orange" if part == 1 else "panel", 0)
    c.text(left + width, 22, "the tile of a block", "strong", "middle")
    c.text(left + width, 42, "128 of B", "small", "middle")
    c.text(left - 16, top + 4 * height + 16, "128 of A", "small", "middle")
    c.line(104, top + 28, left - 26, top, "dashed")
    c.line(104, top + 56, left - 26, top + 4 * height, "dashed")
    # The warp's tile, 4.5 pixels an element.
    right, cell = 412, 18
    for y in range(8):
        lanes = [y % 4 * 8 + x % 8 for x in range(16)]
        fills = ["purple" if lane == 9 else "green" for lane in lanes]
        c.cells(right, top + cell * y, lanes, fills, cell, cell, "small")
    for piece in range(4):
        x, y = right + piece % 2 * 8 * cell, top + piece // 2 * 4 * cell
        corners = [(x, y), (x + 8 * cell, y), (x + 8 * cell, y + 4 * cell), (x, y + 4 * cell)]
        c.curve([*corners, (x, y)], "thick")
    c.text(right + 8 * cell, 22, "the tile of warp 3", "strong", "middle")
    c.text(right + 8 * cell, 42, "the number of a square is the lane", "small", "middle")
    c.text(right + 8 * cell, 60, "that has these 4 × 4 elements", "small", "middle")
    c.line(left + 2 * width, top + height, right, top, "dashed")
    c.line(left + 2 * width, top + 2 * height, right, top + 8 * cell, "dashed")
    c.text(right, 242, "what is read for each k:", "small muted")
    for i, (who, numbers, products) in enumerate(
        (
            ("a block", "128 + 128", "16 384"),
            ("warp 3", "32 + 64", "2048"),
            ("lane 9", "8 + 8", "64"),
        )
    ):
        y = 262 + 18 * i
        c.text(right, y, who, "small strong")
        c.text(right + 54, y, f"{numbers} numbers for {products} products", "small")


@drawing(
    "The fragments of a product on a tensor core",
    "A has 16 by 16 halves, B 16 by 8 halves, and C 16 by 8 floats; the product of A and B is added"
    " to C. All three are spread over the 32 lanes of a warp: a lane has four pairs of neighbours"
    " in rows of A, two pairs of neighbours in a column of B, and two pairs of neighbours in rows"
    " of C. Lane 9 is marked. It has the columns 2, 3, 10 and 11 of the rows 2 and 10 of A, the"
    " rows 2, 3, 10 and 11 of column 2 of B, and the columns 2 and 3 of the rows 2 and 10 of C.",
    404,
)
def fragments(c: Canvas) -> None:
    size, top = 18, 60

    def fill(lane: int) -> str:
        return "purple" if lane == 9 else "panel" if lane // 4 % 2 else "blue"

    a, b, sums = 44, 372, 556
    for x, columns, words in (
        (a, 16, "A: 16 × 16 halves"),
        (b, 8, "B: 16 × 8 halves"),
        (sums, 8, "C: 16 × 8 floats"),
    ):
        c.text(x + columns * size / 2, 22, words, "strong", "middle")
        for column in range(columns):
            where = x + size * (column + 0.5)
            c.text(where, top - 8, str(column), "small muted", "middle")
    for row in range(16):
        y = top + size * row
        c.text(a - 8, y + 14, str(row), "small muted", "end")
        four = [row % 8 * 4 + pair for pair in range(4)]
        fills = [fill(lane) for lane in four]
        c.cells(a, y, [*four, *four], fills, 2 * size, size, "small")
        c.cells(sums, y, four, fills, 2 * size, size, "small")
    for pair in range(8):
        lanes = [column * 4 + pair % 4 for column in range(8)]
        fills = [fill(lane) for lane in lanes]
        c.cells(b, top + 2 * size * pair, lanes, fills, size, 2 * size, "small")
    middle = top + 8 * size
    c.text(352, middle + 6, "×", "large strong", "middle")
    c.arrow(b + 8 * size + 6, middle, sums - 6, middle, "thick")
    c.text(a, 372, "A box is two neighbours. Its number is the lane that has them.", "small")
    c.text(a, 392, "Lane 9 has 8 halves of A, 4 of B, and 4 floats of C.", "small purple strong")
