"""From the API server's JSON to an AdmissionRequest. Whatever is wrong is a ReviewError with the field's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from webhook.admission.fields import has_regular_metadata, wrong_metadata
from webhook.errors import ReviewError
from webhook.model.objects import Kind, Object, Resource
from webhook.model.requests import AdmissionRequest, Operation, UserInfo

_REVIEW = ("admission.k8s.io/v1", "AdmissionReview")
_MAX_DEPTH = 256
"""Nesting of whatever a request carries. What compares, defaults or evaluates an object walks it by recursion, two frames a
level, and the interpreter stops at 1,000 frames, of which the server itself needs a hundred. Objects of Kubernetes stay below
20 levels, schemas in CRDs below 60; the API server's own decoder takes 10,000."""
_USUAL_LENGTH = 200
"""Of the names of a kind or resource together: only such ones are remembered, because strangers choose them."""
_MOST = 512
"""How many are remembered of each; a cluster has a few hundred."""
_T = TypeVar("_T", Kind, Resource)
_KINDS: dict[tuple[Any, ...], Kind] = {}
_RESOURCES: dict[tuple[Any, ...], Resource] = {}
_TEXT = {str}
_WITH_OBJECT = frozenset({Operation.CREATE, Operation.UPDATE})
_WITH_OLD_OBJECT = frozenset({Operation.UPDATE, Operation.DELETE})
_OPERATIONS = {operation.value: operation for operation in Operation}


def decode_review(
    body: object, *, levels: int | None = None, is_shallow: Callable[[object], bool] = lambda _: False
) -> AdmissionRequest:
    """Read an ``admission.k8s.io/v1 AdmissionReview``. Raises ReviewError.

    There are no more than so many ``levels`` of nesting, if somebody knows; else ``is_shallow`` may tell by a quick look that
    a value is nested no deeper than 256 levels; False: it cannot tell.
    """
    if not isinstance(body, dict):
        raise ReviewError(f"the body must be an AdmissionReview object, not {_name(body)}")
    if (body.get("apiVersion"), body.get("kind")) != _REVIEW:
        raise ReviewError(
            f"expected {' '.join(_REVIEW)}, got apiVersion {body.get('apiVersion')!r} and kind {body.get('kind')!r}"
        )
    request = _object(body, "request", "")
    if request is None:
        raise ReviewError("the AdmissionReview has no request")
    if (levels is None or levels > _MAX_DEPTH) and not is_shallow(request):
        _refuse_depth(request)
    return _request(request)


def _request(raw: Object) -> AdmissionRequest:
    operation = _operation(raw)
    obj, old = _object(raw, "object", "request."), _object(raw, "oldObject", "request.")
    if operation in _WITH_OBJECT and obj is None:
        raise ReviewError(f"request.object must not be null on {operation.value}")
    if operation in _WITH_OLD_OBJECT and old is None:
        raise ReviewError(f"request.oldObject must not be null on {operation.value}")
    for name, value in (("object", obj), ("oldObject", old)):
        if value and not has_regular_metadata(value):
            for complaint in wrong_metadata(value):
                raise ReviewError(f"request.{name}.{complaint}")
    kind, resource = _kind(raw, "kind"), _resource(raw, "resource")
    asked_kind, asked_resource = kind, resource
    if raw.get("requestKind") != raw.get("kind"):
        asked_kind = _kind(raw, "requestKind")
    if raw.get("requestResource") != raw.get("resource"):
        asked_resource = _resource(raw, "requestResource")
    if kind is None or resource is None:
        raise ReviewError("request.kind and request.resource are required")
    return AdmissionRequest(
        uid=_text(raw, "uid", required=True),
        kind=kind,
        resource=resource,
        sub_resource=_text(raw, "subResource"),
        request_kind=asked_kind,
        request_resource=asked_resource,
        request_sub_resource=_text(raw, "requestSubResource"),
        name=_text(raw, "name"),
        namespace=_text(raw, "namespace"),
        operation=operation,
        user=_user(_object(raw, "userInfo", "request.") or {}),
        object=obj,
        old_object=old,
        dry_run=raw.get("dryRun") is True,
        options=_object(raw, "options", "request."),
    )


def _refuse_depth(raw: Object) -> None:
    for name in ("object", "oldObject", "options", "userInfo"):
        if _is_deeper(raw.get(name), _MAX_DEPTH):
            raise ReviewError(f"request.{name} is nested more than {_MAX_DEPTH} levels deep")


def _operation(raw: Object) -> Operation:
    word = _text(raw, "operation", required=True)
    if word not in _OPERATIONS:
        raise ReviewError(f"request.operation is {word!r}, not one of {', '.join(Operation)}")
    return _OPERATIONS[word]


def _user(raw: Object) -> UserInfo:
    groups, extra = raw.get("groups") or [], raw.get("extra") or {}
    if not isinstance(groups, list) or not (set(map(type, groups)) <= _TEXT or all(isinstance(group, str) for group in groups)):
        raise ReviewError("request.userInfo.groups must be a list of strings")
    if not isinstance(extra, dict):
        raise ReviewError("request.userInfo.extra must be an object")
    return UserInfo(username=_text(raw, "username"), uid=_text(raw, "uid"), groups=tuple(groups), extra=extra)


def _kind(raw: Object, name: str) -> Kind | None:
    found = _object(raw, name, "request.")
    return None if found is None else _named(_KINDS, Kind, found, "kind")


def _resource(raw: Object, name: str) -> Resource | None:
    found = _object(raw, name, "request.")
    return None if found is None else _named(_RESOURCES, Resource, found, "resource")


def _named(known: dict[tuple[Any, ...], _T], make: type[_T], raw: Object, name: str) -> _T:
    """Return the same object for the same names; only what was read and found right is remembered."""
    key = raw.get("group"), raw.get("version"), raw.get(name)
    try:
        return known[key]
    except (KeyError, TypeError):
        names = _text(raw, "group"), _text(raw, "version"), _text(raw, name)
        made = make(*names)
        if sum(map(len, names)) <= _USUAL_LENGTH:
            if len(known) >= _MOST:
                known.clear()
            known[key] = made
        return made


def _object(raw: Mapping[str, Any], name: str, prefix: str) -> Object | None:
    found = raw.get(name)
    if found is not None and not isinstance(found, dict):
        raise ReviewError(f"{prefix}{name} must be an object, not {_name(found)}")
    return found


def _text(raw: Mapping[str, Any], name: str, *, required: bool = False) -> str:
    found = raw.get(name)
    if found is None and not required:
        return ""
    if not isinstance(found, str) or (required and not found):
        raise ReviewError(f"request.{name} must be a string, not {_name(found)}")
    return found


def _name(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _is_deeper(value: object, limit: int) -> bool:
    """Walk level by level, without recursion: the depth is the caller's to choose."""
    level: list[object] = [value]
    for _ in range(limit):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
