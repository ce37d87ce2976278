"""Callers are known: by what ``webhooks plan --authentication`` wrote for an API server, and by tokens of its own making."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.controlplane.client import ApiError, Object, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.component import free_ports
from tests.controlplane.plan import MANAGED, Gates
from tests.e2e.installation import COMMAND, SHIPPED, Installation, labelled_job

pytestmark = pytest.mark.timeout(400)  # each scene starts the API server anew
GATES = Gates((*MANAGED.features, "APIServerWebhookAuthenticationToken=true"), MANAGED.runtime)
VALIDATING = "admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
RBAC = "rbac.authorization.k8s.io"
PATH = "/validate/fail"
SECONDS = 120.0


@dataclass
class Guarded:
    """A webhook that asks who calls, beside an API server that says so."""

    installation: Installation
    files: Path
    accepted: Path
    """The file that the webhook reads again."""

    def call(self, *, body: Object | None = None, path: str = PATH, files: Path | None = None, token: str = "") -> httpx.Response:
        """Call the webhook by hand, with a client certificate from a folder or with a token."""
        context = ssl.create_default_context(cafile=str(self.installation.directory / "certs" / "ca.crt"))
        if files is not None:
            context.load_cert_chain(files / "client.crt", files / "client.key")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with httpx.Client(verify=context, trust_env=False, timeout=30.0) as client:
            return client.post(self.installation.url + path, json=body or review(), headers=headers)

    def status(self, **how: Any) -> int:
        """Return the status of a call by hand; 0 where the handshake is refused."""
        try:
            return self.call(**how).status_code
        except httpx.TransportError:
            return 0

    def waits_for(self, status: int, **how: Any) -> None:
        wait_for(lambda: self.status(**how) == status, seconds=SECONDS, what=f"a call is answered with {status}")

    def healthy(self) -> list[int]:
        trusted = ssl.create_default_context(cafile=str(self.installation.directory / "certs" / "ca.crt"))
        with httpx.Client(verify=trusted, trust_env=False, timeout=30.0) as client:
            return [client.get(f"{self.installation.url}/{path}").status_code for path in ("healthz", "readyz")]


def review(group: str = "batch") -> Object:
    job = labelled_job("train", "default")
    request = {
        "uid": "by-hand",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": group, "version": "v1", "resource": "jobs"},
        "name": "train",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "by-hand"},
        "object": job,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def plan(mode: str, url: str, out: Path) -> None:
    command = [COMMAND, "webhooks", "plan", "--authentication", mode, "--url", url, "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files for the API server are: it is told once."""
    return tmp_path_factory.mktemp("authentication")


@pytest.fixture(scope="module")
def cluster(place: Path) -> Iterator[ControlPlane]:
    plan("client-certificate", "https://localhost:1", place)
    with ControlPlane(gates=GATES, admission_config=place / "admission.yaml") as made:
        yield made


Start = Callable[..., Guarded]


@pytest.fixture
def start(cluster: ControlPlane, place: Path, tmp_path: Path) -> Iterator[Start]:
    """Start the API server with credentials of a kind, and the webhook with flags; both are taken apart afterwards."""
    made: list[Installation] = []

    def begin(mode: str, flag: str, given: str, *flags: str) -> Guarded:
        installation = Installation(cluster, SHIPPED, tmp_path)
        made.append(installation)
        (installation.port,) = free_ports(1)
        cluster.stop("kube-apiserver")
        plan(mode, installation.url, place)
        cluster.start("kube-apiserver")
        accepted = tmp_path / "accepted"
        accepted.write_bytes((place / given).read_bytes())
        installation.start_webhook("serve", flag, str(accepted), *flags)
        return Guarded(installation, place, accepted)

    yield begin
    for installation in made:
        installation.close()
        print(installation.logs())


def judged(guarded: Guarded) -> bool:
    """Tell whether the API server hears a verdict of ours: a gang that can never start is refused by name."""
    bad = labelled_job("train", "default", completions=3)
    try:
        guarded.installation.client.create(bad, dry_run=True)
    except ApiError as error:
        return "reachable-quorum.gangwarden.dev" in str(error)
    return False


def test_the_api_server_is_known_by_its_certificate_and_nobody_else(start: Start, tmp_path: Path) -> None:
    guarded = start(
        "client-certificate", "--client-ca-file", "client-ca.crt", "--client-allowed-name", "gangwarden-webhook-client"
    )
    assert judged(guarded)
    refused = guarded.call()
    assert (refused.status_code, "no client certificate came along" in refused.text) == (401, True)
    assert guarded.call(files=guarded.files).json()["response"]["uid"] == "by-hand"
    assert guarded.healthy() == [200, 200]

    plan("client-certificate", guarded.installation.url, tmp_path / "next")
    old, new = guarded.accepted.read_bytes(), (tmp_path / "next" / "client-ca.crt").read_bytes()
    assert guarded.status(files=tmp_path / "next") == 0
    guarded.accepted.write_bytes(old + new)
    guarded.waits_for(200, files=tmp_path / "next")
    assert judged(guarded)
    guarded.accepted.write_bytes(new)
    guarded.waits_for(0, files=guarded.files)
    with pytest.raises(ApiError) as told:  # on its open connection by a 401, on a new one by the end of the handshake
        guarded.installation.client.create(labelled_job("train", "default", completions=3), dry_run=True)
    assert "failed calling webhook" in str(told.value)
    guarded.accepted.write_bytes(b"garbage")
    wait_for(lambda: "credentials of callers not read" in guarded.installation.logs(), seconds=SECONDS, what="it is told")
    assert guarded.status(files=tmp_path / "next") == 200
    guarded.accepted.write_bytes(old)
    wait_for(lambda: judged(guarded), seconds=SECONDS, what="the API server is known again")


