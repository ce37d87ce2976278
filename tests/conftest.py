"""Fixtures that every folder of tests may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("unhurried", deadline=None)  # a busy machine is no finding; a flag may ask for another profile
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Return the folder of corpora beside the repository, or skip: a bare clone does not carry them."""
    found = Path(os.environ.get("GANGWARDEN_SHARED", "") or Path(__file__).resolve().parents[2] / "shared")
    if not (found / "corpora").is_dir():
        pytest.skip(f"no corpora at {found}; set GANGWARDEN_SHARED to run this test")
    return found
