"""Which Jobs get a back-off for each index, and when we owe their deletion for it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admission.attaching import answer, bound, grouped
from tests.builders import Built, job, job_set, namespace
from tests.groups.building import compiled
from webhook.groups import hasten, is_hastened, obstacle_to_haste, plan_release
from webhook.model.groups import FAST_RESTART_ANNOTATION
from webhook.model.objects import Object
from webhook.model.policies import DisruptionSpec
from webhook.model.snapshot import snapshot_of

FAST = bound(compiled(disruption=DisruptionSpec(fast_restart=True)))


@pytest.mark.parametrize(
    "given, limit",
    [(job(), 6), (job().at("spec.backoffLimit", 2), 2), (job().at("spec.backoffLimit", 0), 0)],
    ids=["the default", "its own", "none"],
)
def test_each_index_may_fail_as_often_as_the_job_could(given: Built, limit: int) -> None:
    made = hasten(given.build())
    assert (made["spec"]["backoffLimitPerIndex"], made["spec"]["maxFailedIndexes"]) == (limit, 0)
    assert made["spec"].get("backoffLimit") == given.build()["spec"].get("backoffLimit")
    assert made["metadata"]["annotations"][FAST_RESTART_ANNOTATION] == "true"


def test_a_policy_hastens_the_jobs_that_it_groups() -> None:
    assert is_hastened(grouped(job(), FAST).object)
    assert not is_hastened(grouped(job()).object)


def test_a_jobs_own_word_stays() -> None:
    made = grouped(job().at("spec.backoffLimitPerIndex", 1), FAST).object
    assert "maxFailedIndexes" not in made["spec"]
    assert FAST_RESTART_ANNOTATION not in made["metadata"]["annotations"]


@pytest.mark.parametrize(
    "given, why",
    [
        (job().at("spec.completionMode", "NonIndexed"), "spec.completionMode is not Indexed"),
        (job().at("spec.template.spec.restartPolicy", "OnFailure"), "restartPolicy is not Never"),
    ],
)
def test_one_that_cannot_be_hastened_is_told(given: Built, why: str) -> None:
    found = answer(given, FAST)
    assert any(why in warning for warning in found.trail.warnings)


def test_other_kinds_have_no_such_thing() -> None:
    assert "JobSet" in obstacle_to_haste(job_set("s").build())


def release(*objects: Object) -> list[str]:
    return [action.key.name for action in plan_release(snapshot_of(objects))]


GOING: dict[str, Any] = {**namespace(), "metadata": namespace()["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
OURS = hasten(job().stored().build())


def test_in_a_terminating_namespace_they_are_deleted() -> None:
    assert release(GOING, OURS) == ["train"]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param((namespace(), OURS), id="the namespace stays"),
        pytest.param((GOING, job().stored().at("spec.backoffLimitPerIndex", 1).build()), id="somebody else's wish"),
        pytest.param((GOING, job().stored().annotate(FAST_RESTART_ANNOTATION, "true").build()), id="it blocks nothing"),
        pytest.param((GOING, Built(OURS).at("metadata.deletionTimestamp", "2026-01-01T00:00:00Z").build()), id="it goes already"),
        pytest.param(
            (GOING, Built(OURS).at("status.conditions", [{"type": "Complete", "status": "True"}]).build()), id="it ended"
        ),
    ],
)
def test_no_others_are(objects: tuple[Object, ...]) -> None:
    assert release(*objects) == []
