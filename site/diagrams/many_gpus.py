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
