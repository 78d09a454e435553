# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What the accesses of kernels cost: read from a table, shown beside the source, put into words."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Tuple

from lablib.console import paint
from lablib.errors import LabError


@dataclass
class Row:
    """The accesses of one kind in one line of a kernel, or in a whole kernel (line 0)."""

    kernel: str
    access: str  # "global load", "shared atomic", …
    file: str = ""
    line: int = 0
    bytes: int = 0  # that a lane accesses; 0: not known
    requests: int = 0
    lanes: int = 0
    lanes_of_warps: int = 0  # 0: not known
    sectors: int = 0
    ideal_sectors: int = 0  # 0: not known
    bytes_used: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0  # 0: not known
    turns: int = 0
    same_address: int = 0
    not_counted: int = 0
    worst: str = ""  # the costliest request: for each lane the bytes behind the first, or "-"

    def each(self, number: int) -> float:
        return number / self.requests if self.requests else 0.0


LINE_SHOWN = 80  # characters of a line of the source

_TEXTS = ("kernel", "file", "access", "worst")
Source = Dict[str, Optional[List[str]]]  # the lines of files that have been read
_SUMS = [one.name for one in fields(Row) if one.name not in (*_TEXTS, "line", "bytes")]


def read_table(path: Path) -> List[Row]:
    """The file that a program of the check build writes for CPU_DEVICE_COUNTERS."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise LabError(f"cannot read the counters in {path}: {error.strerror}.") from error
    if not lines:
        return []
    names = lines[0].split("\t")
    rows = []
    for line in lines[1:]:
        cells = line.split("\t")
        if len(cells) != len(names):
            raise LabError(f"{path} is not a table of counters, or it is cut off: {line[:60]}")
        row = dict(zip(names, cells))
        try:
            values: Dict[str, Any] = {k: v if k in _TEXTS else int(v) for k, v in row.items()}
            rows.append(Row(**values))
        except (TypeError, ValueError) as error:
            raise LabError(f"{path} is not a table of counters: {error}.") from error
    return rows


def remarks(row: Row) -> List[str]:
    """What a reader should notice, each a sentence; nothing where all is well."""
    if not row.requests:
        return ["never executed, or none of it was counted"] if row.not_counted else []
    found = []
    if row.access in ("global load", "global store"):
        found += _about_sectors(row)
    if row.access in ("shared load", "shared store"):
        found += _about_banks(row)
    if row.access.endswith("atomic") and row.turns and row.each(row.turns) >= 1.5:
        what = "one bank" if row.access.startswith("shared") else "the same address"
        found.append(
            f"up to {row.each(row.turns):.1f} lanes of a request update {what}: they take turns"
        )
    if row.access == "variable load" and row.each(row.turns) >= 1.5:
        found.append(
            f"{row.each(row.turns):.1f} different words per request: constant memory serves one"
            " word at a time (this does not matter for a __device__ variable)"
        )
    if row.lanes_of_warps and row.lanes < 0.75 * row.lanes_of_warps:
        found.append(
            f"{row.each(row.lanes):.1f} of {row.each(row.lanes_of_warps):.0f} lanes are active: the"
            " others are idle"
        )
    if row.lanes_of_warps and row.each(row.lanes_of_warps) <= 16:
        found.append(
            f"warps of {row.each(row.lanes_of_warps):.1f} threads: each takes up 32 lanes,"
            " whatever the block's size"
        )
    if row.not_counted:
        share = 100 * row.not_counted / (row.not_counted + row.lanes)
        found.append(
            f"{share:.0f} % of its accesses are not counted (a long loop without a barrier): the"
            " numbers per request are those of the accesses that are counted"
        )
    return found


def _about_sectors(row: Row) -> List[str]:
    if not row.ideal_sectors or row.sectors < 1.05 * row.ideal_sectors:
        return []
    sectors, best = row.each(row.sectors), row.each(row.ideal_sectors)
    text = f"{sectors:.1f} sectors per request (best: {best:.1f}): "
    if sectors - best < 1.05 and best >= 2:
        return [text + "the addresses of a warp do not begin at a multiple of 32 bytes"]
    apart = row.sectors * 32 / row.lanes
    if apart >= 31:
        return [text + "neighbouring threads access addresses 32 bytes or more apart"]
    return [text + f"as if neighbouring threads accessed addresses {apart:.0f} bytes apart"]


def _about_banks(row: Row) -> List[str]:
    if not row.ideal_wavefronts or row.wavefronts < 1.05 * row.ideal_wavefronts:
        return []
    wavefronts, best = row.each(row.wavefronts), row.each(row.ideal_wavefronts)
    return [
        f"{wavefronts:.1f} wavefronts per request (best: {best:.1f}): lanes access different"
        " words of the same bank, which serves one word at a time"
    ]


def added_up(rows: Iterable[Row]) -> List[Row]:
    """One row for all of the same access, line and kernel."""
    sums: Dict[Tuple[str, ...], Row] = {}
    for row in rows:
        key = (row.kernel, row.access, row.file, str(row.line), str(row.bytes))
        if key not in sums:
            sums[key] = replace(row)
            continue
        for name in _SUMS:
            setattr(sums[key], name, getattr(sums[key], name) + getattr(row, name))
    return list(sums.values())


# What each is is explained in this chapter, or right before this exercise.
_EXPLAINED_BY = {"sectors": "03", "wavefronts": "05.4"}


def explained(exercise_id: str) -> List[str]:
    """What a student who comes to that exercise has heard of."""
    return [what for what, where in _EXPLAINED_BY.items() if exercise_id >= where]


def in_a_line(rows: List[Row], of_interest: Iterable[str] = tuple(_EXPLAINED_BY)) -> str:
    """What all accesses cost on average, beside the least they could, and where it is most; "" if
    none was counted."""
    kinds = (
        ("wavefronts", "ideal_wavefronts", ("shared load", "shared store")),
        ("sectors", "ideal_sectors", ("global load", "global store")),
    )
    parts: List[str] = []
    worst: Tuple[float, str] = (1.05, "")
    for what, ideal, accesses in kinds:
        if what not in of_interest:
            continue
        known = [r for r in rows if r.access in accesses and r.requests and getattr(r, ideal)]
        requests = sum(row.requests for row in known)
        if not requests:
            continue
        cost = sum(getattr(row, what) for row in known) / requests
        best = sum(getattr(row, ideal) for row in known) / requests
        parts.append(f"{cost:.1f} {what} per request (best: {best:.1f})")
        for row in known:
            times = getattr(row, what) / getattr(row, ideal)
            if times > worst[0] and row.line:
                here, least = row.each(getattr(row, what)), row.each(getattr(row, ideal))
                each = f"{here:.1f} (best: {least:.1f})"
                worst = (times, f"; worst at {Path(row.file).name}:{row.line}: {each}")
    return ", ".join(parts) + worst[1]


def cost(row: Row) -> str:
    """What a request costs, and in brackets the best there could be: "4.0 (4.0) sectors"."""
    parts = []
    if row.sectors and row.access != "variable load":
        best = f" ({row.each(row.ideal_sectors):.1f})" if row.ideal_sectors else ""
        used = f", {100 * row.bytes_used / (32 * row.sectors):.0f} % used" if row.bytes_used else ""
        parts.append(f"{row.each(row.sectors):.1f}{best} sectors{used}")
    if row.wavefronts:
        best = f" ({row.each(row.ideal_wavefronts):.1f})" if row.ideal_wavefronts else ""
        parts.append(f"{row.each(row.wavefronts):.1f}{best} wavefronts")
    if row.turns:
        what = "words" if row.access == "variable load" else "turns"
        parts.append(f"{row.each(row.turns):.1f} (1.0) {what}")
    return ", ".join(parts)


def table(rows: Iterable[Row]) -> str:
    """All rows by kernel and line, with the text of the line and what is to notice about it."""
    rows = sorted(rows, key=lambda row: (row.kernel, row.file, row.line))
    if not rows:
        return "No kernel accessed global or shared memory."
    source: Source = {}
    lines: List[str] = []
    kernel = place = None
    noticed = 0
    for row in rows:
        if row.kernel != kernel:
            if kernel is not None:
                lines.append("")
            kernel, place = row.kernel, None
            lines.append(paint(f"kernel {kernel}", "bold"))
            lines.append(f"  {'requests':>13} {'lanes':>6}  {'access':<24}cost per request (best)")
        if row.line and (row.file, row.line) != place:
            place = (row.file, row.line)
            text = source_line(row, source)
            lines.append(f"  {Path(row.file).name}:{row.line}: {text}".rstrip())
        access = row.access + (f", {row.bytes} B" if row.bytes else "")
        lanes = f"{row.each(row.lanes):.1f}" if row.lanes_of_warps else ""
        lines.append(f"  {row.requests:>13,} {lanes:>6}  {access:<24}{cost(row)}".rstrip())
        for remark in remarks(row):
            noticed += 1
            lines.append(paint(f"{'':>24}^ {remark}", "yellow"))
    lines.append("")
    if not noticed:
        lines.append("Nothing stands out: no request costs more than it must.")
    lines.append(
        "A request is one instruction for the active lanes of a warp; all launches are added up.\n"
        "Global memory moves in sectors of 32 bytes. A wavefront is one pass over the 32 banks of\n"
        "shared memory. If a request has several atomics on the same address (in shared memory:\n"
        "the same bank), they take turns."
    )
    return "\n".join(lines)


def source_line(row: Row, source: Source, longest: int = LINE_SHOWN) -> str:
    if row.file not in source:
        try:
            text = Path(row.file).read_text(encoding="utf-8", errors="replace")
            source[row.file] = text.splitlines()
        except OSError:
            source[row.file] = None
    lines = source[row.file]
    line = lines[row.line - 1].strip() if lines and row.line <= len(lines) else ""
    return line if len(line) <= longest else line[: longest - 1] + "…"
