# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""`scripts/lab dev check`: whether what an author has changed keeps the course's rules."""

import functools
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Iterable, List, Optional, Sequence, Set, Tuple

from lablib import bugs, build, device, mutate, processes, rules, starters, verify
from lablib.console import say
from lablib.errors import NOT_POSSIBLE, OK, LabError
from lablib.exercises import Exercise, find_exercises, resolve_all
from lablib.grading import compiling, gradable, sandbox
from lablib.rules import Finding

PROGRAM_LIMIT = 120.0  # seconds for a program with its default size, on a busy machine too


def check(
    root: Path,
    ids: Sequence[str],
    *,
    everything: bool = False,
    static: bool = False,
    gpu: bool = False,
    strict: bool = False,
    jobs: Optional[int] = None,
) -> int:
    """The rules that reading can check, then builds and tests of the exercises concerned.

    An exercise that was named (`ids`) has its mutations tried, too: that takes minutes. `gpu`: nvcc
    compiles what is built. `strict`: a rule that cannot be checked here is a finding.
    """
    files = _files(root)
    exercises = find_exercises(root)
    if ids:
        chosen = resolve_all(root, list(ids))
        to_build, changed = chosen, [f for f in files if any(_is_of(f, e) for e in chosen)]
        scope = ", ".join(f"{e.id} {e.name}" for e in chosen)
    elif everything:
        chosen = to_build = exercises
        changed, scope = files, f"all {len(files)} files and {len(exercises)} exercises"
    else:
        base, changed = _changed(root, files)
        chosen = [e for e in exercises if any(_is_of(f, e) for f in changed)]
        to_build = [e for e in chosen if any(_is_of(f, e, chapter=False) for f in changed)]
        scope = f"{len(changed)} files changed since {base}, {len(chosen)} exercises concerned"
    say(f"checking {scope}")

    findings = list(_static(root, files, changed, exercises, chosen))
    for finding in findings:
        print(finding)
    problem = rules.formatter_problem(root)
    if problem and strict:
        raise LabError(f"{problem}. `scripts/setup --author` installs it.")
    if problem:
        say(f"{problem}, so formatting was not checked. `scripts/setup --author` installs it.")
    if not static:
        # What is wrong on paper keeps other exercises from nothing, and one look shows all of it.
        rules_of_builds = ("missing", "markers", "bugs", "equivalents", "right")
        broken = {f.path for f in findings if f.rule in rules_of_builds}
        sound = [e for e in to_build if not any(_is_of(path, e, chapter=False) for path in broken)]
        findings += _builds(root, sound, gpu, jobs)
        if ids:
            findings += _survivors(root, sound, jobs)
        if not ids and not everything and any(_is_shared(path) for path in changed):
            say(
                "What all exercises share has changed too: `scripts/lab dev check --all` builds and"
                " tests them all."
            )
    if findings:
        count = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
        raise LabError(f"{count} (see above). Next: repair, then check again.")
    print("All rules are kept." if not static else "All rules that need no build are kept.")
    return OK


def report(exercises: Sequence[Exercise]) -> str:
    """A table: how much of each exercise is given, and the medians."""
    rows = []
    for exercise in exercises:
        size = starters.size(
            exercise.solution_file.read_text(encoding="utf-8"), str(exercise.solution_file)
        )
        rows.append((size.starter, size.solution, round(100 * size.share), size.todos, size.marks))
    names = [f"{exercise.id} {exercise.name}" for exercise in exercises] + ["median"]
    rows.append(tuple(round(statistics.median(column)) for column in zip(*rows)))
    width = max(map(len, names))
    heads = ("starter", "solution", "given %", "TODOs", "unused")
    lines = [" " * width + "".join(f"{head:>9}" for head in heads)]
    for name, row in zip(names, rows):
        lines.append(f"{name:{width}}" + "".join(f"{value:9}" for value in row))
    return "\n".join(lines)


