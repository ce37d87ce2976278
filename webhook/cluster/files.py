"""The cluster on paper: a snapshot and its capabilities as manifests, for questions without a cluster.

The form is Kubernetes' own: objects or Lists of them, as ``kubectl get -o yaml`` prints them, and one document of kind
Capabilities. A typed list (``PodGroupList``) also says that the kind is known when it is empty: what is not in a
snapshot is unknown, not absent. How files are found and parsed is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import Any, Protocol

import orjson
import yaml

from webhook.admission import wrong_types
from webhook.errors import InputError, UsageError
from webhook.model.groups import Capabilities
from webhook.model.objects import Kind, Object, ObjectKey
from webhook.model.snapshot import Snapshot, snapshot_of

CAPABILITIES = Kind("gangwarden.dev", "v1alpha1", "Capabilities")
_ROOM = frozenset({("", "Node"), ("", "Pod")})
_UNSAVED = frozenset({("", "Secret")})
"""A snapshot is copied to laptops and CI; what is secret does not belong in it."""


class Manifest(Protocol):
    """One document and the ``file#index`` where it stands."""

    @property
    def source(self) -> str:
        """Return ``file#index``."""

    @property
    def object(self) -> Object:
        """Return the decoded document."""


def load_snapshot(manifests: Iterable[Manifest]) -> tuple[Snapshot, Capabilities]:
    """Build a snapshot from manifests; without a Capabilities document nothing is known to work.

    Raises InputError for an object without a name, one that occurs twice, values of another type than their field, and
    capabilities that are not ours.
    """
    found: dict[ObjectKey, tuple[str, Object]] = {}
    known: set[tuple[str, str]] = set()
    capabilities: tuple[str, Capabilities] | None = None
    for source, document in _flat(manifests):
        if Kind.of(document) == CAPABILITIES:
            if capabilities is not None:
                raise InputError(f"a second Capabilities document (the first is {capabilities[0]})", source=source)
            capabilities = (source, _capabilities(source, document))
        elif (kind := _listed(document)) is not None:
            known.add((kind.group, kind.kind))
        else:
            _keep(source, document, found)
    held = snapshot_of([obj for _, obj in found.values()])
    return Snapshot({mark: {} for mark in known} | dict(held.buckets)), capabilities[1] if capabilities else Capabilities()


def save_snapshot(path: Path, snapshot: Snapshot, capabilities: Capabilities) -> None:
    """Write a snapshot to a ``.json`` or ``.yaml`` file, without Secrets; raises UsageError where that is not possible."""
    heads, items = snapshot_documents(snapshot, capabilities)
    try:
        if path.suffix == ".json":  # one document holds it all
            everything = {"apiVersion": "v1", "kind": "List", "items": heads + items}
            path.write_bytes(orjson.dumps(everything, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        else:
            documents = [*heads, {"apiVersion": "v1", "kind": "List", "items": items}]
            path.write_text(yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def snapshot_documents(snapshot: Snapshot, capabilities: Capabilities) -> tuple[list[Object], list[Object]]:
    """Return the Capabilities document with a typed, empty list for each known kind without objects; and all objects."""
    said = {_camel(name): value for name, value in asdict(capabilities).items() if value is not None}
    heads = [{"apiVersion": CAPABILITIES.api_version, "kind": CAPABILITIES.kind, "metadata": {"name": "cluster"}} | said]
    items: list[Object] = []
    for group, kind in sorted(snapshot.buckets.keys() - _UNSAVED):
        objects = sorted(snapshot.list(group, kind), key=lambda obj: str(ObjectKey.of(obj)))
        items += objects
        if not objects:
            heads.append({"apiVersion": f"{group}/v1" if group else "v1", "kind": f"{kind}List", "items": []})
    return heads, items


def _flat(manifests: Iterable[Manifest]) -> Iterator[tuple[str, Object]]:
    for manifest in manifests:
        yield from _with_items(manifest.source, manifest.object)


def _with_items(source: str, document: Object) -> Iterator[tuple[str, Object]]:
    """Yield a document (a v1 List itself says nothing) and, after a list, its items."""
    kind = _listed(document)
    if kind is None or kind.kind:
        yield source, document
    if kind is not None:
        named = {"apiVersion": kind.api_version, "kind": kind.kind} if kind.kind else {}
        for item in document.get("items") or ():
            yield from _with_items(source, _item(item, named, source))


def _listed(document: Object) -> Kind | None:
    """Return the kind that a list is of (empty for a v1 List); None for what is no list."""
    kind = Kind.of(document)
    if not kind.kind.endswith("List") or not isinstance(document.get("items", ""), list | NoneType):
        return None
    return Kind(kind.group, kind.version, kind.kind.removesuffix("List"))


def _item(item: Any, named: Object, source: str) -> Object:
    if not isinstance(item, dict):
        raise InputError("an item of the list is no object", source=source)
    obj = named | item
    if not (obj.get("apiVersion") and obj.get("kind")):
        raise InputError("an item of the list has no apiVersion or no kind", source=source)
    return obj


def _keep(source: str, obj: Object, found: dict[ObjectKey, tuple[str, Object]]) -> None:
    key = ObjectKey.of(obj)
    if not key.name:
        raise InputError(f"this {key.kind} has no metadata.name", source=source)
    if key in found:
        raise InputError(f"{key} occurs twice (first in {found[key][0]})", source=source)
    for complaint in (*wrong_types(obj), *(_wrong_room(obj) if (key.group, key.kind) in _ROOM else ())):
        raise InputError(f"{key}: {complaint}; mend it, or save the snapshot anew", source=source)
    found[key] = (source, obj)


def _wrong_room(obj: Object) -> Iterator[str]:
    """Say what of a node or pod cannot be counted; of a node with lost taints it would seem that anybody may run there."""
    for name, inner, kind in (("spec", "taints", list), ("status", "allocatable", dict)):
        part = obj.get(name) or {}
        if not isinstance(part, dict):
            yield f"{name} must be a mapping"
            continue
        value = part.get(inner)
        if value is not None and not isinstance(value, kind):
            yield f"{name}.{inner} must be a {'list' if kind is list else 'mapping'}"
        elif kind is list and not all(isinstance(entry, dict) for entry in value or ()):
            yield f"{name}.{inner} must hold mappings"


def _capabilities(source: str, document: Object) -> Capabilities:
    names = {_camel(field.name): field.name for field in fields(Capabilities)}
    given: dict[str, Any] = {}
    for name, value in document.items():
        if name in {"apiVersion", "kind", "metadata"}:
            continue
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise InputError(f"Capabilities has no field {name}; {hint}", source=source)
        if not isinstance(value, bool):
            raise InputError(f"Capabilities.{name} must be true or false, not {value!r}", source=source)
        given[names[name]] = value
    return Capabilities(**given)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
