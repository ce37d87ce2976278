"""Policies that others wrote, and the API server's verdicts on their 628 cases, through ``gangwarden check``.

The objects of these cases were judged by the API server's code without defaulting; with the defaults that ``check`` applies
not one verdict is another.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from tests.cli.conftest import Gangwarden
from tests.policies.kubescape import Question, questions

VERDICTS = {"deny": "fail", "warn": "warn"}
"""What the corpus calls them; everything else passes."""


def asked_together(corpus: Path) -> dict[str, list[Question]]:
    """Group the questions that have policy, binding and params in common."""
    found = defaultdict(list)
    for question in questions(corpus):
        found[json.dumps([question.control, question.binding, question.params])].append(question)
    return found


@pytest.mark.parametrize("flags", [pytest.param((), id="with defaults"), pytest.param(("--raw",), id="as written")])
def test_every_case_gets_the_verdict_of_the_api_server(
    flags: tuple[str, ...], gangwarden: Gangwarden, shared_dir: Path, tmp_path: Path
) -> None:
    corpus = shared_dir / "corpora" / "kubescape"
    expected, answered = {}, {}
    for group in asked_together(corpus).values():
        (tmp_path / "bound.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": [group[0].binding, group[0].params]})
        )
        (tmp_path / "cases.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": [question.object for question in group]})
        )
        policy = corpus / "controls" / group[0].control / "policy.yaml"
        result = gangwarden("check", *flags, "-o", "json", "-p", policy, "-p", tmp_path / "bound.json", tmp_path / "cases.json")
        said = {row["source"]: row for row in json.loads(result.stdout)["results"]}
        for index, question in enumerate(group):
            row = said[f"{tmp_path / 'cases.json'}#0[{index}]"]
            assert row["policy"] in {question.binding["spec"]["policyName"], ""}
            assert "resulted in error" not in row["message"]
            answered[question.name] = VERDICTS.get(row["verdict"], "pass")
            expected[question.name] = question.expected
    assert answered == expected
    assert len(answered) == 628
