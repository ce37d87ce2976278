"""What the API server makes of a custom object before admission sees it: fields that its CRD does not know go, defaults come.

After Kubernetes 1.37 (apiextensions-apiserver pkg/apiserver/schema/{pruning,defaulting}), in its order: prune what the
schema does not know, take out nulls that may not be, fill defaults. Values are not validated. ``metadata`` and ``status``
stay as given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from webhook.errors import InputError
from webhook.model.objects import Kind, Object

Schema: TypeAlias = "Mapping[str, Any] | None"
"""A structural schema as a CRD writes it; None: nothing is known, and so nothing is kept."""

_GROUP, _KIND = "apiextensions.k8s.io", "CustomResourceDefinition"
_PRESERVE, _RESOURCE = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"
_META = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True)
class CustomKinds:
    """The kinds that some CRDs define. An object of another kind is left as it is."""

    schemas: Mapping[Kind, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, objects: Iterable[tuple[str, Object]]) -> CustomKinds:
        """Read the CRDs among objects, each with the name of its source; raises InputError for one that cannot be read.

        Two may define the same kind only in the same words.
        """
        found: dict[Kind, Mapping[str, Any]] = {}
        for source, obj in objects:
            if (kind := Kind.of(obj)).group != _GROUP or kind.kind != _KIND:
                continue
            for defined, schema in _read(obj, source):
                if found.setdefault(defined, schema) != schema:
                    raise InputError(f"a second CustomResourceDefinition of {defined}, with another schema", source=source)
        return cls(MappingProxyType(found))

    def __or__(self, other: CustomKinds) -> CustomKinds:
        """Return both; where both know a kind, the other one counts."""
        return CustomKinds(MappingProxyType({**self.schemas, **other.schemas}))

    def complete(self, obj: Object) -> Object:
        """Return the object as the API server would judge it."""
        schema = self.schemas.get(Kind.of(obj))
        if schema is None:
            return obj
        completed: Object = _filled(_without_nulls(_pruned(obj, _as_root(schema)), schema), schema)
        return completed

    def dropped(self, obj: Object) -> Iterator[str]:
        """Yield the paths of fields that will be gone when the object is stored; nulls that are taken out are none."""
        schema = self.schemas.get(Kind.of(obj))
        if schema is not None:
            yield from _missing(obj, _pruned(obj, _as_root(schema)), "")


NO_CUSTOM_KINDS = CustomKinds()


def _as_root(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema for the root, which is a resource whatever it says: its metadata is kept whole."""
    return {**schema, _RESOURCE: True}


def _read(crd: Object, source: str) -> Iterator[tuple[Kind, Mapping[str, Any]]]:
    """Yield each version's kind and schema."""
    if crd.get("apiVersion") != f"{_GROUP}/v1":
        raise InputError(f"a {_KIND} of {crd.get('apiVersion')}, which Kubernetes 1.37 does not know; write v1", source=source)
    try:
        spec = crd["spec"]
        group, kind = spec["group"], spec["names"]["kind"]
        read = [(Kind(group, version["name"], kind), version["schema"]["openAPIV3Schema"]) for version in spec["versions"]]
    except (KeyError, TypeError):
        read = []
    words = [word for known, _ in read for word in (known.group, known.version, known.kind)]
    fits = bool(read) and all(isinstance(word, str) for word in words) and all(_is_schema(schema) for _, schema in read)
    if not fits:
        needed = "spec.group, spec.names.kind and spec.versions[].{name, schema.openAPIV3Schema}"
        raise InputError(f"a {_KIND} must have {needed}", source=source)
    yield from read


def _is_schema(value: Any) -> bool:
    """Tell whether a value has the form of a structural schema, as far as it is read here."""
    if not isinstance(value, dict):
        return False
    properties, items, additional = (value.get(name) for name in ("properties", "items", "additionalProperties"))
    return (
        (properties is None or (isinstance(properties, dict) and all(map(_is_schema, properties.values()))))
        and (items is None or _is_schema(items))
        and (isinstance(additional, bool | None) or _is_schema(additional))
    )


def _below(schema: Mapping[str, Any], key: str) -> tuple[Schema, bool]:
    """Return the schema of a field, and whether the field is known at all."""
    properties = schema.get("properties") or {}
    if key in properties:
        return properties[key], True
    additional = schema.get("additionalProperties")
    return (additional if isinstance(additional, dict) else None), additional is not None


def _items(schema: Schema) -> Schema:
    return None if schema is None else schema.get("items")


def _pruned(value: Any, schema: Schema) -> Any:
    """Return a value without the fields that the schema does not know (pruning/algorithm.go, prune and skipPrune)."""
    if isinstance(value, list):
        items = _items(schema)
        if schema is not None and schema.get(_PRESERVE):
            items = {**(items or {}), _PRESERVE: True}  # reaches the entries of a list, not the fields of a mapping
        return [_pruned(item, items) for item in value]
    if not isinstance(value, dict):
        return value
    return {} if schema is None else dict(_kept(value, schema))


def _kept(value: Object, schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    preserves, is_resource = schema.get(_PRESERVE), schema.get(_RESOURCE)
    for key, item in value.items():
        below, is_known = _below(schema, key)
        if (is_resource and key in _META) or (preserves and not is_known):
            yield key, item
        elif is_known:
            yield key, _pruned(item, below)


def _may_not_be_null(schema: Schema) -> bool:
    return schema is not None and not schema.get("nullable")


def _without_nulls(value: Any, schema: Schema) -> Any:
    """Return a value without nulls that may not be and have no default (defaulting/prunenulls.go)."""
    if isinstance(value, list):
        return [_without_nulls(item, _items(schema)) for item in value]
    if not isinstance(value, dict):
        return value
    below = {key: _below(schema, key)[0] if schema is not None else None for key in value}
    return {
        key: _without_nulls(item, below[key])
        for key, item in value.items()
        if not (item is None and _may_not_be_null(below[key]) and (below[key] or {}).get("default") is None)
    }


def _filled(value: Any, schema: Schema) -> Any:
    """Return a value with the defaults of the schema, and of what a default brings in (defaulting/algorithm.go)."""
    if schema is None or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return [_filled(_or_default(item, _items(schema)), _items(schema)) for item in value]
    properties = schema.get("properties") or {}
    added = {key: below["default"] for key, below in properties.items() if key not in value and below.get("default") is not None}
    return {key: _filled_below(item, *_below(schema, key)) for key, item in (value | added).items()}


def _filled_below(value: Any, schema: Schema, is_known: bool) -> Any:
    return _filled(_or_default(value, schema), schema) if is_known else value


def _or_default(value: Any, schema: Schema) -> Any:
    return schema.get("default") if value is None and schema is not None and not schema.get("nullable") else value


def _missing(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict):
        for key, item in before.items():
            here = f"{path}.{key}" if path else key
            if key in after:
                yield from _missing(item, after[key], here)
            else:
                yield here
    elif isinstance(before, list):
        for index, (item, other) in enumerate(zip(before, after, strict=True)):
            yield from _missing(item, other, f"{path}[{index}]")
