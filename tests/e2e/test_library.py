"""The shipped native policies in a real API server: stored without a type warning, and the same verdicts as offline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.controlplane.client import POD_GROUPS, Client, Object, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.plan import NATIVE
from tests.e2e.custom import custom_kinds
from webhook.model.cases import Case
from webhook.model.requests import Operation
from webhook.model.verdicts import Verdict
from webhook.policies import load_cases

ROOT = Path(__file__).resolve().parents[2]
VALIDATING = "admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
TEAMS = ("team-a", "team-b")
"""Namespaces of the cases; only these are bound, so that nothing else on this control plane is judged."""
UNBOUND = "examples"
"""A namespace that no binding speaks of, also none of a test before, which stays in force for a moment."""
NOT_NATIVE = {
    "gang/labelled-jobs",
    "gang/own-groups-only",
    "gang/hand-made-quorum",
    "gang/kept-group",
    "hygiene/alpha-groups",
    "hygiene/honoured-fields",
} | {f"gang/{path.name}" for path in (ROOT / "policies/gang").glob("*-gang")}
MUTATING = {"disruption/make-restart-safe", "disruption/make-whole-preemption"}
"""Native and no validating policies: test_mutations.py has them."""
FOLDERS = sorted(
    path.parent.relative_to(ROOT / "policies").as_posix()
    for path in (ROOT / "policies").glob("*/*/policy.yaml")
    if path.parent.relative_to(ROOT / "policies").as_posix() not in NOT_NATIVE | MUTATING
)
SUBJECT_TO_UPDATES = {"gang/guarded-quorum", "disruption/fenced-controller", "hygiene/guarded-bypass"}
"""Of updates, or of who asks: a dry run of a creation tells nothing about them."""


@pytest.fixture(scope="module")
def native_plane() -> Iterator[ControlPlane]:
    """A control plane with every gate on, so that no field of a case is dropped before it is judged."""
    with ControlPlane(gates=NATIVE) as cluster, custom_kinds(cluster):
        for name in ("gangwarden-system", UNBOUND, *TEAMS):
            cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield cluster


@pytest.fixture
def client(native_plane: ControlPlane) -> Client:
    return native_plane.client


def documents(folder: str) -> list[Object]:
    return list(yaml.safe_load_all((ROOT / "policies" / folder / "policy.yaml").read_text()))


@pytest.fixture
def installed(request: pytest.FixtureRequest, native_plane: ControlPlane) -> Iterator[str]:
    """One policy as it stands, its binding narrowed to the namespaces of the cases."""
    folder: str = request.param
    everything = "\n---\n".join(json.dumps(narrowed(doc)) for doc in documents(folder))
    native_plane.kubectl("apply", "--server-side", "--validate=strict", "-f", "-", stdin=everything)
    yield folder
    for resource in (BINDINGS, VALIDATING):
        native_plane.client.delete(resource, "", documents(folder)[0]["metadata"]["name"])


def narrowed(doc: Object) -> Object:
    if doc["kind"] != "ValidatingAdmissionPolicyBinding":
        return doc
    ours = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(TEAMS)}
    given = doc["spec"].get("matchResources", {}).get("namespaceSelector", {}).get("matchExpressions", [])
    return {**doc, "spec": {**doc["spec"], "matchResources": {"namespaceSelector": {"matchExpressions": [*given, ours]}}}}


def warnings_of(client: Client, name: str) -> list[Object]:
    """Return what the API server's type checker says of a stored policy, once it has looked."""

    def checked() -> Object | None:
        status = client.get(VALIDATING, "", name).get("status", {})
        return status if status.get("observedGeneration") else None

    return wait_for(checked, what="the type checker has looked").get("typeChecking", {}).get("expressionWarnings", [])


@pytest.mark.parametrize("installed", FOLDERS, indirect=True)
def test_a_native_policy_is_stored_as_it_stands_without_a_type_warning(client: Client, installed: str) -> None:
    assert warnings_of(client, f"{installed.split('/')[1]}.gangwarden.dev") == []


