"""From a labelled Job to a group that starts all together or not at all, on a real control plane."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.controlplane.client import EVENTS, JOBS, POD_GROUPS, PODS, WORKLOADS, ApiError, wait_for
from tests.controlplane.scenes import is_bound
from tests.e2e.installation import Installation, labelled_job

ROOT = Path(__file__).resolve().parents[2]
GROUP_SECONDS = 60.0


@pytest.fixture(scope="module")
def installed(control_plane, tmp_path_factory):
    """One webhook and one controller for all scenes of this file."""
    directory = tmp_path_factory.mktemp("installed")
    policies = directory / "policies"
    shutil.copytree(ROOT / "policies", policies)
    made = Installation(control_plane, policies, directory)
    try:
        made.start_webhook()
        made.start_controller()
        made.wait_for_leader()
        yield made
    finally:
        made.close()


@pytest.fixture(autouse=True)
def _logs(installed, request):
    yield
    print(installed.logs())


def pods_of(client, namespace, name):
    return client.list(PODS, namespace, labels=f"job={name}")


def bound(client, namespace, name):
    return [pod for pod in pods_of(client, namespace, name) if is_bound(pod)]


def ours(client, namespace):
    return [*client.list(POD_GROUPS, namespace), *client.list(WORKLOADS, namespace)]


def events_of(client, namespace, name):
    return [event for event in client.list(EVENTS, namespace) if event["involvedObject"]["name"] == name]


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_deleting_the_job_leaves_nothing_of_ours(installed, namespace, propagation):
    client = installed.client
    client.create(labelled_job("train", namespace))
    wait_for(lambda: len(bound(client, namespace, "train")) == 4, seconds=GROUP_SECONDS, what="all four pods are bound")
    client.delete(JOBS, namespace, "train", propagation=propagation)
    wait_for(lambda: not client.list(PODS, namespace) and not ours(client, namespace), seconds=GROUP_SECONDS, what="all is gone")


def test_an_orphaned_group_is_collected_when_its_pods_have_ended(installed, namespace):
    client = installed.client
    client.create(labelled_job("train", namespace))
    wait_for(lambda: len(bound(client, namespace, "train")) == 4, seconds=GROUP_SECONDS, what="all four pods are bound")
    client.delete(JOBS, namespace, "train", propagation="Orphan")
    wait_for(lambda: client.find(JOBS, namespace, "train") is None, what="the Job is gone")
    assert len(ours(client, namespace)) == 2
    for pod in pods_of(client, namespace, "train"):
        client.finish_pod(namespace, pod["metadata"]["name"])
    wait_for(lambda: not ours(client, namespace), seconds=90, what="group and Workload are collected")


def test_a_server_side_dry_run_shows_the_patch_and_creates_nothing(installed, namespace):
    manifest = json.dumps(labelled_job("train", namespace))
    said = installed.cluster.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=manifest)
    shown, _ = json.JSONDecoder().raw_decode(said)  # warnings follow
    name = shown["spec"]["template"]["spec"]["schedulingGroup"]["podGroupName"]
    assert shown["metadata"]["annotations"]["gangwarden.dev/pod-group"] == f"workers={name}"
    assert installed.client.list(JOBS, namespace) == []
    assert ours(installed.client, namespace) == []


def test_a_bad_job_is_refused_with_policy_field_and_value(installed, namespace):
    given = labelled_job("train", namespace)
    given["spec"] |= {"completions": 3}
    with pytest.raises(ApiError) as refusal:
        installed.client.create(given)
    words = refusal.value.body["message"]
    assert "reachable-quorum.gangwarden.dev" in words
    assert "spec.completions is 3" in words
    assert installed.client.list(JOBS, namespace) == []


def test_a_copied_job_gets_a_group_of_its_own(installed, namespace):
    """As after ``kubectl get job -o yaml``, a new name and ``kubectl create``."""
    stored = installed.client.create(labelled_job("train", namespace))
    copy = labelled_job("copy", namespace)
    copy["metadata"]["annotations"] = stored["metadata"]["annotations"]
    copy["spec"]["template"]["spec"]["schedulingGroup"] = stored["spec"]["template"]["spec"]["schedulingGroup"]
    installed.client.create(copy)
    for name in ("train", "copy"):
        wait_for(lambda name=name: len(bound(installed.client, namespace, name)) == 4, seconds=GROUP_SECONDS, what=f"{name} runs")
    assert len(installed.client.list(POD_GROUPS, namespace)) == 2


def test_a_second_call_for_one_request_changes_nothing(installed, namespace):
    """A native policy that changes the object after us makes the API server call us again (reinvocation)."""
    client = installed.client
    name = f"{namespace}-mark"
    policy, binding = marking_policy(name)
    client.create(policy)
    client.create(binding)
    try:
        wait_for(
            lambda: client.create(labelled_job("probe", namespace), dry_run=True)["metadata"]["labels"].get("marked"),
            seconds=GROUP_SECONDS,
            what="the native policy marks what we stamped",
        )
        client.create(labelled_job("train", namespace))
        wait_for(lambda: len(bound(client, namespace, "train")) == 4, seconds=GROUP_SECONDS, what="the group runs")
    finally:
        client.delete("admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", "", name)
        client.delete("admissionregistration.k8s.io/v1/mutatingadmissionpolicies", "", name)
    calls = [json.loads(line) for line in installed.webhook.text().splitlines() if f'"namespace":"{namespace}"' in line]
    mutations = [call["verdict"] for call in calls if call["path"] == "/mutate/ignore" and call["name"] == "train"]
    assert mutations == ["patch", "allow"]


MARK_WHAT_IS_STAMPED = """
has(object.spec.template.spec.schedulingGroup) ? Object{metadata: Object.metadata{labels: {"marked": "yes"}}} : Object{}
"""


def marking_policy(name):
    """A MutatingAdmissionPolicy that marks a Job once it has a group: so it changes something in the second round only."""
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}
    spec = {
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": MARK_WHAT_IS_STAMPED}}],
    }
    version = "admissionregistration.k8s.io/v1"
    metadata = {"metadata": {"name": name}}
    return (
        {"apiVersion": version, "kind": "MutatingAdmissionPolicy", **metadata, "spec": spec},
        {"apiVersion": version, "kind": "MutatingAdmissionPolicyBinding", **metadata, "spec": {"policyName": name}},
    )


def test_what_is_deleted_is_made_again(installed, namespace):
    client = installed.client
    client.create(labelled_job("train", namespace, cpu="3900m"))
    client.create(labelled_job("wait", namespace, cpu="3900m"))
    wait_for(lambda: len(client.list(POD_GROUPS, namespace)) == 2, seconds=GROUP_SECONDS, what="both groups are there")
    for workload in client.list(WORKLOADS, namespace):
        client.delete(WORKLOADS, namespace, workload["metadata"]["name"])
    wait_for(lambda: len(client.list(WORKLOADS, namespace)) == 2, seconds=GROUP_SECONDS, what="the Workloads are back")


def test_editing_a_policy_changes_the_next_verdict_and_breaking_it_changes_nothing(installed, namespace):
    client = installed.client
    path = installed.policies / "gang" / "only-small" / "policy.yaml"
    path.parent.mkdir()

    def verdict():
        try:
            client.create(labelled_job("probe", namespace), dry_run=True)
        except ApiError as error:
            return error.body["message"]
        return ""

    assert verdict() == ""
    path.write_text(EXTRA_POLICY)
    wait_for(lambda: "only two pods" in verdict(), seconds=GROUP_SECONDS, what="the new policy denies")
    path.write_text(EXTRA_POLICY.replace("object.spec.parallelism <= 2", "object.spec.parallelism <= "))
    wait_for(lambda: "policies not reloaded" in installed.webhook.text(), seconds=GROUP_SECONDS, what="the broken edit is told")
    assert "only two pods" in verdict()
    assert "only-small/policy.yaml" in installed.webhook.text()
    shutil.rmtree(path.parent)
    wait_for(lambda: verdict() == "", seconds=GROUP_SECONDS, what="the policy is gone")


EXTRA_POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: only-small}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]
  validations:
  - expression: object.spec.parallelism <= 2
    message: only two pods
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: only-small}
spec: {policyName: only-small, validationActions: [Deny]}
"""


