# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""From the results of cases to points.

The steps of an exercise (the enumerators of `step` in its contract) weigh the same, unless a rubric
says otherwise; what belongs to no step, if there is such, weighs as much as one. A part's points
are the share of its tests that pass. A test with a hundred parameters counts once, and passes if
all of them do.

The cases on who does the work (`Requires.…`) have no points of their own. A part that they refuse
gets no more than a share of its points: its values may be right, but not by what it teaches.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from lablib.cuda_tokens import all_tokens

FULL = Fraction(100)
HAZARD = Fraction(1, 2)  # what is left of the points where a hazard was found
WITHOUT_WORK = Fraction(2, 5)  # the most of a part's points without the work that it asks for
GENERAL = "in general"


@dataclass(frozen=True)
class Speed:
    """Further points of what is right, for how fast its program is on a GPU."""

    full: Fraction
    step: str = ""  # of the program; where it has none, or its own choice
    arguments: str = ""  # further ones of the program
    full_at: Fraction = Fraction(1)  # of the solution's speed
    none_at: Fraction = Fraction(1, 2)

    def points(self, own_ms: float, solution_ms: float) -> Fraction:
        above = Fraction(solution_ms) / Fraction(own_ms) - self.none_at
        share = above / (self.full_at - self.none_at)
        return self.full * max(Fraction(0), min(Fraction(1), share))


@dataclass(frozen=True)
class Rules:
    """What one exercise is worth, and how."""

    full: Fraction = FULL
    weights: Mapping[str, Fraction] = field(default_factory=dict)  # of parts; 1 where none is given
    hazard: Fraction = HAZARD
    without_work: Fraction = WITHOUT_WORK
    speed: Optional[Speed] = None


@dataclass
class Part:
    name: str
    passed: List[str] = field(default_factory=list)  # tests
    failed: List[str] = field(default_factory=list)
    has_work: bool = True  # it was done by those who should

    def share(self, rules: Rules) -> Fraction:
        share = Fraction(len(self.passed), len(self.passed) + len(self.failed))
        return share if self.has_work else min(share, rules.without_work)


def steps_of(contract: Path) -> List[str]:
    """The enumerators of `enum class step` in a header; none if it has no such."""
    tokens = [token.text for token in all_tokens(contract.read_text(encoding="utf-8"))]
    for i in range(len(tokens) - 3):
        if tokens[i : i + 4] == ["enum", "class", "step", "{"]:
            names = tokens[i + 4 : tokens.index("}", i)]
            return [name for name in names if name.isidentifier()]
    return []


def test_of(case: str) -> str:
    """`Steps/Pixels.AreRight/one_17x1` is one of the cases of `Pixels.AreRight`."""
    suite, _, name = case.partition(".")
    return f"{suite.rsplit('/', 1)[-1]}.{name.split('/')[0]}"


def step_of(case: str, steps: Sequence[str]) -> str:
    """The step that a case is about, by the name of its parameter (the longest that fits), or by
    that of its suite: `PaddedTile.…`."""
    suite, _, rest = case.partition(".")
    parameter = rest.partition("/")[2]
    fitting = [
        step for step in steps if re.search(rf"(?<![a-zA-Z0-9]){step}(?![a-zA-Z0-9])", parameter)
    ] or [step for step in steps if step.replace("_", "") == suite.lower()]
    return max(fitting, key=len, default=GENERAL)


def is_required_work(case: str) -> bool:
    """Whether a case is about who does the work: tests/support/required_work.hpp."""
    return test_of(case).startswith("Requires.")


def without_work(messages: Iterable[str], steps: Sequence[str]) -> Set[str]:
    """The parts whose work was refused, by the messages of failures: the last line begins with the
    step's name (tests/support/required_work.hpp). One that names none is about all parts, and so is
    an exception, whose text is the submission's."""
    refused: Set[str] = set()
    for message in messages:
        last = message.rstrip("\n").rpartition("\n")[2].partition(":")[0]
        step = GENERAL if message.startswith("C++ exception") else step_of(f".x/{last}", steps)
        refused |= {step} if step != GENERAL else {*steps, GENERAL}
    return refused


def parts(
    cases: Mapping[str, bool], steps: Sequence[str], refused: Iterable[str] = ()
) -> List[Part]:
    """The parts of an exercise. `cases`: whether each has passed; `refused`: parts whose work was
    not done as it should be."""
    tests: Dict[Tuple[str, str], bool] = {}
    for case, passed in cases.items():
        if is_required_work(case):
            continue
        key = (step_of(case, steps), test_of(case))
        tests[key] = tests.get(key, True) and passed
    lacking = set(refused)
    found = {name: Part(name, has_work=name not in lacking) for name in (*steps, GENERAL)}
    for (step, test), passed in tests.items():
        (found[step].passed if passed else found[step].failed).append(test)
    return [part for part in found.values() if part.passed or part.failed]


def points(all_parts: Sequence[Part], has_hazard: bool, rules: Rules) -> Fraction:
    weights = [rules.weights.get(part.name, Fraction(1)) for part in all_parts]
    if not sum(weights):
        return Fraction(0)
    shares = [weight * part.share(rules) for weight, part in zip(weights, all_parts)]
    left = rules.hazard if has_hazard else 1
    return rules.full * left * sum(shares, Fraction(0)) / sum(weights, Fraction(0))
