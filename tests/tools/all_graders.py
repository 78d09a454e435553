# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Every exercise's solution, as a worker in the sandbox, passes the tests of its grader.

    all_graders.py BUILD_FOLDER [--no-sandbox] [ID…]

The folder has the targets grader.ID and worker.ID, for the CPU device or for a GPU. An exercise
whose tests pass in one process and fail here cannot be graded.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib import device  # noqa: E402
from lablib.exercises import find_exercises, resolve_all  # noqa: E402
from lablib.grading import compiling, gradable, sandbox  # noqa: E402


def main():
    name, *ids = sys.argv[1:]
    folder = Path(name).resolve()
    if "--no-sandbox" in ids:
        ids.remove("--no-sandbox")
        place = sandbox.NONE
    else:
        place = sandbox.find()
    if "LAB_DEVICE:STRING=gpu\n" in (folder / "CMakeCache.txt").read_text():
        place = sandbox.with_gpus(place, compiling.toolkit(device.find_nvcc()))
    failed = []
    for exercise in resolve_all(ROOT, ids) if ids else find_exercises(ROOT):
        passed, lines = gradable.try_solution(folder, exercise, place)
        print(lines, flush=True)
        if not passed:
            failed.append(exercise.id)
    if failed:
        print(f"These cannot be graded: {', '.join(failed)}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
