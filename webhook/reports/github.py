"""Annotations of a GitHub workflow: one workflow command per finding, which GitHub shows beside the line.

Escapes as in github.com/actions/toolkit, packages/core/src/command.ts: a text that starts a command of its own would
otherwise be carried out by the runner, and messages hold names that strangers chose.
"""

from __future__ import annotations

from collections.abc import Iterable

from webhook.model.diagnostics import Diagnostic, Level

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def github_annotations(diagnostics: Iterable[Diagnostic]) -> str:
    """Return one line per diagnostic, without a line break at the end; GitHub shows the first ten of each level in a step."""
    # The name of a file need not be UTF-8; a report that cannot be printed would be lost with all that is in it.
    return "\n".join(map(_command, diagnostics)).encode(errors="replace").decode()


def _command(found: Diagnostic) -> str:
    properties = {"file": found.file, "line": found.line, "col": found.column if found.line else 0, "title": _title(found)}
    written = ",".join(f"{name}={str(value).translate(_PROPERTY)}" for name, value in properties.items() if value)
    return f"::{_COMMANDS[found.level]} {written}::{found.message.translate(_DATA)}"


def _title(found: Diagnostic) -> str:
    return f"{found.rule}: {found.subject}" if found.subject and found.subject != found.rule else found.rule
