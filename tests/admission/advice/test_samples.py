"""Made-up objects: of every kind that the table has, however its types hold each other."""

from __future__ import annotations

import pytest

from webhook.admission.advice.samples import sample_of
from webhook.model.objects import Kind
from webhook.rules.schema import known_kinds


@pytest.mark.parametrize("kind", known_kinds(), ids=str)
def test_an_object_of_every_kind_can_be_made_up(kind: Kind) -> None:
    made = sample_of(kind)
    assert (made["apiVersion"], made["kind"], made["metadata"]["name"]) == (kind.api_version, kind.kind, "sample")


def test_a_group_of_groups_ends() -> None:
    spec = sample_of(Kind("scheduling.k8s.io", "v1alpha3", "Workload"))["spec"]
    assert spec["compositePodGroupTemplates"][0]["compositePodGroupTemplates"] == [{}] * 3
    assert spec["podGroupTemplates"][0]["schedulingPolicy"]["gang"] == {"minCount": 4}
