"""Bodies that no API server sends, through the real endpoint and the real reviewer with the shipped policies.

Whatever comes is answered in words, as an HTTP error or as a denied review, and the next review finds the process alive.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.builders import job, review
from tests.server.running import Running, running
from webhook.cli.reviewer import LiveReviewer
from webhook.model.groups import Capabilities
from webhook.model.objects import Object
from webhook.model.snapshot import EMPTY_SNAPSHOT
from webhook.policies import PolicyStore, bundled_policies, load_policies
from webhook.settings import EvaluationSettings

PATHS = ("/mutate/ignore", "/mutate/fail", "/validate/fail", "/validate/ignore")
GOOD = json.dumps(review(job().gang().build())).encode()


@pytest.fixture(scope="module")
def reviewer() -> LiveReviewer:
    return LiveReviewer(
        PolicyStore(load_policies([bundled_policies()])),
        lambda: EMPTY_SNAPSHOT,
        lambda: Capabilities(group_objects=True, topology=True, shared_claims=True),
        limits=EvaluationSettings(),
        invents_namespaces=True,
    )


def about(change: Callable[[Object], object]) -> bytes:
    """Return a review about a gang Job that was changed."""
    body = review(job().gang().build())
    change(body["request"]["object"])
    return json.dumps(body).encode()


def deep(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


async def said(server: Running, body: bytes, headers: str = "") -> set[tuple[int, str]]:
    """Post a body to every path, and a good one after it: the process must have lived on. Returns the different answers."""
    answers = [await server.post(body, path, headers) for path in PATHS]
    assert [(await server.post(GOOD, path)).json["response"]["allowed"] for path in PATHS] == [True] * len(PATHS)
    return {(answer.status, answer.text) for answer in answers}


def plain(**request: Any) -> bytes:
    """Return a review about nothing, changed."""
    return json.dumps(review(None) | request).encode()


BROKEN = [
    pytest.param(b"", "the body is empty", id="empty"),
    pytest.param(b"{", "the body is not JSON", id="half an object"),
    pytest.param(b"\xff\xfe{}", "the body is not JSON", id="no UTF-8"),
    pytest.param(b"null", "must be an AdmissionReview object, not null", id="null"),
    pytest.param(b"[]", "must be an AdmissionReview object, not a list", id="a list"),
    pytest.param(b"{}", "expected admission.k8s.io/v1 AdmissionReview", id="an empty object"),
    pytest.param(plain(kind="Pod"), "expected admission.k8s.io/v1 AdmissionReview", id="another kind"),
    pytest.param(plain(request=None), "the AdmissionReview has no request", id="no request"),
    pytest.param(plain(request="x"), "request must be an object, not a string", id="a request of text"),
    pytest.param(plain(), "request.object must not be null on CREATE", id="a null object"),
    pytest.param(
        json.dumps(review(job().build(), operation="UPDATE")).encode(),
        "request.oldObject must not be null on UPDATE",
        id="a null old object",
    ),
    pytest.param(deep(10_000), "the body is not JSON", id="10,000 levels"),
    pytest.param(b"[" * 10_000, "the body is not JSON", id="10,000 lists that do not end"),
    pytest.param(b'"\\ud800"', "the body is not JSON", id="half of a surrogate pair"),
    pytest.param(about(lambda obj: obj["metadata"].update(name="a\ud800")), "the body is not JSON", id="and in a name"),
    pytest.param(
        about(lambda obj: obj["metadata"].update(annotations={"a": 1})),
        "request.object.metadata.annotations[a] must be text, not the number 1",
        id="a number for text",
    ),
    pytest.param(
        about(lambda obj: obj["metadata"].update(ownerReferences=7)), "ownerReferences must be a list", id="a number for a list"
    ),
    pytest.param(
        about(lambda obj: obj.update(metadata=[])), "request.object.metadata must be a mapping", id="metadata that are a list"
    ),
]


@pytest.mark.parametrize(("body", "told"), BROKEN)
async def test_what_is_no_review_gets_an_http_error_in_words(body: bytes, told: str, reviewer: LiveReviewer) -> None:
    async with running(reviewer=reviewer) as server:
        ((status, text),) = await said(server, body)
    assert (status, told in text) == (400, True), text


async def test_a_wrong_content_type_and_a_body_over_the_cap_are_refused(reviewer: LiveReviewer) -> None:
    async with running(reviewer=reviewer) as server:
        wrong = await said(server, GOOD, "Content-Type: text/plain\r\n")
        huge = await said(server, b" " * (16 * 1024 * 1024 + 1))
    assert wrong == {(415, "expected content type application/json, got text/plain")}
    assert huge == {(413, "the body is larger than 16777216 bytes")}


async def test_every_depth_is_judged_or_refused_and_never_an_internal_error(reviewer: LiveReviewer) -> None:
    async with running(reviewer=reviewer) as server:
        for levels in (100, 250, 253, 254, 256, 500, 900, 950, 990, 1000, 1010, 1020, 1024, 1100, 5000):
            body = about(lambda obj: obj["spec"].update(odd="?")).replace(b'"?"', deep(levels))
            statuses = {status for status, _ in await said(server, body)}
            assert statuses == {200 if levels <= 254 else 400}, levels


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda obj: obj.update(spec=None), id="no spec"),
        pytest.param(lambda obj: obj.update(spec=[]), id="a spec that is a list"),
        pytest.param(lambda obj: obj["spec"].update(template=None), id="no template"),
        pytest.param(lambda obj: obj["spec"].update(template={"spec": "x"}), id="a pod spec of text"),
        pytest.param(lambda obj: obj["spec"].update(parallelism="4"), id="parallelism as text"),
        pytest.param(lambda obj: obj["spec"].update(parallelism=-1), id="parallelism below zero"),
        pytest.param(lambda obj: obj["spec"].update(parallelism=2**63), id="parallelism beyond 64 bits"),
        pytest.param(lambda obj: obj["spec"].update(parallelism=1e300), id="parallelism beyond reason"),
        pytest.param(lambda obj: obj["spec"]["template"]["spec"].update(containers=[None]), id="a null container"),
        pytest.param(lambda obj: obj["spec"]["template"]["spec"].update(schedulerName=[]), id="a scheduler that is a list"),
        pytest.param(
            lambda obj: obj["spec"]["template"]["spec"].update(schedulingGroup={"podGroupName": {}}), id="a group without a name"
        ),
        pytest.param(lambda obj: obj["metadata"].update(name="\u202e\u0000\x1b[2J💥" * 100), id="an odd name"),
        pytest.param(lambda obj: obj["metadata"].update(annotations={"a": "ü" * 1_000_000}), id="a huge annotation"),
        pytest.param(
            lambda obj: obj["metadata"].update(annotations={f"k{n}": "v" for n in range(20_000)}), id="very many annotations"
        ),
        pytest.param(
            lambda obj: obj["metadata"].update(annotations={"gangwarden.dev/min-count": "9" * 10_000}), id="a huge quorum"
        ),
        pytest.param(
            lambda obj: obj["metadata"].update(annotations={"gangwarden.dev/topology-key": "a/" * 10_000}), id="a huge key"
        ),
    ],
)
async def test_an_object_of_any_shape_gets_a_review(change: Callable[[Object], object], reviewer: LiveReviewer) -> None:
    async with running(reviewer=reviewer) as server:
        answers = await said(server, about(change))
    assert {status for status, _ in answers} == {200}
    for response in (json.loads(text)["response"] for _, text in answers):
        assert response["allowed"] or response["status"]["message"]
