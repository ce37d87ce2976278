"""Helm as the tests of the chart call it: only rendering and linting, no cluster."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
import yaml

from tests.controlplane import build
from webhook.model.objects import Object

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts/gangwarden"
NAMESPACE = "gangwarden-system"
PATIENCE = 60.0  # seconds until Helm gives up
_SERVED = ("--kube-version", "1.37.2", "--api-versions", "scheduling.k8s.io/v1beta1/PodGroup")


def helm(*arguments: str | Path, values: Object | None = None) -> subprocess.CompletedProcess[str]:
    """Run Helm; the test is skipped where it was not built."""
    program = build.cache_dir() / "bin/helm"
    if not program.exists():
        pytest.skip("helm is not built: make controlplane")
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "values.json"
        file.write_text(json.dumps(values or {}))
        return subprocess.run(
            [program, *arguments, "--values", file],
            env={"HOME": home, "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


def render(values: Object | None = None, *, release: str = "gangwarden", namespace: str = NAMESPACE) -> list[Object]:
    """Return every object of the chart; an error of Helm fails the test with its words."""
    done = helm("template", release, CHART, "--namespace", namespace, *_SERVED, values=values)
    assert done.returncode == 0, done.stderr
    return [doc for doc in yaml.safe_load_all(done.stdout) if doc]


def refusal(values: Object) -> str:
    """Return what Helm says of values that it must not take."""
    done = helm("template", "gangwarden", CHART, "--namespace", NAMESPACE, *_SERVED, values=values)
    assert done.returncode != 0, "Helm took them"
    return done.stderr


def named(objects: list[Object], kind: str, name: str, namespace: str | None = None) -> Object:
    """Return one object."""
    found = [
        one
        for one in objects
        if (one["kind"], one["metadata"]["name"]) == (kind, name)
        and (namespace is None or one["metadata"].get("namespace") == namespace)
    ]
    assert len(found) == 1, f"{kind} {name}: {[(one['kind'], one['metadata']['name']) for one in objects]}"
    return found[0]


def pod_specs(objects: list[Object]) -> dict[str, Object]:
    """Return the spec of the pods of each Deployment and Job, by its name."""
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in objects if one["kind"] in ("Deployment", "Job")}
