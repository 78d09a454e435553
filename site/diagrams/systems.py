# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapters 09, 11 and 12, and the project's own layers: streams, buses, devices."""

import math
from pathlib import Path
from typing import Dict, List, Sequence, Set, Tuple

from diagrams.registry import drawing, on_a_phone
from lablib import metadata
from lablib.drawing.canvas import Canvas, Point
from lablib.exercises import find_exercises


@drawing(
    "A picture with and without interop",
    "Without interop a frame goes from the kernel's memory on the device over the bus to the host,"
    " and back over the bus to OpenGL's memory on the same device. With interop the kernel writes"
    " straight to OpenGL's buffer, and nothing crosses the bus.",
    250,
)
def with_and_without_interop(c: Canvas) -> None:
    for i, title in enumerate(("without interop", "with interop")):
        y = 16 + 118 * i
        c.text(20, y + 14, title, "strong")
        c.box(20, y + 24, 160, 76)
        c.text(32, y + 44, "host", "muted")
        c.box(280, y + 24, 420, 76)
        c.text(692, y + 42, "device", "small muted", "end")
        c.label(300, y + 54, 90, 34, "kernel", "green")
        c.label(600, y + 54, 86, 34, "OpenGL", "purple")
        if i == 0:
            c.label(420, y + 30, 140, 26, "CUDA memory", "blue", "small")
            c.label(420, y + 66, 140, 26, "OpenGL's buffer", "orange", "small")
            c.label(40, y + 54, 116, 34, "pixels", "panel")
            c.arrow(390, y + 66, 420, y + 46)
            c.bend([(420, y + 38), (240, y + 38), (160, y + 62)], "red thick")
            c.bend([(160, y + 84), (240, y + 94), (400, y + 94), (420, y + 86)], "red thick")
            c.arrow(560, y + 78, 600, y + 74)
            c.text(230, y + 70, "bus, twice", "small red", "middle")
        else:
            c.label(420, y + 54, 140, 34, "OpenGL's buffer", "orange", "small")
            c.arrow(390, y + 71, 420, y + 71, "thick")
            c.arrow(560, y + 71, 600, y + 71, "thick")
            c.text(230, y + 74, "nothing crosses", "small muted", "middle")


@drawing(
    "A buffer changes hands",
    "Once, the buffer is registered. In each frame it is mapped, which gives it to CUDA; its"
    " address"
    " is queried; a kernel writes to it; it is unmapped, which gives it back; and OpenGL draws"
    " it. In"
    " the end it is unregistered.",
    170,
)
def map_and_unmap(c: Canvas) -> None:
    steps = [
        ("register", "purple"),
        ("map", "orange"),
        ("address", "blue"),
        ("kernel", "blue"),
        ("unmap", "orange"),
        ("draw", "purple"),
        ("unregister", "purple"),
    ]
    x = 20.0
    for i, (name, fill) in enumerate(steps):
        c.label(x, 50, 82, 38, name, fill, "small")
        if i < 6:
            c.arrow(x + 82, 69, x + 100, 69)
        x += 100
    c.bend([(561, 50), (561, 28), (161, 28), (161, 50)])
    c.text(361, 22, "each frame", "small", "middle")
    c.brace(122, 502, 94, "the buffer is CUDA's")
    c.text(61, 116, "OpenGL's", "", "middle")
    c.text(611, 116, "OpenGL's", "", "middle")
    c.text(
        122, 152, "map waits for OpenGL's earlier work, unmap makes its later work wait", "muted"
    )


