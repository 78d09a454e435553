# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab grade without a compiler: contracts, what is collected, points, reports, records."""

import csv
import gzip
import io
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import zipfile
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib import packages, test_program  # noqa: E402
from lablib.errors import USAGE, LabError  # noqa: E402
from lablib.exercises import find_exercises, resolve_one  # noqa: E402
from lablib.grading import (  # noqa: E402
    collect,
    compiling,
    contracts,
    ctest,
    formats,
    grade,
    points,
    reports,
    rubric,
    sandbox,
    slurm,
)


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
            "Ann Lee_123_assignsubmission_file_dot_product.cu",
        ):
            with self.subTest(name):
                path = self.write(name)
                self.assertEqual(self.source().text, "// code\n")
                self.assertEqual(self.source().notes, [])
                path.unlink()
                for folder in sorted(path.parents, key=lambda p: -len(p.parts)):
                    if self.folder in folder.parents:
                        folder.rmdir()

    def test_a_name_that_is_nearly_right_is_taken_with_a_note(self):
        for name in (
            "ann/dot_product (1).cu",
            "ann/Dot_Product.cu",
            "ann/dot-product.cu.txt",
            "Ann Lee_123_assignsubmission_file_dot_product - Copy.cu",
            "leeann_4711_88812_dot_product-2.cu.txt",
        ):
            with self.subTest(name):
                path = self.write(name)
                source = self.source()
                self.assertEqual(source.text, "// code\n")
                self.assertIn("was taken for dot_product.cu.", source.notes[0])
                path.unlink()
                if path.parent != self.folder:
                    path.parent.rmdir()

    def test_a_name_that_is_right_comes_before_one_that_is_nearly_right(self):
        self.write("ann/dot_product.cu", "// right\n")
        self.write("ann/dot_product (1).cu", "// copy\n")
        self.assertEqual(self.source().text, "// right\n")
        self.assertEqual(
            self.source().notes,
            ["'dot_product (1).cu' is another file, and was not graded."],
        )
        self.write("ann/dot_product (1).cu", "// right\n")
        self.assertEqual(self.source().notes, [])

    def test_where_nothing_fits_what_is_there_is_named(self):
        self.write("ann/product.cu")
        self.write("ann/dot_products.cu")
        source = self.source()
        self.assertFalse(source.found)
        self.assertEqual(
            source.notes,
            ["no dot_product.cu was handed in, but 'dot_products.cu', 'product.cu'."],
        )

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

    def test_a_damaged_archive_costs_its_student_a_sentence_at_most(self):
        chance = random.Random(18)
        text = "".join(f"// {chance.random()}\n" for _ in range(200)).encode()
        path = self.folder / "ann"
        seen = set()
        for name in ("stored.zip", "deflated.zip", "bzip2.zip", "lzma.zip", "x.tar", "x.tar.gz"):
            packed = io.BytesIO()
            if name.endswith("zip"):
                kind = getattr(zipfile, f"ZIP_{name[:-4].upper()}")
                with zipfile.ZipFile(packed, "w", kind) as archive:
                    archive.writestr("dot_product.cu", text)
            else:
                with tarfile.open(fileobj=packed, mode="w:gz" if name[-2:] == "gz" else "w") as tar:
                    member = tarfile.TarInfo("dot_product.cu")
                    member.size = len(text)
                    tar.addfile(member, io.BytesIO(text))
            path = self.folder / name
            for _ in range(200):
                data = bytearray(packed.getvalue())
                for _ in range(chance.randint(1, 3)):
                    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
                path.write_bytes(data[: chance.choice([len(data), chance.randrange(len(data))])])
                submission = collect.Submission("ann", [path])
                source = self.source(submission)
                self.assertTrue(source.found or source.notes)
                seen |= {note.partition(":")[0] for note in submission.notes}
            self.assertIn(f"{name} cannot be unpacked", seen)

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

    def test_of_a_clone_what_the_student_wrote_is_taken(self):
        place = "05_shared_memory/1_dot_product/dot_product.cu"
        self.write(f"ann/labs/{place}", "// hers\n")
        self.write(f"ann/solutions/{place}", "// the course's\n")
        self.write(f"ann/starters/{place}", "// the course's, too\n")
        self.write(f"ann/.lab/{place}")
        self.assertEqual(self.source().text, "// hers\n")
        self.assertEqual(self.source().notes, [])
        (self.folder / "ann" / "labs" / place).unlink()
        self.assertEqual(
            self.source().notes,
            [
                f"no dot_product.cu was handed in, but 'solutions/{place}', 'starters/{place}'.",
            ],
        )

    def test_none_is_said(self):
        self.write("ann/product.txt")
        self.assertEqual(self.source().notes, ["no dot_product.cu was handed in."])


