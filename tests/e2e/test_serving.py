"""The webhook as the API server meets it: rotating certificates, repaired configurations, whole clusters in one process."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.controlplane.client import EVENTS, JOBS, POD_GROUPS, PODS, ApiError, wait_for
from tests.controlplane.scenes import is_bound, job
from tests.e2e.installation import CONFIGURATIONS, Installation, labelled_job
from tests.e2e.outside import bundles, is_stamped, served

ROOT = Path(__file__).resolve().parents[2]
GROUP_SECONDS = 60.0
ROTATIONS = 3
QUICK_PROFILE = """
apiVersion: gangwarden.dev/v1alpha1
kind: CertificateProfile
metadata: {name: quick}
spec:
  caDays: 0.0006
  leafDays: 0.0003
  renewAfterFraction: 0.2
  clockSkewSeconds: 1
  overlapSeconds: 2
  checkSeconds: 0.5
"""
"""An authority lasts 52 s and a certificate 26, and each is replaced when a fifth of that is over."""


@pytest.fixture(scope="module")
def running(control_plane, tmp_path_factory):
    """``gangwarden run``: everything in one process, whose certificates change every few seconds all the time."""
    directory = tmp_path_factory.mktemp("running")
    profile = directory / "profile.yaml"
    profile.write_text(QUICK_PROFILE)
    made = Installation(control_plane, ROOT / "policies", directory)
    try:
        made.start_webhook("run", "--cert-profile", str(profile))
        yield made
    finally:
        made.close()
        print(made.logs())


def test_one_process_does_everything(running, namespace):
    client = running.client
    client.create(labelled_job("train", namespace))

    def bound():
        return [pod for pod in client.list(PODS, namespace, labels="job=train") if is_bound(pod)]

    wait_for(lambda: len(bound()) == 4, seconds=GROUP_SECONDS, what="all four pods are bound")
    assert len(client.list(POD_GROUPS, namespace)) == 1
    assert running.leader()


def test_certificates_and_authorities_change_and_no_job_notices(running, namespace):
    client, certificates, authorities = running.client, set(), set()

    def rotated():
        assert is_stamped(client, namespace)
        found = bundles(client)
        if len(found) != 1:  # read between the writes of the two configurations
            return False
        with_text = base64.b64decode(*found).decode()
        authorities.update(part for part in with_text.split("-----END CERTIFICATE-----") if part.strip())
        certificates.add(served(running.port, trusting=with_text))
        return len(certificates) > ROTATIONS and len(authorities) > 1

    wait_for(rotated, seconds=90, what="certificates and authorities have changed")
    assert running.webhook.alive
    assert "Traceback" not in running.webhook.text()


GARBAGE = base64.b64encode(b"garbage").decode()


def with_bundle(client, bundle):
    for resource in CONFIGURATIONS:
        path = f"admissionregistration.k8s.io/v1/{resource}"
        hooks = client.get(path, "", "gangwarden")["webhooks"]
        client.patch(
            path,
            "",
            "gangwarden",
            {"webhooks": [one | {"clientConfig": one["clientConfig"] | {"caBundle": bundle}} for one in hooks]},
        )


@pytest.mark.parametrize("kind", ["garbage", "an authority of somebody else"])
def test_an_overwritten_bundle_is_restored(running, control_plane, namespace, kind):
    foreign = base64.b64encode((control_plane.pki / "ca.crt").read_bytes()).decode()
    wrong = GARBAGE if kind == "garbage" else foreign
    with_bundle(running.client, wrong)
    wait_for(lambda: wrong not in bundles(running.client), seconds=GROUP_SECONDS, what="our bundle is back everywhere")
    wait_for(lambda: is_trusted(running.client, namespace), seconds=GROUP_SECONDS, what="the API server trusts us again")


def is_trusted(client, namespace):
    """Tell whether a Job gets its stamp; what is stored again the API server takes in a moment later."""
    try:
        return is_stamped(client, namespace)
    except ApiError as error:
        if "failed calling webhook" not in str(error):
            raise
        return False


def test_deleted_and_edited_configurations_are_restored(running, namespace):
    client = running.client
    mutating = "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    client.delete(mutating, "", "gangwarden")
    wait_for(lambda: client.find(mutating, "", "gangwarden"), seconds=GROUP_SECONDS, what="the configuration is back")
    hooks = client.get(mutating, "", "gangwarden")["webhooks"]
    client.patch(mutating, "", "gangwarden", {"webhooks": [one | {"rules": []} for one in hooks]})
    # First as it is stored: the API server may not have taken in the edit yet, and then still stamps by the rules before.
    wait_for(
        lambda: all(one.get("rules") for one in client.get(mutating, "", "gangwarden")["webhooks"]),
        seconds=GROUP_SECONDS,
        what="the rules are written back",
    )
    wait_for(lambda: is_stamped(client, namespace), seconds=GROUP_SECONDS, what="the rules are back")


TAMPERINGS = {
    "failures are ignored": lambda hook: {"failurePolicy": "Ignore"},
    "somebody else is asked": lambda hook: {
        "clientConfig": hook["clientConfig"] | {"url": "https://elsewhere.example:9443/validate"}
    },
    "a condition that never holds": lambda hook: {"matchConditions": [{"name": "never", "expression": "false"}]},
    "no namespace is meant": lambda hook: {"namespaceSelector": {"matchLabels": {"no": "such"}}},
    "no object is meant": lambda hook: {"objectSelector": {"matchLabels": {"no": "such"}}},
    "no time to answer": lambda hook: {"timeoutSeconds": 1},
    "they are gone": None,
}
"""What somebody may do who would rather not be judged (threat 4 of SIG Security's model)."""


@pytest.mark.parametrize("resource", CONFIGURATIONS)
@pytest.mark.parametrize("how", TAMPERINGS)
def test_a_configuration_that_was_tampered_with_is_as_before(running, resource, how):
    client, path = running.client, f"admissionregistration.k8s.io/v1/{resource}"
    tampering, before = TAMPERINGS[how], client.get(path, "", "gangwarden")["webhooks"]
    tampered = None if tampering is None else {"webhooks": [one | tampering(one) for one in before]}
    if tampered is None:
        client.delete(path, "", "gangwarden")
    else:
        client.patch(path, "", "gangwarden", tampered)

    def restored():
        live = client.find(path, "", "gangwarden")
        return live is not None and plain(live["webhooks"]) == plain(before)

    wait_for(restored, seconds=GROUP_SECONDS, what="the configuration is as before")


def plain(webhooks):
    """Return what does not change while certificates do."""
    return [one | {"clientConfig": {"url": one["clientConfig"]["url"]}} for one in webhooks]


def test_what_no_policy_speaks_about_is_not_sent(running, namespace):
    client, before = running.client, len(running.webhook.text())
    client.create(job("plain", namespace))
    wait_for(lambda: len(client.list(PODS, namespace)) == 4, what="the pods are there")
    assert is_stamped(client, namespace)
    lines = [json.loads(line) for line in running.webhook.text()[before:].splitlines() if f'"namespace":"{namespace}"' in line]
    assert {line["kind"] for line in lines if "path" in line} <= {"Job", "batch/v1 Job"}
    assert not [line for line in lines if line.get("path", "").startswith("/mutate") and line["name"] == "plain"]


def test_the_label_of_our_probe_opens_no_back_door(running, namespace):
    bad = labelled_job("train", namespace)
    bad["metadata"]["labels"]["gangwarden.dev/probe"] = "true"
    bad["spec"] |= {"completions": 3}
    with pytest.raises(ApiError) as refusal:
        running.client.create(bad)
    assert "reachable-quorum.gangwarden.dev" in refusal.value.body["message"]


def test_nobody_joins_a_group_of_another_workload(running, namespace):
    client = running.client
    client.create(labelled_job("train", namespace))
    (group,) = wait_for(lambda: client.list(POD_GROUPS, namespace), seconds=GROUP_SECONDS, what="the group is made")
    named = group["metadata"]["name"]
    thief = job("thief", namespace, pod_group=named)
    bare = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "thief", "namespace": namespace},
        "spec": thief["spec"]["template"]["spec"],
    }
    for given in (thief, bare):
        with pytest.raises(ApiError) as refusal:
            wait_for(lambda given=given: client.create(given, dry_run=True) is None, what="the webhook has seen the group")
        assert refusal.value.status == 403
        assert (
            f"schedulingGroup.podGroupName is '{named}', a PodGroup that belongs to another workload"
            in refusal.value.body["message"]
        )


