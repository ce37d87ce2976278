"""No group is left half-running: whatever takes a member, the whole group comes back at once, is held whole, or is gone.

All scenes run side by side, each in a namespace and on nodes of its own; a test waits for the outcome of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.controlplane.client import PODS
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.plan import MANAGED, NATIVE
from tests.e2e.disruptions import SCENES
from tests.e2e.installation import SYSTEM_NAMESPACE, Installation
from tests.e2e.staging import Stage

ROOT = Path(__file__).resolve().parents[2]
ROUTES = {"managed": (MANAGED, ()), "native": (NATIVE, ("--canary-namespace", SYSTEM_NAMESPACE))}
AT_ONCE = 10


@pytest.fixture(scope="module", params=ROUTES)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Webhook and one controller, on either route."""
    gates, flags = ROUTES[request.param]
    with ControlPlane(gates=gates) as cluster:
        made = Installation(cluster, ROOT / "policies", tmp_path_factory.mktemp(request.param))
        try:
            made.start_webhook("serve", *flags)
            made.start_controller(*flags)
            made.wait_for_leader()
            yield made
        finally:
            made.close()
            print(made.logs())


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, installed: Installation) -> Iterator[dict[str, Future[None]]]:
    """The scenes that were chosen, all begun."""
    chosen = {item.callspec.params["scene"] for item in request.session.items if "scene" in getattr(item, "callspec", _NO).params}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(play, installed.cluster, name) for name in SCENES if name in chosen}


class _NO:
    params: dict[str, str] = {}  # noqa: RUF012 - of items without parameters


def play(cluster: ControlPlane, name: str) -> None:
    """Play one scene beside a gang that nothing may happen to."""
    with cluster.namespace() as namespace:
        stage = Stage(cluster, cluster.client, namespace)
        try:
            stage.room(5)
            calm = stage.gang("calm", size=2, cpu="100m")
            SCENES[name](stage)
            if cluster.client.find("v1/namespaces", "", namespace)["status"]["phase"] == "Active":  # type: ignore[index]
                calm.untouched() if not _is_hit(stage, calm.first) else None
        finally:
            stage.clear()


def _is_hit(stage: Stage, first: dict[str, str]) -> bool:
    return not first or not stage.client.list(PODS, stage.namespace)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("scene", SCENES)
def test_a_group_is_whole_again_or_held_whole_or_gone(outcomes: dict[str, Future[None]], scene: str) -> None:
    outcomes[scene].result()
