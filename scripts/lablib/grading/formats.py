# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The results as other systems read them. Each function makes one file's text; where a system has
no word for something (a note, a limit), it is in the text for the student."""

import csv
import html
import io
import json
import os
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional

from lablib.errors import USAGE, LabError
from lablib.grading.grade import Record, Table, write_text
from lablib.grading.reports import page_name, shown, shown_points, total

Records = Dict[str, Record]  # one student's, by exercise


def feedback(record: Record) -> str:
    """What a student reads of one exercise, as plain text."""
    lines = [f"{shown_points(record['points'])} of {shown_points(record['of'])} points"]
    if record["state"] != "graded":
        lines.append(f"No points: {record['state']}.")
    lines += [text for text in (record["problem"], *record["notes"], record["late"]) if text]
    for part in record["parts"]:
        passed, all_tests = len(part["passed"]), len(part["passed"]) + len(part["failed"])
        failed = f"; failed: {', '.join(part['failed'])}" if part["failed"] else ""
        lines.append(f"{part['name']}: {passed} of {all_tests} tests passed{failed}")
        if not part["has_work"]:
            lines.append(
                f"{part['name']}: limited, since the work was not done as the exercise asks"
            )
    if record["hazards"]:
        lines.append("The CPU device found a mistake that results need not show, such as a race.")
    lines += record["remarks"]
    lines += [f"{one['case']}: {one['text']}" for one in record["failures"]]
    return _text("\n".join(lines))


def _text(text: str) -> str:
    """What every reader takes for text."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", "\ufffd", text)


def _cut(text: str, most: int) -> str:
    """What of a text has at most that many bytes in JSON."""
    if len(json.dumps(text)) <= most:
        return text
    size = len('""')
    for at, character in enumerate(text):
        size += len(json.dumps(character)) - len('""')
        if size > most:
            return text[:at] + "\n(The rest is not shown here.)"
    return text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, indent=1) + "\n"


# --- one student ---------------------------------------------------------------------------------


def gradescope(records: Records) -> str:
    """results.json of an autograder."""
    tests = [
        {
            "number": id,
            "name": f"{id} {record['name']}",
            "score": record["points"],
            "max_score": record["of"],
            "status": "passed" if record["points"] == record["of"] else "failed",
            "output": feedback(record),
            "output_format": "text",
        }
        for id, record in records.items()
    ]
    return _json(
        {
            "score": round(total(records), 4),
            "visibility": "visible",
            "stdout_visibility": "hidden",
            "tests": tests,
        }
    )


PRAIRIELEARN_BYTES = 1 << 20  # results that are larger count as none


def prairielearn(records: Records) -> str:
    """/grade/results/results.json of an external grader. What does not compile costs no attempt."""
    result = _prairielearn(records, PRAIRIELEARN_BYTES)
    if len(result) <= PRAIRIELEARN_BYTES:
        return result
    # There are two texts of each record; a third of the room is for what is around them.
    return _prairielearn(records, PRAIRIELEARN_BYTES // (3 * len(records)))


def _prairielearn(records: Records, most: int) -> str:
    possible = sum(float(record["of"]) for record in records.values())
    result: Dict[str, Any] = {
        "gradable": any(r["state"] != "does not compile" for r in records.values()),
        "score": round(total(records) / possible, 6) if possible else 0.0,
        "tests": [
            {
                "name": f"{id} {record['name']}",
                "points": record["points"],
                "max_points": record["of"],
                "output": _cut(feedback(record), most),
            }
            for id, record in records.items()
        ],
    }
    if not result["gradable"]:
        problems = [_text(record["problem"]) for record in records.values()]
        result["format_errors"] = [_cut(problem, most) for problem in problems]
    return _json(result)


def autolab(records: Records) -> str:
    """What an autograder prints: text for the student, then one line of JSON. The problems of the
    assessment are called as the exercises' numbers."""
    said = "\n\n".join(
        f"{id} {record['name']}\n{feedback(record)}" for id, record in records.items()
    )
    scores = {id: record["points"] for id, record in records.items()}
    return f"{said}\n{json.dumps({'scores': scores})}\n"


def classroom50(records: Records, given: Optional[Mapping[str, str]] = None) -> str:
    """result.json of an autograder.py, whose runner says in its environment what is graded. Points
    are whole numbers there: each exercise's are rounded down."""
    given = os.environ if given is None else given
    missing = [name for name in (*_OF_THE_RUNNER.values(), "OWNER") if not given.get(name)]
    if missing:
        raise LabError(
            f"the result of Classroom 50 needs {', '.join(missing)} in the environment, where its"
            " runner puts them.",
            USAGE,
        )
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    tests = [
        {
            "test-name": f"{id} {record['name']}",
            "passed": record["points"] == record["of"],
            "score": int(record["points"]),
            "max-score": int(record["of"]),
            "output": feedback(record),
        }
        for id, record in records.items()
    ]
    return _json(
        {
            "schema": "classroom50/result/v1",
            **{field: given[name] for field, name in _OF_THE_RUNNER.items()},
            "assignment_type": given.get("ASSIGNMENT_TYPE") or "individual",
            "owner": given["OWNER"],
            "review": given.get("REVIEW_URL") or given["COMMIT_URL"],
            "datetime": given.get("COMMITTED_AT") or now,
            "graded_at": now,
            "score": sum(int(record["points"]) for record in records.values()),
            "max-score": sum(int(record["of"]) for record in records.values()),
            "tests": tests,
        }
    )


_OF_THE_RUNNER = {
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
}

# --- a class -------------------------------------------------------------------------------------


def canvas(table: Table, title: str) -> str:
    """A gradebook's CSV. Students are found by the number in the names of downloaded files, or by
    their name where there is none."""
    rows: List[List[str]] = [[*_CANVAS_HEAD, title]]
    possible = max(
        (sum(r["of"] for r in records.values()) for records in table.values()), default=0
    )
    rows.append(["    Points Possible", "", "", "", "", _points(possible)])
    for student, records in table.items():
        name, number = _named(student)
        rows.append([name, number, "", "", "", _points(total(records))])
    return _csv(rows)


_CANVAS_HEAD = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]

