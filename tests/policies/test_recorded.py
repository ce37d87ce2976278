"""Whole policies, asked of the API server's own code (k8s.io/apiserver v0.37.2) once: text, code, warnings, audit.

``recorded/validating.jsonl`` holds policy, bindings, params and request, and the answer; its code runs in no test, so
that the answers can be compared where no Go is. Its dispatcher is the plugin's, which is reached only for resources that
are not exempt; that one answer is from plugin/policy/generic/plugin.go.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from webhook.admission import SnapshotWorld
from webhook.admission.ask import resource_of
from webhook.model.objects import Kind, Object, Resource
from webhook.model.requests import AdmissionRequest, Operation, UserInfo
from webhook.model.snapshot import snapshot_of
from webhook.model.verdicts import Admitted, Denied
from webhook.policies import load_policies
from webhook.rules import Situation, judge

RECORDED = Path(__file__).parent / "recorded" / "validating.jsonl"


def rows() -> list[Object]:
    return [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]


def request_of(row: Object) -> AdmissionRequest:
    """Fill what a row leaves out from its object."""
    asked, obj, old = row.get("request", {}), row.get("object"), row.get("oldObject")
    meta = (obj or old).get("metadata", {})
    kind = Kind(**asked["kind"]) if "kind" in asked else Kind.of(obj or old)
    resource, sub_resource = resource_of(kind)
    user = asked.get("userInfo", {})
    name = asked.get("name") or meta.get("name", "")
    operation = "CREATE" if old is None else "UPDATE" if obj else "DELETE"
    return AdmissionRequest(
        uid="recorded",
        kind=kind,
        resource=Resource(**asked["resource"]) if "resource" in asked else resource,
        sub_resource=asked.get("subResource", sub_resource),
        name=name,
        namespace=name if kind.kind == "Namespace" else asked.get("namespace") or meta.get("namespace", ""),
        operation=Operation(asked.get("operation", operation)),
        user=UserInfo(username=user.get("username", ""), groups=tuple(user.get("groups", ())), extra=user.get("extra", {})),
        object=obj,
        old_object=old,
    )


def namespaces_of(row: Object) -> list[Object]:
    if "namespaceObject" not in row:
        return []
    meta = row["namespaceObject"]["metadata"]
    labels = {"kubernetes.io/metadata.name": meta["name"], **meta.get("labels", {})}
    return [{**row["namespaceObject"], "metadata": {**meta, "labels": labels}}]


def shown(answer: Admitted | Denied) -> Object:
    told: Object = {"allowed": isinstance(answer, Admitted)}
    if isinstance(answer, Denied):
        told |= {"code": answer.code, "reason": answer.reason, "message": answer.message}
    if answer.trail.warnings:
        told["warnings"] = list(answer.trail.warnings)
    if answer.trail.audit_annotations:
        told["audit_annotations"] = answer.trail.audit_annotations
    return told


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["case"])
def test_the_answer_is_the_api_servers(row: Object, tmp_path: Path) -> None:
    for index, document in enumerate([row["policy"], *row["bindings"], *row.get("params", ())]):
        (tmp_path / f"{index}.json").write_text(json.dumps(document))
    policies = load_policies([tmp_path])
    world = SnapshotWorld(snapshot=snapshot_of(namespaces_of(row)), files=policies.params, invents_namespaces=True)
    answer = judge(policies.validating, Situation(request=request_of(row), world=world))
    assert shown(answer) == row["expected"]
