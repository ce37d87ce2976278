"""The manifests of ``docs/install``: an API server takes them, and their permissions are enough and no more."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests.controlplane.client import EVENTS, POD_GROUPS, PODS, ApiError, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.component import free_ports
from tests.controlplane.scenes import is_bound
from tests.e2e.installation import COMMAND, CONFIGURATIONS, SYSTEM_NAMESPACE, Process, labelled_job

ROOT = Path(__file__).resolve().parents[2]
INSTALL = sorted((ROOT / "docs/install").glob("*.yaml"))
OPTIONAL = sorted((ROOT / "docs/install/optional").glob("*.yaml"))
NATIVE = [ROOT / "policies/gang" / name / "policy.yaml" for name in ("stamped-when-away", "guarded-quorum")]
ACCOUNTS = ("gangwarden-webhook", "gangwarden-controller")

REFUSED = (
    ("gangwarden-webhook", "update", "jobs"),
    ("gangwarden-webhook", "create", "podgroups"),
    ("gangwarden-webhook", "get", "secrets"),
    ("gangwarden-webhook", "delete", "validatingwebhookconfigurations"),
    ("gangwarden-controller", "create", "jobs"),
    ("gangwarden-controller", "update", "jobs"),
    ("gangwarden-controller", "create", "pods"),
    ("gangwarden-controller", "patch", "pods"),
    ("gangwarden-controller", "patch", "nodes"),
    ("gangwarden-controller", "get", "secrets"),
)


@pytest.fixture(scope="module")
def permitted(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Namespace, accounts and permissions, as a person would apply them."""
    files = [str(path) for path in INSTALL if path.name < "20"]
    arguments = [word for path in files for word in ("-f", path)]
    control_plane.kubectl("apply", "--server-side", "--validate=strict", *arguments)
    yield control_plane
    permissions = str(ROOT / "docs/install/10-permissions.yaml")
    control_plane.kubectl("delete", "--ignore-not-found", "-f", permissions)


