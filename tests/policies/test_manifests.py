"""Manifests to be judged, and the errors of their owners."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import job
from tests.policies.writing import yaml_of
from webhook.errors import InputError
from webhook.policies import load_manifests

JOB = job().build()


def test_manifests_carry_file_and_document(tmp_path: Path) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_text("---\n# nothing\n" + yaml_of(JOB, {"apiVersion": "v1", "kind": "List", "items": [JOB, job("b").build()]}))
    found = list(load_manifests([tmp_path]))
    assert [(m.source, m.object["metadata"]["name"], m.line) for m in found] == [
        (f"{path}#1", "train", 4), (f"{path}#2[0]", "train", 6), (f"{path}#2[1]", "b", 6),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "#0:2: not YAML"),
        ("apiVersion: v1\nkind: Pod\n---\n\t- x", "#1:4: a tab stands where YAML wants spaces"),
        ("apiVersion: v1\nkind: Pod\n---\napiVersion: v1\n", "#1:4: kind: required"),
        ("- a", "#0:1: must be a mapping, not a list"),
        ("apiVersion: v1\nkind: 7", "#0:2: kind: must be text, not a number (7)"),
    ],
)
def test_what_is_no_manifest_is_told_with_file_and_document(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        list(load_manifests([path]))
    assert str(raised.value).startswith(f"{path}{message}")


def test_a_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file or folder"):
        list(load_manifests([tmp_path / "gone"]))
