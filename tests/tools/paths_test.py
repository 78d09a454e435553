# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Folders of any name, with the real CMake and Ninja: what is built once stays built."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path

from fakes import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))
from lablib import build, device  # noqa: E402
from lablib.errors import LabError  # noqa: E402

CPU = device.Device("cpu", "for this test")


class PathsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name).resolve()
        (self.top / "tmp").mkdir()
        before = tempfile.tempdir
        tempfile.tempdir = str(self.top / "tmp")
        self.addCleanup(setattr, tempfile, "tempdir", before)

    def clone(self, name):
        root = self.top / name
        (root / "src").mkdir(parents=True)
        (root / "CMakePresets.json").write_text(
            '{"version": 6, "configurePresets": [{"name": "cpu", "generator": "Ninja",'
            ' "binaryDir": "${sourceDir}/build/cpu"}]}'
        )
        (root / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(x LANGUAGES CXX)\n"
            "add_executable(x src/x.cpp)\n"
        )
        (root / "src/x.cpp").write_text('#include "x.hpp"\nint main() { return VALUE; }\n')
        (root / "src/x.hpp").write_text("#define VALUE 1\n")
        return root

    def build(self, root):
        """Whether something was compiled."""
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            build.build(root, "cpu", CPU, ["x"], "x")
        return "Building CXX" in (root / ".lab/log/cpu.x.log").read_text()

    def test_what_is_built_stays_built(self):
        for name in ("a clone (ü)", "it's & ü", '"x"; $HOME'):
            with self.subTest(name):
                root = self.clone(name)
                self.assertTrue(self.build(root))
                self.assertFalse(self.build(root))
                header = root / "src/x.hpp"
                header.write_text("#define VALUE 2\n")
                future = header.stat().st_mtime + 5
                os.utime(header, (future, future))
                self.assertTrue(self.build(root))
                self.assertIsNone(build.why_configure(root, "cpu"))

    def test_an_error_names_the_folder_itself(self):
        root = self.clone("it's")
        (root / "src/x.cpp").write_text("int main() { return wrong; }\n")
        with self.assertRaises(build.BuildFailed):
            self.build(root)
        self.assertIn(f"{root}/src/x.cpp:1:", (root / ".lab/log/cpu.x.log").read_text())

    def test_a_link_of_somebody_else_is_refused(self):
        root = self.clone("it's")
        link = build.source_folder(root)
        self.assertEqual(root, link.resolve())
        self.assertEqual(link, build.source_folder(root))
        link.unlink()
        link.symlink_to(self.top)
        self.assertRaises(LabError, build.source_folder, root)

    def test_others_need_no_link(self):
        root = self.clone("a clone")
        self.assertEqual(root, build.source_folder(root))
        self.assertEqual([], list((self.top / "tmp").iterdir()))


if __name__ == "__main__":
    unittest.main()
