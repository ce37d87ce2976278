"""The CEL variable ``cluster``: a read-only view of the snapshot, from the namespace of the request.

``cluster.group(name)`` is an optional PodGroup in the request's namespace. The methods of later versions are refused
when the policy is loaded. The view never leaves the request's namespace, so no message can tell what lies elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.cel import EvaluationError, HostObject, decode_tagged
from webhook.model.groups import SCHEDULING_GROUP
from webhook.model.objects import ObjectKey
from webhook.model.snapshot import Snapshot

CLUSTER_METHODS: Mapping[str, int] = {"group": 1}
"""What the view offers, with the number of arguments."""
NEEDED_KINDS = frozenset({(SCHEDULING_GROUP, "PodGroup")})
"""Kinds that must be watched where some policy reads ``cluster``."""
UNDECIDED = "undecided"
"""Kind of the evaluation error that means: the snapshot does not hold what the rule asks for."""


class ClusterView(HostObject):
    """``cluster``, as one request may see it."""

    def __init__(self, snapshot: Snapshot, namespace: str) -> None:
        self._snapshot = snapshot
        self._namespace = namespace

    def call(self, method: str, args: tuple[Any, ...]) -> Any:
        """Answer a method; raises EvaluationError of kind ``undecided`` when the kind is not in the snapshot."""
        if method != "group":
            raise EvaluationError(f"no such overload: cluster.{method}", "no_overload")
        (name,) = args
        if not isinstance(name, str):
            raise EvaluationError("no such overload: cluster.group", "no_overload")
        if not self._snapshot.knows(SCHEDULING_GROUP, "PodGroup"):
            raise EvaluationError("cluster.group: PodGroups are not in the snapshot, so this rule cannot be decided", UNDECIDED)
        found = self._snapshot.get(ObjectKey(SCHEDULING_GROUP, "PodGroup", self._namespace, name))
        return decode_tagged({"$optional": [] if found is None else [found]})
