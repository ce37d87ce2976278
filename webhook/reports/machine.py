"""Machine output: stable and versioned."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from webhook.errors import InputError
from webhook.model.results import Result, summary
from webhook.reports.concealing import concealed

API_VERSION = "gangwarden.dev/v1alpha1"


def results_json(results: Sequence[Result], errors: Sequence[InputError] = ()) -> str:
    """Return the document of ``check -o json``; where inputs are broken it has ``errors``, and nothing was judged."""
    document = {
        "apiVersion": API_VERSION,
        "kind": "CheckResult",
        "results": [result.as_json() for result in concealed(results)],
        "summary": summary(results),
    }
    if errors:
        document["errors"] = [{"source": one.source, "line": one.line, "message": str(one.args[0])} for one in errors]
    return json_text(document, indent=2)


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return JSON that can be printed: readable, and escaped only where text holds half of a surrogate pair."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text
