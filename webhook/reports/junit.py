"""JUnit XML, in the form that Jenkins, GitLab, Azure and GitHub actions agree on (the Ant schema with ``file`` and ``line``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from webhook.model.diagnostics import Diagnostic, Level

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped: a report with one of them is thrown away as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitCase:
    """One thing that was looked at. It failed if there is a failure; what it skipped says why."""

    name: str
    file: str = ""
    line: int = 0
    failure: str = ""
    skipped: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitSuite:
    """Cases that belong together, usually those of a file."""

    name: str
    cases: tuple[JUnitCase, ...]


def junit_xml(suites: Iterable[JUnitSuite]) -> str:
    """Return the document, without a line break at the end."""
    suites = tuple(suites)
    root = ET.Element("testsuites", {"name": "gangwarden", **_counts([case for suite in suites for case in suite.cases])})
    for suite in suites:
        element = ET.SubElement(root, "testsuite", {"name": _clean(suite.name), **_counts(suite.cases)})
        for case in suite.cases:
            _add(element, suite.name, case)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


def diagnostic_suites(diagnostics: Iterable[Diagnostic], files: Iterable[str]) -> tuple[JUnitSuite, ...]:
    """Return a suite per file: a case per error or warning, or one that passed where a file has nothing but notes."""
    found: dict[str, list[JUnitCase]] = {file: [] for file in files}
    for one in diagnostics:
        cases = found.setdefault(one.file, [])
        if one.level is not Level.NOTE:
            name = " ".join(part for part in (one.rule, one.subject) if part)
            cases.append(JUnitCase(name=name, file=one.file, line=one.line, failure=one.message))
    return tuple(
        JUnitSuite(name=file or "(no file)", cases=tuple(cases) or (JUnitCase(name="no findings", file=file),))
        for file, cases in found.items()
    )


def _counts(cases: Sequence[JUnitCase]) -> dict[str, str]:
    failed = sum(bool(case.failure) for case in cases)
    skipped = sum(bool(case.skipped and not case.failure) for case in cases)
    return {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}


def _add(suite: ET.Element, classname: str, case: JUnitCase) -> None:
    attributes = {"classname": _clean(classname), "name": _clean(case.name)}
    if case.file:
        attributes["file"] = _clean(case.file)
    if case.line:
        attributes["line"] = str(case.line)
    element = ET.SubElement(suite, "testcase", attributes)
    if case.failure:
        first = case.failure.splitlines()[0] if case.failure.strip() else ""
        failure = ET.SubElement(element, "failure", {"message": _clean(first), "type": "failure"})
        failure.text = _clean(case.failure)
    elif case.skipped:
        ET.SubElement(element, "skipped", {"message": _clean(case.skipped)})


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
