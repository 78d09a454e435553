# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 17: graphs, and copies that overlap."""

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "Kernels that are shorter than their launches",
    "Above, the host launches five kernels one after the other. The device runs each as soon as it"
    " is launched, and waits for the next one. Below, the host launches a graph, and the device"
    " runs its five kernels without gaps. The host is free.",
    280,
)
def launch_gaps(c: Canvas) -> None:
    launch, kernel, count = 96, 34, 5
    c.text(20, 26, "five launches", "strong")
    c.text(20, 64, "host", "code")
    c.text(20, 112, "device", "code")
    for i in range(count):
        x = 100 + launch * i
        c.label(x, 44, launch - 6, 30, f"launch {i + 1}", "orange", "small")
        c.arrow(x + launch - 6, 74, x + launch, 92)
        c.label(x + launch, 92, kernel, 30, str(i + 1), "blue", "code")
    c.text(100 + launch * count + kernel + 14, 112, "not to scale", "small muted")
    c.text(20, 162, "a launch of a graph", "strong")
    c.text(20, 200, "host", "code")
    c.text(20, 248, "device", "code")
    c.label(100, 180, 1.3 * launch, 30, "launch the graph", "green", "small")
    c.text(100 + 1.3 * launch + 14, 200, "free for other work", "small muted")
    c.arrow(100 + 1.3 * launch, 210, 106 + 1.3 * launch, 228)
    for i in range(count):
        x = 106 + 1.3 * launch + (kernel + 3) * i
        c.label(x, 228, kernel, 30, str(i + 1), "blue", "code")


@drawing(
    "A graph of four time steps, and its update",
    "Four nodes in a row. The first one reads buffer A and writes B, the second one reads B and"
    " writes A, and so on. All have strength 1. The update gives all of them strength 0.5. An odd"
    " number of single launches came in between, so they also get the buffers the other way round.",
    240,
)
def graph_of_steps(c: Canvas) -> None:
    rows = (("captured first", "A", "B", "1", "blue"), ("updated", "B", "A", "0.5", "green"))
    for row, (name, first, second, strength, fill) in enumerate(rows):
        y = 46 + 104 * row
        c.text(20, y - 14, name, "strong")
        for node in range(4):
            x = 20 + 172 * node
            reads, writes = (first, second) if node % 2 == 0 else (second, first)
            c.box(x, y, 136, 52, fill)
            c.text(x + 68, y + 22, f"reads {reads}, writes {writes}", "small", "middle")
            c.text(x + 68, y + 42, f"strength {strength}", "small", "middle")
            if node < 3:
                c.arrow(x + 136, y + 26, x + 172, y + 26)
    between = "Between them an odd number of single launches: the newest cells are in B."
    c.text(20, 226, between, "small muted")


@drawing(
    "Stages of a pipeline",
    "Above, one stage: each slice is copied, and then multiplied. Below, two stages: while slice 1"
    " is multiplied in stage 0, slice 2 is copied to stage 1. Then the stages change places. Only"
    " the first copy is waited for.",
    330,
)
def pipeline_stages(c: Canvas) -> None:
    copy, multiply, left = 104, 84, 130
    c.text(20, 26, "one stage", "strong")
    c.text(20, 62, "stage 0", "code")
    for i in range(3):
        x = left + (copy + multiply) * i
        c.label(x, 42, copy - 4, 30, f"copy {i + 1}", "orange", "small")
        c.label(x + copy, 42, multiply - 4, 30, f"multiply {i + 1}", "blue", "small")
    c.text(20, 112, "two stages", "strong")
    for stage in range(2):
        c.text(20, 148 + 48 * stage, f"stage {stage}", "code")
    for i in range(5):
        y = 128 + 48 * (i % 2)
        start = left + copy * i
        c.label(start, y, copy - 4, 30, f"copy {i + 1}", "orange", "small")
        if i < 4:
            c.label(start + copy, y, multiply - 4, 30, f"multiply {i + 1}", "blue", "small")
    c.text(20, 250, "barriers", "code")
    for i in range(4):
        x = left + copy * (i + 1) - 2
        c.line(x, 120, x, 214)
        c.text(x, 250, str(i + 1), "code", "middle")
    meaning = (
        "Barrier i: all copies of slice i have arrived, and all threads have multiplied slice",
        "i - 1, whose stage is free for slice i + 1. Not to scale.",
    )
    c.lines(20, 286, meaning, "small muted")


