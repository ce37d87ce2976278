"""A controller that lost its Lease, cut off or stopped, has written nothing since another one leads."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests

from tests.controlplane.accounts import account_kubeconfig
from tests.controlplane.client import PODS, ApiError, wait_for
from tests.controlplane.cluster import AUDITED, ControlPlane
from tests.controlplane.scenes import is_bound
from tests.e2e.installation import SHIPPED, Installation, Process, labelled_job
from tests.e2e.line import Line

SECONDS = 120.0
QUIET = timedelta(seconds=3)
LEASES = "leases"


class Rivals:
    """Two controllers with accounts of their own; the first one calls over a line."""

    def __init__(self, installed: Installation, line: Line, namespace: str) -> None:
        self.installed, self.line, self.namespace, self.client = installed, line, namespace, installed.client
        self._begun = datetime.now(UTC)
        self._accounts()
        self.first = self._start("first", line.url)
        installed.wait_for_leader()
        self.second = self._start("second")
        wait_for(lambda: answers(self.second, "/readyz"), seconds=SECONDS, what="the second one knows the cluster")

    def _accounts(self) -> None:
        subject = {"kind": "Group", "name": f"system:serviceaccounts:{AUDITED}", "apiGroup": "rbac.authorization.k8s.io"}
        role = {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": "rbac.authorization.k8s.io"}
        head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": AUDITED}}
        accounts = [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": AUDITED}}
            for name in ("first", "second")
        ]
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AUDITED}}
        for made in (namespace, *accounts, head | {"roleRef": role, "subjects": [subject]}):
            with suppress(ApiError):  # the scene before has made it
                self.client.create(made)

    def _start(self, account: str, server: str = "") -> Process:
        config = self.installed.directory / f"{account}.kubeconfig"
        config.write_text(account_kubeconfig(self.installed.cluster, AUDITED, account, server=server))
        return self.installed.start_controller("--kubeconfig", str(config))

    def gang(self, name: str) -> None:
        """Create a gang and wait until it runs."""
        self.client.create(labelled_job(name, self.namespace, cpu="100m"))
        wait_for(lambda: len(self._bound(name)) == 4, seconds=SECONDS, what=f"{name} is bound")

    def _bound(self, name: str) -> list[dict[str, Any]]:
        return [pod for pod in self.client.list(PODS, self.namespace, labels=f"job={name}") if is_bound(pod)]

    def writes(self, account: str) -> list[tuple[datetime, str]]:
        """Return when an account wrote in this scene, and what: the plural of its kind."""
        found = self.installed.cluster.written(account)
        writes = [(datetime.fromisoformat(one["requestReceivedTimestamp"]), one["objectRef"]["resource"]) for one in found]
        return [(at, what) for at, what in writes if at > self._begun]

    def is_quiet(self) -> bool:
        """Tell whether the first has had nothing to write for a while but its Lease."""
        return datetime.now(UTC) - max(at for at, what in self.writes("first") if what != LEASES) > QUIET

    def second_leads(self) -> bool:
        """Tell whether the second one leads; the first one then does not, by its own word."""
        if not leads(self.second):
            return False
        assert not leads(self.first), "two lead at the same time"
        return True


def answers(process: Process, path: str) -> str:
    """Return what a controller tells of itself; nothing where it tells nothing."""
    with requests.Session() as session, suppress(requests.RequestException):
        session.trust_env = False
        answer = session.get(f"http://127.0.0.1:{process.status_port}{path}", timeout=2)
        return answer.text if answer.ok else ""
    return ""


def leads(process: Process) -> bool:
    return "\ngangwarden_leader 1.0\n" in answers(process, "/metrics")


def cut_off(rivals: Rivals) -> Callable[[], None]:
    rivals.line.cut()
    return rivals.line.mend


def stopped(rivals: Rivals) -> Callable[[], None]:
    """Stop the process between two writes: what was sent already would come from one that led when it was sent."""
    wait_for(rivals.is_quiet, seconds=SECONDS, what="the first has nothing to do")
    rivals.first.signal(signal.SIGSTOP)
    return lambda: rivals.first.signal(signal.SIGCONT)


@pytest.fixture
def rivals(control_plane: ControlPlane, namespace: str, tmp_path) -> Iterator[Rivals]:
    made = Installation(control_plane, SHIPPED / "gang", tmp_path)
    with Line(control_plane) as line:
        try:
            made.start_webhook()
            yield Rivals(made, line, namespace)
        finally:
            for controller in made.controllers:
                controller.signal(signal.SIGCONT)
            made.close()
            print(made.logs())


@pytest.mark.timeout(600)
@pytest.mark.parametrize("away", [cut_off, stopped])
def test_who_lost_the_lease_writes_nothing_once_another_leads(
    rivals: Rivals, away: Callable[[Rivals], Callable[[], None]]
) -> None:
    rivals.gang("before")
    back = away(rivals)
    try:
        rivals.client.create(labelled_job("meanwhile", rivals.namespace, cpu="100m"))
        wait_for(rivals.second_leads, seconds=SECONDS, what="the second one leads")
        rivals.gang("while-away")
    finally:
        back()
    rivals.gang("while-back")
    wait_for(lambda: answers(rivals.first, "/readyz"), seconds=SECONDS, what="the first one knows the cluster again")
    rivals.gang("later")
    wait_for(lambda: answers(rivals.second, "/metrics"), seconds=SECONDS, what="the second one answers")
    assert rivals.second_leads()
    assert rivals.second.stop() == 0
    wait_for(lambda: leads(rivals.first), seconds=SECONDS, what="the first one leads again")
    rivals.gang("last")
    taken = min(at for at, what in rivals.writes("second") if what == LEASES)
    given = max(at for at, what in rivals.writes("second") if what == LEASES)
    writes = rivals.writes("first")
    assert [what for at, what in writes if taken <= at <= given] == []
    assert {True, False} == {at < taken for at, what in writes if what != LEASES}, "it wrote before, and does again"
