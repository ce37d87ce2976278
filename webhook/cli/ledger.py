"""Which policies a process has in force, and what came of the last edit: for whoever asks why a verdict is what it is."""

from __future__ import annotations

from datetime import UTC, datetime

from webhook.admission import Endpoint, NamespaceScope, plan_configurations, webhook_needs
from webhook.errors import PolicyError
from webhook.model.objects import Object
from webhook.policies import Kept, PolicyStore, Swap

_ANYWHERE = Endpoint(url="https://localhost")
"""Stands for the address where somebody else keeps the webhook configurations; it is not shown."""
_SHOWN = ("name", "failurePolicy", "rules", "matchConditions", "namespaceSelector")


class PolicyLedger:
    """What ``/debug/policies`` shows. Moments are seconds since the epoch."""

    def __init__(self, store: PolicyStore, endpoint: Endpoint | None, scope: NamespaceScope, *, now: float) -> None:
        self._store, self._endpoint, self._scope = store, endpoint or _ANYWHERE, scope
        self._loaded = self._looked = now
        self._errors: tuple[PolicyError, ...] = ()

    def note(self, swap: Swap, *, now: float) -> None:
        """Note what came of an edit."""
        self._looked = now
        if isinstance(swap, Kept):
            self._errors = swap.errors
        else:
            self._loaded, self._errors = now, ()

    def page(self) -> Object:
        """Return the page as JSON values; no object that was judged, and no param, is on it."""
        policies = self._store.current
        planned = plan_configurations(webhook_needs(policies), self._endpoint, ca_bundle="", scope=self._scope)
        return {
            "apiVersion": "gangwarden.dev/v1alpha1",
            "hash": policies.revision,
            "loaded": _written(self._loaded),
            "files": [{"path": path, "sha256": digest} for path, digest in sorted(policies.files.items())],
            "warnings": list(policies.warnings),
            "lastReload": {
                "at": _written(self._looked),
                "status": "failure" if self._errors else "success",
                "errors": [_error(one) for one in self._errors],
            },
            "webhooks": [{name: hook[name] for name in _SHOWN} for one in planned for hook in one["webhooks"]],
        }


def _error(error: PolicyError) -> Object:
    return {
        "file": error.path,
        "line": error.line,
        "column": error.column,
        "field": error.field,
        "message": error.args[0],
    }


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
