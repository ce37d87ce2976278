"""PolicyTest files: what they may say, and that nothing misspelt passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.builders import job, namespace, pod_group
from tests.policies.writing import OURS, validating, yaml_of
from webhook.errors import PolicySetError
from webhook.model.access import AccessQuestion, AccessUser
from webhook.model.cases import Case
from webhook.model.objects import Object
from webhook.model.requests import Operation, UserInfo
from webhook.model.verdicts import Verdict
from webhook.policies import load_cases, load_policies

JOB = job().build()
DENIED = {"expect": {"verdict": "deny"}}


def document(*cases: Object, **spec: Any) -> Object:
    return {"apiVersion": OURS, "kind": "PolicyTest", "metadata": {"name": "sizes"}, "spec": {"cases": list(cases), **spec}}


def load(folder: Path, *documents: Object) -> tuple[Case, ...]:
    (folder / "cases.yaml").write_text(yaml_of(*documents))
    (test,) = load_cases(folder / "cases.yaml")
    return test.cases


def test_a_case_may_say_everything(tmp_path: Path) -> None:
    expect = {
        "verdict": "warn", "policy": "sizes", "binding": "b", "rule": "validations[0]", "message": "at most", "field": "spec.x",
        "patched": {"spec": {}}, "groups": [],
    }  # fmt: skip
    written = {
        "name": "a sentence", "operation": "UPDATE", "object": JOB, "oldObject": JOB, "subResource": "status", "user": "alice",
        "groups": ["dev"], "namespaceObject": namespace(), "params": [JOB], "snapshot": [JOB], "expect": expect,
    }  # fmt: skip
    (case,) = load(tmp_path, document(written, params=[namespace()]))
    assert (case.name, case.operation, case.object, case.old_object) == ("a sentence", Operation.UPDATE, JOB, JOB)
    assert (case.sub_resource, case.user) == ("status", UserInfo(username="alice", groups=("dev",)))
    assert (case.namespace_object, case.params, case.snapshot) == (namespace(), (namespace(), JOB), (JOB,))
    assert (case.expect.verdict, case.expect.patched, case.expect.groups) == (Verdict.WARN, {"spec": {}}, ())


def test_objects_may_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(yaml_of(JOB, job("other").build()))
    (tmp_path / "cluster.yaml").write_text(yaml_of({"apiVersion": "v1", "kind": "List", "items": [pod_group("a").build(), JOB]}))
    (case,) = load(tmp_path, document({"name": "x", "file": "jobs.yaml#1", "snapshot": ["cluster.yaml"], **DENIED}))
    assert case.object == job("other").build()
    assert [obj["kind"] for obj in case.snapshot] == ["PodGroup", "Job"]


def test_a_deletion_takes_the_object_as_the_old_one(tmp_path: Path) -> None:
    (case,) = load(tmp_path, document({"name": "x", "operation": "DELETE", "object": JOB, **DENIED}))
    assert (case.object, case.old_object) == (None, JOB)


def test_the_policies_are_those_of_the_folder_unless_named(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(yaml_of(validating()))
    case = {"name": "x", "object": JOB, **DENIED}
    (tmp_path / "cases.yaml").write_text(yaml_of(document(case), document(case, policies=["p.yaml"])))
    assert [test.policies for test in load_cases(tmp_path / "cases.yaml")] == [(str(tmp_path),), (str(tmp_path / "p.yaml"),)]


def test_cases_are_no_part_of_a_policy_set(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(yaml_of(validating(), document({"name": "x", "object": JOB, **DENIED})))
    assert [policy.head.source.name for policy, _ in load_policies([tmp_path]).validating] == ["sizes"]
    assert len(load_cases(tmp_path / "all.yaml")) == 1


CASE = {"name": "x", "object": JOB, **DENIED}


@pytest.mark.parametrize(
    ("case", "field", "message"),
    [
        ({**CASE, "expct": {}}, "expct", 'unknown field; did you mean "expect"?'),
        ({**CASE, "expect": None}, "expect", "required"),
        ({**CASE, "expect": {}}, "expect.verdict", "required"),
        ({**CASE, "expect": {"verdict": ""}}, "expect.verdict", "required"),
        ({**CASE, "expect": {"verdict": "denied"}}, "expect.verdict",
         '"denied" is not supported: use allow, deny, warn, audit, error or skip'),
        ({**CASE, "expect": {"verdict": "deny", "reason": "x"}}, "expect.reason", "unknown field"),
        ({**CASE, "name": None}, "name", "required"),
        ({**CASE, "operation": "PATCH"}, "operation", '"PATCH" is not supported: use CREATE, UPDATE, DELETE or CONNECT'),
        ({**CASE, "operation": "UPDATE"}, "", "operation UPDATE needs an object and an old one"),
        ({**CASE, "object": None}, "", "one of object, file, oldObject and oldFile is required"),
        ({**CASE, "file": "jobs.yaml"}, "file", "object and file exclude each other"),
        ({"name": "x", "file": "two.yaml", **DENIED}, "file", 'two.yaml has 2 documents: choose one, such as "two.yaml#0"'),
        ({"name": "x", "file": "two.yaml#2", **DENIED}, "file", 'two.yaml has 2 documents: choose one, such as "two.yaml#0"'),
    ],
)  # fmt: skip
def test_a_case_is_refused_for(tmp_path: Path, case: Object, field: str, message: str) -> None:
    (tmp_path / "two.yaml").write_text(yaml_of(JOB, JOB))
    with pytest.raises(PolicySetError) as raised:
        load(tmp_path, document(case))
    place = ".".join(part for part in ("spec.cases[0]", field) if part)
    assert (place, message) in [(error.field, error.args[0]) for error in raised.value.errors]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"cases": []}, "required: at least one case"),
        ({"cases": [CASE, CASE]}, "is there twice"),
        ({"cases": [CASE], "policies": ["x"]}, "there is no"),
    ],
)
def test_a_test_is_refused_for(tmp_path: Path, spec: Object, message: str) -> None:
    with pytest.raises(PolicySetError, match=message):
        load(tmp_path, document(*spec.pop("cases"), **spec))


def test_without_rules_nobody_can_tell_who_may_do_what_and_a_case_speaks_before_all_cases(tmp_path: Path) -> None:
    (without,) = load(tmp_path, document(CASE))
    assert without.authorizer is None
    shared, own = {"verb": "list", "allowed": True}, {"user": "bob", "allowed": False}
    question = AccessQuestion(user=AccessUser(name="bob"), verb="list", resource="nodes")
    for given, allowed in (([], True), ([own], False)):
        (case,) = load(tmp_path, document({**CASE, "authorizer": given}, authorizer=[shared]))
        assert case.authorizer is not None
        assert case.authorizer.authorize(question).allowed is allowed


@pytest.mark.parametrize(
    ("rule", "message"),
    [({"usr": "alice"}, "unknown field"), ({"allowed": "yes"}, r"\[1\].allowed must be true or false")],
)
def test_a_rule_that_is_none_is_told(tmp_path: Path, rule: Object, message: str) -> None:
    with pytest.raises(PolicySetError, match=message):
        load(tmp_path, document(CASE, authorizer=[{"user": "bob"}, rule]))
