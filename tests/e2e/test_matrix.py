"""Every kind of owner on every set of gates: the route that is taken, the objects of it, and pods that start together or not.

Nothing that was asked may get lost on the way: what is stored is compared with what was sent, group objects with what they
are to be, and where no group can be, the one who asked hears of it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.client import EVENTS, JOBS, NODES, POD_GROUPS, PODS, WORKLOADS, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import RACK_KEY
from tests.controlplane.plan import NATIVE, NO_GROUPS, Gates
from tests.controlplane.scenes import is_bound
from tests.e2e.custom import custom_kinds
from tests.e2e.devices import CLAIMS, SHARED, TEMPLATE, ask_for
from tests.e2e.installation import CANARY, SHIPPED, Installation, labelled_job, running
from tests.e2e.owners import OWNERS, PODS_OF_A_GANG, Owner, asking, pod_templates

Object = dict[str, Any]
PATIENCE_SECONDS = 60.0
POLICY, RECORD, ROUTE = "gangwarden.dev/group-policy", "gangwarden.dev/pod-group", "gangwarden.dev/route"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One set of gates, and what it makes of a gang."""

    plane: str = ""
    """The fixture of a control plane that other scenes use as well."""
    gates: Gates = NO_GROUPS
    """Else a control plane of its own with these."""
    groups: bool = True
    native: bool = False
    """The Job controller makes the groups of Jobs."""
    placed: bool = False
    """Gangs ask for one rack and share one claim."""
    cpu: str = "3"
    """What a pod asks for: one of them fits on a node."""
    fillers: tuple[tuple[str, str], ...] = (("n0", "3"),)
    """Nodes and CPU of pods that leave room for fewer than a gang."""

    @property
    def group_fields(self) -> Object:
        """What every PodGroup of a gang says, in its template as well."""
        asked = {"schedulingConstraints": {"topology": [{"key": RACK_KEY}]}, "resourceClaims": [SHARED]} if self.placed else {}
        return {"schedulingPolicy": {"gang": {"minCount": PODS_OF_A_GANG}}, "disruptionMode": {"all": {}}} | asked


ROUTES = {
    "group-objects": Route(plane="control_plane"),
    "job-controller": Route(gates=Gates(("GenericWorkload=true", "WorkloadWithJob=true"), NATIVE.runtime), native=True),
    "topology-and-claims": Route(plane="native", native=True, placed=True, cpu="2", fillers=(("n0", "1"), ("n2", "1"))),
    "all-off": Route(groups=False),
}
CELLS = [pytest.param((route, owner), id=f"{route}/{owner}") for route in ROUTES for owner in OWNERS]


