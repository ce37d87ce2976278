"""What lint takes for present is there, in the barest object as the API server holds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import job
from webhook.admission import apply_defaults
from webhook.admission.advice import reading
from webhook.admission.shapes import fields_of, type_of
from webhook.model.objects import Kind, Object

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
