# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What the tests of the tools share: a small repository and a fake cmake, in a temporary folder."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Dict, List, Optional

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts"))

SOLUTION = """\
// What this file is about.
int add(int a, int b) {
  // TODO(1): return the sum.
  // BEGIN SOLUTION
  return a + b;
  // STUB: (void)a;
  // STUB: return b;
  // END SOLUTION
}
"""
STARTER = """\
// What this file is about.
int add(int a, int b) {
  // TODO(1): return the sum.
  (void)a;
  return b;
}
"""

# Knows `cmake --preset P`, which makes the files that a configured folder has, and `cmake --build`,
# which "compiles": a file with the words SYNTAX ERROR is refused as by a compiler, otherwise the
# script programs/<target> becomes the program.
CMAKE = """#!{python}
import os, pathlib, shutil, sys, time
root = pathlib.Path.cwd()
arguments = sys.argv[1:]
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write("cmake " + " ".join(arguments) + "\\n")
if "--version" in arguments:
    print("cmake version 3.25.1")
elif arguments[0] == "--preset":
    if os.environ.get("FAKE_CONFIGURE_FAILS"):
        print("-- hello")
        print("CMake Error at CMakeLists.txt:7 (find_package):\\n  Could not find PNG\\n")
        print("-- Configuring incomplete")
        sys.exit(1)
    build = root / "build" / arguments[1]
    build.mkdir(parents=True, exist_ok=True)
    (build / "CMakeCache.txt").write_text(
        f"CMAKE_HOME_DIRECTORY:INTERNAL={{root}}\\nCMAKE_CACHEFILE_DIR:INTERNAL={{build}}\\n")
    (build / "build.ninja").write_text("")
    uses = [path.name for path in root.glob("labs/*/*/*.cu") if "cublas" in path.read_text()]
    (build / "linked_with_cublas").write_text(" ".join(uses))
    if os.environ.get("FAKE_LEFT_OUT"):
        print("-- Exercise " + os.environ["FAKE_LEFT_OUT"])
    print("-- Build files have been written")
elif arguments[0] == "--build":
    build = pathlib.Path(arguments[1])
    targets = arguments[arguments.index("--target") + 1:] if "--target" in arguments else []
    if os.environ.get("FAKE_NEVER_BUILT") in targets:
        time.sleep(600)
    for number, target in enumerate(targets, 1):
        print(f"[{{number}}/{{len(targets)}}] Linking {{target}}", flush=True)
        program = root / "programs" / build.name / target
        if not program.exists():
            program = root / "programs" / target
        if not program.exists():
            print(f"ninja: error: unknown target '{{target}}'")
            sys.exit(1)
        kind, id = target.split(".", 1)
        lab = next(iter(root.glob(f"labs/{{id[:2]}}_*/{{id[3:].split('.')[0]}}_*")))
        name = lab.name.split("_", 1)[1]
        source = lab / f"{{name}}.cu"
        if kind.startswith("lab") and "SYNTAX ERROR" in source.read_text():
            print(f"FAILED: CMakeFiles/{{target}}.dir/{{name}}.cu.cpp.o")
            print(f"/usr/bin/c++ -I{{root}}/labs -c {{source}}")
            header = f"{{root}}/common/include/lab/given.hpp"
            print(f"{{header}}:3:1: error: this follows from the other one")
            print(f"{{source}}: In function 'int add(int, int)':")
            print(f"{{source}}:4:7: error: expected ';' before 'SYNTAX'")
            print("    4 |   int SYNTAX ERROR")
            print("      |       ^~~~~~")
            print("ninja: build stopped: subcommand failed.")
            sys.exit(1)
        if kind.startswith("lab") and "WARN" in source.read_text():
            header = f"{{root}}/common/include/lab/given.hpp"
            print(f"{{header}}:3:1: warning: of something else")
            print(f"{{source}}: In function 'int add(int, int)':")
            print(f"{{source}}:5:9: warning: comparison '>= 0' is always true")
        linked = (build / "linked_with_cublas").read_text().split()
        if kind.startswith("lab") and "cublas" in source.read_text() and source.name not in linked:
            print(f"FAILED: bin/{{target}}\\n/usr/bin/ld: x.o: in function `f()':")
            print(f"{{source}}:9: undefined reference to `cublasCreate_v2'")
            sys.exit(1)
        tests = "tests/" if kind.endswith("_test") or kind == "cases" else ""
        folder = tests + kind.replace("_test", "") + ("" if kind == "cases" else "s")
        full_name = lab.parent.name[:2] + "." + lab.name + ("_test" if "test" in kind else "")
        to = build / "bin" / folder / full_name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(program, to)
else:
    sys.exit(f"fake cmake: {{arguments}}")
"""


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