@drawing(
    "Pixel rows from the top and from the bottom",
    "The same picture of height 4: this course counts rows from the top, 0 to 3; OpenGL counts them"
    " from the bottom. Row y of the course is row height minus 1 minus y of OpenGL.",
    190,
)
def which_way_is_up(c: Canvas) -> None:
    fills = ["blue", "green", "orange", "purple"]
    for side, x0 in enumerate((110, 450)):
        c.text(x0 + 80, 28, "OpenGL" if side else "this course", "strong", "middle")
        for row in range(4):
            y = 40 + 32 * row
            number = 3 - row if side else row
            c.box(x0, y, 160, 32, fills[row], 0)
            c.text(x0 + 80, y + 21, f"row {number}", "code", "middle")
        if side:
            c.arrow(x0 - 16, 166, x0 - 16, 42)
            c.text(x0 - 34, 170, "y", "code")
        else:
            c.arrow(x0 - 16, 42, x0 - 16, 166)
            c.text(x0 - 34, 52, "y", "code")
    c.text(360, 108, "height − 1 − y", "code", "middle")
    c.arrow(290, 118, 420, 118)


_Work = Tuple[str, int, str, int]  # engine, chunk, name, duration


def _schedule(calls: Sequence[_Work]) -> List[Tuple[str, int, str, int, int]]:
    """Each engine takes work in the order of the calls; so does each stream (chunk)."""
    engine_free: Dict[str, int] = {}
    chunk_free: Dict[int, int] = {}
    placed = []
    for engine, chunk, name, duration in calls:
        start = max(engine_free.get(engine, 0), chunk_free.get(chunk, 0))
        engine_free[engine] = chunk_free[chunk] = start + duration
        placed.append((engine, chunk, name, start, duration))
    return placed


def _chunk(chunk: int, up: str, down: str) -> List[_Work]:
    return [
        (up, chunk, f"a{chunk}", 2),
        (up, chunk, f"b{chunk}", 2),
        ("kernels", chunk, f"kernel {chunk}", 4),
        (down, chunk, f"c{chunk}", 2),
    ]


def _timeline(
    c: Canvas, y: float, calls: Sequence[_Work], engines: Sequence[str], scale: float
) -> int:
    placed = _schedule(calls)
    fills = ["blue", "orange"]
    for row, engine in enumerate(engines):
        c.text(20, y + 24 + 40 * row, engine, "small")
        c.line(112, y + 38 + 40 * row, 700, y + 38 + 40 * row, "grid")
    for engine, chunk, name, start, duration in placed:
        row = engines.index(engine)
        c.label(
            112 + scale * start,
            y + 4 + 40 * row,
            scale * duration - 2,
            30,
            name,
            fills[chunk],
            "small",
        )
    return max(start + duration for _, _, _, start, duration in placed)


@drawing(
    "Two streams with one copy engine: depth-first and breadth-first",
    "Time runs to the right. With one engine for all copies and depth-first calls, the copy c0"
    " waits"
    " for kernel 0, and a1 waits behind it: nothing overlaps, and two chunks take 20 units."
    " Breadth-first, a1 and b1 come before c0, so they are copied while kernel 0 runs: 16 units or"
    " less.",
    300,
)
def depth_and_breadth(c: Canvas) -> None:
    chunks = [_chunk(i, "copies", "copies") for i in range(2)]
    depth = [work for chunk in chunks for work in chunk]
    breadth = [chunk[k] for k in range(4) for chunk in chunks]
    scale = 28.0
    ends = []
    for i, (title, calls) in enumerate((("depth-first", depth), ("breadth-first", breadth))):
        y = 34 + 126 * i
        c.text(20, y - 10, title, "strong")
        c.text(
            132,
            y - 10,
            "calls: " + " ".join(w[2].replace("kernel ", "k") for w in calls),
            "code small muted",
        )
        end = _timeline(c, y, calls, ["copies", "kernels"], scale)
        ends.append(end)
        c.line(112 + scale * end, y, 112 + scale * end, y + 84, "red dashed")
        c.text(112 + scale * end - 6, y + 100, f"{end} units", "small red", "end")
    assert ends == [20, 16], ends
    c.text(
        20,
        292,
        "one engine for copies, one for kernels, as in 2010; blue: stream 0, orange: stream 1",
        "small muted",
    )


