# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Chapters 10, 14 and 15: atomics, sorting networks, locks and hash tables."""

from typing import List, Tuple

from diagrams.registry import drawing
from lablib.drawing.canvas import Canvas


@drawing(
    "A lost update",
    "Two threads increment x, which is 7. One after the other they leave 9. Interleaved, both read"
    " 7, both compute 8, and both write 8: one increment is lost.",
    290,
)
def lost_update(c: Canvas) -> None:
    good = [("A", "read 7", 7), ("A", "add: 8", 7), ("A", "write 8", 8)]
    good += [("B", "read 8", 8), ("B", "add: 9", 8), ("B", "write 9", 9)]
    bad = [("A", "read 7", 7), ("B", "read 7", 7), ("A", "add: 8", 7)]
    bad += [("B", "add: 8", 7), ("A", "write 8", 8), ("B", "write 8", 8)]
    for side, (title, steps) in enumerate((("one after the other", good), ("interleaved", bad))):
        x = 20 + 358 * side
        c.box(x, 12, 322, 266)
        c.text(x + 14, 36, title, "strong")
        c.text(x + 66, 62, "thread A", "muted", "middle")
        c.text(x + 176, 62, "thread B", "muted", "middle")
        c.text(x + 276, 62, "x", "code strong", "middle")
        for i, (thread, text, value) in enumerate(steps):
            y = 72 + 33 * i
            left = x + 14 if thread == "A" else x + 124
            c.label(left, y, 104, 27, text, "blue" if thread == "A" else "green", "code")
            last = i == 5
            fill = ("red" if side else "orange") if last else "panel"
            c.label(x + 256, y, 40, 27, str(value), fill, "code strong" if last else "code")


@drawing(
    "Private counters",
    "On the left all threads of three blocks add to one counter in global memory, one after the"
    " other. On the right the threads of each block add to a counter of their block in shared"
    " memory, and then each block adds its counter to the global one: three additions in all.",
    250,
)
def privatization(c: Canvas) -> None:
    for side, x0 in enumerate((20, 378)):
        c.box(x0, 12, 322, 226)
        c.text(x0 + 14, 34, "a private counter per block" if side else "one counter", "strong")
        for block in range(3):
            bx = x0 + 16 + 100 * block
            c.box(bx, 46, 90, 96 if side else 50, "blue")
            for t in range(4):
                c.circle(bx + 15 + 20 * t, 66, 6, "green")
                if side:
                    c.arrow(bx + 15 + 20 * t, 74, bx + 45 + 3 * (t - 1.5), 106)
                else:
                    c.arrow(bx + 15 + 20 * t, 74, x0 + 161 + 10 * (block - 1) + 2 * t, 190)
            if side:
                c.label(bx + 20, 106, 50, 28, f"{4}", "orange", "code")
                c.arrow(bx + 45, 142, x0 + 161 + 16 * (block - 1), 190, "thick")
        c.label(x0 + 121, 190, 80, 34, "12", "red" if not side else "orange", "code strong")
        c.text(
            x0 + 212,
            212,
            "3 atomic adds" if side else "12 atomic adds",
            "small",
        )


@drawing(
    "A CAS loop",
    "Read the old value. Compute the new one. atomicCAS stores it if the cell still holds the old"
    " value, and returns what it held. If it held something else, another thread was faster: take"
    " what was returned as the old value, and try again. Otherwise the loop ends.",
    200,
)
def cas_loop(c: Canvas) -> None:
    c.label(20, 66, 110, 44, "read old", "blue")
    c.arrow(130, 88, 170, 88)
    c.label(170, 66, 140, 44, "compute new", "blue")
    c.arrow(310, 88, 350, 88)
    c.label(350, 66, 204, 44, "atomicCAS(cell, old, new)", "orange", "code")
    c.arrow(554, 88, 626, 88)
    c.text(560, 78, "was old", "small")
    c.label(626, 66, 74, 44, "done", "green")
    c.bend([(445, 110), (445, 154), (240, 154), (240, 110)], "red")
    c.text(342, 174, "was something else: another thread was faster;", "small", "middle")
    c.text(342, 190, "take what the cell held as old, and try again", "small", "middle")
    c.text(350, 54, "compare and store in one step", "small muted")