class Places:
    """Webhook and controller with all shipped policies beside the control plane of a route, of one route at a time."""

    def __init__(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self._directories, self._stack = tmp_path_factory, ExitStack()
        self._current: tuple[str, Installation] | None = None

    def on(self, name: str, plane: Callable[[str], ControlPlane]) -> Installation:
        """Return the installation on a route; ``plane`` gives the control planes that other scenes use as well."""
        if self._current is None or self._current[0] != name:
            self.close()
            self._current = (name, self._start(ROUTES[name], self._directories.mktemp(name), plane))
        return self._current[1]

    def close(self) -> None:
        self._current = None
        self._stack.close()

    def _start(self, route: Route, directory: Path, plane: Callable[[str], ControlPlane]) -> Installation:
        cluster = plane(route.plane) if route.plane else self._stack.enter_context(ControlPlane(gates=route.gates))
        self._stack.enter_context(custom_kinds(cluster))
        policies = sharing_policies(directory) if route.placed else SHIPPED
        return self._stack.enter_context(running(cluster, policies, directory, *CANARY))


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    made = Places(tmp_path_factory)
    try:
        yield made
    finally:
        made.close()


def sharing_policies(directory: Path) -> Path:
    """The shipped policies, whose gangs share a channel."""
    made = directory / "policies"
    shutil.copytree(SHIPPED, made)
    for name in {owner.policy.partition(".")[0] for owner in OWNERS.values()}:
        path = made / "gang" / name / "policy.yaml"
        policy, binding = yaml.safe_load_all(path.read_text())
        for group in policy["spec"]["podGroups"]:
            group["resourceClaims"] = [SHARED]
        path.write_text(yaml.safe_dump_all([policy, binding]))
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One owner on one route, in a namespace of its own."""

    route: Route
    owner: Owner
    client: Client
    namespace: str

    @property
    def is_native(self) -> bool:
        return self.route.native and self.owner.is_job

    def wait(self, probe: Any, what: str) -> Any:
        return wait_for(probe, seconds=PATIENCE_SECONDS, what=what)

    def list(self, resource: str) -> list[Object]:
        return self.client.list(resource, self.namespace)

    def bound(self) -> list[Object]:
        return [pod for pod in self.list(PODS) if is_bound(pod) and "filler" not in pod["metadata"]["labels"]]

    def fill(self) -> None:
        """Take the room that the last pod of a gang would need."""
        for node, cpu in self.route.fillers:
            container = {"name": "work", "image": "example.test/work:1", "resources": {"requests": {"cpu": cpu}}}
            meta = {"name": f"filler-{node}", "namespace": self.namespace, "labels": {"filler": node}}
            spec = {"nodeName": node, "containers": [container]}
            self.client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})

    def make_room(self) -> None:
        for node, _ in self.route.fillers:
            self.client.delete(PODS, self.namespace, f"filler-{node}", gracePeriodSeconds=0)

    def asked(self) -> Object:
        """What a user sends."""
        made = self.owner.make(self.namespace, self.route.cpu)
        if self.route.placed:
            asking(made)["annotations"] = {"gangwarden.dev/topology-key": RACK_KEY}
            if made["kind"] == "Job":
                made["spec"]["ttlSecondsAfterFinished"] = 600  # or its claim stays reserved, and a policy warns of it
            for template in pod_templates(made):
                ask_for(SHARED, template["spec"])
            self.client.create(TEMPLATE, namespace=self.namespace)
        return made

    def attached(self, stored: Object) -> Object:
        """The object that has the group: of a CronJob it is its Job."""
        if stored["kind"] != "CronJob":
            return stored
        (job,) = self.wait(lambda: self.list(JOBS), "the CronJob makes a Job")
        return {"apiVersion": "batch/v1", "kind": "Job"} | job

    def check_route(self, workload: Object) -> None:
        """The record, and the one field in which the route stands."""
        notes = workload["metadata"].get("annotations", {})
        stamps = [template["spec"].get("schedulingGroup") for template in pod_templates(workload)]
        if not self.route.groups:
            assert [key for key in notes if key.startswith("gangwarden.dev/")] == []
            assert "scheduling" not in workload["spec"]
            assert not any(stamps)
            return
        assert notes[POLICY] == f"{self.owner.policy}/{self.owner.policy}"
        assert notes.get(ROUTE, "") == ("Native" if self.is_native else "")
        if self.is_native:
            wish = self.route.group_fields | {"schedulingPolicy": {"gang": {}}}  # the quorum follows parallelism
            assert workload["spec"]["scheduling"] == wish
            assert RECORD not in notes
            assert not any(stamps)
            return
        assert "scheduling" not in workload["spec"]
        if self.owner.is_grouped_in_template:
            assert stamps == [{"podGroupName": notes[RECORD].partition("=")[2]}] * len(stamps)
        else:
            assert RECORD not in notes
            assert not any(stamps)

    def group(self) -> Object:
        (found,) = self.wait(lambda: self.list(POD_GROUPS), "the group is made")
        return found

    def check_group(self, group: Object, workload: Object) -> None:
        """PodGroup and Workload hold every field that was asked for, and belong to the workload."""
        (whole,) = self.wait(lambda: self.list(WORKLOADS), "the Workload is made")
        meta, kind = workload["metadata"], workload["kind"]
        (template,) = (
            {key: value for key, value in one.items() if value is not None} for one in whole["spec"]["podGroupTemplates"]
        )
        assert group["spec"] == self.route.group_fields | {
            "priority": 0,
            "workloadRef": {"workloadName": whole["metadata"]["name"], "templateName": template["name"]},
        }
        assert template == self.route.group_fields | {"name": f"{meta['name']}-pgt-0" if self.is_native else template["name"]}
        api_group = workload["apiVersion"].partition("/")[0]
        assert whole["spec"]["controllerRef"] == {"apiGroup": api_group, "kind": kind, "name": meta["name"]}
        for made in (group, whole):
            owners = {owner["uid"]: owner.get("controller", False) for owner in made["metadata"]["ownerReferences"]}
            assert owners[meta["uid"]] is self.is_native
            ours = made["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by") == "gangwarden"
            assert ours is not self.is_native
        if not self.is_native and self.owner.is_grouped_in_template:
            assert group["metadata"]["name"] == meta["annotations"][RECORD].partition("=")[2]

    def check_placed(self) -> None:
        """All members are in one rack, and hold one claim that was made for their group."""
        racks = {node["metadata"]["name"]: node["metadata"]["labels"][RACK_KEY] for node in self.client.list(NODES)}
        assert len({racks[pod["spec"]["nodeName"]] for pod in self.bound()}) == 1
        (claim,) = self.list(CLAIMS)
        (holder,) = claim["status"]["reservedFor"]
        assert (holder["resource"], holder["uid"]) == ("podgroups", self.group()["metadata"]["uid"])
        assert len(claim["status"]["allocation"]["devices"]["results"]) == 1
        named = {status["resourceClaimName"] for pod in self.bound() for status in pod["status"]["resourceClaimStatuses"]}
        assert named == {claim["metadata"]["name"]}

    def check_start(self, group: Object) -> None:
        """With room for fewer none starts; with room for all every one does."""
        pods = self.wait(lambda: len(made := self.members()) == PODS_OF_A_GANG and made, "all pods are made")
        assert {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in pods} == {group["metadata"]["name"]}

        def was_refused() -> bool:
            conditions = self.group().get("status", {}).get("conditions", [])
            return any(one["type"] == "PodGroupInitiallyScheduled" and one["status"] == "False" for one in conditions)

        self.wait(was_refused, "the scheduler has tried the group")
        assert self.bound() == []
        self.make_room()
        self.wait(lambda: len(self.bound()) == PODS_OF_A_GANG, "all are bound")

    def members(self) -> list[Object]:
        return [pod for pod in self.list(PODS) if "filler" not in pod["metadata"]["labels"]]

    def check_quorum_follows(self, workload: Object, count: int) -> None:
        """The quorum follows an elastic Job, in the PodGroup and in the Workload."""
        change = {"spec": {"parallelism": count, "completions": count}}
        self.client.patch(JOBS, self.namespace, workload["metadata"]["name"], change)

        def quorums() -> set[int]:
            specs = [self.group()["spec"], *self.list(WORKLOADS)[0]["spec"]["podGroupTemplates"]]
            return {spec["schedulingPolicy"]["gang"]["minCount"] for spec in specs}

        self.wait(lambda: quorums() == {count} and len(self.bound()) == count, f"the quorum is {count}, and so many run")

    def take_away(self, stored: Object) -> None:
        """Delete what was asked for; nothing of the group stays."""
        self.make_room()
        self.client.delete(self.owner.resource, self.namespace, stored["metadata"]["name"])
        kinds = (PODS, JOBS, *([POD_GROUPS, WORKLOADS] if self.route.groups else []), *([CLAIMS] if self.route.placed else []))
        self.wait(lambda: not any(self.list(kind) for kind in kinds), "all is gone")


@pytest.fixture
def cell(request: pytest.FixtureRequest, places: Places) -> Iterator[Cell]:
    route, owner = request.param
    installed = places.on(route, request.getfixturevalue)
    with installed.cluster.namespace() as namespace:
        yield Cell(route=ROUTES[route], owner=OWNERS[owner], client=installed.client, namespace=namespace)


def lost(asked: Any, stored: Any, path: str = "") -> list[str]:
    """Return the fields that were sent and are not stored, or not as they were."""
    if isinstance(asked, dict) and isinstance(stored, dict):
        return [one for key, value in asked.items() for one in lost(value, stored.get(key), f"{path}.{key}")]
    if isinstance(asked, list) and isinstance(stored, list) and len(asked) == len(stored):
        return [one for index, value in enumerate(asked) for one in lost(value, stored[index], f"{path}[{index}]")]
    return [] if asked == stored else [path]


@pytest.mark.parametrize("cell", CELLS, indirect=True)
def test_a_gang(cell: Cell) -> None:
    cell.fill()
    asked = cell.asked()
    refusal, warnings = cell.client.attempt(asked)
    assert refusal == ""
    stored = cell.client.create(asked)
    assert lost(asked, stored) == []
    if cell.route.groups:
        assert warnings == []
        check_gang(cell, stored)
    else:
        check_ungrouped(cell, stored, warnings)
    if cell.owner is OWNERS["job"]:
        check_own_words(cell)
    cell.take_away(stored)


def check_own_words(cell: Cell) -> None:
    """A group that a user writes himself is kept, or he hears that it is dropped, and why."""
    wishing, stamped = (labelled_job(name, cell.namespace) for name in ("wishing", "stamped"))
    wishing["spec"]["scheduling"] = {"schedulingPolicy": {"gang": {}}}
    stamped["spec"]["template"]["spec"]["schedulingGroup"] = {"podGroupName": "by-hand"}
    for asked, is_kept, gate in (
        (wishing, cell.route.native, "WorkloadWithJob"),
        (stamped, cell.route.groups, "GenericWorkload"),
    ):
        refusal, warnings = cell.client.attempt(asked)
        assert refusal == ""
        assert bool(lost(asked, cell.client.create(asked, dry_run=True))) is not is_kept
        assert any(f"feature gate {gate}" in warning for warning in warnings) is not is_kept


def check_gang(cell: Cell, stored: Object) -> None:
    """It starts as one group by the designed route."""
    if cell.owner.resource == JOBS:
        group = cell.group()  # also of a suspended Job, before it has a pod
        cell.owner.play(cell.client, stored)
    else:
        cell.owner.play(cell.client, stored)
        group = cell.group()
    workload = cell.attached(stored)
    cell.check_route(workload)
    cell.check_group(group, workload)
    cell.check_start(group)
    if cell.route.placed:
        cell.check_placed()
    if cell.owner is OWNERS["elastic-job"]:
        cell.check_quorum_follows(workload, PODS_OF_A_GANG - 1)
        cell.check_quorum_follows(workload, PODS_OF_A_GANG)


def check_ungrouped(cell: Cell, stored: Object, warnings: list[str]) -> None:
    """Its pods start one by one, and the one who asked is told: by a warning, and by an event on the workload."""
    cell.owner.play(cell.client, stored)
    workload = cell.attached(stored)
    cell.check_route(workload)
    if stored is workload:  # a CronJob's controller hears the warning, and tells nobody
        (warning,) = warnings
        assert f"WorkloadPolicy '{cell.owner.policy}'" in warning
        assert "not grouped: the API server serves no scheduling.k8s.io/v1beta1 PodGroups" in warning
        assert "feature gate GenericWorkload" in warning

    def told() -> list[str]:
        events = [event for event in cell.list(EVENTS) if event["reason"] == "NoGroupObjects"]
        return [event["message"] for event in events if event["involvedObject"]["uid"] == workload["metadata"]["uid"]]

    assert "feature gate GenericWorkload" in cell.wait(told, "the workload says why")[0]
    cell.wait(lambda: len(cell.bound()) == PODS_OF_A_GANG - 1, "those start for which there is room")
    cell.make_room()
    cell.wait(lambda: len(cell.bound()) == PODS_OF_A_GANG, "the last starts by itself")
    assert not any("schedulingGroup" in pod["spec"] for pod in cell.members())