# A title with a name of a column of the gradebook's own, which an import leaves out; or one that
# looks like a number, with a comma for thousands or for decimals, and would be written otherwise.
_NOT_FOR_CANVAS = re.compile(
    r".*(?:(?:Current|Final) (?:Score|Points|Grade)|Override (?:Score|Grade|Status)).*"
    r"|-?[0-9.,]*(?:,|\..*\.)[0-9.,]*%?",
    re.DOTALL,
)


def moodle(table: Table, _title: str) -> str:
    """A grading worksheet's CSV. The participant's number is in the names of downloaded folders.
    Feedback is HTML. There is no backslash: PHP takes one before a quote for an escape, and reads
    on where the field ends."""
    head = ["Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)"]
    rows = [[*head, "Feedback comments"]]
    for student, records in table.items():
        name, number = _named(student)
        possible = sum(record["of"] for record in records.values())
        said = "\n\n".join(f"{id}: {feedback(record)}" for id, record in records.items())
        said = html.escape(said).replace("\\", "&#92;")
        # Nobody has the number 0. An empty one is a mistake in some databases.
        row = [f"Participant {number or 0}", name.replace("\\", "/")]
        row += [_points(total(records)), _points(possible), "-", f"<pre>{said}</pre>"]
        rows.append(row)
    return _csv(rows)


def _named(student: str) -> "tuple[str, str]":
    """`Ann Lee_4711` is Ann Lee, whose number is 4711."""
    match = re.fullmatch(r"(.*)_([0-9]{1,18})", shown(student), re.DOTALL)
    name, number = (match[1], match[2]) if match else (shown(student), "")
    return _no_formula(name), number


def _points(value: float) -> str:
    """As records have them: rounded up, they could be more than there are, which is refused."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def _no_formula(text: str) -> str:
    return "'" + text if text[:1] in ("=", "+", "-", "@") else text


def _csv(rows: List[List[str]]) -> str:
    to = io.StringIO()
    writer = csv.writer(to, lineterminator="\n")
    writer.writerows(rows)
    return to.getvalue()


OF_A_STUDENT: Dict[str, Callable[[Records], str]] = {
    "gradescope": gradescope,
    "prairielearn": prairielearn,
    "autolab": autolab,
    "classroom50": classroom50,
}
OF_A_CLASS: Dict[str, Callable[[Table, str], str]] = {"canvas": canvas, "moodle": moodle}


def names(text: str, title: str = "") -> List[str]:
    """The formats that `--format` asks for."""
    known = [*OF_A_CLASS, *OF_A_STUDENT]
    wanted = [name for name in text.split(",") if name]
    for name in wanted:
        if name not in known:
            raise LabError(f"there is no format '{name}'; there are {', '.join(known)}.", USAGE)
    if "canvas" in wanted and (title in _CANVAS_HEAD or _NOT_FOR_CANVAS.fullmatch(title)):
        raise LabError(
            f"Canvas takes the title '{title}' for something else: give the rubric another.", USAGE
        )
    return wanted


def write(out: Path, wanted: List[str], table: Table, title: str) -> None:
    """`canvas.csv`, or a folder such as `gradescope/` with a file for each student."""
    for name in wanted:
        if name in OF_A_CLASS:
            write_text(out / f"{name}.csv", OF_A_CLASS[name](table, title))
            continue
        ending = "txt" if name == "autolab" else "json"
        for student, records in table.items():
            path = out / name / f"{page_name(student)}.{ending}"
            write_text(path, OF_A_STUDENT[name](records))
