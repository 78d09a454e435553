# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What is here and what is missing, and what to do about it."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import List

from lablib import device as devices
from lablib import processes
from lablib.console import paint
from lablib.errors import FAILED, OK


@dataclass
class Finding:
    name: str
    state: str  # "OK", "missing" or "-" (optional and not there)
    detail: str
    advice: str = ""
    required: bool = False


_IN_TOOLS = {"cmake", "ninja-build", "python3"}  # packages of what tools() looks for


def packages(root: Path) -> List[Finding]:
    """scripts/setup has the only list of packages. Those that tools() also speaks of are left out
    where they are present."""
    setup = subprocess.run(
        [str(root / "scripts" / "setup"), "--list"], capture_output=True, text=True
    )
    found = []
    for line in setup.stdout.splitlines():
        need, package, state, detail, purpose = (line.split(";", 4) + [""] * 5)[:5]
        required = need == "required"
        if state == "present":
            if package in _IN_TOOLS:
                continue
            found.append(Finding(package, "OK", detail, required=required))
        else:
            what = f"{purpose}{f' ({detail})' if detail else ''}"
            found.append(
                Finding(
                    package,
                    "missing" if required else "-",
                    what,
                    "scripts/setup installs it",
                    required,
                )
            )
    if setup.returncode != 0 or not setup.stdout:
        found.append(
            Finding(
                "scripts/setup",
                "missing",
                setup.stderr.strip(),
                "it should list packages; is it there?",
                True,
            )
        )
    return found


def tools() -> List[Finding]:
    """What is really called: the first one on the PATH may be another than the package's."""
    found = [Finding("python", "OK", f"{sys.version.split()[0]}, {sys.executable}")]
    for tool, wanted in (("cmake", (3, 25)), ("ninja", (1, 8))):
        path = shutil.which(tool)
        if path is None:
            found.append(
                Finding(tool, "missing", "not on the PATH", "scripts/setup installs it", True)
            )
            continue
        text = processes.capture([path, "--version"]) or ""
        numbers = [part for part in text.replace("-", " ").split() if part[:1].isdigit()]
        version = numbers[0] if numbers else "unknown version"
        try:
            old = tuple(int(part) for part in version.split(".")[:2]) < wanted
        except ValueError:
            old = False
        if old:
            advice = f"version {wanted[0]}.{wanted[1]} or later must come first on the PATH"
            found.append(Finding(tool, "missing", f"{version}, {path}: too old", advice, True))
        else:
            found.append(Finding(tool, "OK", f"{version}, {path}"))
    compiler = os.environ.get("CXX", "")
    if compiler and shutil.which(compiler.split()[0]) is None:
        found.append(
            Finding(
                "CXX",
                "missing",
                f"{compiler} is not there",
                "unset CXX, or set it to a compiler",
                True,
            )
        )
    return found


def gpu() -> List[Finding]:
    nvcc = devices.find_nvcc()
    found = []
    if nvcc:
        found.append(Finding("nvcc", "OK", f"{devices.nvcc_version(nvcc)}, {nvcc}"))
    else:
        found.append(
            Finding(
                "nvcc",
                "-",
                "no CUDA toolkit",
                "only needed for --device gpu; `scripts/setup --cuda-from-pypi DIR` installs it",
            )
        )
    names = devices.find_gpus()
    if names:
        found += [Finding("GPU", "OK", name) for name in names]
    else:
        found.append(Finding("GPU", "-", "none found", "not needed: the CPU device runs every lab"))
    return found


def doctor(root: Path) -> int:
    findings = tools() + packages(root) + gpu()
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        style = {"OK": "green", "missing": "red"}.get(finding.state, "yellow")
        line = f"{finding.name:<{width}}  {paint(f'{finding.state:<7}', style)}  {finding.detail}"
        print(line + (f": {finding.advice}" if finding.advice else ""))
    print()
    print(
        devices.choose(None).sentence()
        if not os.environ.get("LAB_DEVICE")
        else f"LAB_DEVICE={os.environ['LAB_DEVICE']}"
    )
    missing = [finding.name for finding in findings if finding.state == "missing"]
    if missing:
        print(f"Missing: {', '.join(missing)}. Next: `scripts/setup`")
        return FAILED
    print("All that the course needs is here. Next: `scripts/lab list`")
    return OK
