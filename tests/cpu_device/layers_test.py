# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0
"""The CPU device's layers: nothing includes or links upwards, no files include each other in a
circle (the headers and the rewriter are looked at, too), and every function of the runtime API goes
through the wrapper of api/calls.hpp.

    layers_test.py FOLDER_OF_THE_CPU_DEVICE NM ARCHIVE…

The archives are those of the layers, named libcpu_device_LAYER.a, and libcpu_device_checks.a: the
observers that not every program links.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# From the bottom to the top: a layer uses those before it.
LAYERS = ["base", "engine", "observers", "context", "api", "libraries"]

INCLUDE = re.compile(r'^ *# *include *(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
FUNCTION = re.compile(r"^cudaError_t (cuda\w+)\(([^{;]*)\) \{(.*?)(?:^\}| \}$)", re.M | re.S)
DECLARED = re.compile(r"^(?:inline )?cudaError_t (cuda\w+)\(", re.M)
ROW = re.compile(r"^  X\((\w+),", re.M)

# Templates and inline functions that call nothing but functions of the table, or nothing at all.
MADE_OF_OTHERS = {
    "cudaConfigureCall",
    "cudaFuncSetSharedMemConfig",
    "cudaGLSetGLDevice",
    "cudaGetSymbolSize",
    "cudaLaunchKernelEx",
    "cudaLaunchKernelExC",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cudaOccupancyMaxPotentialBlockSize",
    "cudaOccupancyMaxPotentialBlockSizeVariableSMem",
    "cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags",
    "cudaOccupancyMaxPotentialBlockSizeWithFlags",
    "cudaProfilerStart",
    "cudaProfilerStop",
}


def includes(root: Path, *folders: str) -> dict[str, list[str]]:
    """What each file below the folders includes of the others, by paths below `root`."""
    root = root.resolve()
    places = [root, *(root / folder for folder in folders)]
    found = {}
    for file in sorted({p for place in places[1:] for p in place.rglob("*") if p.is_file()}):
        names = []
        for quoted, name in INCLUDE.findall(file.read_text(encoding="utf-8")):
            for place in [file.parent, *places] if quoted else places:
                if (place / (quoted or name)).is_file():
                    path = (place / (quoted or name)).resolve()
                    names.append(str(path.relative_to(root)))
                    break
        found[str(file.relative_to(root))] = names
    return found


def upward_includes(found: dict[str, list[str]]) -> list[str]:
    return [
        f"{file} includes {name}"
        for file, names in sorted(found.items())
        for name in names
        if LAYERS.index(name.split("/")[0]) > LAYERS.index(file.split("/")[0])
    ]


def circle(found: dict[str, list[str]]) -> list[str]:
    """Files that include each other; empty if there are none."""
    done: set[str] = set()

    def walk(file: str, path: list[str]) -> list[str]:
        if file in path:
            return path[path.index(file) :]
        if file in done:
            return []
        for name in found.get(file, []):
            if found_here := walk(name, [*path, file]):
                return found_here
        done.add(file)
        return []

    for file in sorted(found):
        if found_here := walk(file, []):
            return found_here
    return []


def outside_the_wrapper(source: Path, headers: Path) -> list[str]:
    """Functions of the API that are not in the table, that do not enter by it, or that the table
    has and nobody."""
    rows = set(ROW.findall((source / "api/call_table.hpp").read_text(encoding="utf-8")))
    wrong, seen = [], set()
    for file in sorted(source.rglob("*.cpp")):
        text = file.read_text(encoding="utf-8")
        seen |= set(re.findall(r"\bapi::(cuda\w+)", text))
        for name, _, body in FUNCTION.findall(text):
            if f"call(api::{name}," not in body:
                wrong.append(f"{file.name}: {name} does not enter by call(api::{name}, …)")
    for file in sorted(p for p in headers.rglob("*") if p.is_file()):
        for name in DECLARED.findall(file.read_text(encoding="utf-8")):
            if name not in rows | MADE_OF_OTHERS:
                wrong.append(f"{file.name}: {name} is not in api/call_table.hpp")
    wrong += [f"api/call_table.hpp: nobody enters by {name}" for name in sorted(rows - seen)]
    return wrong


def symbols(nm: str, archive: str) -> tuple[set[str], set[str]]:
    """What an archive defines, and what it needs."""
    text = subprocess.run([nm, archive], check=True, capture_output=True, text=True).stdout
    defined, needed = set(), set()
    for line in text.splitlines():
        parts = line.split()
        if len(parts) == 2 and parts[0] in "Uw":
            needed.add(parts[1])
        elif len(parts) == 3 and parts[1] in "TDBRVWuSG":
            defined.add(parts[2])
    return defined, needed - defined


def upward_links(nm: str, archives: list[str]) -> list[str]:
    by_layer: dict[str, tuple[set[str], set[str]]] = {}
    for archive in archives:
        layer = Path(archive).stem.removeprefix("libcpu_device_").replace("checks", "observers")
        here = by_layer.setdefault(layer, (set(), set()))
        for known, more in zip(here, symbols(nm, archive)):
            known |= more
    wrong = []
    for at, layer in enumerate(LAYERS):
        if layer not in by_layer:
            wrong.append(f"the layer {layer} has no archive")
            continue
        below = set().union(*(by_layer[b][0] for b in LAYERS[: at + 1] if b in by_layer))
        for above in LAYERS[at + 1 :]:
            for name in sorted((by_layer[layer][1] - below) & by_layer.get(above, (set(),))[0]):
                wrong.append(f"{layer} needs {name} of {above}")
    return wrong


class Layers(unittest.TestCase):
    root: Path
    nm: str
    archives: list[str]

    def test_no_include_goes_up(self) -> None:
        self.assertEqual(upward_includes(includes(self.root / "src", ".")), [])

    def test_no_files_include_each_other(self) -> None:
        found = includes(self.root, "src", "include", "rewriter")
        for known in ("src/api/calls.hpp", "include/cuda/barrier", "rewriter/tokens.hpp"):
            self.assertIn(known, found)
        self.assertEqual(circle(found), [])

    def test_no_link_goes_up(self) -> None:
        self.assertEqual(upward_links(self.nm, self.archives), [])

    def test_every_function_enters_by_the_table(self) -> None:
        self.assertEqual(outside_the_wrapper(self.root / "src", self.root / "include"), [])


class TheTestItself(unittest.TestCase):
    """It sees what it is there for."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def test_sees_an_include_that_goes_up(self) -> None:
        self.write("base/a.cpp", '#include "api/b.hpp"\n')
        self.write("api/b.hpp", '#include "base/c.hpp"\n')
        self.write("base/c.hpp", "")
        self.assertEqual(
            upward_includes(includes(self.root, ".")), ["base/a.cpp includes api/b.hpp"]
        )

    def test_sees_a_circle(self) -> None:
        self.write("api/a.hpp", '#include "b.hpp"\n')
        self.write("api/b.hpp", '#include "api/a.hpp"\n')
        self.assertEqual(circle(includes(self.root, ".")), ["api/a.hpp", "api/b.hpp"])

    def test_sees_a_circle_of_headers_of_which_one_has_no_suffix(self) -> None:
        self.write("include/cuda/a", "#if X\n#  include <b.h>\n#endif\n#include <atomic>\n")
        self.write("include/b.h", "#include <cuda/a>\n")
        self.write("src/base/c.hpp", "#include <b.h>\n")
        self.assertEqual(
            circle(includes(self.root, "src", "include")), ["include/b.h", "include/cuda/a"]
        )

    def test_sees_a_circle_across_folders(self) -> None:
        self.write("rewriter/a.hpp", '#include "b.hpp"\n')
        self.write("rewriter/b.hpp", "#include <c.h>\n")
        self.write("include/c.h", '#include "../rewriter/a.hpp"\n')
        self.assertEqual(
            circle(includes(self.root, "include", "rewriter")),
            ["include/c.h", "rewriter/a.hpp", "rewriter/b.hpp"],
        )

    def test_sees_functions_that_go_around_the_wrapper(self) -> None:
        self.write("src/api/call_table.hpp", "  X(cudaA, none, 1)\n  X(cudaB, none, 1)\n")
        self.write(
            "src/api/a.cpp",
            "cudaError_t cudaA(int i) {\n  if (i) return 1;\n  return call(api::cudaA, f);\n}\n"
            "cudaError_t cudaC(int i) { return g(i); }\n",
        )
        self.write("include/a.h", "cudaError_t cudaA(int);\ncudaError_t cudaD(int);\n")
        self.assertEqual(
            outside_the_wrapper(self.root / "src", self.root / "include"),
            [
                "a.cpp: cudaC does not enter by call(api::cudaC, …)",
                "a.h: cudaD is not in api/call_table.hpp",
                "api/call_table.hpp: nobody enters by cudaB",
            ],
        )

    def test_sees_a_link_that_goes_up(self) -> None:
        self.write("base.txt", "                 U of_api\n                 U of_libc\n")
        self.write("api.txt", "0000000000000000 T of_api\n")
        nm = self.root / "nm"
        nm.write_text('#!/bin/sh\nlayer=${1##*_}\ncat "$(dirname "$0")/${layer%.a}.txt"\n')
        nm.chmod(0o755)
        for layer in LAYERS:
            if layer not in ("base", "api"):
                self.write(f"{layer}.txt", "")
        archives = [f"libcpu_device_{layer}.a" for layer in LAYERS]
        self.assertEqual(upward_links(str(nm), archives), ["base needs of_api of api"])


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: layers_test.py FOLDER_OF_THE_CPU_DEVICE NM ARCHIVE…")
    Layers.root, Layers.nm, Layers.archives = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    unittest.main(argv=sys.argv[:1])
