# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 20: processes on several nodes."""

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "A program starts its own ranks",
    "The program that you run calls the contract. That starts mpirun, which starts the same file"
    " once for each rank. Four ranks are shown on two nodes, two on each. Ranks 0 and 1 are on node"
    " 0 with local ranks 0 and 1; ranks 2 and 3 are on node 1, again with local ranks 0 and 1. Each"
    " uses the device of its local rank, 0 or 1. The ranks send their answers back to the program.",
    268,
)
def mpi_job(c: Canvas) -> None:
    c.label(20, 92, 120, 44, "your program", "blue")
    c.label(190, 92, 90, 44, "mpirun", "panel")
    c.arrow(140, 114, 190, 114, "thick")
    for node in range(2):
        top = 8 + 120 * node
        c.box(340, top, 365, 106)
        c.text(350, top + 18, f"node {node}", "strong")
        for local in range(2):
            rank, y = 2 * node + local, top + 26 + 38 * local
            c.label(350, y, 90, 30, f"rank {rank}", "green")
            c.label(448, y, 110, 30, f"local rank {local}", "orange", "small")
            c.label(606, y, 90, 30, f"device {local}", "purple")
            c.arrow(558, y + 15, 606, y + 15, "thick")
            c.arrow(280, 114, 350, y + 15)
    c.text(20, 206, "The same file, started", "small")
    c.text(20, 224, "once more for each rank.", "small")
    c.text(340, 256, "The local rank, and not the rank, is the number of the device.", "small")


@drawing(
    "Scatter, kernel, reduce",
    "Rank 0 has a vector of ten elements. MPI_Scatterv gives elements 0 to 2 to rank 0, 3 to 5 to"
    " rank 1 and 6 to 9 to rank 2. Each rank copies its part to its device, where kernels compute"
    " the rank's sum. MPI_Reduce adds these three sums up and gives the total to rank 0;"
    " MPI_Allreduce gives it to all.",
    276,
)
def scatter_reduce(c: Canvas) -> None:
    fills = ("blue", "green", "purple")
    owner = (0, 0, 0, 1, 1, 1, 2, 2, 2, 2)
    c.text(20, 34, "rank 0", "strong")
    c.cells(230, 14, range(10), [fills[o] for o in owner], 30)
    middle = (180, 380, 600)
    begin = (0, 3, 6, 10)
    for rank in range(3):
        count = begin[rank + 1] - begin[rank]
        x = middle[rank] - 15 * count
        c.arrow(230 + 15 * (begin[rank] + begin[rank + 1]), 44, middle[rank], 84, "thick")
        c.cells(x, 86, range(begin[rank], begin[rank + 1]), [fills[rank]], 30)
        c.text(middle[rank] + 70, 105, f"rank {rank}", "small")
        c.arrow(middle[rank], 116, middle[rank], 150, "thick")
        c.label(middle[rank] - 60, 152, 120, 28, f"sum on device {rank}", fills[rank], "small")
        c.arrow(middle[rank], 182, 380, 226, "thick")
    c.text(20, 72, "MPI_Scatterv", "code")
    c.text(20, 138, "kernels", "code")
    c.text(20, 212, "MPI_Reduce", "code")
    c.label(320, 228, 120, 28, "the total", "orange")
    c.text(452, 247, "for rank 0, or for all (MPI_Allreduce)", "small")


@drawing(
    "A plate on a grid of six ranks",
    "A plate of 12 by 8 cells is divided among two rows and three columns of ranks. Rank 1 is in"
    " the middle of the first row. It has an edge of the plate above it, rank 0 to its left, rank 2"
    " to its right and rank 4 below. It receives the last column of rank 0, the first column of"
    " rank 2 and the first row of rank 4 as its halo. Cells across a corner are not needed.",
    300,
)
def process_grid(c: Canvas) -> None:
    size, left, top, gap = 24, 30, 36, 14
    fills = (("blue", "green", "blue"), ("purple", "blue", "purple"))
    for row in range(2):
        for column in range(3):
            x, y = left + column * (4 * size + gap), top + row * (4 * size + gap)
            for line in range(4):
                marks = [fills[row][column]] * 4
                if (row, column) == (0, 0):
                    marks[3] = "orange"
                elif (row, column) == (0, 2):
                    marks[0] = "orange"
                elif (row, column) == (1, 1) and line == 0:
                    marks = ["orange"] * 4
                c.cells(x, y + size * line, [""] * 4, marks, size, size)
            c.label(x + 18, y + 36, 60, 24, f"rank {3 * row + column}", "panel", "small")
    c.text(left, 24, "2 rows, 3 columns of ranks", "strong")
    c.lines(
        400,
        70,
        (
            "Rank 1 (green) receives what is orange:",
            "the last column of rank 0,",
            "the first column of rank 2,",
            "the first row of rank 4.",
            "Above it is an edge of the plate:",
            "there its neighbour is MPI_PROC_NULL.",
        ),
        "small",
    )
    c.text(400, 214, "Ranks 3 and 5 touch it only at a corner,", "small muted")
    c.text(400, 233, "and send it nothing.", "small muted")


@drawing(
    "A time step with overlap",
    "Three lines of time. Stream `inside`: the inner cells are computed from the beginning. Stream"
    " `along_borders`: the borders are packed and copied to the host; after the messages the halo"
    " is copied to the device, and the border cells are computed. The host starts the messages when"
    " the borders have been copied, and waits for them. The time step ends when both streams have"
    " finished.",
    206,
)
def overlapped_halo(c: Canvas) -> None:
    for i, name in enumerate(("stream inside", "stream along_borders", "messages")):
        c.text(16, 43 + 52 * i, name, "small")
    c.label(160, 22, 420, 32, "inner cells", "blue")
    c.label(160, 74, 60, 32, "pack", "green", "small")
    c.label(220, 74, 60, 32, "copy", "green", "small")
    c.label(300, 126, 150, 32, "exchange", "orange")
    c.label(470, 74, 60, 32, "copy", "green", "small")
    c.label(530, 74, 110, 32, "border cells", "green", "small")
    c.arrow(280, 106, 300, 126)
    c.arrow(450, 126, 470, 106)
    c.line(640, 14, 640, 170, "dashed")
    c.text(648, 96, "next step", "small")
    c.arrow(160, 184, 700, 184)
    c.text(160, 200, "time", "small muted")
