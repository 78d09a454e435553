# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 18: number formats, and how matrices get into tensor cores."""

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "The formats of tensor cores",
    "A float has a sign, 8 bits of exponent and 23 bits of fraction. TF32 has the same exponent"
    " and 10 bits of fraction; the other 13 bits of the 32 are ignored. bfloat16 has 8 and 7 bits,"
    " half 5 and 10. One half of the distance between 1 and the next number is 2 to the -24 for"
    " float, 2 to the -11 for TF32 and half, 2 to the -8 for bfloat16.",
    262,
)
def number_formats(c: Canvas) -> None:
    formats = (
        ("float", 8, 23, 0, "2⁻²⁴", "3.4 · 10³⁸"),
        ("TF32", 8, 10, 13, "2⁻¹¹", "3.4 · 10³⁸"),
        ("bfloat16", 8, 7, 0, "2⁻⁸", "3.4 · 10³⁸"),
        ("half", 5, 10, 0, "2⁻¹¹", "65 504"),
    )
    left, bit = 94, 13
    c.text(left + bit, 24, "sign, exponent, fraction", "small muted")
    c.text(560, 24, "unit roundoff", "small muted", "middle")
    c.text(668, 24, "largest", "small muted", "middle")
    for i, (name, exponent, fraction, ignored, unit, largest) in enumerate(formats):
        y = 40 + 48 * i
        c.text(20, y + 22, name, "strong")
        c.box(left, y, bit, 34, "panel", 0)
        c.label(left + bit, y, exponent * bit, 34, str(exponent), "orange")
        c.label(left + bit * (1 + exponent), y, fraction * bit, 34, str(fraction), "blue")
        if ignored:
            x = left + bit * (1 + exponent + fraction)
            c.label(x, y, ignored * bit, 34, "ignored", "panel", "small muted")
        c.text(560, y + 22, unit, "", "middle")
        c.text(668, y + 22, largest, "", "middle")
    note = "Lengths are bits. All four have one more bit of precision: a 1 that is not stored."
    c.text(20, 250, note, "small muted")


@drawing(
    "The fragments of a warp of register_blocks",
    "A warp has 4 by 2 tiles of sums. For every 16 elements of k it loads four fragments of A,"
    " one for each row of tiles, and two of B, one for each column, and multiplies each with each:"
    " eight products for six loads. With one tile it would load two fragments for one product.",
    324,
)
def register_blocks(c: Canvas) -> None:
    size = 50

    def warp(left: float, rows: int, columns: int, name: str, loads: str) -> None:
        top = 108
        for row in range(rows):
            c.label(left, top + size * row, size - 4, size - 4, f"A{row}", "orange")
            for column in range(columns):
                x = left + size * (column + 1) + 14
                words = f"A{row}·B{column}"
                c.label(x, top + size * row, size - 4, size - 4, words, "green", "small")
        for column in range(columns):
            x = left + size * (column + 1) + 14
            c.label(x, top - size - 10, size - 4, size - 4, f"B{column}", "blue")
        c.text(left, 22, name, "strong")
        c.text(left, 40, loads, "small")

    warp(40, 1, 1, "shared_tiles", "2 loads for 1 product")
    warp(330, 4, 2, "register_blocks", "6 loads for 8 products")
    notes = ("Each square is a fragment of", "16 × 16 elements that the", "32 lanes hold together.")
    c.lines(40, 190, notes, "small muted")
    c.text(520, 132, "fragments of sums", "small green strong")
    c.text(520, 152, "stay in registers for all of k", "small muted")


