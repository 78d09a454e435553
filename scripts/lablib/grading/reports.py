# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What people and other programs read of the records: a table, JUnit, and pages of HTML, which need
no JavaScript and load nothing."""

import csv
import html
import io
import re
from pathlib import Path
from typing import Dict, List, Sequence
from xml.etree import ElementTree

from lablib.exercises import Exercise
from lablib.grading.grade import Record, Table, number_of, write_text

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #1a1a1a; background: #fff; overflow-wrap: anywhere; }
table { border-collapse: collapse; } th, td { border: 1px solid #bbb; padding: .3rem .6rem;
  text-align: start; } th { overflow-wrap: normal; } td:not(.points) { min-width: 9rem; }
td.points { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { background: #f3f3f3; padding: .8rem; overflow-x: auto; white-space: pre-wrap; }
.note { border-inline-start: .3rem solid #b36b00; padding-inline-start: .8rem; }
.scroll { overflow-x: auto; }
.bar { background: #3a6ea5; block-size: 1rem; }
"""


def write_all(
    out: Path,
    table: Table,
    exercises: Sequence[Exercise],
    place: str,
    title: str = "",
    names: bool = False,
) -> None:
    write_text(out / "class.csv", as_csv(table, exercises, names))
    write_text(out / "junit.xml", as_junit(table))
    write_text(out / "index.html", class_page(table, exercises, place, title))
    for student, records in table.items():
        write_text(out / "students" / f"{page_name(student)}.html", page(student, records, place))


def page_name(student: str) -> str:
    """A file's name that says whose it is, and is the only one of its kind."""
    key = number_of(student)[:8]
    readable = re.sub(r"[^A-Za-z0-9]+", "-", student)[:40].strip("-")
    return f"{readable}-{key}" if readable else key


def shown(student: str) -> str:
    """A name as text: what is no character is replaced."""
    text = student.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return re.sub(r"[\x00-\x1f\x7f]", "\ufffd", text)


def shown_points(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def total(records: Dict[str, Record]) -> float:
    return sum(float(record["points"]) for record in records.values())


def as_csv(table: Table, exercises: Sequence[Exercise], names: bool = False) -> str:
    """Points, which instructors pass on more often than pages: students are named on request."""
    to = io.StringIO()
    writer = csv.writer(to, lineterminator="\n")
    writer.writerow(["student", *(exercise.id for exercise in exercises), "total", "remarks"])
    for student, records in table.items():
        remarks = [
            f"{id}: {record['state']}"
            for id, record in records.items()
            if record["state"] != "graded"
        ]
        remarks += [f"{id}: hazard" for id, record in records.items() if record["hazards"]]
        remarks += [f"{id}: speed" for id, r in records.items() if r["speed"].get("problem")]
        # (With a letter, so that no spreadsheet takes the number for one of its own.)
        name = shown(student) if names else f"s{number_of(student)}"
        if name[:1] in ("=", "+", "-", "@"):  # no formula of a spreadsheet
            name = "'" + name
        row = [shown_points(records[exercise.id]["points"]) for exercise in exercises]
        writer.writerow([name, *row, shown_points(total(records)), "; ".join(remarks)])
    return to.getvalue()


def as_junit(table: Table) -> str:
    root = ElementTree.Element("testsuites")
    for student, records in table.items():
        for id, record in records.items():
            name = _xml(f"{shown(student)} {id}")
            suite = ElementTree.SubElement(root, "testsuite", name=name)
            told = {one["case"]: one["text"] for one in record["failures"]}
            failures = skipped = 0
            for case, state in record["cases"].items():
                class_name, _, test = case.partition(".")
                values = {"classname": _xml(class_name), "name": _xml(test)}
                element = ElementTree.SubElement(suite, "testcase", values)
                if record["passed"].get(case, state == "passed") and case not in record["hazards"]:
                    continue
                if state == "skipped" and case not in record["passed"]:
                    ElementTree.SubElement(element, "skipped")
                    skipped += 1
                    continue
                failures += 1
                text = _xml(told.get(case, state))
                ElementTree.SubElement(element, "failure", message=text.split("\n")[0]).text = text
            if record["state"] != "graded":
                values = {"classname": "submission", "name": record["state"]}
                element = ElementTree.SubElement(suite, "testcase", values)
                failures += 1
                text = _xml("\n".join([record["problem"], *record["notes"]]).strip())
                ElementTree.SubElement(element, "failure", message=text.split("\n")[0]).text = text
            suite.set("tests", str(len(suite)))
            suite.set("failures", str(failures))
            suite.set("skipped", str(skipped))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _xml(text: str) -> str:
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def _e(text: str) -> str:
    return html.escape(_xml(text), quote=True)


def _document(title: str, body: List[str]) -> str:
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_e(title)}</title><style>{_STYLE}</style></head><body><main>",
            *body,
            "</main></body></html>",
            "",
        ]
    )


def _scrolling(title: str, rows: List[str]) -> str:
    """A table that may be too wide: its box scrolls, and by keyboard, too."""
    box = f'<div class="scroll" role="region" tabindex="0" aria-label="{_e(title)}">'
    return "\n".join([f"{box}<table>", *rows, "</table></div>"])


