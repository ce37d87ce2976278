"""Write logs as one JSON object a line, those of guest libraries too, or as readable lines for a person.

Tracebacks are written without local variables, which structlog adds by default: an object body would be among them.
"""

from __future__ import annotations

import logging
import sys

import orjson
import structlog

GUESTS_LEVEL = logging.WARNING  # uvicorn and aiohttp tell of each start and each odd request at INFO


def configure_logging(*, json: bool, level: int = logging.INFO, colors: bool = False) -> None:
    """Set up logging of the process on standard error, once, before anything is logged; ``colors`` is for terminals."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    finish: list[structlog.typing.Processor] = [
        structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)
    ]
    if json:
        tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        finish = [structlog.processors.ExceptionRenderer(tracebacks), structlog.processors.JSONRenderer(_dump)]
    structlog.configure(
        processors=[*shared, *finish],
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


def _dump(event: object, **_: object) -> str:
    return orjson.dumps(event, default=str).decode()