@drawing(
    "Two streams with a copy engine for each direction",
    "With one copy engine for each direction, as GPUs for computing have today, depth-first"
    " overlaps"
    " as well: a1 and b1 go to the device while kernel 0 runs, and c0 comes back while kernel 1"
    " runs. Two chunks take 14 units.",
    200,
)
def two_copy_engines(c: Canvas) -> None:
    chunks = [_chunk(i, "to device", "to host") for i in range(2)]
    depth = [work for chunk in chunks for work in chunk]
    c.text(20, 24, "depth-first, two copy engines", "strong")
    end = _timeline(c, 34, depth, ["to device", "kernels", "to host"], 28)
    assert end == 14, end
    c.line(112 + 28 * end, 34, 112 + 28 * end, 158, "red dashed")
    c.text(112 + 28 * end + 8, 150, f"{end} units", "small red")
    c.text(20, 188, "the same calls as above, in the same order", "small muted")


@drawing(
    "A stream is a queue",
    "The host puts four pieces of work into a stream, at once, and does something else. The device"
    " takes them from the front, in order: copy a, copy b, kernel, copy c. At the end the host"
    " waits"
    " for the stream.",
    150,
)
def stream_queue(c: Canvas) -> None:
    c.text(20, 46, "host", "strong")
    c.text(20, 110, "stream", "strong")
    for i, name in enumerate(("a↑", "b↑", "kernel", "c↓")):
        c.label(90 + 50 * i, 28, 48, 28, name, "panel", "small")
        c.arrow(114 + 50 * i, 56, (150, 242, 366, 522)[i], 92, "dashed")
    c.label(292, 28, 262, 28, "something else", "panel")
    c.label(556, 28, 110, 28, "waits", "orange")
    for x, w, name, fill in ((108, 84, "a↑", "blue"), (194, 96, "b↑", "blue")):
        c.label(x, 92, w, 30, name, fill, "small")
    c.label(292, 92, 150, 30, "kernel", "green", "small")
    c.label(444, 92, 156, 30, "c↓", "blue", "small")
    c.line(600, 56, 600, 122, "red dashed")
    c.arrow(90, 140, 690, 140)
    c.text(20, 144, "time", "muted")


@drawing(
    "Copies, or zero-copy",
    "With copies the vectors cross the bus first, into device memory, and then the kernel reads"
    " them"
    " there. With zero-copy the kernel reads mapped host memory over the bus while it computes;"
    " device memory is not used.",
    226,
)
def zero_copy(c: Canvas) -> None:
    for i, title in enumerate(("with copies", "zero-copy")):
        y = 12 + 108 * i
        c.text(20, y + 14, title, "strong")
        c.box(20, y + 22, 190, 70)
        c.text(32, y + 40, "host memory", "small muted")
        c.label(40, y + 48, 150, 34, "pinned, mapped" if i else "vectors", "blue")
        c.box(330, y + 22, 370, 70)
        c.text(342, y + 40, "device", "small muted")
        c.label(590, y + 48, 96, 34, "kernel", "green")
        if i == 0:
            c.label(350, y + 48, 150, 34, "device memory", "orange")
            c.arrow(190, y + 65, 350, y + 65, "thick")
            c.text(270, y + 58, "cudaMemcpy", "code small", "middle")
            c.arrow(500, y + 65, 590, y + 65, "thick")
            c.text(545, y + 58, "then", "small", "middle")
        else:
            c.arrow(190, y + 65, 590, y + 65, "thick dashed")
            c.text(270, y + 58, "bus", "small", "middle")
            c.text(470, y + 58, "each load, while it computes", "small", "middle")


