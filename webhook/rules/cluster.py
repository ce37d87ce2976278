"""The CEL variable ``cluster``: a read-only view of the snapshot, from the namespace of the request.

Objects in namespaces come from the request's own, so no message can tell what lies elsewhere; a missing object is an empty
optional. What the snapshot does not hold is undecided, never absent: a rule that asks for it is skipped offline, loudly, and
follows its failurePolicy in a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from webhook.cel import EvaluationError, HostObject, decode_tagged
from webhook.model.groups import SCHEDULING_GROUP, Capabilities
from webhook.model.objects import Object, ObjectKey, controller_of, metadata_of
from webhook.model.ownership import controllers_above
from webhook.model.snapshot import Snapshot

Place = tuple[str, str]
"""Group and kind."""

UNDECIDED = "undecided"
"""Kind of the evaluation error that means: the snapshot does not hold what the rule asks for."""
COUNT_LIMIT = 100_000
"""Most pods that may be asked about at once; Kubernetes' own limit on a Job's parallelism is the same."""

_GROUP, _DEVICES = SCHEDULING_GROUP, "resource.k8s.io"
_NAMED: Mapping[str, tuple[Place, bool]] = MappingProxyType(
    {
        "group": ((_GROUP, "PodGroup"), True),
        "priorityClass": ((_GROUP, "PriorityClass"), False),
        "resourceClaim": ((_DEVICES, "ResourceClaim"), True),
        "resourceClaimTemplate": ((_DEVICES, "ResourceClaimTemplate"), True),
        "deviceClass": ((_DEVICES, "DeviceClass"), False),
    }
)
"""Methods that return an object by name: its kind, and whether it lives in a namespace."""
_ROOM: tuple[Place, ...] = (("", "Node"), ("", "Pod"))
_QUOTA: Place = ("", "ResourceQuota")
_CAPABILITIES: Mapping[str, str] = MappingProxyType(
    {
        "GenericWorkload": "group_objects",
        "WorkloadWithJob": "native_jobs",
        "TopologyAwareWorkloadScheduling": "topology",
        "DRAWorkloadResourceClaims": "shared_claims",
        "PodGroupPreemptionPolicy": "preemption_policy",
        "CompositePodGroup": "composite_groups",
    }
)

CLUSTER_METHODS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    dict.fromkeys(_NAMED, (1,))
    | {"topology": (1,), "fit": (2, 3), "quotas": (0,), "capability": (1,), "ageSeconds": (0,)}
    | {"controllers": (1,)}
)
"""What the view offers, with the numbers of arguments."""
NEEDED_KINDS: Mapping[str, frozenset[Place]] = MappingProxyType(
    {name: frozenset({place}) for name, (place, _) in _NAMED.items()}
    | {"topology": frozenset(_ROOM), "fit": frozenset(_ROOM), "quotas": frozenset({_QUOTA})}
)
"""By method the kinds that must be watched where some policy calls it."""


class Room(Protocol):
    """Whoever counts what the nodes hold."""

    def domains(self, key: str) -> list[Object]:
        """Describe the domains of a topology key: name, nodes, allocatable, free."""

    def fit(self, pod_spec: Object, count: int, key: str) -> Object:
        """Say whether so many pods of this shape have room in one domain.

        With ``fits``, ``largest``, ``domain``, ``reason``; the same below ``whenEmpty``; ``notModelled``.
        """


class ClusterView(HostObject):
    """``cluster``, as one request may see it."""

    def __init__(
        self,
        snapshot: Snapshot,
        namespace: str,
        *,
        room: Room | None = None,
        capabilities: Capabilities | None = None,
        age_seconds: Callable[[], float] = float,
    ) -> None:
        self._snapshot, self._namespace, self._room = snapshot, namespace, room
        self._capabilities, self._age_seconds = capabilities, age_seconds

    def call(self, method: str, args: tuple[Any, ...]) -> Any:
        """Answer a method; raises EvaluationError of kind ``undecided`` when the snapshot does not hold what it asks for."""
        if method in _NAMED:
            return self._named(method, *args)
        answers: Mapping[str, Callable[..., Any]] = {
            "topology": self._topology,
            "fit": self._fit,
            "quotas": self._quotas,
            "capability": self._capability,
            "ageSeconds": self._age_seconds,
            "controllers": self._controllers,
        }
        return answers[method](*args)

    def _named(self, method: str, name: Any) -> Any:
        (place, is_namespaced) = _NAMED[method]
        _expect(method, name, str)
        self._need(method, place)
        found = self._snapshot.get(ObjectKey(*place, self._namespace if is_namespaced else "", name))
        return decode_tagged({"$optional": [] if found is None else [found]})

    def _controllers(self, obj: Any) -> list[str]:
        """Return the UIDs of the controllers above an object: its own says who it is, those above it are looked up."""
        _expect("controllers", obj, dict)
        placed = {**obj, "metadata": {**metadata_of(obj), "namespace": self._namespace}}
        chain = (placed, *controllers_above(placed, self._snapshot))
        return [str(reference.get("uid")) for reference in map(controller_of, chain) if reference is not None]

    def _quotas(self) -> list[Object]:
        self._need("quotas", _QUOTA)
        return sorted(
            self._snapshot.list(*_QUOTA, namespace=self._namespace), key=lambda quota: str(metadata_of(quota).get("name"))
        )

    def _capability(self, name: Any) -> bool:
        _expect("capability", name, str)
        if name not in _CAPABILITIES:
            raise EvaluationError(
                f"cluster.capability: unknown capability {name}; known are {', '.join(_CAPABILITIES)}", "argument"
            )
        if self._capabilities is None:
            raise EvaluationError("cluster.capability: what the cluster can do is not known", UNDECIDED)
        return bool(getattr(self._capabilities, _CAPABILITIES[name]))

    def _topology(self, key: Any) -> list[Object]:
        _expect("topology", key, str)
        return self._counted("topology").domains(key)

    def _fit(self, pod_spec: Any, count: Any, key: Any = "") -> Object:
        _expect("fit", pod_spec, dict)
        _expect("fit", key, str)
        if isinstance(count, bool):
            raise _no_overload("fit")
        _expect("fit", count, int)
        if not 0 <= count <= COUNT_LIMIT:
            raise EvaluationError(f"cluster.fit: {count} pods; the count must be between 0 and {COUNT_LIMIT}", "argument")
        return self._counted("fit").fit(pod_spec, int(count), key)

    def _counted(self, method: str) -> Room:
        for place in _ROOM:
            self._need(method, place)
        if self._room is None:
            raise EvaluationError(f"cluster.{method}: nobody counts the room of nodes here", UNDECIDED)
        return self._room

    def _need(self, method: str, place: Place) -> None:
        if not self._snapshot.knows(*place):
            kinds = f"{place[1]}s" if not place[1].endswith("s") else f"{place[1]}es"
            raise EvaluationError(f"cluster.{method}: {kinds} are not in the snapshot, so this rule cannot be decided", UNDECIDED)


def _expect(method: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise _no_overload(method)


def _no_overload(method: str) -> EvaluationError:
    return EvaluationError(f"no such overload: cluster.{method}", "no_overload")
