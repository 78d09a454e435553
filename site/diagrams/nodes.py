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