@drawing(
    "A dot product on two devices",
    "Both vectors are divided in two. Each device gets its part of both, computes one partial sum"
    " per"
    " block, and sends its sum back. The host adds the two sums. The shares need not be equal.",
    236,
)
def split_over_devices(c: Canvas) -> None:
    c.text(20, 36, "host", "strong")
    for row, name in enumerate("ab"):
        y = 16 + 34 * row
        c.text(80, y + 20, name, "code")
        c.label(104, y, 330, 30, "first part", "blue", "small")
        c.label(434, y, 190, 30, "second part", "orange", "small")
    c.arrow(269, 80, 210, 116, "thick")
    c.arrow(529, 80, 530, 116, "thick")
    c.label(104, 116, 212, 40, "device 0: kernel", "blue")
    c.label(424, 116, 212, 40, "device 1: kernel", "orange")
    c.arrow(210, 156, 330, 190)
    c.arrow(530, 156, 410, 190)
    c.label(330, 184, 80, 36, "sum", "green")
    c.text(20, 208, "host", "strong")
    c.text(430, 208, "start both before you wait for either", "muted")


@drawing(
    "One block of pinned memory for all devices",
    "One thread allocates a block of portable, mapped, pinned host memory. Each device reads its"
    " own"
    " part of it over its own bus connection, with a kernel or a copy.",
    190,
)
def portable_memory(c: Canvas) -> None:
    fills = ["blue", "green", "orange"]
    c.text(20, 30, "one block of pinned host memory: portable, mapped", "strong")
    for d in range(3):
        x = 60 + 210 * d
        c.label(x, 44, 210, 36, f"part {d}", fills[d])
        c.arrow(x + 105, 80, x + 105, 130, "thick")
        c.text(x + 115, 110, "bus", "small muted")
        c.label(x + 25, 130, 160, 40, f"device {d}", fills[d])


@drawing(
    "The layers of CUDA Labs",
    "From top to bottom: exercises with starters, solutions, tests and bugs. Below them what they"
    " share: the library lab, the test support, and what grades. Below that CUDA's API, for which"
    " there are two implementations: NVIDIA's toolkit with a GPU, and the CPU device with its"
    " libraries, api, context, observers, engine and base. The rewriter turns .cu files into C++"
    " for the CPU device; cpucc does it for other programs than the course's. Beside everything:"
    " scripts/lab, which builds, tests, measures, grades and reports.",
    420,
)
def layers(c: Canvas) -> None:
    c.box(20, 12, 540, 92, "blue")
    c.text(34, 34, "exercises", "strong")
    for i, (name, note) in enumerate(
        (
            ("labs/", "contract, starter"),
            ("solutions/", "with markers"),
            ("tests/NN_…/", "tests, bugs"),
            ("docs/", "chapters"),
        )
    ):
        c.label(34 + 130 * i, 44, 124, 26, name, "panel", "code")
        c.text(96 + 130 * i, 92, note, "small", "middle")
    c.box(20, 112, 540, 62, "green")
    c.text(34, 134, "what they share", "strong")
    for i, name in enumerate(("common/include/lab", "tests/support", "grading")):
        c.label(34 + 174 * i, 142, 164, 26, name, "panel", "code")
    c.label(20, 182, 540, 30, "CUDA: the runtime API, cuBLAS, cuRAND, NCCL, CUB, Thrust", "orange")
    c.box(20, 220, 240, 188, "panel")
    c.text(34, 242, "on a GPU", "strong")
    c.label(34, 254, 212, 30, "nvcc", "panel", "code")
    c.label(34, 290, 212, 30, "CUDA toolkit, driver", "panel")
    c.label(34, 362, 212, 36, "GPU", "purple")
    c.arrow(140, 320, 140, 362)
    c.box(272, 220, 288, 188, "panel")
    c.text(286, 242, "on the CPU device", "strong")
    c.label(286, 254, 66, 30, "cpucc", "purple", "code small")
    c.label(358, 254, 78, 30, "rewriter", "purple", "small")
    c.label(442, 254, 104, 30, "g++ or clang", "panel", "code small")
    stack = ["libraries: cuBLAS, cuRAND, NCCL", "api", "context", "observers", "engine", "base"]
    for i, name in enumerate(stack):
        c.label(286, 290 + 19 * i, 260, 18, name, "purple", "small")
    c.box(580, 12, 120, 396, "panel")
    c.text(640, 40, "scripts/lab", "code strong", "middle")
    for i, name in enumerate(
        ("run, test", "check, profile", "hint, watch", "bench", "grade", "verify", "dev …", "docs")
    ):
        c.text(640, 80 + 30 * i, name, "small", "middle")
    c.text(640, 360, "CMake", "code", "middle")
    c.text(640, 380, "builds all of it", "small muted", "middle")