def test_a_job_of_a_foreign_gang_system_is_warned_of_and_left_alone(running, namespace):
    given = labelled_job("train", namespace)
    given["metadata"]["annotations"] = {"volcano.sh/queue-name": "research"}
    said = running.cluster.kubectl("create", "-f", "-", stdin=json.dumps(given))
    assert "Warning: WorkloadPolicy 'labelled-jobs.gangwarden.dev'" in said
    assert "not grouped: the object carries marks of Volcano" in said
    stored = running.client.get(JOBS, namespace, "train")
    assert "schedulingGroup" not in stored["spec"]["template"]["spec"]
    assert "gangwarden.dev/pod-group" not in stored["metadata"].get("annotations", {})


def test_a_group_that_the_api_server_refuses_is_told_on_the_job(running, namespace):
    given = labelled_job("train", namespace)
    given["spec"]["template"]["spec"]["priorityClassName"] = f"{namespace}-gone"
    running.client.create(given)

    def told():
        return [event for event in running.client.list(EVENTS, namespace) if event["reason"] == "GroupRefused"]

    (event, *_) = wait_for(told, seconds=GROUP_SECONDS, what="the refusal is told")
    assert "no PriorityClass with name" in event["message"]


def test_a_group_scaled_up_from_nothing_starts_whole(running, namespace):
    client = running.client
    client.create(labelled_job("train", namespace, parallelism=0, completions=4))
    client.create(labelled_job("seen", namespace, pods=1))
    wait_for(lambda: client.list(POD_GROUPS, namespace), seconds=GROUP_SECONDS, what="the controller has seen both")
    client.patch(JOBS, namespace, "train", {"spec": {"parallelism": 4}})

    def quorums():
        return {one["spec"]["schedulingPolicy"]["gang"]["minCount"] for one in client.list(POD_GROUPS, namespace)}

    wait_for(lambda: quorums() == {1, 4}, seconds=GROUP_SECONDS, what="the group is made with all its pods")
