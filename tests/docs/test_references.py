"""The runbook and the references are complete: what the code can say has an entry, and an entry is of something it says."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, first_cells, section
from webhook.errors import PolicyError
from webhook.groups.catalogue import CATALOGUE, Topic, notes_on
from webhook.model.disruption import LossCause
from webhook.model.verdicts import Verdict
from webhook.policies import load_policies
from webhook.preemption import telling
from webhook.rules.cluster import CLUSTER_METHODS

RUNBOOK = ROOT / "docs/runbook.md"
CEL = ROOT / "docs/cel.md"
POLICIES = ROOT / "docs/reference/policies.md"
LEVELS = {"warning", "error", "exception", "critical"}
REASON = re.compile(r"[A-Z][A-Za-z]+")
BY_STARLETTE = {"404", "405"}


def trees(*rooms: str) -> Iterator[ast.AST]:
    for room in rooms or ("",):
        for path in sorted((ROOT / "webhook" / room).rglob("*.py")):
            yield ast.parse(path.read_text())


def calls(*rooms: str) -> Iterator[ast.Call]:
    for tree in trees(*rooms):
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""


def texts(*nodes: ast.AST) -> set[str]:
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def event_reasons() -> set[str]:
    """Return the reasons of events: of a Cause, a Tell, of what the controller holds back, and of what it tells of losses."""
    found: set[str] = set()
    for call in calls("groups", "controller"):
        if called(call) in {"Cause", "Tell", "_hold"}:
            found |= texts(*call.args, *(word.value for word in call.keywords if word.arg == "reason"))
    for call in calls("preemption"):
        if called(call) in {"_everywhere", "_tells", "Tell"}:
            found |= texts(*call.args)
    found |= {reason for reason, _ in telling._ENDS.values()}
    return {text for text in found if REASON.fullmatch(text)}


def log_events() -> set[str]:
    """Return the events of log lines that are warnings or worse."""
    found: set[str] = set()
    for call in calls():
        logs = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == "_LOG"
        if logs and called(call) in LEVELS:
            found |= texts(call.args[0])
    return found


def statuses() -> set[str]:
    """Return the HTTP statuses that our own code answers with, success aside."""
    found = {"400"}  # ReviewError's own
    for path in (ROOT / "webhook/server").glob("*.py"):
        found |= {one or two for one, two in re.findall(r"status(?:_code)?=(\d{3})|HTTP/1\.1 (\d{3})", path.read_text())}
    return found


def test_every_event_has_an_entry_and_every_entry_an_event() -> None:
    assert {note.code for note in notes_on(Topic.EVENT)} == event_reasons()


def test_every_cause_of_a_loss_has_an_entry() -> None:
    assert {note.code for note in notes_on(Topic.LOSS)} == {cause.value for cause in LossCause}


def test_every_code_is_told_once_and_says_what_to_do_next() -> None:
    codes = [note.code for topic in Topic for note in notes_on(topic)]
    assert len(set(codes)) == len(codes) == len(CATALOGUE)
    titles = {"Events on a Job": Topic.EVENT, "What takes members": Topic.LOSS, "What explain finds": Topic.FINDING}
    for title, topic in titles.items():
        entries = re.split(r"^### ", section(RUNBOOK, title), flags=re.MULTILINE)[1:]
        assert [entry.split()[0] for entry in entries] == [note.code for note in notes_on(topic)]
        assert all("**Next:** " in entry for entry in entries)


def test_every_warning_in_the_log_has_an_entry_and_every_entry_a_warning() -> None:
    assert set(first_cells(section(RUNBOOK, "Log lines"))) == log_events()


def test_every_http_status_has_an_entry() -> None:
    assert set(first_cells(section(RUNBOOK, "HTTP statuses of the webhook"))) == statuses() | BY_STARLETTE


def test_every_verdict_has_an_entry() -> None:
    assert set(first_cells(section(RUNBOOK, "Verdicts"))) == {verdict.value for verdict in Verdict}


def known_fields() -> set[str]:
    """Return every field that a decoder of policies or of cases reads."""
    found: set[str] = set()
    for name in ("workload", "heads", "native", "exceptions", "cases"):
        tree = ast.parse((ROOT / f"webhook/policies/{name}.py").read_text())
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if called(call) == "only":
                found |= texts(*call.args)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "HEAD_FIELDS":
                found |= texts(*ast.walk(node.value))
    return found - {"apiVersion", "kind", "metadata", "spec", "status"}


def test_every_field_of_a_policy_is_in_the_reference() -> None:
    text = POLICIES.read_text(encoding="utf-8")
    everyday = {"matchLabels", "matchExpressions", "operator", "values"}  # a label selector, as everywhere in Kubernetes
    assert {name for name in known_fields() if not re.search(rf"\b{name}\b", text)} - everyday == set()


@pytest.mark.parametrize("title", ["WorkloadPolicy", "Bindings", "PolicyException", "PolicyTest"])
def test_every_field_in_the_reference_is_one_that_is_read(title: str) -> None:
    named = {name for name in first_cells(section(POLICIES, title)) if re.fullmatch(r"\w+", name)}
    assert named - known_fields() - {"spec", "expect"} == set()


@pytest.mark.parametrize(
    "expression, message", re.findall(r"^\| `(.+?)` \| (.+?) \|$", section(CEL, "Refused when a policy is loaded"), re.MULTILINE)
)
def test_what_the_page_on_cel_calls_refused_is_refused(expression: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=re.escape(message)):
        load_policies([written(expression, tmp_path)])


def test_every_method_of_the_cluster_has_an_entry_on_the_page_on_cel() -> None:
    methods = next(part for part in section(CEL, "The cluster").split("\n\n") if part.startswith("| method |"))
    forms = [re.fullmatch(r"cluster\.(\w+)\((.*)\)", cell) for cell in first_cells(methods)]
    assert all(forms)
    told: dict[str, tuple[int, ...]] = {}
    for form in filter(None, forms):
        told[form[1]] = (*told.get(form[1], ()), len(form[2].split(", ")) if form[2] else 0)
    assert told == CLUSTER_METHODS


def test_a_plain_expression_is_not_refused(tmp_path: Path) -> None:
    assert load_policies([written("object.spec.parallelism > 2", tmp_path)]).validating


def written(expression: str, folder: Path) -> Path:
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "x"}}
    path = folder / "policy.json"
    path.write_text(json.dumps({**head, "spec": spec}))
    return path
