# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 12: what devices send each other."""

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "Three devices exchange the rows at their borders",
    "A plate of 12 rows on three devices, four rows each. A device also has a copy of the row"
    " before its first one and of the row after its last one, where it has a neighbour. Before each"
    " time step it sends its first row to the device above and its last row to the device below."
    " Device 1, in the middle, has rows 4 to 7 and copies of rows 3 and 8; it sends row 4 to device"
    " 0 and row 7 to device 2. Device 0 begins and device 2 ends at an edge of the plate.",
    280,
)
def halo_exchange(c: Canvas) -> None:
    top, width, distance, height = 42, 150, 30, 26
    fills = ("blue", "green", "purple")
    c.text(70, 24, "the plate", "strong", "middle")
    for row in range(12):
        c.cells(20, top + 15 * row, [f"row {row}"], [fills[row // 4]], 100, 15, "small")
    x = lambda device: 180 + 190 * device  # noqa: E731
    middle = lambda place: top + distance * place + height / 2  # noqa: E731
    for device in range(3):
        c.text(x(device) + width / 2, 24, f"device {device}", "strong", "middle")
        for place in range(6):
            row, y = 4 * device - 1 + place, top + distance * place
            if not 0 <= row < 12:
                c.label(x(device), y, width, height, "edge of the plate", "empty", "small muted")
            elif place in (0, 5):
                c.label(x(device), y, width, height, f"copy of row {row}", "orange", "small")
            else:
                c.label(x(device), y, width, height, f"row {row}", fills[device], "small")
    for device in range(2):
        right, left = x(device) + width + 2, x(device + 1) - 2
        c.arrow(right, middle(4), left, middle(0), "thick")
        c.arrow(left, middle(1), right, middle(5), "thick")
    c.text(180, 246, "Orange: the halo. Copied before each time step, and then only read.", "small")
    c.text(180, 266, "Each device computes its own four rows and no others.", "small")


@drawing(
    "An all-reduce in a ring of four devices",
    "Each of four devices has an array in four pieces, drawn as a column. The number in a piece"
    " says how many devices' numbers are added up in it. In each step every device sends one piece"
    " to the next device, and the last one to the first. In steps 1 to 3 the receiver adds it to"
    " its own piece; then every device has one piece with the sum of all four. In steps 4 to 6"
    " these sums are passed on and replace the pieces of the receivers, until every device has all"
    " four.",
    296,
)
def all_reduce_ring(c: Canvas) -> None:
    devices, size, gap, left, top = 4, 20, 16, 58, 122
    for device in range(devices):
        c.label(left + 166 * device, 14, 100, 28, f"device {device}", "blue")
        if device:
            c.arrow(left + 166 * device - 66, 28, left + 166 * device, 28, "thick")
    last = left + 166 * (devices - 1) + 50
    c.bend([(last, 42), (last, 62), (left + 50, 62), (left + 50, 42)], "thick")
    sums = [[1] * devices for _ in range(devices)]  # of how many devices: [device][piece]
    for piece in range(devices):
        c.text(left - 8, top + size * piece + 15, f"piece {piece}", "small muted", "end")
    for step in range(2 * devices - 1):
        x = left + (devices * size + gap) * step
        before, arrived = [list(each) for each in sums], set()
        for device in range(devices if step else 0):
            piece = (device - step) % devices
            own = before[device][piece] if step < devices else 0
            sums[device][piece] = before[device - 1][piece] + own
            arrived.add((device, piece))
        title = f"step {step}" if step else "before"
        c.text(x + devices * size / 2, top - 26, title, "small strong", "middle")
        for device in range(devices):
            c.text(x + size * (device + 0.5), top - 7, str(device), "small muted", "middle")
            for piece in range(devices):
                complete = sums[device][piece] == devices
                fill = "green" if complete else "panel"
                if (device, piece) in arrived:
                    fill = "orange"
                texts = [sums[device][piece]]
                c.cells(x + size * device, top + size * piece, texts, [fill], size, size, "code")
    assert sums == [[devices] * devices] * devices
    step_width = devices * size + gap
    c.brace(
        left + step_width, left + 4 * step_width - gap, 208, "reduce-scatter: it is added", "small"
    )
    c.brace(
        left + 4 * step_width, left + 7 * step_width - gap, 208, "all-gather: it replaces", "small"
    )
    c.text(
        left,
        264,
        "Columns are devices. Orange: what has just come from the device before, around the ring.",
        "small",
    )
    c.text(
        left,
        284,
        "Each device sends a quarter of the array six times: 1.5 times the array.",
        "small",
    )