def _require_arrows(links: List[List[str]]) -> None:
    """What an exercise builds on is in its own chapter, or in one that arrows lead from."""
    before: Dict[str, Set[str]] = {}
    for _, chapter in sorted(links, key=lambda link: link[1]):  # arrows lead to later chapters
        near = {a for a, b in links if b == chapter}
        before[chapter] = near.union(*(before.get(a, set()) for a in near))
    for exercise in find_exercises(Path(__file__).resolve().parents[2]):
        chapter = exercise.id[:2]
        for needed in metadata.read(exercise).prerequisites:
            known = before.get(chapter, set()) | {chapter}
            assert needed[:2] in known, f"{exercise.id} needs {needed}: the map lacks an arrow"


def _bridge(x: float, y: float) -> List[Point]:
    """A line to the right goes over another one at (x, y)."""
    angles = [math.pi * k / 8 for k in range(9)]
    return [(x - 6 * math.cos(angle), y - 6 * math.sin(angle)) for angle in angles]


def _pages_of_chapters() -> Dict[str, str]:
    docs = Path(__file__).parents[2] / "docs"
    return {page.name[:2]: page.stem for page in docs.glob("[0-9][0-9]_*")}


def _part(number: str) -> str:
    """The colour of a chapter."""
    return "green" if number <= "05" else "blue" if number <= "15" else "purple"


_KEY = {"green": "for everybody", "blue": "the rest of Part I", "purple": "Part II"}
# The arrows of the map, each with where it turns, right of the first box, and where it ends, below
# the middle of the second. What comes from one chapter turns at one place.
_LINKS = [
    link.split()
    for link in (
        "01 02 0 0, 02 03 0 0, 03 04 0 0, 04 05 0 0, 19 20 0 0,"
        " 03 11 28 0, 05 06 28 0, 05 08 28 0, 05 10 28 0, 05 07 28 0, 05 12 28 8,"
        " 06 13 36 0, 06 17 36 -8, 06 21 36 -10, 11 17 18 8, 11 21 18 0, 11 12 18 -8,"
        " 08 09 18 0, 10 14 28 0, 10 15 28 0, 17 18 28 0, 15 16 28 0, 12 19 28 -6,"
        " 08 19 18 5, 14 19 36 16"
    ).split(", ")
]


