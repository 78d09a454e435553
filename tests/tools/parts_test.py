# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The parts of scripts/lab that need no tree: device choice, compiler messages, test output, …"""

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fakes import REPOSITORY, gtest_program, script
from lablib import console, device, diagnostics, files, processes, test_program, testing
from lablib.errors import MAY_NOT_INSTALL, USAGE, LabError
from lablib.test_program import Case, Said


class StartTest(unittest.TestCase):
    def imported_for(self, verb):
        """The modules of ours that are there by the time the verb begins."""
        program = (
            "import sys; sys.path[0] = sys.argv[1]\n"
            "from lablib import cli\n"
            "cli._verb([sys.argv[2]])\n"
            "print(*(name for name in sys.modules if name.startswith('lablib.')))"
        )
        command = [sys.executable, "-c", program, str(REPOSITORY / "scripts"), verb]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()

    def test_what_students_use_at_each_edit_does_not_wait_for_the_tools_of_authors(self):
        authors = {"authoring", "course_check", "grading.collect", "mutate", "rules", "verify"}
        authors = {f"lablib.{name}" for name in authors} | {"lablib.verbs.authoring"}
        self.assertLessEqual(authors, set(self.imported_for("completion")))
        for verb in ("test", "run", "check", "watch", "hint"):
            with self.subTest(verb):
                self.assertEqual(set(), authors & set(self.imported_for(verb)))


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
            LabError, "CUDA toolkit is not here.*--cuda-from-pypi DIR.*--device cpu"
        ) as caught:
            self.choose("gpu", None, ["H200"])
        self.assertEqual(MAY_NOT_INSTALL, caught.exception.exit_code)

    def test_where_nvcc_and_gpus_are_looked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            bin, toolkit = Path(folder) / "bin", Path(folder) / "toolkit"
            nowhere = Path(folder) / "nowhere"
            self.assertIsNone(device.find_nvcc({"PATH": str(bin)}, str(toolkit), nowhere))
            in_toolkit = script(toolkit / "nvcc", "#!/bin/sh\n")
            self.assertEqual(
                str(in_toolkit), device.find_nvcc({"PATH": str(bin)}, str(toolkit), nowhere)
            )
            named = script(Path(folder) / "named", "#!/bin/sh\n")
            self.assertEqual(
                str(named),
                device.find_nvcc({"PATH": str(bin), "CUDACXX": str(named)}, str(toolkit)),
            )

            on_path = script(bin / "nvcc", "#!/bin/sh\n")
            self.assertEqual(
                str(on_path), device.find_nvcc({"PATH": str(bin)}, str(toolkit), nowhere)
            )
            of_clone = script(Path(folder) / ".lab" / "nvcc", "#!/bin/sh\n")
            self.assertEqual(
                str(of_clone), device.find_nvcc({"PATH": str(bin)}, str(toolkit), of_clone.parent)
            )

            self.assertEqual([], device.find_gpus({"PATH": str(bin)}))
            script(
                bin / "nvidia-smi",
                "#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\necho '  MIG 1g: x'\n",
            )
            self.assertEqual(["NVIDIA H200"], device.find_gpus({"PATH": str(bin)}))
            self.assertEqual([], device.find_gpus({"PATH": str(bin), "CUDA_VISIBLE_DEVICES": ""}))
            script(bin / "nvidia-smi", "#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n")
            on_path = script(bin / "nvcc", "#!/bin/sh\n")
            self.assertEqual(
                str(on_path), device.find_nvcc({"PATH": str(bin)}, str(toolkit), nowhere)
            )
            of_clone = script(Path(folder) / ".lab" / "nvcc", "#!/bin/sh\n")
            self.assertEqual(
                str(of_clone), device.find_nvcc({"PATH": str(bin)}, str(toolkit), of_clone.parent)
            )

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
      |     y
{OWN}/dot_product.cu:14: error: expected ‘;’ before ‘::’ token
   14 |   k<<<1, 2>>>(d)
      |   {" " * 60};
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
        self.assertEqual(found[2].lines[:2], diagnostics.readable(found[2]))

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


