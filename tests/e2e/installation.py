"""Gangwarden on a real control plane: its processes, started, killed and stopped by their handles."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from tests.controlplane.client import ApiError, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.component import free_ports

COMMAND = str(Path(sys.executable).with_name("gangwarden"))
SYSTEM_NAMESPACE = "gangwarden-system"
CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
START_SECONDS = 120.0
WARNINGS = "error,default::ResourceWarning"
"""A connection whose TLS is still being closed when the process ends is told of by uvloop where raising keeps its loop open."""
SHIPPED = Path(__file__).resolve().parents[2] / "policies"
CANARY = ("run", "--canary-namespace", SYSTEM_NAMESPACE)
"""Webhook and controller in one process, which leaves groups to the Job controller once it was seen to make one."""


class Process:
    """One process of ours."""

    status_port: int = 0

    def __init__(self, arguments: list[str], log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self._popen = subprocess.Popen(
                [COMMAND, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env={**os.environ, "PYTHONWARNINGS": WARNINGS},
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Return how it ended; None while it runs."""
        return self._popen.poll()

    @property
    def resident_mib(self) -> float:
        """Return the memory that it holds."""
        line = next(line for line in Path(f"/proc/{self.pid}/status").read_text().splitlines() if line.startswith("VmRSS:"))
        return float(line.split()[1]) / 1024

    def kill(self) -> None:
        """End it as a lost machine would."""
        self._popen.kill()
        self._popen.wait(30)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if there is still somebody to get it."""
        if self.alive:
            self._popen.send_signal(number)

    def tell_to_end(self) -> None:
        """Ask it to end, as Kubernetes does."""
        self.signal(signal.SIGTERM)

    def stop(self) -> int:
        """End it as Kubernetes would; returns the exit code."""
        self.tell_to_end()
        return self.wait()

    def wait(self) -> int:
        """Wait for its end, which is made where it does not come; returns the exit code. A second signal would hurry it."""
        with suppress(subprocess.TimeoutExpired):
            return self._popen.wait(40)
        self.kill()
        return -9

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


class Installation:
    """Webhook and controllers beside a control plane, with policies in a folder that a test may edit."""

    def __init__(self, cluster: ControlPlane, policies: Path, directory: Path) -> None:
        self.cluster, self.policies, self.directory = cluster, policies, directory
        self.client: Client = cluster.client
        self.port = free_ports(1)[0]
        self.webhook: Process | None = None
        self.controllers: list[Process] = []
        with suppress(ApiError):
            self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}})

    @property
    def url(self) -> str:
        """Where the API server reaches the webhook."""
        return f"https://localhost:{self.port}"

    def start_webhook(self, command: str = "serve", *flags: str) -> Process:
        """Start a replica that keeps its own configurations, and wait until the API server calls it.

        With ``run`` for a command it is a controller as well.
        """
        certificates = [] if "--cert-secret" in flags else ["--cert-dir", str(self.directory / "certs")]
        place = ["--host", "127.0.0.1", "--port", str(self.port), "--url", self.url, *certificates]
        self.webhook = Process([command, *self._common(), *place, *flags], self.directory / "webhook.log")
        self._wait(self.is_called, self.webhook, "the API server calls the webhook")
        return self.webhook

    def start_replica(self, *flags: str) -> tuple[Process, int]:
        """Start one more webhook, to which nothing points; returns its port as well."""
        port = free_ports(1)[0]
        process = self.begin_replica(port, *flags)
        self._wait(lambda: _listens(port), process, "the replica listens")
        return process, port

    def begin_replica(self, port: int, *flags: str) -> Process:
        """Start one more webhook and wait for nothing."""
        place = ["--host", "127.0.0.1", "--port", str(port), *flags]
        return Process(["serve", *self._common(), *place], self.directory / f"replica-{port}.log")

    def start_controller(self, *flags: str) -> Process:
        """Start one more controller."""
        log = self.directory / f"controller-{len(self.controllers)}.log"
        port = free_ports(1)[0]
        status = ["--status-host", "127.0.0.1", "--status-port", str(port)]
        process = Process(["controller", *self._common(), "--namespace", SYSTEM_NAMESPACE, *status, *flags], log)
        process.status_port = port
        self.controllers.append(process)
        return process

    def leader(self) -> str:
        """Return who holds the Lease."""
        lease = self.client.find("coordination.k8s.io/v1/leases", SYSTEM_NAMESPACE, "gangwarden-controller")
        return str((lease or {}).get("spec", {}).get("holderIdentity") or "")

    def free_lease(self) -> None:
        """Let the Lease of a controller that was killed run out at once, as it would in some seconds."""
        change = {"spec": {"holderIdentity": ""}}
        self.client.patch("coordination.k8s.io/v1/leases", SYSTEM_NAMESPACE, "gangwarden-controller", change)

    def wait_for_leader(self) -> Process:
        """Return the controller that leads; a Lease of one that was killed has to run out first."""

        def leading() -> Process | None:
            holder = self.leader()
            return next((one for one in self.controllers if one.alive and f'"identity":"{holder}"' in one.text()), None)

        return wait_for(leading, seconds=START_SECONDS, what="a controller leads")

    def is_called(self) -> bool:
        """Tell whether all configurations are there and a labelled Job gets its stamp, or hears why not; none is stored."""
        probe = labelled_job("probe", "default")
        try:
            for resource in CONFIGURATIONS:
                self.client.get(f"admissionregistration.k8s.io/v1/{resource}", "", "gangwarden")
            seen = self.client.create(probe, dry_run=True)
        except ApiError as error:
            return "WorkloadPolicy" in str(error)
        if "schedulingGroup" in seen["spec"]["template"]["spec"] or "scheduling" in seen["spec"]:
            return True
        return any("not grouped" in warning for warning in self.client.attempt(probe)[1])

    def close(self) -> None:
        """Take the configurations away while the webhook drains: nothing may wait for a webhook that is gone."""
        processes = (*self.controllers, *([self.webhook] if self.webhook else []))
        for process in processes:
            process.tell_to_end()
        self._take_away()
        for process in processes:
            process.stop()
        self._take_away()  # one may have been in the middle of writing them

    def _take_away(self) -> None:
        for resource in CONFIGURATIONS:
            self.client.delete(f"admissionregistration.k8s.io/v1/{resource}", "", "gangwarden")

    def logs(self) -> str:
        """Return the ends of all logs."""
        return "\n".join(f"--- {path.name}\n{path.read_text()[-6000:]}" for path in sorted(self.directory.glob("*.log")))

    def _common(self) -> list[str]:
        return ["--kubeconfig", str(self.cluster.kubeconfig), "-p", str(self.policies)]

    def _wait(self, probe, process: Process, what: str) -> None:
        def ready() -> bool:
            assert process.alive, f"ended too early:\n{process.text()[-4000:]}"
            return probe()

        wait_for(ready, seconds=START_SECONDS, what=what)


@contextmanager
def running(
    cluster: ControlPlane, policies: Path, directory: Path, *command: str, called: Callable[[Client], bool] | None = None
) -> Iterator[Installation]:
    """Run a webhook (``serve`` if nothing is said) beside a control plane; its logs are printed, for the report of a failure.

    ``called`` tells whether the API server calls it, where the policies are not those that ``Installation.is_called`` asks for.
    """
    made = Installation(cluster, policies, directory)
    if called is not None:
        made.is_called = partial(called, made.client)  # type: ignore[method-assign]  # asked by start_webhook
    try:
        made.start_webhook(*command)
        yield made
    finally:
        made.close()
        print(made.logs())


def labelled_job(name: str, namespace: str, **shape) -> dict:
    """A Job that asks for a gang."""
    from tests.controlplane.scenes import job

    made = job(name, namespace, **shape)
    made["metadata"]["labels"] = {"gangwarden.dev/gang": "true"}
    return made


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
