"""What the chart renders: outlines of four value sets, and what holds for each of them."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import click
import pytest
import yaml

from tests.charts.copied import copies
from tests.charts.helm import CHART, NAMESPACE, helm, named, pod_specs, render
from tests.charts.outline import VALUES, outline
from webhook.cli import main
from webhook.model.objects import Object

GOLDEN = Path(__file__).with_name("golden")
ROOT = Path(__file__).resolve().parents[2]
METRIC = re.compile(r"\bgangwarden_[a-z_]+")


def values_of(name: str) -> Object:
    path = VALUES[name]
    return yaml.safe_load(path.read_text()) if path else {}


@pytest.fixture(params=list(VALUES))
def objects(request: pytest.FixtureRequest) -> list[Object]:
    return render(values_of(request.param))


@pytest.mark.parametrize("name", list(VALUES))
def test_a_value_set_renders_what_its_golden_file_says(name: str) -> None:
    assert outline(name) == (GOLDEN / f"{name}.txt").read_text(), "if that was meant: python -m tests.charts.outline"


@pytest.mark.parametrize("name", list(VALUES))
def test_helm_finds_nothing_to_complain_about(name: str) -> None:
    done = helm("lint", "--strict", CHART, values=values_of(name))
    assert done.returncode == 0, done.stdout


def test_what_the_chart_copies_is_as_it_is_at_its_origin() -> None:
    stale = [str(path) for path, text in copies() if not path.exists() or path.read_text() != text]
    assert stale == [], "python -m tests.charts.copied"
    assert set((CHART / "files").rglob("*.yaml")) == {path for path, _ in copies()}


def test_every_pod_is_what_a_restricted_namespace_takes(objects: list[Object]) -> None:
    for name, spec in pod_specs(objects).items():
        assert (spec["securityContext"]["runAsNonRoot"], spec["securityContext"]["seccompProfile"]["type"]) == (
            True,
            "RuntimeDefault",
        ), name
        assert spec["securityContext"].get("runAsUser", 65532) == 65532
        assert all(set(volume) - {"name"} <= {"emptyDir", "configMap", "secret", "image"} for volume in spec["volumes"])
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
            }  # fmt: skip
            assert container["resources"]["requests"]


def test_every_command_line_is_one_that_the_command_takes(objects: list[Object]) -> None:
    for spec in pod_specs(objects).values():
        ours = spec["containers"][0]
        words = [re.sub(r"^--policies=/policies.*$", f"--policies={ROOT / 'policies'}", word) for word in ours["args"]]
        understood(main, words)


def understood(command: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    """Parse a command line as the command does, without running it; click raises what it does not understand.

    A command keeps the help option of the first context that it was asked in, and has ``-h`` from its parent.
    """
    context = command.make_context("gangwarden", list(words), parent=parent)
    if isinstance(command, click.Group):
        _, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None
        understood(found, rest, context)


def test_there_is_no_image_but_ours(objects: list[Object]) -> None:
    images = {spec["containers"][0]["image"] for spec in pod_specs(objects).values()}
    assert len(images) == 1
    assert re.fullmatch(r"(registry\.example\.com/)?gangwarden:[0-9.]+(@sha256:[0-9a-f]{64})?", images.pop())


def test_names_are_given_once_and_everything_is_in_the_namespace_of_the_release(objects: list[Object]) -> None:
    keys = [(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in objects]
    assert [one for one, other in pairwise(sorted(keys)) if one == other] == []
    elsewhere = {key[1] for key in keys} - {NAMESPACE, ""}
    assert elsewhere <= {"default", "team-a", "team-b", "canary"}


def test_every_selector_selects_the_pods_of_its_deployment(objects: list[Object]) -> None:
    for component in ("webhook", "controller"):
        (deployment,) = [one for one in objects if one["kind"] == "Deployment" and one["metadata"]["name"].endswith(component)]
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        selectors = [deployment["spec"]["selector"]["matchLabels"]]
        selectors += [
            one["spec"]["selector"]["matchLabels"]
            for one in objects
            if one["kind"] == "PodDisruptionBudget" and one["metadata"]["name"].endswith(component)
        ]
        assert all(selector.items() <= labels.items() for selector in selectors)
    for job in [one for one in objects if one["kind"] == "Job"]:
        service = next(one for one in objects if one["kind"] == "Service")
        assert not service["spec"]["selector"].items() <= job["spec"]["template"]["metadata"]["labels"].items()


def test_every_claim_of_a_subject_is_of_an_account_of_the_chart(objects: list[Object]) -> None:
    accounts = {one["metadata"]["name"] for one in objects if one["kind"] == "ServiceAccount"}
    used = {spec["serviceAccountName"] for spec in pod_specs(objects).values()}
    bound = {subject["name"] for one in objects if one["kind"].endswith("RoleBinding") for subject in one["subjects"]}
    assert used == accounts == bound


def test_roles_are_those_that_bindings_name(objects: list[Object]) -> None:
    roles = {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"])
        for one in objects
        if one["kind"].endswith("Role")
    }
    bindings = [one for one in objects if one["kind"].endswith("RoleBinding")]
    named_ = {(one["roleRef"]["kind"], one["metadata"].get("namespace", ""), one["roleRef"]["name"]) for one in bindings}
    assert named_ == {role for role in roles if not role[2].endswith("-bypass")}


def test_alerts_and_dashboard_speak_of_metrics_that_there_are() -> None:
    objects = render(values_of("cert-manager"))
    page = (ROOT / "docs/reference/metrics.md").read_text()
    known = {name.strip("`") for name in re.findall(r"^\| (`gangwarden_[a-z_]+`)", page, re.MULTILINE)}
    dashboard = named(objects, "ConfigMap", "gangwarden-dashboard")["data"]["gangwarden.json"]
    said = METRIC.findall(dashboard + json.dumps(named(objects, "PrometheusRule", "gangwarden")))
    assert {name.removesuffix("_bucket") for name in said} - known == set()
    assert len(json.loads(dashboard)["panels"]) == len({panel["title"] for panel in json.loads(dashboard)["panels"]})


def test_another_namespace_and_account_reach_the_native_policies() -> None:
    objects = render(
        {"controller": {"serviceAccount": {"name": "keeper"}}, "excludeNamespaces": ["lab"]}, namespace="batch-system"
    )
    account = "system:serviceaccount:batch-system:keeper"
    assert account in named(objects, "ConfigMap", "guarded-quorum.gangwarden.dev", "batch-system")["data"]["users"].split()
    fence = named(objects, "ValidatingAdmissionPolicy", "fenced-controller.gangwarden.dev")
    assert account in fence["spec"]["matchConditions"][0]["expression"]
    away = named(objects, "ValidatingAdmissionPolicyBinding", "stamped-when-away.gangwarden.dev")
    selector = away["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    assert selector[0]["values"] == ["batch-system", "gangwarden-system", "kube-system", "lab"]
    assert "gangwarden-system:" not in json.dumps(objects).replace("gangwarden-system:gangwarden", "")
    assert "system:serviceaccount:gangwarden-system" not in json.dumps(objects)


def test_without_podgroups_no_job_is_refused_for_want_of_a_stamp() -> None:
    done = helm("template", "gangwarden", CHART, "--kube-version", "1.37.2")
    names = {one["metadata"]["name"] for one in yaml.safe_load_all(done.stdout) if one}
    assert "stamped-when-away.gangwarden.dev" not in names
    assert "guarded-quorum.gangwarden.dev" in names


def test_a_kubernetes_that_knows_no_groups_is_refused() -> None:
    done = helm("template", "gangwarden", CHART, "--kube-version", "1.36.0")
    assert (done.returncode, "1.37" in done.stderr) == (1, True)
