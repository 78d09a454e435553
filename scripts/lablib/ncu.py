# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The counters of a real GPU, measured by Nsight Compute (ncu)."""

import csv
import os
import shutil
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence

from lablib import roofline
from lablib.counters import Row
from lablib.errors import MAY_NOT_INSTALL, LabError

NO_NCU = (
    "Nsight Compute was not found (no ncu on the PATH or in the CUDA toolkit's folder), and"
    " scripts/setup does not install it: it comes with the full CUDA toolkit, or as a package of"
    " its own (cuda-nsight-compute-13-0 in NVIDIA's package list). `--device cpu` counts without"
    " it."
)

# What is counted for each kind of access: where there are several metrics, their sum.
_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
_INSTRUCTIONS = "smsp__inst_executed_op_shared_{}.sum"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
METRICS: Dict[str, Dict[str, List[str]]] = {
    "global load": {"requests": [_REQUESTS.format("ld")], "sectors": [_SECTORS.format("ld")]},
    "global store": {"requests": [_REQUESTS.format("st")], "sectors": [_SECTORS.format("st")]},
    "global atomic": {  # "red": without a result
        "requests": [_REQUESTS.format("atom"), _REQUESTS.format("red")],
        "sectors": [_SECTORS.format("atom"), _SECTORS.format("red")],
    },
    "shared load": {
        "requests": [_INSTRUCTIONS.format("ld")],
        "wavefronts": [_WAVEFRONTS.format("ld")],
        "conflicts": [_CONFLICTS.format("ld")],
    },
    "shared store": {
        "requests": [_INSTRUCTIONS.format("st")],
        "wavefronts": [_WAVEFRONTS.format("st")],
        "conflicts": [_CONFLICTS.format("st")],
    },
    "shared atomic": {
        "requests": [_INSTRUCTIONS.format(op) for op in ("atom", "atom_dot_alu", "atom_dot_cas")],
        "wavefronts": [_WAVEFRONTS.format("atom")],
    },
}


def find_ncu(nvcc: Optional[str], env: Mapping[str, str] = os.environ) -> str:
    found = shutil.which("ncu", path=env.get("PATH"))
    if found is None:
        folders = ["/usr/local/cuda/bin"]
        if nvcc:
            folders.insert(0, str(Path(nvcc).resolve().parent))
        for folder in folders:
            found = found or shutil.which("ncu", path=folder)
    if found is None:
        raise LabError(NO_NCU, MAY_NOT_INSTALL)
    return found


def command(
    ncu: str, log: Path, program: List[str], more: Sequence[str] = (), options: Sequence[str] = ()
) -> List[str]:
    """Runs `program` under ncu, which writes a table of all kernels to `log`: the accesses, and
    `more` metrics."""
    names = [name for kind in METRICS.values() for sums in kind.values() for name in sums]
    table = ["--csv", "--page", "raw", "--log-file", str(log)]
    return [ncu, *table, *options, "--metrics", ",".join([*names, *more]), *program]


def _number(text: str) -> int:
    try:
        return round(float(text.replace(",", "")))
    except ValueError:
        return 0  # "n/a": this GPU does not have it


def read_csv(path: Path) -> List[Row]:
    """What ncu wrote: a row for each kernel and kind of access, over all launches."""
    return _rows(read_sums(path))


def read_roofline(path: Path) -> List[roofline.Kernel]:
    """The same for a command with roofline.METRICS."""
    sums = read_sums(path)
    return roofline.of_ncu({name: dict(values) for name, values in sums.items()}, _rows(sums))


def read_sums(path: Path) -> Dict[str, Dict[str, int]]:
    """What ncu wrote: each kernel's metrics, over all launches."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise LabError(f"ncu has written nothing to {path}: {error.strerror}.") from error
    if any("ERR_NVGPUCTRPERM" in line for line in lines):
        raise LabError(
            "this GPU's counters are for administrators only (ERR_NVGPUCTRPERM). An"
            " administrator can allow them for all users: load the driver's module with"
            " NVreg_RestrictProfilingToAdminUsers=0, or run ncu as root."
        )
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        said = "\n".join(line for line in lines if "==ERROR==" in line) or "\n".join(lines[-5:])
        raise LabError(f"ncu measured no kernel. It said:\n{said}")
    kernels: Dict[str, Dict[str, int]] = {}
    for cells in csv.DictReader(lines[begin:]):
        if not (cells.get("ID") or "").isdigit():
            continue  # the row of units
        sums = kernels.setdefault(short_kernel(cells["Kernel Name"]), {})
        if cells.get("Metric Name"):  # a row for each metric, as without --page raw
            values = {cells["Metric Name"]: cells.get("Metric Value") or ""}
        else:
            values = {name: value or "" for name, value in cells.items() if name and "__" in name}
        for name, value in values.items():
            sums[name] = sums.get(name, 0) + _number(value)
    return kernels


def _rows(kernels: Mapping[str, Mapping[str, int]]) -> List[Row]:
    rows = []
    for kernel, sums in kernels.items():
        for access, parts in METRICS.items():
            value = {
                part: sum(sums.get(name, 0) for name in names) for part, names in parts.items()
            }
            if not any(value.values()):
                continue
            row = Row(kernel, access, requests=value["requests"])
            row.sectors = value.get("sectors", 0)
            row.wavefronts = value.get("wavefronts", 0)
            if "conflicts" in value:
                row.ideal_wavefronts = max(0, row.wavefronts - value["conflicts"])
            rows.append(row)
    return rows


def short_kernel(name: str) -> str:
    """"void <unnamed>::copy<(int)32>(const float *, float *)" is copy<32>."""
    depth = 0
    end = len(name)
    for i, c in enumerate(name):  # up to the list of parameters
        if c == "(" and depth == 0 and not name.startswith("(anonymous namespace)", i):
            end = i
            break
        depth += {"<": 1, ">": -1}.get(c, 0)
    name = name[:end].strip()
    for cast in ("(unsigned int)", "(int)", "(bool)", "(unsigned long)"):
        name = name.replace(cast, "")
    begin = depth = 0
    for i, c in enumerate(name):  # behind the return type and the namespaces
        if depth == 0 and (c == " " or name.startswith("::", i - 1)):
            begin = i + 1
        depth += {"<": 1, ">": -1}.get(c, 0)
    return name[begin:]
