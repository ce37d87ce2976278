"""What a tool for authors says about a place in a file: an error, advice, a failed case. Formats of CI systems are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is. Errors fail a run; warnings do where the caller asked for it; notes never do."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One thing that was found. Lines and columns count from 1, in characters; 0 where there is none."""

    level: Level
    rule: str
    """Stable, kebab-case name of what was looked for, such as ``absent-field``; the key of its documentation."""
    message: str
    """What is wrong and what to do, in plain sentences."""
    file: str
    line: int = 0
    column: int = 0
    subject: str = ""
    """The policy, case or object it is about."""
