# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab grade without a compiler: contracts, what is collected, points, reports, records."""

import gzip
import io
import os
import sys
import tarfile
import tempfile
import unittest
import zipfile
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib.exercises import find_exercises, resolve_one  # noqa: E402
from lablib.grading import collect, contracts, grade, points, reports  # noqa: E402


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, data="// code\n"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path


class ContractsTest(Folder):
    def read(self, text):
        return contracts.read(self.write("x.hpp", f"namespace lab::x {{\n{text}\n}}\n"))

    def test_every_exercise_of_the_course_has_a_contract_that_crosses(self):
        for exercise in find_exercises(ROOT):
            read = contracts.read(exercise.folder / f"{exercise.name}.hpp")
            self.assertTrue(read.functions)

    def test_parameters_lose_names_and_defaults_and_nothing_else(self):
        read = self.read(
            "result f(std::span<const float> a, unsigned long n = 3, const plan& how = {});\n"
            "[[nodiscard]] std::optional<int> g() noexcept;\n"
            "inline int twice(int x = 1) { return 2 * x; }\n"
            "float h(unsigned, lab::shape);\n"
        )
        self.assertEqual(
            [(one.result, one.name, one.parameters) for one in read.functions],
            [
                ("result", "f", ("std::span<const float>", "unsigned long", "const plan&")),
                ("std::optional<int>", "g", ()),
                ("float", "h", ("unsigned", "lab::shape")),
            ],
        )

    def test_overloads_have_names_of_their_own(self):
        read = self.read("int f(std::span<const float> a);\nint f(std::span<const int> a);")
        self.assertEqual(len({one.key for one in read.functions}), 2)

    def test_exceptions_cross_by_their_text_or_by_what_they_hold(self):
        read = self.read(
            "class a : public std::runtime_error { using std::runtime_error::runtime_error; };\n"
            "class b : public std::runtime_error {\n public:\n"
            "  explicit b(const failure& f) : std::runtime_error(f.text), why(f) {}\n"
            "  failure why;\n};\n"
            "int f();"
        )
        self.assertEqual(read.exceptions, (contracts.Thrown("a"), contracts.Thrown("b", "why")))

    def test_what_cannot_cross_is_said(self):
        for text in (
            "class a : public std::runtime_error { a(int); };\nint f();",
            "struct nothing {};",
        ):
            with self.assertRaises(contracts.NotUnderstood):
                self.read(text)


