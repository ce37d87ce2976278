"""No group is left half-running: whatever takes a member, the whole group comes back at once, is held whole, or is gone.

All scenes run side by side, each in a namespace and on nodes of its own; a test waits for the outcome of one.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.client import NAMESPACES, POD_GROUPS, PODS, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import SLOW_LABEL
from tests.controlplane.plan import MANAGED, NATIVE
from tests.controlplane.watch import watching
from tests.e2e.disruptions import SCENES
from tests.e2e.installation import SYSTEM_NAMESPACE, Installation, running
from tests.e2e.staging import STEP_SECONDS, Gang, Stage, holds

Object = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
ROUTES = {"managed": (MANAGED, ()), "native": (NATIVE, ("--canary-namespace", SYSTEM_NAMESPACE))}
AT_ONCE = 10


@pytest.fixture(scope="module", params=ROUTES)
def route(request: pytest.FixtureRequest) -> str:
    """Who makes the groups: we, or the Job controller."""
    return str(request.param)


@pytest.fixture(scope="module")
def flags(route: str) -> tuple[str, ...]:
    """What our processes are started with."""
    return ROUTES[route][1]


@pytest.fixture(scope="module")
def installed(route: str, flags: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Webhook and one controller."""
    with (
        ControlPlane(gates=ROUTES[route][0]) as cluster,
        running(cluster, ROOT / "policies", tmp_path_factory.mktemp(route), "serve", *flags) as made,
    ):
        made.start_controller(*flags)
        made.wait_for_leader()
        yield made


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, installed: Installation) -> Iterator[dict[str, Future[None]]]:
    """The scenes that were chosen, all begun."""
    chosen = {item.callspec.params["scene"] for item in request.session.items if "scene" in getattr(item, "callspec", _NO).params}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(play, installed.cluster, name) for name in SCENES if name in chosen}


class _NO:
    params: dict[str, str] = {}  # noqa: RUF012 - of items without parameters


def play(cluster: ControlPlane, name: str, *, on_miss: Callable[[Stage], None] = lambda _: None) -> None:
    """Play one scene beside a gang that nothing may happen to; ``on_miss`` may look at the stage while it stands, and explain."""
    with cluster.namespace() as namespace:
        stage, aside = Stage(cluster, cluster.client, namespace), Stage(cluster, cluster.client, namespace)
        try:
            stage.room(5)
            aside.room(1)
            calm = aside.gang("calm", size=2, cpu="100m")
            SCENES[name](stage)
            if cluster.client.find(NAMESPACES, "", namespace) is not None:
                calm.untouched()
        except AssertionError as error:
            on_miss(stage)
            error.add_note(stage.as_it_stands())
            raise
        finally:
            stage.clear()
            aside.clear()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("scene", SCENES)
def test_a_group_is_whole_again_or_held_whole_or_gone(outcomes: dict[str, Future[None]], scene: str) -> None:
    outcomes[scene].result()


@contextlib.contextmanager
def alone(installed: Installation) -> Iterator[Stage]:
    """Return a stage for a scene that concerns all others, and so is played alone."""
    with installed.cluster.namespace() as namespace:
        made = Stage(installed.cluster, installed.client, namespace)
        try:
            yield made
        except AssertionError as error:
            error.add_note(made.as_it_stands())
            raise
        finally:
            made.clear()


@pytest.fixture
def stage(installed: Installation) -> Iterator[Stage]:
    with alone(installed) as made:
        yield made


@pytest.mark.timeout(400)
def test_a_leader_that_dies_between_two_steps_is_followed(installed: Installation, stage: Stage, flags: tuple[str, ...]) -> None:
    leaders_die_between_two_steps(installed, stage, flags)


def leaders_die_between_two_steps(installed: Installation, stage: Stage, flags: tuple[str, ...]) -> None:
    stage.room(6, cpu="8")
    steps = ("Suspending", "Awaiting", "Resuming", "Forming")
    gangs = [stage.submit(step.lower(), cpu="500m", labels={SLOW_LABEL: "2s"}).start() for step in steps]
    for step, gang in zip(steps, gangs, strict=True):
        installed.start_controller(*flags)
        with killing(installed, gang, step) as reached:
            stage.client.delete(PODS, stage.namespace, gang.running()[0]["metadata"]["name"])
            assert reached.wait(STEP_SECONDS), f"{step} was not reached"
        installed.free_lease()
    installed.start_controller(*flags)
    for gang in gangs:
        gang.restarted()


@contextlib.contextmanager
def killing(installed: Installation, gang: Gang, step: str) -> Iterator[threading.Event]:
    """Kill the leader at the moment when a step is written; the event says that it was."""
    leader, reached, group = installed.wait_for_leader(), threading.Event(), gang.group()["metadata"]["name"]

    def take(event: Object, _now: float) -> None:
        found, conditions = event["object"]["metadata"]["name"], event["object"].get("status", {}).get("conditions", [])
        if found == group and not reached.is_set() and any(one["reason"] == step for one in conditions):
            leader.kill()
            reached.set()

    with watching(installed.cluster, POD_GROUPS, gang.stage.namespace, take):
        yield reached


@pytest.mark.timeout(400)
def test_an_api_server_that_is_away_in_the_middle_costs_only_time(installed: Installation, stage: Stage) -> None:
    the_api_server_is_away(installed, stage)


def the_api_server_is_away(installed: Installation, stage: Stage) -> None:
    stage.room(5)
    gang = stage.gang(labels={SLOW_LABEL: "3s"})
    stage.client.delete(PODS, stage.namespace, gang.running()[0]["metadata"]["name"])
    wait_for(lambda: gang.step() == "Awaiting", seconds=STEP_SECONDS, what="its members are ending")
    installed.cluster.stop("kube-apiserver", kill=True)
    installed.cluster.start("kube-apiserver")
    gang.restarted()


@pytest.mark.timeout(400)
def test_without_the_controller_the_same_drain_strands_the_rest_and_the_next_one_mends_it(
    installed: Installation, stage: Stage, flags: tuple[str, ...]
) -> None:
    """So the scenes show something: nobody else does it."""
    stage.room(4)
    gang = stage.gang(cpu="3")
    for controller in installed.controllers:
        controller.stop()
    node = gang.node_of()
    stage.drain(node)
    wait_for(lambda: len(gang.pods()) == 4 and len(gang.running()) == 3, seconds=60, what="a new pod waits beside the others")
    holds(lambda: len(gang.running()) == 3 and not gang.new(), times=60)
    assert not gang.told("GroupRestarting")
    installed.start_controller(*flags)
    wait_for(lambda: not gang.running(), seconds=150, what="the others are taken down as well")
    stage.cordon(node, back=True)
    gang.restarted()
