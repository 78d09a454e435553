# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The parts of scripts/lab that need no tree: device choice, compiler messages, test output, …"""

import io
import os
import tempfile
import unittest
from pathlib import Path

from fakes import gtest_program, script
from lablib import console, device, diagnostics, files, gtest, testing
from lablib.errors import MAY_NOT_INSTALL, USAGE, LabError


class DeviceTest(unittest.TestCase):
    def choose(self, asked, nvcc=None, gpus=(), **env):
        chosen = device.choose(asked, env, nvcc=lambda env: nvcc, gpus=lambda env: list(gpus))
        return chosen.sentence()

    def test_the_choice_and_its_reason(self):
        nvcc = "/cuda/nvcc"
        self.assertEqual("device: cpu (no GPU and no nvcc found)", self.choose(None))
        self.assertEqual("device: cpu (no GPU found; nvcc is there)", self.choose(None, nvcc))
        self.assertIn("device: cpu (H200 is there, but not nvcc", self.choose(None, None, ["H200"]))
        self.assertEqual("device: gpu (H200; nvcc is there)", self.choose(None, nvcc, ["H200"]))
        self.assertEqual(
            "device: gpu (H200 and 3 more; nvcc is there)", self.choose(None, nvcc, ["H200"] * 4)
        )
        self.assertEqual("device: cpu (chosen by --device)", self.choose("cpu", nvcc, ["H200"]))
        self.assertEqual(
            "device: cpu (chosen by LAB_DEVICE)",
            self.choose(None, nvcc, ["H200"], LAB_DEVICE="cpu"),
        )
        self.assertEqual(
            "device: cpu (chosen by --device)", self.choose("cpu", nvcc, ["H200"], LAB_DEVICE="gpu")
        )
        self.assertIn("chosen by --device; no GPU found", self.choose("gpu", nvcc))
        self.assertEqual("device: cpu (no GPU and no nvcc found)", self.choose(None, LAB_DEVICE=""))

    def test_what_cannot_be_chosen(self):
        with self.assertRaisesRegex(LabError, "LAB_DEVICE is 'tpu'") as caught:
            self.choose(None, LAB_DEVICE="tpu")
        self.assertEqual(USAGE, caught.exception.exit_code)
        with self.assertRaisesRegex(
            LabError, "CUDA toolkit is not here.*does not install it.*--device cpu"
        ) as caught:
            self.choose("gpu", None, ["H200"])
        self.assertEqual(MAY_NOT_INSTALL, caught.exception.exit_code)

    def test_where_nvcc_and_gpus_are_looked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            bin, toolkit = Path(folder) / "bin", Path(folder) / "toolkit"
            self.assertIsNone(device.find_nvcc({"PATH": str(bin)}, str(toolkit)))
            in_toolkit = script(toolkit / "nvcc", "#!/bin/sh\n")
            self.assertEqual(str(in_toolkit), device.find_nvcc({"PATH": str(bin)}, str(toolkit)))
            named = script(Path(folder) / "named", "#!/bin/sh\n")
            self.assertEqual(
                str(named),
                device.find_nvcc({"PATH": str(bin), "CUDACXX": str(named)}, str(toolkit)),
            )

            self.assertEqual([], device.find_gpus({"PATH": str(bin)}))
            script(
                bin / "nvidia-smi",
                "#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\necho '  MIG 1g: x'\n",
            )
            self.assertEqual(["NVIDIA H200"], device.find_gpus({"PATH": str(bin)}))
            self.assertEqual([], device.find_gpus({"PATH": str(bin), "CUDA_VISIBLE_DEVICES": ""}))
            script(bin / "nvidia-smi", "#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n")
            self.assertEqual([], device.find_gpus({"PATH": str(bin)}))


OWN = "/r/labs/05_shared_memory/1_dot_product"


