# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Grading on a GPU, and points for speed, without a GPU: what nvcc and the sandboxes are told, what
becomes of results and times."""

import dataclasses
import json
import os
import sys
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib import bench, device, test_program  # noqa: E402
from lablib.errors import MAY_NOT_INSTALL, NOT_POSSIBLE, USAGE, LabError  # noqa: E402
from lablib.exercises import resolve_one  # noqa: E402
from lablib.grading import (  # noqa: E402
    collect,
    compiling,
    grade,
    points,
    rubric,
    sandbox,
    slurm,
    speed,
)
from lablib.verbs import grading as verb  # noqa: E402

EXERCISE = resolve_one(ROOT, "05.1")
GPU = device.Device("gpu", "", "/opt/cuda/bin/nvcc", 1)
ONE = '[[exercise]]\nid = "05.1"\n'
SPEED = points.Speed(Fraction(10))


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path


class RubricTest(Folder):
    def read(self, text):
        return rubric.read(ROOT, self.write("week5.toml", text))

    def test_the_device_and_speed_are_read(self):
        self.assertEqual(self.read(ONE).device, "cpu")
        read = self.read(
            f'device = "gpu"\n{ONE}speed = {{ points = 10, full_at = 0.9, none_at = 0.4,'
            ' step = "shuffle", arguments = "--size 1M" }'
        )
        self.assertEqual(read.device, "gpu")
        self.assertEqual(
            read.tasks[0].rules.speed,
            points.Speed(
                Fraction(10), "shuffle", "--size 1M", Fraction(9, 10), Fraction(4, 10)
            ),
        )

    def test_the_middle_one_of_the_sizes_is_measured(self):
        (task,) = self.read(f"{ONE}speed = {{ points = 10 }}").tasks
        self.assertEqual(task.rules.speed, points.Speed(Fraction(10), "", "--size 16M"))

    def test_a_mistake_is_one_sentence_that_says_where(self):
        for text, said in (
            (f'device = "tpu"\n{ONE}', 'device must be "cpu", or "gpu"'),
            (f"device = 1\n{ONE}", 'device must be "cpu", or "gpu"'),
            (f"{ONE}speed = 10", "speed of exercise 05.1 must be a table"),
            (f"{ONE}speed = {{}}", "speed of exercise 05.1 has no points"),
            (f"{ONE}speed = {{ points = 1, size = 2 }}", "size in speed of exercise 05.1 is not"),
            (f"{ONE}speed = {{ points = 1, step = 2 }}", "step in speed of exercise 05.1 must be"),
            (f"{ONE}speed = {{ points = 1, none_at = 1 }}", "must have none_at below full_at"),
        ):
            with self.subTest(text), self.assertRaises(LabError) as raised:
                self.read(text)
            self.assertIn(said, str(raised.exception))
            self.assertEqual(raised.exception.exit_code, USAGE)


class DeviceTest(unittest.TestCase):
    def chosen(self, asked, plan, nvcc="/usr/bin/nvcc", gpus=("A GPU",)):
        real = device.choose
        with mock.patch.object(
            device,
            "choose",
            lambda name: real(name, {}, nvcc=lambda _: nvcc, gpus=lambda _: list(gpus)),
        ):
            return verb._device(plan, mock.Mock(device=asked)).name

    def test_the_command_line_overrules_the_rubric(self):
        on_gpu = rubric.Rubric((), device="gpu")
        self.assertEqual(self.chosen(None, rubric.Rubric(())), "cpu")
        self.assertEqual(self.chosen(None, on_gpu), "gpu")
        self.assertEqual(self.chosen("cpu", on_gpu), "cpu")
        self.assertEqual(self.chosen("gpu", rubric.Rubric(())), "gpu")

    def test_what_is_missing_is_one_sentence(self):
        for given, said, status in (
            ({"gpus": ()}, "needs one, and `nvidia-smi -L` lists none here", NOT_POSSIBLE),
            ({"nvcc": None}, "the CUDA toolkit is not here", MAY_NOT_INSTALL),
        ):
            with self.assertRaisesRegex(LabError, said) as raised:
                self.chosen("gpu", rubric.Rubric(()), **given)
            self.assertEqual(raised.exception.exit_code, status)

    def test_speed_needs_a_gpu(self):
        plan = rubric.Rubric((rubric.Task(EXERCISE, points.Rules(speed=SPEED)),), device="gpu")
        self.assertEqual(self.chosen(None, plan), "gpu")
        with self.assertRaisesRegex(LabError, "speed of 05.1 need a GPU"):
            self.chosen("cpu", plan)


COMMANDS = """\
ccache c++ -o CMakeFiles/stub.05.1.dir/stub.cpp.o -c /repo/stub.cpp
/opt/cuda/bin/nvcc -forward-unknown-to-host-compiler -I/repo/labs -O2 -arch=native \
-Xcompiler=-Wall,-Wextra -Werror=all-warnings -Xcompiler=-Werror -MD -MT x.o -MF x.o.d -x cu \
-c /repo/solutions/dot_product.cu -o CMakeFiles/solution_code.05.1.dir/dot_product.cu.o
: && ar qc liblab_common.a x.o && ranlib liblab_common.a && :
: && c++ stub.o CMakeFiles/solution_code.05.1.dir/dot_product.cu.o -o bin/workers/05.1 -lcudart && :
"""


class RecipeTest(unittest.TestCase):
    def recipe(self, commands):
        answer = mock.Mock(stdout=commands, stderr="")
        with mock.patch.object(compiling.subprocess, "run", return_value=answer), mock.patch.object(
            compiling, "nvidia_smi", return_value="9.0"
        ):
            return compiling.recipe(ROOT, GPU, EXERCISE)

    def test_nvcc_compiles_another_file_for_this_gpu(self):
        made = self.recipe(COMMANDS)
        work = compiling._WORK
        self.assertEqual(made.rewrite, [])
        self.assertEqual(
            made.compile,
            ["/opt/cuda/bin/nvcc", "-forward-unknown-to-host-compiler", "-I/repo/labs", "-O2"]
            + ["-arch=sm_90", "-Xcompiler=-Wall,-Wextra", "-x", "cu"]
            + ["-o", f"{work}/code.o", "-c", f"{work}/dot_product.cu"],
        )
        self.assertEqual(
            made.link, ["c++", "stub.o", f"{work}/code.o", "-o", f"{work}/worker", "-lcudart"]
        )
        self.assertIn(Path("/opt/cuda"), made.readable)  # which no sandbox shows

    def test_a_compiler_outside_usr_is_shown_and_its_library_goes_into_the_worker(self):
        with tempfile.TemporaryDirectory() as place:
            home = Path(place)
            for name in ("bin", "lib64", "submissions"):
                (home / name).mkdir()
            compiler = f"{home}/bin/c++"
            made = self.recipe(COMMANDS.replace(" c++ ", f" {compiler} "))
        below = [path.name for path in made.readable if home in (path, *path.parents)]
        self.assertEqual(below, ["bin", "lib64"])  # and nothing else of whose folder it is
        self.assertEqual(made.link[0], compiler)
        self.assertIn("-static-libstdc++", made.link)
        at = made.compile.index("-ccbin")  # nvcc would look for it on the PATH of the sandbox
        self.assertEqual(made.compile[at + 1], compiler)

    def test_a_compiler_below_usr_needs_nothing_more(self):
        made = self.recipe(COMMANDS.replace(" c++ ", " /usr/bin/c++ "))
        self.assertEqual([path for path in made.readable if path.name == "usr"], [])
        self.assertNotIn("-static-libstdc++", made.link)
        self.assertNotIn("-ccbin", made.compile)


class SandboxTest(Folder):
    def command(self, place):
        real = Path.glob

        def glob(path, pattern):
            return real(self.folder if path == Path("/dev") else path, pattern)

        for name in ("nvidia0", "nvidiactl", "nvidia-uvm", "null"):
            self.write(name, "")
        (self.folder / "driver").mkdir()
        with mock.patch.object(Path, "glob", glob), mock.patch.object(
            Path, "is_char_device", lambda _: True
        ), mock.patch.dict(os.environ, LD_LIBRARY_PATH=f"{self.folder}/driver:/usr/lib:relative"):
            place = sandbox.with_gpus(place)
        limits = grade.run_limits(rubric.Limits())
        return " ".join(place.command(["/worker"], limits))

    def test_bubblewrap_shows_the_gpus_and_the_driver(self):
        said = self.command(sandbox.Bubblewrap("bubblewrap", True))
        for name in ("nvidia0", "nvidiactl", "nvidia-uvm"):
            self.assertIn(f"--dev-bind {self.folder}/{name} {self.folder}/{name} ", said)
        self.assertIn(f"--ro-bind {self.folder}/driver {self.folder}/driver ", said)
        self.assertIn("--ro-bind /sys /sys ", said)
        self.assertLess(said.index("--dev /dev"), said.index("--dev-bind"))
        self.assertNotIn("null", said)
        self.assertIn(f"--size {sandbox.TMP_BYTES} --tmpfs /dev/shm", said)

    def test_podman_gets_the_gpus_as_devices(self):
        said = self.command(sandbox.Podman("podman", True))
        self.assertIn(f"--device={self.folder}/nvidia0 ", said)
        self.assertIn(f"src={self.folder}/driver,", said)
        self.assertNotIn("src=/sys,", said)

    def test_no_limit_counts_the_addresses_that_cuda_reserves(self):
        said = self.command(sandbox.NONE)
        self.assertIn("--nofile=1024", said)
        self.assertIn("--data=", said)
        self.assertNotIn("--as=", said)

    def test_without_gpus_nothing_is_different(self):
        for place in sandbox.ALL:
            self.assertNotIn("nvidia", " ".join(place.command(["/worker"], sandbox.RUN)))
        self.assertEqual(grade.run_limits(rubric.Limits()), sandbox.RUN)


class JudgeTest(Folder):
    """Cases A, B and C of a step; on the GPU there is no case on who did the work."""

    def judge(self, on_gpu, race=None, made="worker"):
        names = ("S/T.A/one", "S/T.B/one", "Requires.Work")
        here = dict.fromkeys(names, test_program.PASSED)
        runs = {"cpu": here, "gpu": {**dict.fromkeys(names[:2], "passed"), **on_gpu}}

        def run(program, *_):
            cases = {n: test_program.Case(n, state=s) for n, s in runs[program.name].items()}
            return test_program.Result(cases, status=0, ended=True)

        def make(recipe, *_):
            problem = "" if recipe == "fast" or made else "it does not compile: no"
            return compiling.Made(None if problem else Path("worker"), problem)

        asked = set(names[:2])
        gpu = grade.OnGpu(Path("gpu"), "on gpu", sandbox.NONE, "A GPU, 580", race, asked)
        one = grade.Prepared(
            EXERCISE, Path("cpu"), "fast", "fast", ["one"], set(), set(), set(),
            rubric.Limits(), "1", gpu,
        )  # fmt: skip
        with mock.patch.object(grade, "run", run), mock.patch.multiple(
            compiling, make=make, examine=lambda *_: compiling.Examined()
        ):
            source = collect.Source("code", True)
            return grade.judge(one, source, sandbox.NONE, lambda: False)

    def test_a_case_passes_if_it_passes_in_all_runs(self):
        verdict = self.judge({})
        self.assertTrue(all(verdict["passed"].values()))
        self.assertEqual(verdict["gpu"], "A GPU, 580")
        verdict = self.judge({"S/T.B/one": test_program.FAILED})
        self.assertEqual([n for n, ok in verdict["passed"].items() if not ok], ["S/T.B/one"])
        self.assertTrue(verdict["failures"][0]["text"].startswith("on the GPU: "))
        self.assertEqual(verdict["without_work"], [])

    def test_a_case_that_never_ran_there_has_not_passed(self):
        verdict = self.judge({"S/T.A/one": test_program.NOT_RUN})
        self.assertFalse(verdict["passed"]["S/T.A/one"])

    def test_what_does_not_compile_for_a_gpu_does_not_compile(self):
        verdict = self.judge({}, made="")
        self.assertEqual(verdict["state"], "does not compile")
        self.assertIn("on the GPU, it does not compile: no", verdict["problem"])

    def test_only_what_is_right_is_measured(self):
        race = mock.Mock()
        race.measure.return_value = {"problem": "measured"}
        self.assertEqual(self.judge({}, race)["speed"], {"problem": "measured"})
        race.measure.reset_mock()
        self.assertEqual(self.judge({"S/T.A/one": test_program.FAILED}, race)["speed"], {})
        race.measure.assert_not_called()


class SlurmTest(Folder):
    def options(self, gpu):
        answers = {"sbatch": "7\n", "scontrol": "MaxArraySize = 1001\n", "squeue": ""}
        asked = []

        def ask(command):
            asked.append(command)
            return mock.Mock(returncode=0, stdout=answers[command[0]], stderr="")

        left = [["Ann"], []]
        with mock.patch.object(slurm, "_ask", ask), mock.patch.object(slurm, "say"):
            slurm.run(
                ["lab"], self.folder, lambda: left.pop(0), partition=None, jobs=None,
                memory_mib=8192, gpu=gpu,
            )  # fmt: skip
        (command,) = (one for one in asked if one[0] == "sbatch")
        return command

    def test_each_task_of_a_cluster_has_a_gpu_if_it_needs_one(self):
        self.assertIn("--gres=gpu:1", self.options(True))
        self.assertNotIn("--gres=gpu:1", self.options(False))


def run_of(ms, wall_ms=1000.0, least_ms=0.0):
    return {"ms": [[ms * 1.2, ms, ms * 0.9]], "least_ms": least_ms, "wall_ms": wall_ms}


class PointsTest(unittest.TestCase):
    def scored(self, measured):
        verdict = {**grade._nothing("graded"), "passed": {"T.A": True}, "speed": measured}
        return grade.scored(verdict, [], points.Rules(Fraction(20), speed=SPEED))

    def test_they_grow_from_half_of_the_solutions_speed_to_all_of_it(self):
        for own, expected in ((0.5, 10), (1, 10), (4 / 3, 5), (2, 0), (100, 0)):
            self.assertAlmostEqual(float(SPEED.points(own, 1.0)), expected)

    def test_they_come_on_top_of_those_for_being_right(self):
        runs = {"own": [run_of(4 / 3)] * 5, "solution": [run_of(1.0)] * 5}
        record = self.scored(speed.judged(runs))
        self.assertEqual((record["points"], record["of"]), (25, 30))
        self.assertIn("Speed: 5 of 10 points. Its kernels took 1.333 ms", record["remarks"][0])
        self.assertEqual(record["speed"]["runs"], runs)  # every sample

    def test_what_was_not_measured_has_none(self):
        record = self.scored({})
        self.assertEqual((record["points"], record["of"]), (20, 30))
        self.assertIn("Speed: 0 of 10 points: it is measured once", record["remarks"][0])

    def test_impossible_times_are_refused(self):
        solution = [run_of(1.0, least_ms=0.8)] * 5
        for own, is_possible in (
            (run_of(0.9), True),
            (run_of(0.5), False),  # what the memory cannot do
            (run_of(1.0, wall_ms=3.0), False),  # 3.1 ms in 3
        ):
            measured = speed.judged({"own": [own] * 5, "solution": solution})
            self.assertEqual(measured["problem"] == "", is_possible, own)
        self.assertEqual(self.scored(measured)["points"], 20)
        # Where the solution's data is in a cache, this says nothing.
        cached = [run_of(0.5, least_ms=0.8)] * 5
        self.assertEqual(speed.judged({"own": cached, "solution": cached})["problem"], "")

    def test_the_median_of_runs_counts(self):
        own = [run_of(1.0)] * 3 + [run_of(50.0)] * 2
        self.assertEqual(speed.judged({"own": own, "solution": own})["own_ms"], 1.0)


class RaceTest(Folder):
    """With a program that is a script, and no sandbox."""

    race = speed.Race(
        mock.Mock(), Path(), dataclasses.replace(SPEED, step="one", arguments="--size 16M"),
        sandbox.NONE, sandbox.RUN,
    )  # fmt: skip

    def run_program(self, *lines, status=0):
        events = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        program = self.write(
            "program",
            f'#!/bin/sh\necho "$@" >{self.folder}/given\n'
            f"cat >\"$8\" <<'END'\n{events}\nEND\necho said; exit {status}\n",
            0o755,
        )
        return self.race.run(program, repeat=3)

    def test_a_run_has_all_samples_and_the_time_that_it_took(self):
        kernel = {"event": "kernel", "ms": [1.0, 2.0, 3.0], "bytes": 1e9, "limit": 1e12}
        run = self.run_program({"event": "program"}, kernel, kernel)
        self.assertEqual(run["ms"], [[1.0, 2.0, 3.0]] * 2)
        self.assertAlmostEqual(run["least_ms"], 2 / speed.ROOM)
        self.assertGreater(run["wall_ms"], 0)
        given = (self.folder / "given").read_text()
        self.assertTrue(given.startswith("--size 16M --step one --repeat 3 --measurements /"))

    def test_what_is_no_measurement_is_said(self):
        first = {"event": "program"}
        for lines, said in (
            ([{"event": "kernel"}], "does not begin with the program"),
            (["[" * 100_000], "cannot be read"),
            (["[1]"], "lines that are no objects"),
            ([first], "reports no kernel's time"),
            ([first, {"event": "kernel"}], "times are no such"),
            ([first, {"event": "kernel", "ms": [1, 2]}], "times are no such"),
            ([first, {"event": "kernel", "ms": [1, 2, 0]}], "times are no such"),
            ([first, {"event": "kernel", "ms": [1, 2, "3"]}], "times are no such"),
            ([first, '{"event": "kernel", "ms": [1, 2, NaN]}'], "times are no such"),
            ([first, "x" * speed.MOST_BYTES], "says more than any should"),
        ):
            with self.assertRaisesRegex(bench.Failed, said):
                self.run_program(*lines)

    def test_a_program_that_fails_says_why(self):
        with self.assertRaisesRegex(bench.Failed, "its program failed: said"):
            self.run_program({"event": "program"}, status=1)

    def test_two_programs_take_turns(self):
        order = []

        def run(_, program):
            order.append(program.name)
            return run_of(1.0)

        made = compiling.Made(Path("own"))
        race = dataclasses.replace(self.race, solution=Path("solution"))
        with mock.patch.object(compiling, "make", return_value=made), mock.patch.object(
            speed.Race, "run", run
        ):
            self.assertEqual(race.measure("code", sandbox.NONE)["problem"], "")
        self.assertEqual(order[:4], ["own", "solution", "solution", "own"])
        self.assertEqual(len(order), 2 * speed.ROUNDS)


if __name__ == "__main__":
    unittest.main()
