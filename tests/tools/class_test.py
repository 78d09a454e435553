# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""A class as there is one every week, for an exercise with three steps: everybody gets the points
that a person would give, by the command that an instructor types.

    class_test.py BUILD_FOLDER [NAME…]
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import redirect_stderr
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from grading_test import classroom50_mistakes  # noqa: E402

from lablib import build, cli, packages, starters  # noqa: E402
from lablib.errors import NOT_POSSIBLE, OK, LabError  # noqa: E402
from lablib.exercises import resolve_one  # noqa: E402
from lablib.grading import rubric, sandbox  # noqa: E402

EXERCISE = resolve_one(ROOT, "06.2")
SOLUTION = EXERCISE.solution_file.read_text()
STEPS = ["naive", "tile", "padded_tile", "coarse_tile"]


_REGION = re.compile(r" *// BEGIN SOLUTION\n(.*?) *// END SOLUTION\n", re.DOTALL)


def solved(*steps):
    """The starter with these steps written: each is a kernel and the function that launches it."""

    def written(region):
        functions = re.findall(r"(\w+)\(const float\* from", SOLUTION[: region.start()])
        if functions[-1].replace("launch_", "") not in steps:
            return region[0]
        return re.sub(r"(?m)^ *// STUB:.*\n", "", region[1])

    text = _REGION.sub(written, SOLUTION)
    return starters.generate(text, "transpose.cu") if _REGION.search(text) else text


def changed(old, new, text=None):
    text = text or solved(*STEPS)
    assert text.count(old) == 1, old
    return text.replace(old, new)


def launching(step, code):
    """Solved, but for what one step does on the host first."""
    name = f"launch_{step}"
    head = f"void {name}(const float* from, float* to, std::size_t rows, std::size_t columns) {{\n"
    return "#include <cstdio>\n" + changed(head, head + code)


# Everything on the host; the answer is right.
CHEAT = """
#include "transpose.hpp"

#include "lab/errors.hpp"

namespace lab::transpose {
result transpose(step, std::span<const float> matrix, std::size_t rows, std::size_t columns) {
  if (rows != 0 && columns != 0 ? matrix.size() / rows != columns || matrix.size() % rows != 0
                                : !matrix.empty())
    throw invalid_input("transpose: the matrix has another number of elements");
  result out;
  out.transposed.resize(matrix.size());
  for (std::size_t y = 0; y < rows; ++y)
    for (std::size_t x = 0; x < columns; ++x)
      out.transposed[x * rows + y] = matrix[y * columns + x];
  return out;
}
}  // namespace lab::transpose
"""

NAIVE = "if (y < rows && x < columns) to[x * rows + y] = from[y * columns + x];"

# A name, the file, and the points from … to.
CLASS = {
    "solved": (SOLUTION, 100, 100),
    "solved_elsewhere": ("\ufeff" + solved(*STEPS).replace("\n", "\r\n"), 100, 100),
    "starter": (solved(), 0, 0),
    "one_of_four": (solved("naive"), 25, 25),
    "two_of_four": (solved("naive", "tile"), 50, 50),
    "one_step_wrong": (
        changed(NAIVE, "if (y < rows && x < columns) to[y * columns + x] = from[y * columns + x];"),
        75,
        85,
    ),
    "kernel_loops": (changed(NAIVE, "for (volatile bool on = true; on;) {}"), 75, 75),
    "host_loops": (
        launching("tile", "  for (volatile bool on = true; on;) {}\n"),
        75,
        75,
    ),
    "does_not_compile": (SOLUTION + "int x = ;\n", 0, 0),
    "crashes": (
        launching("naive", "  *static_cast<volatile int*>(nullptr) = 1;\n"),
        75,
        75,
    ),
    "prints_a_gigabyte": (
        launching("tile", '  for (int i = 0; i < 1 << 27; ++i) std::printf("12345678");\n'),
        75,
        75,
    ),
    "cheats_on_the_host": (CHEAT, 40, 40),
    # Who has right values and not the work that the exercise is about.
    "one_thread_adds_all": (
        changed(
            NAIVE,
            "if (x == 0 && y == 0)\n    for (std::size_t i = 0; i < rows * columns; ++i)\n"
            "      to[i % columns * rows + i / columns] = from[i];",
        ),
        85,
        85,
    ),
    "no_shared_memory": (
        changed(
            "coarse_tile<<<grid_for(rows, columns, kSide, kSide), block>>>",
            "(void)coarse_tile;\n  naive<<<grid_for(rows, columns, kThreadRows, kWarp), block>>>",
        ),
        85,
        85,
    ),
}


