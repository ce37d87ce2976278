"""A JSON patch, applied as the API server's library applies it (evanphx/json-patch v4), which is not quite RFC 6902.

``replace`` sets a key that is not there; negative indexes count from the end; a ``test`` without a value passes where
nothing is, while one for null fails there. A failing ``test`` undoes the whole patch and is no error (Kubernetes'
mutating/patch/json_patch.go); anything else that fails is one.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from webhook.model.objects import Object
from webhook.rules.problems import RuleProblem

MISSING: Final = object()
"""The value of an operation that was given none."""


class _Null:
    """A null that was given as a value; to the library it is not the same as one that stood in the object."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _Null:
        return self


class _Draft:
    """The object between operations: what one of them writes into is copied first, and all the rest stays shared."""

    def __init__(self, obj: Object) -> None:
        self.root: Any = obj
        self._own: dict[int, Any] = {}
        """What was made here, by identity; kept, so that nothing else takes the identity."""

    def find(self, path: str, otherwise: str, *, to_write: bool = True) -> tuple[Any, str]:
        """Return the mapping or list that a path ends in, and its last step."""
        steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
        if steps and to_write:
            self.root = self._mine(self.root)
        place = self.root if steps else None
        for step in steps[:-1]:
            place = self._step(place, step, to_write=to_write)
            if not isinstance(place, dict | list):
                break
        if not isinstance(place, dict | list):
            raise RuleProblem(f"{otherwise}: missing value")
        return place, steps[-1]

    def _step(self, place: Any, key: str, *, to_write: bool) -> Any:
        try:
            found = _get(place, key)
        except RuleProblem:
            return None
        if to_write and isinstance(found, dict | list):
            found = place[_index(key, len(place)) if isinstance(place, list) else key] = self._mine(found)
        return found

    def _mine(self, value: Any) -> Any:
        if id(value) in self._own or not isinstance(value, dict | list):
            return value
        made = value.copy()
        self._own[id(made)] = made
        return made


