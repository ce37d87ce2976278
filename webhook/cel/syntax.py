"""The syntax tree: what an expression says, with macros taken apart and the place of every part.

Trees are built from the leaves up by ``parse``; ``depth`` is known from the start, so whoever walks a tree recursively
knows that it will not run out of stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, assert_never

from webhook.cel.types import Type

Place: TypeAlias = tuple[int, int]
"""Line and column, both from 1."""


@dataclass(slots=True, eq=False, kw_only=True)
class _Node:
    place: Place
    depth: int = 1
    """Levels of nodes below and including this one; bounds the stack of whoever walks the tree."""
    nesting: int = 1
    """Levels as cel-go's grammar counts them: parentheses, arguments, right sides; neither left sides nor ``&&`` and ``||``."""
    visits: int = 0
    """Levels as cel-go counts them when it builds its tree: fields, indexes, methods, operators with two sides."""


@dataclass(slots=True, eq=False)
class Constant(_Node):
    """A literal."""

    value: Any
    type: Type


@dataclass(slots=True, eq=False)
class Name(_Node):
    """A variable, a loop variable or a type; ``root`` for a leading dot, which skips loop variables."""

    name: str
    root: bool = False


@dataclass(slots=True, eq=False)
class Select(_Node):
    """``operand.field``, ``operand.?field``, or ``has(operand.field)`` when ``test``."""

    operand: Node
    field: str
    optional: bool = False
    test: bool = False
    field_place: Place = (1, 1)


@dataclass(slots=True, eq=False)
class Index(_Node):
    """``operand[key]`` or ``operand[?key]``."""

    operand: Node
    key: Node
    optional: bool = False


@dataclass(slots=True, eq=False)
class Call(_Node):
    """A function or a method; operators are functions named as cel-go names them (``_+_``)."""

    function: str
    target: Node | None
    arguments: list[Node]


@dataclass(slots=True, eq=False)
class Logical(_Node):
    """A chain of ``&&`` or of ``||``, flat however long it is."""

    operator: Literal["_&&_", "_||_"]
    terms: list[Node]


@dataclass(slots=True, eq=False)
class Conditional(_Node):
    """``test ? then : otherwise``."""

    test: Node
    then: Node
    otherwise: Node


@dataclass(slots=True, eq=False)
class ListLiteral(_Node):
    """``[a, ?b]``; ``optional`` says for each item whether it may be absent."""

    items: list[Node]
    optional: list[bool]


@dataclass(slots=True, eq=False)
class MapLiteral(_Node):
    """``{a: b, ?c: d}``."""

    keys: list[Node]
    values: list[Node]
    optional: list[bool]


@dataclass(slots=True, eq=False)
class StructLiteral(_Node):
    """``Object.spec{field: value}``."""

    name: str
    fields: list[str]
    values: list[Node]
    optional: list[bool]
    field_places: list[Place] = field(default_factory=list)


MacroName: TypeAlias = Literal[
    "all",
    "exists",
    "exists_one",
    "map",
    "filter",
    "transformList",
    "transformMap",
    "transformMapEntry",
    "sortBy",
    "optMap",
    "optFlatMap",
]


@dataclass(slots=True, eq=False)
class Macro(_Node):
    """A loop over ``range``, or ``optMap``; one or two variables, a filter if the macro has one, and the body."""

    name: MacroName
    range: Node
    variables: list[str]
    filter: Node | None
    body: Node


Node: TypeAlias = (
    Constant | Name | Select | Index | Call | Logical | Conditional | ListLiteral | MapLiteral | StructLiteral | Macro
)


def children(node: Node) -> list[Node]:
    """List the parts of a node, in the order in which they are written."""
    match node:
        case Constant() | Name():
            return []
        case Select():
            return [node.operand]
        case Index():
            return [node.operand, node.key]
        case Call():
            return ([] if node.target is None else [node.target]) + node.arguments
        case Logical():
            return node.terms
        case Conditional():
            return [node.test, node.then, node.otherwise]
        case ListLiteral():
            return node.items
        case MapLiteral():
            return [part for pair in zip(node.keys, node.values, strict=True) for part in pair]
        case StructLiteral():
            return node.values
        case Macro():
            return [node.range, *([] if node.filter is None else [node.filter]), node.body]
    assert_never(node)
