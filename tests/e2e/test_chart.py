"""The chart's life on a real API server, by the real Helm: install, upgrade, rollback, uninstall, and a gang after each step.

A stand-in kubelet runs the commands of Deployments and of hooks as local processes, with the tokens of their ServiceAccounts and
no other right; a stand-in kube-proxy leads the API server's calls to them. Chart and Service are used as they stand.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests.charts.helm import render
from tests.charts.outline import VALUES
from tests.controlplane.client import DEPLOYMENTS, JOBS, POD_GROUPS, PODS, ApiError, Client, Object, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubelet import PLACEMENT, Kubelet
from tests.controlplane.services import ServiceProxy
from tests.e2e.installation import COMMAND, SYSTEM_NAMESPACE, labelled_job

ROOT = Path(__file__).resolve().parents[2]
CHART, OLDER = ROOT / "charts/gangwarden", Path(__file__).with_name("older")
IMAGE, CHECKOUT = "gangwarden:0.1.0", "registry.example.com/policies:1"
RELEASE = "gangwarden"
HELM_SECONDS = 300
AT_ONCE = {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 2}}}
SINGLE = PLACEMENT | {"replicas": 1}
PLACED = {"webhook": PLACEMENT | AT_ONCE, "controller": PLACEMENT | {"replicas": 1}, "hooks": PLACEMENT}
LEASES = "coordination.k8s.io/v1/leases"
ADMISSION, RBAC = "admissionregistration.k8s.io/v1", "rbac.authorization.k8s.io/v1"
WHOLE_CLUSTER = (
    *(f"{ADMISSION}/{kind}webhookconfigurations" for kind in ("mutating", "validating")),
    *(f"{ADMISSION}/validatingadmissionpolic{kind}" for kind in ("ies", "ybindings")),
    f"{RBAC}/clusterroles",
    f"{RBAC}/clusterrolebindings",
)
IN_NAMESPACES = (
    f"{RBAC}/roles",
    f"{RBAC}/rolebindings",
    "v1/secrets",
    "v1/services",
    "v1/configmaps",
    "v1/serviceaccounts",
    "apps/v1/deployments",
    "batch/v1/jobs",
    LEASES,
    "policy/v1/poddisruptionbudgets",
    "networking.k8s.io/v1/networkpolicies",
)
DEFINITIONS = "apiextensions.k8s.io/v1/customresourcedefinitions"
CUSTOM = {
    "cert-manager.io": {"Certificate": "certificates", "Issuer": "issuers"},
    "monitoring.coreos.com": {"ServiceMonitor": "servicemonitors", "PrometheusRule": "prometheusrules"},
}
OF_THE_TESTS = {"labeller"}
NOT_OURS = {"kube-root-ca.crt", "default", "param-holder.gangwarden.dev"}


class Node:
    """A control plane with a node that runs pods, and Helm."""

    def __init__(self, cluster: ControlPlane, kubelet: Kubelet, directory: Path) -> None:
        self.cluster, self.kubelet, self.directory = cluster, kubelet, directory
        self.client: Client = cluster.client

    def helm(self, *arguments: str | Path, values: Object | None = None, fails: bool = False) -> str:
        """Run Helm and return what it said; an end that was not expected shows that and the logs of all pods."""
        given = self.directory / "values.json"
        given.write_text(json.dumps(values or {}))
        more = ["--values", given] if values is not None else []
        done = subprocess.run(
            [self.cluster.bin_dir / "helm", *arguments, "--namespace", SYSTEM_NAMESPACE, *more],
            env=os.environ | {"KUBECONFIG": str(self.cluster.kubeconfig), "HOME": str(self.directory)},
            capture_output=True,
            text=True,
            timeout=HELM_SECONDS + 20,
            check=False,
        )
        said = done.stdout + done.stderr
        assert (done.returncode != 0) is fails, f"helm {arguments[0]}: {said}\n{self.kubelet.failure!r}\n{self.kubelet.logs()}"
        return said

    def change(self, verb: str, *arguments: str | Path, values: Object | None = None) -> None:
        """Install, upgrade or roll back, and wait until everything is ready."""
        self.helm(verb, RELEASE, *arguments, "--wait", f"--timeout={HELM_SECONDS}s", values=values)

    def replicas(self, component: str) -> int:
        deployment = self.client.find(DEPLOYMENTS, SYSTEM_NAMESPACE, f"gangwarden-{component}")
        return deployment["status"].get("readyReplicas", 0) if deployment else 0


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    directory = tmp_path_factory.mktemp("node")
    volumes = {CHECKOUT: ROOT / "policies"}
    with ServiceProxy() as proxy, ControlPlane(egress_config=proxy.config) as cluster:
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE, "labels": labels}})
        with Kubelet(cluster, directory / "pods", images=(IMAGE,), volumes=volumes) as kubelet:
            proxy.lead_to(cluster.client, kubelet.real_address)
            yield Node(cluster, kubelet, directory)


@pytest.fixture(autouse=True)
def cleared(node: Node) -> Iterator[None]:
    """Leave nothing behind: a test that failed half way must not fail the ones after it."""
    yield
    node.helm("uninstall", RELEASE, "--ignore-not-found", "--no-hooks", "--wait", f"--timeout={HELM_SECONDS}s")
    for resource, namespace, name in left_over(node.client):
        node.client.delete(resource, namespace, name)


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """The older chart, with the permissions that the processes need."""
    chart = tmp_path / "older"
    shutil.copytree(OLDER, chart)
    shutil.copy(ROOT / "docs/install/10-permissions.yaml", chart / "templates")
    return chart


def assert_gangs_are_judged(node: Node, namespace: str, name: str) -> None:
    """Create a gang that gets its group, and one that is refused for its shape."""
    client = node.client
    wait_for(lambda: is_stamped(client, namespace), what="a labelled Job gets its stamp")
    client.create(labelled_job(name, namespace))
    wait_for(lambda: f"{name}-" in " ".join(groups(client, namespace)), what="the controller makes the group")
    refused = labelled_job("refused", namespace)
    refused["metadata"]["annotations"] = {"gangwarden.dev/min-count": "9"}

    def refusal() -> re.Match[str] | None:
        return re.search(r"gangwarden.dev. denied the request.*min-count", client.attempt(refused)[0])

    wait_for(refusal, what="a gang of an impossible shape is refused")  # API servers learn of configurations one by one


def is_stamped(client: Client, namespace: str) -> bool:
    with suppress(ApiError):
        return "schedulingGroup" in client.create(labelled_job("probe", namespace), dry_run=True)["spec"]["template"]["spec"]
    return False


def take_down(client: Client, component: str) -> None:
    """End every replica, and see them gone."""
    client.patch(DEPLOYMENTS, SYSTEM_NAMESPACE, f"gangwarden-{component}", {"spec": {"replicas": 0}})
    wait_for(lambda: pods(client, component) == [], seconds=120, what=f"no {component} is left")


def pods(client: Client, component: str) -> list[Object]:
    return client.list(PODS, SYSTEM_NAMESPACE, labels=f"app.kubernetes.io/component={component}")


def assert_native_policies_hold(node: Node, namespace: str) -> None:
    """The controller writes two fields of a Job, and a namespace leaves policy only by the hand of who may let it."""
    account = f"--as=system:serviceaccount:{SYSTEM_NAMESPACE}:gangwarden-controller"

    def patched(spec: str) -> str:
        return node.cluster.kubectl("patch", "job", "first", "-n", namespace, "--type=merge", "-p", spec, account, check=False)

    assert "writes no field of its spec but suspend" in patched('{"spec": {"parallelism": 2}}')
    assert "patched" in patched('{"spec": {"suspend": true}}')
    node.cluster.kubectl("create", "clusterrole", "labeller", "--verb=get,patch", "--resource=namespaces")
    node.cluster.kubectl("create", "clusterrolebinding", "labeller", "--clusterrole=labeller", "--user=alice")
    label = ("label", "namespace", namespace, "gangwarden.dev/bypass=true")
    assert "out of all of Gangwarden's policies, and alice may not" in node.cluster.kubectl(*label, "--as=alice", check=False)
    node.cluster.kubectl(*label)
    wait_for(lambda: not is_stamped(node.client, namespace), what="the namespace is not asked about")
    wait_for(lambda: node.client.attempt(labelled_job("bypassed", namespace))[0] == "", what="a labelled Job passes")
    node.cluster.kubectl("label", "namespace", namespace, "gangwarden.dev/bypass-", "--as=alice")
    wait_for(lambda: is_stamped(node.client, namespace), what="policy holds again")


def groups(client: Client, namespace: str) -> list[str]:
    return [group["metadata"]["name"] for group in client.list(POD_GROUPS, namespace)]


def remains(client: Client) -> list[str]:
    """Return what is still there of an installation."""
    return [f"{resource} {name}" for resource, _, name in left_over(client) if name not in OF_THE_TESTS]


def left_over(client: Client) -> Iterator[tuple[str, str, str]]:
    """Yield resource, namespace and name of what is none of Kubernetes' own."""
    for resource in WHOLE_CLUSTER:
        names = [one["metadata"]["name"] for one in client.list(resource)]
        yield from (
            (resource, "", name) for name in names if ("gangwarden" in name and name not in NOT_OURS) or name in OF_THE_TESTS
        )
    for namespace in (SYSTEM_NAMESPACE, "default"):
        for resource in IN_NAMESPACES:
            names = [one["metadata"]["name"] for one in client.list(resource, namespace)]
            ours = [name for name in names if name not in NOT_OURS and (namespace != "default" or "gangwarden" in name)]
            yield from ((resource, namespace, name) for name in ours)


