"""Points 17, 19, 21 and 22 of the checklist on a real control plane, in short; the chaos scenes show 18 and 19 at length."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator

import pytest

from tests.controlplane import build
from tests.controlplane.client import EVENTS, JOBS, POD_GROUPS, PODS, WORKLOADS, ApiError, Client, Object, wait_for
from tests.controlplane.cluster import LEASES, ControlPlane
from tests.controlplane.plan import AUDIT_LOG, MANAGED
from tests.e2e.installation import COMMAND, CONFIGURATIONS, SHIPPED, SYSTEM_NAMESPACE, Installation, labelled_job

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
SECONDS = 120.0
ADMISSION = "admissionregistration.k8s.io/v1"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """One control plane for all points."""
    build.ensure(say=print)
    with ControlPlane(gates=MANAGED) as cluster:
        yield cluster


@pytest.fixture
def installed(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A webhook and two controllers of the test's own; a test may kill any of them."""
    made = Installation(plane, SHIPPED, tmp_path_factory.mktemp("installed"))
    try:
        made.start_webhook()
        made.start_controller()
        made.start_controller()
        yield made
    finally:
        made.free_lease()
        made.close()
        print(made.logs())


@pytest.fixture
def namespace(plane: ControlPlane) -> Iterator[str]:
    with plane.namespace() as name:
        yield name


def our_writes(plane: ControlPlane, namespace: str) -> list[Object]:
    """Return what the API server wrote down of our writes in a namespace, dry runs apart."""
    lines = (plane.directory / AUDIT_LOG).read_text(encoding="utf-8").splitlines()
    events: list[Object] = [json.loads(line) for line in lines if line.endswith("}")]
    ours = [event for event in events if str(event.get("userAgent", "")).startswith("gangwarden/")]
    return [one for one in ours if one["objectRef"].get("namespace") == namespace and "dryRun" not in one["requestURI"]]


def is_enforced(client: Client, namespace: str) -> str:
    """Say what is wrong with two dry runs: a gang gets its stamp, and a quorum that cannot be reached is refused."""
    refusal, _ = client.attempt(unreachable(namespace))
    if "gangwarden.dev/min-count" not in refusal:
        return f"not refused: {refusal!r}"
    seen = client.create(labelled_job("good", namespace), dry_run=True)
    return "" if "schedulingGroup" in seen["spec"]["template"]["spec"] else "no stamp"


def unreachable(namespace: str) -> Object:
    made = labelled_job("bad", namespace)
    made["metadata"]["annotations"] = {"gangwarden.dev/min-count": "9"}
    return made


def test_17_a_dry_run_writes_nothing_as_the_audit_log_shows(installed: Installation, plane: ControlPlane, namespace: str) -> None:
    client = installed.client
    installed.wait_for_leader()
    for number in range(20):
        client.create(labelled_job(f"dry-{number}", namespace), dry_run=True)
        client.attempt(unreachable(namespace))
    client.create(labelled_job("real", namespace))
    wait_for(lambda: client.list(POD_GROUPS, namespace), seconds=SECONDS, what="the real Job has its group")
    wait_for(lambda: our_writes(plane, namespace), seconds=SECONDS, what="the audit log shows what we write")
    for resource in (POD_GROUPS, WORKLOADS, JOBS, EVENTS):
        assert not [one for one in client.list(resource, namespace) if "dry-" in json.dumps(one)], resource
    assert not [event for event in our_writes(plane, namespace) if "dry-" in json.dumps(event)]


def test_19_a_change_of_leaders_leaves_no_request_unjudged(installed: Installation, namespace: str) -> None:
    wrong: list[str] = []
    judged, over = [0], threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                problem = is_enforced(installed.client, namespace)
            except ApiError as error:
                problem = str(error)
            judged[0] += 1
            wrong.extend([problem] if problem else [])

    first = installed.wait_for_leader()
    asker = threading.Thread(target=ask)
    asker.start()
    try:
        first.kill()
        installed.free_lease()
        assert installed.wait_for_leader() is not first
        before = judged[0]
        wait_for(lambda: judged[0] >= before + 3, seconds=SECONDS, what="some requests under the new leader")
    finally:
        over.set()
        asker.join(SECONDS)
    assert wrong == []


def test_21_with_all_replicas_gone_the_cluster_works_boots_and_is_judged_again(
    installed: Installation, plane: ControlPlane
) -> None:
    client = installed.client
    for process in (installed.webhook, *installed.controllers):
        assert process is not None
        process.kill()
    works_without_us(client)
    plane.stop("kube-apiserver", kill=True)
    plane.start("kube-apiserver")  # with our configurations in it, and nobody behind them
    wait_for(lambda: answers(client), seconds=SECONDS, what="the API server is back")
    works_without_us(client)
    installed.start_webhook()
    assert is_enforced(client, "default") == ""


def answers(client: Client) -> bool:
    try:
        return client.request("GET", "/readyz") == "ok"
    except (ApiError, OSError):
        return False


def works_without_us(client: Client) -> None:
    """Do what a cluster needs to stand up: pods of the system and of ours, Leases, and what is no batch work at all."""
    container = {"name": "a", "image": "example.test/a:1"}
    for namespace in ("kube-system", SYSTEM_NAMESPACE):
        meta = {"name": "boot", "namespace": namespace}
        client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}, dry_run=True)
        client.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": {}}, dry_run=True)
    assert client.list(LEASES, "kube-system") is not None
    client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "boot", "namespace": "default"}}, dry_run=True)
    assert client.list(PODS, "kube-system") is not None


def test_22_taking_the_webhooks_away_leaves_nothing_that_fails_closed(
    installed: Installation, plane: ControlPlane, namespace: str
) -> None:
    for process in (installed.webhook, *installed.controllers):
        assert process is not None
        process.kill()
    done = subprocess.run(
        [COMMAND, "webhooks", "delete", "--kubeconfig", str(plane.kubeconfig)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    client = installed.client
    for resource in CONFIGURATIONS:
        left = [hook for one in client.list(f"{ADMISSION}/{resource}") for hook in one.get("webhooks", [])]
        assert not [hook for hook in left if hook["failurePolicy"] == "Fail"]
        assert client.find(f"{ADMISSION}/{resource}", "", "gangwarden") is None

    def passes() -> bool:
        refusal, _ = client.attempt(labelled_job("after", namespace))
        return not refusal

    wait_for(passes, seconds=SECONDS, what="a Job passes without us")