def test_the_api_server_is_known_by_its_token_and_nobody_else(start: Start) -> None:
    guarded = start("bearer-token", "--bearer-token-file", "token")
    assert judged(guarded)
    refused = guarded.call()
    assert (refused.status_code, "no bearer token came along" in refused.text) == (401, True)
    assert guarded.status(token="a-token-of-somebody-else") == 401
    token = (guarded.files / "token").read_text()
    assert guarded.status(token=token) == 200
    guarded.accepted.write_text(f"{token}\n# of next year\nthe-token-of-next-year\n")
    guarded.waits_for(200, token="the-token-of-next-year")
    assert judged(guarded)
    guarded.accepted.write_text("the-token-of-next-year\n")
    guarded.waits_for(401, token=token)
    assert not judged(guarded)


def bound_token(guarded: Guarded, account: str, *, path: str = PATH, configuration: str = "gangwarden") -> str:
    """Have the API server make a token for calls to one webhook (KEP-6060)."""
    client = guarded.installation.client
    uid = client.get(VALIDATING, "", configuration)["metadata"]["uid"]
    bound = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    spec = {
        "audiences": [guarded.installation.url + path],
        "boundObjectRef": {**bound, "name": configuration, "uid": uid},
        "attestations": {"admissionReviewAPIGroups": ["batch"]},
        "expirationSeconds": 600,
    }
    made = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    answer = client.request("POST", f"/api/v1/namespaces/default/serviceaccounts/{account}/token", made)
    return str(answer["status"]["token"])


@pytest.fixture
def account(cluster: ControlPlane) -> Iterator[str]:
    """A service account that may attest, as an API server's own identity may."""
    client, name = cluster.client, "bound"
    rules = [{"apiGroups": ["authentication.k8s.io"], "resources": ["admissionReviewAPIGroups"], "verbs": ["attest"]}]
    head = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": name}}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}})
    client.create({**head, "kind": "ClusterRole", "rules": rules})
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    client.create({**head, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]})
    yield name
    for resource in ("clusterrolebindings", "clusterroles"):
        client.delete(f"{RBAC}/v1/{resource}", "", name)
    client.delete("v1/serviceaccounts", "default", name)


@pytest.fixture
def another(cluster: ControlPlane) -> Iterator[Callable[[str], str]]:
    """A configuration of somebody else that names our URL, for things that do not exist."""
    name = "another"

    def make(url: str) -> str:
        rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}
        hook = {
            "name": "another.example.com",
            "clientConfig": {"url": url},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
        cluster.client.create({**kind, "metadata": {"name": name}, "webhooks": [hook]})
        return name

    yield make
    cluster.client.delete(VALIDATING, "", name)


def aged(token: str) -> str:
    """Return a token whose end has come; nobody has signed that."""
    head, claims, signature = token.split(".")
    told = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    told["exp"] = told["nbf"]
    return ".".join((head, base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("="), signature))


def test_a_token_that_the_api_server_bound_to_our_webhook_speaks_for_its_group_there(
    start: Start, account: str, another: Callable[[str], str]
) -> None:
    guarded = start("bearer-token", "--bearer-token-file", "token", "--webhook-bound-tokens")
    assert judged(guarded)
    token = bound_token(guarded, account)
    answer = guarded.call(token=token)
    assert (answer.status_code, answer.json()["response"]["uid"]) == (200, "by-hand")
    head, claims, _ = token.split(".")
    theirs = bound_token(guarded, account, configuration=another(guarded.installation.url + PATH))
    refused = {
        "of nobody's making": guarded.call(token=f"{head}.{claims}.c2ln"),
        "for another path": guarded.call(token=bound_token(guarded, account, path="/validate/ignore")),
        "of another configuration": guarded.call(token=theirs),
        "expired": guarded.call(token=aged(token)),
        "for another group": guarded.call(token=token, body=review("apps")),
        "of the other kind": guarded.call(token=token, path="/mutate/ignore"),
    }
    assert {why: one.status_code for why, one in refused.items()} == dict.fromkeys(refused, 401)
    words = {why: one.text for why, one in refused.items()}
    assert "is not accepted" in words["of nobody's making"]
    assert f"not for {guarded.installation.url}{PATH}" in words["for another path"]
    assert "is not bound to the validatingwebhookconfiguration gangwarden" in words["of another configuration"]
    assert "it has expired" in words["expired"]
    assert "does not speak for API group 'apps'" in words["for another group"]
