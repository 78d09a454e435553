# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""A class that is graded on a GPU: what is wrong, slow or forged there, and only there.

gpu_class_test.py      (skipped where there is no GPU)
"""

import csv
import os
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib import cli, device  # noqa: E402
from lablib.errors import NOT_POSSIBLE, OK, LabError  # noqa: E402
from lablib.exercises import resolve_one  # noqa: E402
from lablib.grading import sandbox  # noqa: E402

ADD, DOT = (resolve_one(ROOT, id) for id in ("03.1", "05.1"))

RUBRIC = """
device = "gpu"
[[exercise]]
id = "03.1"
speed = { points = 10, step = "vectorized", arguments = "--size 64M", full_at = 0.9 }
[[exercise]]
id = "05.1"
speed = { points = 10, step = "shuffle", arguments = "--size 64M", full_at = 0.9 }
"""


def on_gpu(code):
    return f"#ifndef __CPU_DEVICE__\n{code}#endif\n"


def changed(exercise, old, new):
    """The solution with other code in a place that it has once."""
    text = exercise.solution_file.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    return text.replace(old, new)


def after(exercise, place, code):
    return changed(exercise, place, place + on_gpu(code))


def before(exercise, place, code):
    return changed(exercise, place, on_gpu(code) + place)


VECTORIZED = "  vectorized<<<blocks, kThreads>>>(a, b, sum, n);"
STATIC_SUM = (
    "  if (threadIdx.x == 0) partial[blockIdx.x] = sum;\n  // END SOLUTION\n}\n\n// --- dynamic"
)
LAUNCH = (
    "    dot_kernel<<<g.blocks, g.threads, g.shared_bytes>>>(device_a.data(), device_b.data(),\n"
    "                                                        device_partial.data(), n);\n"
)
TIMED = f"  const float kernel_ms = time_kernel([&] {{\n{LAUNCH}  }});\n"


ONE_STEP_LOST = (50, 95)
# A name; the files for 03.1 and 05.1; and the points from … to, of 110 for each.
CLASS = {
    "right": (
        ADD.solution_file.read_text(encoding="utf-8"),
        DOT.solution_file.read_text(encoding="utf-8"),
        (109, 110),
        (109, 110),
    ),
    "wrong": (
        after(ADD, "  const std::size_t i = threadIdx.x;\n", "  n -= n > 5;\n"),
        before(
            DOT,
            STATIC_SUM,
            "  if (threadIdx.x == 0) partial[blockIdx.x] = sum + 1;\n  return;\n",
        ),
        ONE_STEP_LOST,
        ONE_STEP_LOST,
    ),
    "slow": (
        before(ADD, VECTORIZED, f"  for (int k = 0; k < 2; ++k)\n  {VECTORIZED}\n"),
        before(
            DOT,
            "  return {blocks_for(n, threads, resident), threads, shared_bytes};",
            "  return {blocks_for(n, threads, resident / 24), threads, shared_bytes};\n",
        ),
        (100, 105),
        (100, 105),
    ),
    # One step ends with a kernel that fails, or that never ends. The others keep their points.
    "trap": (
        after(ADD, "  const std::size_t i = blockIdx.x;\n", "  __trap();\n"),
        before(
            DOT,
            "  float thread_sum = 0;\n  const std::size_t stride",
            # Of one size only: each call that never ends costs its limit. (nvcc may take a loop out
            # that changes nothing, even of a volatile variable of its own.)
            "  while (n == 33'792) *static_cast<volatile float*>(partial) = 0;\n",
        ),
        ONE_STEP_LOST,
        ONE_STEP_LOST,
    ),
    # The program's result is right, and what is timed does no work.
    "forged": (
        before(
            ADD,
            VECTORIZED,
            "  static const void* last = nullptr;\n"
            "  if (n > 33'000'000 && last == sum) return;\n  last = sum;\n",
        ),
        changed(
            DOT,
            TIMED,
            on_gpu(f"{LAUNCH}  const float kernel_ms = time_kernel([&] {{}});\n#else\n{TIMED}"),
        ),
        (100, 100),
        (100, 100),
    ),
    "no_compile": (
        ADD.solution_file.read_text(encoding="utf-8") + on_gpu("int x = y;\n"),
        "int x = ;\n",
        (0, 0),
        (0, 0),
    ),
}


class GpuClassTest(unittest.TestCase):
    isolated = True

    def test_everybody_gets_the_points_that_a_person_would_give(self):
        with tempfile.TemporaryDirectory(prefix="lab_gpu_class_") as place:
            folder = Path(place)
            for name, (add, dot, *_) in CLASS.items():
                (folder / "in" / name).mkdir(parents=True)
                (folder / "in" / name / f"{ADD.name}.cu").write_text(add, encoding="utf-8")
                (folder / "in" / name / f"{DOT.name}.cu").write_text(dot, encoding="utf-8")
            (folder / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
            command = ["grade", str(folder / "in"), "--rubric", str(folder / "rubric.toml")]
            command += ["--out", str(folder / "out"), "--names"]
            command += [] if self.isolated else ["--no-sandbox"]
            self.assertEqual(cli.main(command, ROOT), OK)
            with open(folder / "out" / "class.csv", encoding="utf-8", newline="") as file:
                rows = {row["student"]: row for row in csv.DictReader(file)}
        for name, (_, _, *expected) in CLASS.items():
            for exercise, (least, most) in zip((ADD, DOT), expected):
                with self.subTest(name, exercise=exercise.id):
                    print(f"{rows[name][exercise.id]:>6}  {exercise.id} {name}")
                    points = float(rows[name][exercise.id])
                    self.assertGreaterEqual(points, least)
                    self.assertLessEqual(points, most)


def main():
    if not device.find_gpus():
        print("SKIPPED: there is no GPU")
        return NOT_POSSIBLE
    os.environ.pop("LAB_DEVICE", None)
    try:
        sandbox.find()
    except LabError as error:
        print(f"without a sandbox: {error}")
        GpuClassTest.isolated = False
    program = unittest.main(sys.modules[__name__], argv=[sys.argv[0], "-v"], exit=False)
    return 0 if program.result.testsRun and program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
