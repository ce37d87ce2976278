"""The committed schemas are what the command prints."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tests.docs.generate import schema_files
from tests.docs.pages import ROOT
from webhook.cli import main
from webhook.policies import SCHEMA_KINDS

FOLDER = ROOT / "docs/schemas"


def printed(*kind: str) -> object:
    return json.loads(CliRunner().invoke(main, ["schema", *kind]).stdout)


def test_the_folder_holds_what_is_generated_and_nothing_else() -> None:
    wanted = schema_files()
    assert {path.name for path in FOLDER.iterdir()} == {path.name for path in wanted}
    assert [path.name for path, text in wanted.items() if path.read_text() != text] == [], "run: python -m tests.docs.generate"


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_the_command_prints_the_schema_of_a_kind_however_it_is_spelt(kind: str) -> None:
    for written in (kind, kind.lower()):
        assert printed(written) == json.loads((FOLDER / f"{kind.lower()}.json").read_text())


def test_the_command_prints_one_schema_for_all() -> None:
    assert printed() == json.loads((FOLDER / "gangwarden.json").read_text())
    assert CliRunner().invoke(main, ["schema", "Job"]).exit_code == 2
