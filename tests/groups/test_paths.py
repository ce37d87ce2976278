"""Reading and replacing at a path, through lists, past whatever is missing."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.groups.paths import read_path, replace_at

OBJ = {
    "spec": {
        "template": {"a": 1},
        "jobs": [{"name": "x", "t": {"a": 1}}, {"name": "y"}, "odd"],
        "none": None,
        "roles": {"x": {"a": 1}, "y": {"a": 2}},
    }
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("spec.template.a", (1,)),
        ("spec.template", ({"a": 1},)),
        ("spec.jobs[*].name", ("x", "y")),
        ("spec.jobs[*].t.a", (1,)),
        ("spec.jobs[1].name", ("y",)),
        ("spec.jobs[7].name", ()),
        ("spec.roles[*].a", (1, 2)),
        ("spec.none", (None,)),
        ("spec.none.a", ()),
        ("spec.template[*].a", ()),
        ("spec.missing.a", ()),
    ],
)
def test_every_value_at_a_path_is_read(path: str, found: tuple[Any, ...]) -> None:
    assert read_path(OBJ, path) == found


@pytest.mark.parametrize(
    ("path", "part", "value"),
    [
        pytest.param("spec.template.a", "template", {"a": 2}, id="a value"),
        pytest.param("spec.template.b", "template", {"a": 1, "b": 2}, id="a missing last step is made"),
        pytest.param("spec.jobs[*].t", "jobs", [{"name": "x", "t": 2}, {"name": "y", "t": 2}, "odd"], id="every entry of a list"),
        pytest.param(
            "spec.jobs[1].t", "jobs", [{"name": "x", "t": {"a": 1}}, {"name": "y", "t": 2}, "odd"], id="one entry of a list"
        ),
        pytest.param("spec.roles[*].a", "roles", {"x": {"a": 2}, "y": {"a": 2}}, id="every value of a mapping"),
        pytest.param("spec.missing.a", "missing", None, id="a missing step before it is not"),
        pytest.param("spec.none.a", "none", None, id="nothing is put into null"),
    ],
)
def test_a_copy_is_changed_at(path: str, part: str, value: Any) -> None:
    changed = replace_at(OBJ, path, lambda _: 2)
    assert changed["spec"].get(part) == value
    assert OBJ["spec"]["template"] == {"a": 1}


def test_what_is_not_on_the_path_is_shared_and_the_old_value_is_handed_in() -> None:
    changed = replace_at(OBJ, "spec.template.a", lambda old: old + 1)
    assert changed["spec"]["template"] == {"a": 2}
    assert changed["spec"]["jobs"] is OBJ["spec"]["jobs"]