def _is_of(path: str, exercise: Exercise, chapter: bool = True) -> bool:
    """Whether a file belongs to an exercise; with `chapter`, its chapter's pages too."""
    place = f"{exercise.chapter_folder}/{exercise.number}_{exercise.name}/"
    tests = f"tests/{exercise.chapter_folder}/"
    if path.startswith((f"labs/{place}", f"solutions/{place}")):
        return True
    own = ("_test.cpp", ".bugs", ".equivalent")
    if path in [f"{tests}{exercise.name}{ending}" for ending in own]:
        return True
    if path.startswith(f"{tests}{exercise.name}.right/"):
        return True
    if path.startswith(tests) and path.endswith(".hpp"):
        return True
    return chapter and path in (
        f"docs/{exercise.chapter_folder}.md",
        f"solutions/{exercise.chapter_folder}/answers.md",
    )


def _is_shared(path: str) -> bool:
    return path.startswith(("common/", "cmake/", "tests/support/", "CMake"))


# --- which files ---------------------------------------------------------------------------------


def _git(root: Path, *arguments: str) -> List[str]:
    """The NUL-separated output of a git command. A failure is what git says about it."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise LabError(f"git, which knows which files are ours, cannot be run: {error}.") from error
    if done.returncode != 0:
        raise LabError(f"git, which knows which files are ours, says: {done.stderr.strip()}")
    return [part for part in done.stdout.split("\0") if part]


def _has_commit(root: Path, name: str) -> bool:
    command = ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    return subprocess.run(command, cwd=root, capture_output=True, check=False).returncode == 0


def _files(root: Path) -> List[str]:
    """All files of the repository that git does not ignore, whether they are in it yet or not."""
    found = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return sorted(path for path in set(found) if (root / path).is_file())


def _changed(root: Path, files: List[str]) -> Tuple[str, List[str]]:
    """What differs from where this branch left the main one: committed, staged or neither."""
    if not _has_commit(root, "HEAD"):
        return "the beginning", files
    base, name = "HEAD", "the last commit"
    for branch in ("origin/HEAD", "origin/main"):
        if _has_commit(root, branch):
            base = _git(root, "merge-base", "HEAD", branch)[0].strip()
            name = f"{branch} ({base[:9]})"
            break
    changed = set(_git(root, "diff", "-z", "--name-only", base))
    changed.update(_git(root, "ls-files", "-z", "--others", "--exclude-standard"))
    return name, [path for path in files if path in changed]


# --- by reading ----------------------------------------------------------------------------------


def _static(
    root: Path,
    files: List[str],
    changed: List[str],
    exercises: List[Exercise],
    chosen: List[Exercise],
) -> Iterable[Finding]:
    found: Set[Finding] = set()
    for path in changed:
        found.update(rules.check_file(root, path))
    found.update(rules.check_formatting(root, changed))
    found.update(rules.check_wording(root, changed))
    found.update(rules.check_links(root, files))  # a file that moved breaks links of others
    found.update(rules.check_index(root, files))
    found.update(rules.check_tree(root, files, exercises))
    found.update(rules.check_metadata(root, exercises))
    found.update(rules.check_vocabulary(root, exercises))
    found.update(rules.check_headings(root, changed))
    found.update(rules.check_quoted_lines(root, files))  # of exercises that have changed
    found.update(rules.check_benchmarks(root))
    found.update(rules.check_steps(root))
    found.update(rules.check_version(root))
    found.update(rules.check_translations(root, exercises))
    for exercise in chosen:
        found.update(rules.check_exercise(root, exercise))
    return sorted(found)


# --- by building ---------------------------------------------------------------------------------


def _builds(
    root: Path, exercises: List[Exercise], gpu: bool, jobs: Optional[int]
) -> List[Finding]:
    if not exercises:
        return []
    nvcc = device.find_nvcc() if gpu else None
    if gpu and nvcc is None:
        raise LabError(device.NO_NVCC)
    build.require_packages(root)
    cpu = device.Device("cpu", "starter, solution and every bug")
    findings = _on_device(root, exercises, cpu, jobs, run=True)
    if nvcc:
        gpus = len(device.find_gpus())
        reason = "compiled by nvcc" + (" and tested" if gpus else "; no GPU to test on")
        chosen = device.Device("gpu", reason, nvcc, gpus)
        findings += _on_device(root, exercises, chosen, jobs, run=gpus > 0)
    return findings


def _survivors(root: Path, exercises: List[Exercise], jobs: Optional[int]) -> List[Finding]:
    """The mutations that the tests let pass, and entries for mutations that they do not."""
    findings: List[Finding] = []
    chosen = device.Device("cpu", "its checks are a part of what catches mistakes")
    for exercise in exercises:
        try:
            status = mutate.mutate(root, [exercise], chosen, jobs or verify.cores())
        except LabError as error:
            findings.append(_finding(root, exercise, "mutations", str(error).rstrip(".")))
            continue
        if status != OK:
            message = f"the tests of {exercise.id} do not catch every mutation (see above)"
            findings.append(_finding(root, exercise, "mutations", message))
    return findings


def _on_device(
    root: Path, exercises: List[Exercise], chosen: device.Device, jobs: Optional[int], run: bool
) -> List[Finding]:
    say(chosen.sentence())
    findings: List[Finding] = []
    built: List[Exercise] = []
    for exercise in exercises:
        targets = [f"{kind}.{exercise.id}" for kind in ("lab", "lab_test")]
        targets += [f"{kind}.{exercise.id}" for kind in ("solution", "solution_test")]
        if chosen.name == "cpu":
            targets += [
                f"bug.{exercise.id}.{bug.name}"
                for bug in bugs.parse(exercise.bugs_file)
                if bug.caught_by != "compiler"  # its test builds it
            ]
            targets += compiling.targets(exercise)
        try:
            # There the bugs are, and a warning is an error in the starter too.
            build.build(
                root,
                build.course_preset(chosen),
                chosen,
                targets,
                f"{exercise.id} {exercise.name} for {chosen.name}",
                jobs=jobs or verify.cores(),
            )
            verify.build_right(root, [exercise], chosen, jobs or verify.cores())
            built.append(exercise)
        except build.BuildFailed as error:
            message = f"{exercise.id} does not build without a warning for {chosen.name}: {error}"
            findings.append(_finding(root, exercise, "build", message))
    for exercise in built if run else []:
        findings += _run(root, exercise, chosen, jobs)
    return findings


def _finding(root: Path, exercise: Exercise, rule: str, message: str) -> Finding:
    finding = Finding(str(exercise.solution_file.relative_to(root)), 1, rule, message)
    print(finding)
    return finding


def _run(
    root: Path, exercise: Exercise, chosen: device.Device, jobs: Optional[int]
) -> List[Finding]:
    """The solution's tests, the starter's, the bugs; the program; and what grades."""
    findings: List[Finding] = []
    preset = build.course_preset(chosen)
    choice = ["-L", f"^{exercise.id.replace('.', '[.]')}$", "-LE", "^lab$"]
    if verify._ctest(root, preset, jobs or verify.cores(), choice) != OK:
        message = f"tests of {exercise.id} failed on {chosen.name} (see above)"
        findings.append(_finding(root, exercise, "tests", message))
    program = build.program_path(root, preset, exercise, solution=True)
    output: List[str] = []
    with tempfile.TemporaryDirectory() as folder:
        outcome = processes.run(
            [str(program)], cwd=Path(folder), time_limit=PROGRAM_LIMIT, on_line=output.append
        )
    if outcome.returncode not in (OK, NOT_POSSIBLE) or outcome.timed_out:
        print("\n".join(output[-20:]))
        how = "did not end" if outcome.timed_out else f"ended with {outcome.returncode}"
        message = f"the program {program.name} {how} with its default options (see above)"
        findings.append(_finding(root, exercise, "program", message))
    if chosen.name == "cpu":
        passed, lines = gradable.try_solution(build.folder(root, preset), exercise, _sandbox())
        if not passed:
            print(lines)
            message = f"{exercise.id} cannot be graded: its solution, in another process than its"
            message += " tests, does not pass them (see above)"
            findings.append(_finding(root, exercise, "grading", message))
    return findings


@functools.lru_cache(1)
def _sandbox() -> sandbox.Sandbox:
    """The one that `grade` takes. What runs in it is the course's own, which may do without."""
    try:
        return sandbox.find()
    except LabError as problem:
        say(f"{problem} The course's solutions are run without.")
        return sandbox.NONE
