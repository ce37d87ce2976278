"""Shipped policies repeat words that the code knows: here they are the same ones."""

from __future__ import annotations

import pytest

from tests.builders import job
from tests.library.asking import ask
from tests.library.test_policies import LIBRARY, policies_of
from webhook.groups import claims
from webhook.model import groups
from webhook.model.cases import Case, Expectation
from webhook.model.policies import Origin
from webhook.model.verdicts import Verdict


def verdict_of(folder: str, *, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None) -> Verdict:
    """Return what a policy says to a gang with these further words."""
    asked_about = job("train").gang().build()
    asked_about["metadata"]["labels"].update(labels or {})
    asked_about["metadata"]["annotations"] = annotations or {}
    case = Case(name=folder, origin=Origin(folder), object=asked_about, expect=Expectation(verdict=Verdict.ALLOW))
    return ask(case, policies_of(str(LIBRARY / folder))).results[0].finding.verdict


@pytest.mark.parametrize("mark", claims._FOREIGN_MARKS)
def test_what_makes_us_leave_a_job_alone_is_told(mark: str) -> None:
    key = f"{mark}x" if mark.endswith("/") else mark
    assert verdict_of("gang/one-system", labels={key: "x"}) is Verdict.WARN
    assert verdict_of("gang/one-system", annotations={key: "x"}) is Verdict.WARN
    assert verdict_of("gang/one-system", annotations={f"a.{key}": "x"}) is Verdict.ALLOW


ANNOTATIONS = {value for name, value in vars(groups).items() if name.endswith("_ANNOTATION")}


@pytest.mark.parametrize("key", sorted({*ANNOTATIONS, "gangwarden.dev/restart-safe"}))
def test_an_annotation_that_is_read_is_known(key: str) -> None:
    assert verdict_of("hygiene/known-words", annotations={key: "1"}) is Verdict.ALLOW
    assert verdict_of("hygiene/known-words", annotations={f"{key}s": "1"}) is Verdict.WARN


@pytest.mark.parametrize("key", [groups.GANG_LABEL, groups.PROBE_LABEL])
def test_a_label_that_is_read_is_known(key: str) -> None:
    assert verdict_of("hygiene/known-words", labels={key: "true"}) is Verdict.ALLOW
    assert verdict_of("hygiene/known-words", labels={f"{key}s": "true"}) is Verdict.WARN
