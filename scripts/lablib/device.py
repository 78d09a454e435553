# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Which device runs the kernels, and why."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Mapping, Optional

from lablib import processes
from lablib.errors import MAY_NOT_INSTALL, USAGE, LabError

NO_NVCC = (
    "the CUDA toolkit is not here (no nvcc on the PATH, in CUDACXX or in /usr/local/cuda/bin)."
    " Get it from https://developer.nvidia.com/cuda-downloads, or, without any rights on this"
    " computer, with `scripts/setup --cuda-from-pypi DIR`; or use --device cpu, which needs no"
    " toolkit."
)

# Where `scripts/setup --cuda-from-pypi` puts a link to the toolkit that it has installed.
FROM_PYPI = Path(__file__).resolve().parents[2] / ".lab" / "cuda" / "bin"


@dataclass(frozen=True)
class Device:
    name: str  # "cpu" or "gpu"
    reason: str
    nvcc: Optional[str] = None
    gpus: int = 0

    def sentence(self) -> str:
        return f"device: {self.name} ({self.reason})"


def find_nvcc(
    env: Mapping[str, str] = os.environ,
    toolkit: str = "/usr/local/cuda/bin",
    from_pypi: Path = FROM_PYPI,
) -> Optional[str]:
    """CUDACXX, or what was installed for this clone, or the one on the PATH, or the system's."""
    named = env.get("CUDACXX")
    if named:
        found = shutil.which(named, path=env.get("PATH"))
        if found:
            return found
    for place in (str(from_pypi), env.get("PATH"), toolkit):
        found = shutil.which("nvcc", path=place)
        if found:
            return found
    return None


def find_gpus(env: Mapping[str, str] = os.environ) -> List[str]:
    """The names of the GPUs that programs can use here."""
    if env.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1"):
        return []
    tool = shutil.which("nvidia-smi", path=env.get("PATH"))
    if tool is None:
        return []
    text = processes.capture([tool, "-L"], timeout=20.0) or ""
    names = []
    for line in text.splitlines():
        if line.startswith("GPU ") and ":" in line:
            names.append(line.split(":", 1)[1].split("(UUID")[0].strip())
    return names


def nvidia_smi(fields: str) -> str:
    """What it says of the first GPU; "" if nobody says."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ""
    command = [tool, f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
    text = processes.capture(command, timeout=20.0) or ""
    return text.splitlines()[0].strip() if text.strip() else ""


def choose(
    asked: Optional[str],
    env: Mapping[str, str] = os.environ,
    *,
    nvcc: Callable[[Mapping[str, str]], Optional[str]] = find_nvcc,
    gpus: Callable[[Mapping[str, str]], List[str]] = find_gpus,
) -> Device:
    """--device, else LAB_DEVICE, else gpu where nvcc and a GPU are there, else cpu."""
    by = "--device"
    if asked is None and env.get("LAB_DEVICE"):
        asked, by = env["LAB_DEVICE"], "LAB_DEVICE"
    if asked not in (None, "cpu", "gpu"):
        raise LabError(f"{by} is '{asked}': it must be cpu or gpu.", USAGE)
    if asked == "cpu":
        return Device("cpu", f"chosen by {by}")

    compiler = nvcc(env)
    if asked == "gpu":
        if compiler is None:
            raise LabError(NO_NVCC, MAY_NOT_INSTALL)
        found = gpus(env)
        reason = f"chosen by {by}; " + (
            found[0] if found else "no GPU found, so programs are built but cannot run"
        )
        return Device("gpu", reason, compiler, len(found))

    found = gpus(env)
    if compiler and found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        return Device("gpu", f"{found[0]}{more}; nvcc is there", compiler, len(found))
    if compiler:
        return Device("cpu", "no GPU found; nvcc is there")
    if found:
        return Device(
            "cpu", f"{found[0]} is there, but not nvcc: install the CUDA toolkit to use it"
        )
    return Device("cpu", "no GPU and no nvcc found")


def nvcc_version(nvcc: str) -> str:
    text = processes.capture([nvcc, "--version"]) or ""
    for line in text.splitlines():
        if "release" in line:
            return line.split("release", 1)[1].split(",")[0].strip()
    return "unknown version"


def cuda_environment(device: Device, env: Mapping[str, str] = os.environ) -> Dict[str, str]:
    """CMake looks for nvcc on the PATH only; tell it where we found it."""
    result = dict(env)
    if device.name == "gpu" and device.nvcc and not env.get("CUDACXX"):
        result["CUDACXX"] = str(Path(device.nvcc))
    return result
