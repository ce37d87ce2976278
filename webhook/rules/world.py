"""What rules may ask about the world around a request, and the situation in which they are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from webhook.cel import HostObject
from webhook.model.access import Authorizer
from webhook.model.objects import Object
from webhook.model.policies import LabelSelector, ParamKind
from webhook.model.requests import AdmissionRequest
from webhook.settings import EvaluationSettings


class World(Protocol):
    """Namespaces and params, from the files, a snapshot or the informers' cache; never from the network."""

    def namespace(self, name: str) -> Object | None:
        """Return a Namespace, or None when it is not known."""

    def params(self, kind: ParamKind, namespace: str, *, name: str | None, selector: LabelSelector | None) -> Sequence[Object]:
        """Return the params in one namespace (empty: cluster-scoped) by name or by selector, ordered by name."""

    def is_namespaced(self, kind: ParamKind) -> bool | None:
        """Tell whether params of this kind live in namespaces; None when nothing is known of the kind."""


def never() -> bool:
    """Say that no deadline applies."""
    return False


@dataclass(slots=True, kw_only=True)
class Situation:
    """One request, and everything that rules may look at while they judge it. Never changed, nor frozen: see AdmissionRequest."""

    request: AdmissionRequest
    world: World
    cluster: HostObject | None = None
    """The CEL variable ``cluster``; None where no snapshot is at hand."""
    authorizer: Authorizer | None = None
    """Who answers the CEL variable ``authorizer``; None where nobody is at hand."""
    limits: EvaluationSettings = field(default_factory=EvaluationSettings)
    expired: Callable[[], bool] = never
    """Tells whether the deadline of the whole review has passed."""
    now: datetime | None = None
    """The moment, with its time zone, at which exceptions are valid or expired; None: none of them applies."""
    skip_undecided: bool = False
    """True offline: a rule that needs a snapshot nobody gave is skipped, loudly. False in a cluster, where it follows
    the failurePolicy like any other rule that cannot be evaluated."""

    def of(self, obj: Object) -> Situation:
        """Return the same situation about another object: what a later policy sees after an earlier one changed it."""
        return replace(self, request=self.request.with_object(obj))


def bare_namespace(name: str) -> Object:
    """Build the Namespace that offline commands assume: active, with the label that the API server always sets."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