class CollectTest(Folder):
    exercise = resolve_one(ROOT, "05.1")

    def source(self, submission=None):
        if submission is None:
            (submission,) = collect.submissions(self.folder)
        return submission.sources([self.exercise])["05.1"]

    def test_names_of_course_systems(self):
        for name, student in (
            ("Ann Lee_123_assignsubmission_file_", "Ann Lee_123"),
            ("Ann Lee_123_assignsubmission_file_work.zip", "Ann Lee_123"),
            ("leeann_4711_88812_dot_product.cu", "leeann_4711"),
            ("leeann_LATE_4711_88812_dot_product-2.cu", "leeann_4711"),
            ("submission_99.zip", "submission_99"),
            ("week5-annlee", "week5-annlee"),
            ("annlee.tar.gz", "annlee"),
        ):
            self.assertEqual(collect.student_of(name), student, name)

    def test_files_are_found_wherever_they_lie(self):
        for name in (
            "ann/dot_product.cu",
            "ann/labs/05_shared_memory/1_dot_product/dot_product.cu",
            "leeann_4711_88812_dot_product-2.cu",
        ):
            with self.subTest(name):
                path = self.write(name)
                self.assertEqual(self.source().text, "// code\n")
                path.unlink()
                for folder in sorted(path.parents, key=lambda p: -len(p.parts)):
                    if self.folder in folder.parents:
                        folder.rmdir()

    def archive(self, kind, members):
        path = self.folder / f"ann.{kind}"
        if kind == "zip":
            with zipfile.ZipFile(path, "w") as archive:
                for name, data in members:
                    archive.writestr(name, data)
            return path
        with tarfile.open(path, "w:gz" if kind.endswith("gz") else "w") as archive:
            for name, data in members:
                info = tarfile.TarInfo(name)
                if isinstance(data, tarfile.TarInfo):
                    archive.addfile(data)
                    continue
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return path

    def test_archives_are_read_and_paths_upwards_lead_nowhere(self):
        for kind in ("zip", "tar", "tar.gz", "tgz"):
            with self.subTest(kind):
                path = self.archive(kind, [("../../x/dot_product.cu", b"// inside\n")])
                self.assertEqual(self.source().text, "// inside\n")
                self.assertEqual(sorted(p.name for p in self.folder.iterdir()), [path.name])
                path.unlink()

    def test_links_in_archives_are_not_followed(self):
        link = tarfile.TarInfo("dot_product.cu")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        self.archive("tar", [("", link)])
        source = self.source()
        self.assertFalse(source.found)
        self.assertIn("a link", source.notes[0])

    def test_an_archive_that_is_none_costs_a_sentence(self):
        for name in ("ann.zip", "ann.tar.gz", "ann.tar"):
            path = self.write(name, b"\x1f\x8bnothing of the kind")
            (submission,) = collect.submissions(self.folder)
            self.assertFalse(self.source(submission).found)
            self.assertIn("cannot be unpacked", submission.notes[0])
            path.unlink()

    def test_a_bomb_is_not_unpacked(self):
        info = tarfile.TarInfo("zeros")
        info.size = collect.ARCHIVE_BYTES * 2
        path = self.folder / "ann.tar.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.write(info.tobuf())
            part = bytes(1 << 22)
            for _ in range(collect.ARCHIVE_BYTES // len(part) + 2):
                file.write(part)
        (submission,) = collect.submissions(self.folder)
        self.assertFalse(self.source(submission).found)
        self.assertIn("unpacks to more than", submission.notes[0])

    def test_what_is_no_file_is_said_and_not_waited_for(self):
        folder = self.folder / "ann"
        folder.mkdir()
        os.mkfifo(folder / "dot_product.cu")
        self.assertIn("no ordinary file", self.source().notes[0])
        (folder / "dot_product.cu").unlink()
        (folder / "dot_product.cu").symlink_to("/dev/zero")
        self.assertIn("a link", self.source().notes[0])

    def test_a_file_of_a_gigabyte_is_not_read(self):
        with open(self.write("ann/dot_product.cu"), "wb") as file:
            file.truncate(1 << 30)
        self.assertIn("has 1073741824 bytes", self.source().notes[0])

    def test_encodings_and_ends_of_lines(self):
        for data, note in (
            ("// ü\r\nint x;\r\n".encode("utf-8-sig"), 0),
            ("// ü\nint x;\n".encode("utf-16"), 1),
            ("// ü\rint x;\r".encode("cp1252"), 1),
        ):
            self.write("ann/dot_product.cu", data)
            source = self.source()
            self.assertEqual(source.text, "// ü\nint x;\n")
            self.assertEqual(len(source.notes), note)

    def test_two_different_files_are_the_one_in_its_folder_or_none(self):
        self.write("ann/a/dot_product.cu", "// a\n")
        self.write("ann/b/dot_product.cu", "// b\n")
        self.assertFalse(self.source().found)
        self.assertIn("several different files", self.source().notes[0])
        self.write("ann/1_dot_product/dot_product.cu", "// c\n")
        self.assertEqual(self.source().text, "// c\n")

    def test_none_is_said(self):
        self.write("ann/product.cu")
        self.assertEqual(self.source().notes, ["no dot_product.cu was handed in."])


class PointsTest(unittest.TestCase):
    steps = ("one", "one_more")

    def of(self, cases, hazard=False):
        return points.points(points.parts(cases, self.steps), hazard)

    def test_a_test_with_many_parameters_counts_once(self):
        cases = {f"Steps/T.Many/one_{i}": True for i in range(100)}
        cases["Steps/T.Single/one"] = False
        self.assertEqual(self.of(cases), 50)
        cases["Steps/T.Many/one_7"] = False
        self.assertEqual(self.of(cases), 0)

    def test_steps_weigh_the_same(self):
        cases = {"S/T.A/one": True, "S/T.B/one": True, "S/T.C/one": True, "S/T.A/one_more": False}
        self.assertEqual(self.of(cases), 50)

    def test_the_longest_step_that_fits_is_meant(self):
        self.assertEqual(points.step_of("S/T.A/one_more_17x1", self.steps), "one_more")
        self.assertEqual(points.step_of("S/T.A/one_17x1", self.steps), "one")
        self.assertEqual(points.step_of("T.A", self.steps), points.GENERAL)
        self.assertEqual(points.step_of("S/T.A/none", self.steps), points.GENERAL)

    def test_a_hazard_takes_half(self):
        self.assertEqual(self.of({"T.A": True}, hazard=True), 50)
        self.assertEqual(self.of({}), 0)

    def test_steps_are_read_from_the_contract(self):
        header = resolve_one(ROOT, "05.1").folder / "dot_product.hpp"
        self.assertEqual(points.steps_of(header), ["static_shared", "dynamic_shared"])


def record(**changes):
    made = {
        "exercise": "05.1",
        "name": "dot_product",
        "state": "graded",
        "points": 50.0,
        "of": 100,
        "parts": [{"name": "one", "share": 0.5, "passed": ["T.A"], "failed": ["T.B"]}],
        "cases": {"T.A": "passed", "T.B": "failed"},
        "hazards": [],
        "failures": [{"case": "T.B", "text": "<script>alert(1)</script> & \x1b[1m"}],
        "problem": "",
        "notes": [],
    }
    return {**made, **changes}


class ReportsTest(Folder):
    exercises = [resolve_one(ROOT, "05.1")]
    names = ["Ann", 'a "b" <i>', "../../up", "=SUM(A1)", "محمد", "x" * 300, "line\nbreak", "\udcff"]

    def table(self):
        return {name: {"05.1": record()} for name in self.names}

    def test_any_name_makes_pages_that_are_well_formed(self):
        reports.write_all(self.folder, self.table(), self.exercises, "bubblewrap")
        pages = list((self.folder / "students").iterdir())
        self.assertEqual(len(pages), len(self.names))
        for page in [*pages, self.folder / "index.html"]:
            text = page.read_text(encoding="utf-8")
            self.assertNotIn("<script", text)
            self.assertNotIn("<i>", text)
        self.assertEqual(len(list(self.folder.rglob("*.html"))), len(self.names) + 1)

    def test_junit_is_xml_and_counts(self):
        root = ElementTree.fromstring(reports.as_junit(self.table()))
        self.assertEqual(len(root), len(self.names))
        self.assertEqual({suite.get("failures") for suite in root}, {"1"})

    def test_a_table_has_no_formulas(self):
        lines = reports.as_csv(self.table(), self.exercises).splitlines()
        self.assertEqual(lines[0], "student,05.1,total,remarks")
        self.assertTrue(any(line.startswith("'=SUM(A1),50,50") for line in lines))

    def test_no_class_is_a_class(self):
        self.assertIn("0 submissions", reports.class_page({}, self.exercises, "bubblewrap"))

    def test_without_a_sandbox_every_page_says_so(self):
        for text in (
            reports.page("Ann", {"05.1": record()}, "no sandbox: nothing was isolated"),
            reports.class_page(self.table(), self.exercises, "no sandbox: nothing was isolated"),
        ):
            self.assertIn("nothing was isolated", text)


class RecordsTest(Folder):
    def test_a_record_is_there_as_a_whole(self):
        path = self.folder / "a" / "05.1.json"
        grade.write(path, record())
        self.assertEqual(grade.read_record(path), record())
        self.assertEqual([one.name for one in path.parent.iterdir()], ["05.1.json"])

    def test_names_that_look_alike_have_records_of_their_own(self):
        exercise = resolve_one(ROOT, "05.1")
        names = ["Ann", "ann", "../Ann", "Ann ", "\udcff"]
        self.assertEqual(len({grade.record_path(self.folder, n, exercise) for n in names}), 5)
        for name in names:
            self.assertIn(self.folder, grade.record_path(self.folder, name, exercise).parents)

    def test_points_are_exact_until_they_are_shown(self):
        self.assertEqual(grade._number(Fraction(100, 3)), 33.3333)


if __name__ == "__main__":
    unittest.main()