@drawing(
    "The chapters, and which builds on which",
    "01 leads to 02, 02 to 03, 03 to 04 and 11, and 04 to 05. 05 leads to 06, 07, 08, 10 and 12."
    " 06 leads to 13, 17 and 21; 11 to 12, 17 and 21; 08 to 09 and 19; 10 to 14 and 15; 15 to 16;"
    " 17 to 18; 12 and 14 to 19; and 19 to 20. Green chapters, 01 to 05, are the beginning for"
    " everybody; blue ones are the rest of Part I; purple ones, 16 to 21, are Part II.",
    486,
)
def course_map(c: Canvas) -> None:
    columns = {  # of rows: number and name
        0: {0: "01 Getting started", 1: "02 Measuring", 2: "03 Vectors", 3: "04 Images"}
        | {4: "05 Shared memory"},
        1: {0: "06 Matrices", 2: "11 Streams", 4: "08 Textures", 5: "10 Atomics"}
        | {6: "07 Constant memory"},
        2: {0: "13 cuBLAS", 1: "17 Asynchrony", 2: "21 Profiling", 3: "12 Several GPUs"}
        | {4: "09 Graphics interop", 5: "14 Sorting", 6: "15 Locks, hash tables"},
        3: {1: "18 Tensor cores", 3: "19 Many GPUs", 4: "20 Many nodes", 6: "16 Warps, groups"},
    }
    places = {
        name[:2]: (8.0 + 190 * column, 12.0 + 68 * row, name[3:])
        for column, rows in columns.items()
        for row, name in rows.items()
    }
    width, height = 134.0, 46.0
    for row, (fill, meaning) in enumerate(_KEY.items()):
        y = 338 + 27 * row
        c.box(578, y, 28, 18, fill)
        c.text(614, y + 13, meaning, "small")
    _require_arrows([link[:2] for link in _LINKS])
    for a, b, turn, below in _LINKS:
        (ax, ay, _), (bx, by, _) = places[a], places[b]
        start, end, right = ay + height / 2, by + height / 2 + float(below), ax + width
        x = right + float(turn)
        if ax == bx:
            c.arrow(ax + width / 2, ay + height, bx + width / 2, by)
        elif (a, b) == ("08", "19"):  # around 09
            below_09, before_19 = ay + height + 11, bx - 38
            around = [(x, start), (x, below_09), (before_19, below_09), (before_19, end)]
            c.bend([(right, start), *around, (bx, end)])
        else:
            crossed = {("03", "11"): [right + 28], ("11", "17"): [right + 36]}.get((a, b), [])
            bridges = [point for at in crossed for point in _bridge(at, end)]
            turns = [(x, start), (x, end)] if start != end else []
            c.bend([(right, start), *turns, *bridges, (bx, end)])
    pages = _pages_of_chapters()
    assert sorted(pages) == sorted(places), "the map has other chapters than docs/"
    for number, (x, y, name) in places.items():
        with c.link(pages[number]):
            c.box(x, y, width, height, _part(number))
            c.text(x + width / 2, y + 19, number, "strong", "middle")
            c.text(x + width / 2, y + 37, name, "small", "middle")


