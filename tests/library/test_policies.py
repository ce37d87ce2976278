"""The shipped policies: complete, loadable as they stand, and right in every case that stands beside them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.library.asking import Asked, ask
from webhook.admission import PolicySet
from webhook.model.cases import Case
from webhook.model.objects import Object
from webhook.model.requests import Operation
from webhook.model.results import Result
from webhook.model.verdicts import Verdict
from webhook.policies import load_cases, load_policies

ROOT = Path(__file__).resolve().parents[2]
LIBRARY, OPTIONAL = ROOT / "policies", ROOT / "policies-optional"
SHIPPED, ON_DEMAND = (
    sorted(path.parent.relative_to(base).as_posix() for path in base.glob("*/*/policy.yaml")) for base in (LIBRARY, OPTIONAL)
)
FOLDERS = [*SHIPPED, *ON_DEMAND]
OWN = sorted(path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "examples/policy-repo").rglob("cases.yaml"))
EXAMPLES = Path(__file__).with_name("examples.yaml")
AREAS = {"gang", "topology", "claims", "disruption", "hygiene"}
REQUIRED = set(
    "apiVersion kind metadata spec schedule template jobTemplate containers name key action type uid schedulingPolicy".split()
)
"""Fields without which the API server refuses an object of the kinds in question."""
README_PARTS = ("**What.**", "**Why.**", "**Example.**", "**Params.**", "**How to ")


def home(folder: str) -> Path:
    return (OPTIONAL if folder in ON_DEMAND else LIBRARY) / folder


@functools.cache
def policies_of(*paths: str) -> PolicySet:
    return load_policies(paths)


@functools.cache
def asked(path: Path) -> tuple[Asked, ...]:
    return tuple(ask(case, policies_of(*test.policies)) for test in load_cases(path) for case in test.cases)


def documents(folder: str) -> list[Object]:
    return list(yaml.safe_load_all((home(folder) / "policy.yaml").read_text()))


def validations(folder: str) -> list[Object]:
    return [rule for doc in documents(folder) for rule in doc.get("spec", {}).get("validations", ())]


def cases_in(*files: Path) -> list[object]:
    return [
        pytest.param(path, index, id=f"{path.parent.name}: {case.name}")
        for path in files
        for index, case in enumerate(case for test in load_cases(path) for case in test.cases)
    ]


EVERY_CASE = cases_in(
    *(home(folder) / "cases.yaml" for folder in FOLDERS),
    *(ROOT / folder / "cases.yaml" for folder in OWN),
    EXAMPLES,
)


@pytest.mark.parametrize("path, index", EVERY_CASE)
def test_a_case_is_answered_as_it_expects(path: Path, index: int) -> None:
    assert asked(path)[index].differences == ()


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_policy_lives_with_its_cases_and_its_readme(folder: str) -> None:
    assert {path.name for path in (home(folder)).iterdir()} == {"policy.yaml", "cases.yaml", "README.md"}
    assert folder.partition("/")[0] in AREAS
    readme = (home(folder) / "README.md").read_text()
    assert readme.startswith(f"# {folder.split('/')[1]}: ")
    assert [part for part in README_PARTS if part not in readme] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_policy_stands_by_itself(folder: str) -> None:
    assert policies_of(str(home(folder))).warnings == ()
    name = f"{folder.split('/')[1]}.gangwarden.dev"
    assert {doc["metadata"]["name"] for doc in documents(folder)} == {name}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_lost_config_map_stops_no_job(folder: str) -> None:
    """The API server looks for params before matchConditions, so with Deny even a Job that is no gang would be refused."""
    references = [doc["spec"]["paramRef"] for doc in documents(folder) if "paramRef" in doc.get("spec", {})]
    assert {reference["parameterNotFoundAction"] for reference in references} <= {"Allow"}


@pytest.mark.parametrize("places, folders", [([LIBRARY], SHIPPED), ([LIBRARY, OPTIONAL], FOLDERS)])
def test_the_library_loads_as_a_whole(places: list[Path], folders: list[str]) -> None:
    everything = policies_of(*map(str, places))
    assert everything.warnings == ()
    assert len(everything.validating) + len(everything.mutating) + len(everything.workload) == len(folders)


def test_only_what_is_named_makes_the_webhook_watch_the_cluster() -> None:
    light = {("", "Namespace"), ("scheduling.k8s.io", "PodGroup")}
    assert policies_of(str(LIBRARY)).needs <= light
    for folder in ON_DEMAND:
        policies = policies_of(str(home(folder)))
        assert policies.needs - light or any(one.policy.composites for one in policies.workload), folder  # or is alpha


def test_every_example_has_a_case() -> None:
    named = set(re.findall(r"examples/jobs/([\w-]+\.yaml)", EXAMPLES.read_text()))
    assert named == {path.name for path in (ROOT / "examples/jobs").iterdir()}


@pytest.mark.parametrize("place, folders", [(LIBRARY, SHIPPED), (OPTIONAL, ON_DEMAND)])
def test_the_index_names_every_policy(place: Path, folders: list[str]) -> None:
    rows = re.findall(r"^\| \[([\w/-]+)\]\(\1/\) \|", (place / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == folders


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if validations(folder)])
def test_each_validation_has_a_case_that_fails_it_and_the_policy_one_that_passes(folder: str) -> None:
    cases = [given.case for given in asked(home(folder) / "cases.yaml")]
    failed = {case.expect.rule for case in cases if case.expect.verdict in (Verdict.DENY, Verdict.WARN)}
    assert failed == {f"validations[{index}]" for index in range(len(validations(folder)))}
    assert {case.expect.verdict for case in cases} >= {Verdict.ALLOW, Verdict.SKIP}


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_case_meets_an_expression_that_fails_unless_it_says_so(folder: str) -> None:
    results = [result for given in well_formed(folder) for result in given.results]
    assert [
        result.finding.message for result in results if is_broken(result) and result.finding.verdict is not Verdict.SKIP
    ] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_update_that_changes_nothing_passes(folder: str) -> None:
    """A finalizer that is taken off is an update as well; whoever denied that would keep objects from going away."""
    policies = policies_of(str(home(folder)))
    for given in asked(home(folder) / "cases.yaml"):
        verdicts = {result.finding.verdict for result in ask(unchanged(given.case), policies).results}
        assert not verdicts & {Verdict.DENY, Verdict.WARN, Verdict.ERROR}, given.case.name


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if validations(folder)])
def test_every_message_is_one_sentence_that_says_what_to_do(folder: str) -> None:
    for rule in validations(folder):
        assert rule["messageExpression"]
        assert re.fullmatch(r"[^\n]+[^.\n]\.", rule["message"].strip()), rule["message"]
    denied = [result.finding.message for given in asked(home(folder) / "cases.yaml") for result in given.results if is_no(result)]
    assert [message for message in denied if not re.fullmatch(r"[^\n;]+;[^\n]+\.", message)] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_readme_quotes_what_the_policy_really_says(folder: str) -> None:
    quotes = quoted((home(folder) / "README.md").read_text())
    said = {message for given in asked(home(folder) / "cases.yaml") for message in given.messages}
    assert [quote for quote in quotes if quote not in said] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_leaving_out_any_optional_field_is_no_error(folder: str) -> None:
    policies = policies_of(str(home(folder)))
    for given in well_formed(folder):
        for path, thinner in without_each_field(given.case.object or {}):
            results = ask(replace(given.case, object=thinner), policies).results if given.case.object else ()
            said = [result.finding.message for result in results if is_broken(result)]
            assert said == [], f"{given.case.name}, without {path}"


def well_formed(folder: str) -> list[Asked]:
    """Return the cases whose object is what its API allows; of kinds that the API server does not check it may be otherwise."""
    return [given for given in asked(home(folder) / "cases.yaml") if given.case.expect.verdict is not Verdict.ERROR]


def without_each_field(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield an object once for each field that the API does not require, without that field."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in REQUIRED:
                yield f"{path}.{key}", {name: other for name, other in value.items() if name != key}
            yield from ((place, {**value, key: changed}) for place, changed in without_each_field(inner, f"{path}.{key}"))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            for place, changed in without_each_field(inner, f"{path}[{index}]"):
                yield place, [*value[:index], changed, *value[index + 1 :]]


def unchanged(case: Case) -> Case:
    obj = case.object or case.old_object
    return replace(case, operation=Operation.UPDATE, object=obj, old_object=obj)


def is_no(result: Result) -> bool:
    return result.finding.verdict in (Verdict.DENY, Verdict.WARN)


def is_broken(result: Result) -> bool:
    """Tell whether an expression failed, for another reason than a snapshot that nobody gave (which is skipped)."""
    return result.finding.verdict is not Verdict.SKIP and "resulted in error" in result.finding.message


def quoted(text: str) -> list[str]:
    """Return the block quotes of a README, each as one line."""
    blocks = re.findall(r"(?:^> .*\n)+", text, re.MULTILINE)
    return [" ".join(line.removeprefix("> ") for line in block.splitlines()) for block in blocks]


def changed(given: Asked) -> list[Result]:
    return [result for result in given.results if result.patched is not None]


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if documents(folder)[0]["kind"] == "MutatingAdmissionPolicy"])
def test_what_a_mutation_has_done_it_leaves_alone(folder: str) -> None:
    """The API server may call us twice for one request."""
    policies = policies_of(str(home(folder)))
    once = [(given.case, changed(given)[-1]) for given in asked(home(folder) / "cases.yaml") if changed(given)]
    assert once
    assert [case.name for case, result in once if changed(ask(replace(case, object=result.patched), policies))] == []


def test_a_gang_that_is_made_restart_safe_keeps_all_else() -> None:
    cases = asked(LIBRARY / "disruption/make-restart-safe/cases.yaml")
    paths = {operation["path"] for given in cases for result in changed(given) for operation in result.patch or ()}
    assert {path.split("/spec/")[-1].split("/")[0] for path in paths} == {"podFailurePolicy", "podReplacementPolicy"}
