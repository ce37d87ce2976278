"""Leaders and webhooks die at random moments around the creation of Jobs; nothing is lost and nothing is made twice."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from tests.controlplane.client import JOBS, POD_GROUPS, PODS, WORKLOADS, ApiError, Client, wait_for
from tests.controlplane.scenes import is_bound
from tests.controlplane.watch import watching
from tests.e2e.installation import Installation, labelled_job
from tests.soak.scene import Scene

ROOT = Path(__file__).resolve().parents[2]
AWAY = ROOT / "policies" / "gang" / "stamped-when-away" / "policy.yaml"
"""Native; refuses a labelled Job that comes through without its stamp while the webhook is away."""
ROUNDS, JOBS_A_ROUND = 12, 2
WINDOW_SECONDS = 0.6
"""Creation and deaths fall into this window: the path from call to PodGroup takes a tenth of it."""
WEBHOOK_DIES = 0.5
SETTLE_SECONDS = 120.0


class Chaos:
    """What dies and what is asked for."""

    def __init__(self, installed: Installation, namespace: str, random: Random) -> None:
        self.installed, self.namespace, self.random = installed, namespace, random
        self.client: Client = installed.client
        self.leaders = self.webhooks = self.refusals = 0

    def round(self, turn: int, pool: ThreadPoolExecutor) -> None:
        """Let two Jobs be created, the leader die and perhaps the webhook, each at its own random moment."""
        leader, webhook = self.installed.wait_for_leader(), self.installed.webhook
        what: list[Callable[[], None]] = [leader.kill]
        what += [lambda name=f"train-{turn}-{index}": self.create(name) for index in range(JOBS_A_ROUND)]
        self.leaders += 1
        webhook_dies = self.random.random() < WEBHOOK_DIES
        if webhook_dies:
            what.append(webhook.kill)
            self.webhooks += 1
        plan = [pool.submit(self._later, self.random.uniform(0, WINDOW_SECONDS), action) for action in what]
        if webhook_dies:
            plan[-1].result()
            self.installed.start_webhook()
        for each in plan:
            each.result()
        self.installed.start_controller()

    def create(self, name: str) -> None:
        """Ask until the Job is taken: while the webhook is away, a labelled Job is refused and not let through."""

        def taken() -> bool:
            try:
                self.client.create(labelled_job(name, self.namespace))
            except ApiError as error:
                self.refusals += 1
                return error.body.get("reason") == "AlreadyExists"
            return True

        wait_for(taken, seconds=SETTLE_SECONDS, what=f"{name} is taken")

    @staticmethod
    def _later(seconds: float, action: Callable[[], None]) -> None:
        time.sleep(seconds)
        action()


class Groups:
    """Every PodGroup that ever was, by the Job that owns it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, set[tuple[str, str]]] = defaultdict(set)

    def take(self, event: dict, _now: float) -> None:
        meta = event["object"]["metadata"]
        owners = [owner["name"] for owner in meta.get("ownerReferences", [])]
        with self._lock:
            self._seen[owners[0] if owners else "(nobody)"].add((meta["name"], meta["uid"]))

    @property
    def by_owner(self) -> dict[str, int]:
        with self._lock:
            return {owner: len(groups) for owner, groups in self._seen.items()}


@pytest.fixture
def installed(control_plane, tmp_path) -> Iterator[Installation]:
    made = Installation(control_plane, ROOT / "policies", tmp_path)
    control_plane.kubectl("apply", "-f", str(AWAY))
    try:
        made.start_webhook()
        for _ in range(2):
            made.start_controller()
        yield made
    finally:
        control_plane.kubectl("delete", "-f", str(AWAY), "--ignore-not-found")
        made.close()
        print(made.logs())


def test_leaders_and_webhooks_die_around_the_creation_of_jobs(scene: Scene, installed, namespace):
    chaos, groups, client = Chaos(installed, namespace, scene.random), Groups(), installed.client
    rounds = scene.often(ROUNDS)
    with watching(installed.cluster, POD_GROUPS, namespace, groups.take), ThreadPoolExecutor(4) as pool:
        for turn in range(rounds):
            chaos.round(turn, pool)
        names = {f"train-{turn}-{index}" for turn in range(rounds) for index in range(JOBS_A_ROUND)}
        wait_for(lambda: not unbound(client, namespace, names), seconds=SETTLE_SECONDS, what="every gang is bound whole")
        assert {made["metadata"]["name"] for made in client.list(JOBS, namespace)} == names
        assert all("schedulingGroup" in made["spec"]["template"]["spec"] for made in client.list(JOBS, namespace))
        assert len(client.list(WORKLOADS, namespace)) == len(names)
        client.delete_all(JOBS, namespace)
        wait_for(lambda: not remains(client, namespace), seconds=SETTLE_SECONDS, what="nothing is left")
    assert groups.by_owner == dict.fromkeys(names, 1)
    scene.done(
        f"{chaos.leaders} leaders and {chaos.webhooks} webhooks killed, {len(names)} gangs, {chaos.refusals} refusals meanwhile",
        "every gang bound whole, one PodGroup each, nothing left",
    )


def unbound(client: Client, namespace: str, names: set[str]) -> set[str]:
    """Return the Jobs whose four pods are not all bound."""
    bound = [pod["metadata"]["labels"]["job"] for pod in client.list(PODS, namespace) if is_bound(pod)]
    return {name for name in names if bound.count(name) != 4}


def remains(client: Client, namespace: str) -> list[str]:
    """Return what is still there of Jobs, pods and groups."""
    found = (obj for resource in (JOBS, PODS, POD_GROUPS, WORKLOADS) for obj in client.list(resource, namespace))
    return [f"{obj.get('kind', '')} {obj['metadata']['name']}" for obj in found]
