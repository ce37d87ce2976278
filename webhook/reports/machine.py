"""Machine output: stable and versioned."""

from __future__ import annotations

import json
from collections.abc import Sequence

from webhook.model.results import Result, summary

API_VERSION = "gangwarden.dev/v1alpha1"


def results_json(results: Sequence[Result]) -> str:
    """Return the document of ``check -o json``."""
    document = {
        "apiVersion": API_VERSION,
        "kind": "CheckResult",
        "results": [result.as_json() for result in results],
        "summary": summary(results),
    }
    return json.dumps(document, indent=2, ensure_ascii=False)