@drawing(
    "A tile in swizzled shared memory, and its descriptor",
    "Left: eight rows of a tile, of 32 floats or 128 bytes each, as they lie in shared memory. A"
    " row has eight pieces of 16 bytes. In row r, piece p is at place p xor r: row 0 holds 0 1 2 3"
    " 4 5 6 7, row 1 holds 1 0 3 2 5 4 7 6, row 7 the reverse order. Pieces 0 and 1, the first 8"
    " floats of each row, are marked: piece 0 of the eight rows is in eight different places."
    " Right: the 64 bits of a descriptor. Bits 0 to 13 are the address divided by 16, bits 32 to"
    " 45 the distance from 8 rows to the next 8, 1024 bytes divided by 16 is 64, and bits 62 and"
    " 63 the swizzle, 1 for 128 bytes. The next 8 floats along k are 32 bytes further on: the"
    " address field grows by 2.",
    330,
)
def swizzled_tile(c: Canvas) -> None:
    left, top, size = 60, 56, 36
    c.text(left, 22, "8 rows of a tile: 1024 bytes", "strong")
    for place in range(8):
        x = left + size * (place + 0.5)
        c.text(x, top - 8, str(16 * place), "small muted", "middle")
    c.text(left - 8, top - 8, "byte", "small muted", "end")
    for row in range(8):
        pieces = [place ^ row for place in range(8)]
        fills = ["orange" if piece < 2 else "panel" for piece in pieces]
        c.cells(left, top + 26 * row, pieces, fills, size, 26, "small")
        c.text(left - 8, top + 26 * row + 18, f"row {row}", "small muted", "end")
    notes = (
        "A number is a piece of 4 floats along k: piece p of row r is at p xor r. Orange: the",
        "first 8 floats of each row. Piece 0 of the eight rows is in eight places: all 32 banks,",
        "once. Without the swizzle all eight would be in the same 4 banks.",
    )
    c.lines(16, top + 232, notes, "small")
    x, y = 400, 56
    c.text(x, 22, "descriptor: 64 bits", "strong")
    rows = (
        ("0 … 13", "address / 16", "orange"),
        ("16 … 29", "(not used with a swizzle)", "panel"),
        ("32 … 45", "8 rows to the next 8: 1024 / 16 = 64", "blue"),
        ("49 … 51", "0: tiles begin at multiples of 1024", "panel"),
        ("62 … 63", "swizzle: 1, of 128 bytes", "green"),
    )
    for i, (bits, words, fill) in enumerate(rows):
        c.label(x, y + 34 * i, 64, 28, bits, "panel", "code small")
        c.box(x + 68, y + 34 * i, 236, 28, fill)
        c.text(x + 76, y + 34 * i + 19, words, "small")
    c.text(x, y + 196, "8 floats further along k:", "small")
    c.text(x, y + 214, "32 bytes, so + 2 in the address", "small")


@drawing(
    "A producer and two consumers around a ring of four stages",
    "Above, the ring: four stages, each with a tile of A and one of B, and two barriers, full and"
    " empty. Left the producer, one thread, waits until a stage is empty and starts two bulk"
    " copies into it. Right two warpgroups wait until a stage is full, start products that read"
    " it, and release the stage of the slice before when its products are done. Stage 0 is being"
    " read, stage 1 is full, stages 2 and 3 are being filled.",
    270,
)
def ring_of_stages(c: Canvas) -> None:
    c.label(16, 84, 132, 60, "producer", "orange", "strong")
    c.text(82, 166, "one thread", "small muted", "middle")
    for consumer in range(2):
        c.label(572, 58 + 72 * consumer, 132, 52, f"consumer {consumer}", "green", "strong")
    c.text(638, 202, "128 threads each", "small muted", "middle")
    states = ("read", "full", "on its way", "on its way")
    fills = ("green", "blue", "orange", "orange")
    for stage in range(4):
        x = 196 + 86 * stage
        c.text(x + 38, 50, f"stage {stage}", "small", "middle")
        c.label(x, 60, 76, 40, "A", fills[stage])
        c.label(x, 104, 76, 40, "B", fills[stage])
        c.text(x + 38, 164, states[stage], "small", "middle")
    c.arrow(148, 102, 192, 102, "thick")
    c.text(160, 32, "bulk copies", "small", "middle")
    c.arrow(540, 102, 568, 88, "thick")
    c.arrow(540, 118, 568, 150, "thick")
    c.bend([(638, 218), (638, 236), (82, 236), (82, 176)], "dashed")
    c.text(360, 228, "empty: one lane of each consumer's warp has arrived", "small", "middle")
    full = "full: the producer has arrived once, and all bytes of both tiles have"
    c.text(360, 258, full, "small", "middle")
