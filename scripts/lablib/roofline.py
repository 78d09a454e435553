# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Kernels for the roofline of 21.1: their operations, bytes and times, as counted by a device."""

from dataclasses import dataclass
from typing import Dict, Iterable, List

from lablib.counters import Row

SECTOR = 32  # bytes
GLOBAL = ("global load", "global store", "global atomic")

# Nsight Compute's names. A fused multiply-add is two operations, of a thread.
_EXECUTED = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
OPERATIONS: Dict[str, int] = {
    _EXECUTED.format("fadd"): 1,
    _EXECUTED.format("fmul"): 1,
    _EXECUTED.format("ffma"): 2,
    _EXECUTED.format("dadd"): 1,
    _EXECUTED.format("dmul"): 1,
    _EXECUTED.format("dfma"): 2,
}
MEMORY = ("dram__bytes_read.sum", "dram__bytes_write.sum")
TIME = "gpu__time_duration.sum"  # nanoseconds
METRICS = (*OPERATIONS, *MEMORY, TIME)
# Plain units, and the clocks that programs run with.
NCU_OPTIONS = ("--print-units", "base", "--clock-control", "none")


@dataclass
class Kernel:
    name: str
    operations: float
    bytes: float
    ms: float  # 0: a time that says nothing


def of_rows(rows: Iterable[Row], what: str) -> List[Kernel]:
    """What each kernel asks of the L1 cache: 32 bytes for each sector of a request."""
    sums: Dict[str, int] = {}
    for row in rows:
        if row.access in GLOBAL:
            sums[row.kernel] = sums.get(row.kernel, 0) + row.sectors
    return [Kernel(f"{name}{what}", 0, SECTOR * sectors, 0) for name, sectors in sums.items()]


def of_ncu(sums: Dict[str, Dict[str, float]], rows: Iterable[Row]) -> List[Kernel]:
    """Two for each kernel: with the bytes of memory, and with those of the L1 cache."""
    first_level = {each.name: each.bytes for each in of_rows(rows, "")}
    found = []
    for name, values in sums.items():
        operations = sum(values.get(metric, 0) * n for metric, n in OPERATIONS.items())
        memory = sum(values.get(metric, 0) for metric in MEMORY)
        ms = values.get(TIME, 0) / 1e6
        found.append(Kernel(name, operations, memory, ms))
        found.append(Kernel(f"{name}; L1 cache", operations, first_level.get(name, 0), ms))
    return found


def csv_text(kernels: Iterable[Kernel]) -> str:
    """What the program of 21.1 reads with --rows. A kernel without either has no place there."""
    lines = ["name,operations,bytes,ms"]
    for each in kernels:
        if each.operations or each.bytes:
            lines.append(f"{each.name},{each.operations:.17g},{each.bytes:.17g},{each.ms:.6g}")
    return "\n".join(lines) + "\n"
