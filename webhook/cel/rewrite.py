"""Expressions as text: replacing a variable by other text, and writing a JSON value as a literal.

For whoever must hand an expression to somebody who does not know one of its variables, as the API server's own policy
files know no ``params``. What comes out is compiled by the caller, so nothing is taken on trust here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from webhook.cel.parse import parse
from webhook.cel.syntax import Constant, Index, Macro, Name, Node, Place, Select, children
from webhook.cel.values import INT_MAX, INT_MIN

Path = tuple[str, ...]


def replace_variable(text: str, name: str, replacement: str) -> str:
    """Put ``replacement``, which must bind as tightly as a name, wherever the variable is read; raises CompileError.

    Loop variables of the same name, fields and text in quotes stay as they are.
    """
    starts = [0]
    for written in text.split("\n"):
        starts.append(starts[-1] + len(written) + 1)
    places = {place for place, _ in _reads(parse(text), name)}
    for line, column in sorted(places, reverse=True):
        start = starts[line - 1] + column - 1
        text = f"{text[:start]}{replacement}{text[start + len(name) :]}"
    return text


def paths_read(text: str, name: str) -> frozenset[Path]:
    """Return which parts of a variable an expression reads, such as ``("data",)``; raises CompileError.

    A path ends where the next step is known at run time only, so all below it may be read.
    """
    return frozenset(path for _, path in _reads(parse(text), name))


def literal(value: Any) -> str:
    """Write a JSON value as an expression of type ``dyn`` or of its own type.

    Items of different types are wrapped, because the API server refuses lists and maps that mix them.
    """
    match value:
        case None | bool() | str():
            return json.dumps(value, ensure_ascii=False)  # every escape of JSON is one of CEL
        case int() if INT_MIN <= value <= INT_MAX:
            return str(value)
        case int() | float():  # Go reads what is no int64 as a double
            return repr(float(value))
        case list():
            return f"[{', '.join(_alike(value))}]"
        case _:
            pairs = zip(value, _alike(list(value.values())), strict=True)
            return f"{{{', '.join(f'{literal(key)}: {written}' for key, written in pairs)}}}"


def _alike(values: list[Any]) -> list[str]:
    kinds = {type(value) for value in values}
    plain = len(kinds) <= 1 and not kinds & {dict, list}
    return [literal(value) if plain else f"dyn({literal(value)})" for value in values]


def _reads(node: Node, name: str) -> Iterator[tuple[Place, Path]]:
    """Yield where a variable is read, and the fields that are read of it there."""
    found = _path(node, name)
    if found is not None:
        yield found
    elif isinstance(node, Macro):
        yield from _reads(node.range, name)
        if name not in node.variables:
            for part in (node.filter, node.body):
                yield from _reads(part, name) if part is not None else ()
    else:
        for part in children(node):
            yield from _reads(part, name)


def _path(node: Node, name: str) -> tuple[Place, Path] | None:
    steps: list[str] = []
    while True:
        match node:
            case Select():
                steps.append(node.field)
                node = node.operand
            case Index(key=Constant(value=str() as key)):
                steps.append(key)
                node = node.operand
            case Name() if node.name == name:
                return node.place, tuple(reversed(steps))
            case _:
                return None
