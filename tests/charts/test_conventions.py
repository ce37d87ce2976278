"""What platform teams know of other charts: labels everywhere, budgets that let nodes go, probes, egress, and how it is found."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from tests.charts import readme
from tests.charts.helm import CHART, named, pod_specs, render
from tests.charts.outline import VALUES
from webhook.model.objects import Object

CI = {name: path for name, path in VALUES.items() if path is not None}
META = yaml.safe_load((CHART / "Chart.yaml").read_text())
WEBHOOK, CONTROLLER = "gangwarden-webhook", "gangwarden-controller"


@pytest.fixture(scope="module")
def default() -> list[Object]:
    return render()


@pytest.fixture(scope="module")
def everything() -> list[Object]:
    return render(yaml.safe_load(CI["everything"].read_text()))


def test_every_object_says_whose_it_is_and_carries_the_common_labels(everything: list[Object]) -> None:
    for one in everything:
        labels = one["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == "gangwarden", one["metadata"]["name"]
        assert labels["app.kubernetes.io/part-of"] == "gangwarden"
        assert labels["helm.sh/chart"] == f"gangwarden-{META['version']}"
        assert labels["team"] in ("batch", "monitoring"), one["metadata"]["name"]
    pods = [one["spec"]["template"]["metadata"] for one in everything if one["kind"] in ("Deployment", "Job")]
    assert {meta["labels"]["team"] for meta in pods} == {"batch"}
    assert {meta["labels"]["tier"] for meta in pods if "tier" in meta["labels"]} == {"admission", "hooks"}


def test_native_policies_keep_the_label_that_says_where_they_act(default: list[Object]) -> None:
    native = [one for one in default if one["kind"].startswith("ValidatingAdmissionPolicy")]
    assert {one["metadata"]["labels"]["gangwarden.dev/install"] for one in native} == {"native"}


def test_a_sidecar_keeps_the_policies_of_the_processes_and_hooks_have_those_of_the_image(everything: list[Object]) -> None:
    for name, spec in pod_specs(everything).items():
        is_hook = not name.endswith(("-webhook", "-controller"))
        volumes = {volume["name"] for volume in spec["volumes"]}
        asked = [word for word in spec["containers"][0]["args"] if word.startswith("--policies")]
        assert ("policies" in volumes, asked == []) == (not is_hook, is_hook), name
    (sidecar,) = pod_specs(everything)["gangwarden-wardens-webhook"]["initContainers"]
    assert (sidecar["name"], sidecar["restartPolicy"]) == ("checkout", "Always")


@pytest.mark.parametrize(
    ("webhook", "budget"),
    [
        ({"replicas": 1}, False),
        ({"replicas": 2}, True),
        ({"replicas": 1, "autoscaling": {"enabled": True}}, True),
        ({"podDisruptionBudget": {"enabled": False}}, False),
    ],
    ids=json.dumps,
)
def test_a_budget_never_forbids_that_a_node_is_drained(webhook: Object, budget: bool) -> None:
    names = [one["metadata"]["name"] for one in render({"webhook": webhook}) if one["kind"] == "PodDisruptionBudget"]
    assert (WEBHOOK in names) is budget


def test_an_autoscaler_has_the_number_of_replicas_for_itself(everything: list[Object], default: list[Object]) -> None:
    scaler = named(everything, "HorizontalPodAutoscaler", "gangwarden-wardens-webhook")["spec"]
    target = named(everything, scaler["scaleTargetRef"]["kind"], scaler["scaleTargetRef"]["name"])
    assert "replicas" not in target["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (3, 6)
    assert [one for one in default if one["kind"] == "HorizontalPodAutoscaler"] == []
    assert named(default, "Deployment", WEBHOOK)["spec"]["replicas"] == 2


def test_probes_wait_longer_than_a_busy_node_takes(default: list[Object]) -> None:
    for name, scheme in ((WEBHOOK, "HTTPS"), (CONTROLLER, "HTTP")):
        (container,) = pod_specs(default)[name]["containers"]
        for kind, path in (("startup", "/healthz"), ("readiness", "/readyz"), ("liveness", "/healthz")):
            probe = container[f"{kind}Probe"]
            assert (probe["httpGet"]["path"], probe["httpGet"]["scheme"], probe["timeoutSeconds"]) == (path, scheme, 5)
            assert probe["httpGet"]["port"] in {port["name"] for port in container["ports"]}


def test_only_gangwardens_own_pods_mount_the_tokens_of_its_accounts(default: list[Object]) -> None:
    accounts = [one for one in default if one["kind"] == "ServiceAccount"]
    assert [one["automountServiceAccountToken"] for one in accounts] == [False, False]
    assert {spec["automountServiceAccountToken"] for spec in pod_specs(default).values()} == {True}


def test_an_admission_plugin_may_choose_the_user(everything: list[Object]) -> None:
    for spec in pod_specs(everything).values():
        assert not {"runAsUser", "runAsGroup"} & set(spec["securityContext"])
        assert spec["securityContext"]["runAsNonRoot"] is True


def test_pods_open_connections_to_the_api_server_only(default: list[Object], everything: list[Object]) -> None:
    for objects, fullname in ((default, "gangwarden"), (everything, "gangwarden-wardens")):
        policies = [one for one in objects if one["kind"] == "NetworkPolicy"]
        assert len(policies) == 3
        covered = {name for name, _ in pod_specs(objects).items() if selected(objects, name, policies)}
        assert covered == set(pod_specs(objects))
        for policy in policies:
            assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
            assert {port["protocol"] for port in policy["spec"]["egress"][0]["ports"]} == {"TCP"}
        assert "ingress" not in named(objects, "NetworkPolicy", f"{fullname}-hooks")["spec"]
    rules = named(everything, "NetworkPolicy", "gangwarden-wardens-webhook")["spec"]
    assert [one["to"] for one in rules["egress"]] == [[{"ipBlock": {"cidr": "192.0.2.0/24"}}], [{"namespaceSelector": {}}]]
    assert len(rules["ingress"][0]["from"]) == 2, "callers, and who reads metrics at the same port"


@pytest.mark.parametrize("sources", [[], [{"podSelector": {"matchLabels": {"role": "operator"}}}]], ids=["nobody", "operators"])
def test_a_webhook_tells_its_status_where_that_is_asked_for_and_to_those_who_are_named(
    default: list[Object], sources: list[Object]
) -> None:
    opened = render({"webhook": {"statusPort": 9445}, "networkPolicy": {"statusFrom": sources}})
    (container,) = pod_specs(opened)[WEBHOOK]["containers"]
    assert "--status-port=9445" in container["args"]
    assert {"name": "status", "containerPort": 9445} in container["ports"]
    assert {"name": "status", "port": 9445, "targetPort": "status"} in named(opened, "Service", "gangwarden")["spec"]["ports"]
    rules = named(opened, "NetworkPolicy", WEBHOOK)["spec"]["ingress"]
    at_status = {"ports": [{"protocol": "TCP", "port": 9445}], "from": sources}
    assert [rule for rule in rules if rule["ports"][0]["port"] != 9443] == ([at_status] if sources else [])
    assert "status" not in json.dumps([named(default, kind, WEBHOOK) for kind in ("Deployment", "NetworkPolicy")])
    assert "status" not in json.dumps(named(default, "Service", "gangwarden"))


def selected(objects: list[Object], name: str, policies: list[Object]) -> bool:
    """Tell whether the pods of a Deployment or Job are selected by exactly one of the policies."""
    template = next(one for one in objects if one["kind"] in ("Deployment", "Job") and one["metadata"]["name"] == name)
    labels = template["spec"]["template"]["metadata"]["labels"]
    selectors = [policy["spec"]["podSelector"] for policy in policies]
    found = [
        selector
        for selector in selectors
        if selector.get("matchLabels", {}).items() <= labels.items()
        and all(labels.get(one["key"]) in one["values"] for one in selector.get("matchExpressions", ()))
    ]
    return len(found) == 1


def test_egress_can_be_left_to_somebody_else() -> None:
    for policy in [one for one in render({"networkPolicy": {"egress": {"enabled": False}}}) if one["kind"] == "NetworkPolicy"]:
        assert (policy["spec"]["policyTypes"], "egress" in policy["spec"]) == (["Ingress"], False)


def test_how_it_is_found_and_what_it_needs() -> None:
    said = META["annotations"]
    assert (META["kubeVersion"], META["type"]) == (">=1.37.0-0", "application")
    assert said["artifacthub.io/license"] == "Apache-2.0"
    assert [image["image"] for image in yaml.safe_load(said["artifacthub.io/images"])] == [f"gangwarden:{META['appVersion']}"]
    assert {change["kind"] for change in yaml.safe_load(said["artifacthub.io/changes"])} <= {
        "added",
        "changed",
        "fixed",
        "security",
    }
    for link in yaml.safe_load(said["artifacthub.io/links"]):
        assert re.match(r"https://", link["url"])
        assert link["name"]


def test_chart_testing_finds_value_sets_that_say_what_they_are_for() -> None:
    assert len(CI) >= 4
    assert all(path.read_text().startswith("# ") for path in CI.values())


def test_the_readme_explains_every_value_as_its_comment_does() -> None:
    assert readme.PATH.read_text() == readme.text(), "python -m tests.charts.readme"
    rows = list(readme.rows())
    assert [path for path, _, meaning in rows if not meaning] == []
    assert len(rows) > 120
