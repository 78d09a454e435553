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

from lablib import device, test_program  # noqa: E402
from lablib.exercises import find_exercises, resolve_all  # noqa: E402
from lablib.grading import compiling, grade, sandbox  # noqa: E402


def main():
    folder, *ids = sys.argv[1:]
    programs = Path(folder).resolve() / "bin"
    if "--no-sandbox" in ids:
        ids.remove("--no-sandbox")
        place = sandbox.NONE
    else:
        place = sandbox.find()
    if "LAB_DEVICE:STRING=gpu\n" in (programs.parent / "CMakeCache.txt").read_text():
        place = sandbox.with_gpus(place, compiling.toolkit(device.find_nvcc()))
    failed = []
    for exercise in resolve_all(ROOT, ids) if ids else find_exercises(ROOT):
        name = exercise.full_name
        result = grade.run(programs / "graders" / name, programs / "workers" / name, place)
        skipped = len(result.in_state(test_program.SKIPPED))
        seconds = sum(case.seconds for case in result.cases.values())
        said = f"{len(result.cases)} cases, {skipped} skipped, {seconds:.0f} s"
        print(f"{name:30} {'passes' if result.passed else 'FAILS'}: {said}", flush=True)
        if not result.passed:
            failed.append(exercise.id)
            print("  " + "\n  ".join(result.outside[-5:] or [result.ending]))
        for case in result.failures[:3]:
            sentences = [test_program.sentence(one) for one in case.said if one.is_failure]
            print(f"  {case.name}: {case.detail} {' '.join(sentences)[:600]}")
    if failed:
        print(f"These cannot be graded: {', '.join(failed)}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