_NULL: Final = _Null()
_INDEX = re.compile(r"[+-]?[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchOperation:
    """One operation, as an expression gave it; empty texts were not given."""

    op: str = ""
    path: str = ""
    source: str = ""
    """Its ``from``."""
    value: Any = MISSING


class _TestFailed(Exception):  # noqa: N818 - not an error: the patch is then left out
    """A ``test`` found another value."""


def apply_patch(obj: Object, operations: Sequence[PatchOperation]) -> Any:
    """Return the patched object, or ``obj`` itself where a ``test`` failed; raises RuleProblem for what does not apply.

    What the patch does not touch is shared with ``obj``, and values are shared with the operations that gave them.
    """
    draft = _Draft(obj)
    try:
        for operation in operations:
            _apply(draft, operation)
    except _TestFailed:
        return obj
    except RuleProblem as problem:
        raise RuleProblem(f"JSON Patch: {problem}") from problem
    return _plain(draft.root) if any(operation.value is None for operation in operations) else draft.root


def _apply(draft: _Draft, operation: PatchOperation) -> None:
    match operation.op:
        case "add":
            _add(draft, operation)
        case "remove":
            _remove(draft, operation)
        case "replace":
            _replace(draft, operation)
        case "move":
            _move(draft, operation)
        case "copy":
            _copy(draft, operation)
        case "test":
            _test(draft, operation)
        case other:
            raise RuleProblem(f"Unexpected kind: {other}")


def _add(draft: _Draft, operation: PatchOperation) -> None:
    path = operation.path
    place, key = draft.find(path, f'add operation does not apply: doc is missing path: "{path}"')
    _told(f"error in add for path: '{path}'", _put, place, key, _given(operation))


def _remove(draft: _Draft, operation: PatchOperation) -> None:
    path = operation.path
    place, key = draft.find(path, f'remove operation does not apply: doc is missing path: "{path}"')
    _told(f"error in remove for path: '{path}'", _drop, place, key)


def _replace(draft: _Draft, operation: PatchOperation) -> None:
    path, value = operation.path, _given(operation)
    if path == "":
        if not isinstance(value, dict | list | _Null):
            raise RuleProblem("replace operation value must be object or array: %!w(<nil>)")
        draft.root = {} if isinstance(value, _Null) else value  # the library reads null as a mapping without entries
        return
    place, key = draft.find(path, f"replace operation does not apply: doc is missing path: {path}")
    if isinstance(place, list):
        try:
            place[_index(key, len(place))] = value
        except RuleProblem as problem:
            raise RuleProblem(f"replace operation does not apply: doc is missing key: {path}: missing value") from problem
    else:
        place[key] = value


def _move(draft: _Draft, operation: PatchOperation) -> None:
    origin, path = operation.source, operation.path
    if not origin:
        raise RuleProblem("move operation failed to decode from: operation, missing from field: missing value")
    place, key = draft.find(origin, f"move operation does not apply: doc is missing from path: {origin}")
    value = _told(f"error in move for path: '{key}'", _get, place, key)
    _told(f"error in move for path: '{key}'", _drop, place, key)
    place, key = draft.find(path, f"move operation does not apply: doc is missing destination path: {path}")
    _told(f"error in move for path: '{path}'", _put, place, key, value)


def _copy(draft: _Draft, operation: PatchOperation) -> None:
    origin, path = operation.source, operation.path
    if not origin:
        raise RuleProblem("copy operation failed to decode from: operation, missing from field: missing value")
    place, key = draft.find(origin, f"copy operation does not apply: doc is missing from path: {origin}", to_write=False)
    value = _told(f"error in copy for from: '{origin}'", _get, place, key)
    place, key = draft.find(path, f"copy operation does not apply: doc is missing destination path: {path}")
    _told("error while adding value during copy", _put, place, key, copy.deepcopy(value))  # the two may part later


def _test(draft: _Draft, operation: PatchOperation) -> None:
    path, wanted = operation.path, operation.value
    found = draft.root
    if not path and wanted is MISSING:
        raise RuleProblem("test operation of everything needs a value")  # the library would panic
    if path:
        place, key = draft.find(path, f"test operation does not apply: is missing path: {path}", to_write=False)
        found = _told(f"error in test for path: '{path}'", _get, place, key)
    if found is None and wanted is MISSING:
        return
    if found is None or wanted is MISSING or not _equal(found, _given(operation)):
        raise _TestFailed


def _given(operation: PatchOperation) -> Any:
    if operation.value is MISSING:
        return None
    return _NULL if operation.value is None else operation.value


def _get(place: Any, key: str) -> Any:
    return place[_index(key, len(place))] if isinstance(place, list) else place.get(key)


def _put(place: Any, key: str, value: Any) -> None:
    if isinstance(place, dict):
        place[key] = value
    elif key == "-":
        place.append(value)
    elif not _INDEX.fullmatch(key):
        raise RuleProblem(f"value was not a proper array index: '{key}': {_no_number(key)}")
    else:
        place.insert(_index(key, len(place) + 1), value)


def _drop(place: Any, key: str) -> None:
    if isinstance(place, list):
        del place[_index(key, len(place))]
    elif key not in place:
        raise RuleProblem(f"Unable to remove nonexistent key: {key}: missing value")
    else:
        del place[key]


def _index(key: str, length: int) -> int:
    if not _INDEX.fullmatch(key):
        raise RuleProblem(_no_number(key))
    index = int(key)
    if not -length <= index < length:
        raise RuleProblem(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + length if index < 0 else index


def _no_number(key: str) -> str:
    return f'strconv.Atoi: parsing "{key}": invalid syntax'


def _told(what: str, act: Any, *arguments: Any) -> Any:
    """Do something, and say of a failure what was being done."""
    try:
        return act(*arguments)
    except RuleProblem as problem:
        raise RuleProblem(f"{what}: {problem}") from problem


def _equal(found: Any, wanted: Any) -> bool:
    """Compare as JSON text: ``1``, ``1.5`` and ``true`` are three values, though Python calls some of them equal.

    A null that was given equals what is empty: the library reads it as a mapping or, where a list is before it, as a list.
    """
    if isinstance(found, _Null):
        return isinstance(wanted, _Null) or wanted == {}
    if isinstance(wanted, _Null):
        return found in ({}, [])
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(_equal(value, wanted[key]) for key, value in found.items())
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_equal, found, wanted))
    return type(found) is type(wanted) and bool(found == wanted)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, _Null) else value
