#!/usr/bin/env python3
# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Compares the CPU device's counters with those of a GPU, for the kernels of counters_probe.cu.

    cmake --preset cpu && cmake --build build/cpu --target counters_probe
    CPU_DEVICE_COUNTERS=cpu.tsv build/cpu/bin/counters_probe
    nvcc -std=c++20 -arch=native -o probe common/cpu_device/benchmarks/counters_probe.cu
    common/cpu_device/benchmarks/compare_counters.py --measure ./probe gpu.csv   # runs ncu
    common/cpu_device/benchmarks/compare_counters.py cpu.tsv gpu.csv

The last command ends with status 1 where a counter that should be equal is not. The `turns` of
atomics are a model, and shown only.
"""

import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

from lablib import counters, device, ncu  # noqa: E402
from lablib.errors import LabError  # noqa: E402

Key = Tuple[str, str]  # kernel, access


def sum_by_kernel(rows: List[counters.Row]) -> Dict[Key, counters.Row]:
    total: Dict[Key, counters.Row] = {}
    for row in rows:
        key = (ncu.short_kernel(row.kernel).replace(" ", "").replace("U>", ">"), row.access)
        into = total.setdefault(key, counters.Row(*key))
        for name in ("requests", "sectors", "wavefronts", "turns"):
            setattr(into, name, getattr(into, name) + getattr(row, name))
    return total


def compare(cpu: List[counters.Row], gpu: List[counters.Row]) -> Tuple[List[str], int]:
    """The lines of the comparison, and how many counters differ."""
    left, right = sum_by_kernel(cpu), sum_by_kernel(gpu)
    lines = [f"{'kernel':<28}{'access':<15}{'counter':<12}{'CPU device':>12}{'ncu':>12}"]
    wrong = 0
    for key in sorted(left.keys() | right.keys()):
        a, b = left.get(key, counters.Row(*key)), right.get(key, counters.Row(*key))
        for name in ("requests", "sectors", "wavefronts"):
            x, y = getattr(a, name), getattr(b, name)
            if not x and not y:
                continue
            model = name == "wavefronts" and key[1] == "shared atomic"
            x = a.turns if model else x
            differs = x != y and not model
            wrong += differs
            note = "  DIFFERS" if differs else "  (CPU device: turns)" if model else ""
            lines.append(f"{key[0]:<28}{key[1]:<15}{name:<12}{x:>12,}{y:>12,}{note}")
    return lines, wrong


def main(arguments: List[str]) -> int:
    try:
        if len(arguments) == 3 and arguments[0] == "--measure":
            tool = ncu.find_ncu(device.find_nvcc())
            return subprocess.call(ncu.command(tool, Path(arguments[2]), [arguments[1]]))
        if len(arguments) != 2 or arguments[0].startswith("-"):
            print(__doc__, file=sys.stderr)
            return 2
        cpu, gpu = counters.read_table(Path(arguments[0])), ncu.read_csv(Path(arguments[1]))
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    lines, wrong = compare(cpu, gpu)
    print("\n".join(lines))
    print(f"{wrong} counters differ." if wrong else "All counters that should be equal are.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