HIDDEN = """
#include <gtest/gtest.h>

#include "add_numbers.hpp"

TEST(Hidden, AddsWhatNobodyHasSeen) {
  EXPECT_EQ(lab::add_numbers::add(lab::add_numbers::step::owner, 4711, 815), 5526);
}
"""


class ClassTest(unittest.TestCase):
    only = []

    def test_hidden_tests_count_and_stay_hidden(self):
        exercise = resolve_one(ROOT, "01.2")
        right = exercise.solution_file.read_text()
        learnt = right.replace("{a, b};", "{a, a == 4711 ? 0 : b};")
        with tempfile.TemporaryDirectory(prefix="lab_class_") as place:
            folder = Path(place)
            for name, text in (("right", right), ("learnt", learnt)):
                (folder / "in" / name).mkdir(parents=True)
                (folder / "in" / name / "add_numbers.cu").write_text(text)
            (folder / "more").mkdir()
            (folder / "more" / "further_test.cpp").write_text(HIDDEN)
            rubric = folder / "rubric.toml"
            rubric.write_text(
                '[[exercise]]\nid = "01.2"\nhidden = "more"\npoints = 30\n'
                "weights = { general = 4 }\n"
            )
            points, pages = grade(folder, rubric, "01.2")
        self.assertEqual(points, {"right": 30, "learnt": 10})
        self.assertIn("Hidden.AddsWhatNobodyHasSeen", pages)
        self.assertIn("a test that is not shown failed", pages)
        self.assertNotIn("5526", pages)
        self.assertNotIn("4711", pages)

    def test_without_a_sandbox_the_points_are_the_same_and_pages_say_that_there_was_none(self):
        right = resolve_one(ROOT, "01.2").solution_file.read_text()
        with tempfile.TemporaryDirectory(prefix="lab_class_") as place:
            folder = Path(place)
            for name, text in (("right", right), ("wrong", right.replace("{a, b};", "{a, 0};"))):
                (folder / "in" / name).mkdir(parents=True)
                (folder / "in" / name / "add_numbers.cu").write_text(text)
            rubric = folder / "rubric.toml"
            rubric.write_text('[[exercise]]\nid = "01.2"\n')
            points, pages = grade(folder, rubric, "01.2", "--no-sandbox")
        self.assertEqual(points, {"right": 100, "wrong": 22.2})
        self.assertEqual(pages.count("nothing was isolated"), 2)

    def test_ctest_gives_the_same_verdict(self):
        exercise = resolve_one(ROOT, "01.2")
        right = exercise.solution_file.read_text()
        starter = starters.generate_file(exercise.solution_file)

        def attack(name):
            return (HERE / "attacks" / f"{name}.cu").read_text()

        with tempfile.TemporaryDirectory(prefix="lab class_") as place:
            work = Path(place) / "build"
            clone = Path(place) / "one"  # a student's, with all that the course has
            for path in (exercise.solution_file, exercise.lab_file):
                (clone / path.relative_to(ROOT)).parent.mkdir(parents=True)
                (clone / path.relative_to(ROOT)).write_text(right)
            file = clone / exercise.lab_file.relative_to(ROOT)
            with redirect_stderr(io.StringIO()) as errors:
                command = ["grade", str(clone), "--exercises", "01.2,01.1"]
                self.assertEqual(cli.main([*command, "--build-only", str(work)], ROOT), OK)
            self.assertIn("-L 01.1` grades", errors.getvalue())
            for text, passes, said in (
                (right, True, "100 of 100 points (bubblewrap)"),
                (right + "int x = ;\n", False, "it does not compile: add_numbers.cu"),
                (starter, False, "0 of 100 points"),
                (right + attack("exit_in_constructor"), False, "no test ran"),
                (starter + attack("printed_ok"), False, "0 of 100 points"),
                (starter + attack("printed_events"), False, "0 of 100 points"),
                (starter + attack("writes_at_exit"), False, "0 of 100 points"),
                (right.replace("{a, b};", "{a, 0};"), False, "22.2 of 100 points"),
                (None, False, "no add_numbers.cu was handed in, but 'solutions/"),
                (right, True, "100 of 100 points"),
            ):
                file.unlink(missing_ok=True)
                if text is not None:
                    file.write_text(text)
                ran = subprocess.run(
                    ["ctest", "--test-dir", str(work), "-L", "01.2", "-V"],
                    capture_output=True,
                    text=True,
                )
                self.assertEqual(ran.returncode == 0, passes, ran.stdout)
                self.assertIn("of 1\n" if passes else "0% tests passed", ran.stdout)
                self.assertIn(said, ran.stdout)

    def test_the_harnesses_of_other_systems_get_the_points(self):
        """What they run is run as it is exported, but for where things lie. All keep their records
        in one place, so that the four systems cost hardly more than one."""
        text = resolve_one(ROOT, "01.2").solution_file.read_text()
        with tempfile.TemporaryDirectory(prefix="lab_class_") as place:
            folder = Path(place)
            (folder / "week.toml").write_text('[[exercise]]\nid = "01.2"\npoints = 45\n')
            systems = (Gradescope, PrairieLearn, Autolab, Classroom50)
            graders = [system(folder) for system in systems]
            for handed, points in ((text, 45), (text.replace("{a, b};", "{a, 0};"), 10)):
                for grader in graders:
                    with self.subTest(type(grader).__name__, points=points):
                        grader.hand_in(handed)
                        (grader.handed_in / "passwd").symlink_to("/etc/passwd")
                        self.assertEqual(grader.mistakes(), [])
                        self.assertAlmostEqual(grader.points(), points, places=3)

    def test_everybody_gets_the_points_that_a_person_would_give(self):
        names = [name for name in CLASS if not self.only or name in self.only]
        with tempfile.TemporaryDirectory(prefix="lab_class_") as place:
            folder = Path(place)
            for name in names:
                (folder / "in" / name).mkdir(parents=True)
                file = folder / "in" / name / f"{EXERCISE.name}.cu"
                file.write_text(CLASS[name][0], encoding="utf-8", newline="")
            rubric = folder / "rubric.toml"
            rubric.write_text(
                '[limits]\ncall_seconds = 12\n[[exercise]]\nid = "06.2"\n', encoding="utf-8"
            )
            began = time.monotonic()
            points, pages = grade(folder, rubric, "06.2")
            print(f"{len(names)} submissions in {time.monotonic() - began:.0f} s")
        for name in names:
            with self.subTest(name):
                _, low, high = CLASS[name]
                print(f"{points[name]:6.1f}  {name}")
                self.assertGreaterEqual(points[name], low - 0.06)  # shown with one digit
                self.assertLessEqual(points[name], high + 0.06)
        self.assertLess(len(pages), 500_000)