def test_a_job_that_waits_for_its_quorum_says_so(installed, namespace):
    client = installed.client
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "three", "namespace": namespace},
        "spec": {"hard": {"pods": "3"}},
    }
    client.create(quota)
    wait_for(lambda: client.get("v1/resourcequotas", namespace, "three").get("status", {}).get("hard"), what="the quota counts")
    client.create(labelled_job("train", namespace))

    def described():
        text = installed.cluster.kubectl("describe", "job", "train", "-n", namespace)
        return text if "QuorumNotReached" in text else ""

    text = wait_for(described, seconds=GROUP_SECONDS, what="kubectl describe job tells the cause")
    assert "4 pods exist at the same time; 3 of 4 do" in text
    assert bound(client, namespace, "train") == []


def test_one_gated_member_is_told(installed, namespace):
    given = labelled_job("train", namespace)
    given["spec"]["template"]["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    installed.client.create(given)

    def told():
        return [event for event in events_of(installed.client, namespace, "train") if event["reason"] == "MemberGated"]

    wait_for(told, seconds=GROUP_SECONDS, what="the gate is told")


def test_a_priority_that_changed_after_the_group_was_made_is_told(installed, namespace):
    client = installed.client
    name = f"{namespace}-class"
    declared = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 10}
    client.create(declared)
    try:
        given = labelled_job("train", namespace)
        given["spec"] |= {"suspend": True}
        given["spec"]["template"]["spec"]["priorityClassName"] = name
        client.create(given)
        wait_for(lambda: client.list(POD_GROUPS, namespace), seconds=GROUP_SECONDS, what="the group is made")
        client.delete("scheduling.k8s.io/v1/priorityclasses", "", name)
        wait_for(lambda: client.find("scheduling.k8s.io/v1/priorityclasses", "", name) is None, what="the class is gone")
        client.create(declared | {"value": 20})
        client.patch(JOBS, namespace, "train", {"spec": {"suspend": False}})

        def told():
            return [event for event in events_of(client, namespace, "train") if event["reason"] == "PriorityMismatch"]

        (event, *_) = wait_for(told, seconds=GROUP_SECONDS, what="the mismatch is told")
        assert "has priority 20 but group" in event["message"]
    finally:
        client.delete("scheduling.k8s.io/v1/priorityclasses", "", name)
