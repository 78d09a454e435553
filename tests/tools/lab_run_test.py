# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab: help, building and running programs, with a fake cmake underneath."""

import json
import os
import shlex
import signal
import subprocess
import unittest
from pathlib import Path

from fakes import LabTest, script
from lablib import cli


class OrientationTest(LabTest):
    def test_alone_it_says_how_to_begin(self):
        for arguments in ((), ("--help",), ("-h",), ("help",)):
            done = self.lab(*arguments)
            self.assert_status(0, done)
            self.assertIn("scripts/lab list", done.stdout)

    def test_every_command_has_help(self):
        names = [verb.name for verb in cli.all_verbs()]
        names += [f"{verb.name} {part.name}" for verb in cli.all_verbs() for part in verb.parts]
        self.assertLess(25, len(names))
        for command in names:
            with self.subTest(command):
                done = self.lab(*command.split(), "--help")
                self.assert_status(0, done)
                self.assertIn("usage: scripts/lab " + command, done.stdout)
        self.assertEqual(done.stdout, self.lab("help", *command.split()).stdout)

    def test_wrong_usage_is_a_sentence(self):
        for arguments, pattern in (
            (("tset",), "no command 'tset'.*`scripts/lab test`"),
            (("run",), r"which exercise\?.*`scripts/lab run 03\.1`.*`scripts/lab list`"),
            (("run", "05.1", "--size", "4"), r"`scripts/lab run 05\.1 -- --size 4`"),
            (("run", "05.1", "--device", "tpu"), "--device is 'tpu': it must be cpu or gpu"),
            (("run", "05.1", "--time-limit", "soon"), "'soon' is not a number of seconds"),
            (("verify", "--jobs", "0"), "'0' is not a number from 1"),
            (("test", "99.9"), "no exercise '99.9'"),
            (("list", "77"), "no exercise '77'"),
            (("list", "--", "x"), "takes nothing after --"),
            (("check",), r"which exercise\?"),
            (("reset",), r"which exercise\?"),
            (("dev",), "needs one of new, check, "),
            (("dev", "chekc"), "no command 'dev chekc'.*`scripts/lab dev check`"),
            (("dev", "new", "05.9"), "NAME is missing"),
            (("run", "--bogus"), "'--bogus' is not understood"),
        ):
            done = self.lab(*arguments)
            self.assert_status(2, done)
            self.assertRegex(done.stderr, pattern)

    def test_it_works_from_anywhere_and_through_a_link(self):
        link = Path(self.temporary.name) / "a link"
        link.symlink_to(self.root / "scripts" / "lab")
        done = subprocess.run(
            [str(link), "list"], cwd="/", env=self.env, capture_output=True, text=True
        )
        self.assert_status(0, done)
        self.assertIn("05.1 dot_product", done.stdout)

    def test_without_python_it_is_installed_first(self):
        script(self.root / "scripts" / "setup", f"#!/bin/sh\necho setup >> '{self.log}'\nexit 3\n")
        only = Path(self.temporary.name) / "only"
        only.mkdir()
        for tool in ("sh", "dirname", "readlink"):
            (only / tool).symlink_to(f"/usr/bin/{tool}")
        done = self.lab("list", PATH=str(only))
        self.assert_status(3, done)
        self.assertIn("python3 is not there", done.stderr)
        self.assertEqual(["setup"], self.calls())