class Harness:
    """Another system, as far as its documentation says what it does with an exported folder."""

    submission = "submission"  # where the student's files are

    def __init__(self, folder):
        name = type(self).__name__
        plan = rubric.read(ROOT, folder / "week.toml")
        order = packages.Order(ROOT, folder / "week.toml", plan, folder / name / "package")
        packages.write(name.lower(), order)
        self.place, self.to = folder / name, order.to
        self.work = folder / "work"  # of all of them
        self.work.mkdir(exist_ok=True)
        self.handed_in = self.place / self.submission
        self.install()

    def adapt(self, script, **ours):
        """Other places in a script, each of which must be named there."""
        ours = {"course=$here/course": f"course={ROOT}", "$here/out": f"{self.work}/out", **ours}
        ours['"$here"/out'] = f"{self.work}/out"
        theirs = "|".join(map(re.escape, ours))
        text = script.read_text()
        assert set(re.findall(theirs, text)) == set(ours), script
        script.write_text(re.sub(theirs, lambda match: ours[match[0]], text))

    def hand_in(self, text):
        shutil.rmtree(self.handed_in, ignore_errors=True)
        self.handed_in.mkdir(parents=True)
        (self.handed_in / "add_numbers.cu").write_text(text)

    def run(self, *command, **options):
        """Returns all that it prints, in its order, as Autolab sees it."""
        out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        ran = subprocess.run(command, **out, **options)
        assert ran.returncode == 0, ran.stdout
        return ran.stdout

    def read(self, name):
        """A result, which the next run must write again."""
        path = self.place / name
        text = path.read_text()
        path.unlink()
        return json.loads(text)


class Gradescope(Harness):
    def install(self):
        (self.place / "results").mkdir()
        self.adapt(self.to / "run_autograder", **{
            "/autograder/source": str(self.to),
            "/autograder/submission": str(self.handed_in),
            "/autograder/results": str(self.place / "results"),
        })  # fmt: skip

    def mistakes(self):
        self.run(str(self.to / "run_autograder"))
        self.result = self.read("results/results.json")
        return []  # grading_test.py looks at it

    def points(self):
        return self.result["score"]


