"""What the API server asks: an admission request, decoded.

Field meanings are those of ``admission.k8s.io/v1 AdmissionRequest``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from webhook.model.objects import Kind, Object, Resource


class Operation(StrEnum):
    """What is being done to the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class Phase(StrEnum):
    """Which of the two rounds of admission asks: objects may be changed only in the first."""

    MUTATE = "mutate"
    VALIDATE = "validate"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInfo:
    """Who asks."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = field(default_factory=dict)

    def as_json(self) -> Object:
        """Return the shape of ``request.userInfo``; unset fields are left out, as in the API server's own value."""
        full: Object = {"username": self.username, "uid": self.uid, "groups": list(self.groups), "extra": self.extra}
        return {key: value for key, value in full.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRequest:
    """One question of the API server about one object."""

    uid: str
    kind: Kind
    resource: Resource
    sub_resource: str = ""
    request_kind: Kind | None = None
    """The kind the client used, before conversion under matchPolicy Equivalent; None: the same as ``kind``."""
    request_resource: Resource | None = None
    request_sub_resource: str = ""
    name: str = ""
    """Empty on CREATE with generateName."""
    namespace: str = ""
    """Empty for cluster-scoped objects."""
    operation: Operation = Operation.CREATE
    user: UserInfo = field(default_factory=UserInfo)
    object: Object | None = None
    """None on DELETE."""
    old_object: Object | None = None
    """None on CREATE and CONNECT."""
    dry_run: bool = False
    options: Object | None = None
    _json: Object | None = field(default=None, init=False, repr=False, compare=False)
    _sort: str = field(default="", init=False, repr=False, compare=False)

    def with_object(self, obj: Object) -> AdmissionRequest:
        """Return the same question about another object: what a later rule sees after an earlier one changed it."""
        made = replace(self, object=obj)
        object.__setattr__(made, "_json", self._json)
        object.__setattr__(made, "_sort", self._sort)
        return made

    @property
    def sort(self) -> str:
        """Return what resource rules look at, but for the name: equal for requests that the same rules know. Made once."""
        if not self._sort:
            asked = self.request_resource
            parts = (
                *(self.resource.group, self.resource.version, self.resource.resource, self.sub_resource),
                *((asked.group, asked.version, asked.resource) if asked else ("", "", "")),
                *(self.request_sub_resource, self.operation, "n" if self.namespace else "", "n" if self.name else ""),
            )
            object.__setattr__(self, "_sort", "\0".join(parts))
        return self._sort

    def as_json(self) -> Object:
        """Return CEL's ``request``: no uid, object or oldObject; empty fields are absent, as the API server has it.

        It is made once, because every policy reads it, and so it is for reading only.
        Source: apiserver pkg/admission/plugin/cel/compile.go (BuildRequestType) and its CreateAdmissionRequest.
        """
        if self._json is None:
            object.__setattr__(self, "_json", self._as_json())
        return self._json or {}

    def _as_json(self) -> Object:
        kind, resource = self.request_kind or self.kind, self.request_resource or self.resource
        sub_resource = self.request_sub_resource if self.request_resource else self.sub_resource
        full: dict[str, Any] = {
            "kind": {"group": self.kind.group, "version": self.kind.version, "kind": self.kind.kind},
            "resource": _resource_json(self.resource),
            "subResource": self.sub_resource,
            "requestKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
            "requestResource": _resource_json(resource),
            "requestSubResource": sub_resource,
            "name": self.name,
            "namespace": self.namespace,
            "operation": self.operation.value,
            "userInfo": self.user.as_json(),
            "dryRun": self.dry_run,
            "options": self.options,
        }
        required = {"kind", "resource", "operation", "userInfo", "dryRun", "options"}
        return {key: value for key, value in full.items() if key in required or value}


def _resource_json(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}
