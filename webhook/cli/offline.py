"""What offline commands take for the cluster: a snapshot from files, or nothing and every capability assumed."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING

from webhook.admission import (
    NO_CUSTOM_KINDS,
    CustomKinds,
    PolicySet,
    SnapshotWorld,
    Surroundings,
    UnknownField,
    in_namespace,
    unknown_fields,
    unknown_kind,
    wrong_types,
)
from webhook.errors import InputError, InputSetError
from webhook.model.access import Authorizer
from webhook.model.groups import Capabilities
from webhook.model.objects import Kind, Object, metadata_of
from webhook.model.requests import AdmissionRequest
from webhook.model.snapshot import EMPTY_SNAPSHOT, Snapshot
from webhook.policies import Manifest, load_manifests
from webhook.rules import ClusterView, Situation
from webhook.settings import EvaluationSettings

if TYPE_CHECKING:
    from webhook.preemption import NodeRoomView

ASSUMED = Capabilities(group_objects=True, native_jobs=True, topology=True, shared_claims=True, preemption_policy=True)
"""Without a snapshot nothing is known, and a verdict about gates would be a guess: they are taken as on, but for groups of
groups, which are alpha and asked for by name."""


class SnapshotRoom:
    """What the nodes of a snapshot hold; counted, and what counts it imported, when the first policy asks."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @cached_property
    def _view(self) -> NodeRoomView:
        from webhook.preemption import Capacity, NodeRoomView  # noqa: PLC0415 - brings all that plans for groups

        capacity = Capacity.of(self._snapshot)
        return NodeRoomView(lambda: capacity)

    def domains(self, key: str) -> list[Object]:
        """Describe the domains of a topology key."""
        return self._view.domains(key)

    def fit(self, pod_spec: Object, count: int, key: str) -> Object:
        """Say whether so many pods of this shape have room in one domain."""
        return self._view.fit(pod_spec, count, key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offline:
    """A cluster that is not there."""

    snapshot: Snapshot
    surroundings: Surroundings
    world: SnapshotWorld
    limits: EvaluationSettings
    default_namespace: str = "default"
    now: datetime = field(default_factory=partial(datetime.now, UTC))
    """The moment at which exceptions are valid or expired."""
    authorizer: Authorizer | None = None
    """Who may do what; None: nobody can tell, and rules that ask are skipped."""
    custom: CustomKinds = NO_CUSTOM_KINDS
    """The kinds that the CRDs of the snapshot define."""
    room: SnapshotRoom = field(init=False)

    def __post_init__(self) -> None:
        """Count the nodes' room once, whatever the number of objects."""
        object.__setattr__(self, "room", SnapshotRoom(self.snapshot))

    def situation(self, request: AdmissionRequest) -> Situation:
        """Put a request into this cluster."""
        return Situation(
            request=request,
            world=self.world,
            cluster=ClusterView(self.snapshot, request.namespace, room=self.room, capabilities=self.surroundings.capabilities),
            limits=self.limits,
            expired=deadline(self.limits.deadline_seconds),
            now=self.now,
            authorizer=self.authorizer,
            skip_undecided=True,
        )


def load_offline(
    paths: Sequence[str], policies: PolicySet, *, namespace_object: str | None = None, now: datetime | None = None
) -> Offline:
    """Read a snapshot; raises InputError for what cannot be read. ``now`` None: the clock tells."""
    snapshot, capabilities = _given(paths, policies) if paths else (EMPTY_SNAPSHOT, ASSUMED)
    default_namespace = "default"
    if namespace_object is not None:
        given = _namespace(namespace_object)
        default_namespace = str(metadata_of(given)["name"])
        spaces = {"": {**snapshot.buckets.get(("", "Namespace"), {}).get("", {}), default_namespace: given}}
        snapshot = Snapshot({**snapshot.buckets, ("", "Namespace"): spaces})
    return Offline(
        snapshot=snapshot,
        surroundings=Surroundings(snapshot=snapshot, capabilities=capabilities, token=fresh_token),
        world=SnapshotWorld(snapshot=snapshot, files=policies.params, invents_namespaces=True),
        limits=EvaluationSettings(),
        default_namespace=default_namespace,
        now=now or datetime.now(UTC),
        custom=custom_kinds(snapshot),
    )


def custom_kinds(snapshot: Snapshot) -> CustomKinds:
    """Read the CRDs of a snapshot; raises InputError for one that cannot be read."""
    crds = snapshot.list("apiextensions.k8s.io", "CustomResourceDefinition")
    return CustomKinds.of((f"CustomResourceDefinition {metadata_of(crd).get('name')} of the snapshot", crd) for crd in crds)


def _given(paths: Sequence[str], policies: PolicySet) -> tuple[Snapshot, Capabilities]:
    """Read a snapshot; of what the policies need and it does not list, the cluster has none."""
    from webhook.cluster import load_snapshot  # noqa: PLC0415 - brings the Kubernetes client: half a second and 50 MB

    snapshot, capabilities = load_snapshot(load_manifests(paths))
    return Snapshot({**{needed: {} for needed in policies.needs}, **snapshot.buckets}), capabilities


def placed(manifest: Manifest, namespace: str) -> Object:
    """Return the object of a manifest in its namespace; raises InputError for values that the API server cannot decode.

    Such as ``value: 8080`` where text is wanted: the commonest slip in YAML, and no policy would ever see the object.
    """
    check_types((manifest,))
    return in_namespace(manifest.object, namespace)


def check_types(manifests: Iterable[Manifest]) -> None:
    """Raise InputSetError with all values that the API server cannot decode, if there are any."""
    errors = [
        InputError(f"{complaint}; the API server refuses it", source=manifest.source, line=manifest.line)
        for manifest in manifests
        for complaint in wrong_types(manifest.object)
    ]
    if errors:
        raise InputSetError(errors)


def doubts_about(obj: Object, custom: CustomKinds) -> Iterator[str]:
    """Say which fields the API server will drop, by its own types or by a CRD, and whether it has the object's kind at all."""
    if Kind.of(obj) not in custom.schemas and (told := unknown_kind(obj)):
        yield told
    yield from map(str, unknown_fields(obj))
    yield from (str(UnknownField(path=path)) for path in custom.dropped(obj))


def fresh_token() -> str:
    """Return a part of a name that nobody has used: ten lower-case hexadecimal digits."""
    return secrets.token_hex(5)


def deadline(seconds: float) -> partial[bool]:
    """Return a test that turns true after some seconds."""
    return partial(_is_past, time.monotonic() + seconds)


def _is_past(moment: float) -> bool:
    return time.monotonic() > moment


def _namespace(path: str) -> Object:
    found = [manifest.object for manifest in load_manifests([path])]
    if len(found) != 1 or found[0]["kind"] != "Namespace" or not metadata_of(found[0]).get("name"):
        raise InputError("must hold one Namespace with a name (--namespace-object)", source=path)
    return found[0]