@pytest.mark.parametrize("name", list(VALUES))
def test_every_object_of_a_value_set_is_one_that_the_api_server_takes(node: Node, name: str) -> None:
    objects = render(yaml.safe_load(VALUES[name].read_text()) if VALUES[name] else {})
    for group, kinds in CUSTOM.items():
        for kind, plural in kinds.items():
            serve_kind(node, group, kind, plural)
    for namespace in {one["metadata"].get("namespace", "default") for one in objects} - {SYSTEM_NAMESPACE, "default"}:
        if node.client.find("v1/namespaces", "", namespace) is None:
            node.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    said = node.cluster.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", stdin=listed)
    unrestricted = ["host namespaces (hostNetwork=true)"] if '"hostNetwork": true' in listed else []
    assert [line.partition('"restricted:latest": ')[2] for line in said.splitlines() if "Warning" in line] == unrestricted
    assert said.count("serverside-applied") == len(objects)


def serve_kind(node: Node, group: str, kind: str, plural: str) -> None:
    """Serve a kind of others, with any spec: its own definition is not ours to test."""
    name = f"{plural}.{group}"
    if node.client.find(DEFINITIONS, "", name) is not None:
        return
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": loose}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower()}
    spec = {"group": group, "names": names, "scope": "Namespaced", "versions": [version]}
    meta = {"name": name}
    node.client.create(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta, "spec": spec}
    )
    wait_for(lambda: is_served(node.client, group), what=f"{name} is served")


