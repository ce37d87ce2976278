"""A control plane for a person: ``make cluster``. Gangwarden runs on it, and it stays until Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.controlplane import build
from tests.controlplane.client import wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.component import Component, ComponentError, free_ports

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "gangwarden-system"
CONFIGURATIONS = "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


def gangwarden_command(cluster: ControlPlane, port: int) -> tuple[str, ...]:
    """Return the command line of webhook and controller in one process; edits under ``policies/`` count at once."""
    return (
        str(Path(sys.executable).parent / "gangwarden"),
        "run",
        f"--kubeconfig={cluster.kubeconfig}",
        f"--policies={ROOT / 'policies'}",
        f"--cert-dir={cluster.directory / 'certs'}",
        f"--namespace={NAMESPACE}",
        "--host=127.0.0.1",
        f"--port={port}",
        f"--url=https://localhost:{port}",
        "--log-format=text",
    )


def start_gangwarden(cluster: ControlPlane) -> Component:
    """Start Gangwarden and wait until the API server has been told of it."""
    client = cluster.client
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    found = Component("gangwarden", gangwarden_command(cluster, free_ports(1)[0]), cluster.directory)
    found.start()

    def is_known() -> bool:
        if not found.is_running:
            raise found.failure("ended while starting")
        return bool(client.list(CONFIGURATIONS))

    try:
        wait_for(is_known, seconds=60, what="webhook configurations")
    except BaseException:
        found.stop()
        raise
    return found


def main() -> int:
    """Bring everything up, say how to reach it, and wait."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        build.ensure(say=_say)
        _say("starting the control plane")
        with ControlPlane() as cluster:
            gangwarden = start_gangwarden(cluster)
            try:
                return _stay(cluster, gangwarden)
            finally:
                _say("stopping")
                gangwarden.stop()
    except KeyboardInterrupt:
        return 0
    except (build.BuildError, ComponentError, AssertionError) as error:
        _say(f"error: {error}")
        return 1


def _stay(cluster: ControlPlane, gangwarden: Component) -> int:
    _say(
        f"four fake nodes in two racks; pods run until they are finished by a patch of their status; logs in {cluster.directory}"
    )
    print(f"export KUBECONFIG={cluster.kubeconfig} PATH={cluster.bin_dir}:$PATH", flush=True)
    _say("ready; Ctrl-C ends it")
    with subprocess.Popen(["tail", "-n", "+1", "-F", str(gangwarden.log)], stdout=sys.stderr, start_new_session=True) as tail:
        try:
            while gangwarden.is_running:
                time.sleep(0.5)
        finally:
            tail.terminate()
    _say(str(gangwarden.failure("ended by itself")))
    return 1


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
