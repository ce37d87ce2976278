"""What the API server asks: an admission request, decoded.

Field meanings are those of ``admission.k8s.io/v1 AdmissionRequest``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from webhook.model.objects import Kind, Object, Resource


class Operation(StrEnum):
    """What is being done to the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


_WORDS = {operation: operation.value for operation in Operation}
"""What an operation is called, in text of no type of ours: an attribute of a member takes ten times as long to read."""


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
        found: Object = {"username": self.username} if self.username else {}
        if self.uid:
            found["uid"] = self.uid
        if self.groups:
            found["groups"] = list(self.groups)
        if self.extra:
            found["extra"] = self.extra
        return found


@dataclass(slots=True, kw_only=True)
class AdmissionRequest:
    """One question of the API server about one object.

    It is never changed. Frozen it is not, for that would take four times as long to make one, which is done for each review.
    """

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
        made._json, made._sort = self._json, self._sort  # noqa: SLF001 - of our own kind
        return made

    @property
    def sort(self) -> str:
        """Return what resource rules look at, but for the name: equal for requests that the same rules know. Made once."""
        if not self._sort:
            known, asked = self.resource, self.request_resource
            group, version, resource = (asked.group, asked.version, asked.resource) if asked else ("", "", "")
            self._sort = "\0".join(
                (
                    *(known.group, known.version, known.resource, self.sub_resource),
                    *(group, version, resource, self.request_sub_resource),
                    *(self.operation, "n" if self.namespace else "", "n" if self.name else ""),
                )
            )
        return self._sort

    def as_json(self) -> Object:
        """Return CEL's ``request``: no uid, object or oldObject; empty fields are absent, as the API server has it.

        It is made once, because every policy reads it, and so it is for reading only.
        Source: apiserver pkg/admission/plugin/cel/compile.go (BuildRequestType) and its CreateAdmissionRequest.
        """
        if self._json is None:
            self._json = self._as_json()
        return self._json or {}

    def _as_json(self) -> Object:
        kind, resource = _kind_json(self.kind), _resource_json(self.resource)
        asked_kind, asked = self.request_kind, self.request_resource
        found: Object = {"kind": kind, "resource": resource}
        if self.sub_resource:
            found["subResource"] = self.sub_resource
        found["requestKind"] = kind if asked_kind is None or asked_kind is self.kind else _kind_json(asked_kind)
        found["requestResource"] = resource if asked is None or asked is self.resource else _resource_json(asked)
        if sub_resource := self.request_sub_resource if asked else self.sub_resource:
            found["requestSubResource"] = sub_resource
        if self.name:
            found["name"] = self.name
        if self.namespace:
            found["namespace"] = self.namespace
        found["operation"] = _WORDS[self.operation]
        found["userInfo"] = self.user.as_json()
        found["dryRun"] = self.dry_run
        found["options"] = self.options
        return found


def _kind_json(kind: Kind) -> Object:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource_json(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}