def is_served(client: Client, group: str) -> bool:
    with suppress(ApiError):
        return bool(client.request("GET", f"/apis/{group}/v1")["resources"])
    return False


@pytest.mark.timeout(900)
def test_an_older_release_is_upgraded_rolled_back_and_taken_away_and_gangs_are_judged_throughout(node: Node, older: Path) -> None:
    client = node.client
    with node.cluster.namespace() as namespace:
        node.change("install", older, values=PLACEMENT)
        assert_gangs_are_judged(node, namespace, "first")
        node.change("upgrade", CHART, values=PLACED)
        assert_gangs_are_judged(node, namespace, "second")
        assert (node.replicas("webhook"), node.replicas("controller")) == (2, 1)
        node.change("rollback", "1")
        assert_gangs_are_judged(node, namespace, "third")
        node.change("rollback", "2")
        node.helm("test", RELEASE)
        assert "forbidden" not in node.kubelet.logs().lower()
        assert_native_policies_hold(node, namespace)

        take_down(client, "controller")
        client.create(labelled_job("orphan", namespace))
        suspended = ("--type=merge", "-p", '{"spec": {"suspend": true}}', "--field-manager=gangwarden-restart")
        node.cluster.kubectl("patch", "job", "second", "-n", namespace, *suspended)
        take_down(client, "webhook")
        for own in (SYSTEM_NAMESPACE, "kube-system"):
            client.create(labelled_job("boots", own), dry_run=True)
        with pytest.raises(ApiError, match="webhook did not answer"):
            client.create(labelled_job("refused", namespace), dry_run=True)
        node.helm("uninstall", RELEASE, "--wait", f"--timeout={HELM_SECONDS}s")
        assert "PodGroup" in node.kubelet.log_of("gangwarden-cleanup"), "the hook makes what no controller made"
        assert any(name.startswith("orphan-") for name in groups(client, namespace))
        assert [client.get(JOBS, namespace, name)["spec"]["suspend"] for name in ("first", "second")] == [True, False]
        assert wait_for(lambda: remains(client) == [] or None, what=f"nothing remains of {remains(client)}")
        after = client.create(labelled_job("after", namespace), dry_run=True)
        assert "schedulingGroup" not in after["spec"]["template"]["spec"]


