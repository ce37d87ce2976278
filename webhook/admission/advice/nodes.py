"""Questions about syntax trees that several rules ask."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.admission.advice.paths import Scope, loop_names
from webhook.cel.syntax import Constant, Index, Macro, Name, Node, Select, children

ROOTS = frozenset({"object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer", "cluster"})


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything below."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += children(one)


def roots_of(node: Node) -> frozenset[str]:
    """Return the variables that an expression reads; a loop variable of the same name counts as one of them."""
    return frozenset(one.name for one in walk(node) if isinstance(one, Name) and one.name in ROOTS)


def mentions(node: Node, *fields: str) -> bool:
    """Tell whether one of some fields or keys is read anywhere in an expression."""
    return any(
        (isinstance(one, Select) and one.field in fields)
        or (isinstance(one, Index) and isinstance(one.key, Constant) and one.key.value in fields)
        for one in walk(node)
    )


def loops(node: Node, scope: Scope) -> Iterator[tuple[Macro, Scope]]:
    """Yield the loops of an expression, each with the scope of its range."""
    if isinstance(node, Macro):
        yield node, scope
        inner = scope.having(loop_names(node, scope))
        yield from loops(node.range, scope)
        for part in (node.filter, node.body):
            if part is not None:
                yield from loops(part, inner)
        return
    for child in children(node):
        yield from loops(child, scope)
