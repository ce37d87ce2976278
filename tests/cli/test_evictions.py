"""Evictions as the API server asks about them, and as it is answered."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.preemption.groups import NOW, Group
from webhook.cli.evictions import EvictionReviewer
from webhook.errors import ReviewError
from webhook.model.objects import Object
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.policies import load_policies
from webhook.preemption import EvictionGate
from webhook.settings import GuardSettings

POLICY = Path(__file__).parents[2] / "policies/gang/labelled-jobs/policy.yaml"


def reviewed(group: Group, tmp_path: Path, review: Object | None = None, **disruption: Any) -> Object:
    documents = list(yaml.safe_load_all(POLICY.read_text()))
    documents[0]["spec"]["disruption"] = disruption
    name, binding = (document["metadata"]["name"] for document in documents[:2])
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump_all(documents))
    if not group.job["metadata"].get("annotations"):
        group.with_job("metadata.annotations.gangwarden~dev/group-policy", f"{name}/{binding}")
    reviewer = EvictionReviewer(
        SimpleNamespace(current=load_policies([tmp_path])), group.snapshot, EvictionGate(GuardSettings()), clock=lambda: NOW
    )
    found = reviewer.review(review or asked(), phase=Phase.VALIDATE, failure_policy=FailurePolicy.IGNORE, expired=lambda: False)
    response = json.loads(json.dumps(found.document))["response"]
    assert isinstance(response, dict)
    return response


def asked(pod: str = "train-0") -> Object:
    """Return the review of an eviction, as a real API server sends it: without the pod."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "kind": {"group": "policy", "version": "v1", "kind": "Eviction"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "subResource": "eviction",
            "name": pod,
            "namespace": "team-a",
            "operation": "CREATE",
            "userInfo": {"username": "kubernetes-admin"},
            "object": {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}, "deleteOptions": {}},
            "dryRun": False,
        },
    }


def test_a_held_eviction_is_answered_so_that_a_drain_prints_the_reason_and_asks_again(tmp_path: Path) -> None:
    response = reviewed(Group().run(), tmp_path, onEviction="Hold")
    assert response["allowed"] is False
    assert (response["status"]["code"], response["status"]["reason"]) == (429, "TooManyRequests")
    assert "group g of Job train works" in response["status"]["message"]
    assert "details" not in response["status"]  # retryAfterSeconds would have the client retry in silence


def test_an_eviction_that_may_go_is_admitted(tmp_path: Path) -> None:
    assert reviewed(Group().run(), tmp_path) == {"uid": "u-1", "allowed": True}


def test_a_workload_whose_policy_is_not_loaded_is_not_held(tmp_path: Path) -> None:
    group = Group().run().with_job("metadata.annotations.gangwarden~dev/group-policy", "gone/gone")
    assert reviewed(group, tmp_path, onEviction="Hold")["allowed"] is True


def test_what_is_no_review_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReviewError):
        reviewed(Group().run(), tmp_path, {"kind": "Pod"}, onEviction="Hold")