class StreamsTest(LabTest):
    """Standard output and standard error that cannot be written to."""

    def shell(self, text):
        """A shell's command line, in which `lab` is the command."""
        lab = shlex.quote(str(self.root / "scripts" / "lab"))
        return subprocess.run(
            ["bash", "-c", f"lab() {{ {lab} \"$@\"; }}; {text}"],
            env=self.env,
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def assert_quiet(self, status, text):
        done = self.shell(text)
        self.assertEqual((status, ""), (done.returncode, done.stderr))

    def test_a_reader_that_has_had_enough(self):
        done = self.shell("lab solution 05.1 | head -n 1; exit ${PIPESTATUS[0]}")
        self.assertEqual("", done.stderr)
        reading, writing = os.pipe()
        os.close(reading)
        self.addCleanup(os.close, writing)
        done = subprocess.run(
            [str(self.root / "scripts/lab"), "list"],
            env=self.env,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.assertEqual((128 + signal.SIGPIPE, ""), (done.returncode, done.stderr))

    def test_closed_streams(self):
        self.gtest("lab_test.05.1", ["A"])
        self.lab_file().write_text("// mine\n")
        self.assert_quiet(0, "lab list >&-")
        self.assert_quiet(0, "lab list 2>&-")
        self.assert_quiet(2, "lab nonsense >&- 2>&-")
        for streams in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            done = self.shell(f"lab test 05.1 {streams}")
            self.assertEqual(0, done.returncode, streams)
        # Nothing was written into files that happened to get the numbers 1 and 2.
        for path in (self.root / ".lab").rglob("*.json"):
            json.loads(path.read_text())

    def test_a_full_disk(self):
        done = self.shell("lab list > /dev/full")
        self.assertEqual(1, done.returncode)
        self.assertEqual("lab: cannot write the output: No space left on device.\n", done.stderr)
        self.assert_quiet(0, "lab list > /dev/null 2> /dev/full")
        self.assert_quiet(2, "lab nonsense 2> /dev/full")
        self.assert_quiet(1, "lab list > /dev/full 2>&1")

    def test_a_full_disk_under_the_course(self):
        self.lab_file().write_text("mine")
        (self.lab_file().parent / "hints.md").write_text("# H\n\n## 1. Why?\n\nSo.\n")
        done = self.shell("ulimit -f 0; lab reset 05.1; lab hint 05.1")
        self.assertNotIn("Traceback", done.stderr)
        self.assertRegex(done.stderr, "cannot reset .*File too large")
        self.assertRegex(done.stderr, "cannot write .*progress.json: File too large")
        self.assertEqual("mine", self.lab_file().read_text())


class CompletionTest(LabTest):
    def words(self, *words):
        done = self.lab("completion", "words", "--", *words)
        self.assert_status(0, done)
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    def test_words(self):
        self.assertEqual(["test"], self.words("te"))
        self.assertEqual(["check"], self.words("dev", "ch"))
        self.assertIn("mutate", self.words("dev", ""))
        self.assertEqual(["03.1", "05.1", "05.2", "15.10"], self.words("run", ""))
        self.assertEqual(["dot_product", "dot_with_lock"], self.words("run", "do"))
        self.assertEqual(["--solution"], self.words("test", "05.1", "--s"))
        self.assertEqual(["gpu"], self.words("run", "05.1", "--device", "g"))
        self.assertEqual(["fish"], self.words("completion", "f"))
        for nothing in (["doctor", ""], ["nonsense", ""], ["run", "05.1", "--", ""]):
            self.assertEqual([], self.words(*nothing))

    def test_bash(self):
        text = self.lab("completion", "bash").stdout
        words = 'COMP_WORDS=(lab test dot_w); COMP_CWORD=2; _cuda_labs; echo "${COMPREPLY[@]}"'
        done = subprocess.run(
            ["bash", "-c", f"{text}\n{words}; complete -p lab"],
            env=self.env,
            cwd="/",
            capture_output=True,
            text=True,
        )
        self.assertEqual("", done.stderr)
        self.assertEqual("dot_with_lock", done.stdout.splitlines()[0])
        self.assertIn("-F _cuda_labs lab", done.stdout)

    def test_zsh_and_fish_get_a_script_that_names_this_clone(self):
        for shell in ("zsh", "fish"):
            done = self.lab("completion", shell)
            self.assert_status(0, done)
            self.assertIn(f"'{self.root}/scripts/lab' completion words -- ", done.stdout)
        self.assert_status(2, self.lab("completion", "tcsh"))
        self.assert_status(2, self.lab("completion"))


class RunTest(LabTest):
    def test_output_comes_as_it_is_and_arguments_arrive(self):
        self.program("solution.05.1", 'echo "got:$*"; echo err >&2')
        done = self.lab("run", "5.1", "--solution", "--", "--size", "1 2")
        self.assert_status(0, done)
        self.assertEqual("got:--size 1 2\n", done.stdout)
        self.assertIn("device: cpu (chosen by LAB_DEVICE)", done.stderr)
        self.assertIn("err", done.stderr)

    def test_a_program_can_name_the_command_that_has_started_it(self):
        self.program("lab.05.1", 'echo "Try $LAB_COMMAND --help"')
        done = self.lab("run", "05.1")
        self.assertEqual("Try scripts/lab run 05.1 -- --help\n", done.stdout)

    def test_only_what_was_asked_for_is_built_and_configured_once(self):
        self.program("lab.05.1", "exit 0")
        self.assert_status(0, self.lab("run", "05.1"))
        self.assert_status(0, self.lab("run", "05.1"))
        build = f"cmake --build {self.root}/build/cpu --target lab.05.1"
        self.assertEqual(["cmake --preset cpu", build, build], self.calls())

    def test_it_runs_in_the_current_folder_and_names_what_was_written(self):
        here = Path(self.temporary.name).resolve() / "here"
        (here / "sub").mkdir(parents=True)
        (here / "old.txt").write_text("")
        others = "echo x > sub/of_another_program"
        self.program("lab.05.1", f"echo x > picture.png; echo x > sub/other.png; {others}")
        done = self.lab("run", "05.1", "--", "--out", "sub/other.png", cwd=here)
        self.assert_status(0, done)
        self.assertIn(f"file written: {here}/picture.png", done.stderr)
        self.assertIn(f"file written: {here}/sub/other.png", done.stderr)
        self.assertNotIn("old.txt", done.stderr)
        self.assertNotIn("of_another_program", done.stderr)

    def test_statuses_pass_through(self):
        for status, expected in ((1, 1), (2, 2), (77, 77), (5, 1)):
            self.program("lab.05.1", f"exit {status}")
            self.assert_status(expected, self.lab("run", "05.1"))

    def test_a_crash_is_named(self):
        self.program("lab.05.1", "kill -SEGV $$")
        done = self.lab("run", "05.1")
        self.assert_status(1, done)
        self.assertIn("05.1_dot_product was ended by SIGSEGV, a segmentation fault", done.stderr)

    def test_an_endless_program_is_stopped(self):
        self.program("lab.05.1", "echo begun; sleep 100")
        done = self.lab("run", "05.1", "--time-limit", "0.3")
        self.assert_status(1, done)
        self.assertEqual("begun\n", done.stdout)
        self.assertRegex(done.stderr, "stopped after 0.3 s.*endless loop.*barrier")

    def test_an_exercise_without_a_program(self):
        (self.lab_file().parent / "main.cpp").unlink()
        (self.lab_file().parent / "dot_product.hpp").write_text("")
        done = self.lab("run", "05.1")
        self.assert_status(1, done)
        self.assertIn("has no program", done.stderr)

    def test_ctrl_c(self):
        self.program("lab.05.1", f"echo $$ > '{self.temporary.name}/pid'; echo begun; sleep 100")
        process = subprocess.Popen(
            [str(self.root / "scripts/lab"), "run", "05.1"],
            env=self.env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.assertEqual("begun\n", process.stdout.readline())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
        self.assertEqual(130, process.returncode)
        self.assertTrue(errors.endswith("\nlab: stopped.\n"), errors)
        self.assertNotIn("Traceback", errors)
        pid = int((Path(self.temporary.name) / "pid").read_text())
        self.assertFalse(
            Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_text()
        )


class BuildTest(LabTest):
    def test_the_first_build_says_that_it_takes_longer(self):
        self.program("solution.05.1", "exit 0")
        first = "This is the first build in build/cpu"
        self.assertIn(first, self.lab("run", "05.1", "--solution").stderr)
        (self.root / "build" / "cpu" / ".ninja_log").write_text("# ninja log v5\n")
        self.assertNotIn(first, self.lab("run", "05.1", "--solution").stderr)

    def test_an_error_shows_the_students_own_file_first(self):
        self.lab_file().write_text("int SYNTAX ERROR\n")
        self.program("lab.05.1", "exit 0")
        done = self.lab("run", "05.1")
        self.assert_status(1, done)
        own = done.stderr.index(
            "labs/05_shared_memory/1_dot_product/dot_product.cu:4:7: error: expected"
        )
        other = done.stderr.index("common/include/lab/given.hpp:3:1: error")
        self.assertLess(own, other)
        self.assertIn("    4 |   int SYNTAX ERROR", done.stderr)
        self.assertNotIn("/usr/bin/c++", done.stderr)
        self.assertIn(
            "the compiler stops at labs/05_shared_memory/1_dot_product/dot_product.cu:4",
            done.stderr,
        )
        self.assertIn(".lab/log/cpu.lab.05.1.log", done.stderr)
        self.assertIn("then `scripts/lab run 05.1` again", done.stderr)
        self.assertIn("/usr/bin/c++", (self.root / ".lab/log/cpu.lab.05.1.log").read_text())

    def test_a_library_that_the_student_begins_to_use_is_linked(self):
        self.program("lab.05.1", "exit 0")
        self.assert_status(0, self.lab("run", "05.1"))
        self.lab_file().write_text("#include <cublas_v2.h>\n")
        self.assert_status(0, self.lab("run", "05.1"))
        self.assertEqual(2, self.calls().count("cmake --preset cpu"))

    def test_an_exercise_that_this_machine_cannot_build(self):
        left_out = "05.1 dot_product is left out: it needs OpenGL and EGL (libgl-dev, libegl-dev)"
        for command in ("run", "test"):
            done = self.lab(command, "05.1", FAKE_LEFT_OUT=left_out)
            self.assert_status(77, done)
            self.assertIn(
                "05.1 dot_product is not possible here: it needs OpenGL and EGL, which is not"
                " installed here (packages libgl-dev, libegl-dev)",
                done.stderr,
            )
            self.assertIn("`scripts/setup` installs it", done.stderr)
        # Another one that has no target is no matter of packages.
        self.assert_status(1, self.lab("run", "05.2", FAKE_LEFT_OUT=left_out))

    def test_a_failing_configuration(self):
        done = self.lab("run", "05.1", FAKE_CONFIGURE_FAILS="1")
        self.assert_status(1, done)
        self.assertIn("Could not find PNG", done.stderr)
        self.assertNotIn("-- hello", done.stderr)
        self.assertIn("scripts/lab doctor", done.stderr)

    def test_a_build_folder_of_another_place_is_configured_afresh(self):
        self.program("lab.05.1", "exit 0")
        build = self.root / "build" / "cpu"
        build.mkdir(parents=True)
        for cache, reason in (
            (
                "CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n",
                "it was made for another folder (/elsewhere)",
            ),
            ("nonsense", "its CMakeCache.txt cannot be read"),
            (
                f"CMAKE_HOME_DIRECTORY:INTERNAL={self.root}\n",
                "its last configuration did not finish",
            ),
        ):
            (build / "CMakeCache.txt").write_text(cache)
            (build / "build.ninja").unlink(missing_ok=True)
            self.log.write_text("")
            done = self.lab("run", "05.1")
            self.assert_status(0, done)
            self.assertIn(f"build/cpu cannot be used: {reason}", done.stderr)
            self.assertEqual("cmake --preset cpu --fresh", self.calls()[0])

    def test_an_exercise_that_came_later_is_found_by_configuring_again(self):
        done = self.lab("run", "05.1")
        self.assert_status(1, done)
        self.assertIn("CMake does not know lab.05.1", done.stderr)
        self.assertEqual(
            ["--preset", "--build", "--preset", "--build"],
            [call.split()[1] for call in self.calls()],
        )

    def test_what_is_missing_is_installed_first_or_ends_it(self):
        self.program("lab.05.1", "exit 0")
        setup = (
            'echo "setup $*" >> "$FAKE_LOG"; case "$1" in --check) echo "missing: cmake"; exit 1;;'
            " esac; exit {}\n"
        )
        for status, expected in ((0, 0), (3, 3), (1, 1)):
            script(self.root / "scripts/setup", "#!/bin/sh\n" + setup.format(status))
            self.log.write_text("")
            done = self.lab("run", "05.1", LAB_SETUP="")
            self.assert_status(expected, done)
            self.assertIn("missing: cmake", done.stderr)
            self.assertEqual(["setup --check --required", "setup "], self.calls()[:2])

    def test_a_gpu_is_asked_for_its_architecture(self):
        self.program("lab.05.1", "exit 0")
        script(self.bin / "nvcc", "#!/bin/sh\n")
        script(self.bin / "nvidia-smi", "#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\n")
        done = self.lab("run", "05.1", LAB_DEVICE="")
        self.assert_status(0, done)
        self.assertIn("device: gpu (NVIDIA H200; nvcc is there)", done.stderr)
        self.assertEqual("cmake --preset gpu -DCMAKE_CUDA_ARCHITECTURES=native", self.calls()[0])

    def test_a_named_architecture_is_left_alone(self):
        self.program("lab.05.1", "exit 0")
        script(self.bin / "nvcc", "#!/bin/sh\n")
        script(self.bin / "nvidia-smi", "#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\n")
        self.lab("run", "05.1", LAB_DEVICE="", CUDAARCHS="90")
        self.assertEqual("cmake --preset gpu", self.calls()[0])


if __name__ == "__main__":
    unittest.main()
