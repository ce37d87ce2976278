"""What ``/debug/policies`` shows: what is in force, where it comes from, and what was wrong with the last edit."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.conftest import Write
from tests.policies.writing import binding, validating
from webhook.admission import NamespaceScope
from webhook.cli.ledger import PolicyLedger
from webhook.policies import PolicyStore, PolicyWatcher, Swap, load_policies
from webhook.settings import ReloadSettings

SETTINGS = ReloadSettings(settle_seconds=0.0)


@pytest.fixture
def folder(write: Write) -> Path:
    return Path(write("policies/p.yaml", validating(), binding())).parent


async def edited(folder: Path, text: str | None = None) -> tuple[PolicyLedger, str]:
    """Return the ledger of policies loaded at 0 and, with a text, edited at 60; and the revision at the begin."""
    store = PolicyStore(load_policies([folder]))
    revision = store.current.revision
    ledger = PolicyLedger(store, None, NamespaceScope(excluded=("infra",)), now=0.0)
    if text is not None:
        (folder / "p.yaml").write_text(text)
        seen: list[Swap] = []
        await PolicyWatcher([folder], store, settings=SETTINGS, told=seen.append).check()
        ledger.note(seen[0], now=60.0)
    return ledger, revision


async def test_what_is_in_force_is_told_with_its_files_and_what_is_sent_for_it(folder: Path) -> None:
    ledger, revision = await edited(folder)
    page: Any = json.loads(orjson.dumps(ledger.page()))
    content = (folder / "p.yaml").read_bytes()
    assert page["hash"] == revision
    assert page["loaded"] == "1970-01-01T00:00:00.000Z"
    assert page["files"] == [{"path": str(folder / "p.yaml"), "sha256": hashlib.sha256(content).hexdigest()}]
    assert page["lastReload"] == {"at": "1970-01-01T00:00:00.000Z", "status": "success", "errors": []}
    (hook,) = page["webhooks"]
    assert (hook["name"], hook["failurePolicy"], hook["rules"][0]["resources"]) == (
        "fail.validate.gangwarden.dev",
        "Fail",
        ["jobs"],
    )
    assert hook["namespaceSelector"]["matchExpressions"][0]["values"] == ["gangwarden-system", "infra", "kube-system"]


async def test_a_broken_edit_is_told_with_its_place_and_what_was_before_stays(folder: Path) -> None:
    broken = (folder / "p.yaml").read_text().replace('"validations"', '"validatons"')
    ledger, revision = await edited(folder, broken)
    page = ledger.page()
    assert (page["hash"], page["loaded"]) == (revision, "1970-01-01T00:00:00.000Z")
    assert (page["lastReload"]["at"], page["lastReload"]["status"]) == ("1970-01-01T00:01:00.000Z", "failure")
    error = page["lastReload"]["errors"][0]
    assert error["file"] == str(folder / "p.yaml")
    assert error["line"] > 0
    assert (error["field"], "validations" in error["message"]) == ("spec.validations", True)


async def test_a_good_edit_takes_the_errors_away(folder: Path) -> None:
    good = (folder / "p.yaml").read_text()
    ledger, revision = await edited(folder, good + "\n# a comment\n")
    page = ledger.page()
    assert page["hash"] != revision
    assert (page["loaded"], page["lastReload"]["errors"]) == ("1970-01-01T00:01:00.000Z", [])
