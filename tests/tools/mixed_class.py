# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""How long a class takes, and whether its points are those that its submissions were made for.

    mixed_class.py make FOLDER STUDENTS ID…    writes FOLDER/submissions/
    mixed_class.py judge FOLDER RESULTS        after `lab grade FOLDER/submissions/ --names …`

Of ten files about six are right (the solution, or one in another style), three have one of the
exercise's known bugs, and one is the starter or does not compile. No two files are the same.
"""

import csv
import json
import random
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib import bugs, starters  # noqa: E402
from lablib.exercises import resolve_one  # noqa: E402


def one_file(exercise, choice):
    """What was handed in, and what it is."""
    solution = exercise.solution_file.read_text()
    of_ten = choice.randrange(10)
    if of_ten < 6:
        styles = [exercise.solution_file, *exercise.right_files]
        style = choice.choice(styles)
        return style.read_text(), f"right: {style.stem}"
    if of_ten < 9:
        name = str(exercise.bugs_file)
        known = [bug for bug in bugs.parse(exercise.bugs_file) if bug.file.endswith(".cu")]
        bug = choice.choice([bug for bug in known if bug.caught_by != "compiler"])
        text = bugs.apply(bug, solution, name, exercise.solution_file.name)
        return text, f"bug: {bug.name}"
    if choice.random() < 0.5:
        return starters.generate_file(exercise.solution_file), "starter"
    return solution + "int x = ;\n", "does not compile"


def make(folder, students, ids):
    choice = random.Random(0)
    kinds = {}
    for number in range(students):
        place = folder / "submissions" / f"student {number:03}"
        place.mkdir(parents=True)
        for id_ in ids:
            exercise = resolve_one(ROOT, id_)
            text, kind = one_file(exercise, choice)
            (place / exercise.lab_file.name).write_text(f"{text}// {number}\n")
            kinds[f"{place.name}, {id_}"] = kind
    (folder / "kinds.json").write_text(json.dumps(kinds, indent=1) + "\n")


def judge(folder, results):
    """Prints the points of each kind. Exit status 1 if one that is right has not all of them, one
    with a bug has all (a bug that only failing calls of CUDA show may: docs/instructors.md), or if
    the starter or what does not compile has any."""
    kinds = json.loads((folder / "kinds.json").read_text())
    points = {}
    with open(results / "class.csv", newline="") as file:
        for row in csv.DictReader(file):
            for id_ in {key.split(", ")[1] for key in kinds}:
                points[f"{row['student']}, {id_}"] = float(row[id_])
    wrong = 0
    of_bugs = Counter()
    for key, kind in kinds.items():
        is_right = kind.startswith("right")
        if kind.startswith("bug") and points[key] < 100:
            of_bugs[f"{key.split(', ')[1]}, {kind}: {points[key]:g}"] += 1
        elif kind.startswith("bug") or points[key] != (100 if is_right else 0):
            wrong += 1
            print(f"{key}, {kind}: {points[key]:g}")
    for line, times in sorted(of_bugs.items()):
        print(f"{line} ({times} times)")
    print(f"{len(kinds)} files, {wrong} with other points than they were made for")
    return 1 if wrong else 0


def main():
    action, folder, *others = sys.argv[1:]
    if action == "make":
        make(Path(folder), int(others[0]), others[1:])
        return 0
    return judge(Path(folder), Path(others[0]))


if __name__ == "__main__":
    sys.exit(main())
