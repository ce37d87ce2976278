"""What is kept of an object in memory: the fields that some room reads, and no others.

Of a pod's 7 KB of JSON 60 % is metadata that nobody asks for, most of it managedFields. Equal parts are kept once:
the pods of one Job share their owner references and the like, and strings that repeat are one string.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from sys import getrefcount, intern
from typing import Any, TypeAlias

import orjson

from webhook.model.objects import Object

Tree: TypeAlias = "dict[str, Tree | None]"
"""Fields to keep; None keeps all below. Lists are looked through: the tree is that of their items."""

_METADATA: Tree = dict.fromkeys(
    (
        "name",
        "namespace",
        "uid",
        "labels",
        "ownerReferences",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "resourceVersion",
        "generation",
    )
)
_CONDITIONS: Tree = dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"))
_POD_SPEC = (
    "schedulingGroup",
    "schedulerName",
    "priority",
    "priorityClassName",
    "preemptionPolicy",
    "schedulingGates",
    "nodeName",
    "resourceClaims",
    "containers",
    "initContainers",
    "overhead",
    "resources",
)
_CONTAINERS: Tree = dict.fromkeys(("name", "resources", "restartPolicy"))
_STATUSES: Tree = {
    "name": None,
    "state": {"terminated": dict.fromkeys(("exitCode", "reason", "finishedAt")), "waiting": {"reason": None}},
}
"""How containers ended or why they wait; of those that run nothing is kept, so that all of them share one list."""
TREES: dict[tuple[str, str], Tree] = {
    ("", "Pod"): {
        "metadata": _METADATA,
        "spec": dict.fromkeys(_POD_SPEC) | dict.fromkeys(("containers", "initContainers"), _CONTAINERS),
        "status": {"phase": None, "reason": None, "message": None, "conditions": _CONDITIONS, "containerStatuses": _STATUSES},
    },
    ("", "Node"): {
        "metadata": _METADATA,
        "spec": dict.fromkeys(("unschedulable", "taints")),
        "status": {"allocatable": None, "conditions": _CONDITIONS},
    },
}
"""Kinds of which there are many, or which change often. Of others all but managedFields is kept: Jobs are judged whole
by CEL policies, parameters may be read in any field."""

_UNIQUE = frozenset({"name", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"})
"""Strings that hardly two objects share; interning them would only cost."""
_PER_OBJECT = frozenset({"labels", "annotations"})
"""Mappings that differ a little between the pods of one Job (their completion index): shared value by value."""

_MARK_BYTES = 16
_LEAST_ROOM = 512
"""How many parts may be held before those are looked for that nobody else holds."""
_OURS = 2
"""References to a part that is only held for sharing: the one that holds it, and the one that is counted with."""


class Trimmer:
    """Trims objects; holds the parts that many objects share."""

    def __init__(self, shared_limit: int = 8192) -> None:
        self._shared: OrderedDict[bytes, Any] = OrderedDict()
        self._shared_limit = shared_limit
        self._room = min(_LEAST_ROOM, shared_limit)

    def for_kind(self, group: str, kind: str) -> Callable[[Object], Object]:
        """Return the trim function of a kind."""
        tree = TREES.get((group, kind))
        return without_managed_fields if tree is None else lambda obj: self._trimmed(obj, tree)

    def _trimmed(self, obj: Object, tree: Tree) -> Object:
        return {"apiVersion": intern(obj["apiVersion"]), "kind": intern(obj["kind"])} | self._fields(obj, tree)

    def _fields(self, value: Object, tree: Tree) -> Object:
        return {name: self._part(name, value[name], below) for name, below in tree.items() if name in value}

    def _part(self, name: str, value: Any, tree: Tree | None) -> Any:
        if isinstance(value, str):
            return value if name in _UNIQUE else intern(value)
        if isinstance(value, dict) and tree:
            return self._fields(value, tree)
        if isinstance(value, dict) and name in _PER_OBJECT:
            return {key: intern(item) for key, item in value.items()}
        if isinstance(value, list) and tree:
            return self._once([_item(item, tree) for item in value])
        return self._once(value) if isinstance(value, dict | list) else value

    def _once(self, value: Any) -> Any:
        """Return the first value that was equal to this one: objects in memory are never changed, so they may share."""
        mark = blake2b(orjson.dumps(value), digest_size=_MARK_BYTES).digest()  # the text itself has room for 4 KiB, however short
        found = self._shared.setdefault(mark, value)
        self._shared.move_to_end(mark)
        if len(self._shared) > self._room:
            self._forget()
        return found

    def _forget(self) -> None:
        """Let go of what no object has any more, and of what was wanted longest ago where that leaves too much."""
        for mark in tuple(self._shared):
            if getrefcount(self._shared[mark]) <= _OURS:
                del self._shared[mark]
        while len(self._shared) > self._shared_limit // 2:
            self._shared.popitem(last=False)
        self._room = min(self._shared_limit, max(_LEAST_ROOM, 2 * len(self._shared)))


def _item(item: Object, tree: Tree) -> Object:
    """Return the fields of a list's item; not interned, for equal lists are one object already."""
    return {name: _below(item[name], below) for name, below in tree.items() if name in item}


def _below(value: Any, tree: Tree | None) -> Any:
    return _item(value, tree) if tree and isinstance(value, dict) else value


def without_managed_fields(obj: Object) -> Object:
    """Return an object without the field that is often the largest and that no policy can use."""
    return obj | {"metadata": {key: value for key, value in obj["metadata"].items() if key != "managedFields"}}
