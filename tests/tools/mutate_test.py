# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""`scripts/lab dev mutate`: the list of equivalents, the commands, what a run says, and all of it
with a fake Ninja, compiler and tests."""

import contextlib
import io
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

from fakes import LabTest, script
from lablib import equivalents, mutate, mutations
from lablib.errors import LabError
from lablib.exercises import find_exercises
from lablib.test_program import Case, Result, Said

TEXT = "void f() {\n  a[i] = b[i];\n  if (i < n) c[i] = 0;\n}\n"


class EquivalentsTest(unittest.TestCase):
    def parse(self, text):
        return equivalents.parse_lines(text.splitlines(), "f.equivalent")

    def match(self, text):
        return equivalents.match_all(self.parse(text), mutations.find(TEXT), TEXT).of

    def idle(self, text):
        entries = self.parse(text)
        return [e.line for e in equivalents.match_all(entries, mutations.find(TEXT), TEXT).idle]

    def test_a_good_file(self):
        first, second = self.parse(
            "# a comment\ncomparison: if (a || b) c:  \n  because\n  it is so\n\n"
            "off_by_one.2: *\n  x\n"
        )
        self.assertEqual(
            ("comparison", None, None, "if (a || b) c:", 2, "because it is so"),
            (first.kind, first.ordinal, first.function, first.text, first.line, first.reason),
        )
        self.assertEqual(("off_by_one", 2, "*"), (second.kind, second.ordinal, second.text))

    def test_errors_name_file_and_line(self):
        for text, pattern in (
            ("  why\n", r"^f\.equivalent:1: a reason before"),
            ("nonsense\n", r"^f\.equivalent:1: 'nonsense' is not understood"),
            ("\nno_such_kind: x\n", r"^f\.equivalent:2: there is no kind 'no_such_kind'"),
            ("comparison: x\n", r"^f\.equivalent:1: no reason"),
            ("comparison: x\nno_guard: y\n  z\n", r"^f\.equivalent:1: no reason"),
        ):
            with self.assertRaisesRegex(LabError, pattern):
                self.parse(text)

    def test_an_entry_fits_its_kind_its_line_and_its_number(self):
        self.assertEqual(
            {"off_by_one@2.1", "off_by_one@2.2"},
            set(self.match("off_by_one: a[i] = b[i];\n  x\n")),
        )
        self.assertEqual({"off_by_one@2.2"}, set(self.match("off_by_one.2: a[i] = b[i];\n  x\n")))
        self.assertEqual({"comparison@3.1"}, set(self.match("comparison: *\n  x\n")))

    def test_an_entry_may_name_its_function(self):
        self.assertEqual({"comparison@3.1"}, set(self.match("comparison in f: *\n  x\n")))
        self.assertEqual([1], self.idle("comparison in g: *\n  x\n"))

    def test_the_narrower_entry_counts(self):
        found = self.match("off_by_one: *\n  all\noff_by_one: a[i] = b[i];\n  line\n")
        self.assertEqual("line", found["off_by_one@2.1"].reason)
        self.assertEqual("all", found["off_by_one@3.1"].reason)

    def test_an_entry_that_fits_nothing_is_idle(self):
        for text in (
            "no_guard: if (i < m) c[i] = 0;",
            "no_barrier: *",
            "off_by_one.3: a[i] = b[i];",
        ):
            self.assertEqual([1], self.idle(text + "\n  why\n"), text)

    def test_an_entry_is_idle_if_narrower_ones_have_all_that_it_fits(self):
        line = "off_by_one: a[i] = b[i];\n  x\n"
        self.assertEqual([], self.idle(f"off_by_one: *\n  x\n{line}"))
        line = "comparison: if (i < n) c[i] = 0;\n  x\n"
        self.assertEqual([3], self.idle(f"{line}comparison: *\n  x\n"))

    def test_a_default_gives_way_to_every_entry_and_may_fit_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tests" / "default.equivalent"
            path.parent.mkdir()
            path.write_text("off_by_one: *\n  default\nno_fence: *\n  default\n")
            defaults = equivalents.parse_defaults(Path(folder))
            own = self.parse("off_by_one: a[i] = b[i];\n  own\n")
            found = equivalents.match_all(defaults + own, mutations.find(TEXT), TEXT)
            self.assertEqual("own", found.of["off_by_one@2.1"].reason)
            self.assertEqual("default", found.of["off_by_one@3.1"].reason)
            self.assertEqual([], found.idle)
            path.write_text("off_by_one: a[i] = b[i];\n  for one line\n")
            with self.assertRaisesRegex(LabError, "default.equivalent:1: an entry for all exer"):
                equivalents.parse_defaults(Path(folder))


class JudgeTest(unittest.TestCase):
    def judge(self, status, state, *said, **more):
        case = Case("Suite.case", state, list(said))
        runs = [case] if case.is_bad else []
        result = Result({case.name: case}, status, failed_runs=runs, ended=True, **more)
        return mutate.judge(result, 20).way

    def test_what_a_run_says(self):
        report = Said("CPU device: a race")
        reported = Said("the CPU device reported a mistake in this test, the last one:", True)
        self.assertEqual(mutate.SURVIVES, self.judge(0, "passed"))
        self.assertEqual("test", self.judge(1, "failed"))
        self.assertEqual("crash", self.judge(1, "crashed"))
        self.assertEqual("crash", self.judge(1, "passed", detail="after the last test: SIGSEGV"))
        self.assertEqual("time-out", self.judge(1, "timed out"))
        self.assertEqual("time-out", self.judge(-15, "passed", timed_out=True))
        self.assertEqual("report", self.judge(1, "failed", report, reported))
        self.assertEqual("report", self.judge(1, "crashed", report))
        # A test that wants to see a report, and another one that fails.
        self.assertEqual("test", self.judge(1, "failed", report))


SOLUTION = """\
#include "x.hpp"
void f() {
  if (i < n) c[i] = 1;  // i < n
  { __syncthreads(); }
}
"""

# `ninja -t commands`, as CMake's generator writes it.
NINJA = """#!{python}
import sys
build, target = sys.argv[2], sys.argv[5]
id = target.split(".", 1)[1]
name = {{"03.1": "vector_add", "05.1": "dot_product"}}[id]
kind = target.split("_test.")[0]
object = f"CMakeFiles/{{kind}}_code.{{id}}.dir/x.o"
cu = f"{{build}}/cuda/{{kind}}_code.{{id}}/{{name}}.cu.cpp".replace(" ", "\\\\ ")
options = "-fsanitize=thread" if kind.startswith("watched_") else "-include h.pch"
print("c++ -c other.cpp -o other.o")
print(f"cd /b && rewriter /s/{{name}}.cu --output {{cu}} --depfile {{cu}}.d && cmake -E x")
print(f"compiler -O2 {{options}} -MD -MT {{object}} -MF {{object}}.d -o {{object}} -c {{cu}}")
print(f": && linker -O2 tests.o {{object}} -o bin/tests/{{kind}}s/{{id}}_{{name}}_test -lx && :")
"""
REWRITER = "#!/bin/sh\ncp \"$1\" \"$3\"\n"
COMPILER = """#!{python}
import sys
text = open(sys.argv[sys.argv.index("-c") + 1]).read()
if "c[i + 1]" in text:
    sys.exit("x.cu:3: error: that does not compile")