def _isolation(place: str) -> str:
    if place.startswith("no sandbox"):
        return (
            '<p class="note">Graded without a sandbox: nothing was isolated, so nothing here can'
            " be relied on.</p>"
        )
    return ""


def page(student: str, records: Dict[str, Record], place: str) -> str:
    """What one student reads."""
    body = [f'<h1 dir="auto">{_e(shown(student))}</h1>', _isolation(place)]
    full = sum(record["of"] for record in records.values())
    body.append(f"<p>{shown_points(total(records))} of {shown_points(full)} points")
    body.append("in all.</p>")
    for id, record in records.items():
        body.append(
            f"<h2>{_e(id)} {_e(record['name'])}: {shown_points(record['points'])} points</h2>"
        )
        notes = [*record["notes"], record["late"]]
        body += [f'<p class="note">{_e(note)}</p>' for note in notes if note]
        if record["state"] != "graded":
            body.append(f"<p>No points: {_e(record['state'])}.</p>")
        if record["problem"]:
            body.append(f"<pre>{_e(record['problem'])}</pre>")
        if record["parts"]:
            heads = "<tr><th>part</th><th>tests that pass</th><th>that fail</th></tr>"
            rows = [heads]
            for part in record["parts"]:
                failed = ", ".join(part["failed"]) or "none"
                name = part["name"] if part["has_work"] else f"{part['name']} (see below)"
                rows.append(
                    f"<tr><td>{_e(name)}</td><td class=points>{len(part['passed'])} of"
                    f" {len(part['passed']) + len(part['failed'])}</td><td>{_e(failed)}</td></tr>"
                )
            body.append(_scrolling(f"{id}: its parts", rows))
        if any(not part["has_work"] for part in record["parts"]):
            body.append(
                '<p class="note">Right values are not all that is asked for: the exercise says who'
                " has to compute them, and how. What does not do so gets only a share of its"
                " points.</p>"
            )
        if record["hazards"]:
            body.append(
                '<p class="note">The CPU device, watching every access, found a mistake that'
                " results need not show, such as a race. It takes a share of the points.</p>"
            )
        body += [f"<p>{_e(remark)}</p>" for remark in record["remarks"]]
        for one in record["failures"]:
            body.append(f"<h3>{_e(one['case'])}</h3><pre>{_e(one['text'])}</pre>")
    return _document(shown(student), body)


def class_page(table: Table, exercises: Sequence[Exercise], place: str, title: str = "") -> str:
    """What the instructor reads first."""
    body = [
        f"<h1>{_e(title or 'The class')}</h1>",
        _isolation(place),
        f"<p>{len(table)} submission{'' if len(table) == 1 else 's'}.</p>",
    ]
    heads = "".join(f"<th>{_e(exercise.id)} {_e(exercise.name)}</th>" for exercise in exercises)
    rows = [f"<tr><th>student</th>{heads}<th>total</th></tr>"]
    for student, records in table.items():
        link = f"students/{page_name(student)}.html"
        cells = "".join(_cell(records[exercise.id]) for exercise in exercises)
        rows.append(
            f'<tr><td dir="auto"><a href="{_e(link)}">{_e(shown(student))}</a></td>{cells}'
            f"<td class=points>{shown_points(total(records))}</td></tr>"
        )
    body.append(_scrolling("Points", rows))
    body += _distribution(table)
    for exercise in exercises:
        body += _what_failed(exercise, table)
    return _document(title or "The class", body)


def _distribution(table: Table) -> List[str]:
    """How many submissions have which tenth of the points; whoever has all is in the last one."""
    counts = [0] * 10
    full = 0.0
    for records in table.values():
        full = sum(float(record["of"]) for record in records.values())  # the same for everybody
        share = total(records) / full if full else 0.0
        counts[min(int(10 * share + 1e-9), 9)] += 1
    if not full:
        return []
    rows = ["<tr><th>points</th><th>submissions</th><th></th></tr>"]
    for i, count in enumerate(counts):
        least, end = (shown_points(full * tenth / 10) for tenth in (i, i + 1))
        span = f"{least} to {'less than ' if i < 9 else ''}{end}"
        bar = f'<div class="bar" style="inline-size: {100 * count / max(counts):.0f}%"></div>'
        rows.append(f"<tr><td>{span}</td><td class=points>{count}</td><td>{bar}</td></tr>")
    title = "Distribution of points"
    return [f"<h2>{title}</h2>", _scrolling(title, rows)]


def _cell(record: Record) -> str:
    text = shown_points(record["points"]) if record["state"] == "graded" else record["state"]
    mark = " (hazard)" if record["hazards"] else ""
    return f"<td class=points>{_e(text)}{mark}</td>"


def _what_failed(exercise: Exercise, table: Table) -> List[str]:
    counts: Dict[str, int] = {}
    for records in table.values():
        for test in {t for part in records[exercise.id]["parts"] for t in part["failed"]}:
            counts[test] = counts.get(test, 0) + 1
    if not counts:
        return []
    most = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:5]
    rows = [f"<tr><td>{_e(test)}</td><td>{count}</td></tr>" for test, count in most]
    title = f"{exercise.id}: what most got wrong"
    heads = "<tr><th>test</th><th>submissions</th></tr>"
    return [f"<h2>{_e(title)}</h2>", _scrolling(title, [heads, *rows])]
