# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Results of `scripts/lab bench`: what a file of them holds, and what is read from two of them."""

import json
import statistics
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from lablib.errors import LabError

VERSION = 1
NO_STEP = "kernel"  # what is measured of a program without steps
LEAST_DIFFERENCE = 0.02  # of a median: less is called the same

NOISE_RULE = (
    "A time counts as different if the ranges between the quartiles of old and new samples do not"
    f" overlap, and the medians differ by more than {LEAST_DIFFERENCE:.0%}."
)


@dataclass
class Result:
    """One step of an exercise at one size: the samples of all rounds, and what one run does."""

    exercise: str  # 05.1_dot_product
    step: str
    arguments: str  # the size: --size 256M
    samples_ms: List[float]
    bytes: float = 0  # that a run has to read and write; 0: not said
    items: float = 0  # that a run works on; 0: not said
    item_name: str = ""
    limit: float = 0  # the device's copy bandwidth in bytes per second; 0: not said
    library: str = ""
    library_ms: float = 0
    others: Dict[str, float] = field(default_factory=dict)  # further marks of the program, in ms

    @property
    def key(self) -> Tuple[str, str, str]:
        return self.exercise, self.arguments, self.step

    @property
    def median_ms(self) -> float:
        return statistics.median(self.samples_ms)

    @property
    def quartiles_ms(self) -> Tuple[float, float]:
        if len(self.samples_ms) < 2:
            return self.samples_ms[0], self.samples_ms[0]
        lower, _, upper = statistics.quantiles(self.samples_ms, n=4, method="inclusive")
        return lower, upper

    @property
    def rate(self) -> float:
        """Per second: of what is counted, or else of bytes."""
        return 1000 * (self.items or self.bytes) / self.median_ms

    @property
    def unit(self) -> str:
        """Of the rate; "" if the program does not say what a run does."""
        return f"{self.item_name}/s" if self.items else "B/s" if self.bytes else ""

    @property
    def of_limit(self) -> Optional[float]:
        if not (self.bytes and self.limit):
            return None
        return 1000 * self.bytes / self.median_ms / self.limit

    @property
    def of_library(self) -> Optional[float]:
        return self.library_ms / self.median_ms if self.library_ms else None


@dataclass
class Report:
    """A run of `scripts/lab bench`."""

    device: str
    cpu_device: bool
    driver: str  # "" where nobody says; so are the next two
    cuda: str
    commit: str
    date: str  # ISO 8601, UTC
    rounds: int
    clocks: Dict[str, List[float]] = field(default_factory=dict)  # lowest and highest that was seen
    results: List[Result] = field(default_factory=list)

    def text(self) -> str:
        data = asdict(self)
        for result, row in zip(self.results, data["results"]):
            lower, upper = result.quartiles_ms
            row.update(
                median_ms=result.median_ms,
                quartiles_ms=[lower, upper],
            )
            if not self.cpu_device:
                row.update(
                    rate=result.rate,
                    unit=result.unit,
                    of_limit=result.of_limit,
                    of_library=result.of_library,
                )
        return json.dumps({"version": VERSION, **data}, indent=1) + "\n"


def _known(kind: Any, data: Dict[str, Any]) -> Dict[str, Any]:
    return {each.name: data[each.name] for each in fields(kind) if each.name in data}


