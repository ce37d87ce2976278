"""Fuzz in a process of its own, and say what came of it: the input that broke something is in the message, ready to be kept."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.security.fuzz import engine

ROOT = Path(__file__).resolve().parents[3]
GRACE_SECONDS = 600
"""How much longer than asked a run may take in all: instruments are put in first, which takes its time on a busy machine."""


def inputs_tried(target: str, folder: Path, *, seconds: int, seed: int, runs: int = -1) -> int:
    """Fuzz for so many seconds, or inputs, and return how many were tried; AssertionError with the one that broke something."""
    folder.mkdir(parents=True)
    asked = [target, "--seconds", str(seconds), "--runs", str(runs), "--seed", str(seed), "--work", str(folder)]
    log = folder / "log"
    environment = os.environ | {"PYTHONHASHSEED": "0"}  # one seed tries the same inputs again, as far as the time goes
    command = [sys.executable, "-m", "tests.security.fuzz", *asked]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            code = process.wait(seconds + GRACE_SECONDS)
        finally:
            process.kill()
            process.wait()
    text = log.read_text(errors="replace")
    assert code == 0, _told(target, folder, code, text)
    (tried,) = re.findall(r"^stat::number_of_executed_units: (\d+)$", text, re.MULTILINE)
    return int(tried)


def _told(target: str, folder: Path, code: int, text: str) -> str:
    data = engine.last_input(folder)
    name = f"tests/security/corpus/{target}/broke-{hashlib.sha256(data).hexdigest()[:8]}"
    kept = base64.b64encode(data).decode()
    return f"{target} ended with {code}:\n{text[-6000:]}\nkeep the input with: echo {kept} | base64 -d > {name}"
