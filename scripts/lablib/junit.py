# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Results as JUnit XML, which instructors' and build servers' tools read: a suite for each test
program, with each case's time and message."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import List
from xml.etree import ElementTree

from lablib import test_program
from lablib.errors import LabError
from lablib.files import write_atomically

_KINDS = {
    test_program.FAILED: "failure",
    test_program.CRASHED: "error",
    test_program.TIMED_OUT: "error",
    test_program.NOT_RUN: "error",
    test_program.SKIPPED: "skipped",
}


def _text(text: str) -> str:
    """Without what XML cannot hold."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


@dataclass
class Report:
    suites: List[ElementTree.Element] = field(default_factory=list)

    def add(self, name: str, result: test_program.Result) -> None:
        suite = self._suite(name)
        nothing_ran = not result.something_ran
        for case in result.cases.values():
            suite_name, _, case_name = case.name.partition(".")
            element = self._case(suite, f"{name}.{suite_name}", case_name, case.seconds)
            kind = _KINDS.get(case.state)
            if nothing_ran and result.status == 77:
                kind = "skipped"
            if kind is None:
                continue
            failures = [test_program.sentence(said) for said in case.said if said.is_failure]
            message = (failures or [""])[0].split("\n")[0] or case.detail or case.state
            if nothing_ran:
                message = (result.outside or [result.ending])[-1]
            printed = [said.text for said in case.said if not said.is_failure]
            self._fill(element, kind, message, "\n".join([*failures, case.detail]).strip())
            if printed:
                ElementTree.SubElement(element, "system-out").text = _text("\n".join(printed))
        if not result.passed and not result.failures and result.status != 77:
            # No case is to blame: the program is.
            element = self._case(suite, name, "the whole program", 0)
            self._fill(element, "error", result.ending, "\n".join(result.outside))
        self._count(suite)

    def add_failure(self, name: str, message: str) -> None:
        """A program that is not there: it does not compile, for example."""
        suite = self._suite(name)
        element = self._case(suite, name, "the whole program", 0)
        self._fill(element, "error", message, message)
        self._count(suite)

    def write(self, path: Path) -> None:
        root = ElementTree.Element("testsuites")
        root.extend(self.suites)
        ElementTree.indent(root)
        text = ElementTree.tostring(root, encoding="unicode")
        try:
            write_atomically(path, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')
        except OSError as error:
            raise LabError(f"cannot write {path}: {error.strerror}.") from error

    def _suite(self, name: str) -> ElementTree.Element:
        self.suites.append(ElementTree.Element("testsuite", name=_text(name)))
        return self.suites[-1]

    @staticmethod
    def _case(
        suite: ElementTree.Element, class_name: str, name: str, seconds: float
    ) -> ElementTree.Element:
        values = {"classname": _text(class_name), "name": _text(name), "time": f"{seconds:.3f}"}
        return ElementTree.SubElement(suite, "testcase", values)

    @staticmethod
    def _fill(element: ElementTree.Element, kind: str, message: str, text: str) -> None:
        ElementTree.SubElement(element, kind, message=_text(message)).text = _text(text)

    @staticmethod
    def _count(suite: ElementTree.Element) -> None:
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
        suite.set("tests", str(len(suite)))
        suite.set("time", f"{sum(float(case.get('time', '0')) for case in suite):.3f}")


def of_ctest(summary: Path, events: Path) -> Report:
    """A run of CTest: its own JUnit file, with the cases of each program that wrote its events."""
    report = Report()
    try:
        tests = ElementTree.parse(summary).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError) as error:
        raise LabError(f"CTest wrote no results to make a report of: {error}.") from error
    for test in tests:
        name, status = test.get("name", ""), test.get("status", "")
        file = events / f"{name}.jsonl"
        if status != "notrun" and file.is_file():
            result = test_program.read(file, passed=status == "run")
            report.add(name, result)
            continue
        suite = report._suite(name)
        element = report._case(suite, "ctest", name, float(test.get("time", "0") or 0))
        said = (test.findtext("system-out") or "").strip()
        reason = test.find("skipped")
        if status == "fail":
            report._fill(element, "failure", said.split("\n")[-1] or "it failed", said)
        elif reason is not None and "SKIP_" in reason.get("message", ""):
            report._fill(element, "skipped", said.split("\n")[-1], said)
        elif status != "run":  # the program is not there, or a test that this one needs failed
            message = "not run: the program has not been built from the sources as they are"
            report._fill(element, "error", message, said)
        report._count(suite)
    return report
