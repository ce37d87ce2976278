"""Every rule of every shipped policy does, in some case, each thing that it can do."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from webhook.cli import main

ROOT = Path(__file__).resolve().parents[2]


def test_the_cases_exercise_every_rule() -> None:
    folders = (str(ROOT / name) for name in ("policies", "policies-optional", "examples"))
    done = CliRunner().invoke(main, ["test", *folders, "--require-full-coverage"])
    assert done.exit_code == 0, done.output