@pytest.fixture
def running(permitted: ControlPlane, tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    """Webhook and controller, each with the token of its account and nothing else."""
    (port,) = free_ports(1)
    secret = f"--cert-secret={SYSTEM_NAMESPACE}/gangwarden-certs"
    place = ["--host=127.0.0.1", f"--port={port}", f"--url=https://localhost:{port}", secret]
    webhook = Process(["serve", *place, *account(permitted, ACCOUNTS[0], tmp_path)], tmp_path / "webhook.log")
    controller = Process(
        [
            "controller",
            f"--namespace={SYSTEM_NAMESPACE}",
            "--status-host=127.0.0.1",
            "--status-port=0",
            *account(permitted, ACCOUNTS[1], tmp_path),
        ],
        tmp_path / "controller.log",
    )
    try:
        yield webhook, controller
    finally:
        for resource in CONFIGURATIONS:
            permitted.client.delete(f"admissionregistration.k8s.io/v1/{resource}", "", "gangwarden")
        for process in (controller, webhook):
            process.stop()


def account(cluster: ControlPlane, name: str, directory: Path) -> list[str]:
    """Return the flag that makes a process speak as a ServiceAccount."""
    token = cluster.kubectl("create", "token", name, "-n", SYSTEM_NAMESPACE).strip()
    authority = base64.b64encode((cluster.pki / "ca.crt").read_bytes()).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": cluster.server, "certificate-authority-data": authority}}],
        "users": [{"name": "it", "user": {"token": token}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }
    path = directory / f"{name}.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return [f"--kubeconfig={path}"]


def is_stamped(client: Client) -> bool:
    with suppress(ApiError):
        seen = client.create(labelled_job("probe", "default"), dry_run=True)
        return "schedulingGroup" in seen["spec"]["template"]["spec"]
    return False


@pytest.mark.parametrize("path", [*INSTALL, *OPTIONAL, *NATIVE], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_api_server_takes_a_manifest_of_the_installation(permitted: ControlPlane, path: Path) -> None:
    permitted.kubectl("apply", "--server-side", "--validate=strict", "--dry-run=server", "-f", str(path))


def test_the_permissions_are_enough_to_group_a_job_and_to_say_why_one_waits(
    permitted: ControlPlane, running: tuple[Process, Process], namespace: str
) -> None:
    client = permitted.client
    wait_for(lambda: is_stamped(client), seconds=60, what="the webhook stamps")
    client.create(labelled_job("fits", namespace))
    client.create(labelled_job("too-large", namespace, pods=5, cpu="4"))
    wait_for(lambda: sum(map(is_bound, client.list(PODS, namespace, labels="job=fits"))) == 4, seconds=60, what="four are bound")
    wait_for(lambda: any(event["reason"] == "GroupUnschedulable" for event in client.list(EVENTS, namespace)), seconds=60)
    client.patch("batch/v1/jobs", namespace, "too-large", {"spec": {"parallelism": 3, "completions": 3}})
    wait_for(lambda: 3 in quorums(client, namespace), seconds=60, what="the quorum follows")
    refusals = [process.text() for process in running if "forbidden" in process.text().lower()]
    assert refusals == []


def test_the_permissions_and_their_fence_are_enough_to_restart_a_group(
    permitted: ControlPlane, running: tuple[Process, Process], namespace: str
) -> None:
    client, fence = permitted.client, str(ROOT / "policies/disruption/fenced-controller/policy.yaml")
    permitted.kubectl("apply", "-f", fence)
    try:
        wait_for(lambda: is_stamped(client), seconds=60, what="the webhook stamps")
        client.create(labelled_job("train", namespace))
        first = wait_for(lambda: bound_uids(client, namespace, 4), seconds=60, what="four are bound")
        client.delete(PODS, namespace, client.list(PODS, namespace)[0]["metadata"]["name"])
        wait_for(
            lambda: bound_uids(client, namespace, 4) and not first & bound_uids(client, namespace, 4),
            seconds=90,
            what="four others are bound",
        )
    finally:
        permitted.kubectl("delete", "-f", fence, "--ignore-not-found")
    assert [process.text() for process in running if "forbidden" in process.text().lower()] == []


def bound_uids(client: Client, namespace: str, count: int) -> set[str]:
    found = {pod["metadata"]["uid"] for pod in client.list(PODS, namespace) if is_bound(pod)}
    return found if len(found) == count else set()


def quorums(client: Client, namespace: str) -> list[int]:
    return [group["spec"]["schedulingPolicy"]["gang"]["minCount"] for group in client.list(POD_GROUPS, namespace)]


def test_uninstalling_in_the_order_of_the_runbook_leaves_nothing_that_fails_closed(
    permitted: ControlPlane, running: tuple[Process, Process], namespace: str
) -> None:
    client, (webhook, _) = permitted.client, running
    wait_for(lambda: is_stamped(client), seconds=60, what="the webhook stamps")
    policies = [word for path in NATIVE for word in ("-f", str(path))]
    permitted.kubectl("apply", *policies)
    permitted.kubectl("delete", "--ignore-not-found", *policies)
    webhook.stop()
    with pytest.raises(ApiError, match=r'failed calling webhook "fail.validate.gangwarden.dev"'):
        client.create(labelled_job("between", namespace))
    subprocess.run([COMMAND, "webhooks", "delete", f"--kubeconfig={permitted.kubeconfig}"], check=True, timeout=120)
    wait_for(lambda: is_admitted_plain(client, namespace), what="a labelled Job passes, ungrouped")


def is_admitted_plain(client: Client, namespace: str) -> bool:
    with suppress(ApiError):
        return "schedulingGroup" not in client.create(labelled_job("after", namespace), dry_run=True)["spec"]["template"]["spec"]
    return False


@pytest.mark.parametrize("name, verb, resource", REFUSED)
def test_the_permissions_are_no_more(permitted: ControlPlane, name: str, verb: str, resource: str) -> None:
    who = f"--as=system:serviceaccount:{SYSTEM_NAMESPACE}:{name}"
    assert permitted.kubectl("auth", "can-i", verb, resource, "-n", "kube-system", who, check=False).split()[0] == "no"


def test_the_policy_that_guards_quorums_trusts_the_controller_of_the_manifests() -> None:
    (params,) = [doc for doc in documents(ROOT / "policies/gang/guarded-quorum/policy.yaml") if doc["kind"] == "ConfigMap"]
    accounts = [doc["metadata"]["name"] for path in INSTALL for doc in documents(path) if doc["kind"] == "ServiceAccount"]
    assert set(accounts) == set(ACCOUNTS)
    assert f"system:serviceaccount:{SYSTEM_NAMESPACE}:gangwarden-controller" in params["data"]["users"].split()


def documents(path: Path) -> list[dict]:
    return [json.loads(json.dumps(doc)) for doc in yaml.safe_load_all(path.read_text())]
