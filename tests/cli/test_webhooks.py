"""``webhooks plan``: what the API server is told to send, from policies alone."""

from __future__ import annotations

import base64
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Gangwarden, Write
from tests.policies.writing import RULES, binding, validating, workload, workload_binding

URL = ("--url", "https://localhost:9443")


def planned(gangwarden: Gangwarden, *args: str) -> list[Any]:
    result = gangwarden("webhooks", "plan", *args)
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.stdout))


@pytest.fixture
def policies(write: Write) -> str:
    ignoring = validating("ignoring", failurePolicy="Ignore")
    return write(
        "p.yaml", validating(), binding(), ignoring, binding("b", "ignoring"), workload(), workload_binding(), validating("inert")
    )


EVICTIONS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["pods/eviction"],
    "scope": "*",
}


def test_the_plan_is_one_configuration_of_each_kind_with_a_path_per_failure_policy(gangwarden: Gangwarden, policies: str) -> None:
    mutating, validating_ = planned(gangwarden, *URL, "-p", policies)
    assert [document["kind"] for document in (mutating, validating_)] == [
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
    ]  # fmt: skip
    rules = [{**RULES[0], "scope": "*"}]
    assert [(hook["clientConfig"], hook["failurePolicy"], hook["rules"]) for hook in validating_["webhooks"]] == [
        ({"url": "https://localhost:9443/validate/fail"}, "Fail", rules),
        ({"url": "https://localhost:9443/validate/ignore"}, "Ignore", rules),
        ({"url": "https://localhost:9443/evictions"}, "Ignore", [EVICTIONS]),
    ]
    (hook,) = mutating["webhooks"]
    assert (hook["clientConfig"], hook["failurePolicy"]) == ({"url": "https://localhost:9443/mutate/ignore"}, "Ignore")
    assert (hook["reinvocationPolicy"], hook["sideEffects"], hook["admissionReviewVersions"]) == ("IfNeeded", "None", ["v1"])


def test_the_plan_is_the_same_text_every_time_and_without_anchors(gangwarden: Gangwarden) -> None:
    first, second = (gangwarden("webhooks", "plan", *URL).stdout for _ in range(2))
    assert first == second
    assert "&id" not in first


def test_own_namespace_and_kube_system_are_never_sent(gangwarden: Gangwarden, policies: str) -> None:
    def excluded(*flags: str) -> list[Any]:
        documents = planned(gangwarden, *URL, "-p", policies, *flags)
        return [
            expression["values"]
            for document in documents
            for hook in document["webhooks"]
            for expression in hook["namespaceSelector"]["matchExpressions"]
        ]

    assert excluded() == [["gangwarden-system", "kube-system"]] * 4
    assert (
        excluded("--exclude-namespace", "b", "--exclude-namespace", "a") == [["a", "b", "gangwarden-system", "kube-system"]] * 4
    )


def test_the_namespace_of_the_service_is_never_sent_either(gangwarden: Gangwarden, policies: str) -> None:
    *_, last = planned(gangwarden, "--service", "gw/hook", "-p", policies)
    (expression,) = last["webhooks"][0]["namespaceSelector"]["matchExpressions"]
    assert expression["values"] == ["gangwarden-system", "gw", "kube-system"]


def test_only_named_namespaces_are_sent_and_none_that_is_bypassed(gangwarden: Gangwarden, policies: str) -> None:
    *_, last = planned(gangwarden, *URL, "-p", policies, "--only-namespace", "b", "--only-namespace", "a", "--bypass")
    _, only, bypass = last["webhooks"][0]["namespaceSelector"]["matchExpressions"]
    assert only == {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]}
    assert bypass == {"key": "gangwarden.dev/bypass", "operator": "DoesNotExist"}


def test_a_service_is_named_with_its_port_and_its_authority(gangwarden: Gangwarden, policies: str, write: Write) -> None:
    write("certs/ca.crt", "PEM")
    _, validating_ = planned(gangwarden, "--service", "gw/hook:8443", "-p", policies, "--cert-dir", "certs")
    assert validating_["webhooks"][0]["clientConfig"] == {
        "service": {"namespace": "gw", "name": "hook", "port": 8443, "path": "/validate/fail"},
        "caBundle": base64.b64encode(b"PEM").decode(),
    }


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), "say where the webhook is reached: --url or --service"),
        (("--url", "http://x"), "must start with https://"),
        ((*URL, "--service", "a/b"), "give either --url or --service"),
        (("--service", "hook"), "must be NAMESPACE/NAME"),
        (("--service", "a/b:http"), "must be NAMESPACE/NAME"),
        ((*URL, "--cert-dir", "nowhere"), "nowhere holds no ca.crt; make one with: gangwarden certs init nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_plan_needs_an_address_that_can_be(args: tuple[str, ...], told: str, gangwarden: Gangwarden, write: Write) -> None:
    result = gangwarden("webhooks", "plan", "-p", write("p.yaml", validating(), binding()), *args)
    assert result.exit_code == 2
    assert told in result.stderr


@pytest.mark.parametrize(
    ("kubeconfig", "code", "told"),
    [
        pytest.param("", 2, "there is no kubeconfig at kubeconfig.yaml", id="none"),
        pytest.param("a: [", 5, "no usable credentials in kubeconfig.yaml", id="not YAML"),
        pytest.param("apiVersion: v1\nkind: Config\n", 5, "no usable credentials in kubeconfig.yaml", id="empty"),
        pytest.param(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
            "contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {token: t}}]\n"
            "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n",
            5,
            "https://127.0.0.1:1 cannot be reached",
            id="a server that is away",
        ),
    ],
)
def test_a_cluster_that_cannot_be_reached_is_told_without_a_traceback(
    kubeconfig: str, code: int, told: str, gangwarden: Gangwarden, write: Write
) -> None:
    if kubeconfig:
        write("kubeconfig.yaml", kubeconfig)
    for command in (("webhooks", "apply", *URL), ("webhooks", "delete"), ("controller",)):
        result = gangwarden(*command, "--kubeconfig", "kubeconfig.yaml")
        assert result.exit_code == code
        assert told in result.stderr.rpartition("error: ")[2].splitlines()[0]