@drawing(
    "A sum by shuffles",
    "Eight lanes with the numbers 3, 1, 7, 0, 4, 1, 6, 3. With distance 4 lanes 0 to 3 add the"
    " register of the lane four further on: 7, 2, 13, 3. With distance 2: 20, 5. With distance 1"
    " lane 0 has 25. All lanes execute each shuffle; the values of the others do not matter.",
    270,
)
def warp_shuffle(c: Canvas) -> None:
    rows: List[Tuple[str, List[object]]] = [
        ("value", [3, 1, 7, 0, 4, 1, 6, 3]),
        ("d = 4", [7, 2, 13, 3, "·", "·", "·", "·"]),
        ("d = 2", [20, 5, "·", "·", "·", "·", "·", "·"]),
        ("d = 1", [25, "·", "·", "·", "·", "·", "·", "·"]),
    ]
    for lane in range(8):
        c.text(146 + 68 * lane, 24, f"lane {lane}", "small muted", "middle")
    for r, (name, values) in enumerate(rows):
        y = 36 + 58 * r
        c.text(20, y + 20, name, "code strong")
        for lane, value in enumerate(values):
            fill = "panel" if value == "·" else ("blue", "green", "orange", "purple")[r]
            c.label(120 + 68 * lane, y, 52, 30, str(value), fill, "code")
        if r < 3:
            d = 4 >> r
            for lane in range(d):
                c.arrow(146 + 68 * (lane + d), y + 30, 146 + 68 * lane + 14, y + 58)
    c.text(
        20, 262, "no shared memory and no barrier: the lanes read each other's registers", "muted"
    )


_Comparator = Tuple[int, int, bool]  # from, to, rising


def _bitonic(n: int) -> List[List[_Comparator]]:
    stages = []
    size = 2
    while size <= n:
        distance = size // 2
        while distance:
            stages.append(
                [(i, i + distance, (i & size) == 0) for i in range(n) if not i & distance]
            )
            distance //= 2
        size *= 2
    return stages


def _odd_even(n: int) -> List[List[_Comparator]]:
    stages = []
    level = 1
    while 1 << level <= n:
        size = 1 << level
        for bit in range(level - 1, -1, -1):
            d = 1 << bit
            stage = []
            for i in range(n):
                low = i % size
                if bit == level - 1:
                    if not low & d:
                        stage.append((i, i + d, True))
                elif low & d and low + d < size:
                    stage.append((i, i + d, True))
            stages.append(stage)
        level += 1
    return stages


def _network(c: Canvas, stages: List[List[_Comparator]], start: List[int], y0: float) -> None:
    """The comparators of each stage, and what they make of the keys; above it, their distance's"
    " bit."""
    n = len(start)
    keys = list(start)
    for i in range(n):
        c.text(30, y0 + 28 * i + 5, str(keys[i]), "code strong", "middle")
        c.line(46, y0 + 28 * i, 672, y0 + 28 * i, "grid")
    widths: List[int] = []
    for stage in stages:
        lanes: List[int] = []  # the last wire that a column is used down to
        for a, b, _ in stage:
            for k, end in enumerate(lanes):
                if a > end:
                    lanes[k] = b
                    break
            else:
                lanes.append(b)
        widths.append(len(lanes))
    step = (672 - 60) / (sum(widths) + 1.6 * len(widths))
    x = 60.0
    for stage, width in zip(stages, widths):
        ends = [-1] * width
        for a, b, rising in stage:
            column = next(k for k in range(width) if a > ends[k])
            ends[column] = b
            cx = x + step * (column + 0.8)
            colour = "blue" if rising else "orange"
            top, bottom = y0 + 28 * a, y0 + 28 * b
            if rising:
                c.arrow(cx, top, cx, bottom, f"{colour} thick")
            else:
                c.arrow(cx, bottom, cx, top, f"{colour} thick")
            if (keys[a] > keys[b]) == rising:
                keys[a], keys[b] = keys[b], keys[a]
        bit = (stage[0][1] - stage[0][0]).bit_length() - 1
        c.text(x + step * (width + 0.4) / 2, y0 - 20, f"bit {bit}", "small muted", "middle")
        x += step * (width + 1.6)
        if stage is not stages[-1]:
            c.line(x - step * 0.3, y0 - 14, x - step * 0.3, y0 + 28 * n - 14, "dashed")
    for i in range(n):
        c.text(690, y0 + 28 * i + 5, str(keys[i]), "code strong", "middle")
    assert keys == sorted(keys), "the drawn network does not sort"