@on_a_phone("course_map", 364)
def course_map_narrow(c: Canvas) -> None:
    """From top to bottom. Arrows run between the rows, and in the gaps between the columns."""
    rows = (
        "01 Getting,started/02 Measuring/03 Vectors/04 Images/05 Shared,memory",
        "06 Matrices/11 Streams/08 Textures/10 Atomics/07 Constant,memory",
        "21 Profiling/17 Asynchrony/09 Graphics,interop/14 Sorting/15 Locks;,hash tables",
        "13 cuBLAS/18 Tensor,cores/12 Several,GPUs//16 Warps;,groups",
        "///19 Many GPUs/20 Many,nodes",
    )
    width, height, across, down = 60.0, 42.0, 69.5, 72.0
    places = {
        name[:2]: (1 + across * column, 12 + down * row, name[3:].split(","))
        for row, names in enumerate(rows)
        for column, name in enumerate(names.split("/"))
        if name
    }
    below = {number: (x + width / 2, y + height) for number, (x, y, _) in places.items()}
    above = {number: (x, y - height) for number, (x, y) in below.items()}
    drawn = []

    def straight(a: str, b: str, aside: float = 0) -> None:
        (x, y), (_, end) = below[a], above[b]
        drawn.append([a, b])
        c.arrow(x + aside, y, x + aside, end)

    for a, b in (("01", "02"), ("02", "03"), ("03", "04"), ("04", "05"), ("19", "20")):
        y = places[a][1] + height / 2
        drawn.append([a, b])
        c.arrow(places[a][0] + width, y, places[b][0], y)
    # Below 05 a line from which five arrows lead; that from 03 to 11 goes below it.
    bus = below["05"][1] + 8
    (x3, y3), (x11, y11) = below["03"], above["11"]
    c.curve([(above["06"][0], bus), *_bridge(x3, bus), (below["05"][0], bus)])
    c.line(*below["05"], below["05"][0], bus)
    for b in ("06", "08", "10", "07"):
        aside = 12 if b == "08" else 0
        drawn.append(["05", b])
        c.arrow(above[b][0] + aside, bus, above[b][0] + aside, above[b][1])
    drawn.append(["03", "11"])
    c.bend([(x3, y3), (x3, bus + 10), (x11, bus + 10), (x11, y11)])
    # 06 and 11 both lead to 17 and 21.
    both = below["06"][1] + 12
    c.curve([(below["06"][0], both), (below["11"][0], both)])
    for a in ("06", "11"):
        c.line(*below[a], below[a][0], both)
        for b in ("21", "17"):
            drawn.append([a, b])
    for b in ("21", "17"):
        c.arrow(above[b][0], both, above[b][0], above[b][1])
    # The gaps between columns: after the first, 06 to 13; after the second, 11 to 12; after the
    # third, 05 to 12 and 08 to 19.
    gaps = [places[number][0] + width + 4.7 for number in ("06", "11", "08")]
    y13 = places["13"][1] + height / 2
    y6 = places["06"][1] + height / 2
    drawn.append(["06", "13"])
    right = places["06"][0] + width
    angles = [math.pi * k / 8 for k in range(9)]
    over = [(gaps[0] + 6 * math.sin(a), both - 6 * math.cos(a)) for a in angles]
    c.bend([(right, y6), (gaps[0], y6), *over, (gaps[0], y13), (right, y13)])
    top12 = above["12"][1]
    drawn.append(["11", "12"])
    c.bend(
        [
            (places["11"][0] + width, y6),
            (gaps[1], y6),
            (gaps[1], top12 - 15),
            (above["12"][0] - 12, top12 - 15),
            (above["12"][0] - 12, top12),
        ]
    )
    drawn.append(["05", "12"])
    x = above["12"][0] + 12
    c.bend([(gaps[2] - 3, bus), (gaps[2] - 3, top12 - 15), (x, top12 - 15), (x, top12)])
    straight("08", "09")
    top19 = above["19"][1]
    drawn.append(["08", "19"])
    x = above["19"][0] - 14
    begin = (below["08"][0] + 18, below["08"][1])
    turn = below["08"][1] + 12
    down_there = [(gaps[2] + 3, turn), (gaps[2] + 3, top19 - 15), (x, top19 - 15), (x, top19)]
    c.bend([begin, (begin[0], turn), *_bridge(gaps[2] - 3, turn), *down_there])
    fork = below["10"][1] + 12
    c.curve([below["10"], (below["10"][0], fork), (above["15"][0], fork)])
    for b in ("14", "15"):
        drawn.append(["10", b])
        c.arrow(above[b][0], fork, above[b][0], above[b][1])
    for a, b in (("15", "16"), ("17", "18"), ("14", "19")):
        straight(a, b)
    y19 = places["19"][1] + height / 2
    drawn.append(["12", "19"])
    c.bend([below["12"], (below["12"][0], y19), (places["19"][0], y19)])
    assert sorted(drawn) == sorted(link[:2] for link in _LINKS), "two maps differ"
    pages = _pages_of_chapters()
    assert sorted(pages) == sorted(places), "the map has other chapters than docs/"
    for number, (x, y, words) in places.items():
        with c.link(pages[number]):
            c.box(x, y, width, height, _part(number))
            middle = x + width / 2
            c.text(middle, y + 15, number, "small strong", "middle")
            for line, word in enumerate(words):
                c.text(middle, y + 26 + 11 * line, word.replace(";", ","), "tiny", "middle")
    for row, (fill, meaning) in enumerate(_KEY.items()):
        y = places["19"][1] + 2 + 22 * row
        c.box(1, y, 18, 14, fill)
        c.text(25, y + 11, meaning, "tiny")
