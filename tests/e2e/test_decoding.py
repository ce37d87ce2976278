"""Values that a real API server cannot decode, and what ``check`` says of them: refused by both, or by neither."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import job
from tests.controlplane.client import ApiError
from tests.controlplane.cluster import ControlPlane
from webhook.admission import wrong_types

BAD_REQUEST = 400
CONTAINER = {"name": "main", "image": "x"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.parallelism", 4),
        ("spec.parallelism", None),
        ("spec.parallelism", -1),
        ("spec.parallelism", 4.5),
        ("spec.parallelism", "17"),
        ("spec.parallelism", True),
        ("spec.parallelism", 99999999999999999999),
        ("spec.activeDeadlineSeconds", 2**63 - 1),
        ("spec.activeDeadlineSeconds", 2**63),
        ("spec.backoffLimit", "x"),
        ("spec.suspend", "yes"),
        ("spec.suspend", None),
        ("spec.suspend", 1),
        ("spec.completionMode", 1),
        ("spec.completionMode", "Odd"),
        ("spec.template.spec.securityContext", {"supplementalGroups": [1, None]}),
        ("spec.template.spec.securityContext", {"supplementalGroups": [1, "2"]}),
        ("spec.template.spec.containers", [CONTAINER | {"livenessProbe": {"httpGet": {"port": "http"}}}]),
        ("spec.template.spec.containers", [CONTAINER | {"resources": {"limits": {"cpu": 1.5, "memory": "1Gi"}}}]),
        ("spec.template.spec.containers", [CONTAINER | {"resources": {"limits": {"cpu": True}}}]),
        ("spec.template.spec.containers", [CONTAINER | {"ports": [{"containerPort": "80"}]}]),
        ("spec.template.spec.containers", [CONTAINER | {"env": [{"name": "PORT", "value": 8080}]}]),
        ("metadata.labels", {"a": 1}),
        ("metadata.labels", {"a": None}),
        ("metadata.deletionGracePeriodSeconds", "1"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_check_cannot_decode_the_api_server_cannot_either(
    path: str, value: Any, control_plane: ControlPlane, namespace: str
) -> None:
    asked = job("train", namespace=namespace).at(path, value).build()
    try:
        control_plane.client.create(asked, dry_run=True)
        status = 201
    except ApiError as error:
        status = error.status
    assert (status == BAD_REQUEST) is bool(list(wrong_types(asked)))
