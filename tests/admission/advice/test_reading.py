"""What lint takes for present is there, and what it warns of fails, in the barest object as the API server holds it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.admission.advice.linting import linted, whole
from tests.admission.advice.scenes import SCENES, Scene
from tests.builders import job
from webhook.admission import Asker, ParamIndex, SnapshotWorld, apply_defaults, request_for
from webhook.admission.advice import reading
from webhook.admission.shapes import fields_of, type_of
from webhook.cel import EvaluationError, Program
from webhook.model.objects import Kind, Object
from webhook.model.policies import Expression
from webhook.model.snapshot import EMPTY_SNAPSHOT
from webhook.policies import load_policies
from webhook.rules import Run, Situation

TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "a"}]}}
BARE: dict[str, Object] = {
    "Job": {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": TEMPLATE}},
    "CronJob": {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "a"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}},
    },
    "Pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, **TEMPLATE},
}
GIVEN = {"status"}
"""Offline it stays as it is given."""


def lacking(kind: Kind, type_name: str, value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the fields that a struct lacks although lint takes them for present."""
    for name, field in fields_of(type_name).items():
        if name in GIVEN:
            continue
        if name not in value:
            if not reading._may_be_absent(kind, path, name):
                yield ".".join((*path, name))
        elif field.is_struct and field.around != "{}":
            entries = value[name] if field.around == "[]" else [value[name]]
            around = ("[*]",) if field.around == "[]" else ()
            for entry in entries or ():
                yield from lacking(kind, field.shape, entry, (*path, name, *around))


@pytest.mark.parametrize("name", BARE)
def test_what_is_taken_for_present_is_in_the_barest_object(name: str) -> None:
    held = apply_defaults(BARE[name])
    found = list(lacking(Kind.of(held), type_of(held) or "", held, ()))
    assert found == []


def test_what_the_api_server_fills_in_a_job_is_there() -> None:
    held = apply_defaults(job("a").build())
    assert held["spec"].keys() >= reading._FILLED["Job", ("spec",)]


PLAIN = [scene for scene in SCENES if scene.rule == "absent-field" and "matchConstraints" not in scene.fragment]


@pytest.mark.parametrize("scene", PLAIN, ids=str)
def test_what_lint_warns_of_fails_in_the_barest_object_and_nothing_else_does(scene: Scene, tmp_path: Path) -> None:
    """A Job with parallelism, which then has no completions, and with a deadline, for which one scene has a match condition."""
    (tmp_path / "policy.yaml").write_text(whole(scene.fragment))
    ((policy, _),) = load_policies([tmp_path / "policy.yaml"]).validating
    held = apply_defaults({**BARE["Job"], "spec": {**BARE["Job"]["spec"], "parallelism": 2, "activeDeadlineSeconds": 60}})
    warned = {one.line for one in linted(scene.fragment, tmp_path) if one.rule == scene.rule}
    for validation in policy.validations:
        expression = validation.source.expression
        read = [
            variable.expression for variable in policy.head.source.variables if f"variables.{variable.name}" in expression.text
        ]
        lines = {place for one in (expression, *read) for place in lines_of(one)}
        situation = Situation(
            request=request_for(held, Asker()), world=SnapshotWorld(snapshot=EMPTY_SNAPSHOT, files=ParamIndex())
        )
        assert is_failing(Run(policy.head, situation, None), validation.program) is bool(lines & warned), expression.text


def lines_of(expression: Expression) -> Iterator[int]:
    for number, _ in enumerate(expression.text.split("\n"), 1):
        yield expression.place(number, 1)[0]


def is_failing(run: Run, program: Program) -> bool:
    try:
        run.evaluate(program)
    except EvaluationError as error:
        return error.kind == "no_such_key"
    return False