@drawing(
    "A box at the corner of a matrix",
    "The matrix begins in the middle of the picture. The box of the first tile begins four columns"
    " left of it and four rows above it. The tile is inside, with a halo around it. What is outside"
    " of the matrix becomes zeros in shared memory, and all 6400 bytes of the box count.",
    300,
)
def tensor_box(c: Canvas) -> None:
    c.text(20, 26, "global memory", "strong")
    c.box(100, 90, 250, 190, "panel", 0)
    c.text(340, 270, "matrix", "small", "end")
    c.box(60, 50, 160, 160, "empty", 0)
    c.box(100, 90, 120, 120, "blue", 0)
    c.box(100, 90, 80, 80, "green", 0)
    c.text(140, 135, "tile", "small", "middle")
    c.text(64, 44, "box, at (-4, -4)", "small")
    c.text(470, 26, "shared memory", "strong")
    c.box(470, 50, 160, 160, "orange", 0)
    c.box(510, 90, 120, 120, "blue", 0)
    c.box(510, 90, 80, 80, "green", 0)
    c.text(550, 135, "tile", "small", "middle")
    c.text(550, 76, "zeros", "small", "middle")
    c.arrow(228, 130, 462, 130)
    c.text(400, 118, "one copy", "small", "middle")
    c.text(470, 236, "The barrier counts 40 x 40 x 4 bytes,", "small muted")
    c.text(470, 256, "zeros included.", "small muted")


@drawing(
    "Phases of two barriers",
    "The turns of a block use two stages alternately. While one tile is used, the next one is"
    " copied to the other stage. Each use of a stage is a phase of its barrier; the parities of"
    " these phases are false, false, true, true, and so on, turn by turn.",
    250,
)
def two_stage_phases(c: Canvas) -> None:
    wide, left = 112, 120
    c.text(20, 62, "stage 0", "code")
    c.text(20, 112, "stage 1", "code")
    c.text(20, 168, "turn", "small")
    c.text(20, 198, "waits for", "small")
    for turn in range(4):
        x = left + wide * (turn + 1)
        y = 42 + 50 * (turn % 2)
        c.label(x - wide, y, wide - 4, 30, f"copy {turn}", "orange", "small")
        c.label(x, y, wide - 4, 30, f"use {turn}", "blue", "small")
        c.text(x + wide / 2, 168, str(turn), "small", "middle")
        parity = "true" if turn // 2 % 2 else "false"
        c.text(x + wide / 2, 198, f"full[{turn % 2}], {parity}", "small", "middle")
        c.line(x - 2, 34, x - 2, 150, "dashed")
    meaning = "Dashed: a barrier of the block between two turns. Not to scale."
    c.text(20, 238, meaning, "small muted")


@drawing(
    "Jobs with cudaMalloc, and with memory in stream order",
    "Above, the host allocates, launches, and waits in cudaFree until the job has finished: the"
    " device is idle while the host allocates, frees and launches. Below, the host puts the"
    " allocation, the job and the freeing of three jobs into the stream, and the device runs one"
    " job after the other.",
    300,
)
def stream_ordered_memory(c: Canvas) -> None:
    c.text(20, 26, "cudaMalloc, cudaFree", "code")
    c.text(20, 62, "host", "strong")
    c.text(20, 108, "device", "strong")
    allocate, launch, run, free = 50, 20, 76, 36
    turn = allocate + launch + run + free + 4
    for i in range(3):
        x = 90 + turn * i
        c.label(x, 42, allocate, 30, "malloc", "orange", "small")
        c.box(x + allocate, 42, launch, 30, "blue")
        c.label(x + allocate + launch, 42, run, 30, "waits", "empty", "small")
        c.label(x + allocate + launch + run, 42, free, 30, "free", "orange", "small")
        c.label(x + allocate + launch, 88, run, 30, f"job {i + 1}", "blue", "small")
    c.text(20, 166, "cudaMallocAsync, cudaFreeAsync", "code")
    c.text(20, 202, "host", "strong")
    c.text(20, 248, "device", "strong")
    for i in range(3):
        x = 90 + 44 * i
        c.box(x, 182, 10, 30, "orange")
        c.box(x + 10, 182, launch, 30, "blue")
        c.box(x + 10 + launch, 182, 10, 30, "orange")
        c.label(104 + launch + (run + 2) * i, 228, run, 30, f"job {i + 1}", "blue", "small")
    c.label(90 + 44 * 3, 182, 136, 30, "waits once", "empty", "small")
    c.text(20, 288, "Orange: allocation and freeing. Not to scale.", "small muted")


@drawing(
    "Memory that two streams take turns with",
    "The first stream writes job 1 into memory A and job 2 into memory B. The second stream reads"
    " A for job 1, frees it, then reads B. Job 3 begins in the first stream when A has been freed,"
    " and gets A again. Arrows show the events.",
    276,
)
def memory_of_two_streams(c: Canvas) -> None:
    wide, step, left = 92, 120, 110
    c.text(20, 46, "first stream", "small")
    c.text(20, 136, "second stream", "small")
    for i in range(4):
        x = left + step * i
        c.label(x, 26, wide, 32, f"job {i + 1}, pass 1", "blue", "small")
        c.label(x + step, 116, wide, 32, f"job {i + 1}, pass 2", "green", "small")
        c.arrow(x + wide, 58, x + step, 116)
        if i < 2:
            c.arrow(x + step + wide, 116, x + 2 * step, 58)
    for row, name in enumerate(("memory A", "memory B")):
        y = 174 + 36 * row
        c.text(20, y + 19, name, "small")
        for i in (row, row + 2):
            c.label(left + step * i, y, step + wide, 28, f"of job {i + 1}", "orange", "small")
    c.text(20, 266, "Down: pass 1 has written. Up: the memory has been freed.", "small muted")
