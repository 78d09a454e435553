# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""A class that is graded quickly, for tests of how it is graded and not of what."""

from pathlib import Path

from lablib import starters
from lablib.exercises import resolve_one

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def small_class(folder, size):
    """Makes `in/` with so many submissions of 01.2, no two alike, and `rubric.toml`."""
    exercise = resolve_one(ROOT, "01.2")
    right = exercise.solution_file.read_text()
    kinds = {
        "right": right,
        "wrong": right.replace("{a, b};", "{a, 0};"),
        "no_compile": right + "int x = ;\n",
        "starter": starters.generate_file(exercise.solution_file),
        "leaves": right + (HERE / "attacks" / "exit_in_constructor.cu").read_text(),
        "loops": right + (HERE / "attacks" / "endless_loop.cu").read_text(),
    }
    for i in range(size):
        name = list(kinds)[i % len(kinds)]
        place = folder / "in" / f"{name}_{i}"
        place.mkdir(parents=True)
        (place / "add_numbers.cu").write_text(f"{kinds[name]}// {i}\n")
    (folder / "rubric.toml").write_text('[limits]\ncall_seconds = 4\n[[exercise]]\nid = "01.2"\n')