open(sys.argv[sys.argv.index("-o") + 1], "w").write(text + f"// options: {{sys.argv}}\\n")
"""
# The "program" is a script with the object's text in it; the tests see that the guard is there, the
# check build that the barrier is, and nobody sees < for <=.
LINKER = """#!{python}
import os, sys
object = sys.argv[sys.argv.index("tests.o") + 1]
program = sys.argv[sys.argv.index("-o") + 1]
text = open(object).read()
with open(program, "w") as file:
    file.write("#!{python}\\nimport json, sys\\ntext = " + repr(text) + '''
events = open(sys.argv[-1].split("=")[1], "a", buffering=1)
def event(what, **more):
    print(json.dumps(dict(event=what, **more)), file=events)
event("program", cases=["Suite.case"])
event("begin", case="Suite.case")
if "TAKES LONG" in text and "__sync" not in text:
    import time
    time.sleep(100)
wrong = "if (true)" in text or ("__sync" not in text and "-fsanitize=thread" in text)
event("end", case="Suite.case", result="failed" if wrong else "passed")
event("ends", status=int(wrong))
sys.exit(wrong)
''')
os.chmod(program, 0o755)
"""


class MutateTest(LabTest):
    def setUp(self):
        super().setUp()
        for name, text in (
            ("ninja", NINJA),
            ("rewriter", REWRITER),
            ("compiler", COMPILER),
            ("linker", LINKER),
        ):
            script(self.bin / name, text.format(python=sys.executable))
        self.solution = self.root / "solutions/05_shared_memory/1_dot_product/dot_product.cu"
        self.solution.write_text(SOLUTION)
        for target in ("solution_test", "watched_solution_test"):
            self.program(f"{target}.05.1", "exit 0\n")
            self.program(f"{target}.03.1", "exit 0\n")
        self.equivalents = self.root / "tests/05_shared_memory/dot_product.equivalent"
        self.equivalents.parent.mkdir(parents=True)

    def mutate(self, *arguments):
        return self.lab("dev", "mutate", *arguments)

    def test_caught_and_surviving(self):
        done = self.mutate("05.1", "--jobs", "3")
        self.assert_status(1, done)
        self.assertIn(
            "4 mutations, caught 1 by compiler, 1 by test, 1 by check build; 0 equivalent; 1"
            " survive: score 75.0 %",
            done.stdout,
        )
        self.assertIn(
            "  survives: comparison@3.1\n"
            "    solutions/05_shared_memory/1_dot_product/dot_product.cu:3\n"
            "    - if (i < n) c[i] = 1;  // i < n\n"
            "    + if (i <= n) c[i] = 1;  // i < n\n",
            done.stdout,
        )
        self.assertTrue(done.stdout.startswith("  survives: "), "what is to be done comes first")
        self.assertEqual([], list((self.root / "build/cpu/mutants/05.1").iterdir()))

    def test_a_listed_one_may_survive(self):
        self.equivalents.write_text("comparison: if (i < n) c[i] = 1;  // i < n\n  no test sees\n")
        done = self.mutate("05.1", "--only", "comparison")
        self.assert_status(0, done)
        self.assertIn("caught none; 1 equivalent; 0 survive: score 100.0 %", done.stdout)

    def test_a_listed_one_that_is_caught_is_an_error(self):
        self.equivalents.write_text(
            "comparison: *\n  x\nno_barrier: { __syncthreads(); }\n  wrong\n"
        )
        done = self.mutate("05.1", "--only", "no_barrier")
        self.assert_status(1, done)
        self.assertIn("caught after all: no_barrier@4.1, listed as equivalent at", done.stdout)
        self.assertIn("dot_product.equivalent:3", done.stdout)

    def test_an_entry_for_every_line_needs_one_that_survives(self):
        self.equivalents.write_text("comparison: *\n  x\nno_guard: *\n  wrong\n")
        done = self.mutate("05.1")
        self.assert_status(1, done)
        self.assertIn("caught after all: no_guard@3.1", done.stdout)

    def test_a_default_excuses_a_survivor_and_minds_no_catch(self):
        default = self.root / "tests/default.equivalent"
        default.write_text("comparison: *\n  x\nno_guard: *\n  x\n")
        done = self.mutate("05.1")
        self.assert_status(0, done)
        self.assertIn("1 equivalent; 0 survive", done.stdout)
        self.assertNotIn("caught after all", done.stdout)

    def test_a_listed_one_that_is_gone_is_an_error(self):
        self.equivalents.write_text("comparison: if (i < m)\n  x\n")
        done = self.mutate("05.1")
        self.assert_status(1, done)
        self.assertIn("dot_product.equivalent:1: no mutation is left for", done.stderr)

    def test_a_solution_that_fails_says_nothing_of_mutations(self):
        self.solution.write_text(SOLUTION.replace("i < n)", "true)"))
        done = self.mutate("05.1")
        self.assert_status(1, done)
        self.assertIn("05.1: the solution itself does not pass", done.stderr)

    def test_list_only_shows_them(self):
        done = self.mutate("05.1", "--list", "--only", "no_barrier")
        self.assert_status(0, done)
        self.assertIn("05.1 no_barrier@4.1", done.stdout)
        self.assertNotIn("comparison@", done.stdout)
        self.assertEqual([], self.calls())

    def test_only_some(self):
        done = self.mutate("05.1", "--only", "no_barrier", "--only", "no_guard@3.1")
        self.assert_status(0, done)
        self.assertIn("2 mutations, caught 1 by test, 1 by check build", done.stdout)

    def test_ctrl_c_ends_it_and_leaves_nothing_behind(self):
        self.solution.write_text(SOLUTION + "// TAKES LONG\n")
        process = subprocess.Popen(
            [str(self.root / "scripts/lab"), "dev", "mutate", "05.1", "--only", "no_barrier"],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        folder = self.root / "build/cpu/mutants/05.1"
        program = folder / "no_barrier@4.1/mutant_test"
        while not program.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=30)[0]
        self.assertEqual(130, process.returncode, output)
        self.assertEqual([], list(folder.iterdir()))

    def test_what_is_known_when_it_ends_is_shown(self):
        def try_some(root, report, chosen, jobs):
            survivor = next(m for m in chosen if m.kind == "comparison")
            report.verdicts[survivor] = mutate.Verdict(mutate.SURVIVES, "all tests pass")
            raise KeyboardInterrupt

        exercises = [e for e in find_exercises(self.root) if e.id == "05.1"]
        shown = io.StringIO()
        fakes = unittest.mock.patch.multiple(mutate, _try_all=try_some, build=unittest.mock.Mock())
        with fakes, contextlib.redirect_stdout(shown), self.assertRaises(KeyboardInterrupt):
            mutate.mutate(self.root, exercises, None, 1)
        self.assertIn("1 mutations, caught none; 0 equivalent; 1 survive", shown.getvalue())
        self.assertIn("  survives: comparison@3.1\n", shown.getvalue())

    def test_it_needs_exercises(self):
        self.assert_status(2, self.mutate())
        self.assert_status(2, self.mutate("05.1", "--all"))

    def test_commands_that_are_not_there_are_an_error(self):
        exercise = next(e for e in find_exercises(self.root) if e.id == "05.1")
        with self.assertRaisesRegex(LabError, "cannot read from Ninja"):
            mutate.read_commands(["c++ -c a.cpp -o a.o"], exercise, checked=False)

    def test_each_build_has_its_own_commands_and_no_dependency_files(self):
        for checked, kind in ((False, "solution"), (True, "watched_solution")):
            self.read_commands_of(kind, checked)

    def read_commands_of(self, kind, checked):
        exercise = next(e for e in find_exercises(self.root) if e.id == "05.1")
        cu = f"/b/cuda/{kind}_code.05.1/dot_product.cu.cpp"
        commands = mutate.read_commands(
            [
                f"cd /b && /r /s.cu --output {cu} --depfile {cu}.d -I/h && x",
                f"c++ -MD -MT a.o -MF a.o.d -o a.o -c {cu}",
                f": && c++ t.o a.o -o bin/tests/{kind}s/05.1_dot_product_test l.a && :",
            ],
            exercise,
            checked,
        )
        self.assertEqual(["/r", "{source}", "--output", "{rewritten}", "-I/h"], commands.rewrite)
        self.assertEqual(["c++", "-o", "{object}", "-c", "{rewritten}"], commands.compile)
        self.assertEqual(["c++", "t.o", "{object}", "-o", "{program}", "l.a"], commands.link)


if __name__ == "__main__":
    unittest.main()
