"""A real control plane on loopback: etcd, API server, controller manager, scheduler, and kwok for the nodes.

``with ControlPlane(gates=MANAGED) as cluster:`` is ready in about six seconds. Single components can be stopped and
started, and all of it can come up again with other gates on the same data.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import requests

from tests.controlplane import build
from tests.controlplane.certificates import write_kubeconfigs, write_pki
from tests.controlplane.client import CRON_JOBS, JOBS, NAMESPACES, NODES, ApiError, Client, Object
from tests.controlplane.component import Component, ComponentError, free_ports
from tests.controlplane.nodes import Nodes
from tests.controlplane.plan import AUDIT_LOG, MANAGED, Gates, Launch, Ports, plan_launches

READY_SECONDS = 90.0
"""Six seconds are usual; two cores busy with a build need far more."""
TRIES = 3
PORT_TAKEN = "address already in use"
AUDITED = "gangwarden-audited"
"""Namespace of the accounts whose writes are written down; see ``audit.yaml``."""
LEASES = "coordination.k8s.io/v1/leases"


class ControlPlane:
    """One control plane in one directory. Everything it starts is stopped by ``close``, which ``with`` calls in any case."""

    def __init__(
        self,
        *,
        gates: Gates = MANAGED,
        nodes: Nodes | None = None,
        bin_dir: Path | None = None,
        admission_config: Path | None = None,
        egress_config: Path | None = None,
    ) -> None:
        self.gates, self.nodes = gates, nodes or Nodes()
        self.bin_dir = bin_dir or build.cache_dir() / "bin"
        self.directory = Path(tempfile.mkdtemp(prefix="gangwarden-controlplane-"))
        self._admission_config, self._egress_config = admission_config, egress_config
        self._ports: Ports | None = None
        self._launches: dict[str, Launch] = {}
        self._components: dict[str, Component] = {}

    def __enter__(self) -> Self:
        """Start everything and wait until the nodes are Ready."""
        try:
            write_pki(self.pki)
            self.start_all()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop everything and remove the directory."""
        self.close()

    @property
    def pki(self) -> Path:
        """Where certificates and kubeconfigs are."""
        return self.directory / "pki"

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig; it holds its certificates itself."""
        return self.pki / "admin.kubeconfig"

    @property
    def server(self) -> str:
        """The URL of the API server."""
        if self._ports is None:
            raise ComponentError("the control plane was not started")
        return f"https://127.0.0.1:{self._ports.apiserver}"

    @property
    def client(self) -> Client:
        """A client that speaks as admin; keep it where many calls are made."""
        return Client(self.server, self.pki)

    def start_all(self) -> None:
        """Start every component; a port that was taken between choosing and binding means other ports and another try."""
        for attempt in range(1, TRIES + 1):
            if self._ports is None or attempt > 1:
                self._ports = Ports(*free_ports(5))
                write_kubeconfigs(self.pki, self.server)
            try:
                self._start_on(self._ports)
            except ComponentError as error:
                self.stop_all()
                if PORT_TAKEN not in str(error) or attempt == TRIES:
                    raise
            else:
                return

    def _start_on(self, ports: Ports) -> None:
        found = plan_launches(
            self.bin_dir,
            self.directory,
            ports,
            self.gates,
            admission_config=self._admission_config,
            egress_config=self._egress_config,
        )
        self._launches = {launch.name: launch for launch in found}
        self._components = {launch.name: Component(launch.name, launch.command, self.directory) for launch in found}
        for name in self._components:
            self.start(name)

    def restart_all(self, gates: Gates) -> None:
        """Stop everything and start again with other gates, on the same data and ports."""
        self.stop_all()
        self.gates = gates
        self.start_all()

    def start(self, name: str) -> None:
        """Start one component, such as ``kube-scheduler``, and wait until it is ready."""
        component, url = self._components[name], self._launches[name].health_url
        if name == "kwok":
            self._prepare_nodes()
        component.start()
        if url:
            self._await(component, lambda: self._answers(url))
        else:
            client = self.client
            self._await(component, lambda: all(_is_ready(node) for node in client.list(NODES)))

    def stop(self, name: str, *, kill: bool = False) -> None:
        """Stop one component; ``kill`` is an unannounced death."""
        self._components[name].stop(kill=kill)

    def stop_all(self) -> None:
        """Stop what runs, in the order in which nothing waits for something that is gone."""
        for component in reversed(self._components.values()):
            component.stop()

    def close(self) -> None:
        """Stop everything and remove the directory."""
        self.stop_all()
        shutil.rmtree(self.directory, ignore_errors=True)

    def audited(self, namespace: str, name: str) -> list[Object]:
        """Return the audit events about the creation of a Job, the last one last."""
        wanted = {"namespace": namespace, "name": name}
        return [event for event in self._audit_events() if wanted.items() <= event.get("objectRef", {}).items()]

    def written(self, account: str) -> list[Object]:
        """Return the audit events about writes of an account in `AUDITED` that came about, in order of their time."""
        user = f"system:serviceaccount:{AUDITED}:{account}"
        found = [one for one in self._audit_events() if one["user"]["username"] == user and one["responseStatus"]["code"] < 300]
        return sorted(found, key=lambda event: str(event["requestReceivedTimestamp"]))

    def _audit_events(self) -> list[Object]:
        path = self.directory / AUDIT_LOG
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def logs(self) -> str:
        """Return the end of every component's log, for the report of a failed test."""
        return "\n".join(f"{name}:\n{component.tail()}" for name, component in self._components.items())

    def kubectl(self, *arguments: str, stdin: str | None = None, seconds: float = 60.0, check: bool = True) -> str:
        """Run kubectl as admin and return what it prints; with ``check``, failing is an AssertionError with its words."""
        done = subprocess.run(
            [self.bin_dir / "kubectl", *arguments],
            input=stdin,
            env=os.environ | {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.directory)},  # its caches go with us
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        said = done.stdout + done.stderr
        assert not check or done.returncode == 0, f"kubectl {' '.join(arguments)}: exit code {done.returncode}\n{said}"
        return said

    @contextlib.contextmanager
    def namespace(self, **labels: str) -> Iterator[str]:
        """Give a namespace of a random name; afterwards its Jobs go before it does, and it is not waited for.

        A terminating namespace of 1.37 never ends while it holds a Job with backoffLimitPerIndex.
        """
        client, name = self.client, f"t-{secrets.token_hex(4)}"
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        try:
            yield name
        finally:
            for resource in (CRON_JOBS, JOBS):
                client.delete_all(resource, name)
            client.delete(NAMESPACES, "", name)

    def _prepare_nodes(self) -> None:
        """Create the nodes; drop the leases of a kwok that died, since a new one waits for them to expire."""
        client = self.client
        client.delete_all(LEASES, "kube-node-lease")
        for node in self.nodes.objects():
            try:
                client.create(node)
            except ApiError as error:
                if error.body.get("reason") != "AlreadyExists":
                    raise

    def _answers(self, url: str) -> bool:
        with requests.Session() as session:
            session.trust_env = False
            try:
                return session.get(url, verify=str(self.pki / "ca.crt"), timeout=5).status_code == 200
            except requests.RequestException:
                return False

    def _await(self, component: Component, is_ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not is_ready():
            if not component.is_running:
                raise component.failure("ended while starting")
            if time.monotonic() > deadline:
                raise component.failure(f"not ready after {READY_SECONDS:g} s")
            time.sleep(0.1)


def _is_ready(node: Object) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    tainted = any(taint["key"].startswith("node.kubernetes.io/") for taint in node["spec"].get("taints", []))
    return not tainted and any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
