"""Exported policies in the files of a real API server: it says what ``gangwarden check`` says of the same objects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.builders import job
from tests.controlplane.client import ApiError, Object, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.plan import NATIVE
from tests.e2e.custom import custom_kinds
from tests.policies.test_export import NOT_EXPORTABLE
from tests.policies.writing import NATIVE as ADMISSION
from tests.policies.writing import RULES, binding, mutating, mutating_binding, validating
from webhook.cli import main
from webhook.model.requests import Operation
from webhook.policies import load_cases

ROOT = Path(__file__).resolve().parents[2]
BUILT_IN = {"batch/v1", "v1", "scheduling.k8s.io/v1beta1", "policy/v1"}
SUFFIX = ".static.k8s.io"
MADE = ("podFailurePolicy", "podReplacementPolicy")
"""What the shipped mutation writes into the spec of a Job."""
RELOAD_SECONDS = 90.0
"""The API server watches its folders, and looks once a minute in any case."""


def config(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "limits"}, "data": data}


def own(most: int) -> list[Object]:
    """Policies of what the shipped ones do not have: params by binding, in match conditions, in an object; any resource."""
    kind = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    to = {"namespace": "limits", "parameterNotFoundAction": "Deny"}
    by_team = {"matchResources": {"objectSelector": {"matchLabels": {"team": "b"}}}}
    forbidden = {
        "objectSelector": {"matchLabels": {"forbidden": "yes"}},
        "resourceRules": [{**RULES[0], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}],
    }
    conditions = [{"name": "on", "expression": "params.data.on == 'yes' && object.metadata.name.startsWith('own')"}]
    return [
        validating("own-limit", "object.spec.parallelism <= int(params.data.most)", matchConditions=conditions, **kind),
        binding("own-all", "own-limit", paramRef={"name": "all", **to}),
        binding("own-b", "own-limit", paramRef={"name": "b", **to}, **by_team),
        config("all", most=str(most), on="yes"),
        config("b", most="2", on="yes"),
        mutating("own-notes", "Object{metadata: Object.metadata{annotations: {'size': params.data.size}}}", **kind,
                 matchConditions=[{"name": "own", "expression": "object.metadata.name.startsWith('own')"}]),
        mutating_binding("own-notes", "own-notes", paramRef={"name": "notes", **to}),
        config("notes", size='"large" é'),
        validating("forbidden", "false", matchConstraints=forbidden),
        binding("forbidden", "forbidden"),
    ]  # fmt: skip


@dataclass
class Exported:
    """A control plane that reads policies from an export, and the policies that it was made from."""

    cluster: ControlPlane
    policies: Path
    out: Path

    def write(self, most: int) -> None:
        (self.policies / "own.yaml").write_text("---\n".join(f"{json.dumps(one)}\n" for one in own(most)))

    def export(self) -> None:
        ran("policies", "export", "-p", self.policies, "--out", self.out)

    def theirs(self, obj: Object) -> Said:
        """Create an object without storing it, and return what the API server says."""
        return Said(*self.cluster.client.attempt(obj))

    def ours(self, objects: Sequence[Object], folder: Path) -> list[list[Object]]:
        """Check objects, and return the results of each."""
        (folder / "objects.yaml").write_text("---\n".join(f"{json.dumps(obj)}\n" for obj in objects))
        results = json.loads(ran("check", "-p", self.policies, "-o", "json", folder / "objects.yaml", codes=(0, 1)))["results"]
        return [[one for one in results if one["source"].endswith(f"#{index}")] for index in range(len(objects))]


@dataclass(frozen=True)
class Said:
    """An answer of the API server."""

    refusal: str
    warnings: list[str]

    @property
    def is_of_a_policy(self) -> bool:
        """Tell whether policies were asked: an object that is wrong in itself is refused before."""
        return not self.refusal or "AdmissionPolicy" in self.refusal


def ran(*arguments: str | Path, codes: tuple[int, ...] = (0,)) -> str:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code in codes, done.output
    return done.stdout


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    folder = tmp_path_factory.mktemp("export")
    policies, out = folder / "policies", folder / "out"
    policies.mkdir()
    for path in (ROOT / "policies").glob("*/*/policy.yaml"):
        if path.parent.name not in NOT_EXPORTABLE:
            # `check` leaves policies with this label to the API server, and they are to be compared as well.
            text = path.read_text().replace("gangwarden.dev/install: native", "gangwarden.dev/install: both")
            (policies / f"{path.parent.name}.yaml").write_text(text)
    cluster = ControlPlane(gates=NATIVE, admission_config=folder / "admission.yaml")
    made = Exported(cluster, policies, out)
    made.write(most=8)
    made.export()
    (folder / "admission.yaml").write_text(yaml.safe_dump(admission_configuration(out)))
    with cluster, custom_kinds(cluster):
        for name in ("team-a", "team-b"):
            cluster.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield made


def admission_configuration(out: Path) -> Object:
    """Return the configuration as docs/export.md has it, with the folders of an export."""
    page = (ROOT / "docs/export.md").read_text()
    block = page.partition("```yaml\napiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration")[2].partition("```")[0]
    text = f"apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration{block}"
    return yaml.safe_load(text.replace("/etc/kubernetes/policies", str(out)))


def shipped(folder: str) -> list[Object]:
    """Return what the cases of a shipped policy create, where an API server can be asked about it."""
    tests = load_cases(ROOT / "policies" / folder / "cases.yaml")
    cases = [case for test in tests for case in test.cases if case.operation is Operation.CREATE and case.object]
    known = [case.object for case in cases if case.object["apiVersion"] in BUILT_IN]
    return [obj for obj in known if obj["metadata"].get("namespace") in ("team-a", "team-b")]


def ours(name: str, parallelism: int = 1, **labels: str) -> Object:
    obj = job(name, namespace="team-a").parallelism(parallelism).build()
    return {**obj, "metadata": {**obj["metadata"], "labels": labels}}


OWN = {
    "within every limit": ours("own-small", 2),
    "above the limit of all": ours("own-large", 9),
    "above the limit of one binding": ours("own-b", 4, team="b"),
    "a match condition that reads params is false": ours("other", 9),
    "refused whatever it is": ours("forbidden", forbidden="yes"),
}
FOLDERS = sorted(path.parent.relative_to(ROOT / "policies").as_posix() for path in (ROOT / "policies").glob("*/*/cases.yaml"))
CASES = {folder: objects for folder in FOLDERS if (objects := shipped(folder))}


@pytest.fixture(scope="module")
def checked(exported: Exported, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[Object]]]:
    """What ``check`` says of all cases, in one run; by folder and case."""
    found = iter(exported.ours([obj for objects in CASES.values() for obj in objects], tmp_path_factory.mktemp("cases")))
    return {folder: list(islice(found, len(objects))) for folder, objects in CASES.items()}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("folder", CASES)
def test_the_api_server_says_of_the_cases_what_check_says(
    exported: Exported, checked: dict[str, list[list[Object]]], folder: str
) -> None:
    answers = [(exported.theirs(obj), found) for obj, found in zip(CASES[folder], checked[folder], strict=True)]
    judged = [(said, found) for said, found in answers if said.is_of_a_policy]
    assert judged
    assert [difference for said, found in judged for difference in differing(said, found)] == []


@pytest.mark.parametrize("obj", OWN.values(), ids=OWN)
def test_the_api_server_says_what_check_says(exported: Exported, obj: Object, tmp_path: Path) -> None:
    assert list(differing(exported.theirs(obj), *exported.ours([obj], tmp_path))) == []


def differing(said: Said, found: list[Object]) -> Iterator[str]:
    """Yield what the API server says otherwise than ``check``; of several denials it tells the first."""
    denials = [sentence(one, "ValidatingAdmissionPolicy '{}' with binding '{}' denied request: {}") for one in of(found, "deny")]
    warnings = [
        sentence(one, "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}") for one in of(found, "warn")
    ]
    told = [text for text in said.warnings if text.startswith("Validation failed")]
    if bool(denials) != bool(said.refusal) or (denials and not any(denial in said.refusal for denial in denials)):
        yield f"{said.refusal or 'admitted'}\n!= {denials}"
    if sorted(told) != sorted(warnings):
        yield f"{told}\n!= {warnings}"


def of(results: list[Object], verdict: str) -> list[Object]:
    return [one for one in results if one["verdict"] == verdict]


def sentence(result: Object, form: str) -> str:
    """Return what the API server says; a binding of other params has a policy of its own."""
    apart = f".{result['binding']}" if result["policy"] == "own-limit" else ""
    return form.format(f"{result['policy']}{apart}{SUFFIX}", f"{result['binding']}{SUFFIX}", result["message"])


def test_the_api_server_makes_of_an_object_what_check_makes_of_it(exported: Exported, tmp_path: Path) -> None:
    obj = job("own-gang", namespace="team-a").parallelism(2).gang().build()
    obj["spec"] |= {
        "completions": 2,
        "completionMode": "Indexed",
        "backoffLimit": 6,
        "scheduling": {"schedulingPolicy": {"gang": {}}},
    }
    theirs = exported.cluster.client.create(obj, dry_run=True)
    mine = [one["patched"] for one in exported.ours([obj], tmp_path)[0] if one["patched"]][-1]

    def made(found: Object) -> tuple[Any, ...]:
        return found["metadata"]["annotations"]["size"], *(found["spec"].get(field) for field in MADE)

    assert made(theirs) == made(mine)
    assert made(mine)[0] == '"large" é'
    assert all(made(mine))


def test_policies_stay_repairable_as_they_do_under_policies_that_are_objects(exported: Exported) -> None:
    client = exported.cluster.client
    labels = {"labels": {"forbidden": "yes"}}
    with pytest.raises(ApiError, match="denied request"):
        client.create({**config("x"), "metadata": {"name": "x", "namespace": "team-a", **labels}}, dry_run=True)
    policy = validating("repair")
    client.create({**policy, "metadata": {"name": "repair", **labels}}, dry_run=True)


def test_an_export_cannot_be_changed_through_the_api(exported: Exported) -> None:
    client = exported.cluster.client
    assert client.list(f"{ADMISSION}/validatingadmissionpolicies") == []
    with pytest.raises(ApiError, match="reserved for static manifest-based configurations"):
        client.create(validating(f"own{SUFFIX}"), dry_run=True)


@pytest.mark.timeout(300)
def test_the_next_export_is_in_force_without_a_restart(exported: Exported) -> None:
    obj = ours("own-next", 9)
    assert "own-limit.own-all" in exported.theirs(obj).refusal
    exported.write(most=16)
    exported.export()
    wait_for(lambda: not exported.theirs(obj).refusal, seconds=RELOAD_SECONDS, what="the new limit is in force")
