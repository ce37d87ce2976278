"""Every YAML block is what its page claims: a policy loads, a manifest is judged as said, cases pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import job
from tests.docs.pages import ROOT, Block, blocks
from tests.library.asking import ask
from webhook.admission import PolicySet
from webhook.model.cases import Case, Expectation
from webhook.model.objects import Object
from webhook.model.policies import Origin
from webhook.model.verdicts import Verdict
from webhook.policies import load_cases, load_policies

POLICY_KINDS = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "WorkloadPolicy", "WorkloadPolicyBinding"}
YAML = blocks("yaml")
WRITTEN = datetime(2026, 12, 1, tzinfo=UTC)
"""When exceptions on the pages are in force."""


def documents(block: Block) -> list[Any]:
    return list(yaml.safe_load_all(block.text))


def kinds(block: Block) -> set[str]:
    return {doc.get("kind", "") for doc in documents(block) if isinstance(doc, dict)}


def is_whole(block: Block) -> bool:
    """Tell whether a block holds a policy together with its binding."""
    return {kind.removesuffix("Binding") for kind in kinds(block)} < kinds(block)


def loaded(block: Block, folder: Path) -> PolicySet:
    (folder / "block.yaml").write_text(block.text)
    return load_policies([folder / "block.yaml"], now=WRITTEN)


@pytest.mark.parametrize("block", YAML, ids=str)
def test_a_block_is_yaml(block: Block) -> None:
    assert documents(block)


@pytest.mark.parametrize("block", [block for block in YAML if kinds(block) & POLICY_KINDS], ids=str)
def test_a_policy_on_a_page_loads(block: Block, tmp_path: Path) -> None:
    policies = loaded(block, tmp_path)
    assert policies.warnings == () or not is_whole(block)


@pytest.mark.parametrize("block", [block for block in YAML if block.claim.startswith("policy, ") and is_whole(block)], ids=str)
def test_a_policy_on_a_page_does_what_the_page_claims(block: Block, tmp_path: Path) -> None:
    policies = loaded(block, tmp_path)
    asked = ask(case(gang()), policies)
    claim = block.claim.removeprefix("policy, ")
    if claim.startswith("fails: "):
        assert [result.finding.verdict for result in asked.results] == [Verdict.DENY]
    elif found := re.search(r"with (\d+)$", claim):
        assert f"{found[1]} at once or none" in asked.messages[0]
    else:
        assert claim == "defaults written out"


def gang() -> Object:
    """The Job ``demo/small`` of which the pages speak."""
    made = job("small", namespace="demo").build()
    made["metadata"]["labels"] = {"gangwarden.dev/gang": "true"}
    made["spec"] |= {"parallelism": 3, "completions": 3, "completionMode": "Indexed"}
    return made


def case(obj: Object) -> Case:
    return Case(name="a block", origin=Origin("page"), object=obj, expect=Expectation(verdict=Verdict.ALLOW))


def test_the_page_that_writes_all_defaults_out_writes_the_right_ones(tmp_path: Path) -> None:
    (block,) = [block for block in YAML if block.claim == "policy, defaults written out"]
    (full,) = loaded(block, tmp_path).workload
    policy, binding = documents(block)
    spec = policy["spec"]
    needed = ("apiGroups", "apiVersions", "operations", "resources")
    rules = [{key: rule[key] for key in needed} for rule in spec["matchConstraints"]["resourceRules"]]
    groups = [{key: group[key] for key in ("name", "members")} for group in spec["podGroups"]]
    policy["spec"] = {"matchConstraints": {"resourceRules": rules}, "podGroups": groups}
    del binding["spec"]["validationActions"]
    (tmp_path / "short.yaml").write_text(yaml.safe_dump_all([policy, binding]))
    (short,) = load_policies([tmp_path / "short.yaml"]).workload
    assert plain(full.policy.source) == plain(short.policy.source)
    assert [one.actions for one in full.bindings] == [one.actions for one in short.bindings]


def plain(source: Any) -> str:
    """Return a policy without the places where it stands."""
    return re.sub(r"origin=Origin\([^)]*\)|pieces=\(\(.*?\)\)|pieces=\(\),?", "", repr(source))


def test_the_cases_on_a_page_pass(tmp_path: Path) -> None:
    found = [block for block in YAML if block.claim.startswith("cases, with ")]
    assert found
    for block in found:
        (tmp_path / "cases.yaml").write_text(block.text)
        folder = ROOT / block.claim.removeprefix("cases, with ")
        assert list(unmet(tmp_path / "cases.yaml", load_policies([folder]))) == []


def unmet(path: Path, policies: PolicySet) -> Iterator[str]:
    for test in load_cases(path):
        for one in test.cases:
            yield from ask(one, policies).differences


def test_the_job_of_the_tutorial_is_allowed_without_a_warning() -> None:
    made = yaml.safe_load((ROOT / "docs/tutorial/gang.yaml").read_text())
    verdicts = {result.finding.verdict for result in ask(case(made), load_policies([ROOT / "policies"])).results}
    assert verdicts <= {Verdict.ALLOW, Verdict.SKIP}
