# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Makes every mutation of a solution, and sees whether its tests catch it.

Each is compiled, linked and run as a bug is (lab_add_bugs in cmake/LabExercises.cmake), with the
commands that Ninja would use, but without CMake: a second or two for each. What the fast build
lets pass is tried once more in the check build, the one of `scripts/lab check`.
"""

import contextlib
import os
import resource
import shlex
import shutil
import threading
import time
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

from lablib import bugs, build, equivalents, mutations, processes, test_program
from lablib.console import Progress, say
from lablib.device import Device
from lablib.errors import FAILED, OK, LabError
from lablib.exercises import Exercise
from lablib.files import short_path
from lablib.mutations import Mutation

PRESET = "cpu"
# Seconds for one launch of a kernel. Under the checks a launch that is only slow must not look
# like one that never ends.
LAUNCH_LIMITS = {False: "5", True: "30"}
# A variable that a mutation leaves unused would be an error, which says nothing about the tests.
ALLOWED = ["-Wno-unused", "-Wno-unused-parameter", "-Wno-unused-value"]
WAYS = ("compiler", "test", "report", "crash", "time-out", "check build")
SURVIVES = "survives"


@dataclass
class Verdict:
    way: str  # one of WAYS, or SURVIVES
    sentence: str = ""


@dataclass
class Commands:
    """How Ninja makes the tests of a solution, in one of the two builds. {source}, {rewritten},
    {object} and {program} stand for what differs from one mutation to the next."""

    rewrite: List[str]
    compile: List[str]
    link: List[str]


def read_commands(lines: Sequence[str], exercise: Exercise, checked: bool) -> Commands:
    """Out of what `ninja -t commands` prints for the tests' target."""
    kind = build.kind(solution=True, watched=checked)
    rewritten = f"/cuda/{kind}_code.{exercise.id}/{exercise.name}.cu.cpp"
    program = f"bin/tests/{kind}s/{exercise.full_name}_test"
    rewrite, compile_, link, object_ = [], [], [], ""
    for line in lines:
        for part in _split_and(line):
            if "--output" in part and part[part.index("--output") + 1].endswith(rewritten):
                folders = [word for word in part if word.startswith("-I")]
                rewrite = [part[0], "{source}", "--output", "{rewritten}", *folders]
            elif "-c" in part and part[-1].endswith(rewritten):
                object_ = part[part.index("-o") + 1]
                compile_ = _without_dependencies(part)
                compile_[compile_.index("-o") + 1] = "{object}"
                compile_[-1] = "{rewritten}"
            elif "-o" in part and part[part.index("-o") + 1] == program:
                link = list(part)
    if not rewrite or not compile_ or object_ not in link:
        raise LabError(
            f"cannot read from Ninja how the tests of {exercise.id} are built; this tool has to"
            " learn what has changed in cmake/LabExercises.cmake."
        )
    link = ["{object}" if word == object_ else word for word in link]
    link[link.index("-o") + 1] = "{program}"
    return Commands(rewrite, compile_, link)


def _split_and(line: str) -> List[List[str]]:
    """The commands between the && of a line."""
    parts: List[List[str]] = [[]]
    for word in shlex.split(line):
        if word == "&&":
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def _without_dependencies(words: List[str]) -> List[str]:
    kept, i = [], 0
    while i < len(words):
        if words[i] in ("-MT", "-MF"):
            i += 1
        elif words[i] != "-MD":
            kept.append(words[i])
        i += 1
    return kept


def judge(result: test_program.Result, limit: float) -> Verdict:
    """What a run of the tests says."""
    reports = bugs.reports(result)
    if reports:
        return Verdict("report", reports[0])
    for case in result.in_state(test_program.FAILED):
        return Verdict("test", case.name)
    if result.timed_out or result.in_state(test_program.TIMED_OUT):
        return Verdict("time-out", f"the tests did not end within {limit:.0f} s")
    for case in result.in_state(test_program.CRASHED):
        return Verdict("crash", case.detail)
    if not result.passed:
        return Verdict("crash", result.ending)
    return Verdict(SURVIVES)


