# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Right solutions in other styles, which the tests of an exercise must not refuse.

Each is a whole file tests/CC_chapter/<name>.right/<style>.cu, used instead of the solution. The
comment after the license says how it differs.

As a program (the build's own checks):
    right.py STYLE.cu PROGRAM…
        runs the tests against it: the plain build, and the one that watches every access
"""

import re
import sys
from pathlib import Path
from typing import List, Tuple

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from lablib import test_program  # noqa: E402
from lablib.errors import FAILED, OK, USAGE  # noqa: E402

SKIPPED = 77  # the exit status for: there is no GPU
SENTENCE = "A right solution is refused, so the test asks for more than the contract requires."
MOST_CASES = 3  # that are shown of those that fail
TIME_LIMIT = 600.0  # seconds; each case has a limit of its own


def problem(path: Path) -> str:
    """What is wrong with such a file, as far as reading shows it; "" if nothing is."""
    if path.suffix != ".cu" or not path.is_file():
        return "only CUDA files belong here, <style>.cu"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", path.stem):
        return f"'{path.stem}' is not a name: lower-case letters, digits and underscores make one"
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    code = [line for line in lines if line.strip() and not line.startswith("//")]
    if not code:
        return "the file is empty: write the whole solution, as it would stand in the exercise"
    before = lines[: lines.index(code[0])]
    comment = [line.strip("/ ") for line in before if "SPDX-" not in line]
    if not any(comment):
        return "say in a comment before the code how this solution differs"
    return ""


def judge(program: str) -> Tuple[int, List[str]]:
    """The exit status of the tests, and what there is to say if they refuse the file."""
    result = test_program.run([program], time_limit=TIME_LIMIT)
    if result.status == SKIPPED:
        return SKIPPED, []
    if result.passed:
        return OK, []
    said: List[str] = []
    for case in result.failures[:MOST_CASES]:
        said.append(f"{case.name} ({case.state}{': ' if case.detail else ''}{case.detail})")
        for one in case.said:
            text = test_program.sentence(one) if one.is_failure else one.text.rstrip("\n")
            said += [f"  {line}" for line in text.splitlines()]
    more = len(result.failures) - MOST_CASES
    if more > 0:
        said.append(f"and {more} more")
    return FAILED, said or [f"{program}: {result.ending}", *result.outside[-40:]]


def expect_accepted(file: Path, programs: List[str]) -> int:
    """Every build passes. Where one could not run, nothing is known: skipped, not passed."""
    statuses = []
    for program in programs:
        status, said = judge(program)
        statuses.append(status)
        if status == FAILED:
            kind = Path(program).parents[1].name
            print("\n".join([f"{file}: refused ({kind}):", *said, SENTENCE]), flush=True)
            return FAILED
    return SKIPPED if SKIPPED in statuses else OK


def main(arguments: List[str]) -> int:
    if len(arguments) < 2:
        print((__doc__ or "").strip(), file=sys.stderr)
        return USAGE
    return expect_accepted(Path(arguments[0]), arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
