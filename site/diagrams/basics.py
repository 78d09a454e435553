# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapters 01 to 04: launches, indices, sectors, pictures."""

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "A grid of two blocks with five threads each",
    "The launch hello<<<2, 5>>>() makes a grid. The grid holds block 0 and block 1. Each block"
    " holds five threads, which are numbered 0 to 4 in both blocks.",
    200,
)
def grid_of_blocks(c: Canvas) -> None:
    c.text(20, 30, "hello<<<2, 5>>>();", "code")
    c.text(176, 30, "launches a grid of 2 blocks, each with 5 threads", "muted")
    c.box(20, 46, 680, 124, "panel")
    c.text(34, 68, "grid", "strong")
    c.text(686, 68, "gridDim.x = 2", "code muted", "end")
    for block in range(2):
        x = 34 + 332 * block
        c.box(x, 80, 320, 76, "blue")
        c.text(x + 12, 100, f"block {block}", "strong")
        c.text(x + 308, 100, f"blockIdx.x = {block}", "code", "end")
        for thread in range(5):
            c.label(x + 12 + 60 * thread, 112, 56, 32, f"{thread}", "green", "code")
    c.text(20, 190, "The numbers in the green boxes are threadIdx.x.", "small muted")


@drawing(
    "Five steps between host memory and device memory",
    "Step 1: cudaMalloc makes room in device memory. Step 2: cudaMemcpy copies 2 and 7 from host"
    " memory to device memory. Step 3: a kernel launch has a thread add them there, which gives 9."
    " Step 4: cudaMemcpy copies 9 back to host memory. Step 5: cudaFree frees the device memory.",
    300,
)
def host_and_device(c: Canvas) -> None:
    c.box(20, 16, 200, 268)
    c.text(120, 38, "host memory", "strong", "middle")
    c.box(500, 16, 200, 268)
    c.text(600, 38, "device memory", "strong", "middle")
    steps = ["cudaMalloc", "cudaMemcpy", "kernel<<<1, 1>>>", "cudaMemcpy", "cudaFree"]
    for i, step in enumerate(steps):
        y = 76 + 46 * i
        c.circle(248, y - 5, 11, "panel")
        c.text(248, y, str(i + 1), "strong", "middle")
        c.text(370, y - 4, step, "code", "middle")
        if i == 3:
            c.arrow(488, y + 6, 266, y + 6, "orange thick")
        else:
            c.arrow(266, y + 6, 488, y + 6, "blue thick" if i == 1 else "")
    c.cells(84, 102, [2, 7], ["blue"], 36, 30)
    c.cells(122 - 20, 194, [9], ["orange"], 36, 30)
    c.cells(546, 56, ["?", "?", "?"], ["empty"], 36, 30)
    c.cells(546, 102, [2, 7, "?"], ["blue", "blue", "empty"], 36, 30)
    c.cells(546, 148, [2, 7, 9], ["blue", "blue", "orange"], 36, 30)
    c.cells(546, 194, [2, 7, 9], ["blue", "blue", "orange"], 36, 30)
    c.text(600, 261, "freed", "muted", "middle")


@drawing(
    "What a device consists of",
    "A device has from a few to hundreds of multiprocessors. Each has cores, registers, and shared"
    " memory with the L1 cache. All of them use one L2 cache, and below it, over the memory bus,"
    " global memory. Lower levels are larger and slower. The host is connected by a bus that is"
    " slower still.",
    330,
)
def parts_of_a_device(c: Canvas) -> None:
    c.box(20, 12, 530, 306)
    c.text(34, 34, "device", "strong")
    for i in range(3):
        x = 34 + 150 * i
        c.box(x, 46, 140, 122, "blue")
        c.text(x + 70, 64, "multiprocessor", "strong", "middle")
        c.label(x + 8, 72, 124, 24, "cores", "panel")
        c.label(x + 8, 102, 124, 24, "registers", "green")
        c.label(x + 8, 132, 124, 28, "shared memory, L1", "green", "small")
        c.line(x + 70, 168, x + 70, 188)
    c.text(508, 110, "…", "large", "middle")
    c.label(34, 188, 502, 34, "L2 cache", "orange")
    c.line(285, 222, 285, 256, "thick")
    c.text(297, 244, "memory bus", "small muted")
    c.label(34, 256, 502, 46, "global memory", "purple")
    c.label(590, 256, 110, 46, "host", "panel")
    c.line(536, 279, 590, 279, "thick dashed")
    c.text(645, 322, "PCIe or NVLink", "small muted", "middle")
    c.arrow(590, 60, 590, 222)
    c.lines(602, 80, ["fast,", "small,", "close"], "muted")
    c.lines(602, 180, ["slow,", "large,", "far"], "muted")


