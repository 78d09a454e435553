# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab export: what students get, and what other systems are given."""

import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import uuid
import zipfile
from contextlib import redirect_stderr
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib import cli, export, packages, starters  # noqa: E402
from lablib.errors import USAGE, LabError  # noqa: E402
from lablib.exercises import find_exercises, resolve_one  # noqa: E402
from lablib.grading import rubric  # noqa: E402
from lablib.verbs import completing  # noqa: E402


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

    def test_what_is_left_out_is_not_in_a_row_of_links(self):
        chapter = (self.edition / "docs/05_shared_memory.md").read_text(encoding="utf-8")
        self.assertIn("/hints.md)\n", chapter)
        self.assertNotRegex(chapter, r"·\s+solution\b")

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


class PackagesTest(unittest.TestCase):
    """What can be said without grading; class_test.py runs the scripts."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="lab_export_")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        (cls.folder / "hidden").mkdir()
        (cls.folder / "hidden" / "more_test.cpp").write_text("// hidden\n")
        cls.file = cls.folder / "week.toml"
        cls.file.write_text(
            'title = "Week 5: \\"tiles\\""\n[[exercise]]\nid = "05.1"\nhidden = "hidden"\n'
            '[[exercise]]\nid = "10.4"\npoints = 30\n'
        )
        cls.said = {name: cls.write(name, name) for name in packages.SYSTEMS}

    @classmethod
    def write(cls, system, folder, text="", **changes):
        file = cls.file
        if text:
            file = cls.folder / f"{folder}.toml"
            file.write_text(text)
        order = packages.Order(ROOT, file, rubric.read(ROOT, file), cls.folder / folder, **changes)
        if folder == system:
            return packages.write(system, order)
        with mock.patch.object(packages, "_course"):  # which takes a second
            return packages.write(system, order)

    def scripts(self, system):
        """All that is run there, by name."""
        folder = self.folder / system
        found = {
            path.name: path.read_text()
            for path in folder.rglob("*")
            if path.suffix == ".sh" or path.name == "run_autograder"
        }
        for archive in folder.rglob("autograde.tar"):
            with tarfile.open(archive) as files:
                found["driver.sh"] = files.extractfile("driver.sh").read().decode()
        return found

    def test_scripts_are_whole(self):
        for system in packages.SYSTEMS:
            found = self.scripts(system)
            self.assertEqual(len(found), 2, system)
            for name, text in found.items():
                with self.subTest(system, script=name):
                    self.assertTrue(text.startswith("#!/usr/bin/env bash\n"))
                    self.assertNotRegex(text, r"\{\w+\}")
                    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
            for path in (self.folder / system).rglob("*.sh"):
                self.assertTrue(os.access(path, os.X_OK), path)

    def test_what_grades_is_built_once(self):
        """By a course whose commands only say that they were called, on a machine that lacks a
        reader of TOML."""
        logs = '#!/bin/sh\necho "${0##*/} $*" >>"$LOG"\n'
        fakes = self.folder / "fakes"
        course = fakes / "course" / "scripts"
        course.mkdir(parents=True)
        for path, text in (
            *((course / name, logs) for name in ("setup", "lab")),
            *((fakes / name, logs) for name in ("apt-get", "sysctl")),
            (fakes / "bwrap", ""),
            (fakes / "python3", "#!/bin/sh\nexit 1\n"),
            (fakes / "sudo", '#!/bin/sh\nshift\nexec "$@"\n'),
        ):
            path.write_text(text)
            path.chmod(0o755)
        for system in packages.SYSTEMS:
            work = self.folder / f"{system} prepares"
            work.mkdir()
            archive = str(work / "course.tar.gz")
            subprocess.run(["tar", "czf", archive, "-C", str(fakes), "course"], check=True)
            (text,) = [one for one in self.scripts(system).values() if "--format" not in one]
            text = re.sub("here=/.*", lambda _: f"here='{work}'", text)
            (work / "prepare.sh").write_text(text)
            subprocess.run(
                ["bash", str(work / "prepare.sh")],
                check=True,
                env={
                    **os.environ,
                    "PATH": f"{fakes}:{os.environ['PATH']}",
                    "LOG": str(work / "log"),
                    "RUNNER_ENVIRONMENT": "github-hosted",
                },
            )
            has_rubric = system in ("gradescope", "classroom50")
            what = f"--rubric {work}/rubric/rubric.toml" if has_rubric else "--exercises 05.1,10.4"
            alone = "" if has_rubric else " --no-sandbox"
            self.assertEqual(
                (work / "log").read_text().splitlines(),
                ["setup --student", "apt-get update", "apt-get install -y python3-tomli"]
                + ["sysctl -qw kernel.apparmor_restrict_unprivileged_userns=0"]
                * (system == "classroom50")
                + [f"lab grade {work}/nobody {what} --out {work}/out{alone}"],
            )

    def test_code_of_students_is_in_a_sandbox_unless_asked_otherwise(self):
        for system in packages.SYSTEMS:
            alone = f"{system} alone"
            self.write(system, alone, no_sandbox=True)
            for folder, is_alone in ((system, False), (alone, True)):
                found = [text for text in self.scripts(folder).values() if "--format" in text]
                self.assertEqual(["--no-sandbox" in text for text in found], [is_alone], folder)

    def test_the_course_and_the_rubric_are_there(self):
        for system in packages.SYSTEMS:
            (course,) = (self.folder / system).rglob("course.tar.gz")
            with tarfile.open(course) as archive:
                names = set(archive.getnames())
            self.assertIn("course/scripts/lab", names)
            self.assertIn("course/solutions/05_shared_memory/1_dot_product/dot_product.cu", names)
            for archive in (self.folder / system).rglob("autograde.tar"):
                with tarfile.open(archive) as files:
                    files.extractall(archive.parent)
            (file,) = (self.folder / system).rglob("rubric.toml")
            read = rubric.read(ROOT, file)
            self.assertEqual([path.read_text() for path in read.tasks[0].hidden], ["// hidden\n"])

    def test_gradescope_finds_its_two_scripts(self):
        # By the specification: these two in the archive's root, the second one executable.
        for name in ("setup.sh", "run_autograder"):
            self.assertTrue(os.access(self.folder / "gradescope" / name, os.X_OK))

    def test_prairielearn_finds_a_question(self):
        question = self.folder / "prairielearn" / "question"
        info = json.loads((question / "info.json").read_text())
        # By infoQuestion.json of PrairieLearn's schemas.
        self.assertLessEqual({"uuid", "type", "title", "topic"}, set(info))
        self.assertLessEqual(
            set(info),
            {"uuid", "type", "title", "topic", "tags", "gradingMethod", "singleVariant"}
            | {"showCorrectAnswer", "partialCredit", "externalGradingOptions", "comment"},
        )
        self.assertEqual(str(uuid.UUID(info["uuid"])), info["uuid"])
        self.assertEqual((info["type"], info["gradingMethod"]), ("v3", "External"))
        options = info["externalGradingOptions"]
        self.assertEqual(set(options), {"enabled", "image", "entrypoint", "timeout"})
        self.assertTrue(0 < options["timeout"] <= 600)
        entry = question / "tests" / Path(options["entrypoint"]).relative_to("/grade/tests")
        self.assertTrue(os.access(entry, os.X_OK))
        page = (question / "question.html").read_text()
        self.assertIn('optional-file-names="dot_product.cu,histogram.cu"', page)
        self.assertIn("<pl-external-grader-results>", page)
        self.assertNotIn("{{", page)
        # Whoever has the image has neither.
        image = self.folder / "prairielearn" / "image"
        self.assertEqual(sorted(path.name for path in image.iterdir()), [
            "Dockerfile", "course.tar.gz", "prepare.sh",
        ])  # fmt: skip

    def test_another_rubric_is_another_question(self):
        def number(folder, text):
            self.write("prairielearn", folder, text)
            info = (self.folder / folder / "question" / "info.json").read_text()
            return json.loads(info)["uuid"]

        one = number("one", '[[exercise]]\nid = "01.2"\n')
        page = (self.folder / "one" / "question" / "question.html").read_text()
        self.assertIn(' file-names="add_numbers.cu"', page)
        self.assertEqual(number("more", '[[exercise]]\nid = "01.2"\npoints = 7\n'), one)
        self.assertNotEqual(number("other", '[[exercise]]\nid = "01.3"\n'), one)

    def test_autolab_finds_a_lab(self):
        (lab,) = (self.folder / "autolab" / "lab").iterdir()
        self.assertRegex(lab.name, "^[A-Za-z][A-Za-z0-9_-]*$")  # as Autolab asks for
        self.assertLessEqual(
            {"autograde-Makefile", "autograde.tar", f"{lab.name}.yml"},
            {path.name for path in lab.iterdir()},
        )
        text = (lab / f"{lab.name}.yml").read_text()
        # In quotes: YAML would take it for 5.1.
        self.assertIn('- name: "05.1"\n', text)
        self.assertIn('- name: "10.4"\n  description: histogram\n  max_score: 30.0\n', text)
        self.assertIn('display_name: "Week 5: \\"tiles\\""\n', text)
        self.assertIn("handin_filename: handin.tar\n", text)
        seconds = int(re.search(r"autograde_timeout: (\d+)\n", text)[1])
        self.assertTrue(10 <= seconds <= 900)

    def test_autolab_hides_what_kind_of_archive_it_is(self):
        (copying,) = re.findall("^cp .*", self.scripts("autolab")["driver.sh"], re.MULTILINE)
        for name, opening in (("zip", zipfile.ZipFile), ("tar", tarfile.open)):
            work = self.folder / f"handed in as {name}"
            (work / "class").mkdir(parents=True)
            with opening(work / "handin.tar", "w"):
                pass
            given = {"here": str(work), "submission": str(work / "handin.tar")}
            subprocess.run(["bash", "-c", copying], check=True, env={**os.environ, **given})
            self.assertTrue((work / "class" / f"handin.{name}").is_file())

    def test_classroom50_can_fetch_its_bundle(self):
        folder = self.folder / "classroom50"
        packed = self.folder / "bundle.tar.gz"
        subprocess.run(["tar", "czf", str(packed), "-C", str(folder), "."], check=True)
        self.assertLess(packed.stat().st_size, 10 << 20)  # runner.py takes no more
        compile((folder / "autograder.py").read_text(), "autograder.py", "exec")
        self.assertIn("publishes", self.said["classroom50"])

    def test_what_makes_no_package_is_said(self):
        with self.assertRaisesRegex(LabError, "is not empty"):
            self.write("autolab", "gradescope")
        for image in ("A b", "", "-x", "you/Cuda labs"):
            with self.assertRaisesRegex(LabError, f"'{image}' is no name of an image"):
                self.write("prairielearn", "none", image=image)
        with self.assertRaisesRegex(LabError, "up to 64 characters"):
            self.write("autolab", "none", image="x" * 65)
        (self.folder / "when.csv").write_text("ann,2026-11-21T08:00:00+01:00\n")
        late = 'submitted = "when.csv"\n[[exercise]]\nid = "01.2"\n'
        with self.assertRaisesRegex(LabError, "not for Classroom 50, which knows by itself"):
            self.write("classroom50", "none2", late)

    def test_commands_ask_for_what_is_missing(self):
        for system in packages.SYSTEMS:
            for words, said in (
                ([], "DIR is missing"),
                (["there"], "which rubric"),
                (["there", "--rubric", "none.toml"], "cannot be read"),
                (["there", "--ruric", "x"], "not understood"),
            ):
                with self.subTest(system, words=words), redirect_stderr(io.StringIO()) as errors:
                    self.assertEqual(cli.main(["export", system, *words], ROOT), USAGE)
                    self.assertRegex(errors.getvalue(), said)
        words = [word for word, _ in completing.candidates(ROOT, ["export", ""])]
        self.assertLessEqual(set(packages.SYSTEMS), set(words))


if __name__ == "__main__":
    unittest.main()
