# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 19: copies between devices, and exchanges that overlap with the computation."""

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "From one device to another: directly, or by way of the host",
    "Left: two devices that can access each other. One copy goes from the memory of device 0 to"
    " that of device 1. Right: two devices that cannot. A first copy goes from device 0 into pinned"
    " memory of the host, and a second one from there to device 1.",
    210,
)
def direct_or_through_host(c: Canvas) -> None:
    for left, direct in ((20, True), (380, False)):
        title = "peer access" if direct else "no peer access"
        c.text(left + 150, 24, title, "strong", "middle")
        c.label(left + 90, 40, 120, 44, "host memory", "green" if not direct else "empty")
        c.label(left, 140, 110, 44, "device 0", "blue")
        c.label(left + 190, 140, 110, 44, "device 1", "blue")
        if direct:
            c.arrow(left + 110, 162, left + 190, 162, "thick")
            c.text(left + 150, 152, "one copy", "small", "middle")
        else:
            c.arrow(left + 70, 140, left + 120, 84, "thick")
            c.arrow(left + 180, 84, left + 230, 140, "thick")
            c.text(left + 84, 112, "1", "strong", "end")
            c.text(left + 216, 112, "2", "strong")


@drawing(
    "Two hops, whole and in pieces",
    "Above, the data leave device 0 as a whole, and then arrive at device 1. Below, they go in four"
    " pieces: while piece 1 arrives, piece 2 leaves. Two places in the memory of the host take"
    " turns. An arrow is an event: an arrival waits for its piece, and piece 3 leaves when piece 1"
    " has arrived, because both use place 0.",
    262,
)
def hops_in_pieces(c: Canvas) -> None:
    left, whole = 150, 256
    for top, title, count in ((26, "through_host", 1), (154, "in_pieces", 4)):
        width = whole / count
        c.text(20, top, title, "code")
        c.text(20, top + 34, "out of device 0", "small")
        c.text(20, top + 86, "into device 1", "small")
        for i in range(count):
            out, into = left + width * i, left + width * (i + 1)
            name = str(i + 1) if count > 1 else "all words"
            fill = "orange" if i % 2 == 0 else "purple"
            c.label(out, top + 14, width - 8, 30, name, fill, "small")
            c.label(into, top + 66, width - 8, 30, name, fill, "small")
            c.arrow(out + width - 12, top + 44, into + 6, top + 66)
            if count > 1 and i + 2 < count:
                c.arrow(into + width - 12, top + 66, into + width + 6, top + 44)
    c.text(510, 202, "orange: place 0", "small muted")
    c.text(510, 222, "purple: place 1", "small muted")


@drawing(
    "Two time steps on two devices, without overlap and with it",
    "Above: each device exchanges rows with its neighbour, waits for them, and computes all its"
    " rows. Below: each has two streams. In one, the rows at the borders are computed and then"
    " sent. In the other, all other rows are computed at the same time. Before the next time step"
    " each stream waits for the other one, and for the rows of the neighbour.",
    330,
)
def overlapped_exchange(c: Canvas) -> None:
    left, border, copy, inner = 150, 40, 100, 150
    c.text(20, 26, "exchange_first", "code")
    for device in range(2):
        y = 40 + 40 * device
        c.text(20, y + 20, f"device {device}", "small")
        for step in range(2):
            x = left + (copy + border + inner) * step - 20 * step
            c.label(x, y, copy - 4, 30, "exchange", "orange", "small")
            width = border + inner - 24
            c.label(x + copy, y, width, 30, f"all rows, step {step + 1}", "blue", "small")
    c.text(20, 150, "overlapped", "code")
    turn = inner + 24
    for device in range(2):
        y = 164 + 82 * device
        c.text(20, y + 20, f"device {device}, queue", "small")
        c.text(20, y + 54, f"device {device}, inner", "small")
        for step in range(2):
            x = left + turn * step
            c.label(x, y, border - 4, 30, str(step + 1), "green", "small")
            c.label(x + border, y, copy - 4, 30, "exchange", "orange", "small")
            c.label(x, y + 36, inner - 4, 30, f"others, step {step + 1}", "blue", "small")
            if step == 0:
                c.arrow(x + inner - 4, y + 42, x + turn, y + 24)
                c.arrow(x + border - 4, y + 26, x + turn, y + 44)
    c.text(520, 180, "green: the rows at the borders", "small muted")
    c.text(520, 200, "arrows: events", "small muted")


@drawing(
    "A halo of three rows is enough for three time steps",
    "The rows of one device in four columns: after the exchange, and after one, two and three time"
    " steps. The device has four own rows, and a halo of three rows above and below. After each"
    " time step one row of the halo less is right: two, one, none. The own rows always are.",
    290,
)
def shrinking_halo(c: Canvas) -> None:
    height, width, own, halo = 22, 118, 4, 3
    for step in range(halo + 1):
        x = 150 + (width + 20) * step
        title = f"after step {step}" if step else "exchanged"
        c.text(x + width / 2, 24, title, "small strong", "middle")
        for place in range(own + 2 * halo):
            row = place - halo
            outside = max(-row, row - own + 1, 0)  # how far from the own rows
            y = 36 + height * place
            if outside == 0:
                c.label(x, y, width, height - 3, f"row {row}", "blue", "small")
            elif outside <= halo - step:
                c.label(x, y, width, height - 3, f"row {row}", "orange", "small")
            else:
                c.label(x, y, width, height - 3, "out of date", "empty", "small muted")
    c.text(20, 36 + height * 1.7, "halo", "small")
    c.text(20, 36 + height * 5.2, "own rows", "small")
    c.text(20, 36 + height * 8.7, "halo", "small")
    c.text(150, 282, "In wide_halo, the next exchange follows after step 3.", "small muted")