@drawing(
    "A launch returns before the kernel has run",
    "Time runs to the right. The host launches two kernels, which takes microseconds each, does"
    " something else, and waits in cudaMemcpy until both kernels have run on the device one after"
    " the other and the copy is complete. Two events in the queue, before and after the second"
    " kernel, measure the kernel; a clock on the host around the launch measures the launch alone.",
    216,
)
def launch_and_wait(c: Canvas) -> None:
    c.text(20, 60, "host", "strong")
    c.text(20, 120, "device", "strong")
    c.label(90, 40, 62, 32, "launch", "blue", "small")
    c.label(154, 40, 62, 32, "launch", "blue", "small")
    c.label(218, 40, 128, 32, "something else", "panel")
    c.label(348, 40, 332, 32, "cudaMemcpy waits", "orange", "code")
    c.label(124, 100, 216, 32, "first kernel", "green")
    c.label(342, 100, 216, 32, "second kernel", "green")
    c.label(560, 100, 120, 32, "copy", "orange")
    for x, text in ((341, "start"), (559, "stop")):
        c.line(x, 88, x, 156, "purple thick")
        c.text(x, 172, text, "small purple", "end" if text == "start" else "start")
    c.arrow(349, 167, 553, 167, "purple")
    c.arrow(553, 167, 349, 167, "purple")
    c.text(450, 190, "the time between two events", "small", "middle")
    c.arrow(154, 24, 216, 24, "red")
    c.arrow(216, 24, 154, 24, "red")
    c.text(226, 28, "what a clock of the host measures: the launch alone", "small")
    c.arrow(90, 206, 690, 206)
    c.text(20, 210, "time", "muted")


@drawing(
    "A copy from pageable memory and one from pinned memory",
    "From pageable memory the driver first copies each piece into its own pinned buffer, and the"
    " device fetches it from there: every byte is moved twice. From pinned memory the device"
    " fetches the data directly.",
    170,
)
def pageable_and_pinned(c: Canvas) -> None:
    c.box(20, 12, 470, 146)
    c.text(34, 32, "host", "strong")
    c.box(570, 12, 130, 146)
    c.text(584, 32, "device", "strong")
    c.label(34, 46, 150, 40, "pageable vector", "orange")
    c.label(326, 46, 150, 40, "driver's buffer", "blue")
    c.arrow(184, 66, 326, 66, "thick")
    c.text(255, 58, "the CPU copies", "small", "middle")
    c.label(34, 104, 150, 40, "pinned vector", "blue")
    c.arrow(476, 66, 584, 66, "thick")
    c.arrow(184, 124, 584, 124, "thick")
    c.text(530, 58, "bus", "small", "middle")
    c.text(530, 116, "bus", "small", "middle")
    c.label(584, 46, 102, 40, "device copy", "green", "small")
    c.label(584, 104, 102, 40, "device copy", "green", "small")


