"""The API server's own code stops what tests/cel/losing.py says that it stops."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path

import pytest

from tests.cel.losing import ABSORBING, LOSING, PANICS, VARIABLES
from tests.controlplane import build
from tests.oracle.asking import ask_theirs

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def oracle() -> Path:
    return build.ensure(["celoracle"]) / "celoracle"


@pytest.mark.parametrize(
    ("losing", "said"), [(LOSING, "operation cancelled: actual cost limit exceeded"), (PANICS, "internal error: ")]
)
def test_the_api_server_has_no_value_for_them_either(oracle: Path, losing: tuple[str, ...], said: str) -> None:
    texts = [absorbing.format(text) for text, absorbing in zip(losing, cycle(ABSORBING), strict=False)]
    texts += [absorbing.format(losing[0]) for absorbing in ABSORBING]
    asked = [{"expr": text, "vars": dict(VARIABLES)} for text in texts]
    answers = [(question["expr"], reply) for question, reply in zip(asked, ask_theirs(oracle, asked), strict=True)]
    assert [f"{text}: {json.dumps(reply)}" for text, reply in answers if not reply.get("error", "").startswith(said)] == []
