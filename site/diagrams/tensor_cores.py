# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 18: number formats, and how matrices get into tensor cores."""

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "The formats of tensor cores",
    "A float has a sign, 8 bits of exponent and 23 bits of fraction. TF32 has the same exponent and"
    " 10 bits of fraction; the other 13 bits of the 32 are ignored. bfloat16 has 8 and 7 bits, half"
    " 5 and 10. One half of the distance between 1 and the next number is 2 to the -24 for float,"
    " 2 to the -11 for TF32 and half, 2 to the -8 for bfloat16.",
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
    "A warp has 4 by 2 tiles of sums. For every 16 elements of k it loads four fragments of A, one"
    " for each row of tiles, and two of B, one for each column, and multiplies each with each:"
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