class DiagnosticsTest(unittest.TestCase):
    def messages(self, text):
        return diagnostics.own_first(diagnostics.messages(text.splitlines()), Path(OWN))

    def test_gcc(self):
        found = self.messages(f"""[1/3] Rewriting dot_product.cu
FAILED: x.o
/usr/bin/c++ -Wall -c x.cpp
In file included from /r/common/include/lab/a.hpp:3,
                 from {OWN}/dot_product.cu:1:
/r/common/include/lab/b.hpp:7:3: error: given
{OWN}/dot_product.cu: In function 'float f()':
{OWN}/dot_product.cu:12:5: error: 'x' was not declared
   12 |     x;
      |     ^
{OWN}/dot_product.cu:13:5: warning: unused
ninja: build stopped: subcommand failed.
""")
        self.assertEqual(
            [(12, "error"), (13, "warning"), (7, "error")], [(m.line, m.kind) for m in found]
        )
        self.assertEqual(4, len(found[0].lines))
        self.assertIn("In function", found[0].lines[0])
        self.assertIn("In file included", found[2].text)

    def test_nvcc(self):
        found = self.messages(f"""FAILED: x.o
/usr/local/cuda/bin/nvcc -c x.cu
{OWN}/dot_product.cu(12): error: identifier "x" is undefined
      x;
      ^

1 error detected in the compilation of "x.cu".
""")
        self.assertEqual((12, "error"), (found[0].line, found[0].kind))
        self.assertIn("      ^", found[0].lines)

    def test_the_linker(self):
        found = self.messages("""FAILED: bin/x
: && /usr/bin/c++ -o x
/usr/bin/ld: CMakeFiles/x/main.cpp.o: in function `main':
main.cpp:(.text+0x1): undefined reference to `lab::dot_product::dot(int)'
collect2: error: ld returned 1 exit status
""")
        self.assertEqual("link", found[0].kind)
        self.assertIn("undefined reference", found[0].text)

    LAUNCH = (
        "{place}: error: no match for call to ‘(cpu_device::constant_launch<lab::dot_product::"
        "{{anonymous}}::partial, const float*, float*, long unsigned int>) (const float*&,"
        " std::size_t&)’"
    )

    def test_a_launch_with_wrong_arguments_is_told_in_cudas_words(self):
        source = "  partial<<<blocks, kThreads>>>(a, n);"
        found = self.messages(f"""FAILED: x.o
{OWN}/dot_product.cu: In function ‘void f()’:
{self.LAUNCH.format(place=f"{OWN}/dot_product.cu:12:441")}
   12 | {source}
      |   ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~{" " * 300}^
/r/common/cpu_device/include/cpu_device/execution.h:148:8: note: candidate: ‘void cpu_device::x’
  148 |   void operator()(P... args) const {{
      |        ^~~~~~~~
""")
        self.assertEqual(
            [
                f"{OWN}/dot_product.cu:12: error: kernel `partial` is launched with arguments that"
                " it does not take",
                "  its parameters:    (const float*, float*, std::size_t)",
                "  the launch gives:  (const float*, std::size_t)",
                f"   12 | {source}",
            ],
            diagnostics.readable(found[0]),
        )

    def test_marks_behind_the_end_of_the_line_are_left_out(self):
        found = self.messages(f"""FAILED: x.o
{OWN}/dot_product.cu:12:80: error: ‘c’ was not declared
   12 |   k<<<1, 2>>>(c);
      |   ~~~~~~~~~~~~~~{" " * 60}^
{OWN}/dot_product.cu:13:5: error: ‘x’ was not declared
   13 |     x;
      |     ^
""")
        self.assertEqual(
            [
                f"{OWN}/dot_product.cu:12: error: ‘c’ was not declared",
                "   12 |   k<<<1, 2>>>(c);",
                "      |   ~~~~~~~~~~~~~~",
            ],
            diagnostics.readable(found[0]),
        )
        self.assertEqual(found[1].lines, diagnostics.readable(found[1]))

    def test_functions_that_the_linker_misses(self):
        found = self.messages("""FAILED: bin/x
/usr/bin/ld: t.o: in function `A_Test::TestBody()':
t.cpp:91: undefined reference to `lab::a::add(std::span<float const, 18446744073709551615ul>)'
t.cpp:92: undefined reference to `lab::a::add(std::span<float const, 18446744073709551615ul>)'
t.cpp:93: undefined reference to `lab::a::sum(unsigned long)'
collect2: error: ld returned 1 exit status
""")
        self.assertEqual(
            ["lab::a::add(std::span<const float>)", "lab::a::sum(size_t)"],
            diagnostics.undefined(found),
        )

    def test_includes_that_are_gone(self):
        starter = '#include <cuda_runtime.h>\n\n#include "lab/errors.hpp"\n#include "sum.hpp"\n'
        text = '#include "sum.hpp"\n  #  include <cuda_runtime.h>  // first\n#include <vector>\n'
        self.assertEqual(
            ['#include "lab/errors.hpp"'], diagnostics.lost_includes(text, starter)
        )
        self.assertEqual([], diagnostics.lost_includes(starter, starter))

    def test_what_is_wrong_in_a_macro_is_said_of_the_line_that_uses_it(self):
        (message,) = self.messages("""FAILED: x.o
In file included from ../../labs/05/1_x/x.cu:5:
labs/05/1_x/x.cu: In function 'void lab::f()':
common/include/lab/cuda_check.hpp:41:45: error: cannot convert 'int' to 'cudaError_t'
   41 |     const cudaError_t status_ = (expr);
      |                                 ^~~~~~
      |                                 int
common/include/lab/cuda_check.hpp:9:3: note: in expansion of macro 'LAB_INNER'
    9 |   LAB_INNER(expr)
      |   ^~~~~~~~~
../../labs/05/1_x/x.cu:12:3: note: in expansion of macro 'CUDA_CHECK'
   12 |   CUDA_CHECK(5);
      |   ^~~~~~~~~~
""")
        self.assertEqual(("../../labs/05/1_x/x.cu", 12), (message.path, message.line))
        self.assertEqual(
            [
                "../../labs/05/1_x/x.cu:12: error: cannot convert 'int' to 'cudaError_t'",
                "   12 |   CUDA_CHECK(5);",
            ],
            diagnostics.readable(message),
        )

    def test_what_a_macro_looks_like_inside_is_left_out(self):
        (message,) = self.messages("""FAILED: x.o
labs/05/1_x/x.cu:12:14: error: 'cudaFoo' was not declared in this scope
   12 |   CUDA_CHECK(cudaFoo());
      |              ^~~~~~~
common/include/lab/cuda_check.hpp:62:51: note: in definition of macro 'CUDA_CHECK'
   62 | #define CUDA_CHECK(...) f(__VA_ARGS__)
      |                           ^~~~~~~~~~~
labs/05/1_x/x.cu:9:6: note: something else
""")
        self.assertEqual(
            [
                "labs/05/1_x/x.cu:12:14: error: 'cudaFoo' was not declared in this scope",
                "   12 |   CUDA_CHECK(cudaFoo());",
                "      |              ^~~~~~~",
                "labs/05/1_x/x.cu:9:6: note: something else",
            ],
            diagnostics.readable(message),
        )

    def test_nothing_to_be_found(self):
        self.assertEqual([], self.messages("[1/2] x\nninja: error: loading build.ninja\n"))

    def test_paths_become_short(self):
        self.assertEqual(
            "labs/x.cu:1 common/y", diagnostics.shorten("/r/labs/x.cu:1 ../../common/y", Path("/r"))
        )


