"""The page on exceptions, followed from top to bottom: what stands under a command is what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, blocks_of, first_cells, section
from webhook.admission import exceptions_of
from webhook.policies import load_policies

PAGE = ROOT / "docs/exceptions.md"
BLOCKS = list(blocks_of(PAGE))
FILE = "file: "


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shipped policies and every file that the page shows."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "policies").symlink_to(ROOT / "policies")
    for block in BLOCKS:
        if block.claim.startswith(FILE):
            path = folder / block.claim.removeprefix(FILE)
            path.parent.mkdir(exist_ok=True)
            path.write_text(block.text)
    return folder


def commands() -> list[tuple[Block, str]]:
    """Return each command with what the page says it prints."""
    pairs = pairwise((*BLOCKS, Block(PAGE, 0, "", "")))
    return [(block, after.text if after.language == "text" else "") for block, after in pairs if block.language == "sh"]


@pytest.mark.parametrize(("command", "wanted"), commands(), ids=str)
def test_a_command_prints_what_the_page_shows(command: Block, wanted: str, desk: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command.text],
        cwd=desk,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    printed = iter((done.stdout + done.stderr).splitlines())
    for line in filter(None, wanted.splitlines()):
        pattern = ".*".join(map(re.escape, line.strip().split("…")))
        assert any(re.fullmatch(pattern, said.strip()) for said in printed), f"{line}\n{done.stdout}{done.stderr}"
    assert done.returncode == ("1 deny" in wanted)


def test_the_exception_that_records_its_rule_loads_with_its_policy(tmp_path: Path) -> None:
    (block,) = [block for block in BLOCKS if block.claim == "exception, with its policy"]
    (tmp_path / "p.yaml").write_text(block.text)
    (found,) = exceptions_of(load_policies([tmp_path / "p.yaml"]))
    assert found.source.rules[0].expression


def test_every_metric_that_the_page_names_is_one() -> None:
    named = set(re.findall(r"`(gangwarden_\w+)", section(PAGE, "Who sees it")))
    assert named
    assert named <= set(first_cells((ROOT / "docs/reference/metrics.md").read_text()))
