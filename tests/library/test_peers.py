"""Manifests of other gang systems, labelled as gangs: attached, refused, warned of or left alone, as the table says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from webhook.cli.app import main

TABLE: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load((Path(__file__).parent / "peers.yaml").read_text())
LABELS = {"gangwarden.dev/gang": "true"}
NO_WORKLOADS = {"HyperNode", "Queue", "PodGroup", "TrainingRuntime", "ResourceClaimTemplate"}


@pytest.fixture
def peers(shared_dir: Path) -> Path:
    return shared_dir / "reference" / "peer-manifests"


def test_the_table_has_every_manifest(peers: Path) -> None:
    assert sorted(path.name for path in peers.glob("*.yaml")) == sorted(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_a_manifest_of_another_system_becomes(name: str, peers: Path, tmp_path: Path) -> None:
    given = [document for document in yaml.safe_load_all((peers / name).read_text()) if document]
    for document in given:
        if document["kind"] not in NO_WORKLOADS:
            document["metadata"].setdefault("labels", {}).update(LABELS)
    manifest = tmp_path / name
    manifest.write_text(yaml.safe_dump_all(given))
    done = CliRunner().invoke(main, ["check", str(manifest), "-o", "json"])
    assert done.exit_code in (0, 1), done.output
    found = outcomes(json.loads(done.stdout)["results"])
    assert found == {key: (row["outcome"], row.get("by", [])) for key, row in TABLE[name].items()}


def outcomes(results: list[dict[str, Any]]) -> dict[str, tuple[str, list[str]]]:
    objects: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        objects.setdefault(f"{result['object']['kind']}/{result['object']['name']}", []).append(result)
    return {key: _outcome(rows) for key, rows in objects.items()}


def _outcome(rows: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """Return what becomes of one object, and who refuses or warns; warnings beside something worse are left out."""
    for verdict, outcome in (("error", "error"), ("deny", "refused")):
        if any(row["verdict"] == verdict for row in rows):
            return outcome, _named(rows, verdict)
    if any(row.get("creates") for row in rows):
        return "attached", []
    warned = _named(rows, "warn")
    return ("warned", warned) if warned else ("left", [])


def _named(rows: list[dict[str, Any]], verdict: str) -> list[str]:
    return sorted({row["policy"].partition(".")[0] for row in rows if row["verdict"] == verdict})