@drawing(
    "Strips below a quarter circle, and the threads that add them up",
    "The area below the quarter circle from 0 to 1 is cut into ten strips. Each strip is a"
    " rectangle as high as the circle above its middle. Four threads take consecutive strips: the"
    " first two take three strips each, the others two, so that each stores one partial sum.",
    270,
)
def strips_of_a_circle(c: Canvas) -> None:
    x0, y0, size = 60, 220, 400
    height = 190
    owner = [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    fills = ["blue", "orange", "green", "purple"]
    for i in range(10):
        middle = (i + 0.5) / 10
        h = height * (1 - middle * middle) ** 0.5
        c.box(x0 + size * i / 10, y0 - h, size / 10, h, fills[owner[i]], 0)
        c.text(x0 + size * middle, y0 - 10, str(i), "code", "middle")
    points = []
    for i in range(101):
        x = 1 - (1 - i / 100) ** 2
        points.append((x0 + size * x, y0 - height * max(0.0, 1 - x * x) ** 0.5))
    c.curve(points, "thick")
    c.line(x0, y0, x0 + size + 20, y0)
    c.text(x0, y0 + 20, "0", "", "middle")
    c.text(x0 + size, y0 + 20, "1", "", "middle")
    c.text(x0 + size / 2, y0 + 40, "x", "muted", "middle")
    c.text(40, 36, "1", "", "middle")
    for thread in range(4):
        count = owner.count(thread)
        c.label(500, 40 + 46 * thread, 30, 30, str(thread), fills[thread], "code")
        c.text(540, 60 + 46 * thread, f"thread {thread}: {count} strips,")
        c.text(540, 76 + 46 * thread, "one partial sum", "small muted")


@drawing(
    "From block and thread to one index in the grid",
    "Three blocks of four threads. Within each block threadIdx.x runs from 0 to 3. The index"
    " blockIdx.x times blockDim.x plus threadIdx.x runs from 0 to 11 through the whole grid. For"
    " block 1, thread 2 it is 1 times 4 plus 2, which is 6.",
    206,
)
def global_index(c: Canvas) -> None:
    c.text(20, 46, "blockIdx.x", "code")
    c.text(20, 92, "threadIdx.x", "code")
    c.text(20, 142, "index", "code strong")
    fills = ["blue", "orange", "green"]
    for block in range(3):
        x = 132 + 190 * block
        c.box(x, 24, 180, 92, fills[block])
        c.text(x + 90, 46, str(block), "code strong", "middle")
        for thread in range(4):
            tx = x + 6 + 42 * thread
            mark = block == 1 and thread == 2
            c.label(tx, 66, 42, 40, str(thread), "purple" if mark else "panel", "code")
            c.label(
                tx,
                122,
                42,
                32,
                str(4 * block + thread),
                "purple" if mark else fills[block],
                "code strong",
            )
    c.text(20, 188, "index = blockIdx.x * blockDim.x + threadIdx.x", "code")
    c.text(432, 188, "= 1 * 4 + 2 = 6", "code purple strong")


@drawing(
    "A grid-stride loop",
    "Twelve threads and thirty elements, in rows of twelve. In round 0 thread t has element t, in"
    " round 1 element t plus 12, in round 2 element t plus 24. Threads 6 to 11 have no element in"
    " round 2. In each round neighbouring threads have neighbouring elements.",
    222,
)
def grid_stride_loop(c: Canvas) -> None:
    c.text(20, 34, "thread", "strong")
    for t in range(12):
        fill = "purple" if t == 2 else "blue" if t < 6 else "orange"
        c.label(116 + 48 * t, 14, 46, 30, str(t), fill, "code")
    for r in range(3):
        y = 66 + 44 * r
        c.text(20, y + 20, f"round {r}", "muted")
        for t in range(12):
            e = 12 * r + t
            x = 116 + 48 * t
            if e < 30:
                fill = "purple" if t == 2 else "blue" if t < 6 else "orange"
                c.label(x, y, 46, 30, str(e), fill, "code")
            else:
                c.label(x, y, 46, 30, "–", "empty", "muted")
        if r:
            c.arrow(116 + 48 * 2 + 23, y - 14, 116 + 48 * 2 + 23, y, "purple")
    c.text(20, 210, "for (i = index; i < 30; i += 12)", "code")
    c.text(300, 210, "thread 2: elements 2, 14, 26", "purple strong")


@drawing(
    "Sectors of coalesced, offset and strided accesses",
    "A warp of 32 threads loads a float each. With addresses next to each other that begin at a"
    " multiple of 32 bytes, 4 sectors of 32 bytes are needed, and all of their bytes are used."
    " Offset by one element, 5 sectors are needed. With a stride of 2, 8 sectors are needed, half"
    " of whose bytes are used. With a stride of 8 or more every thread needs a sector of its own:"
    " 32 sectors, an eighth of whose bytes are used. The drawing shows the first 8 sectors.",
    330,
)
def sectors(c: Canvas) -> None:
    c.text(
        20, 26, "one warp, 32 floats; each framed group is a sector: 32 bytes, 8 floats", "muted"
    )
    cases = [
        ("a[i]", "coalesced", lambda i: i, "4 sectors", "100 % of their bytes used"),
        ("a[i + 1]", "offset", lambda i: i + 1, "5 sectors", "80 % used"),
        ("a[2 * i]", "stride 2", lambda i: 2 * i, "8 sectors", "50 % used"),
        ("a[8 * i]", "stride 8", lambda i: 8 * i, "32 sectors", "12.5 % used; 8 shown"),
    ]
    for row, (code, name, index, count, used) in enumerate(cases):
        y = 44 + 72 * row
        c.text(20, y + 15, code, "code strong")
        c.text(20, y + 33, name, "muted")
        touched = {index(i) for i in range(32)}
        for s in range(8):
            x = 112 + 75 * s
            is_used = any(s * 8 <= e < s * 8 + 8 for e in touched)
            for k in range(8):
                e = s * 8 + k
                fill = "blue" if e in touched else "panel"
                c.box(x + 8.5 * k, y + 4, 8.5, 24, fill, 0)
            c.box(x - 1.5, y + 2, 71, 28, "empty", 2)
            if is_used:
                c.line(x, y + 34, x + 68, y + 34, "orange thick")
        c.text(112, y + 54, count, "strong")
        c.text(208, y + 54, used, "muted")


@drawing(
    "Blocks of 16 by 16 threads over a picture",
    "A picture of 40 by 25 pixels is covered by 3 by 2 blocks of 16 by 16 threads. x runs to the"
    " right and y downwards. The blocks at the right and at the bottom reach beyond the picture;"
    " the threads there do nothing, because of the guard.",
    300,
)
def blocks_over_a_picture(c: Canvas) -> None:
    x0, y0, s = 92, 46, 7.5
    for by in range(2):
        for bx in range(3):
            c.box(x0 + bx * 16 * s, y0 + by * 16 * s, 16 * s, 16 * s, "panel", 0)
    c.box(x0, y0, 40 * s, 25 * s, "blue", 0)
    for by in range(2):
        for bx in range(3):
            x, y = x0 + bx * 16 * s, y0 + by * 16 * s
            c.box(x, y, 16 * s, 16 * s, "empty", 0)
            c.text(x + 8, y + 17, "block", "small strong")
            c.text(x + 8, y + 32, f"({bx}, {by})", "small strong")
    px, py = 21, 5
    c.box(x0 + px * s, y0 + py * s, s, s, "orange", 0)
    c.arrow(x0, y0 - 12, x0 + 48 * s, y0 - 12)
    c.text(x0 + 48 * s + 8, y0 - 8, "x", "code")
    c.arrow(x0 - 12, y0, x0 - 12, y0 + 32 * s)
    c.text(x0 - 30, y0 + 32 * s, "y", "code")
    c.text(x0 - 24, y0 - 8, "0", "code")
    c.label(476, 50, 20, 20, "", "blue")
    c.text(506, 65, "the picture, 40 × 25 pixels")
    c.label(476, 82, 20, 20, "", "panel")
    c.text(506, 97, "outside: guarded")
    c.text(476, 120, "if (x < width && y < height)", "code")
    c.label(476, 150, 20, 20, "", "orange")
    c.text(506, 165, "block (1, 0), thread (5, 5)")
    c.lines(476, 190, ["x = 1 * 16 + 5 = 21", "y = 0 * 16 + 5 = 5"], "code")
    c.text(476, 244, "blockDim = (16, 16)", "code muted")
    c.text(476, 264, "gridDim = (3, 2)", "code muted")


@drawing(
    "Rows of a picture follow each other in memory",
    "A picture of 6 by 3 pixels, and the same pixels in memory: row 0, then row 1, then row 2."
    " Pixel x = 4, y = 1 is at index 1 times 6 plus 4, which is 10.",
    200,
)
def rows_in_memory(c: Canvas) -> None:
    fills = ["blue", "green", "purple"]
    for y in range(3):
        for x in range(6):
            mark = (x, y) == (4, 1)
            c.label(
                60 + 34 * x,
                32 + 30 * y,
                34,
                30,
                str(6 * y + x),
                "orange" if mark else fills[y],
                "code strong" if mark else "code",
            )
            c.label(
                36 + 36 * (6 * y + x),
                152,
                36,
                30,
                str(6 * y + x),
                "orange" if mark else fills[y],
                "code strong" if mark else "code",
            )
    c.text(60, 22, "x → 0 … 5", "small muted")
    c.text(20, 52, "y = 0", "small")
    c.text(20, 82, "y = 1", "small")
    c.text(20, 112, "y = 2", "small")
    c.text(300, 52, "index = y * width + x", "code")
    c.text(300, 76, "      = 1 * 6 + 4 = 10", "code strong")
    c.text(300, 106, "x varies fastest: neighbours in x are neighbours in memory", "small muted")
    c.text(36, 144, "memory", "small muted")


@drawing(
    "A warp that diverges",
    "Eight of the lanes of a warp. All execute the comparison. Then the lanes whose condition is"
    " true execute their branch while the others are idle, and after that the others execute"
    " theirs. The warp takes the time of both branches. Then all lanes continue together.",
    236,
)
def divergence(c: Canvas) -> None:
    c.text(20, 30, "lane", "strong")
    taken = [True, True, False, True, False, False, True, False]
    rows = [
        ("if (escaped)", [True] * 8, "panel"),
        ("  colour(…);", taken, "blue"),
        ("else", [True] * 8, "panel"),
        ("  iterate(…);", [not t for t in taken], "orange"),
        ("store(…);", [True] * 8, "green"),
    ]
    for lane in range(8):
        c.text(182 + 56 * lane + 26, 30, str(lane), "code", "middle")
    y = 42.0
    for code, active, fill in rows:
        if code == "else":
            c.text(20, y + 16, code, "code")
            y += 26
            continue
        c.text(20, y + 22, code.replace("  ", "\u2003"), "code")
        for lane in range(8):
            if active[lane]:
                c.box(182 + 56 * lane, y, 52, 34, fill)
            else:
                c.label(182 + 56 * lane, y, 52, 34, "idle", "empty", "small muted")
        y += 42
    c.arrow(660, 42, 660, 224)
    c.text(668, 60, "time", "muted")


@drawing(
    "Several warps hide the time that each of them waits for memory",
    "Time runs to the right. A warp executes for one unit and then waits three units for its load."
    " With one warp on the multiprocessor, three quarters of the time are lost. With four warps,"
    " each a unit later than the one before, there is a warp that can execute in every unit.",
    270,
)
def latency_hiding(c: Canvas) -> None:
    unit, left, units = 40, 150, 13

    def warp(y: float, name: str, first: int) -> None:
        c.text(20, y + 18, name, "code")
        for t in range(first, units, 4):
            c.label(left + unit * t, y, unit, 26, "run", "green", "small")
            waits = min(3, units - t - 1)
            if waits:
                c.label(left + unit * (t + 1), y, unit * waits, 26, "waits", "panel", "small")

    c.text(20, 26, "one warp", "strong")
    c.text(left, 26, "busy in one unit of four", "small red")
    warp(36, "warp 0", 0)
    c.text(20, 96, "four warps", "strong")
    c.text(left, 96, "busy in every unit", "small green")
    for number in range(4):
        warp(106 + 32 * number, f"warp {number}", number)
    c.arrow(left, 250, left + unit * units, 250)
    c.text(20, 254, "time", "muted")
