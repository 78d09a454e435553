# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 19: several devices, and libraries that use them together."""

from typing import Sequence

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


def _row(c: Canvas, x: float, y: float, texts: Sequence[str], fill: str, size: float) -> None:
    c.cells(x, y, texts, [fill if text else "panel" for text in texts], size, 26, "code")


@drawing(
    "Four collectives of three devices",
    "Device 0 has the array a, device 1 b, device 2 c, of three elements each. After an all-reduce,"
    " every device has the three sums. After a broadcast from device 1, every device has b. After"
    " an all-gather, every device has a, b and c. After a reduce-scatter, each device has one of"
    " the three sums.",
    316,
)
def collectives(c: Canvas) -> None:
    arrays = [[f"{name}{i}" for i in range(3)] for name in "abc"]
    sums = [f"Σ{i}" for i in range(3)]
    c.text(140, 24, "before", "strong")
    for device, array in enumerate(arrays):
        y = 40 + 34 * device
        c.text(20, y + 18, f"device {device}", "small")
        _row(c, 140, y, array, "blue", 30)
    groups = (
        (260, 24, "all-reduce", 30, [sums] * 3, "orange"),
        (400, 24, "broadcast from 1", 30, [arrays[1]] * 3, "green"),
        (300, 180, "all-gather", 26, [arrays[0] + arrays[1] + arrays[2]] * 3, "green"),
        (140, 180, "reduce-scatter", 30, [[s] for s in sums], "orange"),
    )
    for x, y, name, size, after, fill in groups:
        c.text(x, y, name, "strong")
        for device, texts in enumerate(after):
            if x == 140:
                c.text(20, y + 34 + 34 * device, f"device {device}", "small")
            _row(c, x, y + 16 + 34 * device, texts, fill, size)
    c.text(20, 308, "Σi = ai + bi + ci", "small muted")


@drawing(
    "A rank that fails",
    "Three ranks, each a host thread. Rank 1 fails before its call. Without a way to learn of it,"
    " ranks 0 and 2 wait for ever in cudaStreamSynchronize. With a flag that all ranks look at"
    " while they poll, they abort their communicators soon after, and report.",
    290,
)
def failing_rank(c: Canvas) -> None:
    for part, title in enumerate(("waiting for the stream", "polling, with a flag for all ranks")):
        top = 26 + 140 * part
        c.text(20, top, title, "strong")
        for rank in range(3):
            y = top + 14 + 34 * rank
            c.text(20, y + 18, f"rank {rank}", "code")
            c.label(100, y, 90, 26, "prepare", "blue", "small")
            if rank == 1:
                c.label(196, y, 70, 26, "fails", "red" if part == 0 else "orange", "small")
                if part == 1:
                    c.label(272, y, 90, 26, "abort", "green", "small")
                continue
            c.label(196, y, 130, 26, "ncclAllReduce", "blue", "small")
            if part == 0:
                c.label(332, y, 340, 26, "waits, and nobody comes", "panel", "small")
                c.arrow(672, y + 13, 700, y + 13)
            else:
                c.label(332, y, 90, 26, "polls", "panel", "small")
                c.label(428, y, 70, 26, "abort", "green", "small")
                c.label(504, y, 90, 26, "reports", "green", "small")


@drawing(
    "Sample sort on three devices",
    "Each device sorts its keys and cuts them at the two splitters, which come from samples of all"
    " devices. Bucket 0 of every device goes to device 0, bucket 1 to device 1, bucket 2 to device"
    " 2. Each device sorts what it has received. The devices one after the other hold the sorted"
    " keys.",
    348,
)
def sample_sort(c: Canvas) -> None:
    keys = [[3, 9, 14, 21, 22, 30], [1, 2, 8, 15, 19, 28], [5, 11, 12, 24, 26, 27]]
    splitters = (11, 22)  # as the text says
    fills, size = ("blue", "green", "orange"), 32

    def bucket(key: int) -> int:
        return sum(key >= splitter for splitter in splitters)

    sorted_and_cut = "each device has sorted its keys, and cuts them at the splitters 11 and 22"
    c.text(20, 26, sorted_and_cut, "strong")
    for device, own in enumerate(keys):
        x = 20 + 236 * device
        c.text(x, 52, f"device {device}", "small muted")
        c.cells(x, 60, [str(k) for k in own], [fills[bucket(k)] for k in own], size, 30, "code")
    for sender in range(3):
        for receiver in range(3):
            mine = [i for i, k in enumerate(keys[sender]) if bucket(k) == receiver]
            x = 20 + 236 * sender + size * (mine[0] + mine[-1] + 1) / 2
            c.arrow(x, 92, 20 + 236 * receiver + 32 * (1 + 2 * sender), 202)
    c.text(
        20,
        330,
        "each device sorts what it has received; read in the order of the devices, all"
        " keys are sorted",
        "small muted",
    )
    for device in range(3):
        x = 20 + 236 * device
        got = [k for own in keys for k in own if bucket(k) == device]
        c.cells(x, 206, [str(k) for k in got], [fills[device]] * len(got), size, 30, "code")
        c.arrow(x + 3 * size, 238, x + 3 * size, 262)
        texts = [str(k) for k in sorted(got)]
        c.cells(x, 266, texts, [fills[device]] * len(got), size, 30, "code")