class Workshop:
    """Builds and runs versions of one exercise's solution."""

    def __init__(self, root: Path, exercise: Exercise, commands: Dict[bool, Commands]):
        self.build_folder = build.folder(root, PRESET)
        self.folder = self.build_folder / "mutants" / exercise.id
        self.exercise = exercise
        self.commands = commands  # of the fast build, and (True) of the check build
        self.stop = threading.Event()
        self.limits = {False: 900.0, True: 900.0}  # for the runs of the solution itself

    def measure(self, text: str) -> float:
        """Sees that the solution itself passes, in both builds, and how long it takes."""
        seconds = 0.0
        for checked in (False, True):
            start = time.monotonic()
            verdict = self.attempt("solution", text, checked)
            if verdict.way != SURVIVES:
                how = "under the CPU device's checks" if checked else ""
                raise LabError(
                    f"{self.exercise.id}: the solution itself does not pass {how}"
                    f" ({verdict.way}: {verdict.sentence}), so nothing can be said about mutations."
                )
            # A multiple, since the machine is busier when mutations run side by side.
            taken = time.monotonic() - start
            self.limits[checked] = 20 + 10 * taken
            seconds += taken
        return seconds

    def try_out(self, mutation: Mutation, text: str) -> Verdict:
        changed = mutation.apply(text)
        verdict = self.attempt(mutation.name, changed, checked=False)
        if verdict.way == SURVIVES:
            verdict = self.attempt(mutation.name, changed, checked=True)
            if verdict.way != SURVIVES:
                verdict = Verdict("check build", verdict.sentence)
        return verdict

    def attempt(self, name: str, text: str, checked: bool) -> Verdict:
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            return self._attempt(folder, text, checked)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _attempt(self, folder: Path, text: str, checked: bool) -> Verdict:
        files = {
            "source": folder / f"{self.exercise.name}.cu",
            "rewritten": folder / f"{self.exercise.name}.cu.cpp",
            "object": folder / "mutant.o",
            "program": folder / "mutant_test",
        }
        files["source"].write_text(text, encoding="utf-8")
        commands = self.commands[checked]
        for command in (commands.rewrite, [*commands.compile, *ALLOWED], commands.link):
            filled = [str(files[w[1:-1]]) if w[1:-1] in files else w for w in command]
            outcome, output = self._run(filled, limit=300.0)
            if outcome.returncode != 0:
                errors = [line for line in output if "error" in line]
                return Verdict("compiler", (errors or output or ["no message"])[0])
        limit = self.limits[checked]
        command = [str(files["program"]), "--gtest_fail_fast"]
        if checked:  # what the checks find does not hang on the order of the threads
            command.append("--gtest_repeat=1")
        result = test_program.run(
            command,
            time_limit=limit,
            stop_when=lambda _: self.stop.is_set(),
            cwd=self.build_folder,
            env={**os.environ, "CPU_DEVICE_TIME_LIMIT": LAUNCH_LIMITS[checked]},
        )
        if self.stop.is_set():
            raise build.Cancelled
        if result.status == 77 or not result.something_ran:
            raise LabError(
                f"{self.exercise.id}: no test ran in {folder.name} ({result.ending}):"
                f" {(result.outside or ['nothing was printed'])[-1]}"
            )
        return judge(result, limit)

    def _run(self, command: List[str], limit: float) -> Tuple[processes.Outcome, List[str]]:
        output: List[str] = []
        outcome = processes.run(
            command,
            time_limit=limit,
            on_line=output.append,
            stop_when=self.stop.is_set,
            cwd=self.build_folder,
        )
        if self.stop.is_set():
            raise build.Cancelled
        return outcome, output


@dataclass
class Report:
    """What became of the mutations of one exercise."""

    exercise: Exercise
    text: str
    verdicts: Dict[Mutation, Verdict] = field(default_factory=dict)
    listed: Dict[str, equivalents.Equivalent] = field(default_factory=dict)
    seconds: float = 0.0
    whole: bool = True  # all mutations were tried, not only some of them

    def survivors(self) -> List[Mutation]:
        return [
            m for m, v in self.verdicts.items() if v.way == SURVIVES and m.name not in self.listed
        ]

    def wrongly_listed(self) -> List[Mutation]:
        """Caught ones; of an entry for every line, if all of its own are caught."""
        needed = {
            id(self.listed[m.name])
            for m, v in self.verdicts.items()
            if v.way == SURVIVES and m.name in self.listed
        }
        wrong = []
        for mutation, verdict in self.verdicts.items():
            entry = self.listed.get(mutation.name)
            if entry is None or entry.default or verdict.way == SURVIVES:
                continue
            if entry.text != equivalents.EVERY_LINE or (self.whole and id(entry) not in needed):
                wrong.append(mutation)
        return wrong

    def summary(self) -> str:
        ways = [v.way for v in self.verdicts.values()]
        caught = [f"{ways.count(way)} by {way}" for way in WAYS if way in ways]
        equivalent = sum(
            v.way == SURVIVES and m.name in self.listed for m, v in self.verdicts.items()
        )
        survivors = len(self.survivors())
        judged = len(ways) - equivalent
        score = 100.0 * (judged - survivors) / judged if judged else 100.0
        return (
            f"{self.exercise.id} {self.exercise.name}: {len(ways)} mutations, caught"
            f" {', '.join(caught) or 'none'}; {equivalent} equivalent; {survivors} survive: score"
            f" {score:.1f} %, {self.seconds:.0f} s"
        )

    def details(self, root: Path) -> List[str]:
        lines = []
        for mutation in self.survivors():
            lines += [f"  survives: {mutation.name}", *_place(self, mutation, root)]
        for mutation in self.wrongly_listed():
            entry, verdict = self.listed[mutation.name], self.verdicts[mutation]
            where = f"{short_path(self.exercise.equivalents_file, root)}:{entry.line}"
            lines += [
                f"  caught after all: {mutation.name}, listed as equivalent at {where}",
                f"    by {verdict.way}: {verdict.sentence}",
                *_place(self, mutation, root),
            ]
        return lines


