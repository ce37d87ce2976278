"""The tutorial about policies, from an empty folder: each command is run, and what stands under it is what it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.transcripts import shows, steps

TUTORIAL = ROOT / "docs/tutorial-policies.md"


@pytest.mark.timeout(300)
def test_the_tutorial_shows_what_its_reader_sees(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for block, output in steps(TUTORIAL):
        done = subprocess.run(
            ["bash", "-c", block.text],
            cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        said = done.stdout + done.stderr
        if output is None:
            assert (done.returncode, said) == (0, ""), f"{block}: {said}"
        else:
            assert shows(said, output), f"{block}: {said}"


def test_every_command_that_prints_is_followed_by_what_it_prints() -> None:
    bare = [block for block, output in steps(TUTORIAL) if output is None]
    assert [str(block) for block in bare if "gangwarden " in block.text.replace("gangwarden.dev", "")] == []