@drawing(
    "A bitonic network for eight keys",
    "Six stages, from left to right, each with four comparators. An arrow points to where the"
    " larger"
    " of the two keys goes; blue arrows point down, orange ones up. The keys 5, 2, 7, 0, 6, 1, 4, 3"
    " go in on the left and come out sorted on the right. Stages 1; 2 and 3; 4 to 6 are the"
    " levels.",
    316,
)
def bitonic_network(c: Canvas) -> None:
    _network(c, _bitonic(8), [5, 2, 7, 0, 6, 1, 4, 3], 62)
    for x, text in ((92, "level 1"), (214, "level 2"), (480, "level 3")):
        c.text(x, 22, text, "strong", "middle")
    c.text(46, 300, "An arrow points to where the larger key goes:", "small muted")
    c.text(340, 300, "blue rising", "small blue strong")
    c.text(424, 300, "orange falling", "small orange strong")


@drawing(
    "An odd-even merge network for eight keys",
    "The same keys through Batcher's odd-even merge sort: six stages with 19 comparators, where the"
    " bitonic network has 24. All arrows point down, since all comparators have one direction.",
    296,
)
def odd_even_network(c: Canvas) -> None:
    stages = _odd_even(8)
    assert sum(len(stage) for stage in stages) == 19
    _network(c, stages, [5, 2, 7, 0, 6, 1, 4, 3], 44)
    c.text(
        46, 282, "19 comparators, all of one direction; the bitonic network has 24", "small muted"
    )


@drawing(
    "One pass of a radix sort",
    "Two blocks have four keys each; the digits of the first are 2, 0, 1, 2, of the second 1, 1, 0,"
    " 2. Each block counts its digits: 1, 1, 2 and 1, 2, 1. A scan over the counts, digit by"
    " digit and"
    " block by block, gives where each block's keys with that digit start: 0, 2, 5 for the first"
    " and"
    " 1, 3, 7 for the second. The scatter writes the keys there, in their old order.",
    368,
)
def radix_pass(c: Canvas) -> None:
    fills = {0: "blue", 1: "green", 2: "orange"}
    blocks = [["2a", "0a", "1a", "2b"], ["1b", "1c", "0b", "2c"]]
    for b, keys in enumerate(blocks):
        x = 110 + 300 * b
        c.text(x, 26, f"block {b}", "muted")
        for i, key in enumerate(keys):
            c.label(x + 54 * i, 34, 54, 32, key, fills[int(key[0])], "code")
    c.text(20, 55, "keys", "strong")
    c.text(20, 112, "1 count", "strong")
    c.text(20, 176, "2 scan", "strong")
    c.text(20, 242, "3 scatter", "strong")
    starts = {}
    total = 0
    for digit in range(3):
        for b in range(2):
            starts[digit, b] = total
            total += sum(1 for key in blocks[b] if int(key[0]) == digit)
    for b in range(2):
        x = 110 + 300 * b
        for digit in range(3):
            count = sum(1 for key in blocks[b] if int(key[0]) == digit)
            c.label(x + 72 * digit, 94, 66, 28, f"{digit}: {count}", fills[digit], "code")
            c.label(
                x + 72 * digit, 158, 66, 28, f"{digit}: {starts[digit, b]}", fills[digit], "code"
            )
    c.text(110, 142, "how many keys of each digit", "small muted")
    c.text(
        110,
        206,
        "where they start: smaller digits, and the same digit in earlier blocks",
        "small muted",
    )
    order = sorted((key for keys in blocks for key in keys), key=lambda key: int(key[0]))
    place = dict(starts)
    for b, keys in enumerate(blocks):
        for i, key in enumerate(keys):
            to = place[int(key[0]), b]
            place[int(key[0]), b] += 1
            assert order[to] == key
            x = 110 + 300 * b + 54 * i
            c.label(x, 222, 54, 30, key, fills[int(key[0])], "code")
            c.arrow(x + 27, 252, 150 + 62 * to + 31, 302)
    for i, key in enumerate(order):
        c.label(150 + 62 * i, 302, 62, 32, key, fills[int(key[0])], "code")
        c.text(150 + 62 * i + 31, 352, str(i), "small muted", "middle")