def printed(*lines):
    return Said("\n".join(lines) + "\n")


def failed(text, file="", line=0, order=""):
    return Said(text, True, file, line, order)


def readable(*said):
    return testing._readable(Case("S.A", "failed", list(said)))


class ReadableTest(unittest.TestCase):
    REPORT = [
        "CPU device: illegal memory access in kernel k (launched at x.cu:7), at x.cu:3: 4 bytes"
        " past the end of device memory.",
        "  Try: compare the thread's index with the length before the access. If you do, make"
        " sure that it is this index: rows and columns may be swapped.",
    ]

    def test_what_follows_from_a_failed_kernel_is_one_line(self):
        call = "x.cu:9: cudaFree(p) failed: cudaErrorIllegalAddress (an illegal memory access)"
        again = "\n".join(self.REPORT).replace("CPU device: ", "")
        lines = readable(
            printed(*self.REPORT, call, call),
            failed(
                'C++ exception with description "timer.cpp:58: cudaEventRecord(stop) failed:'
                ' cudaErrorIllegalAddress" thrown in the test body.',
                order="forward",
            ),
            failed(
                "Failed\nthe CPU device reported a mistake in this test, the last one:\n" + again,
                "tests/support/test_main.cpp",
                97,
                "forward",
            ),
        )
        self.assertEqual(
            [
                *self.REPORT,
                "(After that every CUDA call fails, with cudaErrorIllegalAddress, as after any"
                " kernel that fails.)",
            ],
            lines,
        )
        failure = failed("Expected 1, got 2", "x_test.cpp", 4, "random, seed 2")
        self.assertEqual("(thread order: random, seed 2)", readable(failure)[-1])

    def test_what_does_not_follow_stays(self):
        lines = [
            "x.cu:9: cudaMemcpy(…) failed: cudaErrorInvalidValue (invalid argument)",
            "CPU device: the copy at x.cu:9 is too long.",
            "CPU device: the copy at x.cu:8 is too long.",
            "  Try: a shorter one.",
        ]
        self.assertEqual(
            [*lines, "x_test.cpp:4: Expected 1, got 2"],
            readable(printed(*lines, *lines[1:]), failed("Expected 1, got 2", "x_test.cpp", 4)),
        )
        call = "x.cu:9: cudaFree(p) failed: cudaErrorIllegalAddress (as a GPU says it)"
        self.assertEqual([call], readable(printed(call)))
        report = "the CPU device reported a mistake in this test, the last one:\na race"
        self.assertEqual(
            report.splitlines(), readable(failed("Failed\n" + report, "/x/test_main.cpp", 97))
        )

    def test_a_million_lines_take_a_moment(self):
        lines = [f"thread {number}" for number in range(1_000_000)]
        self.assertEqual(len(lines), len(readable(printed(*lines))))

    def test_a_comparison_begins_with_what_it_found(self):
        text = (
            "Value of: matches(lab::compare(add(a, b), right))\n"
            "  Actual: false (1000 of 1000 elements differ; first at [0]: got 0, expected 2.5)\n"
            "Expected: true"
        )
        self.assertEqual(
            [
                "1000 of 1000 elements differ; first at [0]: got 0, expected 2.5",
                "  Nothing is right, and it begins with 0: is the result copied back to the host?",
                "  checked at tests/x_test.cpp:55: lab::compare(add(a, b), right)",
            ],
            readable(failed(text, "tests/x_test.cpp", 55)),
        )
        self.assertEqual(2, len(readable(failed(text.replace("1000 of", "2 of"), "t.cpp", 5))))

    def test_what_to_do_about_it_is_said_where_it_is_known(self):
        left = "Free it wherever the function is left: by "
        for text, advice in (
            ("add(which(), 2, 7) is 0, expected 9", "Still 0: "),
            ("dot(a, b).value is 0, expected -4", "Still 0: "),
            ("dot(a, b).value is -nan, expected -4", "New memory may contain NaN"),
            ("this test leaves memory allocated: 1 allocation, 4 bytes", left + "cudaFree, "),
            (
                "this test leaves memory allocated: 1 allocation; the newest is pinned memory",
                left + "cudaFreeHost, ",
            ),
            ("18 of 28 elements differ; first at [7]: got 0, expected 1", "The first quarter is "),
            ("8 of 9 elements differ; first at [1]: got 0, expected 1", "The first eighth is "),
        ):
            self.assertEqual(advice, readable(failed(text))[1].strip()[: len(advice)])
        for text in (
            "add(2, 7) is 8, expected 9",
            "n is 0, expected 9",
            "f() is 0, expected 0x",
            "f() is nan, expected inf",
            "768 of 1024 elements differ; first at [256]: got 0, expected 1",
            "2 of 3 elements differ; first at [0]: got 5, expected 1",
            "5 of 6 elements differ; first at [1]: got 5, expected 1",
        ):
            self.assertEqual(1, len(readable(failed(text))))

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


