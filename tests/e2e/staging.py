"""A stage for scenes of disruption: gangs on nodes of their own, what befalls them, and how to tell that they came out whole."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.controlplane.client import EVENTS, JOBS, NODES, POD_GROUPS, PODS, ApiError, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import Nodes
from tests.controlplane.scenes import is_bound
from tests.e2e.installation import labelled_job

Object = dict[str, Any]
STARTED_SECONDS, STEP_SECONDS, WHOLE_SECONDS = 120.0, 120.0, 150.0
"""A Job makes its next pods 10 s after one failed, and the Lease of a dead leader takes 15 s; the rest is room for a busy
machine."""
TOGETHER_SECONDS = 8.0
"""Members that the scheduler binds in one go are written within this time, also on a busy machine: 4 s were seen with a load of
15 for each core. Those that the Job controller replaces one by one are 10 s and more apart from the ones that stayed."""
PLACE = "gangwarden.test/stage"
_ID = re.compile(r"restart ([0-9a-f]{6})")


@dataclass
class Gang:
    """One Job and its pods."""

    stage: Stage
    name: str
    size: int
    first: dict[str, str] = field(default_factory=dict)
    """Names and UIDs of the pods that were there first."""

    @property
    def client(self) -> Client:
        return self.stage.client

    def job(self) -> Object:
        return self.client.get(JOBS, self.stage.namespace, self.name)

    def group(self) -> Object:
        """Its PodGroup, on either route."""
        return next(iter(self.groups()))

    def groups(self) -> list[Object]:
        job = self.client.find(JOBS, self.stage.namespace, self.name)
        uid = job["metadata"]["uid"] if job else ""
        found = self.client.list(POD_GROUPS, self.stage.namespace)
        return [one for one in found if any(ref["uid"] == uid for ref in one["metadata"].get("ownerReferences", []))]

    def pods(self) -> list[Object]:
        """Pods that have not ended."""
        found = self.client.list(PODS, self.stage.namespace, labels=f"job={self.name}")
        return [pod for pod in found if pod["status"].get("phase") not in ("Succeeded", "Failed")]

    def running(self) -> list[Object]:
        """Pods that hold a node and stay."""
        return [pod for pod in self.pods() if is_bound(pod) and not pod["metadata"].get("deletionTimestamp")]

    def new(self) -> list[Object]:
        """Running pods that were not there at first."""
        return [pod for pod in self.running() if pod["metadata"]["uid"] not in self.first.values()]

    def start(self) -> Gang:
        """Wait until it runs, and remember who runs."""
        found = wait_for(self._whole, seconds=STARTED_SECONDS, what=f"{self.name} runs")
        self.first = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in found}
        return self

    def _whole(self) -> list[Object]:
        pods = self.running()
        return pods if len(pods) == self.size and all(pod["status"].get("phase") == "Running" for pod in pods) else []

    def pod_on(self, node: str) -> str:
        return next(pod["metadata"]["name"] for pod in self.running() if pod["spec"]["nodeName"] == node)

    def node_of(self, index: int = 0) -> str:
        return str(self.running()[index]["spec"]["nodeName"])

    def is_new(self, size: int | None = None) -> list[Object]:
        """Return its pods once all of them are others than at first."""
        pods = self.pods()
        wanted = self.size if size is None else size
        new = self.new()
        return new if len(new) == wanted == len(pods) else []

    def filled_up(self) -> list[datetime]:
        """Return when its Job made those that run beside others of the first; nothing where a restart was begun."""
        pods, new = self.running(), self.new()
        if len(pods) != self.size or len(new) == self.size or self.told("GroupRestarting"):
            return []
        return [datetime.fromisoformat(pod["metadata"]["creationTimestamp"]) for pod in new]

    def events(self, name: str = "") -> list[Object]:
        return [
            one for one in self.client.list(EVENTS, self.stage.namespace) if one["involvedObject"]["name"] == (name or self.name)
        ]

    def told(self, reason: str, name: str = "") -> str:
        """Return the last message of an event."""
        return next((one["message"] for one in reversed(self.events(name)) if one["reason"] == reason), "")

    def came_back(self, *, size: int | None = None, seconds: float = WHOLE_SECONDS) -> list[Object]:
        """Wait until it is whole again, and see that this came about all at once, whoever brought it about."""
        pods = wait_for(lambda: self.is_new(size), seconds=seconds, what=f"{self.name} is whole again")
        self.together(pods)
        return pods

    def restarted(self, *, size: int | None = None, seconds: float = WHOLE_SECONDS) -> list[Object]:
        """Wait until it is whole again, and see that this came about all at once and was told."""
        pods = self.came_back(size=size, seconds=seconds)
        ended = wait_for(
            lambda: self.told("GroupRestarted") or self.told("GroupRestartAbandoned"),
            seconds=STEP_SECONDS,
            what="its end is told",
        )
        assert self.told("GroupRestarted"), ended
        begun = _ID.findall(self.told("GroupRestarting"))
        assert begun, self.events()
        assert set(begun) & set(_ID.findall(self.told("GroupRestarted")))
        group = self.group()["metadata"]["name"]  # it is told on the Job first, then there, and written when it is told
        wait_for(lambda: self.told("GroupRestarted", group), what="its end is told on the PodGroup")
        wait_for(lambda: self.condition("gangwarden.dev/Restart").get("status") == "False", what="its end is written")
        wait_for(lambda: not self.condition("DisruptionTarget"), what="the mark of disruption is gone")
        self.alive()
        return pods

    def condition(self, kind: str) -> Object:
        group = next(iter(self.groups()), {})
        conditions = group.get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == kind), {})

    def step(self) -> str:
        """Return how far a restart has come; empty where none is under way."""
        found = self.condition("gangwarden.dev/Restart")
        return str(found["reason"]) if found.get("status") == "True" else ""

    def goes_down(self) -> None:
        """Wait until its Job is suspended for a restart.

        Not for the step that follows: where the leader dies just then, the next one may find all members ended and skip it.
        """
        wait_for(lambda: self.job()["spec"].get("suspend") is True, seconds=STEP_SECONDS, what="its members are ending")

    def together(self, pods: list[Object]) -> None:
        moments = [_scheduled(pod) for pod in pods]
        spread = (max(moments) - min(moments)).total_seconds()
        assert spread <= TOGETHER_SECONDS, f"bound one by one, over {spread} s"

    def alive(self) -> None:
        """The Job is not given up."""
        conditions = self.job().get("status", {}).get("conditions", [])
        assert not [one for one in conditions if one["type"] in ("Failed", "FailureTarget") and one["status"] == "True"]

    def untouched(self) -> None:
        now = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.running()}
        assert now == self.first, f"{self.name} was touched"


@dataclass
class Stage:
    """A namespace with nodes of its own."""

    cluster: ControlPlane
    client: Client
    namespace: str
    nodes: list[str] = field(default_factory=list)
    gangs: list[Gang] = field(default_factory=list)
    token: str = field(default_factory=lambda: secrets.token_hex(3))

    def room(self, count: int, *, cpu: str = "4", real: bool = True) -> list[str]:
        """Add nodes; one that is not real is kept alive by nobody."""
        made = []
        for _ in range(count):
            name = f"{self.token}-{len(self.nodes)}"
            node = Nodes(cpu=cpu).one(name, rack=f"r-{name}")
            node["metadata"]["labels"][PLACE] = self.token
            if not real:
                node["metadata"]["annotations"] = {}
            self.client.create(node)
            self.nodes.append(name)
            made.append(name)
        wait_for(lambda: not real or all(self.is_ready(name) for name in made), what="the nodes are ready")
        return made

    def is_ready(self, name: str) -> bool:
        node = self.client.get(NODES, "", name)
        ready = any(one["type"] == "Ready" and one["status"] == "True" for one in node.get("status", {}).get("conditions", []))
        return ready and not [one for one in node["spec"].get("taints", []) if one["key"] == "node.kubernetes.io/not-ready"]

    def gang(self, name: str = "train", *, size: int = 4, cpu: str = "2", labels: Object | None = None, **spec: Any) -> Gang:
        """Create a gang and wait until it runs."""
        return self.submit(name, size=size, cpu=cpu, labels=labels, **spec).start()

    def submit(
        self, name: str, *, size: int = 4, cpu: str = "2", labels: Object | None = None, pod: Object | None = None, **spec: Any
    ) -> Gang:
        made = labelled_job(name, self.namespace, pods=size, cpu=cpu, **spec)
        template = made["spec"]["template"]
        template["spec"] |= {"nodeSelector": {PLACE: self.token}, **(pod or {})}
        template["metadata"]["labels"] |= labels or {}
        self.client.create(made)
        self.gangs.append(Gang(self, name, size))
        return self.gangs[-1]

    def budget(self, name: str, **spec: Any) -> None:
        labels = spec.pop("labels", {"job": "train"})
        meta = {"name": name, "namespace": self.namespace}
        self.client.create(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": meta,
                "spec": {"selector": {"matchLabels": labels}, **spec},
            }
        )

    def drain(self, node: str, *flags: str, seconds: float = 90.0, check: bool = True) -> str:
        return self.cluster.kubectl(
            "drain", node, "--ignore-daemonsets", "--force", "--delete-emptydir-data", *flags, seconds=seconds, check=check
        )

    def cordon(self, *nodes: str, back: bool = False) -> None:
        for node in nodes:
            self.client.patch(NODES, "", node, {"spec": {"unschedulable": not back}})

    def revive(self, node: str) -> None:
        """Write once what a kubelet writes again and again."""
        now = _now()
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastHeartbeatTime": now}
        self.client.patch_status(NODES, "", node, {"conditions": [ready | {"lastTransitionTime": now}]})
        wait_for(lambda: self.is_ready(node), what="the node is ready")

    def run_by_hand(self, pod: str) -> None:
        """Run a pod on a node that nobody looks after."""
        ready = [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady")]
        found = self.client.get(PODS, self.namespace, pod)["status"]["conditions"]
        self.client.patch_status(PODS, self.namespace, pod, {"phase": "Running", "conditions": [*found, *ready]})

    def end_by_kubelet(self, pod: str) -> None:
        """End a pod as a kubelet under pressure does: it fails, and says that it was no fault of its own."""
        self._doom(pod, "TerminationByKubelet", "The node was low on resource: memory.", phase="Failed", reason="Evicted")

    def take_its_device(self, pod: str) -> None:
        """Delete a pod that is there as the controller of tainted devices does (pkg/controller/devicetainteviction)."""
        try:
            self._doom(pod, "DeletionByDeviceTaintManager", "Device Taint manager: deleting due to NoExecute taint")
        except ApiError as error:
            if error.status == 404:  # the restart of the first ones took it
                return
            raise
        self.client.delete(PODS, self.namespace, pod)

    def _doom(self, pod: str, cause: str, message: str, **status: str) -> None:
        said = {"type": "DisruptionTarget", "status": "True", "reason": cause, "message": message, "lastTransitionTime": _now()}
        conditions = self.client.get(PODS, self.namespace, pod)["status"]["conditions"]
        self.client.patch_status(PODS, self.namespace, pod, {"conditions": [*conditions, said], **status})

    def crash(self, pod: str) -> None:
        """Have a container of a pod end again and again, as a kubelet writes it."""
        statuses = self.client.get(PODS, self.namespace, pod)["status"]["containerStatuses"]
        waits = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}
        crashed = [one | {"ready": False, "started": False, "restartCount": 7, "state": waits} for one in statuses]
        self.client.patch_status(PODS, self.namespace, pod, {"containerStatuses": crashed})

    def label_pod(self, pod: str, key: str, value: str) -> None:
        self.client.patch(PODS, self.namespace, pod, {"metadata": {"labels": {key: value}}})

    def taint(self, node: str, key: str, effect: str = "NoExecute") -> None:
        self.client.patch(NODES, "", node, {"spec": {"taints": [{"key": key, "value": "x", "effect": effect}]}})

    def as_it_stands(self) -> str:
        """Tell, for the report of a miss, what is there and what was told."""
        parts = {JOBS: _job_line, POD_GROUPS: _group_line, PODS: _pod_line, EVENTS: _event_line}
        found = [line(one) for resource, line in parts.items() for one in self.client.list(resource, self.namespace)]
        return "\n  ".join([f"in {self.namespace}:", *found])

    def clear(self) -> None:
        """Take the nodes away; the namespace is its owner's."""
        for name in self.nodes:
            self.client.delete(NODES, "", name)


