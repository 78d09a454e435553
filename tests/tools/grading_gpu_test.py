# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Grading on a GPU, without a GPU: what nvcc and sandboxes are told, what becomes of results."""

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib import device, test_program  # noqa: E402
from lablib.errors import MAY_NOT_INSTALL, NOT_POSSIBLE, USAGE, LabError  # noqa: E402
from lablib.exercises import resolve_one  # noqa: E402
from lablib.grading import collect, compiling, grade, rubric, sandbox  # noqa: E402
from lablib.verbs import grading as verb  # noqa: E402

EXERCISE = resolve_one(ROOT, "05.1")
GPU = device.Device("gpu", "", "/opt/cuda/bin/nvcc", 1)
ONE = '[[exercise]]\nid = "05.1"\n'


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

    def test_the_device_is_read(self):
        self.assertEqual(self.read(ONE).device, "cpu")
        self.assertEqual(self.read(f'device = "gpu"\n{ONE}').device, "gpu")

    def test_a_mistake_is_one_sentence_that_says_where(self):
        for text, said in (
            (f'device = "tpu"\n{ONE}', 'device must be "cpu", or "gpu"'),
            (f"device = 1\n{ONE}", 'device must be "cpu", or "gpu"'),
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


COMMANDS = """\
ccache c++ -o CMakeFiles/stub.05.1.dir/stub.cpp.o -c /repo/stub.cpp
/opt/cuda/bin/nvcc -forward-unknown-to-host-compiler -I/repo/labs -O2 -arch=native \
-Xcompiler=-Wall,-Wextra -Werror=all-warnings -Xcompiler=-Werror -MD -MT x.o -MF x.o.d -x cu \
-c /repo/solutions/dot_product.cu -o CMakeFiles/solution_code.05.1.dir/dot_product.cu.o
: && ar qc liblab_common.a x.o && ranlib liblab_common.a && :
: && c++ stub.o CMakeFiles/solution_code.05.1.dir/dot_product.cu.o -o bin/workers/05.1 -lcudart && :
"""


class RecipeTest(unittest.TestCase):
    def test_nvcc_compiles_another_file_for_this_gpu(self):
        answer = mock.Mock(stdout=COMMANDS, stderr="")
        with mock.patch.object(compiling.subprocess, "run", return_value=answer), mock.patch.object(
            compiling, "nvidia_smi", return_value="9.0"
        ):
            made = compiling.recipe(ROOT, GPU, EXERCISE)
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
        limits = grade.run_limits(place, rubric.Limits())
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
        self.assertEqual(grade.run_limits(sandbox.NONE, rubric.Limits()), sandbox.RUN)


class JudgeTest(Folder):
    """Cases A, B and C of a step; on the GPU there is no case on who did the work."""

    def judge(self, on_gpu, made="worker"):
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
        gpu = grade.OnGpu(Path("gpu"), "on gpu", sandbox.NONE, "A GPU, 580", asked)
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


if __name__ == "__main__":
    unittest.main()
