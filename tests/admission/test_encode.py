"""The answer in the API server's shape, and what it would drop without a word otherwise."""

from __future__ import annotations

import base64
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.admission import encode_review
from webhook.admission.encode import audit_key
from webhook.model.objects import Object
from webhook.model.verdicts import Admitted, Answer, Denied, Patched, Trail

QUALIFIED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def dump(value: object) -> bytes:
    return json.dumps(value).encode()


def response(answer: Answer) -> Object:
    body = encode_review("42", answer, dump=dump)
    assert (body["apiVersion"], body["kind"], body["response"]["uid"]) == ("admission.k8s.io/v1", "AdmissionReview", "42")
    found: Object = body["response"]
    return found


def test_an_admission_says_no_more_than_that() -> None:
    assert response(Admitted()) == {"uid": "42", "allowed": True}


def test_a_patch_goes_as_base64_of_json_patch() -> None:
    operations = ({"op": "add", "path": "/a", "value": 1},)
    found = response(Patched(object={"a": 1}, patch=operations))
    assert (found["allowed"], found["patchType"]) == (True, "JSONPatch")
    assert json.loads(base64.b64decode(found["patch"])) == list(operations)


def test_a_denial_carries_its_code_and_no_patch() -> None:
    found = response(Denied(message="no", reason="Forbidden", code=403))
    assert found["allowed"] is False
    assert found["status"] == {"status": "Failure", "message": "no", "reason": "Forbidden", "code": 403}
    assert "patch" not in found


@pytest.mark.parametrize(
    ("warning", "sent"),
    [
        ("plain", "plain"),
        ("expression 'a &&\n  b' failed\n", "expression 'a && b' failed"),
        ("tab\there, bell\x07, delete\x7f, next line\x85", "tab here, bell , delete , next line"),
        ("\u2028ends", "ends"),
    ],
    ids=["as it is", "line breaks", "control characters", "a line separator"],
)
def test_a_warning_holds_no_control_character(warning: str, sent: str) -> None:
    assert response(Admitted(trail=Trail(warnings=(warning,))))["warnings"] == [sent]


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("sizes/high-replicas", "sizes_high-replicas"),
        ("validation.policy.admission.k8s.io/validation_failure", "validation.policy.admission.k8s.io_validation_failure"),
        ("workload-policy.gangs", "workload-policy.gangs"),
    ],
)
def test_the_slash_of_an_audit_key_is_the_webhooks(key: str, sent: str) -> None:
    assert response(Admitted(trail=Trail(audit_annotations={key: "x"})))["auditAnnotations"] == {sent: "x"}


def test_long_keys_that_begin_alike_stay_apart() -> None:
    long = "a" * 100
    assert audit_key(f"{long}/x") != audit_key(f"{long}/y")


@given(
    policy=st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?", fullmatch=True),
    name=st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", fullmatch=True),
)
def test_every_audit_key_is_one_that_the_api_server_takes(policy: str, name: str) -> None:
    """It adds ``<webhook>/`` and asks for a qualified name (attributes.go, checkKeyFormat)."""
    key = audit_key(f"{policy}/{name}")
    assert len(key) <= 63
    assert QUALIFIED.fullmatch(key)