class EventsTest(unittest.TestCase):
    def read(self, *events):
        reader = test_program.Reader()
        cases = {"event": "program", "cases": ["S.A", "S.B"]}
        for event in (cases, *events):
            reader.feed(json.dumps(event).encode() + b"\n")
        reader.result.status = 0
        return reader.result

    @staticmethod
    def run_of(case, result="passed", *inside):
        return (
            {"event": "begin", "case": case},
            *inside,
            {"event": "end", "case": case, "result": result, "seconds": 0.5},
        )

    ENDS = {"event": "ends", "status": 0}

    def test_all_passed(self):
        result = self.read(*self.run_of("S.A"), *self.run_of("S.B"), self.ENDS)
        self.assertTrue(result.passed)

    def test_a_case_that_fails_in_one_of_several_repetitions_has_failed(self):
        said = {"event": "output", "case": "S.A", "text": "said before"}
        runs = [*self.run_of("S.A"), *self.run_of("S.A", "failed", said), *self.run_of("S.A")]
        result = self.read(*runs, *self.run_of("S.B"), self.ENDS)
        self.assertFalse(result.passed)
        self.assertEqual(["said before"], result.cases["S.A"].lines)
        self.assertEqual(1.5, result.cases["S.A"].seconds)

    def test_what_is_missing_is_not_passed(self):
        a, b = self.run_of("S.A"), self.run_of("S.B")
        for events in (
            (*a, self.ENDS),  # one case
            (*a, *b),  # the verdict
            (*a, {"event": "begin", "case": "S.B"}, self.ENDS),  # the end of a case
            (*a, *b, *self.run_of("S.C"), self.ENDS),  # one that the program does not have
            (*self.run_of("S.A", "skipped"), *self.run_of("S.B", "skipped"), self.ENDS),
            (*a, *self.run_of("S.B", "crashed"), self.ENDS),
        ):
            self.assertFalse(self.read(*events).passed)

    def test_half_a_line_says_nothing(self):
        reader = test_program.Reader()
        reader.feed(b'{"event":"program","cases":["S.A"]}\n{"event":"begin","ca')
        self.assertIsNone(reader.current)
        reader.feed(b'se":"S.A"}\n\xff\n[]\n')
        self.assertEqual("S.A", reader.current.name)

    def test_a_program_that_leaves_quietly_has_not_passed(self):
        with tempfile.TemporaryDirectory() as folder:
            program = gtest_program(Path(folder) / "p", ["A", "B"])
            self.assertTrue(test_program.run([str(program)]).passed)
            program.write_text(
                program.read_text().replace('event("ends", status=status)', "os._exit(0)")
            )
            result = test_program.run([str(program)])
            self.assertEqual((1, False), (result.status, result.passed))
            self.assertIn("before the end", result.detail)

    def test_every_program_of_this_repository_tells_its_events(self):
        for path in sorted(REPOSITORY.glob("tests/*/*_test.c*")):
            text = path.read_text()
            self.assertEqual("int main(" in text, "return run_tests(argc, argv);" in text, path)

    def test_a_line_without_an_end_is_cut(self):
        with tempfile.TemporaryDirectory() as folder:
            program = script(Path(folder) / "p", "#!/bin/sh\nhead -c 100000000 /dev/zero\n")
            lines = []
            processes.run([str(program)], on_line=lambda line: lines.append(len(line)))
            self.assertEqual(100_000_000, sum(lines))
            self.assertLess(max(lines), 2_000_000)