def _place(report: Report, mutation: Mutation, root: Path) -> List[str]:
    before, after = mutation.changed_line(report.text)
    file = short_path(report.exercise.solution_file, root)
    return [f"    {file}:{mutation.line}", f"    - {before}", f"    + {after}"]


def _load(root: Path, exercise: Exercise) -> Tuple[Report, List[Mutation]]:
    text = exercise.solution_file.read_text(encoding="utf-8")
    report = Report(exercise, text)
    found = mutations.find(text)
    name = short_path(exercise.equivalents_file, root)
    entries = equivalents.parse(exercise.equivalents_file) + equivalents.parse_defaults(root)
    matched = equivalents.match_all(entries, found, text)
    for entry in matched.idle:
        raise LabError(f"{name}:{entry.line}: {equivalents.explain_idle(entry)}.")
    report.listed = matched.of
    return report, found


def list_mutations(root: Path, exercises: List[Exercise], only: Sequence[str]) -> int:
    for exercise in exercises:
        report, found = _load(root, exercise)
        for mutation in _chosen(found, only):
            mark = " (equivalent)" if mutation.name in report.listed else ""
            print(f"{exercise.id} {mutation.name}{mark}")
            print("\n".join(_place(report, mutation, root)))
    print("\nThe kinds:")
    for kind in mutations.KINDS:
        print(f"  {kind.__name__:<20}{kind.__doc__}")
    return OK


def _chosen(found: List[Mutation], only: Sequence[str]) -> List[Mutation]:
    """Those with a name, or of a kind, that was asked for; nothing asked for: all."""
    return [m for m in found if not only or m.kind in only or m.name in only]


def mutate(
    root: Path, exercises: List[Exercise], device: Device, jobs: int, only: Sequence[str] = ()
) -> int:
    """Tries all mutations of the exercises; FAILED if one survives that is not listed, or one is
    listed that is caught."""
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))  # mutants crash by the dozen
    loaded = [_load(root, exercise) for exercise in exercises]  # mistakes in lists come first
    targets = [_target(exercise, checked) for exercise in exercises for checked in (False, True)]
    build.build(root, PRESET, device, targets, "the tests", jobs=jobs)
    reports = []
    for report, found in loaded:
        report.whole = not only
        chosen = _chosen(found, only)
        try:
            _try_all(root, report, chosen, jobs)
        finally:  # stopped half-way: what is known is worth knowing
            report.whole = report.whole and len(report.verdicts) == len(chosen)
            if report.verdicts or not chosen:
                print("\n".join([*report.details(root), report.summary()]), flush=True)
        reports.append(report)
    if len(reports) > 1:
        print("\n".join(report.summary() for report in reports))
    survivors = sum(len(report.survivors()) for report in reports)
    wrong = sum(len(report.wrongly_listed()) for report in reports)
    if survivors or wrong:
        say(
            f"{survivors} survive, {wrong} are listed as equivalent and are not. Next: a test that"
            " catches a survivor, or, where none can, an entry with the reason in"
            " tests/CC_chapter/NAME.equivalent."
        )
        return FAILED
    return OK


def _target(exercise: Exercise, checked: bool) -> str:
    return f"{build.kind(solution=True, watched=checked)}_test.{exercise.id}"


def _try_all(root: Path, report: Report, chosen: List[Mutation], jobs: int) -> None:
    exercise = report.exercise
    commands = {}
    for checked in (False, True):
        shown = processes.capture(
            ["ninja", "-C", str(build.folder(root, PRESET)), "-t", "commands"]
            + [_target(exercise, checked)]
        )
        commands[checked] = read_commands((shown or "").splitlines(), exercise, checked)
    workshop = Workshop(root, exercise, commands)
    progress = Progress(f"{exercise.id}: {len(chosen)} mutations")
    start = time.monotonic()
    log = workshop.folder.with_suffix(workshop.folder.suffix + ".txt")
    log.parent.mkdir(parents=True, exist_ok=True)
    pool = futures.ThreadPoolExecutor(jobs)
    try:
        workshop.measure(report.text)
        running = {pool.submit(workshop.try_out, m, report.text): m for m in chosen}
        while running:
            done, _ = futures.wait(running, 0.2, futures.FIRST_COMPLETED)
            for future in done:
                report.verdicts[running.pop(future)] = future.result()
            progress.update(f"[{len(report.verdicts)}/{len(chosen)}]")
    finally:
        workshop.stop.set()  # where something went wrong, the others need not go on
        pool.shutdown(wait=True, cancel_futures=True)
        progress.done()
        report.verdicts = {m: report.verdicts[m] for m in chosen if m in report.verdicts}
        log.write_text(
            "".join(f"{m.name}: {v.way}: {v.sentence}\n" for m, v in report.verdicts.items())
        )
        report.seconds = time.monotonic() - start
