# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 20: how a job of many ranks is measured, and how its time grows."""

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "One repetition, measured",
    "Time runs to the right. Three ranks get ready, which takes each of them a different time; rank"
    " 1 is last. A barrier holds ranks 0 and 2 until rank 1 is there. Then all clocks start, and"
    " each rank adds up its values and takes part in the sum of all ranks. Rank 2 finishes last."
    " The time of the repetition is that from the barrier to the end of rank 2.",
    232,
)
def measured_repetition(c: Canvas) -> None:
    barrier = 300
    ready = (90, 210, 130)
    work = (230, 260, 330)
    for rank in range(3):
        y = 30 + 46 * rank
        c.text(20, y + 20, f"rank {rank}", "strong")
        c.label(80, y, ready[rank], 30, "get ready", "panel", "small")
        if 80 + ready[rank] < barrier - 12:
            c.text((80 + ready[rank] + barrier) / 2, y + 20, "waits", "small", "middle")
        c.label(barrier, y, work[rank], 30, "kernel, sum of all ranks", "blue", "small")
    last = barrier + max(work)
    c.line(barrier, 14, barrier, 178, "thick")
    c.line(last, 108, last, 178)
    c.arrow(barrier, 176, last, 176, "thick")
    c.text(barrier - 8, 180, "MPI_Barrier", "code", "end")
    c.text((barrier + last) / 2, 198, "the time of the repetition (MPI_MAX)", "", "middle")
    c.text(20, 222, "Neither getting ready nor waiting for others to get ready is work.", "small")


@drawing(
    "A hierarchical sum",
    "Two nodes with three ranks each. Within each node, ncclReduce brings the sum of its ranks to"
    " its first rank, the leader. The two leaders add up the sums of the nodes with MPI_Allreduce"
    " over the network. Then ncclBroadcast passes the result on from each leader to the ranks of"
    " its node.",
    300,
)
def hierarchical_sum(c: Canvas) -> None:
    for node in range(2):
        left = 130 + 300 * node
        c.box(left - 10, 8, 285, 252)
        c.text(left, 28, f"node {node}", "strong")
        for local in range(3):
            x = left + 90 * local
            fill = "orange" if local == 0 else "green"
            c.label(x, 42, 82, 30, f"rank {3 * node + local}", fill)
            c.label(x, 214, 82, 30, f"rank {3 * node + local}", fill)
            if local == 0:
                c.arrow(x + 41, 72, x + 41, 106, "thick")
                c.arrow(x + 41, 178, x + 41, 214, "thick")
            else:
                c.arrow(x + 41, 72, left + 50, 106)
                c.arrow(left + 50, 178, x + 41, 214)
        c.label(left, 108, 100, 28, "node's sum", "orange", "small")
        c.label(left, 150, 100, 28, "sum of all", "orange", "small")
    c.arrow(230, 122, 430, 164, "thick")
    c.arrow(430, 122, 230, 164, "thick")
    c.text(14, 94, "ncclReduce", "code")
    c.text(14, 147, "MPI_Allreduce", "code")
    c.text(14, 200, "ncclBroadcast", "code")
    c.text(14, 286, "Orange: the leaders. Only they use the network.", "small")
