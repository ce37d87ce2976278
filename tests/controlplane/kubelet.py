"""A stand-in for the kubelet of one node: pods of our image become local processes, each on a loopback address of its own.

It does what a chart relies on and no more: ServiceAccount tokens, ConfigMaps and image volumes as files, readiness by HTTP, exit
codes, restarts, termination by SIGTERM. What it leaves out: images, cgroups, liveness, init containers. Pods have addresses
that the API server takes (it refuses loopback ones in EndpointSlices); ``real_address`` says where they listen.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import requests

from tests.controlplane.accounts import account_kubeconfig
from tests.controlplane.client import NODES, PODS, ApiError, Client, Object
from tests.controlplane.cluster import ControlPlane

NODE = "loopback"
TAINT = "gangwarden.test/kubelet"
PLACEMENT: Object = {"nodeSelector": {TAINT: "here"}, "tolerations": [{"key": TAINT, "operator": "Exists"}]}
"""What a pod needs to be brought here, and nowhere else."""
LEASES = "coordination.k8s.io/v1/leases"
LOOK_SECONDS = 0.1
LEASE_SECONDS = 5.0
UNREADY_AFTER = 3
"""Probes in a row that must fail, as for the kubelet by default: on a busy machine one alone says nothing."""
_HOST_FLAGS = {"serve": "--host", "controller": "--status-host"}
"""On a node each pod has a network of its own; here each gets an address, and must not listen on all."""


@dataclass
class Running:
    """One pod and its process."""

    pod: Object
    directory: Path
    ip: str
    address: str
    process: subprocess.Popen[bytes] | None = None
    restarts: int = 0
    is_ready: bool = False
    unanswered: int = 0
    is_over: bool = False
    is_leaving: bool = False
    is_told: bool = False
    """Whether the API server has heard how it is; what failed is told again at the next look."""
    code: int | None = None
    not_before: float = 0.0
    token: str = field(default="", repr=False)

    @property
    def container(self) -> Object:
        """Return the only container that is run."""
        return self.pod["spec"]["containers"][0]


class Kubelet:
    """Runs the pods of one node while the ``with`` block lasts."""

    def __init__(
        self, cluster: ControlPlane, directory: Path, *, images: tuple[str, ...], volumes: Mapping[str, Path] | None = None
    ) -> None:
        """``volumes`` says which folder an image volume is, by the image's reference."""
        self._cluster, self._directory, self._images, self._volumes = cluster, directory, images, dict(volumes or {})
        self._net = f"127.{random.randrange(20, 250)}.{random.randrange(256)}"
        self._pods: dict[str, Running] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubelet", daemon=True)
        self._count = 0
        self.failure: BaseException | None = None

    def __enter__(self) -> Self:
        """Register the node and begin to look for pods."""
        client = self._cluster.client
        taint = {"key": TAINT, "value": "here", "effect": "NoSchedule"}
        labels = {TAINT: "here", "kubernetes.io/hostname": NODE}
        client.create(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": NODE, "labels": labels},
                "spec": {"taints": [taint]},
            }
        )
        room = {"cpu": "16", "memory": "32Gi", "pods": "64"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": _now()}
        client.patch_status(NODES, "", NODE, {"capacity": room, "allocatable": room, "conditions": [ready]})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End every process that it started."""
        self._stop.set()
        self._thread.join(30)
        for running in self._pods.values():
            _end(running)

    def real_address(self, ip: str) -> str:
        """Return the loopback address behind the address of a pod; of one that is gone an address where nobody listens."""
        return next((running.address for running in list(self._pods.values()) if running.ip == ip), f"{self._net}.255")

    def logs(self) -> str:
        """Return the ends of the logs of all pods, also of those that are gone."""
        return "\n".join(f"--- {path.parent.name}\n{path.read_text()[-5000:]}" for path in sorted(self._directory.glob("*/log")))

    def log_of(self, name: str) -> str:
        """Return what the pods whose name begins so have said."""
        return "".join(path.read_text() for path in sorted(self._directory.glob(f"*-{name}*/log")))

    def _run(self) -> None:
        client, renewed = self._cluster.client, 0.0
        try:
            while not self._stop.wait(LOOK_SECONDS):
                with _tried_again():
                    if time.monotonic() - renewed > LEASE_SECONDS:
                        _renew_lease(client)
                        renewed = time.monotonic()
                    self._look(client)
        except BaseException as error:  # told by the test: a thread that dies alone leaves a riddle
            self.failure = error
            raise

    def _look(self, client: Client) -> None:
        there = {pod["metadata"]["uid"]: pod for pod in client.list(PODS, fields=f"spec.nodeName={NODE}")}
        for uid in self._pods.keys() - there.keys():
            _end(self._pods.pop(uid))
        for uid, pod in there.items():
            try:
                self._sync(client, uid, pod)
            except ApiError as error:
                if error.status not in (404, 409):  # gone, or changed, since it was listed
                    raise

    def _sync(self, client: Client, uid: str, pod: Object) -> None:
        is_leaving = bool(pod["metadata"].get("deletionTimestamp"))
        running = self._pods.get(uid)
        if running is None or running.process is None:
            if is_leaving:
                _delete(client, pod)
                return
            self._pods[uid] = running = running or self._admit(client, pod)
            self._start(client, running)
        running.pod = pod
        if is_leaving:
            self._terminate(client, running)
        elif not running.is_over:
            self._watch(client, running)
        if not running.is_told:
            self._tell(client, running)

    def _admit(self, client: Client, pod: Object) -> Running:
        image = pod["spec"]["containers"][0]["image"]
        assert image in self._images, f"{pod['metadata']['name']}: image {image} is none of {self._images}"
        self._count += 1
        directory = self._directory / f"{self._count:02}-{pod['metadata']['name']}"
        directory.mkdir(parents=True)
        made = Running(pod, directory, ip=f"10.88.0.{self._count}", address=f"{self._net}.{self._count}")
        (directory / "volumes").mkdir()
        for volume in pod["spec"].get("volumes", []):
            self._fill(client, pod["metadata"]["namespace"], volume, directory / "volumes" / volume["name"])
        return made

    def _fill(self, client: Client, namespace: str, volume: Object, folder: Path) -> None:
        if "image" in volume:
            folder.symlink_to(self._volumes[volume["image"]["reference"]])
            return
        folder.mkdir()
        if "configMap" in volume:
            data = client.get("v1/configmaps", namespace, volume["configMap"]["name"]).get("data", {})
            for name, text in data.items():
                (folder / name).write_text(text)
        elif "emptyDir" not in volume:
            raise AssertionError(f"volume {volume} is none that this kubelet knows")

    def _start(self, client: Client, running: Running) -> None:
        spec = running.pod["spec"]
        config = self._kubeconfig(running, spec.get("serviceAccountName", "default"))
        with (running.directory / "log").open("ab") as log:
            running.process = subprocess.Popen(
                [str(Path(sys.executable).with_name("gangwarden")), *self._arguments(running)],
                cwd=running.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "KUBECONFIG": str(config), "TMPDIR": str(running.directory)},
            )

    @staticmethod
    def _arguments(running: Running) -> list[str]:
        arguments = list(running.container["args"])
        for mount in running.container.get("volumeMounts", []):
            real = running.directory / "volumes" / mount["name"]
            arguments = [word.replace(f"={mount['mountPath']}", f"={real}") for word in arguments]
        flag = _HOST_FLAGS.get(arguments[0])
        return [*arguments, f"{flag}={running.address}"] if flag else arguments

    def _kubeconfig(self, running: Running, account: str) -> Path:
        file = running.directory / "kubeconfig"
        file.write_text(account_kubeconfig(self._cluster, running.pod["metadata"]["namespace"], account))
        return file

    def _watch(self, client: Client, running: Running) -> None:
        assert running.process is not None
        code = running.process.poll()
        if code is None:
            running.unanswered = 0 if _answers(running) else running.unanswered + 1
            ready = running.unanswered == 0 or (running.is_ready and running.unanswered < UNREADY_AFTER)
            if ready != running.is_ready:
                running.is_ready, running.is_told = ready, False
        elif running.pod["spec"]["restartPolicy"] == "Always":
            self._restart(client, running)
        else:
            running.is_over, running.is_ready, running.code, running.is_told = True, False, code, False

    def _restart(self, client: Client, running: Running) -> None:
        if running.not_before == 0.0:
            running.not_before, running.is_ready, running.is_told = time.monotonic() + 1.0, False, False
        elif time.monotonic() > running.not_before:
            self._start(client, running)
            running.not_before, running.restarts = 0.0, running.restarts + 1

    def _terminate(self, client: Client, running: Running) -> None:
        assert running.process is not None
        if running.process.poll() is not None:
            _delete(client, running.pod)
        elif running.is_leaving:
            if time.monotonic() > running.not_before:
                running.process.kill()
        else:
            running.is_leaving, running.is_ready, running.is_told = True, False, False
            running.not_before = time.monotonic() + (running.pod["metadata"].get("deletionGracePeriodSeconds") or 0)
            running.process.send_signal(signal.SIGTERM)

    @staticmethod
    def _tell(client: Client, running: Running) -> None:
        code = running.code
        phase = "Running" if code is None else "Succeeded" if code == 0 else "Failed"
        since = running.pod.get("status", {}).get("startTime") or _now()
        state: Object = {"running": {"startedAt": since}}
        if code is not None:
            state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": since}}
        ready = {"status": "True" if running.is_ready else "False", "lastTransitionTime": _now()}
        container = {"name": running.container["name"], "image": running.container["image"], "imageID": "none"}
        client.patch_status(
            PODS,
            running.pod["metadata"]["namespace"],
            running.pod["metadata"]["name"],
            {
                "phase": phase,
                "startTime": since,
                "podIP": running.ip,
                "podIPs": [{"ip": running.ip}],
                "conditions": [{"type": kind, **ready} for kind in ("Ready", "ContainersReady")]
                + [{"type": "PodScheduled", "status": "True", "lastTransitionTime": since}],
                "containerStatuses": [{**container, "ready": running.is_ready, "restartCount": running.restarts, "state": state}],
            },
        )
        running.is_told = True


@contextlib.contextmanager
def _tried_again() -> Iterator[None]:
    """Let an API server be away or busy for a moment: the next look tries again, as a kubelet does."""
    try:
        yield
    except requests.RequestException:
        pass
    except ApiError as error:
        if error.status not in (409, 429) and error.status < 500:
            raise


def _answers(running: Running) -> bool:
    """Ask as the readiness probe says; a pod without one is ready when it runs."""
    probe = running.container.get("readinessProbe", {}).get("httpGet")
    if probe is None:
        return True
    port = next(one["containerPort"] for one in running.container["ports"] if one["name"] == probe["port"])
    if probe.get("scheme") == "HTTPS":
        unchecked = ssl.create_default_context()
        unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE  # as the kubelet does
        connection = http.client.HTTPSConnection(running.address, port, timeout=2, context=unchecked)
    else:
        connection = http.client.HTTPConnection(running.address, port, timeout=2)
    with contextlib.closing(connection):
        try:
            connection.request("GET", probe["path"])
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False


def _delete(client: Client, pod: Object) -> None:
    meta = pod["metadata"]
    client.delete(PODS, meta["namespace"], meta["name"], gracePeriodSeconds=0, preconditions={"uid": meta["uid"]})


def _renew_lease(client: Client) -> None:
    spec = {
        "holderIdentity": NODE,
        "leaseDurationSeconds": 40,
        "renewTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
    }
    if client.find(LEASES, "kube-node-lease", NODE) is None:
        meta = {"name": NODE, "namespace": "kube-node-lease"}
        client.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec})
    else:
        client.patch(LEASES, "kube-node-lease", NODE, {"spec": spec})


def _end(running: Running) -> None:
    if running.process is not None and running.process.poll() is None:
        running.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.process.wait(10)
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait(10)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
