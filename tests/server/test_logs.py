"""Logs as a collector reads them: every line a JSON object, also those of guest libraries, also those of failures."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import logging, sys
import structlog
from webhook.server import configure_logging
configure_logging(json=sys.argv[1] == "json")
structlog.get_logger("ours").info("review", uid="u-1", name="a\\nb", ms=1.5, policies=["p:deny"])
structlog.get_logger("ours").debug("silent")
logging.getLogger("uvicorn.error").warning("theirs %s", 1)
logging.getLogger("uvicorn.error").info("silent")
try:
    body = {"s3cret": 1}
    raise ValueError("oops")
except ValueError:
    logging.getLogger("asyncio").exception("failed")
print("nothing else goes to standard output")
"""


def run(kind: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", SCRIPT, kind], capture_output=True, text=True, check=True, timeout=60)


def test_every_line_is_an_object() -> None:
    done = run("json")
    ours, theirs, failed = (json.loads(line) for line in done.stderr.splitlines())
    assert (ours["event"], ours["name"], ours["ms"], ours["level"]) == ("review", "a\nb", 1.5, "info")
    assert (theirs["event"], theirs["level"]) == ("theirs 1", "warning")
    assert (failed["event"], failed["level"]) == ("failed", "error")
    assert done.stdout == "nothing else goes to standard output\n"


@pytest.mark.parametrize("kind", ["json", "text"])
def test_a_traceback_shows_no_values(kind: str) -> None:
    assert "ValueError" in run(kind).stderr
    assert "s3cret" not in run(kind).stderr


@pytest.mark.parametrize("word", ["review", "uid=u-1", "theirs 1", "oops"])
def test_a_person_gets_lines_to_read(word: str) -> None:
    assert word in run("text").stderr
