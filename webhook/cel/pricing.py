"""What each node of an expression costs by itself, in the API server's units, as far as that is known before it runs.

A node's price leaves out its parts, and what depends on values: see ``costs``. The planner and the generator add up the prices of
a straight run of nodes and charge them at once, where the run begins.

cel-go charges an attribute (a variable with the fields and indexes that follow it) 1 when it is read, and 1 for every field or
index. It is not *read* where it is the start of a longer attribute, a key, or a branch of a conditional: there only the fields
count (interpreter/attributes.go, interpreter/runtimecost.go). What cel-go makes a constant of costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from webhook.cel import costs
from webhook.cel.check import Checker
from webhook.cel.costs import Formula
from webhook.cel.syntax import (
    Call,
    Conditional,
    Constant,
    Index,
    ListLiteral,
    Logical,
    Macro,
    MacroName,
    MapLiteral,
    Name,
    Node,
    Select,
    StructLiteral,
    children,
)

CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})
"""Calls that the API server folds when it builds a program, and refuses the expression if that fails (cel-go decorators.go)."""

_MEMBERS = frozenset({"bool", "double", "int", "string", "uint"})
"""Conversions to what sets of constants may hold."""

_SELF_EVALUATED = frozenset({"or", "orValue"})
_MACROS: Mapping[MacroName, int] = {"exists_one": 2, "sortBy": 3, "optMap": 2, "optFlatMap": 1}
"""What macros cost once, where it is not 1: what cel-go's parser makes of them ends in other calls (parser/macro.go)."""


class Rates(NamedTuple):
    """What a turn of a loop costs: ``each`` one; one that is ``kept`` by a filter on top; the ``check`` after the last one."""

    each: int
    kept: int
    check: int


_RATES: Mapping[MacroName, tuple[int, int, int]] = {
    "all": (3, 0, 2),
    "exists": (4, 0, 3),
    "exists_one": (0, 2, 0),
    "map": (costs.LIST + 2, 0, 0),
    "transformList": (costs.LIST + 2, 0, 0),
    "filter": (0, costs.LIST + 3, 0),
    "transformMap": (3, 0, 0),
    "transformMapEntry": (2, 0, 0),
    "sortBy": (costs.LIST + 2, 0, 0),
    "optMap": (0, 0, 0),
    "optFlatMap": (0, 0, 0),
}


