"""Mutating policies in a real API server and in ours: the same object, or the same refusal.

Every policy is stored in the API server, bound to one namespace and to the name of one object. The object is created
there (dry run), and what *we* make of it is created in a second namespace that no policy speaks of: the answers must be
equal, and so must refusals, code, reason and text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.client import ApiError, Client, Object, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.policies.record_mutating import (
    CONFIG,
    DEPLOYMENT,
    FAILED,
    JOB,
    MERGED,
    NATIVE,
    PATCHED,
    REFUSED,
    SEEN,
    SUSPEND,
    UNREADABLE,
    kinds,
    labels,
    matching,
    policy,
    scene,
    spec,
)
from webhook.admission import Asker, SnapshotWorld, Surroundings, apply_defaults, request_for
from webhook.admission.mutate import run_mutating
from webhook.model.groups import Capabilities
from webhook.model.snapshot import EMPTY_SNAPSHOT, snapshot_of
from webhook.model.verdicts import Denied, Patched
from webhook.policies import load_policies
from webhook.rules import Situation

POLICIES = f"{NATIVE}/mutatingadmissionpolicies"
BINDINGS = f"{NATIVE}/mutatingadmissionpolicybindings"
LIBRARY = Path(__file__).resolve().parents[2] / "policies/disruption"
IN_FORCE_SECONDS = 60.0
SENTINEL = "sentinel"


def counting(letter: str) -> str:
    """Count in a label how often a policy was asked."""
    return (
        f"Object{{metadata: Object.metadata{{labels: {{'{letter}': object.?metadata.?labels[?'{letter}'].orValue('') + 'x'}}}}}}"
    )


def pairs() -> Mapping[str, Object]:
    """Return what both are asked, by a sentence; what a dry run of a create cannot ask is left out."""
    tables = {"merge": MERGED, "merge refused": REFUSED, "patch": PATCHED, "patch failed": FAILED, "unreadable": UNREADABLE}
    asked = [scene(f"{table}: {case}", text) for table, cases in tables.items() for case, text in cases.items()]
    unaskable = ("oldObject", "request", "namespaceObject")
    asked += [one for one in matching() if not any(key in one for key in unaskable) and "another namespace" not in one["case"]]
    asked += [one for one in kinds() if one["object"]["kind"] in ("ConfigMap", "Deployment")]
    asked += [
        scene("a policy that asks to be asked again is", counting("a"), reinvocationPolicy="IfNeeded"),
        scene("a policy that does not is not", counting("a")),
        scene("defaults are there for the next mutation", PATCHED["add of an atomic list"], spec("suspend: object.spec.suspend")),
        scene("a new container has its defaults for the next mutation", MERGED["a container of another name is added"], labels(
            "{'pull': object.spec.template.spec.containers.filter(c, c.name == 'log')[0].imagePullPolicy}"
        )),
        scene("a Deployment is suspended in vain", SUSPEND, obj=DEPLOYMENT),
        scene("a ConfigMap is labelled", SEEN, obj=CONFIG),
    ]  # fmt: skip
    return {one["case"]: one for one in asked}


PAIRS = pairs()


class Twins:
    """Two namespaces of one API server; policies speak of the first."""

    def __init__(self, client: Client, judged: str, plain: str) -> None:
        self._client, self._judged, self._plain = client, judged, plain
        self._found = snapshot_of([client.get("v1/namespaces", "", judged)])

    def install(self, documents: list[Object]) -> None:
        for document in documents:
            self._client.create(document)

    def documents(self, case: str, asked: Object) -> tuple[list[Object], list[Object], Object]:
        """Write policy and bindings, params and object of a pair under names of their own."""
        name = f"case-{list(PAIRS).index(case)}"
        written = renamed(asked["policy"], name)
        for rule in written["spec"]["matchConstraints"]["resourceRules"]:
            rule["resourceNames"] = [name]
        bindings = []
        for index, binding in enumerate(asked["bindings"]):
            bound = renamed(binding, f"{name}-{index}")
            bound["spec"]["policyName"] = name
            resources = bound["spec"].setdefault("matchResources", {})
            resources["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": self._judged}}
            bindings.append(bound)
        given = asked.get("params", [])
        params = [self._placed(one) for one in (given if isinstance(given, list) else [given])]
        return [written, *bindings], params, renamed(self._placed(asked["object"]), name)

    def theirs(self, obj: Object) -> Object:
        return self._answer(obj, self._judged)

    def ours(self, documents: list[Object], params: list[Object], obj: Object, folder: Path) -> Object:
        for index, document in enumerate([*documents, *params]):
            (folder / f"{index}.json").write_text(json.dumps(document))
        policies = load_policies([folder])
        world = SnapshotWorld(snapshot=self._found, files=policies.params)
        request = request_for(apply_defaults(obj), Asker())
        nothing = Surroundings(snapshot=EMPTY_SNAPSHOT, capabilities=Capabilities(), token=str)
        answer = run_mutating(policies.mutating, (), Situation(request=request, world=world), nothing).answer
        match answer:
            case Denied():
                return {"code": answer.code, "reason": answer.reason, "message": answer.message}
            case _:
                return self._answer(answer.object if isinstance(answer, Patched) else obj, self._plain)

    def _placed(self, obj: Object) -> Object:
        return {**obj, "metadata": {**obj["metadata"], "namespace": self._judged}}

    def _answer(self, obj: Object, namespace: str) -> Object:
        try:
            placed = {**obj, "metadata": {**obj.get("metadata", {}), "namespace": namespace}}
            return comparable(self._client.create(placed, dry_run=True))
        except ApiError as error:
            return {key: error.body[key] for key in ("code", "reason", "message")}


def renamed(document: Object, name: str) -> Object:
    found: Object = json.loads(json.dumps(document))
    found["metadata"]["name"] = name
    return found


def comparable(obj: Object) -> Object:
    """Leave out what is new in every object: identity, times, and the labels and selector that a Job makes of its UID."""
    said = dict(obj)
    said["metadata"] = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("uid", "creationTimestamp", "managedFields", "namespace", "resourceVersion")
    }
    return json.loads(json.dumps(said).replace(obj["metadata"].get("uid", "?"), "(uid)"))


@pytest.fixture(scope="module")
def twins(control_plane: ControlPlane) -> Iterator[Twins]:
    """All policies are stored at once, and in force when the last of them is."""
    client = control_plane.client
    with control_plane.namespace() as judged, control_plane.namespace() as plain:
        found = Twins(client, judged, plain)
        written = [found.documents(case, asked) for case, asked in PAIRS.items()]
        params = {one["metadata"]["name"]: one for _, given, _ in written for one in given}
        last = renamed(policy(SEEN), SENTINEL)
        bound = {**renamed(last, SENTINEL), "kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": SENTINEL}}
        last["spec"]["matchConstraints"]["resourceRules"][0]["resourceNames"] = [SENTINEL]
        documents = [document for stored, _, _ in written for document in stored]
        try:
            found.install([*params.values(), *documents, last, bound])
            wait_for(lambda: is_seen(client, judged), what="the policies are in force", seconds=IN_FORCE_SECONDS)
            yield found
        finally:
            for document in (*documents, last, bound):
                resource = BINDINGS if document["kind"].endswith("Binding") else POLICIES
                client.delete(resource, "", document["metadata"]["name"])


def is_seen(client: Client, namespace: str) -> bool:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": SENTINEL, "namespace": namespace}}
    try:
        return "seen" in client.create(config, dry_run=True)["metadata"].get("labels", {})
    except ApiError as error:
        if error.status != 503:  # then the API server has not read its own schema yet
            raise
        return False


@pytest.mark.parametrize("case", PAIRS)
def test_the_api_server_and_we_make_the_same_of_it(twins: Twins, case: str, tmp_path: Path) -> None:
    documents, params, obj = twins.documents(case, PAIRS[case])
    ours = twins.ours(documents, params, obj, tmp_path)
    with suppress(AssertionError):  # the API server follows params by an informer of their own, later than policies
        wait_for(lambda: twins.theirs(obj).get("code") == ours.get("code"), seconds=IN_FORCE_SECONDS)
    theirs = twins.theirs(obj)
    if theirs.get("code") == 500:  # ours says by which policy, and names a field where Go names a type
        assert (ours["code"], ours["reason"]) == (500, "InternalError")
    else:
        assert ours == theirs


def test_there_are_pairs_that_change_something_and_pairs_that_are_refused(twins: Twins) -> None:
    answers = [twins.theirs(twins.documents(case, asked)[2]) for case, asked in PAIRS.items()]
    assert len(answers) >= 150
    assert sum("code" in answer for answer in answers) >= 60


@pytest.mark.parametrize("kind", ["Job", "CronJob", "Pod"])
def test_what_the_api_server_sends_is_complete_to_us(control_plane: ControlPlane, namespace: str, kind: str) -> None:
    """Only then do we fill in defaults between mutations, and never take a field away that we do not know."""
    bodies: Mapping[str, Any] = {
        "Job": JOB["spec"],
        "CronJob": {"schedule": "0 2 * * *", "jobTemplate": {"spec": JOB["spec"]}},
        "Pod": JOB["spec"]["template"]["spec"] | {"automountServiceAccountToken": False},
    }
    version = "v1" if kind == "Pod" else "batch/v1"
    wait_for(lambda: control_plane.client.find("v1/serviceaccounts", namespace, "default"), what="the default ServiceAccount")
    obj = {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": namespace}, "spec": bodies[kind]}
    sent = control_plane.client.create(obj, dry_run=True)
    assert apply_defaults(sent) == sent


WORKLOAD = {"podGroupTemplates": [{"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}}]}
SHIPPED: Mapping[str, tuple[Object, Callable[[Object], bool]]] = {
    "make-restart-safe": (
        {**JOB, "metadata": {"name": "train", "labels": {"gangwarden.dev/gang": "true"}}},
        lambda made: "podFailurePolicy" in made and made["podReplacementPolicy"] == "Failed",
    ),
    "make-whole-preemption": (
        {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": {"name": "train"}, "spec": WORKLOAD},
        lambda made: made["podGroupTemplates"][0].get("disruptionMode") == {"all": {}},
    ),
}
"""What each shipped policy is asked, and how one sees that it has acted."""


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_policy_is_taken_as_it_stands(control_plane: ControlPlane, namespace: str, name: str) -> None:
    text = (LIBRARY / name / "policy.yaml").read_text()
    asked, has_acted = SHIPPED[name]
    control_plane.kubectl("apply", "--server-side", "--validate=strict", "-f", "-", stdin=text)
    try:

        def acts() -> bool:
            return has_acted(control_plane.client.create(asked, namespace=namespace, dry_run=True)["spec"])

        wait_for(acts, what=f"{name} acts", seconds=IN_FORCE_SECONDS)
    finally:
        for document in yaml.safe_load_all(text):
            resource = BINDINGS if document["kind"].endswith("Binding") else POLICIES
            control_plane.client.delete(resource, "", document["metadata"]["name"])
