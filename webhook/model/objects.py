"""Kubernetes objects as plain JSON, and the names by which they are known.

Objects keep the API's own spelling and are never changed once they have crossed a room: whoever needs another
value builds a new object.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object, decoded from JSON or YAML."""


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """A group, version and kind, such as ``batch/v1 Job``."""

    group: str
    version: str
    kind: str

    @classmethod
    def of(cls, obj: Object) -> Kind:
        """Read the kind of an object; missing parts become empty strings."""
        return cls.parse(str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""))

    @classmethod
    def parse(cls, api_version: str, kind: str) -> Kind:
        """Split ``group/version`` (or ``version`` for the core group)."""
        split = _split if len(api_version) + len(kind) <= _USUAL_LENGTH else _split.__wrapped__
        return split(api_version, kind)

    @property
    def api_version(self) -> str:
        """Return ``group/version``, or ``version`` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        """Return ``group/version Kind``."""
        return f"{self.api_version} {self.kind}"


_USUAL_LENGTH = 200
"""Of apiVersion and kind together: only such kinds are remembered, because strangers choose what is in objects."""


@lru_cache(maxsize=512)
def _split(api_version: str, kind: str) -> Kind:
    group, _, version = api_version.rpartition("/")
    return Kind(group, version, kind)


@dataclass(frozen=True, slots=True, order=True)
class Resource:
    """A group, version and resource, such as ``batch/v1 jobs``."""

    group: str
    version: str
    resource: str


@dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
    """The name of one object: its kind without the version, its namespace (empty when cluster-scoped), its name."""

    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, obj: Object) -> ObjectKey:
        """Read the key of an object."""
        kind, meta = Kind.of(obj), metadata_of(obj)
        return cls(kind.group, kind.kind, str(meta.get("namespace") or ""), str(meta.get("name") or ""))

    def __str__(self) -> str:
        """Return ``Kind namespace/name``."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def metadata_of(obj: Object) -> Object:
    """Return an object's metadata, or an empty mapping."""
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def uid_of(obj: Object) -> str:
    """Return an object's UID; empty where it has none."""
    return str(metadata_of(obj).get("uid") or "")


def version_of(obj: Object) -> int:
    """Return an object's resourceVersion, which may be compared with others of its kind since 1.35 (KEP-5504); 0: none."""
    found = str(metadata_of(obj).get("resourceVersion") or "")
    return int(found) if found.isdecimal() else 0


def labels_of(obj: Object) -> dict[str, str]:
    """Return an object's labels, or an empty mapping."""
    found = metadata_of(obj).get("labels")
    return found if isinstance(found, dict) else {}


def annotations_of(obj: Object) -> dict[str, str]:
    """Return an object's annotations, or an empty mapping."""
    found = metadata_of(obj).get("annotations")
    return found if isinstance(found, dict) else {}


def controller_of(obj: Object) -> Object | None:
    """Return the ownerReference whose ``controller`` is true: at most one, the API server sees to that."""
    for reference in metadata_of(obj).get("ownerReferences") or ():
        if isinstance(reference, dict) and reference.get("controller") is True:
            return reference
    return None
