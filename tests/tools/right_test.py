# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Right solutions in other styles: the CTest test of each, with test programs that are fakes."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fakes import REPOSITORY, gtest_program, script
from lablib import right

SENTENCE = "A right solution is refused, so the test asks for more than the contract requires."

# lab_add_right() as it is, but what it builds is there already.
PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(one_exercise LANGUAGES NONE)
set(LAB_DEVICE {device})
set(LAB_HAVE_NCCL OFF)
find_program(Python3_EXECUTABLE NAMES python3)
include("{repository}/cmake/LabCuda.cmake")
include("{repository}/cmake/LabExercises.cmake")
function(lab_cuda_code)
endfunction()
function(lab_program target)
  add_executable(${{target}} IMPORTED)
  set_target_properties(${{target}} PROPERTIES IMPORTED_LOCATION "{programs}/${{target}}")
endfunction()
set(PROJECT_SOURCE_DIR "{repository}")
enable_testing()
add_custom_target(right)
if(LAB_DEVICE STREQUAL "cpu")
  add_library(watched_solution_code.05.1 INTERFACE)
endif()
lab_add_right(05.1 05 "{top}" "{top}/style.cu" "" "")
"""


class RightTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name).resolve() / "a course"
        self.programs = self.top / "programs"
        self.file = self.top / "style.cu"
        self.programs.mkdir(parents=True)
        self.file.write_text("// Other: the grid.\n\nint x;\n")
        self.plain = self.program("right.05.1.style")
        self.watched = self.program("watched_right.05.1.style")

    def program(self, name, body="True"):
        return gtest_program(self.programs / name, ["A", "B"], body)

    def ctest(self, device="cpu"):
        text = PROJECT.format(
            repository=REPOSITORY, top=self.top, programs=self.programs, device=device
        )
        (self.top / "CMakeLists.txt").write_text(text)
        build = self.top / f"build {device}"
        done = subprocess.run(
            ["cmake", "-G", "Ninja", "-S", self.top, "-B", build],
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.configured = done.stdout
        return subprocess.run(
            ["ctest", "--test-dir", build, "-L", "^right$", "--output-on-failure"]
            + ["--no-tests=error"],
            capture_output=True,
            text=True,
            timeout=300,
        )

    def test_a_right_one_passes(self):
        done = self.ctest()
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"right\.05\.1\.style \.+ +Passed")

    def test_a_wrong_one_fails_in_either_build(self):
        for name in ("right", "watched_right"):
            with self.subTest(name):
                self.program(f"{name}.05.1.style", "name == 'A'")
                done = self.ctest()
                self.assertEqual(8, done.returncode, done.stdout + done.stderr)
                self.assertRegex(done.stdout, r"right\.05\.1\.style \.+\*\*\*Failed")
                self.assertRegex(done.stdout, r"(?m)^Suite.B \(failed")
                self.assertNotRegex(done.stdout, r"(?m)^Suite.A \(")
                self.assertEqual(1, done.stdout.count(SENTENCE))
                self.program(f"{name}.05.1.style")

    def test_on_a_gpu_only_the_plain_build_is_run(self):
        self.program("watched_right.05.1.style", "False")
        done = self.ctest("gpu")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_what_needs_a_library_that_is_not_there_is_left_out(self):
        self.file.write_text("// Other: NCCL does it.\n\n#include <nccl.h>\n")
        done = self.ctest()
        self.assertNotEqual(0, done.returncode)
        self.assertIn("right solution 05.1 style is left out: it needs NCCL", self.configured)

    def run_right(self):
        return subprocess.run(
            [sys.executable, REPOSITORY / "scripts/lablib/right.py"]
            + [self.file, self.plain, self.watched],
            capture_output=True,
            text=True,
            timeout=60,
        )

    def test_nothing_is_known_where_a_build_cannot_run(self):
        script(self.watched, "#!/bin/sh\nexit 77\n")
        self.assertEqual(77, self.run_right().returncode)
        self.program("right.05.1.style", "False")
        self.assertEqual(1, self.run_right().returncode)

    def test_a_program_that_runs_no_tests_is_a_failure(self):
        script(self.plain, "#!/bin/sh\necho nothing to do\nexit 0\n")
        done = self.run_right()
        self.assertEqual(1, done.returncode)
        self.assertIn("before the end of its tests", done.stdout)
        self.assertIn("nothing to do", done.stdout)

    def test_a_usage_error_is_no_success(self):
        with tempfile.TemporaryFile("w+") as said:
            done = subprocess.run(
                [sys.executable, REPOSITORY / "scripts/lablib/right.py", self.file], stderr=said
            )
        self.assertEqual(2, done.returncode)

    def test_every_file_of_the_course_says_what_is_other_about_it(self):
        files = sorted(REPOSITORY.glob("tests/*/*.right/*"))
        self.assertGreater(len(files), 0)
        for file in files:
            self.assertEqual("", right.problem(file), file)


if __name__ == "__main__":
    unittest.main()