class OwnTextTest(Folder):
    def own(self, text):
        readable = [Path("/course/common/include"), Path("/course/labs/x.hpp")]
        return compiling.own_text(self.write("x.ii", text), readable, Path("/course/build"))

    def test_everything_is_a_students_but_the_course_and_the_system(self):
        files = {
            "/tmp/lab_grade_work/x.cu": True,
            "/source": True,
            "/usr/../source": True,
            "/proc/self/cwd/../../x.cu": True,
            "/course/common/include/../../../source": True,
            "/course/common/include/lab/random.hpp": False,
            "/course/labs/x.hpp": False,
            "/course/labs/x.hpp.cu": True,
            "/usr/include/stdio.h": False,
            "<built-in>": False,
        }
        own = self.own("".join(f'# 1 "{file}" 1\n{file}\n' for file in files))
        self.assertEqual(own.splitlines(), [file for file, is_own in files.items() if is_own])

    def test_only_a_line_says_where_the_next_ones_come_from(self):
        for length in range(65530, 65540):  # lines are read in parts
            line = "x" * length + '# 1 "/usr/include/stdio.h"\nasm\n'
            self.assertEqual(self.own(f'# 1 "/source"\n{line}'), line)

    def test_more_than_any_solution_has_is_not_read(self):
        mine = ("x" * 1023 + "\n") * (compiling.OWN_BYTES // 1024)
        self.assertEqual(self.own(f'# 1 "/source"\n{mine}'), mine)
        self.assertIsNone(self.own(f'# 1 "/source"\n{mine}\n'))
        self.assertEqual(self.own(f'# 1 "/usr/include/stdio.h"\n{mine}\n'), "")


class PointsTest(unittest.TestCase):
    steps = ("one", "one_more")

    def of(self, cases, hazard=False, refused=(), rules=None):
        parts = points.parts(cases, self.steps, refused)
        return points.points(parts, hazard, rules or points.Rules())

    def test_a_test_with_many_parameters_counts_once(self):
        cases = {f"Steps/T.Many/one_{i}": True for i in range(100)}
        cases["Steps/T.Single/one"] = False
        self.assertEqual(self.of(cases), 50)
        cases["Steps/T.Many/one_7"] = False
        self.assertEqual(self.of(cases), 0)

    def test_steps_weigh_the_same(self):
        cases = {"S/T.A/one": True, "S/T.B/one": True, "S/T.C/one": True, "S/T.A/one_more": False}
        self.assertEqual(self.of(cases), 50)

    def test_a_rubric_weighs_them_otherwise(self):
        cases = {"S/T.A/one": True, "S/T.A/one_more": False, "T.B": True}
        rules = points.Rules(Fraction(20), {"one": Fraction(3), points.GENERAL: Fraction(0)})
        self.assertEqual(self.of(cases, rules=rules), 15)
        self.assertEqual(self.of({"T.B": True}, rules=rules), 0)  # nothing else is left

    def test_the_longest_step_that_fits_is_meant(self):
        self.assertEqual(points.step_of("S/T.A/one_more_17x1", self.steps), "one_more")
        self.assertEqual(points.step_of("S/T.A/one_17x1", self.steps), "one")
        self.assertEqual(points.step_of("T.A", self.steps), points.GENERAL)
        self.assertEqual(points.step_of("S/T.A/none", self.steps), points.GENERAL)
        self.assertEqual(points.step_of("OneMore.A", self.steps), "one_more")

    def test_a_hazard_takes_half(self):
        self.assertEqual(self.of({"T.A": True}, hazard=True), 50)
        self.assertEqual(self.of({}), 0)

    def test_right_values_without_the_work_get_a_share_and_wrong_ones_no_more_than_before(self):
        cases = {"S/T.A/one": True, "S/T.A/one_more": True, "Requires.X": False}
        self.assertEqual(self.of(cases), 100)  # the case itself has no points
        self.assertEqual(self.of(cases, refused={"one"}), 70)
        self.assertEqual(self.of(cases, refused={"one", "one_more", points.GENERAL}), 40)
        cases["S/T.A/one"] = False
        self.assertEqual(self.of(cases, refused={"one"}), 50)

    def test_a_message_names_the_step_whose_work_was_missing(self):
        asked = "Value of: as_required(work_of([&] { f(step::one_more); }))\n  Actual: false (no"
        everything = {*self.steps, points.GENERAL}
        for message, refused in (
            (f"{asked} kernel)\nExpected: true\none", {"one"}),
            (f"{asked} kernel)\nExpected: true\none_more: how many blocks\n", {"one_more"}),
            (f"{asked}\none\n)\nExpected: true", everything),
            ('C++ exception with description "\none: "', everything),
            ("", everything),
        ):
            self.assertEqual(points.without_work([message], self.steps), refused, message)
        self.assertEqual(points.without_work([], self.steps), set())

    def test_steps_are_read_from_the_contract(self):
        header = resolve_one(ROOT, "05.1").folder / "dot_product.hpp"
        self.assertEqual(
            points.steps_of(header),
            ["static_shared", "dynamic_shared", "warp_shuffle", "vectorized"],
        )


class RubricTest(Folder):
    whole = """
        title = "Week 5"
        due = 2026-11-20T23:59:00+01:00
        submitted = "times.csv"
        [late]
        per_day = 0.1
        at_most = 0.5
        grace_minutes = 15
        closes = 2026-12-01T00:00:00Z
        [limits]
        call_seconds = 5
        [defaults]
        hazard = 0.25
        [[exercise]]
        id = "05.1"
        points = 20
        without_work = 0.3
        hidden = "more"
        weights = { static_shared = 2, general = 0.5 }
        [[exercise]]
        id = "vector_add"
        due = 2026-11-27T23:59:00+01:00
        """

    def read(self, text):
        self.write("times.csv", "student,submitted\nAnn,2026-11-22T00:10:00+01:00\n")
        self.write("more/empty_test.cpp", "")
        return rubric.read(ROOT, self.write("week5.toml", text))

    def test_every_field_is_read(self):
        read = self.read(self.whole)
        self.assertEqual((read.title, read.limits), ("Week 5", rubric.Limits(5, 60, 600)))
        first, second = read.tasks
        self.assertEqual((first.exercise.id, second.exercise.id), ("05.1", "03.1"))
        weights = {"static_shared": Fraction(2), points.GENERAL: Fraction(1, 2)}
        self.assertEqual(
            first.rules, points.Rules(Fraction(20), weights, Fraction(1, 4), Fraction(3, 10))
        )
        self.assertEqual(second.rules, points.Rules(hazard=Fraction(1, 4)))
        self.assertEqual([path.name for path in first.hidden], ["empty_test.cpp"])
        self.assertEqual((first.due.day, second.due.day), (20, 27))

    def test_an_older_python_reads_rubrics_with_a_package(self):
        import tomllib

        with mock.patch.dict(sys.modules, {"tomllib": None, "tomli": tomllib}):
            self.assertEqual(len(self.read(self.whole).tasks), 2)
        with mock.patch.dict(sys.modules, {"tomllib": None, "tomli": None}):
            with self.assertRaisesRegex(LabError, "python3-tomli"):
                self.read(self.whole)

    def test_what_comes_late_loses_for_each_day_that_has_begun(self):
        first, second = self.read(self.whole).tasks
        due, day = first.due, timedelta(days=1)
        late = self.read(self.whole).late
        for after, left in (
            (timedelta(0), 1),
            (timedelta(minutes=15), 1),
            (timedelta(minutes=16), Fraction(9, 10)),
            (day, Fraction(9, 10)),
            (day + timedelta(seconds=1), Fraction(8, 10)),
            (9 * day, Fraction(1, 2)),
            (11 * day, 0),
        ):
            self.assertEqual(late.left(due, due + after), left, after)
        read = self.read(self.whole)
        left, sentence = read.left(first, "Ann")
        self.assertEqual(left, Fraction(8, 10))
        self.assertIn("late, by 1 day, 0:11:00, which takes 20 %", sentence)
        self.assertEqual(read.left(second, "Ann"), (1, ""))
        self.assertIn("nobody knows", read.left(first, "Kim")[1])

    def test_a_mistake_is_one_sentence_that_says_where(self):
        one = '[[exercise]]\nid = "05.1"\n'
        for text, said in (
            ("", "[[exercise]] is missing"),
            ("exercise = 3", "[[exercise]] is missing"),
            ("= 3", "is no TOML"),
            (f"duo = 3\n{one}", "duo is not known; known are title, device"),
            (f'{one}id2 = "05.2"', "id2 in exercise 05.1 is not known"),
            (one + one, "exercise 05.1 stands there twice"),
            ("[[exercise]]\npoints = 3", "exercise number 1 has no id"),
            ('[[exercise]]\nid = "99.9"', "exercise number 1 is none"),
            (f"{one}points = -1", "points of exercise 05.1 must be from 0 to 1e+06"),
            (f"{one}points = nan", "points of exercise 05.1 must be from 0"),
            (f"{one}points = true", "points of exercise 05.1 must be a number"),
            (f"{one}hazard = 1.5", "hazard of exercise 05.1 must be from 0 to 1"),
            (f"{one}weights = {{ three = 1 }}", "three in weights of exercise 05.1 is not known"),
            (f"{one}weights = 3", "weights of exercise 05.1 must be a table"),
            (
                f"{one}weights = {{ static_shared = 0, dynamic_shared = 0, warp_shuffle = 0,"
                " vectorized = 0 }",
                "leave no step with a weight",
            ),
            (f"due = 2026-11-20T23:59:00\n{one}", "due does not say which time zone"),
            (f'due = "tomorrow"\n{one}', "due must be a time"),
            (f"{one}[late]\nper_day = 0.1", "late needs submitted"),
            (f'submitted = "none.csv"\n{one}', "which cannot be read"),
            (f'submitted = "week5.toml"\n{one}', "week5.toml, line 1: must be a student and"),
            (f'{one}hidden = "nowhere"', "in which there is no *_test.cpp"),
            (f"{one}[limits]\ncall_seconds = 0", "limits.call_seconds must be from 0.1"),
            (f"{one}[limits]\ncall_seconds = 70", "must not allow a call more than its case"),
        ):
            with self.subTest(text), self.assertRaises(LabError) as raised:
                self.read(text)
            self.assertIn(said, str(raised.exception))
            self.assertEqual(len(str(raised.exception).splitlines()), 1)
            self.assertEqual(raised.exception.exit_code, USAGE)


def record(**changes):
    made = {
        "exercise": "05.1",
        "name": "dot_product",
        "state": "graded",
        "points": 50.0,
        "of": 100,
        "parts": [
            {
                "name": "one",
                "share": 0.5,
                "weight": 1.0,
                "has_work": False,
                "passed": ["T.A"],
                "failed": ["T.B"],
            }
        ],
        "passed": {"T.A": True, "T.B": False},
        "without_work": ["one"],
        "hidden": [],
        "late": "",
        "remarks": [],
        "speed": {},
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

    def test_junit_has_what_only_the_watched_run_saw_and_what_nobody_could_run(self):
        one = record(
            cases={"T.A": "passed", "T.B": "passed", "T.C": "skipped", "T.D": "passed"},
            passed={"T.A": True, "T.B": False},
            failures=[{"case": "T.B", "text": "with accesses watched: one thread"}],
        )
        (suite,) = ElementTree.fromstring(reports.as_junit({"Ann": {"05.1": one}}))
        self.assertEqual((suite.get("failures"), suite.get("skipped")), ("1", "1"))
        said = {case.get("name"): [each.tag for each in case] for case in suite}
        self.assertEqual(said, {"A": [], "B": ["failure"], "C": ["skipped"], "D": []})

    def test_a_table_has_no_formulas(self):
        lines = reports.as_csv(self.table(), self.exercises, names=True).splitlines()
        self.assertEqual(lines[0], "student,05.1,total,remarks")
        self.assertTrue(any(line.startswith("'=SUM(A1),50,50") for line in lines))

    def test_a_table_has_names_on_request_only(self):
        text = reports.as_csv(self.table(), self.exercises)
        self.assertNotIn("Ann", text)
        self.assertIn(f"\ns{grade.number_of('Ann')},50,50,", text)

    def test_a_table_says_where_to_look(self):
        one = record(hazards=["T.A"], speed={"problem": "its program's times are impossible"})
        text = reports.as_csv({"Ann": {"05.1": one}}, self.exercises)
        self.assertTrue(text.endswith(",05.1: hazard; 05.1: speed\n"), text)

    def test_no_class_is_a_class(self):
        self.assertIn("0 submissions", reports.class_page({}, self.exercises, "bubblewrap"))

    def test_the_page_shows_how_the_points_are_distributed(self):
        def shown(points):
            table = {f"s{i}": {"05.1": record(points=each)} for i, each in enumerate(points)}
            text = reports.class_page(table, self.exercises, "bubblewrap")
            self.assertNotIn("<script", text)
            row = r"<tr><td>([^<]+)</td><td class=points>(\d+)</td><td><div .* (\d+)%"
            return {span: (int(count), int(bar)) for span, count, bar in re.findall(row, text)}

        self.assertEqual(shown([]), {})
        one = {span: each for span, each in shown([70.0]).items() if each != (0, 0)}
        self.assertEqual(one, {"70 to less than 80": (1, 100)})
        few = shown([0.0, 9.9, 10.0, 30 * 0.1 * 10, 89.9, 90.0, 100.0, 100.0])
        self.assertEqual(len(few), 10)
        self.assertEqual([few["0 to less than 10"], few["10 to less than 20"]], [(2, 67), (1, 33)])
        self.assertEqual([few["30 to less than 40"], few["90 to 100"]], [(1, 33), (3, 100)])
        many = shown([i / 5 for i in range(500)])
        self.assertEqual(sum(count for count, _ in many.values()), 500)

    def test_one_is_no_plural(self):
        one = {"Ann": {"05.1": record()}}
        self.assertIn("<p>1 submission.</p>", reports.class_page(one, self.exercises, "bubblewrap"))

    def test_without_a_sandbox_every_page_says_so(self):
        for text in (
            reports.page("Ann", {"05.1": record()}, "no sandbox: nothing was isolated"),
            reports.class_page(self.table(), self.exercises, "no sandbox: nothing was isolated"),
        ):
            self.assertIn("nothing was isolated", text)


class FormatsTest(Folder):
    """Each as the code that reads it demands, or where that is not public, its documentation."""

    table = {
        "Ann Lee_4711": {
            "05.1": record(),
            "03.1": record(exercise="03.1", name="vector_add", points=33.3333, of=40.0),
        },
        "=SUM(A1)": {
            "05.1": record(points=0.0, state="does not compile", problem="it does not\x00 \ud800"),
            "03.1": record(
                name="vector_add",
                points=0.0,
                of=40.0,
                state="does not compile",
                problem="no",
                notes=["empty"],
            ),
        },
    }

    def each(self, name):
        for records in self.table.values():
            yield json.loads(formats.OF_A_STUDENT[name](records))

    def test_canvas_finds_the_students_and_the_assignment(self):
        # What Canvas's importer looks for: the columns up to Section, then assignments; a row whose
        # first cell has "Points Possible"; a student by ID, or by name.
        head, possible, *rows = csv.reader(io.StringIO(formats.canvas(self.table, "Week 5")))
        self.assertEqual(head[:2] + head[4:], ["Student", "ID", "Section", "Week 5"])
        self.assertIn("Points Possible", possible[0])
        self.assertEqual(possible[5], "140")
        self.assertEqual(rows[0], ["Ann Lee", "4711", "", "", "", "83.3333"])
        self.assertEqual(rows[1][:2], ["'=SUM(A1)", ""])
        self.assertEqual({len(row) for row in (head, possible, *rows)}, {6})

    def test_canvas_takes_the_title_for_an_assignment(self):
        # Its importer leaves out columns of the gradebook's own names, wherever they stand in a
        # title, finds a column by its first name, and rewrites what looks like a number.
        for title in ("Final Score", "My Override Grade 1", "Section", "05.1,10.4", "1.2.3"):
            with self.assertRaisesRegex(LabError, "Canvas takes .* for something else"):
                formats.names("moodle,canvas", title)
            self.assertEqual(formats.names("moodle", title), ["moodle"])
        for title in ("", "Week 5", "Week 5, tiles (1234)", "05.1", "Final project", "Student 1"):
            self.assertEqual(formats.names("canvas", title), ["canvas"])

    def test_numbers_of_students_have_digits_that_every_reader_knows(self):
        # Ruby's to_i and databases know only these, and none with more than a bigint has.
        table = {name: {"05.1": record()} for name in ("Ann_\u0664\u0667", "Ann_" + 19 * "9")}
        rows = list(csv.reader(io.StringIO(formats.canvas(table, "Week 5"))))[2:]
        self.assertEqual([row[:2] for row in rows], [[name, ""] for name in table])

    def test_moodle_finds_the_participants_and_the_grades(self):
        # What Moodle's offline grading looks for: these three columns; the number that follows
        # "Participant ".
        rows = list(csv.DictReader(io.StringIO(formats.moodle(self.table, ""))))
        for column in ("Identifier", "Grade", "Last modified (grade)"):
            self.assertIn(column, rows[0])
        self.assertEqual(rows[0]["Identifier"], "Participant 4711")
        self.assertEqual((rows[0]["Grade"], rows[0]["Maximum Grade"]), ("83.3333", "140"))
        self.assertIn("limited", rows[0]["Feedback comments"])
        # It looks each number up in its database, of which some refuse an empty one.
        self.assertEqual(rows[1]["Identifier"], "Participant 0")

    def test_no_grade_is_more_than_there_is(self):
        # Moodle passes over such a row without a word.
        table = {"Ann_1": {"05.1": record(points=0.75, of=0.75)}}
        (row,) = csv.DictReader(io.StringIO(formats.moodle(table, "")))
        self.assertEqual((row["Grade"], row["Maximum Grade"]), ("0.75", "0.75"))
        rows = list(csv.reader(io.StringIO(formats.canvas(table, "Week 5"))))
        self.assertEqual([row[5] for row in rows], ["Week 5", "0.75", "0.75"])

    def test_moodle_reads_fields_to_their_ends(self):
        # PHP's fgetcsv, as Moodle calls it, has a backslash keep a quote from ending a field.
        said = 'printf("%d\\n", "\\"") \\'
        table = {
            name: {"05.1": record(failures=[{"case": "T.B", "text": said}])}
            for name in ('Ann "\\" Lee_1', "Lee, Ann\\_2", "Lee_3")
        }
        text = formats.moodle(table, "")
        rows = list(csv.reader(io.StringIO(text), escapechar="\\"))
        self.assertEqual(rows, list(csv.reader(io.StringIO(text))))
        self.assertEqual([len(row) for row in rows], 4 * [6])
        shown = ElementTree.fromstring(rows[3][5]).text
        self.assertTrue(shown.endswith(f"T.B: {said}"), shown)

    def test_moodle_shows_feedback_as_it_is(self):
        # It takes feedback for HTML.
        said = "expected <vector>\n  ^~~ & more"
        table = {"Ann_1": {"05.1": record(failures=[{"case": "T.B", "text": said}])}}
        (row,) = csv.DictReader(io.StringIO(formats.moodle(table, "")))
        shown = ElementTree.fromstring(row["Feedback comments"])
        self.assertEqual(shown.tag, "pre")
        self.assertTrue(shown.text.endswith(f"T.B: {said}"), shown.text)

    def test_gradescope_gets_a_score_and_tests(self):
        for result in self.each("gradescope"):
            # All fields that the specification has, and their types.
            self.assertLessEqual(
                set(result),
                {"score", "execution_time", "output", "output_format", "test_output_format"}
                | {"test_name_format", "visibility", "stdout_visibility", "extra_data", "tests"}
                | {"leaderboard"},
            )
            self.assertIn(result["visibility"], GRADESCOPE_VISIBLE)
            self.assertIn(result["stdout_visibility"], GRADESCOPE_VISIBLE)
            self.assertAlmostEqual(result["score"], sum(t["score"] for t in result["tests"]))
            for test in result["tests"]:
                self.assertLessEqual(
                    set(test),
                    {"score", "max_score", "status", "name", "name_format", "number", "output"}
                    | {"output_format", "tags", "visibility", "extra_data"},
                )
                self.assertIn(test["status"], ("passed", "failed"))
                self.assertIn(
                    test["output_format"], ("text", "html", "simple_format", "md", "ansi")
                )
                self.assertTrue(0 <= test["score"] <= test["max_score"])
                self.assertIsInstance(test["output"], str)

    def test_prairielearn_gets_a_share_and_is_told_what_cannot_be_graded(self):
        first, second = self.each("prairielearn")
        self.assertEqual((first["gradable"], second["gradable"]), (True, False))
        self.assertAlmostEqual(first["score"], 83.3333 / 140, 5)
        self.assertEqual(len(second["format_errors"]), 2)
        for test in first["tests"]:
            self.assertEqual(set(test), {"name", "points", "max_points", "output"})

    def test_prairielearn_gets_no_more_than_it_takes(self):
        # Of larger results it says only that they are too large, and that is no attempt.
        told = [{"case": "T.B", "text": 2000 * "\U0001f600"}] * 5
        for state in ("graded", "does not compile"):
            one = record(failures=told, state=state, problem=3000 * "\u00e9")
            records = {f"{number:02}.1": one for number in range(20)}
            text = formats.prairielearn(records)
            self.assertLess(len(text.encode()), 1024 * 1024)
            self.assertIn("not shown here", json.loads(text)["tests"][19]["output"])
        few = formats.prairielearn({"05.1": record(failures=told)})
        self.assertNotIn("not shown here", few)

    def test_autolab_finds_the_scores_in_the_last_line(self):
        text = formats.autolab(self.table["Ann Lee_4711"])
        last = text.rstrip("\n").rpartition("\n")[2]
        self.assertEqual(json.loads(last), {"scores": {"05.1": 50.0, "03.1": 33.3333}})

    def test_autolab_gets_an_image_that_its_jobs_find(self):
        # Tango asks `docker images`, and keeps what follows the last slash, without the tag.
        for image in ("you/cuda_labs", "cuda_labs:2", "host:5000/cuda_labs"):
            order = packages.Order(ROOT, Path(), mock.Mock(), self.folder, image=image)
            with self.assertRaisesRegex(LabError, f"finds no image that is called {image}"):
                packages.autolab(order)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_classroom50_gets_what_its_schema_asks_for(self):
        given = {
            "CLASSROOM": "cuda",
            "ASSIGNMENT": "week5",
            "SUBMISSION_TAG": "submit/2026-11-20T10-00-00Z-a1b2c3d",
            "COMMIT_URL": "https://host/commit/1",
            "RELEASE_URL": "https://host/release/1",
            "OWNER": "ann",
        }
        for records in self.table.values():
            self.assertEqual(
                classroom50_mistakes(json.loads(formats.classroom50(records, given))), []
            )
        del given["OWNER"], given["CLASSROOM"]
        with self.assertRaisesRegex(LabError, "needs CLASSROOM, OWNER in the environment"):
            formats.classroom50(self.table["=SUM(A1)"], given)

    def test_classroom50_gets_a_text_that_github_takes(self):
        # It makes a release of it, whose text has at most 125,000 characters.
        for file in ("prepare.sh", "grade.sh"):
            self.write(file, "")
        program = self.write("autograder.py", packages._AUTOGRADER)
        test = {"test-name": "05.1 dot_product", "score": 1, "max-score": 2, "output": "a\nb"}
        for output, whole in (("a\nb", True), (200_000 * "x", False)):
            self.write("result.json", json.dumps({"tests": [{**test, "output": output}]}))
            subprocess.run([sys.executable, str(program)], cwd=self.folder, check=True)
            body = (self.folder / "release-body.md").read_text(encoding="utf-8")
            self.assertIn("05.1 dot_product: 1 of 2 points", body)
            self.assertLess(len(body), 120_000)
            self.assertEqual("result.json" in body, not whole)

    def test_an_unknown_format_is_said(self):
        self.assertEqual(formats.names("canvas,autolab"), ["canvas", "autolab"])
        with self.assertRaisesRegex(LabError, "no format 'cannvas'; there are canvas, moodle"):
            formats.names("cannvas")

    def test_each_student_has_a_file(self):
        formats.write(self.folder, ["canvas", "gradescope", "autolab"], self.table, "Week 5")
        files = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*.*"))
        self.assertEqual([file.partition("/")[0] for file in files], [
            *("autolab", "autolab", "canvas.csv", "gradescope", "gradescope"),
        ])  # fmt: skip


GRADESCOPE_VISIBLE = ("hidden", "after_due_date", "after_published", "visible")


def classroom50_mistakes(result):
    """By schemas/result-v1.schema.json of Classroom 50, and validate_result of its runner.py."""
    texts = ["classroom", "assignment", "owner", "commit", "release", "review"]
    fields = {"schema", "assignment_type", "submission", "datetime", "score", "max-score", "tests"}
    mistakes = sorted((fields | set(texts)) ^ (set(result) - {"graded_at", "submitted_by"}))
    mistakes += [name for name in texts if not isinstance(result[name], str) or not result[name]]
    when = r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"
    mistakes += [n for n in ("datetime", "graded_at") if not re.fullmatch(when, result[n])]
    if result["schema"] != "classroom50/result/v1" or result["submission"][:7] != "submit/":
        mistakes.append("schema or submission")
    if result["assignment_type"] not in ("individual", "group"):
        mistakes.append("assignment_type")
    for scored in (result, *result["tests"]):
        score, most = scored["score"], scored["max-score"]
        if type(score) is not int or type(most) is not int or not 0 <= score <= most:
            mistakes.append(f"{score} of {most}")
    for test in result["tests"]:
        if not isinstance(test["test-name"], str) or type(test["passed"]) is not bool:
            mistakes.append("a test")
    return mistakes


class RecordsTest(Folder):
    def test_a_record_is_there_as_a_whole(self):
        path = self.folder / "a" / "05.1.json"
        grade.write(path, record())
        self.assertEqual(grade.read_record(path), record())
        self.assertEqual([one.name for one in path.parent.iterdir()], ["05.1.json"])

    def test_only_what_passed_is_run_with_accesses_watched(self):
        found = test_program.Result(
            {
                name: test_program.Case(name, state)
                for name, state in (
                    ("A.Right", test_program.PASSED),
                    ("A.Loops", test_program.FAILED),
                    ("A.NotHere", test_program.SKIPPED),
                    ("A.LeftOut", test_program.SKIPPED),
                )
            },
            ended=True,
        )
        one = mock.Mock(skipped={"A.NotHere"}, free=set(), hidden=set(), steps=[], gpu=None)
        with mock.patch.multiple(
            compiling,
            examine=mock.Mock(return_value=compiling.Examined()),
            make=mock.Mock(return_value=compiling.Made(self.folder / "worker")),
        ), mock.patch.object(grade, "run", return_value=found) as run:
            grade.judge(one, mock.Mock(found=True), sandbox.NONE, lambda: False)
        first, second = (list(call.args[5:]) for call in run.call_args_list)
        self.assertEqual([first, second], [[], [["A.Right", "A.NotHere"]]])

    def test_another_program_makes_other_records(self):
        def fingerprint():
            task = rubric.Task(resolve_one(ROOT, "05.1"))
            return grade._prepare(
                ROOT, grade._CPU, task, rubric.Limits(), sandbox.NONE, self.folder / "work", 1, ""
            ).fingerprint

        with mock.patch.multiple(
            compiling,
            grader=mock.Mock(return_value=self.write("grader")),
            recipe=mock.Mock(return_value=mock.Mock(fingerprint="r")),
        ), mock.patch.object(grade, "_try", side_effect=lambda *_: {"skipped": [], "free": []}):
            before = fingerprint()
            self.assertEqual(fingerprint(), before)
            for file in ("refused.py", "grading/compiling.py"):
                place = ROOT / "scripts" / "lablib" / file
                read = Path.read_bytes
                with mock.patch.object(
                    Path, "read_bytes", lambda p: read(p) + b"#" * (p == place)
                ):
                    grade._program.cache_clear()
                    self.assertNotEqual(fingerprint(), before, file)
            grade._program.cache_clear()
            self.assertEqual(fingerprint(), before)

    def test_what_a_killed_process_was_writing_is_taken_away(self):
        grade.write(self.folder / "records" / "a" / "05.1.json", record())
        (self.folder / "records" / "a" / ".new.x3").write_text("{")
        grade.sweep(self.folder)
        left = [path.name for path in self.folder.rglob("*") if path.is_file()]
        self.assertEqual(left, ["05.1.json"])

    def test_without_room_for_temporary_files_nothing_is_recorded(self):
        with mock.patch.object(grade, "ROOM_BYTES", 1 << 62):
            with self.assertRaisesRegex(LabError, "MiB are left in .*: nothing was recorded"):
                grade._record(
                    mock.Mock(exercise=resolve_one(ROOT, "05.1"), fingerprint="1"),
                    collect.Submission("Ann", []),
                    collect.Source("int x;", True),
                    sandbox.NONE,
                    self.folder,
                    threading.Event(),
                )
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_names_that_look_alike_have_records_of_their_own(self):
        exercise = resolve_one(ROOT, "05.1")
        names = ["Ann", "ann", "../Ann", "Ann ", "\udcff"]
        self.assertEqual(len({grade.record_path(self.folder, n, exercise) for n in names}), 5)
        for name in names:
            self.assertIn(self.folder, grade.record_path(self.folder, name, exercise).parents)

    def test_points_are_exact_until_they_are_shown(self):
        self.assertEqual(grade._number(Fraction(100, 3)), 33.3333)


class LimitsTest(unittest.TestCase):
    def test_nobody_is_allowed_more_processes_than_the_grader(self):
        # Autolab's jobs have 100, and prlimit could not give more to what they start.
        for most, expected in ((-1, "--nproc=256"), (1000, "--nproc=256"), (100, "--nproc=100")):
            with mock.patch("resource.getrlimit", return_value=(50, most)):
                self.assertIn(expected, sandbox.COMPILE.command())


class CTestTest(Folder):
    def test_words_reach_the_command_as_they_are(self):
        words = ["a b", 'a"$HOME"\\;', "]]", "]=]", "x]", "]==", "ü"]
        said = " ".join(map(ctest._quoted, words))
        (self.folder / "x.cmake").write_text(f'foreach(w {said})\nmessage("${{w}}")\nendforeach()')
        done = subprocess.run(
            ["cmake", "-P", str(self.folder / "x.cmake")], capture_output=True, text=True
        )
        self.assertEqual(done.stderr.splitlines(), words)


class SlurmTest(unittest.TestCase):
    """What needs no cluster; slurm_test.py has one."""

    def test_states_in_words(self):
        states = {"RUNNING None": 2, "PENDING Resources": 7}
        self.assertEqual(slurm._in_words(states), "7 pending (Resources), 2 running")

    def test_every_student_has_one_task(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            names = [f"s{i}" for i in range(8)]
            grade.write_text(out / "slurm" / "students.json", json.dumps([5, names]))
            found = []
            for task in range(5):
                with mock.patch.dict(os.environ, SLURM_ARRAY_TASK_ID=str(task)):
                    found += slurm.mine(out)
        self.assertEqual(sorted(found), names)

    def test_without_slurm_it_is_said(self):
        with mock.patch.dict(os.environ, PATH=""):
            with self.assertRaisesRegex(LabError, "Slurm is not here: squeue cannot be started"):
                slurm._queue("any")
        with self.assertRaisesRegex(LabError, "no task of a job"):
            slurm.mine(Path("/"))


if __name__ == "__main__":
    unittest.main()