def read(path: Path) -> Report:
    """Throws a LabError that says what is wrong with the file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise LabError(f"{path} is not a file of `scripts/lab bench --json`: {error}.") from error
    try:
        if data["version"] != VERSION:
            raise LabError(
                f"{path} has version {data['version']} of the format, and this is version"
                f" {VERSION}: measure again."
            )
        report = Report(**_known(Report, data))
        report.results = [Result(**_known(Result, row)) for row in data["results"]]
        for result in report.results:
            if not result.samples_ms or not min(result.samples_ms) > 0:
                raise ValueError(f"{result.exercise} has no samples")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise LabError(f"{path} is not a file of `scripts/lab bench --json`: {error!r}.") from error
    return report


# --- as text -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """A unit with its prefix, for all numbers of a chart or a table: readers compare them."""

    factor: float
    unit: str

    def number(self, value: float) -> str:
        text = f"{value / self.factor:.4g}"
        return f"{value / self.factor:.4f}" if "e" in text else text

    def text(self, value: float) -> str:
        return f"{self.number(value)} {self.unit}".rstrip()


def scale(values: Iterable[float], unit: str) -> Scale:
    """With the prefix that the largest of the values has alone."""
    prefixes = ("", "k", "M", "G", "T", "P")
    number, most = 0, max(values, default=0)
    while most >= 10_000 and number + 1 < len(prefixes):
        most /= 1000
        number += 1
    prefix = prefixes[number]
    gap = " " if prefix and unit not in ("B/s", "FLOP/s") else ""
    return Scale(1000.0**number, f"{prefix}{gap}{unit}")


def short(value: float, unit: str) -> str:
    """4.29e12 and "B/s" as `4290 GB/s`; FLOP/s and other items with the prefix that fits."""
    return scale([value], unit).text(value)


def percent(share: Optional[float]) -> str:
    if share is None:
        return ""
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def milliseconds(value: float) -> str:
    return f"{value:.4g}"


HEAD = ("step", "size", "ms (median)", "quartiles", "rate", "of copy", "of library")


def rows(results: Sequence[Result], cpu_device: bool) -> List[Tuple[str, ...]]:
    """A line of a table for each; times of the CPU device have no rates."""
    found: List[Tuple[str, ...]] = []
    scales = {
        unit: scale((each.rate for each in results if each.unit == unit), unit)
        for unit in {each.unit for each in results}
    }
    for result in results:
        lower, upper = result.quartiles_ms
        rated = result.unit and not cpu_device
        rate = scales[result.unit].text(result.rate) if rated else ""
        marks = [(result.library, result.library_ms), *result.others.items()]
        library = ", ".join(
            f"{percent(ms / result.median_ms)} ({name})" for name, ms in marks if name
        )
        found.append(
            (
                result.step,
                result.arguments or "default",
                milliseconds(result.median_ms),
                f"{milliseconds(lower)} to {milliseconds(upper)}",
                rate,
                "" if cpu_device else percent(result.of_limit),
                "" if cpu_device else library,
            )
        )
    return found


def by_exercise(results: Sequence[Result]) -> Dict[str, List[Result]]:
    found: Dict[str, List[Result]] = {}
    for result in results:
        found.setdefault(result.exercise, []).append(result)
    return found


def named(results: Sequence[Result], kernels: Sequence[str]) -> List[Result]:
    """The same, where a program measures several kernels of each step and numbers them: with these
    names in place of the numbers, as in `packed: find` for `packed (2)`. Those of a program without
    --step are called by these names alone."""
    if not kernels:
        return list(results)
    found = []
    for result in results:
        step, _, number = result.step.rstrip(")").partition(" (")
        place = int(number or 1) - 1
        name = kernels[place] if place < len(kernels) else result.step
        if name != result.step and step != NO_STEP:
            name = f"{step}: {name}"
        found.append(replace(result, step=name))
    return found


def csv_text(report: Report) -> str:
    """Without rates if they are those of the CPU device."""
    head = "exercise,step,arguments,samples,median_ms,lower_quartile_ms,upper_quartile_ms,rate,unit"
    lines = [f"{head},of_copy_bandwidth,library,library_ms,of_library"]
    for result in report.results:
        lower, upper = result.quartiles_ms
        cells = [
            *(result.exercise, result.step, result.arguments, len(result.samples_ms)),
            *(f"{ms:.6g}" for ms in (result.median_ms, lower, upper)),
            *(f"{result.rate:.6g}" if result.unit else "", result.unit),
            "" if result.of_limit is None else f"{result.of_limit:.4f}",
            *(result.library, f"{result.library_ms:.6g}" if result.library else ""),
            "" if result.of_library is None else f"{result.of_library:.4f}",
        ]
        if report.cpu_device:
            cells[7:] = [""] * len(cells[7:])
        lines.append(",".join(_csv(str(cell)) for cell in cells))
    return "\n".join(lines) + "\n"


def _csv(cell: str) -> str:
    quoted = cell.replace('"', '""')
    return f'"{quoted}"' if any(c in cell for c in ',"\n') else cell


# --- two of them ---------------------------------------------------------------------------------


def compare(old: Result, new: Result) -> str:
    """faster, slower or the same, by NOISE_RULE."""
    (old_lower, old_upper), (new_lower, new_upper) = old.quartiles_ms, new.quartiles_ms
    if abs(new.median_ms - old.median_ms) > LEAST_DIFFERENCE * old.median_ms:
        if new_upper < old_lower:
            return "faster"
        if new_lower > old_upper:
            return "slower"
    return "the same"


def comparison(old: Report, new: Report) -> Tuple[List[str], bool]:
    """What has changed, in lines; and whether anything is slower."""
    before = {result.key: result for result in old.results}
    lines, slower, same = [], False, 0
    for result in new.results:
        earlier = before.pop(result.key, None)
        name = f"{result.exercise} {result.step} {result.arguments}".rstrip()
        if earlier is None:
            lines.append(f"new      {name}")
            continue
        verdict = compare(earlier, result)
        if verdict == "the same":
            same += 1
            continue
        slower |= verdict == "slower"
        change = result.median_ms / earlier.median_ms - 1
        lines.append(
            f"{verdict:<9}{name}: {milliseconds(earlier.median_ms)} ms before,"
            f" {milliseconds(result.median_ms)} ms now ({100 * change:+.1f} %)"
        )
    measured = {result.exercise for result in new.results}
    lines += [
        f"missing  {result.exercise} {result.step} {result.arguments}".rstrip()
        for result in before.values()
        if result.exercise in measured
    ]
    lines.append(f"{same} of {len(new.results)} are the same. {NOISE_RULE}")
    return lines, slower
