# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""CMake functions of the course, in scripts of their own."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from fakes import REPOSITORY


class IncludesTest(unittest.TestCase):
    """lab_includes(), which reads what students write each time the course is configured."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name) / "a folder"
        self.top.mkdir()

    def includes_cublas(self, text):
        (self.top / "a.cu").write_text(text)
        script = self.top / "script.cmake"
        script.write_text(
            "cmake_minimum_required(VERSION 3.25)\n"
            f'include("{REPOSITORY}/cmake/LabCuda.cmake")\n'
            f'lab_includes(found "cublas" "{self.top}/a.cu")\n'
            'message(STATUS "found: ${found}")\n'
        )
        done = subprocess.run(
            ["cmake", "-P", str(script)], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout.strip() == "-- found: ON"

    def test_through_headers(self):
        (self.top / "b.hpp").write_text('// x\n #  include "c.hpp"\n#include "a.cu"\n')
        (self.top / "c.hpp").write_text("#include <cublas_v2.h>\n")
        self.assertTrue(self.includes_cublas('#include "b.hpp"\n'))
        (self.top / "c.hpp").write_text("// #include <cublas_v2.h>\n")
        self.assertFalse(self.includes_cublas('#include "b.hpp"\n#include "nowhere.hpp"\n'))

    def test_what_never_ends_is_not_read(self):
        os.mkfifo(self.top / "pipe")
        (self.top / "folder").mkdir()
        up = "../" * len(self.top.parts)
        for name in ("pipe", "folder", f"{up}dev/zero", f"{up}dev/stdin"):
            with self.subTest(name):
                self.assertFalse(self.includes_cublas(f'#include "{name}"\n'))


class CasesTest(unittest.TestCase):
    """The programs that list an exercise's tests, which nobody has solved yet."""

    def test_start_without_what_they_would_call(self):
        text = (REPOSITORY / "cmake" / "LabExercises.cmake").read_text()
        told = re.search(r"target_link_options\(cases\.\$\{id\} PRIVATE\s+([^)]*)\)", text)
        options = told[1].replace("LINKER:", "-Wl,").split()
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "list.cpp"
            source.write_text(
                "int contract(int);\n"
                "int (*volatile asked)(int) = contract;\n"
                "int main(int count, char**) { return count > 1 ? contract(asked(1)) : 0; }\n"
            )
            for linker in ("bfd", "mold"):
                if not shutil.which(f"ld.{linker}"):
                    continue
                for optimised in ("-O0", "-O2"):
                    with self.subTest(linker, optimised=optimised):
                        program = Path(folder) / f"{linker}{optimised}"
                        command = ["c++", optimised, f"-fuse-ld={linker}", str(source)]
                        subprocess.run([*command, *options, "-o", str(program)], check=True)
                        self.assertEqual(0, subprocess.run([str(program)]).returncode)


if __name__ == "__main__":
    unittest.main()
