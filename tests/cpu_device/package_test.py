# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The Debian package of the CPU device: what is in it, what it needs, and whether it works for a
user who did not build it, from wherever it was unpacked.

usage: package_test.py BUILD_FOLDER_OF_THE_CPU_DEVICE [unittest's arguments]
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import ClassVar, List

PROGRAM = """
#include <cstdio>
__global__ void square(int* a) { a[threadIdx.x] *= a[threadIdx.x]; }
int main() {
  int* a = nullptr;
  cudaMallocManaged(&a, 2 * sizeof(int));
  a[0] = 3, a[1] = -4;
  square<<<1, 2>>>(a);
  cudaDeviceSynchronize();
  std::printf("%d %d\\n", a[0], a[1]);
  return cudaFree(a);
}
"""
CONTENTS = (
    "usr/bin/cpucc",
    "usr/include/cpu_device/cuda_runtime.h",
    "usr/lib/cmake/cpu_device/cpu_device-config.cmake",
    "usr/lib/cpu_device/cuda_rewriter",
    "usr/lib/cpu_device/libcpu_device.so",
    "usr/lib/cpu_device/libcpu_device_api.a",
    "usr/lib/cpu_device/libcudart.so",
    "usr/lib/cpu_device/toolkit/bin/nvcc",
)


def output_of(*command: str, folder: "Path | None" = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


class Package(unittest.TestCase):
    temporary: ClassVar["tempfile.TemporaryDirectory[str]"]
    package: ClassVar[Path]
    root: ClassVar[Path]

    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory()
        folder = Path(cls.temporary.name)
        folder.chmod(0o755)  # others are to look into it
        output_of("cpack", "-B", str(folder / "made"), folder=BUILD)
        (cls.package,) = (folder / "made").glob("*.deb")
        cls.root = folder / "somewhere else"
        output_of("dpkg-deb", "-x", str(cls.package), str(cls.root))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temporary.cleanup()

    def field(self, name: str) -> str:
        return output_of("dpkg-deb", "-f", str(self.package), name).strip()

    def listed(self) -> List[List[str]]:
        """The columns of each file: mode, owner, size, date, time, name ..."""
        return [
            line.split() for line in output_of("dpkg-deb", "-c", str(self.package)).splitlines()
        ]

    def test_has_a_name_and_a_version(self) -> None:
        self.assertEqual("cpu-device", self.field("Package"))
        self.assertRegex(self.field("Version"), r"^\d+\.\d+\.\d+$")
        architecture = output_of("dpkg", "--print-architecture").strip()
        self.assertEqual(architecture, self.field("Architecture"))

    def test_needs_what_cpucc_and_its_binaries_need(self) -> None:
        needed = self.field("Depends").split(", ")
        names = {re.split(r"[ (]", each)[0] for each in needed}
        self.assertIn("python3 (>= 3.9)", needed)
        self.assertIn("g++ (>= 4:12)", needed)
        self.assertLessEqual({"libc6", "libstdc++6"}, names)
        settings = (self.root / "usr/lib/cpu_device/settings.json").read_text()
        self.assertEqual('"openblas": true' in settings, "libopenblas-dev" in names)

    def test_has_all_of_it_and_nothing_of_the_machine_that_made_it(self) -> None:
        for name in CONTENTS:
            self.assertTrue((self.root / name).exists(), name)
        for mode, owner, *_, name in (line[:6] for line in self.listed()):
            self.assertEqual("root/root", owner, name)
            self.assertTrue(name.startswith("./usr/") or name in ("./", "./usr/"), name)
            self.assertEqual("r", mode[7], f"{name}: not everybody can read it")
        for text in [
            *self.root.rglob("*.cmake"),
            *self.root.rglob("*.json"),
            self.root / CONTENTS[0],
        ]:
            self.assertNotIn(str(BUILD), text.read_text(), text)

    def test_works_where_it_was_unpacked_for_somebody_else(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "square.cu").write_text(PROGRAM)
            somebody: List[str] = []
            if os.geteuid() == 0:
                for each in (folder, folder / "square.cu"):
                    shutil.chown(each, "nobody", "nogroup")
                somebody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
            clean = [
                *somebody,
                "env",
                "-i",
                f"HOME={folder}",
                f"PATH={self.root}/usr/bin:/usr/bin:/bin",
            ]
            for options in ([], ["--check"]):
                output_of(*clean, "cpucc", *options, "square.cu", "-o", "square", folder=folder)
                self.assertEqual("9 16\n", output_of(*clean, "./square", folder=folder))


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main()