def test_the_type_checker_would_say_so(native_plane: ControlPlane, client: Client) -> None:
    policy = next(doc for doc in documents("hygiene/native-job-names") if doc["kind"] == "ValidatingAdmissionPolicy")
    slip = {**policy["spec"], "variables": [], "validations": [{"expression": "object.spec.paralelism > 0"}]}
    client.create({**policy, "metadata": {"name": "slip.example.com"}, "spec": slip})
    try:
        assert "undefined field 'paralelism'" in warnings_of(client, "slip.example.com")[0]["warning"]
    finally:
        client.delete(VALIDATING, "", "slip.example.com")


@pytest.mark.parametrize("installed", [folder for folder in FOLDERS if folder not in SUBJECT_TO_UPDATES], indirect=True)
def test_the_api_server_answers_the_cases_alike(native_plane: ControlPlane, installed: str) -> None:
    cases = [case for case in cases_of(installed) if is_plain_create(case)]
    known = next(
        case for case in cases if case.expect.verdict in (Verdict.DENY, Verdict.WARN) and not refused(native_plane, case)
    )
    wait_for(lambda: case_holds(known, answer(native_plane, known)), what="the policy is in force")
    answers = [(case, answer(native_plane, case)) for case in cases]
    judged = [(case, said) for case, said in answers if not is_invalid(said)]
    assert [f"{case.name}: {said}" for case, said in judged if not case_holds(case, said)] == []
    assert {case.expect.verdict for case, _ in judged} & {Verdict.ALLOW, Verdict.SKIP}


@pytest.mark.parametrize("path", sorted((ROOT / "examples/jobs").glob("*.yaml")), ids=lambda path: path.stem)
def test_an_example_is_an_object_that_kubernetes_takes(native_plane: ControlPlane, path: Path) -> None:
    for doc in yaml.safe_load_all(path.read_text()):
        placed = json.dumps({**doc, "metadata": {**doc["metadata"], "namespace": UNBOUND}})
        native_plane.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", stdin=placed)


@pytest.mark.parametrize("installed", ["gang/guarded-quorum"], indirect=True)
def test_only_trusted_users_lower_the_quorum_of_our_groups(native_plane: ControlPlane, client: Client, installed: str) -> None:
    native_plane.kubectl("create", "rolebinding", "alice", "--clusterrole=edit", "--user=alice", "-n", "team-a")
    spec = {"schedulingPolicy": {"gang": {"minCount": 4}}}
    meta = {"name": "g", "namespace": "team-a", "labels": {"app.kubernetes.io/managed-by": "gangwarden"}}
    client.create({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": meta, "spec": spec})
    lower = (
        "patch",
        "podgroups",
        "g",
        "-n",
        "team-a",
        "--type=merge",
        "-p",
        '{"spec":{"schedulingPolicy":{"gang":{"minCount":1}}}}',
    )

    def as_alice() -> str:
        return native_plane.kubectl(*lower, "--dry-run=server", "--as=alice", check=False)

    wait_for(lambda: "would go from 4 down to 1" in as_alice(), what="the policy is in force")
    native_plane.kubectl(*lower)
    assert client.get(POD_GROUPS, "team-a", "g")["spec"]["schedulingPolicy"]["gang"]["minCount"] == 1


def cases_of(folder: str) -> list[Case]:
    return [case for test in load_cases(ROOT / "policies" / folder / "cases.yaml") for case in test.cases]


def is_plain_create(case: Case) -> bool:
    """Tell whether a case can be put to an API server by a dry run: its own params and stored objects cannot."""
    if case.operation is not Operation.CREATE or case.params or case.object is None:
        return False
    return case.object["metadata"].get("namespace", "") in ("", *TEAMS)


def answer(cluster: ControlPlane, case: Case) -> str:
    return cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(case.object), check=False)


def refused(cluster: ControlPlane, case: Case) -> bool:
    return is_invalid(answer(cluster, case))


def is_invalid(said: str) -> bool:
    """Tell whether the API server refused an object for its own reasons, before any policy was asked."""
    return ("rror" in said or "is invalid" in said) and "ValidatingAdmissionPolicy" not in said


def case_holds(case: Case, said: str) -> bool:
    refusal, warning = "denied request: ", "Warning: Validation failed for ValidatingAdmissionPolicy"
    match case.expect.verdict:
        case Verdict.DENY:
            return refusal in said and case.expect.message in said
        case Verdict.WARN:
            return warning in said and case.expect.message in said
        case _:
            return refusal not in said and warning not in said and "created" in said