@pytest.mark.timeout(900)
def test_in_two_namespaces_with_policies_and_a_certificate_of_ours_roles_there_are_enough(node: Node, tmp_path: Path) -> None:
    client = node.client
    given_certificate(node, tmp_path)
    files = {
        folder: (ROOT / "policies/gang" / folder / "policy.yaml").read_text() for folder in ("labelled-jobs", "reachable-quorum")
    }
    client.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "our-policies", "namespace": SYSTEM_NAMESPACE},
            "data": {f"{name}.yaml": text for name, text in files.items()},
        }
    )
    with node.cluster.namespace() as inside, node.cluster.namespace() as other, node.cluster.namespace() as outside:
        values = {
            "namespaces": [inside, other],
            "certificates": {"mode": "given", "secretName": "ours"},
            "policies": {"source": "configMap", "configMap": "our-policies"},
            "webhook": SINGLE,
            "controller": SINGLE | {"restarts": False},
            "hooks": PLACEMENT,
        }
        node.change("install", CHART, values=values)
        assert_gangs_are_judged(node, inside, "first")
        assert not is_stamped(client, outside)
        assert "forbidden" not in node.kubelet.logs().lower()
        node.helm("uninstall", RELEASE, "--wait", f"--timeout={HELM_SECONDS}s")
        kept = {"v1/secrets ours", "v1/configmaps our-policies"}
        wait_for(lambda: set(remains(client)) == kept, what=f"what is not of the chart stays, {remains(client)}")