class Prices:
    """Prices of the nodes of one checked expression. ``folded`` are the nodes that cel-go makes constants of."""

    def __init__(self, root: Node, checker: Checker) -> None:
        self.folded: set[Node] = set()
        self._checker = checker
        self._units: dict[Node, int] = {}
        self._formulas: dict[Node, Formula] = {}
        self._price(root, read=True)
        self._first: set[Node] = set()
        self._find_first(root)

    def of(self, node: Node) -> int:
        """Return the price of a node without its parts."""
        return self._units[node]

    def wraps_around(self, test: Select) -> bool:
        """Tell whether ``has((constant ? a : b).field)`` is the first that costs anything.

        cel-go takes a unit back for it (runtimecost.go), and where nothing was paid its unsigned counter is over any limit.
        """
        start: Node = test
        while isinstance(start, Select | Index) and start not in self._checker.names:
            start = start.operand
        return test in self._first and isinstance(start, Conditional) and self._is_free(start.test)

    def _find_first(self, node: Node) -> None:
        """Collect what is evaluated before anything that has a price."""
        self._first.add(node)
        parts = [node.range] if isinstance(node, Macro) else children(node)
        for part in self._parts(node) if isinstance(node, Call) else parts:
            self._find_first(part)
            if not self._is_free(part):
                break

    def _is_free(self, node: Node) -> bool:
        return node in self.folded or (isinstance(node, Logical) and all(map(self._is_free, node.terms)))

    def formula(self, node: Node) -> Formula | None:
        """Return what a call costs on top, by its arguments."""
        return self._formulas.get(node)

    def _price(self, node: Node, *, read: bool) -> None:
        match node:
            case Constant():
                self._fold(node)
            case Name():
                self._price_name(node, read=read)
            case Select():
                self._price_select(node, read=read)
            case Index():
                self._price_step(node, node.operand, read=read)
                self._price(node.key, read=not self._is_attribute(node.key))
            case Call():
                self._price_call(node)
            case Logical():
                self._price_all(node, node.terms, 0)
            case Conditional():
                self._price(node.test, read=True)
                for branch in (node.then, node.otherwise):
                    self._price(branch, read=not self._is_attribute(branch))
                self._units[node] = 0
            case ListLiteral() | MapLiteral():
                self._price_literal(node)
            case StructLiteral():
                self._price_all(node, node.values, costs.STRUCT)
            case Macro():
                self._price_macro(node)

    def _fold(self, node: Node) -> None:
        self._units[node] = 0
        self.folded.add(node)

    def _price_all(self, node: Node, parts: Sequence[Node], units: int) -> None:
        for part in parts:
            self._price(part, read=True)
        self._units[node] = units

    def _price_name(self, node: Name | Select, *, read: bool) -> None:
        name = self._checker.names.get(node)
        if name is not None and self._checker.declarations.type_of(name) is None:
            self._fold(node)
        else:
            self._units[node] = int(read)

    def _price_select(self, node: Select, *, read: bool) -> None:
        if node in self._checker.names:
            self._price_name(node, read=read)
        else:
            self._price_step(node, node.operand, read=read and not node.test)

    def _price_step(self, node: Node, operand: Node, *, read: bool) -> None:
        self._price(operand, read=not self._is_attribute(operand))
        self._units[node] = 1 + int(read and not self._starts_with_choice(operand))

    def _is_attribute(self, node: Node) -> bool:
        if isinstance(node, Select | Name) and node in self._checker.names:
            return self._checker.declarations.type_of(self._checker.names[node]) is not None
        return isinstance(node, Name | Select | Index | Conditional)

    def _starts_with_choice(self, node: Node) -> bool:
        while isinstance(node, Select | Index) and node not in self._checker.names:
            node = node.operand
        return isinstance(node, Conditional)

    def _price_call(self, node: Call) -> None:
        name = self._checker.names.get(node, node.function)
        parts = self._parts(node)
        self._price_all(node, parts, 0)
        folded = self.folded.issuperset(parts)
        if name in CONVERSIONS and len(parts) == 1 and folded:
            self._fold(node)
        elif name in _SELF_EVALUATED:
            return
        elif name == "@in" and parts[1] in self.folded and self._is_set(node, parts[1]):
            if not self._items(parts[1]):
                self._fold(node)
        elif name == "@in" and self.is_list(node):
            self._formulas[node] = costs.MEMBERSHIP
        elif name in ("_==_", "_!=_") and any(_is_empty(part) for part in parts):
            return  # a tenth of the shorter side
        elif node in self._checker.host_calls:
            self._units[node] = 1
        else:
            self._take(node, costs.price_of(name, self._checker.overloads.get(node, ())))

    def _parts(self, node: Call) -> list[Node]:
        is_named = node.target is None or node in self._checker.names or node in self._checker.host_calls
        return node.arguments if is_named or node.target is None else [node.target, *node.arguments]

    def _take(self, node: Node, price: int | Formula) -> None:
        if isinstance(price, Formula):
            self._formulas[node] = price
        else:
            self._units[node] += price

    def is_list(self, node: Call) -> bool:
        """Tell whether the checker is sure that the right side of ``in`` is a list."""
        fitting = self._checker.overloads.get(node, ())
        return len(fitting) == 1 and fitting[0].parameters[1].name == "list"

    def _is_set(self, node: Call, right: Node) -> bool:
        items = self._items(right)
        return self.is_list(node) and all(map(self._is_member, items))

    def _is_member(self, node: Node) -> bool:
        """Tell whether a constant, converted or not, can be a member of one of cel-go's sets."""
        if isinstance(node, Call) and node in self.folded:
            name = self._checker.names.get(node, node.function)
            return self._is_member(node.arguments[0]) if name == "dyn" else name in _MEMBERS
        return isinstance(node, Constant) and costs.is_member_type(node.value)

    @staticmethod
    def _items(node: Node) -> Sequence[Node]:
        return node.items if isinstance(node, ListLiteral) else [node]

    def _price_literal(self, node: ListLiteral | MapLiteral) -> None:
        parts = children(node)
        units = costs.LIST if isinstance(node, ListLiteral) else costs.MAP
        self._price_all(node, parts, units)
        if not any(node.optional) and self.folded.issuperset(parts):
            self._fold(node)

    def _price_macro(self, node: Macro) -> None:
        self._price_all(node, children(node), _MACROS.get(node.name, 1))
        if node.name == "sortBy":
            self._take(node, costs.price_of("@sortByAssociatedKeys", self._checker.overloads.get(node, ())))

    def reads_twice(self, node: Macro) -> bool:
        """Tell whether cel-go evaluates the range of ``optMap`` a second time: it does where the body asks for the value."""
        return self._mentions(node.body, node.variables[0])

    def _mentions(self, node: Node, variable: str) -> bool:
        """Tell whether a loop variable is read below a node (and not another one of its name)."""
        if isinstance(node, Name):
            return node.name == variable and node not in self._checker.names
        if isinstance(node, Macro) and variable in node.variables:
            return self._mentions(node.range, variable)
        return any(self._mentions(part, variable) for part in children(node))

    def rates(self, node: Macro) -> Rates:
        """Return what the turns of a loop cost besides its parts."""
        each, kept, check = _RATES[node.name]
        if node.name in ("map", "transformList") and node.body in self.folded:
            each -= costs.LIST
        if node.filter is not None:
            each, kept = 0, each
        return Rates(each, kept, check)


def _is_empty(node: Node) -> bool:
    match node:
        case Constant():
            return node.value in ("", b"")
        case ListLiteral():
            return not node.items
        case MapLiteral():
            return not node.keys
        case _:
            return False