class PrairieLearn(Harness):
    """By docs/externalGrading.md: tests/ and what was handed in are below /grade, and so must be
    results/, which is not there yet."""

    submission = "grade/student"

    def install(self):
        grade = self.place / "grade"
        shutil.copytree(self.to / "question" / "tests", grade / "tests")
        info = json.loads((self.to / "question" / "info.json").read_text())
        entry = info["externalGradingOptions"]["entrypoint"]
        self.entry = Path(entry.replace("/grade", str(grade), 1))
        self.adapt(self.entry, **{"/cuda_labs": str(self.work), "/grade": str(grade)})

    def mistakes(self):
        shutil.rmtree(self.place / "grade" / "results", ignore_errors=True)
        self.run(str(self.entry))
        result = self.result = self.read("grade/results/results.json")
        wrong = [] if result["gradable"] is True else ["gradable"]
        if not isinstance(result["score"], float) or not 0 <= result["score"] <= 1:
            wrong.append("score")
        for test in result["tests"]:
            if not isinstance(test["name"], str) or not isinstance(test["output"], str):
                wrong.append("texts")
            if not 0 <= test["points"] <= test["max_points"]:
                wrong.append("points")
        return wrong

    def points(self):
        return self.result["score"] * 45


class Autolab(Harness):
    """By docs/lab.md: a folder has the makefile, the archive and what was handed in; the last line
    that `make` prints has points for problems that the lab has."""

    def install(self):
        (self.lab,) = (self.to / "lab").iterdir()
        unpacked = self.place / "unpacked"
        self.run("tar", "xf", str(self.lab / "autograde.tar"), f"--one-top-level={unpacked}")
        self.adapt(unpacked / "driver.sh", **{"/cuda_labs": str(self.work)})
        self.archive = self.place / "autograde.tar"
        self.run("tar", "cf", str(self.archive), "-C", str(unpacked), "driver.sh", "rubric")

    def mistakes(self):
        shutil.copy(self.archive, self.handed_in / "autograde.tar")
        shutil.copy(self.lab / "autograde-Makefile", self.handed_in / "Makefile")
        said = self.run("make", cwd=self.handed_in)
        first, *_, last = said.rstrip().splitlines()
        # What Autolab makes of that line before it reads it.
        self.result = json.loads(re.sub(r"([a-zA-Z0-9]+):", r'"\1":', last))
        lab = (self.lab / f"{self.lab.name}.yml").read_text()
        problems = re.findall(r'- name: "(.+)"', lab)
        mistakes = sorted(set(self.result["scores"]) ^ set(problems))
        return mistakes if first == "01.2 add_numbers" else [first, *mistakes]

    def points(self):
        return self.result["scores"]["01.2"]


class Classroom50(Harness):
    """By wiki/Advanced-Autograding.md: autograder.py is run in the student's files, to which it
    adds result.json."""

    def install(self):
        (self.to / "prepare.sh").write_text("")  # which would install packages
        self.adapt(self.to / "grade.sh")

    def mistakes(self):
        url = "https://github.com/cuda/week5-ann"
        given = {
            **{"CLASSROOM": "cuda", "ASSIGNMENT": "week5", "OWNER": "ann", "USERNAME": "ann"},
            **{"SUBMISSION_TAG": "submit/2026-11-20T10-00-00Z-a1b2c3d", "COMMIT_URL": f"{url}/1"},
            **{"RELEASE_URL": f"{url}/2", "REVIEW_URL": f"{url}/3"},
        }
        script = str(self.to / "autograder.py")
        environment = {**os.environ, **given, "ASSIGNMENT_TYPE": "individual"}
        self.run(sys.executable, script, cwd=self.handed_in, env=environment)
        self.result = self.read(f"{self.submission}/result.json")
        body = (self.handed_in / "release-body.md").read_text()
        ours = f"{self.points()} of 45 points"
        return classroom50_mistakes(self.result) + ([] if ours in body else ["release-body.md"])

    def points(self):
        return self.result["score"]


def grade(folder, rubric, id, *options):
    """The points and the pages of the students in a folder, by the command."""
    out = folder / "out"
    errors = io.StringIO()
    with redirect_stderr(errors):
        command = ["grade", str(folder / "in"), "--rubric", str(rubric), "--out", str(out)]
        command += ["--names", *options]
        status = cli.main(command, ROOT)
    assert status == OK, errors.getvalue()
    with open(out / "class.csv", encoding="utf-8", newline="") as file:
        points = {row["student"]: float(row[id]) for row in csv.DictReader(file)}
    pages = (page.read_text(encoding="utf-8") for page in (out / "students").iterdir())
    return points, "\n".join(pages)


def main():
    folder, *names = sys.argv[1:]
    ClassTest.only = names
    place = Path(folder).resolve()
    os.environ["LAB_DEVICE"] = "cpu"
    if place.name != "cpu":
        build.folder = lambda root, preset: place
    try:
        sandbox.find()
    except LabError as error:
        print(f"SKIPPED: {error}")
        return NOT_POSSIBLE
    program = unittest.main(sys.modules[__name__], argv=[sys.argv[0], "-v"], exit=False)
    return 0 if program.result.testsRun and program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
