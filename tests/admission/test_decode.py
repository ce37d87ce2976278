"""Whatever a caller sends is read or refused with the field's name; nothing crashes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import job, review
from webhook.admission.decode import decode_review
from webhook.admission.diff import diff
from webhook.cli.reviewer import is_shallow
from webhook.errors import ReviewError
from webhook.model.objects import Kind
from webhook.model.requests import Operation
from webhook.server.reviewing import levels_of


def nested(depth: int) -> dict:
    value: dict = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def test_a_review_is_read_field_by_field():
    request = decode_review(review(job("train").build(), dryRun=True))
    assert (request.operation, request.name, request.namespace, request.dry_run) == (Operation.CREATE, "train", "team-a", True)
    assert request.kind == Kind("batch", "v1", "Job")
    assert request.user.username == "alice"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        pytest.param([], "must be an AdmissionReview object, not a list", id="a list"),
        pytest.param({"kind": "Pod", "apiVersion": "v1"}, "expected admission.k8s.io/v1 AdmissionReview", id="another kind"),
        pytest.param({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}, "has no request", id="no request"),
        pytest.param(review(None), "request.object must not be null on CREATE", id="a null object"),
        pytest.param(review(None, operation="DELETE"), "request.oldObject must not be null on DELETE", id="a null old object"),
        pytest.param(review(job().build(), operation="PATCH"), "request.operation is 'PATCH'", id="an unknown operation"),
        pytest.param(review(job().build(), uid=""), "request.uid must be a string", id="no uid"),
        pytest.param(review(job().build(), kind=None), "request.kind and request.resource are required", id="no kind"),
        pytest.param(
            review(job().build(), kind=[1]), "request.kind must be an object, not a list", id="a kind of the wrong shape"
        ),
        pytest.param(review(job().build(), userInfo={"groups": [1]}), "groups must be a list of strings", id="odd groups"),
        pytest.param(review(job().build() | {"spec": nested(2000)}), "object is nested more than 256", id="a bottomless object"),
        pytest.param(review(job().build() | {"spec": nested(255)}), "object is nested more than 256", id="a level too deep"),
        pytest.param(
            review(job().build(), userInfo={"extra": nested(300)}), "userInfo is nested more than", id="a bottomless user"
        ),
    ],
)
def test_a_broken_review_is_refused_in_words(body, complaint):
    with pytest.raises(ReviewError, match=complaint):
        decode_review(body)


def test_deleting_needs_only_the_old_object():
    request = decode_review(review(None, operation="DELETE", old=job().build()))
    assert request.object is None
    assert request.old_object is not None


def test_an_object_of_256_levels_is_read_and_can_be_compared():
    request = decode_review(review(job().build() | {"spec": nested(254)}))
    assert diff(request.object, job().build() | {"spec": nested(253)})


@pytest.mark.parametrize("levels", [1, 200, 250, 251, 252, 253, 254, 255, 256, 300, 900])
def test_the_quick_look_at_depth_lets_nothing_pass_that_the_walk_refuses(levels: int) -> None:
    def outcome(**quick: Any) -> str:
        try:
            return repr(decode_review(review(job().build() | {"spec": nested(levels)}), **quick).object)
        except ReviewError as error:
            return str(error)

    body = json.dumps(review(job().build() | {"spec": nested(levels)})).encode()
    assert outcome(is_shallow=is_shallow) == outcome() == outcome(levels=levels_of(body))


def test_a_quick_look_saves_the_walk() -> None:
    seen: list[object] = []
    decode_review(body := review(job().build()), is_shallow=lambda value: not seen.append(value))
    assert seen == [body["request"]]
    decode_review(body, levels=256, is_shallow=lambda value: not seen.append(value))
    assert len(seen) == 1
    decode_review(body, levels=257, is_shallow=lambda value: not seen.append(value))
    assert len(seen) == 2
    assert is_shallow(body)
    assert not is_shallow({"text": "\ud800"})
