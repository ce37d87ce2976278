"""Logs as a collector reads them: every line a JSON object, also those of guest libraries, also those of failures."""

import json
import re
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


SAYING = """
import json, sys
import structlog
from structlog.testing import capture_logs
from webhook.server import configure_logging
from webhook.server.logs import say
configure_logging(json=sys.argv[1] == "json")
fields = {"uid": "u-1", "name": "a\\nb", "ms": 1.5, "policies": ["p:deny"], "odd": {1}}
structlog.get_logger("ours").info("review", **fields)
say("review", **fields)
with capture_logs() as kept:
    say("review", **fields)
say("review", **fields)
print(kept == [{"event": "review", "log_level": "info", **fields}])
"""


@pytest.mark.parametrize("kind", ["json", "text"])
def test_what_is_said_without_the_layers_of_a_logger_is_the_same(kind: str) -> None:
    done = subprocess.run([sys.executable, "-c", SAYING, kind], capture_output=True, text=True, check=True, timeout=60)
    lines = [re.sub(r"20\d\d-\d\d-\d\d.\d\d:\d\d:\d\d(\.\d{6})?Z?", "NOW", line) for line in done.stderr.splitlines()]
    assert len(lines) == 3
    assert len(set(lines)) == 1
    assert "NOW" in lines[0]
    assert done.stdout == "True\n"


@pytest.mark.parametrize("word", ["review", "uid=u-1", "theirs 1", "oops"])
def test_a_person_gets_lines_to_read(word: str) -> None:
    assert word in run("text").stderr
