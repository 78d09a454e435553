# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What editors are given: clangd's flags read .cu files without false errors; JSON is JSON."""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import List

from fakes import REPOSITORY

# Everything that a student may write and that clang, on its own, would not take.
KERNELS = """\
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include <cooperative_groups.h>
struct refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
  const char* what() const noexcept override { return "no"; }
};
__device__ float longer(float x) { return std::fmax(std::sqrt(x), 1.0F); }
__constant__ float factor;
__global__ void plain(float* p, int n) {
  __shared__ float cache[32];
  extern __shared__ float dynamic[];
  __shared__ int last;
  if (threadIdx.x == 0) last = n;
  __syncthreads();
  cache[threadIdx.x] = longer(p[0]) + std::min(n, 3) + dynamic[0] + last + factor;
  atomicAdd(p, __shfl_down_sync(0xffffffffu, cache[0], 1));
  printf("%d of %d", warpSize, blockDim.x * gridDim.x);
  cooperative_groups::this_thread_block().sync();
}
template <class T>
__global__ void generic(T* p) {
  *p = T{};
}
int main() {
  float* p = nullptr;
  cudaMalloc(&p, 4);
  const dim3 grid(1, 2);
  plain<<<grid, 32, 128, cudaStream_t{}>>>(p, 3);
  generic<<<2, 3>>>(p);
  auto lambda = [=] __device__(int i) { return p[i]; };
  (void)lambda;
}
"""


def clangd_flags() -> List[str]:
    """The flags that .clangd adds for .cu files."""
    text = (REPOSITORY / ".clangd").read_text(encoding="utf-8")
    return re.findall(r"^    - (\S+)$", text, re.MULTILINE)


@unittest.skipUnless(shutil.which("clang++"), "needs clang++")
class ClangdFlagsTest(unittest.TestCase):
    def read(self, file: Path, *include: Path) -> List[str]:
        folders = [REPOSITORY / "common/include", *include]
        command = ["clang++", "-fsyntax-only", "-Wall", "-Wextra", *clangd_flags()]
        command += [f"-I{folder}" for folder in folders]
        command += ["-isystem", str(REPOSITORY / "common/cpu_device/include"), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
        return [line for line in done.stderr.splitlines() if re.search("error:|warning:", line)]

    def written(self, text: str) -> Path:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = Path(folder.name) / "kernels.cu"
        file.write_text(text)
        return file

    def test_kernels_and_launches_are_understood(self):
        self.assertEqual([], self.read(self.written(KERNELS)))

    def test_mistakes_are_seen(self):
        wrong = KERNELS.replace("generic<<<2, 3>>>(p)", "generik<<<2, 3>>>(p)")
        self.assertRegex("\n".join(self.read(self.written(wrong))), "generik")
        wrong = KERNELS.replace("(p, 3);", '(p, "3");')
        self.assertRegex("\n".join(self.read(self.written(wrong))), "cannot initialize a parameter")

    def test_a_starter_and_its_solution(self):
        place = "05_shared_memory/1_dot_product"
        for tree in ("labs", "solutions"):
            file = REPOSITORY / tree / place / "dot_product.cu"
            self.assertEqual([], self.read(file, REPOSITORY / "labs" / place))


class VsCodeTest(unittest.TestCase):
    def test_tasks_that_are_named_are_there(self):
        folder = REPOSITORY / ".vscode"
        tasks = json.loads((folder / "tasks.json").read_text())["tasks"]
        labels = [task["label"] for task in tasks]
        for launch in json.loads((folder / "launch.json").read_text())["configurations"]:
            self.assertIn(launch["preLaunchTask"], labels)
        for task in tasks:
            program = task["command"].replace("${workspaceFolder}", str(REPOSITORY))
            self.assertTrue(shutil.which(program) or task["command"] == "cmake", program)

    def test_the_debugger_s_script_refuses_what_is_no_exercise(self):
        script = REPOSITORY / ".vscode/build_for_debugger.sh"
        done = subprocess.run([script, REPOSITORY / "docs"], capture_output=True, text=True)
        self.assertEqual(2, done.returncode)
        self.assertIn("Open a file of an exercise first", done.stderr)


if __name__ == "__main__":
    unittest.main()
