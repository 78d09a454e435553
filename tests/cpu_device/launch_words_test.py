# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What `lab test` makes of a compiler's error about a launch: the rewriter and the compiler of this
build are asked, so that what a launch becomes cannot change without the words for it.

usage: launch_words_test.py CUDA_REWRITER COMPILER INCLUDE_FOLDER
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib import diagnostics  # noqa: E402

HEAD = """#include <cuda_runtime.h>
__global__ void scale(float* a, int n) { if (threadIdx.x < n) a[threadIdx.x] *= 2; }
template <class T> __global__ void copy(const T* from, T* to) { to[0] = from[0]; }
"""


class LaunchWords(unittest.TestCase):
    def said(self, function: str) -> List[List[str]]:
        """The messages about a file with this function below two kernels, without its folder."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "x.cu"
            source.write_text(HEAD + function + "\n")
            subprocess.run(
                [REWRITER, str(source), "--output", f"{source}.cpp"], check=True, timeout=60
            )
            done = subprocess.run(
                [COMPILER, "-std=c++20", "-fsyntax-only", "-isystem", INCLUDES, f"{source}.cpp"],
                capture_output=True,
                text=True,
                timeout=120,
            )
            self.assertNotEqual(0, done.returncode, function)
            found = diagnostics.messages(done.stderr.replace(f"{folder}/", "").splitlines())
        return [diagnostics.readable(message) for message in found]

    def test_arguments_of_other_types_are_told_in_cudas_words(self) -> None:
        for parameters, arguments, given in (
            ("const float* a, int n", "a, n", "const float*, int"),
            ("float* a, int n", "a, &n", "float*, int*"),
            ("float** a, int n", "a, n, 3", "float**, int, int"),
        ):
            with self.subTest(arguments):
                function = f"void f({parameters}) {{ scale<<<1, 32>>>({arguments}); }}"
                expected = [
                    "x.cu:4: error: kernel `scale` is launched with arguments that it does not"
                    " take",
                    "  its parameters:    (float*, int)",
                    f"  the launch gives:  ({given})",
                    f"    4 | {function}",
                ]
                self.assertEqual([expected], self.said(function))

    def test_too_few_arguments(self) -> None:
        function = "void f(float* a) { scale<<<1, 32>>>(a); }"
        (lines,) = self.said(function)
        self.assertEqual(
            "x.cu:4: error: too few arguments to function ‘void scale(float*, int)’", lines[0]
        )
        self.assertLess(len(lines), 8, lines)


if __name__ == "__main__":
    REWRITER, COMPILER, INCLUDES = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], "-v"])
