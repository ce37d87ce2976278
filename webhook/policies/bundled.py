"""Where the shipped data lies: beside the code in a checkout, inside the package in a wheel."""

from __future__ import annotations

from pathlib import Path

import webhook

_PACKAGE = Path(webhook.__file__).resolve().parent


def bundled_policies() -> Path:
    """Return the folder of the shipped policies."""
    return _bundled("policies")


def bundled_profile() -> Path:
    """Return the file with the shipped certificate profile."""
    return _bundled("certs/profile.yaml")


def _bundled(name: str) -> Path:
    inside = _PACKAGE / "_bundled" / name
    return inside if inside.exists() else _PACKAGE.parent / name
