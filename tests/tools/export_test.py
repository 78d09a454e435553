# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab export: what students get, and what other systems are given."""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib import export, starters  # noqa: E402
from lablib.errors import LabError  # noqa: E402
from lablib.exercises import find_exercises, resolve_one  # noqa: E402
from lablib.grading import rubric  # noqa: E402


class EditionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="lab_export_")
        cls.addClassCleanup(folder.cleanup)
        cls.edition = Path(folder.name) / "an edition"
        export.student_edition(ROOT, cls.edition, export.PARTS)

    def test_nothing_that_was_left_out_is_there(self):
        for path in self.edition.rglob("*"):
            place = str(path.relative_to(self.edition))
            if place.startswith("scripts/template/"):
                continue
            self.assertFalse(place.startswith("solutions/"), place)
            self.assertNotIn(path.suffix, (".bugs", ".equivalent", ".right"), place)
            if path.suffix == ".cu" and path.is_file():
                self.assertNotIn("BEGIN SOLUTION", path.read_text(encoding="utf-8"), place)

    def test_right_solutions_in_other_styles_are_solutions(self):
        path = "tests/05_shared_memory/dot_product.right/last_block.cu"
        for part in ("solutions", "bugs"):
            self.assertTrue(export._LEFT_OUT[part](path), part)
        self.assertFalse(export._LEFT_OUT["answers"](path))

    def test_every_exercise_begins_with_its_starter(self):
        exercises = find_exercises(self.edition)
        self.assertEqual(len(exercises), len(find_exercises(ROOT)))
        for exercise in exercises:
            original = ROOT / exercise.solution_file.relative_to(self.edition)
            starter = starters.generate_file(original)
            self.assertEqual(exercise.lab_file.read_text(encoding="utf-8"), starter)
            self.assertEqual(starters.starter_of(exercise), starter)

    def test_links_lead_to_something(self):
        for page in [*self.edition.glob("docs/*.md"), self.edition / "README.md"]:
            text = page.read_text(encoding="utf-8")
            for target in re.findall(r"\]\(([^)\s:#]+)(?:#[^)\s]*)?\)", text):
                self.assertTrue((page.parent / target).exists(), f"{page.name}: {target}")

    def test_it_configures_and_resets(self):
        subprocess.run(
            ["cmake", "--preset", "cpu"], cwd=self.edition, check=True, capture_output=True
        )
        answer = subprocess.run(
            [
                "ninja",
                "-C",
                "build/cpu",
                "-t",
                "commands",
                "lab.05.1",
                "lab_test.05.1",
                "watched_lab_test.05.1",
            ],
            cwd=self.edition,
            capture_output=True,
            text=True,
        )
        self.assertEqual(answer.returncode, 0, answer.stdout[-1000:] + answer.stderr)
        rules = (self.edition / "build/cpu/build.ninja").read_text(encoding="utf-8")
        self.assertNotRegex(rules, r"solution(_test|_code)?\.05\.1")
        file = resolve_one(self.edition, "05.1").lab_file
        starter = file.read_text(encoding="utf-8")
        file.write_text(starter + "// mine\n", encoding="utf-8")
        environment = {**os.environ, "LAB_DEVICE": "cpu"}
        subprocess.run(
            ["scripts/lab", "reset", "05.1"],
            cwd=self.edition,
            check=True,
            capture_output=True,
            env=environment,
        )
        self.assertEqual(file.read_text(encoding="utf-8"), starter)

    def test_a_solution_is_not_looked_for(self):
        answer = subprocess.run(
            ["scripts/lab", "test", "05.1", "--solution"],
            cwd=self.edition,
            capture_output=True,
            text=True,
        )
        self.assertEqual(answer.returncode, 1)
        self.assertIn("has no solutions", answer.stderr)

    def test_a_folder_with_something_in_it_is_refused(self):
        with self.assertRaisesRegex(LabError, "is not empty"):
            export.student_edition(ROOT, self.edition, [])

    def test_what_cannot_be_left_out_is_said(self):
        with self.assertRaisesRegex(LabError, "'ideas' is none of solutions, answers, bugs"):
            export.student_edition(ROOT, self.edition / "other", ["ideas"])


class OthersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lab_export_")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def test_jplag_gets_a_folder_a_student_and_the_starter(self):
        self.write("in/ann/dot_product.cu", "// Ann's\n")
        self.write("in/kim/deep/dot_product.cu", "// Kim's\n")
        self.write("in/lee/vector_add.cu", "// Lee's\n")
        exercise = resolve_one(ROOT, "05.1")
        count = export.jplag(self.folder / "in", [exercise], self.folder / "out")
        self.assertEqual(count, 2)
        found = sorted((self.folder / "out" / "05.1" / "submissions").rglob("*.cpp"))
        self.assertEqual([path.read_text() for path in found], ["// Ann's\n", "// Kim's\n"])
        starter = self.folder / "out" / "05.1" / "starter" / "dot_product.cpp"
        self.assertEqual(starter.read_text(encoding="utf-8"), starters.starter_of(exercise))

    def test_gradescope_gets_what_its_harness_runs(self):
        self.write("hidden/more_test.cpp", "// hidden\n")
        file = self.write("week.toml", '[[exercise]]\nid = "05.1"\nhidden = "hidden"\n')
        to = self.folder / "out"
        export.gradescope(ROOT, file, rubric.read(ROOT, file), to, no_sandbox=False)
        # By the specification: these two in the archive's root, the second one executable.
        for name in ("setup.sh", "run_autograder"):
            self.assertTrue(os.access(to / name, os.X_OK))
            text = (to / name).read_text(encoding="utf-8")
            self.assertTrue(text.startswith("#!/usr/bin/env bash\n"))
            self.assertNotIn("no-sandbox", text)
            self.assertNotIn("{", text)
            subprocess.run(["bash", "-n", str(to / name)], check=True)
        self.assertIn("/autograder/results/results.json", (to / "run_autograder").read_text())
        with tarfile.open(to / "course.tar") as archive:
            names = set(archive.getnames())
        self.assertIn("course/scripts/lab", names)
        self.assertIn("course/solutions/05_shared_memory/1_dot_product/dot_product.cu", names)
        read = rubric.read(ROOT, to / "rubric" / "rubric.toml")
        self.assertEqual([path.read_text() for path in read.tasks[0].hidden], ["// hidden\n"])


if __name__ == "__main__":
    unittest.main()
