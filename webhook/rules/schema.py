"""How the API server merges objects: lists that are replaced or merged, by which keys, and what may not be merged at all.

Built-in kinds follow a generated table (``_schema_table``); of other kinds nothing is known, so their mappings are merged
and their lists replaced whole, as by the API server's deduced converter for resources without a schema
(structured-merge-diff typed/parser.go, DeducedParseableType).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from webhook.model.objects import Kind
from webhook.rules._schema_table import KINDS, TYPES
from webhook.rules.problems import RuleProblem

_SCALARS = MappingProxyType({"s": "text", "n": "number", "b": "boolean", "u": "any"})
_WORD = re.compile(r"(?P<name>[\w$-]+)(?::(?P<shape>\[=\][^=\s]+|[^=\s]+))?(?:=(?P<default>\S+))?")
_NOT_IN_THE_TABLE = frozenset(
    {
        "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
        "authorization.k8s.io", "certificates.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io", "node.k8s.io", "storagemigration.k8s.io",
    }
)  # fmt: skip
"""Groups of built-in kinds that the table leaves out, because hardly anybody mutates them and it would be half as long again."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts: ``text``, ``number``, ``boolean`` or ``any``."""

    name: str


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list: atomic, a list of mappings told apart by ``keys``, or (without keys) a set of scalars."""

    element: Shape
    keys: tuple[str, ...] = ()
    atomic: bool = False


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping of any keys."""

    element: Shape
    atomic: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    """A mapping with known fields, looked up by the name of its type."""

    name: str
    atomic: bool = False


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value; mappings in it are merged unless it is atomic, lists are always replaced."""

    atomic: bool = False


Shape: TypeAlias = Scalar | ListOf | MapOf | Struct | Anything
DEDUCED = Anything()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """What is known of a struct."""

    shapes: Mapping[str, Shape]
    defaults: Mapping[str, object] = field(default_factory=dict)
    """Of fields by which a list tells its entries apart: the value of one that is not given."""
    atomic: bool = False


def shape_of(kind: Kind) -> Shape:
    """Return the shape of the objects of a kind; raises RuleProblem for a built-in kind that the table does not have."""
    api_version = kind.api_version
    name = _kinds().get(f"{api_version} {kind.kind}")
    if name:
        return Struct(name)
    if kind.group in _NOT_IN_THE_TABLE or kind.group in _groups():
        raise RuleProblem(f"nothing can be merged into {api_version} {kind.kind}, whose schema is not known here; use JSONPatch")
    return DEDUCED


def known_kinds() -> tuple[Kind, ...]:
    """Return the built-in kinds that the table has."""
    return tuple(Kind.parse(*name.split(" ")) for name in _kinds())


def is_known(name: str) -> bool:
    """Tell whether the table has a struct of this name."""
    return name in _types()


def unlisted_groups() -> frozenset[str]:
    """Return the groups of built-in kinds that the table leaves out."""
    return _NOT_IN_THE_TABLE


def fields_of(struct: Struct) -> Fields:
    """Return the fields of a struct."""
    return _fields(struct.name)


@cache
def _kinds() -> Mapping[str, str]:
    found = {}
    for entry in KINDS.split(";"):
        version, _, words = entry.partition(":")
        for word in words.split():
            kind, _, name = word.partition(":")
            found[f"{version.strip()} {kind}"] = name or kind
    return found


@cache
def _groups() -> frozenset[str]:
    return frozenset(known.partition(" ")[0].rpartition("/")[0] for known in _kinds())


@cache
def _types() -> Mapping[str, str]:
    """Split the table into types: cheap, while reading all their fields is not."""
    entries = (entry.split(None, 1) for entry in TYPES.split(";") if entry.strip())
    return {name.removesuffix(":"): "".join(words) for name, *words in entries}


@cache
def _fields(name: str) -> Fields:
    shapes: dict[str, Shape] = {}
    defaults: dict[str, object] = {}
    words = _types()[name].split()
    atomic = words[:1] == ["!"]
    for word in words[1:] if atomic else words:
        match = _WORD.fullmatch(word)
        if match is None:
            raise ValueError(f"the table of schemas has a word that is none: {word}")
        shapes[match["name"]] = _read(match["shape"] or "s")
        if match["default"]:
            defaults[match["name"]] = json.loads(match["default"])
    return Fields(shapes=shapes, defaults=defaults, atomic=atomic)


def _read(text: str) -> Shape:
    if text in _SCALARS:
        return Scalar(_SCALARS[text])
    if text in ("x", "m"):
        return Anything(atomic=text == "x")
    if text.startswith("{"):
        around, _, rest = text.partition("}")
        return MapOf(_read(rest), atomic=around == "{!")
    if text.startswith("["):
        around, _, rest = text.partition("]")
        keys = tuple(around[1:].split(",")) if around[1:] not in ("", "=") else ()
        return ListOf(_read(rest), keys=keys, atomic=around == "[")
    return Struct(text.removeprefix("!"), atomic=text.startswith("!"))