# A test program in Python: it writes the events of tests/support/test_events.hpp. Its body is an
# expression of `name`: true where the case passes, else what one of the functions returns.
GTEST = """#!{python}
import json, os, signal, sys, time
CASES = {names!r}
given = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
ASKED = CASES
if "--lab_cases" in given:
    ASKED = [name.removeprefix("Suite.") for name in open(given["--lab_cases"]).read().split()]
file = open(given["--lab_events"], "ab", buffering=0)
def event(what, **more):
    file.write(json.dumps({{"event": what, **more}}).encode() + b"\\n")
def prints(text):
    event("output", case=case, text=text)
    return True
def fails(text, **more):
    event("failure", case=case, message=text, **more)
    return False
def crashes(number):
    return "crashed", {{"signal": number}}
def leaves(status):
    return "crashed", {{"detail": f"the program left with exit status {{status}} in the middle of"
                        " this case"}}
def hangs():
    limit = given.get("--lab_case_limit", "300")
    return "timed out", {{"detail": f"took longer than {{limit}} s, and was stopped"}}
def skips(why):
    return "skipped", {{"detail": why}}
others = ["Suite." + name for name in CASES if name not in ASKED]
event("program", cases=["Suite." + name for name in ASKED], others=others)
if "--lab_list" in sys.argv:
    sys.exit()
results = []
for name in [name for name in CASES if name in ASKED]:
    case = "Suite." + name
    event("begin", case=case)
    answer = {body}
    result, more = answer if type(answer) is tuple else ("passed" if answer else "failed", {{}})
    event("end", case=case, result=result, seconds=0.25, **more)
    results.append(result)
    if result == "timed out" or result == "failed" and "--gtest_fail_fast" in sys.argv:
        break
status = 77 if set(results) == {{"skipped"}} else int(bool(set(results) - {{"passed", "skipped"}}))
event("ends", status=status)
sys.exit(status)
"""


def gtest_program(path: Path, names: List[str], body: str = "True") -> Path:
    """A test program; `body` is an expression of `name` that is true where the case passes."""
    return script(path, GTEST.format(python=sys.executable, names=names, body=body))


class Tree(unittest.TestCase):
    """Each test gets a repository of its own, with a space in its path."""

    def setUp(self) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        top = Path(self.temporary.name).resolve()
        self.root = top / "my course"
        self.bin = top / "bin"
        self.log = top / "calls"
        self.log.write_text("")
        shutil.copytree(
            REPOSITORY / "scripts",
            self.root / "scripts",
            ignore=shutil.ignore_patterns("*.pyc.*"),  # one that is being written
        )
        script(self.bin / "cmake", CMAKE.format(python=sys.executable))
        self.env: Dict[str, str] = {
            "PATH": f"{self.bin}:{os.path.dirname(sys.executable)}:/usr/bin:/bin",
            "HOME": str(top),
            "FAKE_LOG": str(self.log),
            "LAB_SETUP": "skip",
            "LAB_DEVICE": "cpu",
        }
        self.add_exercise("03_vectors", "1_vector_add")
        self.add_exercise("05_shared_memory", "1_dot_product")
        self.add_exercise("05_shared_memory", "2_divergent_barrier")
        self.add_exercise("15_locks", "10_dot_with_lock")

    def add_exercise(self, chapter: str, folder: str) -> Path:
        name = folder.split("_", 1)[1]
        lab = self.root / "labs" / chapter / folder
        solution = self.root / "solutions" / chapter / folder
        for path in (lab, solution):
            path.mkdir(parents=True)
        (lab / "main.cpp").write_text("int main() {}\n")
        (lab / f"{name}.hpp").write_text("// the contract\n")
        (lab / f"{name}.cu").write_text(STARTER)
        (solution / f"{name}.cu").write_text(SOLUTION)
        return lab

    def program(self, target: str, body: str) -> Path:
        """What the fake cmake builds: a shell script. That of tests has the case A."""
        if target.split(".")[0].endswith("_test"):
            self.cases(target.split(".", 1)[1], ["A"])
        return script(self.root / "programs" / target, "#!/bin/sh\n" + body)

    def gtest(
        self, target: str, names: List[str], body: str = "True", watched: str = "True"
    ) -> Path:
        """A test program; `watched` is the body of what its check build does."""
        kind, id = target.split(".", 1)
        self.cases(id, names)
        if not kind.startswith("watched_"):
            gtest_program(self.root / "programs" / f"watched_{target}", names, watched)
        return gtest_program(self.root / "programs" / target, names, body)

    def cases(self, id: str, names: List[str]) -> None:
        """Which tests of an exercise there are."""
        gtest_program(self.root / "programs" / f"cases.{id}", names)

    def lab(
        self, *arguments: str, cwd: Optional[Path] = None, **env: str
    ) -> "subprocess.CompletedProcess":
        return subprocess.run(
            [str(self.root / "scripts" / "lab"), *arguments],
            cwd=cwd or self.root,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def calls(self) -> List[str]:
        return self.log.read_text().splitlines()


class LabTest(Tree):
    """A tree whose tests call scripts/lab."""

    def assert_status(self, expected, done):
        self.assertEqual(expected, done.returncode, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def lab_file(self, exercise="05_shared_memory/1_dot_product/dot_product.cu") -> Path:
        return self.root / "labs" / exercise
