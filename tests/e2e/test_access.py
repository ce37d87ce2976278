"""Policies that ask who may do what, stored in the API server and served by us: one verdict for every user.

The webhook speaks as its ServiceAccount, with the permissions of ``docs/install`` and no more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.builders import job
from tests.controlplane.client import Object, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.component import free_ports
from tests.e2e.installation import CONFIGURATIONS, Process
from tests.e2e.test_install_manifests import INSTALL, account
from tests.policies.writing import binding, validating, yaml_of

READY_SECONDS = 60.0
RBAC = "rbac.authorization.k8s.io/v1"
USES = "authorizer.group('scheduling.k8s.io').resource('priorityclasses').name('high').check('use')"
RULES = {
    "may use the class": f"{USES}.allowed()",
    "may change the status of what is sent": "authorizer.requestResource.subresource('status').check('update').allowed()",
    "may read metrics": "authorizer.path('/metrics').check('get').allowed()",
    "the default account may not read secrets": (
        "!authorizer.serviceAccount(request.namespace, 'default').group('').resource('secrets')"
        ".namespace(request.namespace).check('get').allowed()"
    ),
    "is asked only after another answer": f"{USES}.allowed() && {USES}.reason() != '' ? "
    "authorizer.group('').resource('pods').namespace(request.namespace).check('create').allowed() : true",
    "selectors are understood": "authorizer.group('').resource('pods').namespace(request.namespace)"
    ".fieldSelector('spec.nodeName=a').labelSelector('x in (y)').check('list').allowed()",
}
MAY_USE = next(iter(RULES))
USERS = ("alice", "bob", "system:serviceaccount:default:default")


def policy(name: str, namespace: str) -> tuple[Object, Object]:
    """Return a policy that warns of every rule that fails, for one namespace."""
    validations = [{"expression": text, "message": f"not so: {rule}"} for rule, text in RULES.items()]
    chosen = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    bound = binding(name, name, matchResources={"namespaceSelector": chosen}, validationActions=["Warn"])
    return validating(name, validations=validations), bound


@dataclass
class Two:
    """A namespace that the API server judges by itself, and one that it asks us about."""

    cluster: ControlPlane
    native: str
    served: str

    def said(self, namespace: str, user: str) -> list[str]:
        """Return the rules that a user's Job fails."""
        obj = json.dumps(job("train", namespace=namespace).build())
        told = self.cluster.kubectl("create", "--dry-run=server", f"--as={user}", "-f", "-", stdin=obj)
        assert "created" in told
        return [line.partition("not so: ")[2] for line in told.splitlines() if "not so: " in line]


@pytest.fixture
def two(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Two]:
    with control_plane.namespace() as native, control_plane.namespace() as served:
        permissions = [word for path in INSTALL if path.name < "20" for word in ("-f", str(path))]
        control_plane.kubectl("apply", "--server-side", "--validate=strict", "--force-conflicts", *permissions)
        stored = [*granted(native), *granted(served), *policy(f"native-{native}", native)]
        for document in stored:
            control_plane.client.create(document)
        (tmp_path / "policies").mkdir()
        (tmp_path / "policies/p.yaml").write_text(yaml_of(*policy("served", served)))
        (port,) = free_ports(1)
        place = ["--host=127.0.0.1", f"--port={port}", f"--url=https://localhost:{port}", f"--cert-dir={tmp_path / 'certs'}"]
        flags = account(control_plane, "gangwarden-webhook", tmp_path)
        webhook = Process(["serve", *place, *flags, "-p", str(tmp_path / "policies")], tmp_path / "webhook.log")
        try:
            yield Two(control_plane, native, served)
        finally:
            for resource in CONFIGURATIONS:
                control_plane.client.delete(f"admissionregistration.k8s.io/v1/{resource}", "", "gangwarden")
            webhook.stop()
            names = "\n---\n".join(map(json.dumps, stored))
            control_plane.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=names)
            control_plane.kubectl("delete", "--ignore-not-found", "-f", str(INSTALL[1]))
            print((tmp_path / "webhook.log").read_text())


def granted(namespace: str) -> list[Object]:
    """Let every user edit a namespace."""
    return [
        {
            "apiVersion": RBAC,
            "kind": "RoleBinding",
            "metadata": {"name": f"edits-{index}", "namespace": namespace},
            "roleRef": {"apiGroup": RBAC.partition("/")[0], "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"apiGroup": RBAC.partition("/")[0], "kind": "User", "name": user}],
        }
        for index, user in enumerate(USERS)
    ]


@pytest.fixture
def alices(two: Two) -> Iterator[str]:
    """Let alice use the class, change the status of Jobs and read metrics; the name of the role, and of what binds it to her."""
    name, group = f"alices-{two.native}", RBAC.partition("/")[0]
    rules = [
        {"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"], "resourceNames": ["high"], "verbs": ["use"]},
        {"apiGroups": ["batch"], "resources": ["jobs/status"], "verbs": ["update"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]
    bound = {
        "apiVersion": RBAC,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "alice"}],
    }
    client = two.cluster.client
    client.create({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
    client.create(bound)
    yield name
    for resource in ("clusterrolebindings", "clusterroles"):
        client.delete(f"{RBAC}/{resource}", "", name)


def in_force(two: Two, namespace: str) -> bool:
    return MAY_USE in two.said(namespace, "bob") and MAY_USE not in two.said(namespace, "alice")


def test_the_api_server_and_the_webhook_say_the_same_of_every_user(two: Two, alices: str) -> None:
    for namespace in (two.native, two.served):
        wait_for(partial(in_force, two, namespace), seconds=READY_SECONDS, what="the policy is in force")
    native, served = ({user: two.said(namespace, user) for user in USERS} for namespace in (two.native, two.served))
    assert served == native
    assert served == {"alice": [], **dict.fromkeys(USERS[1:], list(RULES)[:3])}
    two.cluster.client.delete(f"{RBAC}/clusterrolebindings", "", alices)
    for namespace in (two.native, two.served):
        wait_for(lambda namespace=namespace: MAY_USE in two.said(namespace, "alice"), what="it is taken away")


def test_a_webhook_that_may_not_ask_never_takes_it_for_a_yes(two: Two, alices: str) -> None:
    wait_for(partial(in_force, two, two.served), seconds=READY_SECONDS, what="the policy is in force")
    client, role = two.cluster.client, f"{RBAC}/clusterroles"
    rules = client.get(role, "", "gangwarden-webhook")["rules"]
    kept = [rule for rule in rules if "subjectaccessreviews" not in rule["resources"]]
    assert len(kept) == len(rules) - 1
    client.patch(role, "", "gangwarden-webhook", {"rules": kept})
    obj = json.dumps(job("train", namespace=two.served).build())

    def unknown() -> list[str]:
        told = two.cluster.kubectl("create", "--dry-run=server", "--as=alice", "-f", "-", stdin=obj)
        return [line for line in told.splitlines() if "is not known: create SubjectAccessReview" in line]

    wait_for(lambda: len(unknown()) == len(RULES), what="it may not ask any more")
