"""Whole mutating policies, asked of the API server's own code (k8s.io/apiserver v0.37.2) once: the object, or the refusal.

``recorded/mutating.jsonl`` is written by ``record_mutating``. The plugin fills in no defaults there, so both objects are
completed before they are compared, where we know the kind.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.policies.test_recorded import namespaces_of, request_of
from webhook.admission import SnapshotWorld, apply_defaults
from webhook.admission.diff import diff
from webhook.model.objects import Object
from webhook.model.snapshot import snapshot_of
from webhook.policies import load_policies
from webhook.rules import Mutated, Situation, mutate
from webhook.rules.patch import PatchOperation, apply_patch

RECORDED = Path(__file__).parent / "recorded" / "mutating.jsonl"
ROWS: list[Object] = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]


def mutated(row: Object, folder: Path) -> Mutated:
    given = row.get("params", [])
    params = given if isinstance(given, list) else [given]
    for index, document in enumerate([row["policy"], *row["bindings"], *params]):
        (folder / f"{index}.json").write_text(json.dumps(document))
    policies = load_policies([folder])
    world = SnapshotWorld(snapshot=snapshot_of(namespaces_of(row)), files=policies.params, invents_namespaces=True)
    return mutate(policies.mutating, Situation(request=request_of(row), world=world))


def shown(answer: Mutated) -> Object:
    if answer.denial:
        return {"allowed": False, "code": answer.denial.code, "reason": answer.denial.reason, "message": answer.message}
    return {"allowed": True, "patched": completed(answer.object)}


def completed(obj: Object | None) -> Object | None:
    return obj and apply_defaults(obj)


def wanted(row: Object) -> Object:
    expected: Object = row["expected"]
    return expected | {"patched": completed(expected.get("patched"))} if expected["allowed"] else expected


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["case"])
def test_the_object_or_the_refusal_is_the_api_servers(row: Object, tmp_path: Path) -> None:
    found, expected = shown(mutated(row, tmp_path)), wanted(row)
    if expected.get("code") == 500:  # ours says by which policy, and names a field where Go names a type
        assert (found["code"], found["reason"]) == (500, "InternalError")
        assert found["message"].startswith("Internal error occurred: ")
        assert "policy 'p' with binding 'everywhere', mutations[0]" in found["message"]
    else:
        assert found == expected


@pytest.mark.parametrize("row", [row for row in ROWS if "patched" in row["expected"]], ids=lambda row: row["case"])
def test_the_smallest_patch_leads_to_the_object(row: Object, tmp_path: Path) -> None:
    before: Any = row.get("object")
    after = mutated(row, tmp_path).object
    patch = diff(before or {}, after or {})
    operations = [PatchOperation(op=one["op"], path=one["path"], value=one.get("value")) for one in patch]
    assert apply_patch(before or {}, operations) == (after or {})
    assert bool(patch) is (before != after)


def test_there_are_enough_of_them() -> None:
    assert len({row["case"] for row in ROWS}) == len(ROWS) >= 200
