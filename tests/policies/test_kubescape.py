"""Policies that others wrote, with the verdicts that the API server gives on their 628 cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.policies.kubescape import Question, questions
from webhook.admission import Asker, SnapshotWorld, request_for
from webhook.model.snapshot import EMPTY_SNAPSHOT
from webhook.model.verdicts import Admitted, Denied
from webhook.policies import load_policies
from webhook.rules import Situation, judge

CASES = 628


@pytest.fixture(scope="module")
def corpus(shared_dir: Path) -> Path:
    return shared_dir / "corpora" / "kubescape"


def answer(question: Question, corpus: Path, tmp_path: Path) -> Admitted | Denied:
    for name, document in (("binding", question.binding), ("params", question.params)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    policies = load_policies([corpus / "controls" / question.control / "policy.yaml", tmp_path])
    world = SnapshotWorld(snapshot=EMPTY_SNAPSHOT, files=policies.params, invents_namespaces=True)
    return judge(policies.validating, Situation(request=request_for(question.object, Asker()), world=world))


def verdict(question: Question, answer: Admitted | Denied) -> str:
    policy = question.binding["spec"]["policyName"]
    if isinstance(answer, Denied):
        return "fail" if f"'{policy}'" in answer.message else "denied by another policy"
    return "warn" if any(f"'{policy}'" in warning for warning in answer.trail.warnings) else "pass"


def test_every_case_gets_the_verdict_of_the_api_server(corpus: Path, tmp_path: Path) -> None:
    asked = list(questions(corpus))
    answers = {question.name: answer(question, corpus, tmp_path) for question in asked}
    assert {q.name: verdict(q, answers[q.name]) for q in asked} == {q.name: q.expected for q in asked}
    assert len(asked) == CASES
    assert [f for found in answers.values() for f in found.trail.findings if "resulted in error" in f.message] == []
