# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Submissions that want points without the work, or harm: each must get the record that its head
says, and the submission after it is graded as if it had not been there.

    attacks_test.py BUILD_FOLDER [--sandbox=SANDBOX] [NAME…]
    attacks_test.py --table      the table of docs/instructors.md, made of the heads of the files

Each file of attacks/ is one. `base` says what it is added to: `solution`, `starter`, or `alone`, of
01.2 or another `exercise`. `change` says what becomes of a line of it.
"""

import concurrent.futures
import contextlib
import dataclasses
import os
import re
import resource
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from lablib import build, device, refused, starters  # noqa: E402
from lablib.errors import NOT_POSSIBLE, LabError  # noqa: E402
from lablib.exercises import resolve_one  # noqa: E402
from lablib.grading import collect, grade, rubric, sandbox  # noqa: E402
from lablib.grading.points import Rules  # noqa: E402

CALL_SECONDS = 4.0  # of a call: those that never end should not take the afternoon
MOST_MEBIBYTES = 300  # of whatever reads what a submission says, be it a text or an answer


def head(text):
    return dict(
        re.findall(
            r"^// (attack|stopped by|exercise|base|change|state|points|says|says in podman):"
            r" (.*)$",
            text,
            re.MULTILINE,
        )
    )


def files():
    return sorted((HERE / "attacks").glob("*.cu"))


def table():
    """What the documentation says of all of them."""
    rows = ["| File | What it does | What stops it | Result |", "| --- " * 4 + "|"]
    for file in files():
        one = head(file.read_text())
        record = " or ".join(one["state"].split("|"))
        if record == "graded":
            record = f"{one['points'].replace('..', ' to ')} points"
        if "says" in one:
            record += f", “{one['says']}”"
        rows.append(f"| `{file.stem}` | {one['attack']} | {one['stopped by']} | {record} |")
    return "\n".join(rows)


class GraderMemory(threading.Thread):
    """The most memory that a grader of 01.2 takes, in MiB. (Others have their own large data.)"""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.ended = 0, threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()

    def run(self):
        while not self.ended.wait(0.02):
            self.look_at("self")

    def look_at(self, process):
        """At its children, and theirs: a grader has another one watch it."""
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                for child in children.read_text().split():
                    if "/graders/01.2_" in os.readlink(f"/proc/{child}/exe"):
                        status = Path(f"/proc/{child}/status").read_text()
                        peak = re.search(r"VmHWM:\s+(\d+) kB", status)
                        self.most = max(self.most, int(peak[1]) >> 10 if peak else 0)
                        self.look_at(child)


class AttacksTest(unittest.TestCase):
    only = []
    sandbox = ""

    @classmethod
    def setUpClass(cls):
        cls.place = sandbox.find(cls.sandbox)
        cls.folder = tempfile.TemporaryDirectory(prefix="lab_attacks_")
        cls.addClassCleanup(cls.folder.cleanup)
        (Path(cls.folder.name) / "secret").write_text("another student's work")
        os.environ["LAB_DEVICE"] = "cpu"
        work = Path(cls.folder.name)
        ids = {"01.2", *(head(file.read_text()).get("exercise", "01.2") for file in cls.chosen())}
        plan = dataclasses.replace(
            rubric.of_exercises([resolve_one(ROOT, id) for id in sorted(ids)]),
            limits=rubric.Limits(call=CALL_SECONDS),
        )
        jobs = os.cpu_count() or 1
        prepared = grade.prepare(ROOT, device.choose("cpu"), plan, cls.place, work, jobs)
        cls.prepared = {one.exercise.id: one for one in prepared}
        cls.solution = resolve_one(ROOT, "01.2").solution_file.read_text()
        cls.starter = starters.generate_file(resolve_one(ROOT, "01.2").solution_file)

    @classmethod
    def chosen(cls):
        return [file for file in files() if not cls.only or file.stem in cls.only]

    def judge(self, text, id="01.2"):
        source = collect.Source(text, True)
        one = self.prepared[id]
        verdict = grade.judge(one, source, self.place, lambda: False)
        return grade.scored(verdict, one.steps, Rules())

    def test_each_attack_gets_the_record_that_its_head_says(self):
        self.assertGreater(len(files()), 30)
        chosen = self.chosen()
        self.assertTrue(chosen)
        with GraderMemory() as graders:
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                for file, record in zip(chosen, pool.map(self.attack, chosen)):
                    with self.subTest(file.stem):
                        self.check(record, head(file.read_text()))
        self.assertEqual(self.left_behind(), [])
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        self.assertLess(own, MOST_MEBIBYTES, "MiB were used to look at hostile files")
        self.assertLess(graders.most, MOST_MEBIBYTES, "MiB were used to look at hostile answers")
        print(f"memory in MiB: {own} to look at files, {graders.most} in a grader")

    def attack(self, file):
        text = file.read_text()
        told = head(text)
        solution = resolve_one(ROOT, told.get("exercise", "01.2")).solution_file
        base = {"solution": solution.read_text, "alone": str}.get(
            told["base"], lambda: starters.generate_file(solution)
        )()
        before, _, after = told.get("change", "").partition(" => ")
        self.assertTrue(not before or base.count(before) == 1, before)
        if before:
            base = base.replace(before, after)
        text = text.replace("@ROOT@", str(ROOT)).replace("@FOLDER@", self.folder.name)
        return self.judge(base + text, told.get("exercise", "01.2"))

    def check(self, record, expected):
        problem, failures = record["problem"], record["failures"]
        said = "\n".join([problem, *(one["text"] for one in failures)])
        self.assertIn(record["state"], expected["state"].split("|"), said)
        low, _, high = expected["points"].partition("..")
        self.assertGreaterEqual(record["points"], float(low), said)
        self.assertLessEqual(record["points"], float(high or low), said)
        says = expected.get(f"says in {self.place.name}", expected.get("says", ""))
        self.assertIn(says, said)
        self.assertLess(len(said), 20_000)
        self.assertNotIn("root:", said)  # of /etc/passwd

    def left_behind(self):
        """Processes that still run a worker: in a sandbox its file is called /worker."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes().split(b"\0")
                parent = re.search(r"PPid:\t(\d+)", (folder / "status").read_text())
            except OSError:
                continue
            is_ours = parent is not None and int(parent[1]) in (1, os.getpid())
            if command[0] == b"/worker" and is_ours:
                found.append(folder.name)
        return found

    def test_what_comes_after_an_attack_is_graded_as_ever(self):
        before = self.judge(self.solution)
        self.assertEqual(before["points"], 100)
        for name in ("fills_tmp", "crash"):
            self.judge(self.solution + (HERE / "attacks" / f"{name}.cu").read_text())
        self.assertEqual(self.judge(self.solution), before)

    def test_two_at_a_time_are_graded_as_one_after_the_other(self):
        alone = [self.judge(text) for text in (self.solution, self.starter)]
        together = [None, None]

        def work(i, text):
            together[i] = self.judge(text)

        threads = [
            threading.Thread(target=work, args=(i, text))
            for i, text in enumerate((self.solution, self.starter))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(together, alone)

    def test_the_starter_gets_nothing(self):
        self.assertEqual(self.judge(self.starter)["points"], 0)


class TableTest(unittest.TestCase):
    def test_the_documentation_has_the_table_that_the_files_make(self):
        page = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
        command = "python3 tests/tools/attacks_test.py --table"
        self.assertIn(table(), page, f"`{command}` prints the table that should be there")


class RefusedWordsTest(unittest.TestCase):
    def test_no_solution_and_no_starter_is_refused(self):
        files = [*ROOT.glob("solutions/*/*/*.cu"), *ROOT.glob("labs/*/*/*.cu")]
        self.assertGreater(len(files), 100)
        for file in files:
            self.assertEqual(refused.by_text(file.read_text()), "", file)

    def test_words_in_comments_are_free(self):
        self.assertEqual(refused.by_text("// asm, no_sanitize\n/* CPU_DEVICE_ORDER */ int x;"), "")
        self.assertEqual(refused.by_text("#ifdef __CPU_DEVICE__\nint plasma;\n#endif"), "")
        for text in ('void f() { asm("nop"); }', '"//"; asm', "1'0; asm; 1'0", 'R"(/*)"; asm'):
            self.assertIn("asm", refused.by_text(f"{text}\n"), text)

    def test_what_the_rewriter_writes_is_refused_in_comments_too(self):
        for text in ("::cpu_device::f()", "CPU_DEVICE_GAP(a, [4]) ", "CPU_DEVICE_\\\nGAP(a, ) "):
            self.assertIn("cpu_device", refused.by_text(f"// {text}\nint x;"), text)
            self.assertIn("cpu_device", refused.by_text(f'R"(/*)" {text}\nint x;'), text)

    def test_the_names_of_linker_and_loader_are_words_too(self):
        for name in ("_ZN10cpu_device6threadEv", "__tsan_read4", "CPU_DEVICE_ORDER"):
            for text in (f'extern "C" void {name}();', f'dlsym(h, "{name}")'):
                self.assertIn("the file is refused", refused.by_word(text), text)

    def test_reading_takes_no_longer_than_the_text_is_long(self):
        for part in ("/* */ ", "/*\n", "/*", '\\"', '"', "' ", 'R"x(', "#/*\n", "*/ #", " ", "# "):
            begin = time.process_time()
            refused.by_text(part * ((1 << 19) // len(part)) + "\n// asm\n")
            self.assertLess(time.process_time() - begin, 5, part)

    def test_lines_that_name_a_file_are_refused_however_they_are_written(self):
        for text in (
            '#line 1 "x"',
            '# 1 "x"',
            '%: line 1 "x"',
            "/* */ # /*\n*/ line 1",
            "#li\\\nne 1",
            "??=line 1",
            "#define N 7\n# 1 N",
            'R"(\\\n# 1 "x"\n)"',
        ):
            self.assertIn("#line", refused.by_text(f"int x;\n{text}\nint y;\n"), text)
        for text in ("// # 1 is first", "#define LINES 2", "x = a /* #1 of 2 */ + b;", "#if 1"):
            self.assertEqual(refused.by_text(f"int x;\n{text}\nint y;\n"), "", text)


def main():
    if sys.argv[1:] == ["--table"]:
        print(table())
        return 0
    folder, *names = sys.argv[1:]
    if names and names[0].startswith("--sandbox="):
        AttacksTest.sandbox = names.pop(0).partition("=")[2]
    AttacksTest.only = names
    place = Path(folder).resolve()
    if place.name != "cpu":
        # The same build folder that CTest uses.
        build.folder = lambda root, preset: place
    try:
        sandbox.find(AttacksTest.sandbox)
    except LabError as error:
        print(f"SKIPPED: {error}")
        return NOT_POSSIBLE
    program = unittest.main(sys.modules[__name__], argv=[sys.argv[0], "-v"], exit=False)
    return 0 if program.result.testsRun and program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
