# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Starters: what a student begins with, made from the solution.

In a solution
    // BEGIN SOLUTION … // END SOLUTION    disappear, with all that stands between them
    // STUB: code                          inside such a region: `code` takes the region's place
    … // HIDDEN                            at the end of a line, anywhere: that line disappears
Where a disappearing region leaves two blank lines together, one stays.

`// TODO(2): …` above a region says what is to be done there, and so for several regions where the
number is the same. `// TODO(6, bonus): …` is for who wants more: an exercise is done without it,
and without all that come after it.

As a program (the build's own checks):
    starters.py generate SOLUTION            prints the starter
    starters.py check SOLUTION STARTER       fails if the starter is not the generated one
    starters.py fails-readably TEST_PROGRAM  fails unless the program fails as a starter should
"""

import difflib
import math
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Dict, List, Optional, Tuple

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from lablib.errors import FAILED, NOT_POSSIBLE, OK, USAGE, LabError  # noqa: E402
from lablib.exercises import Exercise  # noqa: E402

if TYPE_CHECKING:
    from lablib import test_program

TIME_LIMIT = 180.0  # seconds for a starter's tests

_BEGIN = "// BEGIN SOLUTION"
_END = "// END SOLUTION"
_HIDDEN = re.compile(r"//\s*HIDDEN\s*$")
_STUB = re.compile(r"(?P<indent>\s*)// STUB:(?: (?P<code>.*))?$")
# (A formatter that fills lines moves the end of a long stub before the next one: `// 4); STUB: …`.)
_NEARLY = re.compile(
    r"//\s*(BEGIN|END)\s+SOLUTIONS?\b|//\s*STUB\b|//\s*HIDDEN\b|//.*(?-i:STUB:)", re.IGNORECASE
)


_TODO = re.compile(r"//\s*TODO\((?P<number>\d+)(?P<bonus>, bonus)?\):")


@dataclass
class Todo:
    number: int
    bonus: bool
    regions: List[range] = field(default_factory=list)  # of lines of the starter, from 0


def generate(text: str, name: str) -> str:
    """The starter of a solution. `name` is how errors call the file."""
    return _generate(text, name)[0]


def todos(text: str, name: str) -> List[Todo]:
    """What there is to do in the starter of a solution, in the order of the numbers."""
    starter, regions = _generate(text, name)
    lines = starter.splitlines()
    found: Dict[int, Todo] = {}
    last: Optional[Todo] = None
    begins = {region.start: region for region in regions}
    for number in range(len(lines) + 1):
        region = begins.get(number)
        if region is not None and last is not None:
            last.regions.append(region)
        if number == len(lines):
            break
        todo = _TODO.search(lines[number])
        if todo is not None:
            last = Todo(int(todo["number"]), bool(todo["bonus"]))
            last = found.setdefault(last.number, last)
        elif lines[number].startswith("}"):  # of the function, whose TODOs end here
            last = None
    return [found[number] for number in sorted(found)]


@dataclass(frozen=True)
class Size:
    """How much a student has to read of an exercise, and how much is left to write."""

    starter: int  # lines of the starter
    solution: int  # lines of the solution, without its markers
    given: int  # lines of code (no comments) that the starter shares with the solution
    code: int  # lines of code of the solution
    todos: int
    marks: int  # lines of the starter that only say that something is unused

    @property
    def share(self) -> float:
        return self.given / max(self.code, 1)


_COMMENT = re.compile(r"\s*(//.*)?$")
MARK = re.compile(r"\(void\)(?!cu\w+\()|\[\[maybe_unused\]\]")  # but a call's dropped error


def size(text: str, name: str) -> Size:
    """The sizes of a solution and of its starter."""
    starter, regions = _generate(text, name)
    lines = starter.splitlines()
    stubs = {number for region in regions for number in region}
    solution = [
        line
        for line in text.splitlines()
        if line.strip() not in (_BEGIN, _END) and not _STUB.fullmatch(line)
    ]
    return Size(
        starter=len(lines),
        solution=len(solution),
        given=sum(not _COMMENT.match(line) for i, line in enumerate(lines) if i not in stubs),
        code=sum(not _COMMENT.match(line) for line in solution),
        todos=len(todos(text, name)),
        marks=sum(bool(MARK.search(line)) for line in lines),
    )


def untouched(solution: Path, present: str) -> List[Todo]:
    """The TODOs of which a student's file still has every region as the starter has it."""
    try:
        text = solution.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    starter = generate(text, str(solution)).splitlines()
    same: Dict[int, int] = {}  # a line of the starter: the line of the student's file
    matcher = difflib.SequenceMatcher(None, starter, present.splitlines(), autojunk=False)
    for block in matcher.get_matching_blocks():
        same.update((block.a + i, block.b + i) for i in range(block.size))

    def as_it_was(region: range) -> bool:
        # With a line before and after it: nothing has come in between.
        lines = range(max(region.start - 1, 0), min(region.stop + 1, len(starter)))
        places = [same.get(line) for line in lines]
        first = places[0]
        return first is not None and places == list(range(first, first + len(places)))

    return [
        todo
        for todo in todos(text, str(solution))
        if todo.regions and all(map(as_it_was, todo.regions))
    ]


def _generate(text: str, name: str) -> Tuple[str, List[range]]:
    """The starter, and which of its lines, from 0, stand where the solution has a region."""
    lines: List[str] = []
    begun: Optional[int] = None  # the line of the open BEGIN SOLUTION
    first = 0  # the line of the starter where that region begins
    regions: List[range] = []
    joint = False  # something has just disappeared here
    found: List[Tuple[int, Todo]] = []  # where the TODOs stand

    def error(number: int, message: str) -> LabError:
        return LabError(f"{name}:{number}: {message}.")

    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        stub = _STUB.fullmatch(line)
        if stripped == _BEGIN:
            if begun is not None:
                raise error(number, f"{_BEGIN} inside the region that begins in line {begun}")
            begun, first = number, len(lines)
        elif stripped == _END:
            if begun is None:
                raise error(number, f"{_END} without a {_BEGIN} before it")
            begun = None
            regions.append(range(first, len(lines)))
            joint = True
        elif stub:
            if begun is None:
                raise error(number, f"// STUB: outside of a region ({_BEGIN} … {_END})")
            code = (stub["code"] or "").rstrip()
            lines.append(stub["indent"] + code if code else "")
        elif _HIDDEN.search(line):
            joint = True
        elif _NEARLY.search(line):
            raise error(
                number,
                f"'{stripped}' looks like a marker but is none: {_BEGIN} and {_END} stand alone on"
                " their line, `// STUB: code` begins one, // HIDDEN ends one",
            )
        elif begun is None:
            if joint and not stripped and (not lines or not lines[-1].strip()):
                continue
            joint = False
            lines.append(line)
            match = _TODO.search(line)
            if match is not None:
                found.append((number, Todo(int(match["number"]), bool(match["bonus"]))))
    if begun is not None:
        raise error(begun, f"{_BEGIN} without an {_END} after it")
    if not regions:
        raise error(1, f"there is no {_BEGIN} in this solution, so nothing would be left to do")
    bonus = min((todo.number for _, todo in found if todo.bonus), default=math.inf)
    for number, todo in found:
        if todo.number >= bonus and not todo.bonus:
            raise error(
                number,
                f"TODO({bonus}) is a bonus, and so is what comes after it: TODO({todo.number},"
                " bonus)",
            )
    return "\n".join(lines) + "\n", regions


def generate_file(solution: Path) -> str:
    try:
        return generate(solution.read_text(encoding="utf-8"), str(solution))
    except OSError as error:
        raise LabError(f"cannot read {solution}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise LabError(f"{solution} is not UTF-8 text: {error}.") from error


def starter_of(exercise: Exercise) -> str:
    """What a student begins with: made of the solution, or kept where there is none."""
    if exercise.solution_file.exists() or not exercise.kept_starter.exists():
        return generate_file(exercise.solution_file)
    return exercise.kept_starter.read_text(encoding="utf-8")


def difference(solution: Path, starter: Path) -> str:
    """Empty if the starter is the generated one, else where and how it differs."""
    expected = generate_file(solution)
    try:
        present = starter.read_text(encoding="utf-8")
    except OSError as error:
        return f"{starter}: cannot be read ({error.strerror})."
    if present == expected:
        return ""
    old, new = present.splitlines(), expected.splitlines()
    first = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    diff = difflib.unified_diff(
        old, new, str(starter), f"generated from {solution.name}", lineterm="", n=2
    )
    return (
        f"{starter}:{first + 1}: this is not the starter that its solution generates:\n"
        + "\n".join(diff)
    )


def readability_problem(result: "test_program.Result") -> str:
    """Empty if each failure says something; else what is missing."""
    from lablib import test_program

    failed = result.in_state(test_program.FAILED)
    if not failed:
        return "no test failed, although the program did."
    for case in failed:
        failures = [said for said in case.said if said.is_failure]
        if not any(said.text.strip() for said in failures):
            return f"{case.name} fails without a message: it must say what is missing."
        for said in failures:
            if re.search(r"unknown (C\+\+ )?exception", said.text, re.IGNORECASE):
                return (
                    f"{case.name} fails with an unknown exception: throw one that has a sentence"
                    " in it."
                )
            thrown = test_program.thrown(said)
            # std::bad_alloc, vector::_M_range_check: …: words of the library, not for people.
            if thrown and (len(thrown.split()) < 4 or re.match(r"\w+::\w+", thrown)):
                return (
                    f'{case.name} fails with the bare exception "{thrown}": it must say in a'
                    " sentence what is missing."
                )
    return ""


def fails_readably(command: List[str], time_limit: float = TIME_LIMIT) -> str:
    """Runs a starter's tests. Returns "" if they fail as they should, else what is wrong."""
    from lablib import processes, test_program

    result = test_program.run(command, time_limit=time_limit)
    for case in result.failures:
        print("\n".join([f"--- {case.name}", *case.lines, case.detail]).rstrip())
    print("\n".join(result.outside))
    if result.timed_out or result.in_state(test_program.TIMED_OUT):
        return "the starter's tests did not come to their end: a starter must fail, not hang."
    for case in result.in_state(test_program.CRASHED):
        return f"{case.name} of the starter was {case.detail}: a starter must fail, not crash."
    if result.status < 0:
        return (
            f"the starter's tests were ended by {processes.signal_sentence(result.status)}: a"
            " starter must fail, not crash."
        )
    if result.status == NOT_POSSIBLE:
        raise LabError("the tests cannot run here (see above).", NOT_POSSIBLE)
    if result.passed:
        return "the starter passes its own tests: then there is nothing to do for a student."
    return readability_problem(result)


def main(arguments: List[str]) -> int:
    try:
        if len(arguments) == 2 and arguments[0] == "generate":
            sys.stdout.write(generate_file(Path(arguments[1])))
            return OK
        if len(arguments) == 3 and arguments[0] == "check":
            problem = difference(Path(arguments[1]), Path(arguments[2]))
            next_step = (
                "Next: change the solution, not the starter, and run `scripts/lab dev starters`."
            )
        elif len(arguments) >= 2 and arguments[0] == "fails-readably":
            problem = fails_readably(arguments[1:])
            next_step = ""
        else:
            print(__doc__.strip(), file=sys.stderr)
            return USAGE
    except LabError as error:
        print(f"starters: {error}", file=sys.stderr)
        return error.exit_code
    if problem:
        print("\n".join(filter(None, [f"starters: {problem}", next_step])), file=sys.stderr)
        return FAILED
    return OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
