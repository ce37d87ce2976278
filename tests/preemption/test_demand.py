"""What a pod asks for, as the scheduler's own helper counts it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preemption.nodes import container, spec
from webhook.preemption import demand_of


def sidecar(**requests: Any) -> dict[str, Any]:
    return {**container(**requests), "restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("pod_spec", "expected"),
    [
        pytest.param({"containers": []}, {}, id="a pod of nothing takes a place"),
        pytest.param(spec(cpu="1500m", memory="1Gi"), {"cpu": 1500, "memory": 2**30}, id="cpu in thousandths, memory in bytes"),
        pytest.param(spec(cpu="0.1m"), {"cpu": 1}, id="less than a thousandth is one"),
        pytest.param({"containers": [container(cpu=1), container(cpu=2)]}, {"cpu": 3000}, id="containers run together"),
        pytest.param(
            {"containers": [{"name": "a", "resources": {"limits": {"cpu": "2"}}}]}, {"cpu": 2000}, id="a limit alone is a request"
        ),
        pytest.param(
            {"containers": [{"name": "a", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}]},
            {"cpu": 1000},
            id="a request goes before its limit",
        ),
        pytest.param(spec(cpu=1) | {"overhead": {"cpu": "250m"}}, {"cpu": 1250}, id="overhead is added"),
        pytest.param(
            spec(cpu=1) | {"initContainers": [container(cpu=4)]}, {"cpu": 4000}, id="the greatest init container counts"
        ),
        pytest.param(
            spec(cpu=1) | {"initContainers": [container(cpu=3), container(cpu=2)]},
            {"cpu": 3000},
            id="init containers run in turn",
        ),
        pytest.param(spec(cpu=1) | {"initContainers": [sidecar(cpu=2)]}, {"cpu": 3000}, id="a sidecar runs beside containers"),
        pytest.param(
            spec(cpu=1) | {"initContainers": [sidecar(cpu=2), container(cpu=3)]},
            {"cpu": 5000},
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            spec(cpu=1) | {"initContainers": [container(cpu=4), sidecar(cpu=2)]},
            {"cpu": 4000},
            id="and not beside those after it",
        ),
        pytest.param(
            spec(cpu=1, gpu=2) | {"resources": {"requests": {"cpu": "6"}}},
            {"cpu": 6000, "nvidia.com/gpu": 2},
            id="what is said for the pod stands instead of the sum",
        ),
        pytest.param(
            spec(gpu=2) | {"resources": {"requests": {"nvidia.com/gpu": "8"}}},
            {"nvidia.com/gpu": 2},
            id="devices cannot be said for the pod",
        ),
        pytest.param(spec(cpu="many"), {}, id="no quantity counts as nothing"),
        pytest.param({"containers": None, "initContainers": "none", "overhead": []}, {}, id="odd shapes count as nothing"),
    ],
)
def test_a_pod_asks_for(pod_spec: dict[str, Any], expected: dict[str, int]) -> None:
    assert demand_of(pod_spec) == expected | {"pods": 1}


def test_a_resource_whose_name_is_no_text_is_counted_by_its_text() -> None:
    assert demand_of({"resources": {"requests": {1: "2"}}, "containers": [{"resources": {"limits": {1: "2"}}}]}) == {
        "1": 2,
        "pods": 1,
    }