def _job_line(job: Object) -> str:
    return f"Job {job['metadata']['name']}: suspend {job['spec'].get('suspend')}, {job.get('status')}"


def _group_line(group: Object) -> str:
    return f"PodGroup {group['metadata']['name']}: {group['spec']['schedulingPolicy']}, {group.get('status')}"


def _pod_line(pod: Object) -> str:
    meta, where, phase = pod["metadata"], pod["spec"].get("nodeName"), pod["status"].get("phase")
    return f"Pod {meta['name']} of {meta['creationTimestamp']}: {phase} on {where}, deleted {meta.get('deletionTimestamp')}"


def _event_line(event: Object) -> str:
    about, when = event["involvedObject"], event.get("firstTimestamp") or event.get("eventTime")
    return f"{when} {about['kind']} {about['name']}: {event['reason']}: {event.get('message')}"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _scheduled(pod: Object) -> datetime:
    when = next(one["lastTransitionTime"] for one in pod["status"]["conditions"] if one["type"] == "PodScheduled")
    return datetime.fromisoformat(when)


def holds(probe: Callable[[], bool], times: int = 20) -> None:
    """See that something stays true over as many looks."""
    for _ in range(times):
        assert probe()


__all__ = ["STARTED_SECONDS", "WHOLE_SECONDS", "ApiError", "Gang", "Stage", "holds"]
