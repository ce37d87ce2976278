"""How a library says what it offers: overloads, written as signatures, with the code that answers them.

A signature reads ``sets.contains(list(A), list(A)) -> bool`` for a function and ``(string).split(string) -> list(string)`` for
a method. One capital letter is a type parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from webhook.cel import types
from webhook.cel.types import Kind, Type
from webhook.cel.values import Duration, Timestamp, UInt

Guard = Callable[[Any], bool]
"""Tells whether a value may be an argument, as cel-go's dynamic dispatch does (types.go, IsAssignableRuntimeType)."""

_NAMED: Mapping[str, Type] = {
    "dyn": types.DYN,
    "null": types.NULL,
    "bool": types.BOOL,
    "int": types.INT,
    "uint": types.UINT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "bytes": types.BYTES,
    "timestamp": types.TIMESTAMP,
    "duration": types.DURATION,
    "type": types.TYPE,
    "quantity": types.QUANTITY,
    "url": types.URL,
    "ip": types.IP,
    "cidr": types.CIDR,
    "semver": types.SEMVER,
    "format": types.NAMED_FORMAT,
    "authorizer": types.AUTHORIZER,
    "pathcheck": types.PATH_CHECK,
    "groupcheck": types.GROUP_CHECK,
    "resourcecheck": types.RESOURCE_CHECK,
    "decision": types.DECISION,
}

CLASSES: Mapping[Type, type] = {
    types.BOOL: bool,
    types.INT: int,
    types.UINT: UInt,
    types.DOUBLE: float,
    types.STRING: str,
    types.BYTES: bytes,
    types.TIMESTAMP: Timestamp,
    types.DURATION: Duration,
    types.NULL: type(None),
}
"""The Python class of types that have exactly one."""


@dataclass(frozen=True, slots=True, eq=False)
class Overload:
    """One way to call a function; a method's target is its first parameter."""

    function: str
    is_method: bool
    parameters: tuple[Type, ...]
    result: Type
    run: Callable[..., Any]
    guards: tuple[Guard, ...]
    metered: bool = False
    """``run`` takes the budget first, as its cost is not bounded by the size of the expression."""
    stored_only: bool = False
    """Known to stored expressions only: the API server refuses it in new ones until every supported release has it."""
    kept: Callable[[str], Any] | None = None
    """Answers for short text as ``run`` does, and remembers: the containers of a job ask for the same few over and over."""


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """All overloads of one name. ``operator`` answers all of them at once where cel-go dispatches on values, not overloads."""

    name: str
    overloads: tuple[Overload, ...]
    operator: Callable[..., Any] | None = None
    metered: bool = False

    def takes(self, count: int) -> bool:
        """Tell whether a call may have so many arguments, with its target; one of an expression that is not checked may not."""
        return not self.overloads or any(len(item.parameters) == count for item in self.overloads)


def overload(
    signature: str,
    run: Callable[..., Any],
    *,
    metered: bool = False,
    stored_only: bool = False,
    any_elements: bool = False,
    kept: Callable[[str], Any] | None = None,
) -> Overload:
    """Declare one overload; ``any_elements`` takes lists and maps of anything, as functions of cel-go without type guards do."""
    is_method, name, parameters, result = _read_signature(signature)
    shallow = tuple(Type(part.kind, part.name, (types.DYN,) * len(part.parameters)) for part in parameters)
    guards = tuple(guard_of(parameter) for parameter in (shallow if any_elements else parameters))
    return Overload(name, is_method, parameters, result, run, guards, metered=metered, stored_only=stored_only, kept=kept)


def operator(run: Callable[..., Any], signatures: Iterable[str], *, metered: bool = False) -> Function:
    """Declare a function whose overloads share one implementation."""
    overloads = tuple(overload(signature, run, metered=metered) for signature in signatures)
    return Function(overloads[0].function, overloads, run, metered=metered)


def group(overloads: Iterable[Overload]) -> dict[str, Function]:
    """Collect overloads into functions, in the order of declaration: it decides which one answers."""
    names: dict[str, list[Overload]] = {}
    for item in overloads:
        names.setdefault(item.function, []).append(item)
    return {name: Function(name, tuple(items)) for name, items in names.items()}


def guard_of(type_: Type) -> Guard:
    """Return the check of an argument at run time; only the first element of a list or map is looked at, as cel-go does."""
    if type_ in CLASSES:
        wanted = CLASSES[type_]
        return lambda value: type(value) is wanted
    if type_.kind is Kind.LIST:
        inner = guard_of(type_.parameters[0])
        return lambda value: type(value) is list and (not value or inner(value[0]))
    if type_.kind is Kind.MAP:
        return lambda value: isinstance(value, Mapping)
    if type_.kind in (Kind.OPAQUE, Kind.TYPE, Kind.STRUCT):
        name = type_.name
        return lambda value: getattr(getattr(value, "cel_type", None), "name", None) == name
    return lambda _: True


_TOKEN = re.compile(r"\s*(->|[^\s(),]+|[(),])")


def _read_signature(text: str) -> tuple[bool, str, tuple[Type, ...], Type]:
    tokens = _TOKEN.findall(text)
    is_method = tokens[0] == "("
    target: list[Type] = []
    if is_method:
        tokens.pop(0)
        target = [_read_type(tokens)]
        tokens.pop(0)
    name = tokens.pop(0).removeprefix(".")
    parameters = target + _read_list(tokens)
    tokens.pop(0)
    return is_method, name, tuple(parameters), _read_type(tokens)


def _read_list(tokens: list[str]) -> list[Type]:
    """Read ``(a, b)``."""
    items = []
    while tokens.pop(0) != ")":
        if tokens[0] == ")":
            continue
        items.append(_read_type(tokens))
    return items


def _read_type(tokens: list[str]) -> Type:
    name = tokens.pop(0)
    if len(name) == 1 and name.isupper():
        return types.parameter(name)
    if tokens and tokens[0] == "(":
        inner = _read_list(tokens)
        makers: dict[str, Callable[..., Type]] = {
            "list": types.list_of,
            "map": types.map_of,
            "optional": types.optional_of,
            "type": types.type_of,
        }
        return makers[name](*inner)
    return _NAMED[name]
