"""SARIF 2.1.0, which code scanning of GitHub, GitLab and Azure reads (docs.oasis-open.org/sarif/sarif/v2.1.0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from webhook.model.diagnostics import Diagnostic
from webhook.reports.machine import json_text

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_VERSION = "2.1.0"


def sarif_json(diagnostics: Sequence[Diagnostic], rules: Mapping[str, str] | None = None) -> str:
    """Return a log of one run. ``rules`` says in a sentence what a rule looks for; rules without one stand by name only."""
    told = dict(rules or {})
    names = list(dict.fromkeys((*told, *(found.rule for found in diagnostics))))
    driver = {"name": "gangwarden", "semanticVersion": version("gangwarden"), "rules": [_rule(name, told) for name in names]}
    places = {name: index for index, name in enumerate(names)}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(found, places[found.rule]) for found in diagnostics],
    }
    return json_text({"$schema": _SCHEMA, "version": _VERSION, "runs": [run]}, indent=2)


def _rule(name: str, told: Mapping[str, str]) -> dict[str, Any]:
    return {"id": name, "shortDescription": {"text": told[name]}} if told.get(name) else {"id": name}


def _result(found: Diagnostic, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": found.rule,
        "ruleIndex": index,
        "level": found.level.value,
        "message": {"text": found.message or found.rule},
    }
    location: dict[str, Any] = {}
    if found.file:
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(found.file)}, **_region(found)}
    if found.subject:
        location["logicalLocations"] = [{"fullyQualifiedName": found.subject}]
    return {**result, "locations": [location]} if location else result


def _region(found: Diagnostic) -> dict[str, Any]:
    if not found.line:
        return {}
    return {"region": {"startLine": found.line, **({"startColumn": found.column} if found.column else {})}}


def _uri(file: str) -> str:
    """Return a URI reference: relative paths stay relative, so that they fit the checkout of whoever reads the log."""
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(bytes(path))  # a name on disk may be no UTF-8
