#!/usr/bin/env python3
# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Compares the CPU device with HIP-CPU, on kernels that both run (engine_kernels.cuh).

    git clone https://github.com/ROCm/HIP-CPU     # and TBB: libtbb-dev
    cmake --preset cpu -DHIP_CPU_INCLUDE_DIR=$PWD/HIP-CPU/include
    cmake --build build/cpu --target engine_benchmark hip_cpu_benchmark
    common/cpu_device/benchmarks/compare_hip_cpu.py build/cpu/bin [ROUNDS]

The two programs take turns, a kernel at a time, so that what else the machine does meets both. The
table has the median of the rounds (7): elapsed time, the processor time of all threads, and their
ratios, which are the medians of each round's ratio. On a busy machine the latter ratio is the
better one.
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Dict, List, Tuple

KERNELS = ("Barrier/32", "Barrier/256", "Barrier/1024", "Shuffle", "VectorAddKernel", "JuliaKernel",
           "DotKernel", "TiledProductKernel", "TiledProductReadOnce")


def measure(program: Path, kernel: str) -> Tuple[float, float]:
    """Elapsed time and processor time of one launch, in milliseconds."""
    command = [str(program), f"--benchmark_filter=^{kernel}/", "--benchmark_format=json"]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    (result,) = json.loads(run.stdout)["benchmarks"]
    if result.get("error_occurred"):
        raise RuntimeError(f"{program.name}, {kernel}: {result['error_message']}")
    return result["real_time"], result["cpu_time"]


def main(arguments: List[str]) -> int:
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    rounds = int(arguments[1]) if len(arguments) == 2 else 7
    ours, theirs = (Path(arguments[0]) / name for name in ("engine_benchmark", "hip_cpu_benchmark"))
    times: Dict[str, List[Tuple[float, ...]]] = {kernel: [] for kernel in KERNELS}
    for done in range(rounds):
        for kernel in KERNELS:
            times[kernel].append(measure(ours, kernel) + measure(theirs, kernel))
        print(f"round {done + 1} of {rounds}", file=sys.stderr)
    print(f"{'':<22}{'CPU device, ms':^20}{'HIP-CPU, ms':^20}{'HIP-CPU / CPU device':^22}")
    print(f"{'kernel':<22}" + f"{'elapsed':>10}{'processor':>10}" * 2 +
          f"{'elapsed':>11}{'processor':>11}")
    for kernel, samples in times.items():
        columns = [median(column) for column in zip(*samples)]
        ratios = [median(s[i + 2] / s[i] for s in samples) for i in (0, 1)]
        print(f"{kernel:<22}" + "".join(f"{x:>10.1f}" for x in columns) +
              "".join(f"{x:>11.2f}" for x in ratios))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