class ReadableTest(unittest.TestCase):
    REPORT = [
        "CPU device: illegal memory access in kernel k (launched at x.cu:7), at x.cu:3: 4 bytes"
        " past the end of device memory.",
        "  Try: compare the thread's index with the length before the access.",
    ]

    def test_what_follows_from_a_failed_kernel_is_one_line(self):
        failed = "x.cu:9: cudaFree(p) failed: cudaErrorIllegalAddress (an illegal memory access)"
        order = "(thread order: forward)"
        lines = testing._readable(
            [
                *self.REPORT,
                failed,
                failed,
                'unknown file: Failure\nC++ exception with description "timer.cpp:58:'
                ' cudaEventRecord(stop) failed: cudaErrorIllegalAddress" thrown in the test body.',
                order,
                "tests/support/test_main.cpp:97: Failure",
                "Failed",
                "the CPU device reported a mistake in this test, the last one:",
                self.REPORT[0].replace("CPU device: ", ""),
                self.REPORT[1],
                order,
            ]
        )
        self.assertEqual(
            [
                *self.REPORT,
                "(After that every CUDA call fails, with cudaErrorIllegalAddress, as on a GPU.)",
                order,
            ],
            lines,
        )

    def test_what_does_not_follow_stays(self):
        lines = [
            "x.cu:9: cudaMemcpy(…) failed: cudaErrorInvalidValue (invalid argument)",
            "CPU device: the copy at x.cu:9 is too long.",
            "CPU device: the copy at x.cu:9 is too long.",
            "x_test.cpp:4: Failure",
            "Expected 1, got 2",
        ]
        self.assertEqual(lines, testing._readable(lines))
        failed = ["x.cu:9: cudaFree(p) failed: cudaErrorIllegalAddress (as a GPU says it)"]
        self.assertEqual(failed, testing._readable(failed))
        report = ["tests/support/test_main.cpp:97: Failure", "Failed", "the CPU device reported a"
                  " mistake in this test, the last one:", "a race"]
        self.assertEqual(report[2:], testing._readable(report))

    def test_a_comparison_begins_with_what_it_found(self):
        lines = [
            "tests/x_test.cpp:55: Failure",
            "Value of: matches(lab::compare(add(a, b), right))",
            "  Actual: false (1000 of 1000 elements differ; first at [0]: got 0, expected 2.5)",
            "Expected: true",
        ]
        self.assertEqual(
            [
                "1000 of 1000 elements differ; first at [0]: got 0, expected 2.5",
                "  Nothing is right, and it begins with 0: is the result copied back to the host?",
                "  checked at tests/x_test.cpp:55: lab::compare(add(a, b), right)",
            ],
            testing._readable(lines),
        )
        lines[2] = "  Actual: false (2 of 1000 elements differ; first at [0]: got 0, expected 2.5)"
        self.assertEqual(2, len(testing._readable(lines)))

    def test_a_todo_gets_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "labs").mkdir()
            (root / "labs" / "x.cu").write_text("// to TODO(11)\n\n// TODO(1): add.\n")
            self.assertEqual(
                "not written: TODO(1) in labs/x.cu:3 (yet)",
                testing._with_line_of_todo("not written: TODO(1) in labs/x.cu (yet)", root),
            )
            for line in ("TODO(1) in labs/y.cu", "TODO(9) in labs/x.cu", "no such thing"):
                self.assertEqual(line, testing._with_line_of_todo(line, root))


