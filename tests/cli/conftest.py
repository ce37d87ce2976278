"""The command line in-process, and files for it to read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner, Result

from tests.cluster.conftest import api, connection, fake  # noqa: F401 - a fake API server, for commands that speak with one
from tests.policies.writing import text_of
from webhook.cli import main
from webhook.model.objects import Object

Gangwarden = Callable[..., Result]
Write = Callable[..., str]


@pytest.fixture(autouse=True)
def own_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command sets up the logging of its process; here that is the process of all tests, so it is undone."""
    configure, root = structlog.configure, logging.getLogger()
    handlers, level = root.handlers[:], root.level
    monkeypatch.setattr("webhook.server.logs._Line.of_process", None)
    monkeypatch.setattr(structlog, "configure", lambda **how: configure(**how | {"cache_logger_on_first_use": False}))
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def gangwarden() -> Gangwarden:
    """Run a command line; a traceback is a failure of the test, whatever was expected."""

    def run(*args: str | Path, stdin: str | bytes = "") -> Result:
        result = CliRunner().invoke(main, [str(arg) for arg in args], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write documents, or text, to a file of the current folder and return its name."""
    monkeypatch.chdir(tmp_path)

    def written(name: str, *documents: Object | str) -> str:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text_of(*documents), encoding="utf-8")
        return name

    return written
