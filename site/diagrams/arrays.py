# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapters 06, 08 and 13: matrices and textures."""

import math

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "Two indices in a grid of 3 by 2 blocks",
    "Blocks of 4 by 2 threads, 3 in x and 2 in y. x runs from 0 to 11 and y from 0 to 3. The marked"
    " thread is in block (1, 1) and is thread (2, 0) there, so x is 1 times 4 plus 2, which is 6,"
    " and y is 1 times 2 plus 0, which is 2.",
    240,
)
def two_indices(c: Canvas) -> None:
    for x in range(12):
        c.text(90 + 34 * x + 17, 46, str(x), "code muted", "middle")
    for bx in range(3):
        c.text(90 + 136 * bx + 68, 24, f"blockIdx.x = {bx}", "code small", "middle")
    for y in range(4):
        c.text(72, 75 + 34 * y, str(y), "code muted", "middle")
        for x in range(12):
            mark = (x, y) == (6, 2)
            fill = "orange" if mark else ("blue", "green")[(x // 4 + y // 2) % 2]
            c.box(90 + 34 * x, 54 + 34 * y, 34, 34, fill, 0)
    for by in range(2):
        for bx in range(3):
            c.box(90 + 136 * bx, 54 + 68 * by, 136, 68, "empty", 0)
        c.text(10, 93 + 68 * by, f"by = {by}", "code small")
    c.text(90 + 34 * 6 + 17, 54 + 34 * 2 + 22, "●", "", "middle")
    c.lines(520, 84, ["block (1, 1)", "thread (2, 0)"], "code")
    c.lines(520, 134, ["x = 1 * 4 + 2 = 6", "y = 1 * 2 + 0 = 2"], "code strong")
    c.text(90, 224, "by is blockIdx.y; blockDim is (4, 2), gridDim is (3, 2)", "small muted")


@drawing(
    "A tile turns a transpose's columns into rows",
    "A block loads a tile of the matrix by rows into shared memory, waits at a barrier, and reads"
    " the tile by columns, so that it can store by rows to the mirrored place of the result. The"
    " tile at block column 1, block row 0 goes to block column 0, block row 1. Both accesses to"
    " global memory are coalesced.",
    256,
)
def transpose_tile(c: Canvas) -> None:
    for y in range(2):
        for x in range(3):
            c.box(24 + 66 * x, 56 + 66 * y, 66, 66, "panel", 0)
    for y in range(3):
        for x in range(2):
            c.box(560 + 66 * x, 23 + 66 * y, 66, 66, "panel", 0)
    fills = ["blue", "orange", "green", "purple"]
    for row in range(4):
        for column in range(4):
            n = 4 * row + column + 1
            c.label(90 + 16.5 * column, 56 + 16.5 * row, 16.5, 16.5, "", fills[row])
            c.label(306 + 34 * column, 54 + 34 * row, 34, 34, str(n), fills[row], "code")
            c.label(560 + 16.5 * row, 89 + 16.5 * column, 16.5, 16.5, "", fills[row])
    c.text(122, 44, "matrix", "strong", "middle")
    c.text(374, 44, "tile in shared memory", "strong", "middle")
    c.text(626, 16, "result", "strong", "middle")
    c.arrow(226, 100, 300, 100, "thick")
    c.text(263, 90, "load", "small", "middle")
    c.text(263, 122, "by rows", "small", "middle")
    c.arrow(446, 122, 552, 122, "thick")
    c.text(499, 112, "read by columns,", "small", "middle")
    c.text(499, 142, "store by rows", "small", "middle")
    c.text(374, 212, "a barrier between the two", "red", "middle")
    c.text(
        24,
        240,
        "Equal colours are one row of the tile: a row of the matrix, a column of the result.",
        "small muted",
    )


@drawing(
    "Width and pitch of a matrix",
    "Three rows of a matrix. The width, 4004 bytes, is what a row holds. The pitch, 4096 bytes, is"
    " the distance from one row to the next. The gap between them is unused. Each row starts at a"
    " multiple of 512.",
    180,
)
def pitch(c: Canvas) -> None:
    c.arrow(120, 26, 680, 26)
    c.arrow(680, 26, 120, 26)
    c.text(400, 20, "pitch: 4096 bytes", "small", "middle")
    c.arrow(120, 52, 610, 52, "blue")
    c.arrow(610, 52, 120, 52, "blue")
    c.text(365, 46, "width: 4004 bytes", "small blue", "middle")
    for row in range(3):
        y = 64 + 34 * row
        c.text(20, y + 21, f"row {row}", "strong")
        c.label(120, y, 490, 30, f"starts at byte {row} × 4096 = {row * 4096}", "blue", "small")
        c.label(610, y, 70, 30, "gap", "empty", "small muted")


@drawing(
    "A tile walks along a row of A and down a column of B",
    "A block computes one tile of C. For each slice of k it loads a tile of A, walking to the right"
    " along the block's rows, and a tile of B, walking down the block's columns. After a barrier"
    " every thread adds the slice's products to its own sum; after another barrier the next slice"
    " is loaded.",
    340,
)
def tiled_product(c: Canvas) -> None:
    s = 36
    ax, ay, bx, by = 24, 168, 204, 20
    for y in range(4):
        for x in range(4):
            c.box(ax + s * x, ay + s * y, s, s, "blue" if y == 2 else "panel", 0)
            c.box(bx + s * x, by + s * y, s, s, "green" if x == 1 else "panel", 0)
            c.box(bx + s * x, ay + s * y, s, s, "orange" if (x, y) == (1, 2) else "panel", 0)
    for k in range(4):
        c.text(ax + s * k + s / 2, ay + s * 2 + 23, str(k), "code", "middle")
        c.text(bx + s * 1 + s / 2, by + s * k + 23, str(k), "code", "middle")
    c.arrow(ax + 4, ay + 2 * s - 8, ax + 4 * s - 4, ay + 2 * s - 8, "blue thick")
    c.arrow(bx + s - 9, by + 4, bx + s - 9, by + 4 * s - 4, "green thick")
    c.text(ax, ay - 10, "A", "large strong")
    c.text(bx - 22, by + 16, "B", "large strong")
    c.text(bx + 4 * s + 10, ay + 4 * s - 4, "C", "large strong")
    x = 400
    c.text(x, 42, "for each slice k = 0, 1, 2, 3:", "strong")
    c.label(x, 56, 300, 34, "load tile k of A, tile k of B", "panel")
    c.line(x, 104, x + 220, 104, "red thick")
    c.text(x + 228, 108, "barrier", "small red")
    c.text(x, 122, "the tiles are complete", "small muted")
    c.label(x, 134, 300, 34, "add 32 products to your own sum", "orange")
    c.line(x, 182, x + 220, 182, "red thick")
    c.text(x + 228, 186, "barrier", "small red")
    c.text(x, 200, "nobody reads them any more", "small muted")
    c.text(x, 238, "then store the sum in C", "strong")
    c.lines(
        x,
        272,
        ["Each number is loaded n / 32 times", "instead of n times (tiles of 32 × 32)."],
        "muted",
    )


@drawing(
    "x along a row, or across the rows",
    "Lanes 0 to 7 of a warp in a row-major matrix. If threadIdx.x is the column, the lanes access"
    " neighbouring elements of one row: 4 sectors for the 32 lanes. If threadIdx.x is the row, each"
    " lane accesses another row: 32 sectors.",
    220,
)
def x_along_the_row(c: Canvas) -> None:
    for side, x0 in enumerate((40, 396)):
        for row in range(4):
            for column in range(8):
                lane = column if not side else row
                used = row == 0 if not side else column == 0
                c.label(
                    x0 + 34 * column,
                    48 + 32 * row,
                    34,
                    32,
                    str(lane) if used else "",
                    "blue" if used else "panel",
                    "code",
                )
        title = "a[threadIdx.x * n + column]" if side else "a[row * n + threadIdx.x]"
        c.text(x0, 32, title, "code strong")
        c.text(x0, 210, "32 sectors: an eighth is used" if side else "4 sectors: all of it is used")
    c.text(396 + 17, 190, "⋮", "muted", "middle")


@drawing(
    "Two descriptions make a texture",
    "A resource description says which memory is read: linear, pitched, or a CUDA array. A texture"
    " description says how: address mode, filter mode, coordinates. Both together make a texture"
    " object, a 64-bit number, which kernels read with tex1Dfetch, tex1D or tex2D.",
    190,
)
def texture_object(c: Canvas) -> None:
    c.box(20, 16, 230, 158, "blue")
    c.text(34, 38, "cudaResourceDesc", "code strong")
    c.lines(
        34,
        66,
        [
            "which memory:",
            "linear memory → tex1Dfetch",
            "pitched memory → tex2D",
            "array → tex1D, 2D, 3D",
        ],
    )
    c.box(262, 16, 230, 158, "green")
    c.text(276, 38, "cudaTextureDesc", "code strong")
    c.lines(
        276,
        66,
        [
            "how it is read:",
            "clamp, border, wrap, mirror",
            "point or linear filter",
            "from 0 to n, or 0 to 1",
        ],
    )
    c.arrow(492, 95, 536, 95, "thick")
    c.box(536, 16, 164, 158, "orange")
    c.text(550, 38, "texture object", "strong")
    c.text(550, 60, "a 64-bit number", "muted")
    c.lines(550, 96, ["tex1Dfetch(t, i)", "tex1D(t, x)", "tex2D(t, x, y)"], "code")


@drawing(
    "What a texture of four texels returns outside",
    "Texels 0 to 3 hold 2, 5, 3 and 6, at the coordinates 0 to 4; each extends from one whole"
    " number"
    " to the next. Clamp repeats the last texel, border gives 0, wrap starts again from the"
    " beginning, and mirror goes back the way it came.",
    250,
)
def address_modes(c: Canvas) -> None:
    values = [2, 5, 3, 6]

    def at(mode: str, i: int) -> int:
        if mode == "clamp":
            return values[min(max(i, 0), 3)]
        if mode == "border":
            return values[i] if 0 <= i < 4 else 0
        if mode == "wrap":
            return values[i % 4]
        k = i % 8
        return values[k if k < 4 else 7 - k]

    c.text(20, 30, "coordinate", "muted")
    for i in range(-3, 9):
        c.text(150 + 48 * (i + 3), 30, str(i), "code muted", "middle")
    for row, mode in enumerate(["clamp", "border", "wrap", "mirror"]):
        y = 44 + 46 * row
        c.text(20, y + 22, mode, "strong")
        for i in range(-3, 8):
            inside = 0 <= i < 4
            x = 150 + 48 * (i + 3)
            c.label(x, y, 48, 34, str(at(mode, i)), "blue" if inside else "panel", "code")
            c.line(x, 36, x, 42)
    c.text(150 + 48 * 3, 242, "the texture", "blue strong")
    c.text(150 + 48 * 5.2, 242, "wrap and mirror: normalised coordinates only", "small muted")


@drawing(
    "The linear filter",
    "Texels with the values 2, 5, 1 at the centres 0.5, 1.5 and 2.5. Between the centres the filter"
    " returns the value on the straight line between them: at 1.0 half of 2 and half of 5, which is"
    " 3.5. The point filter, drawn as steps, returns the texel itself.",
    250,
)
def linear_filter(c: Canvas) -> None:
    x0, y0, sx, sy = 60, 206, 130, 30
    values = [2, 5, 1]
    for tick in range(4):
        c.line(x0 + sx * tick, y0, x0 + sx * tick, y0 + 6)
        c.text(x0 + sx * tick, y0 + 24, str(tick), "code", "middle")
    c.line(x0, y0, x0 + sx * 3 + 20, y0)
    c.line(x0, y0, x0, 30)
    for i, value in enumerate(values):
        c.line(x0 + sx * i, y0 - sy * value, x0 + sx * (i + 1), y0 - sy * value, "dashed")
    centres = [(x0 + sx * (i + 0.5), y0 - sy * v) for i, v in enumerate(values)]
    c.curve(centres, "blue thick")
    for i, (x, y) in enumerate(centres):
        c.circle(x, y, 6, "blue")
        c.text(
            x + (0, 0, 14)[i],
            y + (24, -12, -14)[i],
            f"T[{i}] = {values[i]}",
            "code",
            ("middle", "middle", "start")[i],
        )
    c.circle(x0 + sx, y0 - sy * 3.5, 5, "orange")
    c.line(x0 + sx, y0, x0 + sx, y0 - sy * 3.5, "orange dashed")
    c.text(x0 + sx + 12, y0 - sy * 3.5 + 18, "3.5", "code orange strong")
    c.lines(480, 60, ["u = 1.0", "u − 0.5 = 0.5 = i + w", "i = 0, w = 0.5"], "code")
    c.lines(480, 130, ["(1 − w) · T[0] + w · T[1]", "= 0.5 · 2 + 0.5 · 5 = 3.5"], "code")
    c.line(480, 176, 520, 176, "blue thick")
    c.text(530, 181, "linear")
    c.line(600, 176, 640, 176, "dashed")
    c.text(650, 181, "point")


@drawing(
    "Two buffers take turns",
    "In each time step the kernel reads the old temperatures from one buffer and writes new ones to"
    " the other; then the buffers swap roles. A cell reads itself and its four neighbours in the"
    " old buffer and writes only itself in the new one.",
    226,
)
def ping_pong(c: Canvas) -> None:
    cross = {(1, 0), (0, 1), (2, 1), (1, 2), (1, 1)}
    for side, x0 in enumerate((40, 270)):
        for y in range(3):
            for x in range(3):
                fill = "panel"
                if side == 0 and (x, y) in cross:
                    fill = "blue"
                if side == 1 and (x, y) == (1, 1):
                    fill = "orange"
                c.box(x0 + 40 * x, 52 + 40 * y, 40, 40, fill, 0)
    c.text(100, 38, "old: read", "strong", "middle")
    c.text(330, 38, "new: written", "strong", "middle")
    c.arrow(166, 112, 264, 112, "thick")
    c.text(215, 102, "one step", "small", "middle")
    c.bend([(330, 180), (330, 204), (100, 204), (100, 180)], "dashed")
    c.text(215, 221, "swap: the new one is the next step's old one", "small muted", "middle")
    rows = [("step 0", "A", "B"), ("step 1", "B", "A"), ("step 2", "A", "B")]
    for i, (name, old, new) in enumerate(rows):
        y = 60 + 44 * i
        c.text(460, y + 20, name, "muted")
        c.label(530, y, 50, 30, old, "blue", "code strong")
        c.arrow(584, y + 15, 626, y + 15)
        c.label(630, y, 50, 30, new, "orange", "code strong")
    c.text(555, 50, "reads", "small muted", "middle")
    c.text(655, 50, "writes", "small muted", "middle")


@drawing(
    "Tiles that overlap by their halos",
    "On the left a tile of eight times eight cells in the middle of the plate. After one time step"
    " its outermost ring is wrong, after two also the ring inside that one. The inner four times"
    " four cells are right, and are stored. On the right one row of the plate: block 0 loads the"
    " cells from -2 to 5 and stores 0 to 3; block 1 loads 2 to 9 and stores 4 to 7. So the tiles"
    " overlap by four cells.",
    240,
)
def overlapping_tiles(c: Canvas) -> None:
    for y in range(8):
        for x in range(8):
            ring = min(x, y, 7 - x, 7 - y)
            c.box(30 + 22 * x, 40 + 22 * y, 22, 22, ["red", "orange", "blue", "blue"][ring], 0)
    c.text(118, 28, "a tile, two time steps", "strong", "middle")
    for i, (fill, words) in enumerate(
        (("red", "wrong after 1"), ("orange", "wrong after 2"), ("blue", "stored"))
    ):
        c.box(228, 62 + 34 * i, 16, 16, fill, 0)
        c.text(252, 75 + 34 * i, words, "small")
    c.text(575, 28, "one row of the plate", "strong", "middle")
    x = lambda cell: 450 + 25 * cell  # noqa: E731
    for block, fill in enumerate(("blue", "green")):
        y, first = 46 + 58 * block, 4 * block - 2
        c.text(392, y + 19, f"block {block}", "", "end")
        fills = ["red", "orange", fill, fill, fill, fill, "orange", "red"]
        c.cells(x(first), y, list(range(first, first + 8)), fills, 25, 28, "code small")
        for cell in (0, 4) if block == 0 else (8,):
            c.line(x(cell), y + 28, x(cell), 172, "dashed")
    c.text(392, 191, "result", "", "end")
    c.cells(x(0), 172, list(range(8)), ["blue"] * 4 + ["green"] * 4, 25, 28, "code small")
    c.brace(x(2), x(6), 204, "loaded and computed twice", "small muted")


@drawing(
    "The same six numbers, by rows and by columns",
    "Memory holds 1 to 6. Read in rows of three they are a matrix of two rows. cuBLAS reads them in"
    " columns of three, and sees a matrix of three rows and two columns: the transposed one.",
    200,
)
def row_and_column_major(c: Canvas) -> None:
    fills = ["blue", "blue", "blue", "orange", "orange", "orange"]
    c.text(20, 42, "memory", "strong")
    c.cells(120, 22, [1, 2, 3, 4, 5, 6], fills, 40, 32, "code")
    c.text(60, 92, "you mean, row-major", "strong")
    c.cells(60, 104, [1, 2, 3], ["blue"], 40, 32, "code")
    c.cells(60, 136, [4, 5, 6], ["orange"], 40, 32, "code")
    c.text(200, 142, "2 rows, 3 columns", "muted")
    c.text(410, 92, "cuBLAS sees, column-major", "strong")
    for row in range(3):
        c.cells(410, 104 + 30 * row, [row + 1, row + 4], ["blue", "orange"], 40, 30, "code")
    c.text(510, 142, "3 rows, 2 columns:", "muted")
    c.text(510, 162, "the transposed matrix", "muted")


@drawing(
    "C = A B without a transposition",
    "You want C = A B with row-major matrices. cuBLAS sees each matrix transposed. So you ask it"
    " for"
    " what it sees in b times what it sees in a: B transposed times A transposed, which is C"
    " transposed. In memory that is C, by rows.",
    196,
)
def gemm_trick(c: Canvas) -> None:
    for y, title, names, fills in (
        (44, "you, row-major", ["C", "A", "B"], ["orange", "blue", "green"]),
        (134, "cuBLAS, column-major", ["Cᵀ", "Bᵀ", "Aᵀ"], ["orange", "green", "blue"]),
    ):
        c.text(20, y + 5, title, "strong")
        shapes = {"C": (92, 40), "A": (60, 40), "B": (92, 26)}
        x = 220
        for i, name in enumerate(names):
            w, h = shapes[name[0]]
            if name.endswith("ᵀ"):
                w, h = h, w * 0.8
            c.label(x, y - h / 2, w, h, name, fills[i], "strong")
            x += w + 16
            if i < 2:
                c.text(x, y + 5, "=" if i == 0 else "·", "large strong", "middle")
                x += 22
    c.text(700, 48, "C = A · B", "code", "end")
    c.text(700, 138, "gemm(…, b, …, a, …, c)", "code", "end")
    c.text(700, 160, "b first", "muted", "end")


@drawing(
    "cuBLAS-Xt divides the result into tiles",
    "The result C is divided into tiles, which are given to two devices in turn. For its tile a"
    " device is sent the tiles of one row of A and of one column of B, multiplies and adds them,"
    " and"
    " sends the tile of C back to the host.",
    270,
)
def xt_tiles(c: Canvas) -> None:
    s = 48
    ax, ay, bx, by = 30, 112, 170, 10
    for y in range(3):
        for x in range(2):
            c.box(ax + s * x, ay + s * y, s, s, "blue" if y == 1 else "panel", 0)
    for y in range(2):
        for x in range(3):
            c.box(bx + s * x, by + s * y, s, s, "green" if x == 1 else "panel", 0)
    for y in range(3):
        for x in range(3):
            device = (3 * x + y) % 2
            fill = "orange" if (x, y) == (1, 1) else "purple" if device else "panel"
            c.label(bx + s * x, ay + s * y, s, s, str(device), fill, "code strong")
    c.text(ax, ay - 8, "A", "large strong")
    c.text(bx - 20, by + 18, "B", "large strong")
    c.text(bx + 3 * s + 8, ay + 3 * s - 4, "C", "large strong")
    c.lines(
        380,
        60,
        [
            "The number in a tile of C is the device",
            "that computes it.",
            "",
            "For the orange tile device 0 is sent",
        ],
    )
    c.text(380, 136, "a row of tiles of A", "blue strong")
    c.text(380, 155, "and a column of tiles of B,", "green strong")
    c.lines(
        380,
        174,
        ["two tiles at a time, multiplies and adds.", "Then the tile goes back to the host."],
    )


@drawing(
    "Gaussian elimination with pivots",
    "Three stages of an elimination of a 4 by 4 matrix. In each the pivot is the largest number of"
    " what is left of its column; its row is exchanged with the current one. Multiples of the"
    " pivot's row are subtracted from the rows below. L grows on the left below the diagonal, U at"
    " the top.",
    230,
)
def elimination(c: Canvas) -> None:
    for stage in range(3):
        x0 = 30 + 220 * stage
        c.text(x0, 28, f"step {stage + 1}", "strong")
        for y in range(4):
            for x in range(4):
                if x == stage and y == stage:
                    fill, text = "orange", "p"
                elif y <= stage and x >= y:
                    fill, text = "green", "u"
                elif x < stage and y > x:
                    fill, text = "blue", "l"
                elif x == stage and y > stage:
                    fill, text = "blue", "l"
                else:
                    fill, text = "panel", "·"
                c.label(x0 + 36 * x, 42 + 36 * y, 36, 36, text, fill, "code")
        if stage < 2:
            c.arrow(x0 + 156, 114, x0 + 206, 114)
    c.text(30, 218, "p pivot", "orange strong")
    c.text(130, 218, "u final rows of U", "green strong")
    c.text(290, 218, "l factors, kept as L", "blue strong")
    c.text(470, 218, "· still to be changed", "muted")


def _wave(x: float) -> float:
    return 0.55 + 0.35 * math.sin(2.1 * x + 0.4)


@drawing(
    "Panels and midpoints of an integral",
    "The interval from a to b is cut into six panels. Each has a sample of f at its midpoint, where"
    " a texel of a texture has its centre. The integral is about the width of a panel times the sum"
    " of the samples.",
    220,
)
def midpoints(c: Canvas) -> None:
    x0, y0, w, h = 60, 180, 60, 140
    for i in range(6):
        value = _wave((i + 0.5) * 0.5)
        c.box(x0 + w * i, y0 - h * value, w, h * value, "blue", 0)
    c.curve([(x0 + w * 6 * k / 60, y0 - h * _wave(3 * k / 60)) for k in range(61)], "thick")
    for i in range(6):
        value = _wave((i + 0.5) * 0.5)
        c.circle(x0 + w * (i + 0.5), y0 - h * value, 5, "orange")
        c.text(x0 + w * (i + 0.5), y0 + 20, f"{i}.5", "code small", "middle")
    c.line(x0 - 10, y0, x0 + w * 6 + 20, y0)
    c.text(x0 + w * 6 + 28, y0 + 20, "u", "code")
    c.lines(480, 70, ["sample i is texel i,", "its centre is at u = i + 0.5"])
    c.lines(480, 130, ["integral ≈ h · Σ samples[i]", "h = (to − from) / n"], "code")
