"""The tutorial, run command by command: what stands under a command is what a reader sees."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.client import wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.plan import MANAGED
from tests.docs.pages import Block
from tests.docs.transcripts import shows, steps
from tests.e2e.installation import Installation

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs/tutorial.md"
SCENE_SECONDS = 90.0


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """What a reader has after ``make cluster``: a checkout (here a copy of its data) and the second terminal's environment."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("policies", "docs"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / ".venv").mkdir()
    (folder / ".venv/bin").symlink_to(Path(sys.executable).parent)
    with ControlPlane(gates=MANAGED) as cluster:
        installed = Installation(cluster, folder / "policies", tmp_path_factory.mktemp("installed"))
        try:
            installed.start_webhook()
            installed.start_controller()
            installed.wait_for_leader()
            path = f"{cluster.bin_dir}:{os.environ['PATH']}"
            yield folder, {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "PATH": path, "HOME": str(folder)}
        finally:
            installed.close()


@pytest.mark.timeout(600)
def test_the_tutorial_shows_what_its_reader_sees(desk: tuple[Path, dict[str, str]]) -> None:
    folder, environment = desk

    def run(block: Block) -> str:
        done = subprocess.run(
            ["bash", "-c", block.text], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        return done.stdout + done.stderr

    for block, output in steps(TUTORIAL):
        if output is None:
            run(block)
        elif is_question(block):
            wait_for(lambda block=block, output=output: shows(run(block), output), seconds=SCENE_SECONDS, what=f"{output}")
        else:
            said = run(block)
            assert shows(said, output), f"{block}: {said}"


def is_question(block: Block) -> bool:
    """Tell whether a block may be run again until its answer has come."""
    return re.match(r"kubectl (-n \S+ )?(get|describe) |kubectl create --dry-run=server -f", block.text) is not None