@drawing(
    "Why taking a lock is one step",
    "Time runs downwards. On the left two threads test the lock, both find 0, both write 1, and"
    " both"
    " are in the critical section. On the right atomicCAS tests and takes it in one step: thread A"
    " gets 0 back and is in; thread B gets 1 back and tries again until A has released the lock.",
    300,
)
def lock_in_one_step(c: Canvas) -> None:
    left = [("A", "is it 0? yes"), ("B", "is it 0? yes"), ("A", "write 1"), ("B", "write 1")]
    right = [("A", "CAS: was 0"), ("B", "CAS: was 1"), ("A", "release: 0"), ("B", "CAS: was 0")]
    for side, (title, steps) in enumerate((("two steps", left), ("one step: atomicCAS", right))):
        x = 20 + 358 * side
        c.box(x, 12, 322, 276)
        c.text(x + 14, 36, title, "strong")
        c.text(x + 84, 60, "thread A", "muted", "middle")
        c.text(x + 238, 60, "thread B", "muted", "middle")
        for i, (thread, text) in enumerate(steps):
            y = 70 + (52 if side else 44) * i
            tx = x + 18 if thread == "A" else x + 172
            c.label(tx, y, 132, 28, text, "blue" if thread == "A" else "green", "code")
        if side:
            c.label(x + 18, 102, 132, 66, "in the section", "orange", "small")
            c.text(x + 238, 180, "spins …", "muted", "middle")
            c.label(x + 172, 258, 132, 26, "in the section", "orange", "small")
        else:
            c.label(x + 18, 250, 286, 28, "both are in", "red", "strong")


@drawing(
    "A chained hash table in a pool",
    "Three heads. Head 0 holds 3, the number of an entry in the pool: key 3. That entry's next is"
    " 0:"
    " key 6, the end of the chain. Head 1 holds 1: key 7, alone. Head 2 holds 4, then 2: keys 5 and"
    " 8. Each key is in the bucket of its remainder modulo 3.",
    300,
)
def hash_chains(c: Canvas) -> None:
    c.text(20, 28, "heads", "strong")
    c.text(220, 28, "pool", "strong")
    heads = [3, 1, 4]
    pool = [(6, 10, "end"), (7, 11, "end"), (8, 12, "end"), (3, 13, "0"), (5, 14, "2")]
    fills = ["blue", "green", "orange"]
    for x, text in ((240, "number"), (318, "key"), (396, "value"), (474, "next")):
        c.text(x, 48, text, "small muted", "middle")
    for b, head in enumerate(heads):
        c.text(28, 90 + 76 * b, str(b), "code muted")
        c.label(48, 70 + 76 * b, 50, 30, str(head), fills[b], "code strong")
    row = lambda n: 72.0 + 44 * n  # noqa: E731
    for n, (key, value, following) in enumerate(pool):
        y = row(n) - 14
        for k, text in enumerate((n, key, value, following)):
            fill = fills[key % 3] if k else "panel"
            c.label(206 + 78 * k, y, 74 if k else 66, 30, str(text), fill, "code")
    for b, head in enumerate(heads):
        c.arrow(98, 85 + 76 * b, 204, row(head) + 1, fills[b])
    for n, (key, _, following) in enumerate(pool):
        if following != "end":
            to = int(following)
            x = 540 + (26 if key % 3 == 0 else 52)
            c.bend([(516, row(n)), (x, row(n)), (x, row(to)), (520, row(to))], fills[key % 3])
    c.lines(610, 120, ["bucket =", "key % 3"], "code")
    c.text(
        206,
        292,
        "Links are numbers of entries, which mean the same in every memory.",
        "small muted",
    )


@drawing(
    "Pushing to the front of a list with one exchange",
    "The head holds 4. A thread has written its entry, number 9. It exchanges the head with 9, in"
    " one"
    " step, and gets 4 back. Then it stores 4 as its entry's next. The chain is 9, 4, end. Until"
    " then"
    " nobody may walk along the chain.",
    216,
)
def lock_free_push(c: Canvas) -> None:
    states = [
        ("before", "4", "?", False),
        ("atomicExch(&head, 9) → 4", "9", "?", True),
        ("next = 4", "9", "4", True),
    ]
    for i, (title, head, following, pushed) in enumerate(states):
        y = 20 + 66 * i
        c.text(20, y + 26, title, "code" if i else "strong")
        c.label(250, y + 6, 60, 32, head, "orange", "code strong")
        c.text(280, y, "head", "small muted", "middle")
        c.label(400, y + 6, 50, 32, "9", "green", "code")
        c.label(450, y + 6, 50, 32, following, "green" if following != "?" else "empty", "code")
        c.label(590, y + 6, 50, 32, "4", "blue", "code")
        c.label(640, y + 6, 50, 32, "end", "blue", "code small")
        if not pushed:
            c.bend([(310, y + 30), (350, y + 48), (560, y + 48), (590, y + 34)])
        else:
            c.arrow(310, y + 22, 400, y + 22, "thick")
        if following == "4":
            c.arrow(500, y + 22, 590, y + 22, "thick")
    c.text(400, 212, "an entry: number, next", "small muted")


