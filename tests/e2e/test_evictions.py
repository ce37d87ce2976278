"""Evictions of group members, by a real ``kubectl drain`` on a real API server: held with the reason, and never for ever."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.controlplane.client import PODS, ApiError, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.scenes import is_bound
from tests.e2e.installation import Installation, labelled_job, running

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60.0
BUDGETS = "policy/v1/poddisruptionbudgets"
REASON = "says onEviction: Hold, so its pods are not evicted before it has ended"


@contextmanager
def installed(cluster: ControlPlane, directory: Path, on_eviction: str, *flags: str) -> Iterator[Installation]:
    """Webhook and controller, with a policy that finishes or holds evictions."""
    policies = directory / "policies"
    shutil.copytree(ROOT / "policies/gang/labelled-jobs", policies / "labelled-jobs", ignore=shutil.ignore_patterns("cases.yaml"))
    path = policies / "labelled-jobs/policy.yaml"
    text = path.read_text()
    assert text.count("onEviction: Finish") == 1
    path.write_text(text.replace("onEviction: Finish", f"onEviction: {on_eviction}"))
    with running(cluster, policies, directory, "serve", *flags, called=is_guarded) as made:  # there is no other to wait for
        made.start_controller()
        yield made


def is_guarded(client: Client) -> bool:
    found = client.find("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "", "gangwarden") or {}
    stamped = client.create(labelled_job("probe", "default"), dry_run=True)["spec"]["template"]["spec"]
    return "schedulingGroup" in stamped and any(one["name"] == "evictions.gangwarden.dev" for one in found.get("webhooks", []))


def spread_job(name: str, namespace: str) -> dict:
    """A gang with one pod on each of the four nodes."""
    made = labelled_job(name, namespace)
    made["spec"]["template"]["spec"]["affinity"] = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"job": name}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    return made


def members(client: Client, namespace: str, job: str) -> list[dict]:
    return [pod for pod in client.list(PODS, namespace, labels=f"job={job}") if is_bound(pod)]


def started(client: Client, namespace: str, *jobs: str) -> None:
    for job in jobs:
        client.create(spread_job(job, namespace))
    for job in jobs:
        running = lambda name=job: [p for p in members(client, namespace, name) if p["status"]["phase"] == "Running"]  # noqa: E731
        wait_for(lambda found=running: len(found()) == 4, seconds=PATIENCE_SECONDS, what=f"{job} runs")


@contextmanager
def draining(cluster: ControlPlane, node: str, seconds: int = 90) -> Iterator[Future[str]]:
    """``kubectl drain`` beside the test; its result is what it printed, and an AssertionError if it failed."""
    words = ["drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--timeout={seconds}s"]
    with ThreadPoolExecutor(1) as beside:
        try:
            yield beside.submit(cluster.kubectl, *words, seconds=seconds + 10)
        finally:
            cluster.kubectl("uncordon", node)


def evicted(client: Client, namespace: str, pod: dict, *, dry_run: bool = False) -> str:
    """Evict a pod; returns why not, empty when it went."""
    try:
        client.evict(namespace, pod["metadata"]["name"], dry_run=dry_run)
    except ApiError as error:
        silent = "retryAfterSeconds" in error.body.get("details", {})
        return f"{error.status}{' silently' if silent else ''}: {error.body['message']}"
    return ""


def denials(made: Installation) -> int:
    assert made.webhook is not None
    return sum('"path":"/evictions"' in line and '"verdict":"deny"' in line for line in made.webhook.text().splitlines())


def test_a_drain_of_a_node_with_members_of_three_gangs_succeeds(control_plane, namespace, tmp_path):
    with installed(control_plane, tmp_path, "Finish") as made:
        started(made.client, namespace, "a", "b", "c")
        node = members(made.client, namespace, "a")[0]["spec"]["nodeName"]
        gone = {pod["metadata"]["uid"] for pod in made.client.list(PODS, namespace) if pod["spec"]["nodeName"] == node}
        assert len(gone) == 3
        with draining(control_plane, node) as drain:
            said = drain.result()
        assert f"node/{node} drained" in said
        left = {
            pod["metadata"]["uid"] for pod in made.client.list(PODS, namespace) if not pod["metadata"].get("deletionTimestamp")
        }
        assert not gone & left


def test_a_drain_prints_which_groups_it_waits_for_and_goes_through_when_they_let_go(control_plane, namespace, tmp_path):
    with installed(control_plane, tmp_path, "Hold") as made:
        started(made.client, namespace, "a", "b", "c")
        node = members(made.client, namespace, "a")[0]["spec"]["nodeName"]
        with draining(control_plane, node) as drain:
            wait_for(lambda: denials(made) >= 3, seconds=PATIENCE_SECONDS, what="all three are held")
            assert len(members(made.client, namespace, "a")) == 4
            made.client.patch("batch/v1/jobs", namespace, "a", {"spec": {"suspend": True}})
            made.client.delete("batch/v1/jobs", namespace, "b")
            for pod in members(made.client, namespace, "c"):
                made.client.finish_pod(namespace, pod["metadata"]["name"])
            said = drain.result()
        assert f"node/{node} drained" in said
        for job in ("a", "b", "c"):
            (line, *_) = [one for one in said.splitlines() if "will retry after 5s" in one and f"of Job {job} works" in one]
            assert 'admission webhook "evictions.gangwarden.dev" denied the request' in line
            assert REASON in line


def test_no_policy_blocks_a_drain_for_ever(control_plane, namespace, tmp_path):
    with installed(control_plane, tmp_path, "Hold", "--longest-hold", "8") as made:
        started(made.client, namespace, "a")
        node = members(made.client, namespace, "a")[0]["spec"]["nodeName"]
        with draining(control_plane, node) as drain:
            said = drain.result()
        assert REASON in said
        assert f"node/{node} drained" in said


def test_the_first_member_is_only_evicted_when_the_budget_lets_all_of_them_go(control_plane, namespace, tmp_path):
    with installed(control_plane, tmp_path, "Finish") as made:
        client = made.client
        spec = {"minAvailable": 2, "selector": {"matchLabels": {"job": "a"}}}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a", "namespace": namespace}}
        client.create(budget | {"spec": spec})
        started(client, namespace, "a")
        wait_for(lambda: allowed(client, namespace) == 2, what="the budget is computed")
        (first, *_) = members(client, namespace, "a")
        short = "allows 2 disruptions now, and 4 of its pods would go"
        # What follows pods and what follows budgets see what happened in any order; either alone gives other numbers.
        wait_for(lambda: short in evicted(client, namespace, first, dry_run=True), what="the webhook knows of both")
        held = evicted(client, namespace, first)
        assert held.startswith("429: ")  # with retryAfterSeconds a client would ask again in silence
        assert short in held
        client.patch(BUDGETS, namespace, "a", {"spec": {"minAvailable": 0}})
        wait_for(lambda: allowed(client, namespace) == 4, what="the budget allows all")
        wait_for(lambda: not evicted(client, namespace, first, dry_run=True), what="the webhook has seen that")
        assert len(members(client, namespace, "a")) == 4
        assert evicted(client, namespace, first) == ""


def allowed(client: Client, namespace: str) -> int:
    return client.get(BUDGETS, namespace, "a").get("status", {}).get("disruptionsAllowed", -1)


def test_pods_of_no_group_and_a_webhook_that_is_away_hold_nobody_up(control_plane, namespace, tmp_path):
    with installed(control_plane, tmp_path, "Hold") as made:
        alone = spread_job("alone", namespace)
        del alone["metadata"]["labels"]
        made.client.create(alone)
        wait_for(lambda: len(members(made.client, namespace, "alone")) == 4, what="it runs")
        assert evicted(made.client, namespace, members(made.client, namespace, "alone")[0]) == ""
        started(made.client, namespace, "a")
        (first, *_) = members(made.client, namespace, "a")
        assert REASON in wait_for(lambda: evicted(made.client, namespace, first, dry_run=True), what="it is held")
        made.webhook.kill()
        assert evicted(made.client, namespace, first) == ""