class StaleTest(unittest.TestCase):
    """With the real Ninja: is a program whose source has changed taken away?"""

    def setUp(self):
        if shutil.which("ninja") is None:
            self.fail("ninja is needed: scripts/setup installs it")
        temporary = tempfile.TemporaryDirectory(suffix=" it's &")
        self.addCleanup(temporary.cleanup)
        self.build = Path(temporary.name)
        (self.build / "build.ninja").write_text(
            "rule compile\n  command = grep -v WRONG $in > $out\n"
            "rule link\n  command = cp $in $out && : -o $out\n"
            "build a.o: compile a.cpp\nbuild b.o: compile b.cpp\n"
            "build bin/tests/a_test: link a.o\nbuild bin/bugs/b: link b.o\n"
            "build all: phony bin/tests/a_test\nbuild bugs: phony bin/bugs/b\n"
        )
        for name in "ab":
            (self.build / f"{name}.cpp").write_text("fine\n")
        self.ninja()

    def ninja(self):
        command = ["ninja", "-C", self.build, "all", "bugs"]
        return subprocess.run(command, stdout=subprocess.DEVNULL).returncode

    def programs(self, targets=("all", "bugs")):
        done = subprocess.run(
            [sys.executable, REPOSITORY / "scripts/lablib/stale.py", "ninja", self.build, *targets],
            capture_output=True,
            text=True,
        )
        self.said = done.stdout + done.stderr
        programs = ("bin/tests/a_test", "bin/bugs/b")
        there = [path for path in programs if (self.build / path).exists()]
        return done.returncode, there

    def test_what_is_built_stays(self):
        self.assertEqual((0, ["bin/tests/a_test", "bin/bugs/b"]), self.programs())

    def test_what_does_not_compile_any_more_goes(self):
        (self.build / "a.cpp").write_text("WRONG\n")
        self.assertNotEqual(0, self.ninja())
        self.assertTrue((self.build / "bin/tests/a_test").exists())  # that of before
        self.assertEqual((0, ["bin/bugs/b"]), self.programs())
        self.assertIn("bin/tests/a_test", self.said)
        self.assertIn(f"build it again, `cmake --build {shlex.quote(str(self.build))}`", self.said)

    def test_what_nobody_has_built_since_the_edit_goes(self):
        (self.build / "b.cpp").write_text("new\n")
        self.assertEqual((0, ["bin/tests/a_test"]), self.programs())
        self.assertEqual(0, self.ninja())
        self.assertEqual((0, ["bin/tests/a_test", "bin/bugs/b"]), self.programs())

    def test_what_nobody_has_built_at_all_is_not_missed(self):
        (self.build / "bin/bugs/b").unlink()
        self.assertEqual((0, ["bin/tests/a_test"]), self.programs())
        self.assertEqual("", self.said)

    def test_where_nothing_is_known_it_fails(self):
        self.assertEqual(2, self.programs(targets=())[0])
        (self.build / "a.cpp").unlink()
        self.assertEqual(1, self.programs()[0])
        self.assertIn("'a.cpp', needed by 'a.o', missing", self.said)
        self.assertIn("Next: build it again", self.said)


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

    def test_a_new_record_is_for_its_owner_only(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "record"
            files.write_bytes_atomically(path, b"one", record=True)
            self.assertEqual(0o600, path.stat().st_mode & 0o777)
            path.chmod(0o640)  # somebody shares it with the staff
            files.write_bytes_atomically(path, b"two", record=True)
            self.assertEqual((b"two", 0o640), (path.read_bytes(), path.stat().st_mode & 0o777))


if __name__ == "__main__":
    unittest.main()