@drawing(
    "Open addressing",
    "One array of eight slots. Keys 3, 11 and 19 all hash to slot 3. The first takes slot 3, the"
    " next finds it taken and goes to slot 4, the third to slot 5. A search walks the same way and"
    " ends at the key or at an empty slot.",
    180,
)
def open_addressing(c: Canvas) -> None:
    keys = {0: "8", 3: "3", 4: "11", 5: "19"}
    for slot in range(8):
        x = 130 + 66 * slot
        c.text(x + 33, 96, str(slot), "small muted", "middle")
        fill = "empty"
        if slot in keys:
            fill = "blue" if slot != 5 else "orange"
        c.label(x, 102, 66, 36, keys.get(slot, ""), fill, "code strong")
    c.text(20, 125, "slots", "strong")
    c.text(20, 40, "insert 19", "strong")
    c.text(130, 40, "19 % 8 = 3", "code")
    for i, text in enumerate(("taken", "taken", "free")):
        x = 361 + 66 * i
        c.text(x, 60, text, "small", "middle")
        c.arrow(x, 66, x, 84)
        if i:
            c.arrow(x - 44, 56, x - 20, 56)
    c.text(130, 166, "Each thread claims a slot with atomicCAS(&slot, empty, key).", "muted")


@drawing(
    "Probing windows",
    "A table of seven windows of four slots. The home of key 52 is window 2, whose slots have other"
    " keys; one of them is erased, a tombstone. Its stride is 3, so the next window is 5, which is"
    " full, too, and then 8, which is 1: after the last window comes the first. There a slot is"
    " empty, and gets the key. A search visits the same windows, and ends at the key.",
    190,
)
def probing_windows(c: Canvas) -> None:
    slots = ["k.k.", "kke.", "kkxk", "..k.", "k...", "kkkk", ".k.."]
    fills = {"k": "blue", "x": "red", "e": "orange", ".": "empty"}
    names = {"k": "", "x": "x", "e": "52", ".": ""}
    left, width, slot = 36, 94, 21

    def middle(window: int) -> int:
        return left + width * window + 2 * slot

    for window, content in enumerate(slots):
        for i, kind in enumerate(content):
            x = left + width * window + slot * i
            c.label(x, 76, slot, 34, names[kind], fills[kind], "code small")
        c.text(left + width * window + slot / 2, 126, str(window), "small muted", "middle")
    c.text(middle(2), 30, "52: home 2, stride 3", "code", "middle")
    c.arrow(middle(2), 38, middle(2), 72)
    c.bend([(middle(2) + 20, 62), (middle(2) + 40, 46), (middle(5) - 40, 46), (middle(5), 72)])
    c.bend([(middle(5) + 20, 112), (middle(5), 150), (middle(1) + 10, 150), (middle(1) + 10, 114)])
    c.text((middle(1) + middle(5)) / 2, 168, "5 + 3 = 8, and 8 - 7 = 1", "small", "middle")
    c.text(left, 186, "x: a tombstone", "small muted")


@drawing(
    "What release and acquire promise",
    "Time runs downwards. Thread A changes the sum and then frees the lock. Without order, thread B"
    " may find the lock free and still read the old sum. If A releases the lock and B acquires it,"
    " everything that A wrote before the release is visible to B after the acquire.",
    270,
)
def release_and_acquire(c: Canvas) -> None:
    for side, x in enumerate((20, 378)):
        c.box(x, 12, 322, 246)
        c.text(x + 12, 34, "release and acquire" if side else "without order", "strong")
        for thread, middle in (("thread A", 82), ("thread B", 240)):
            c.text(x + middle, 60, thread, "muted", "middle")
            c.line(x + middle, 68, x + middle, 216, "grid")
        c.label(x + 14, 74, 136, 28, "sum = 9", "blue", "code")
        free = "release: 0" if side else "lock = 0"
        take = "acquire: was 0" if side else "lock was 0"
        c.label(x + 14, 112, 136, 28, free, "green" if side else "panel", "code small")
        c.label(x + 172, 150, 136, 28, take, "green" if side else "panel", "code small")
        read = ("reads sum: 9", "orange") if side else ("reads sum: 7", "red")
        c.label(x + 172, 188, 136, 28, read[0], read[1], "code")
        c.arrow(x + 150, 130, x + 172, 158, "green" if side else "dashed")
        what = "B sees what A wrote" if side else "the new sum may arrive after the free lock"
        c.text(x + 161, 242, what, "small" if side else "small red", "middle")
