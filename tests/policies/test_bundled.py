"""The shipped policies load, wherever the package lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook.policies import bundled, bundled_policies, load_policies


def test_the_shipped_policies_are_found_and_load() -> None:
    policies = load_policies([bundled_policies()])
    assert policies.workload
    assert policies.warnings == ()


def test_a_wheel_carries_them_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "webhook" / "_bundled" / "policies").mkdir(parents=True)
    monkeypatch.setattr(bundled, "_PACKAGE", tmp_path / "webhook")
    assert bundled_policies() == tmp_path / "webhook" / "_bundled" / "policies"
