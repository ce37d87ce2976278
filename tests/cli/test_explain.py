"""``gangwarden explain`` from files: what is printed, in both forms, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Gangwarden, Write
from tests.preemption.groups import Group
from webhook.cli.explain import _offered

POLICIES = ("-p", str(Path(__file__).parents[2] / "policies/gang/labelled-jobs/policy.yaml"))
AWAY = (
    "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
    "contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {token: t}}]\n"
    "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n"
)
NOW = ("--now", "2026-03-01T12:00:00Z")


def written(write: Write, group: Group) -> tuple[str, ...]:
    spaces = group.snapshot().buckets.values()
    objects = [obj for space in spaces for bucket in space.values() for obj in bucket.values()]
    return ("--snapshot", write("cluster.yaml", {"apiVersion": "v1", "kind": "List", "items": objects}), *NOW, *POLICIES)


def test_the_cause_comes_first_then_the_next_step_then_the_order_of_time(gangwarden: Gangwarden, write: Write) -> None:
    group = Group().run().doomed(3, "EvictionByEvictionAPI", message="Eviction API: evicting").deleted(3)
    result = gangwarden("explain", "job/train", "-n", "team-a", *written(write, group))
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[:2] == ["Job team-a/train", "  PodGroup g  lost-a-member: EvictionByEvictionAPI"]
    assert lines[2].startswith(
        "    Pod train-3 (node n3) was evicted at 2026-03-01T11:59:55Z, which says: Eviction API: evicting."
    )
    assert lines[3].startswith("    Next: The controller restarts the group as a whole.")
    assert lines[5] == "Timeline (UTC)"
    assert "  2026-03-01 11:00:00  Pod train-0, Pod train-1, Pod train-2 and 1 more  Created" in lines
    assert "  2026-03-01 11:59:55  Pod train-3  DisruptionTarget=True: EvictionByEvictionAPI: Eviction API: evicting" in lines


def test_what_works_is_no_finding(gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("explain", "job", "train", "-n", "team-a", *written(write, Group().run()))
    assert (result.exit_code, result.stderr) == (0, "")
    assert "  PodGroup g  whole: Running" in result.stdout


def test_the_machine_s_form_is_versioned(gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("explain", "pod/train-3", "-n", "team-a", "-o", "json", *written(write, Group().run().deleted(3)))
    found = json.loads(result.stdout)
    assert (found["apiVersion"], found["kind"]) == ("gangwarden.dev/v1alpha1", "Explanation")
    assert (found["object"], found["code"], found["finding"]) == ("Pod team-a/train-3", "Deleted", True)
    assert result.exit_code == 1


@pytest.mark.parametrize(
    "words", [("job/train",), ("jobs", "train"), ("job.batch", "train"), ("pod/train-0",), ("po", "train-0"), ("pg/g",)]
)
def test_kinds_are_named_as_people_name_them(words: tuple[str, ...], gangwarden: Gangwarden, write: Write) -> None:
    assert gangwarden("explain", *words, "-n", "team-a", *written(write, Group().run())).exit_code == 0


def test_a_kind_that_is_not_listed_is_named_with_its_group(gangwarden: Gangwarden, write: Write) -> None:
    trial = {"apiVersion": "example.com/v1", "kind": "Trial", "metadata": {"name": "a", "namespace": "default"}}
    given = ("--snapshot", write("trial.yaml", trial), *POLICIES)
    for word in ("trial.example.com/a", "trials.example.com/a"):
        result = gangwarden("explain", word, *given)
        assert result.exit_code == 0
        assert "NotGrouped" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("job",), "say which object: KIND/NAME or KIND NAME"),
        (("job/",), "say which object"),
        (("job", "a", "b"), "say which object"),
        (("trial/a",), "'trial' is none of pod, job, podgroup"),
        (("job/nobody",), "there is no Job default/nobody"),
    ],
)
def test_a_slip_of_usage_says_what_is_wanted(words: tuple[str, ...], said: str, gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("explain", *words, *written(write, Group().run()))
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_a_broken_snapshot_is_a_broken_input(gangwarden: Gangwarden, write: Write) -> None:
    assert gangwarden("explain", "job/train", "--snapshot", write("cluster.yaml", "a: ["), *POLICIES).exit_code == 4


def test_a_broken_policy_is_a_broken_policy(gangwarden: Gangwarden, write: Write) -> None:
    assert gangwarden("explain", "job/train", *written(write, Group().run()), "-p", write("p.yaml", "a: [")).exit_code == 3


def test_without_a_cluster_it_is_said(gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("explain", "job/train", *POLICIES, "--kubeconfig", write("kubeconfig.yaml", AWAY))
    assert result.exit_code == 5
    assert "https://127.0.0.1:1 cannot be reached" in result.stderr


def test_kinds_are_completed() -> None:
    assert [item.value for item in _offered(None, None, "po")] == ["pod", "podgroup"]  # type: ignore[arg-type]  # neither is looked at
