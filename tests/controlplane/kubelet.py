"""A stand-in for the kubelet of one node: pods of our image become local processes, each on a loopback address of its own.

It does what a chart relies on and no more: ServiceAccount tokens, ConfigMaps as files, readiness by HTTP, exit
codes, restarts, termination by SIGTERM. What it leaves out: images, cgroups, liveness, init containers. Pods have addresses
that the API server takes (it refuses loopback ones in EndpointSlices); ``real_address`` says where they listen.
"""

from __future__ import annotations

import base64
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import requests
import yaml

from tests.controlplane.client import NODES, PODS, ApiError, Client, Object, path_of
from tests.controlplane.cluster import ControlPlane

NODE = "loopback"
TAINT = "gangwarden.test/kubelet"
PLACEMENT: Object = {"nodeSelector": {TAINT: "here"}, "tolerations": [{"key": TAINT, "operator": "Exists"}]}
"""What a pod needs to be brought here, and nowhere else."""
LEASES = "coordination.k8s.io/v1/leases"
LOOK_SECONDS = 0.1
LEASE_SECONDS = 5.0
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
    is_over: bool = False
    not_before: float = 0.0
    token: str = field(default="", repr=False)

    @property
    def container(self) -> Object:
        """Return the only container that is run."""
        return self.pod["spec"]["containers"][0]


class Kubelet:
    """Runs the pods of one node while the ``with`` block lasts."""

    def __init__(self, cluster: ControlPlane, directory: Path, *, images: tuple[str, ...]) -> None:
        self._cluster, self._directory, self._images = cluster, directory, images
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
        """Return the loopback address behind the address of a pod."""
        return next(running.address for running in self._pods.values() if running.ip == ip)

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
                if time.monotonic() - renewed > LEASE_SECONDS:
                    _renew_lease(client)
                    renewed = time.monotonic()
                with contextlib.suppress(requests.ConnectionError, requests.Timeout):
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
        running = self._pods.get(uid)
        if running is None:
            if not pod["metadata"].get("deletionTimestamp"):
                self._pods[uid] = running = self._admit(client, pod)
                self._start(client, running)
                self._tell(client, running)
            else:
                _delete(client, pod)
            return
        running.pod = pod
        if pod["metadata"].get("deletionTimestamp"):
            self._terminate(client, running)
        elif not running.is_over:
            self._watch(client, running)

    def _admit(self, client: Client, pod: Object) -> Running:
        image = pod["spec"]["containers"][0]["image"]
        assert image in self._images, f"{pod['metadata']['name']}: image {image} is none of {self._images}"
        self._count += 1
        directory = self._directory / f"{self._count:02}-{pod['metadata']['name']}"
        directory.mkdir(parents=True)
        made = Running(pod, directory, ip=f"10.88.0.{self._count}", address=f"{self._net}.{self._count}")
        for volume in pod["spec"].get("volumes", []):
            self._fill(client, pod["metadata"]["namespace"], volume, directory / "volumes" / volume["name"])
        return made

    @staticmethod
    def _fill(client: Client, namespace: str, volume: Object, folder: Path) -> None:
        folder.mkdir(parents=True)
        if "configMap" in volume:
            data = client.get("v1/configmaps", namespace, volume["configMap"]["name"]).get("data", {})
            for name, text in data.items():
                (folder / name).write_text(text)
        elif "emptyDir" not in volume:
            raise AssertionError(f"volume {volume} is none that this kubelet knows")

    def _start(self, client: Client, running: Running) -> None:
        spec = running.pod["spec"]
        config = self._kubeconfig(client, running, spec.get("serviceAccountName", "default"))
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

    def _kubeconfig(self, client: Client, running: Running, account: str) -> Path:
        namespace = running.pod["metadata"]["namespace"]
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        path = path_of("v1/serviceaccounts", namespace, account, "token")
        token = client.request("POST", path, asked)["status"]["token"]
        authority = base64.b64encode((self._cluster.pki / "ca.crt").read_bytes()).decode()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "pod",
            "clusters": [{"name": "pod", "cluster": {"server": self._cluster.server, "certificate-authority-data": authority}}],
            "users": [{"name": "pod", "user": {"token": token}}],
            "contexts": [{"name": "pod", "context": {"cluster": "pod", "user": "pod"}}],
        }
        file = running.directory / "kubeconfig"
        file.write_text(yaml.safe_dump(config))
        return file

    def _watch(self, client: Client, running: Running) -> None:
        assert running.process is not None
        code = running.process.poll()
        if code is None:
            ready = _answers(running)
            if ready != running.is_ready:
                running.is_ready = ready
                self._tell(client, running)
            return
        if running.pod["spec"]["restartPolicy"] == "Always":
            self._restart(client, running)
            return
        running.is_over, running.is_ready = True, False
        self._tell(client, running, code=code)

    def _restart(self, client: Client, running: Running) -> None:
        if running.not_before == 0.0:
            running.not_before, running.is_ready = time.monotonic() + 1.0, False
            self._tell(client, running)
        elif time.monotonic() > running.not_before:
            running.not_before, running.restarts = 0.0, running.restarts + 1
            self._start(client, running)

    def _terminate(self, client: Client, running: Running) -> None:
        assert running.process is not None
        if running.process.poll() is None:
            if not running.is_over:
                running.is_over, running.is_ready = True, False
                running.not_before = time.monotonic() + (running.pod["metadata"].get("deletionGracePeriodSeconds") or 0)
                running.process.send_signal(signal.SIGTERM)
                self._tell(client, running)
            elif time.monotonic() > running.not_before:
                running.process.kill()
            return
        _delete(client, running.pod)

    @staticmethod
    def _tell(client: Client, running: Running, *, code: int | None = None) -> None:
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