@pytest.mark.timeout(900)
def test_changes_that_fail_leave_what_works_and_an_end_without_hooks_is_mended_by_hand(node: Node) -> None:
    client = node.client
    volume = {"source": "volume", "volume": {"image": {"reference": CHECKOUT}}, "path": "gang"}
    values: Object = {"policies": volume, "webhook": SINGLE, "controller": SINGLE, "hooks": PLACEMENT}
    with node.cluster.namespace() as namespace:
        node.change("install", CHART, values=values)
        assert_gangs_are_judged(node, namespace, "first")
        second = node.helm("install", "second", CHART, values=values, fails=True)
        assert f"installed already: Service {SYSTEM_NAMESPACE}/gangwarden" in second

        before = installed(client)
        node.change("upgrade", "--install", CHART, values=values)
        assert installed(client) == before, "the same again changes nothing"

        broken = values | {"webhook": SINGLE | {"extraArgs": ["--no-such-option"]}}
        node.helm("upgrade", RELEASE, CHART, "--wait", "--timeout=15s", values=broken, fails=True)
        (container,) = client.get(DEPLOYMENTS, SYSTEM_NAMESPACE, "gangwarden-webhook")["spec"]["template"]["spec"]["containers"]
        assert "--no-such-option" in container["args"], "the new version was there"
        assert_gangs_are_judged(node, namespace, "second")
        node.change("rollback")
        assert_gangs_are_judged(node, namespace, "third")

        assert_a_failure_is_taken_back(node, values)
        assert_gangs_are_judged(node, namespace, "fourth")

        node.helm("uninstall", RELEASE, "--no-hooks", "--wait", f"--timeout={HELM_SECONDS}s")
        wait_for(lambda: not client.list(PODS, SYSTEM_NAMESPACE), seconds=120, what="no pod is left that could write them again")
        configurations = {f"{ADMISSION}/{kind}webhookconfigurations gangwarden" for kind in ("mutating", "validating")}
        left = {*configurations, "v1/secrets gangwarden-certs", f"{LEASES} gangwarden-controller"}
        wait_for(lambda: set(remains(client)) == left, what=f"only what the runbook names is left: {remains(client)}")
        wait_for(
            lambda: "failed calling webhook" in client.attempt(labelled_job("refused", namespace))[0], what="it fails closed"
        )
        run(COMMAND, "webhooks", "delete", "--create-groups", f"--kubeconfig={node.cluster.kubeconfig}")
        node.cluster.kubectl("delete", "secret/gangwarden-certs", "lease/gangwarden-controller", "-n", SYSTEM_NAMESPACE)
        assert remains(client) == []
        wait_for(lambda: client.attempt(labelled_job("after", namespace))[0] == "", what="a labelled Job passes")


def assert_a_failure_is_taken_back(node: Node, values: Object) -> None:
    """Upgrade with a change of which the API server takes one half, and have Helm itself go back.

    A Deployment that it refuses fails the upgrade at once; one that never gets ready would at the end of the time that the way
    back has as well.
    """
    nowhere = SINGLE | {"extraVolumeMounts": [{"name": "nowhere", "mountPath": "/nowhere"}]}
    spoilt = values | {"controller": SINGLE | {"podLabels": {"half": "done"}}, "webhook": nowhere}
    flags = ("--rollback-on-failure", f"--timeout={HELM_SECONDS}s")
    before = generation(node.client, "controller")
    said = node.helm("upgrade", RELEASE, CHART, *flags, values=spoilt, fails=True)
    assert 'Not found: "nowhere"' in said, said
    assert "has been rolled back due to rollback-on-failure" in said
    history = json.loads(node.helm("history", RELEASE, "--output=json"))
    assert [one["status"] for one in history[-2:]] == ["failed", "deployed"]
    assert generation(node.client, "controller") == before + 2, "the controller's half was there, and went"
    wait_for(
        lambda: not [pod for pod in pods(node.client, "controller") if "half" in pod["metadata"]["labels"]], what="its pods too"
    )


def generation(client: Client, component: str) -> int:
    return int(client.get(DEPLOYMENTS, SYSTEM_NAMESPACE, f"gangwarden-{component}")["metadata"]["generation"])


def installed(client: Client) -> Object:
    """Return what must stay when nothing changes: generations of Deployments, their pods, and the webhook configurations."""
    kept = {one["metadata"]["name"]: one["metadata"]["generation"] for one in client.list(DEPLOYMENTS, SYSTEM_NAMESPACE)}
    kept |= {one["metadata"]["name"]: "" for part in ("webhook", "controller") for one in pods(client, part)}
    for resource in WHOLE_CLUSTER[:2]:
        kept[resource] = client.get(resource, "", "gangwarden")["metadata"]["resourceVersion"]
    return kept


def run(*words: str | Path) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def given_certificate(node: Node, directory: Path) -> None:
    """Store a certificate for the Service, as somebody else would have made it: without the key of its authority."""
    made = directory / "certs"
    run(COMMAND, "certs", "init", made, f"--service={SYSTEM_NAMESPACE}/gangwarden")
    files = [f"--from-file={name}={made / name}" for name in ("ca.crt", "tls.crt", "tls.key")]
    node.cluster.kubectl("create", "secret", "generic", "ours", "-n", SYSTEM_NAMESPACE, *files)
