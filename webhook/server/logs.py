"""Write logs as one JSON object a line, those of guest libraries too, or as readable lines for a person.

Tracebacks are written without local variables, which structlog adds by default: an object body would be among them.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, TextIO

import orjson
import structlog

_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
_LOG = structlog.get_logger(__name__)
GUESTS_LEVEL = logging.WARNING  # uvicorn and aiohttp tell of each start and each odd request at INFO


def configure_logging(*, json: bool, level: int = logging.INFO, colors: bool = False) -> None:
    """Set up logging of the process on standard error, once, before anything is logged; ``colors`` is for terminals."""
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    _Line.of_process = None
    finish: list[structlog.typing.Processor] = [
        structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)
    ]
    ours: list[structlog.typing.Processor] = [*shared, *finish]
    if json:
        tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        finish = [structlog.processors.ExceptionRenderer(tracebacks), structlog.processors.JSONRenderer(_dump)]
        _Line.of_process = _Line([*shared, *finish], sys.stderr)
        ours = _Line.of_process.processors
    structlog.configure(
        processors=ours,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *finish]
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(GUESTS_LEVEL)


def say(event: str, **fields: Any) -> None:
    """Write a line as ``structlog`` does at level info, without its layers: there is one for each review."""
    line = _Line.of_process
    if line is None or not line.is_in_use():
        _LOG.info(event, **fields)
        return
    fields["event"] = event
    line.out.write(line.rendered(fields, "info"))
    line.out.flush()


class _Line:
    """All of the steps for a line without a traceback at once."""

    of_process: ClassVar[_Line | None] = None
    """What the process was set up with; None: nothing, or text."""

    def __init__(self, steps: Sequence[structlog.typing.Processor], stream: TextIO) -> None:
        self._steps, self.out = steps, stream.buffer
        self.processors: list[structlog.typing.Processor] = [self]

    def __call__(self, logger: Any, name: str, event: structlog.typing.EventDict) -> str:
        """Return the line."""
        if "exc_info" not in event:
            return self.rendered(event, name).decode()[:-1]
        line: Any = event
        for step in self._steps:
            line = step(logger, name, line)
        return str(line)

    def rendered(self, event: structlog.typing.EventDict, level: str) -> bytes:
        """Return the line of an event, with its end."""
        event["level"] = level
        event["timestamp"] = datetime.now(UTC)
        return orjson.dumps(event, default=str, option=_OPTIONS)

    def is_in_use(self) -> bool:
        """Tell whether nobody has put something in its place, as tests do that look at what is logged."""
        return self.processors[0] is self and structlog.is_configured()


def _dump(event: object, **_: object) -> str:
    return orjson.dumps(event, default=str).decode()