class GtestTest(unittest.TestCase):
    def test_output_of_a_case_may_share_a_line_with_its_end(self):
        runs = gtest.read_runs(
            [
                "[ RUN      ] P/S.Q/2",
                "partial[  FAILED  ] P/S.Q/2, where GetParam() = 3 (0 ms)",
                "[ RUN      ] S.A",
                "text",
            ]
        )
        self.assertEqual(
            [("P/S.Q/2", "failed", ["partial"]), ("S.A", "crashed", ["text"])],
            [(run.name, run.state, run.lines) for run in runs],
        )

    def test_a_case_that_fails_in_one_of_several_repetitions_has_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = []
            for end in ("[       OK ]", "[  FAILED  ]", "[       OK ]"):
                lines += ["[ RUN      ] S.A", f"said before {end}", f"{end} S.A (1 ms)"]
            text = "\n".join(lines)
            program = script(
                Path(folder) / "p",
                "#!/bin/sh\n[ \"$1\" = --gtest_list_tests ] && { echo S.; echo '  A'; exit 0;"
                f" }}\ncat <<'END'\n{text}\nEND\nexit 1\n",
            )
            result = gtest.run(program)
            self.assertFalse(result.passed)
            self.assertEqual(["said before [  FAILED  ]"], result.cases["S.A"].lines)

    def test_lists_know_parameters_and_leave_out_disabled_cases(self):
        with tempfile.TemporaryDirectory() as folder:
            program = script(
                Path(folder) / "p",
                "#!/bin/sh\necho 'Running main() from x.cc'\necho 'P/S.  # TypeParam = int'\n"
                "echo '  Q/0  # GetParam() = 1'\necho '  DISABLED_R'\n",
            )
            self.assertEqual(["P/S.Q/0"], gtest.list_cases(program))

    def test_a_case_that_never_ran_is_not_passed(self):
        with tempfile.TemporaryDirectory() as folder:
            program = gtest_program(Path(folder) / "p", ["A", "B"])
            program.write_text(
                program.read_text().replace("chosen = CASES\n", "chosen = CASES[:1]\n")
            )
            result = gtest.run(program)
            self.assertEqual((0, False), (result.returncode, result.passed))


class ConsoleTest(unittest.TestCase):
    def test_without_a_terminal_lines_come_now_and_then(self):
        stream = io.StringIO()
        progress = console.Progress("building x", stream)
        for number in range(1000):
            progress.update(f"[{number}/1000]")
        progress.done()
        self.assertEqual("building x …\n", stream.getvalue())

    def test_on_a_terminal_it_is_one_line(self):
        stream = io.StringIO()
        stream.isatty = lambda: True
        before = os.environ.get("TERM")
        os.environ["TERM"] = "xterm"
        self.addCleanup(
            lambda: os.environ.pop("TERM") if before is None else os.environ.update(TERM=before)
        )
        progress = console.Progress("x" * 500, stream)
        progress.done("built")
        self.assertNotIn("\n", stream.getvalue()[: stream.getvalue().index("built")])
        self.assertLess(len(stream.getvalue()), 500)

    def test_no_colour_where_nobody_sees_it(self):
        self.assertEqual("text", console.paint("text", "red", io.StringIO()))


class FilesTest(unittest.TestCase):
    def test_a_file_is_replaced_whole_and_keeps_its_mode(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sub" / "f"
            files.write_atomically(path, "one")
            path.chmod(0o640)
            files.write_atomically(path, "two")
            self.assertEqual(
                ("two", 0o640, ["f"]),
                (path.read_text(), path.stat().st_mode & 0o777, os.listdir(path.parent)),
            )


if __name__ == "__main__":
    unittest.main()
