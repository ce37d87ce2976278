"""What is known at a place of an expression: which operations and kinds are still possible there, and which fields are present.

``a && b`` evaluates ``b`` in earnest only where ``a`` holds, and an error of either is absorbed where the other is false; so
each term is read under all the others, whatever their order. Guards are taken generously: a field that is looked at by ``?.``
beside counts as looked after, for advice that is wrong is worse than advice that is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from webhook.admission.advice.paths import Path, Paths, Scope, below, is_optional, loop_names, paths_of, step_of
from webhook.admission.advice.schemas import has_path
from webhook.admission.advice.subject import Case
from webhook.admission.ask import resource_of
from webhook.cel.syntax import Call, Conditional, Constant, Index, ListLiteral, Logical, Macro, Name, Node, Select, children
from webhook.model.objects import Kind

_KIND_PATHS = ("object.kind", "oldObject.kind", "request.kind.kind", "request.requestKind.kind")
_RESOURCE_PATHS = ("request.resource.resource", "request.requestResource.resource")
_NULL = {"object": frozenset({"DELETE"}), "oldObject": frozenset({"CREATE", "CONNECT"})}
"""Operations in which an object is null."""


@dataclass(frozen=True, slots=True)
class Context:
    """What is known at a place."""

    cases: frozenset[Case]
    """What may still be asked about; nothing: the place is never reached."""
    present: frozenset[Path] = frozenset()
    """Fields that are there."""
    asked: frozenset[Path] = frozenset()
    """Fields that a condition has read with ``?.``, whatever it made of what it found."""

    def knows(self, paths: Iterable[Path]) -> bool:
        """Tell whether one of some fields has been looked after."""
        return any(path in self.present or path in self.asked for path in paths)

    @property
    def kinds(self) -> frozenset[Kind]:
        """Return the built-in kinds that get here."""
        return frozenset(kind for _, kind in self.cases if kind is not None)

    @property
    def operations(self) -> frozenset[str]:
        """Return the operations that get here."""
        return frozenset(operation for operation, _ in self.cases)

    def with_present(self, paths: Iterable[Path]) -> Context:
        """Return the same with fields that are there."""
        return replace(self, present=self.present.union(paths))

    def with_asked(self, paths: Iterable[Path]) -> Context:
        """Return the same with fields that somebody has asked about."""
        return replace(self, asked=self.asked.union(paths))

    def meet(self, other: Context) -> Context:
        """Return what is known where both are."""
        return Context(self.cases & other.cases, self.present | other.present, self.asked | other.asked)

    def where(self, test: Callable[[str, Kind | None], bool]) -> Context:
        """Return the same with the cases that pass a test."""
        return replace(self, cases=frozenset(case for case in self.cases if test(*case)))


def when(node: Node, context: Context, scope: Scope, *, holds: bool) -> Context:
    """Return what is known where a condition holds, or where it does not."""
    match node:
        case Logical():
            if (node.operator == "_&&_") is holds:
                return when_all(node.terms, context, scope, hold=holds)
            return _any([when(term, context, scope, holds=holds) for term in node.terms])
        case Call() if node.function == "!_":
            return when(node.arguments[0], context, scope, holds=not holds)
        case Conditional():
            first = when(node.then, when(node.test, context, scope, holds=True), scope, holds=holds)
            second = when(node.otherwise, when(node.test, context, scope, holds=False), scope, holds=holds)
            return _any([first, second])
        case Macro() if node.name in ("all", "exists") and isinstance(node.range, ListLiteral) and len(node.range.items) == 1:
            return when(node.body, context, scope.having(loop_names(node, scope)), holds=holds)
        case Select() if (part := scope.variable(node)) is not None:
            return scope.of_variable(part, (context, holds), lambda root, inner: when(root, context, inner, holds=holds))
        case Select() if node.test:
            return _present(node, context, scope) if holds else context
        case Constant() if isinstance(node.value, bool) and node.value is not holds:
            return replace(context, cases=frozenset())
        case Macro() if (asked := _asked_of_many(node)) is not None:
            compared, values, equal = asked
            return _equal(compared, values, context, scope, holds=holds is equal)
        case _:
            return _when_compared(node, context, scope, holds=holds)


def when_all(terms: Sequence[Node], context: Context, scope: Scope, *, hold: bool = True) -> Context:
    """Return what is known where all conditions hold, or where none does."""
    for term in terms:
        context = when(term, context, scope, holds=hold)
    return context


def when_others(terms: Sequence[Node], context: Context, scope: Scope, *, hold: bool) -> list[Context]:
    """Return for each of some conditions what is known where all others hold, or where none of them does."""
    each = [when(term, context, scope, holds=hold) for term in terms]
    before, after = [context], [context]
    for one, last in zip(each, reversed(each), strict=True):
        before.append(before[-1].meet(one))
        after.append(after[-1].meet(last))
    return [before[place].meet(after[len(each) - 1 - place]) for place in range(len(each))]


def _any(contexts: Sequence[Context]) -> Context:
    """Return what is known where one of several holds.

    A field that is there in one of them stays known if the others are about other cases: it is not read there.
    """
    possible = [context for context in contexts if context.cases]
    return Context(
        frozenset[Case]().union(*(context.cases for context in possible)),
        frozenset(
            path
            for one in possible
            for path in one.present
            if all(path in other.present or not one.cases & other.cases for other in possible)
        ),
        frozenset[Path]().union(*(context.asked for context in possible)),
    )


def _asked_of_many(node: Macro) -> tuple[Node, list[object], bool] | None:
    """Read ``[a, b].all(x, y != x)`` and ``[a, b].exists(x, y == x)`` as y, the values, and whether y is one of them."""
    wanted = {"all": "_!=_", "exists": "_==_"}.get(node.name)
    body, ranged = node.body, node.range
    if not isinstance(body, Call) or body.function != wanted or not isinstance(ranged, ListLiteral):
        return None
    values: list[object] = [item.value for item in ranged.items if isinstance(item, Constant)]
    others = [one for one in body.arguments if not (isinstance(one, Name) and one.name in node.variables)]
    if len(values) < len(ranged.items) or len(others) != 1:
        return None
    return others[0], values, node.name == "exists"


def _present(node: Select, context: Context, scope: Scope) -> Context:
    """Note a field that ``has()`` has seen; there is none on null."""
    bases = paths_of(node.operand, scope)
    found = _of_kinds(context.with_present(below(bases, node.field)), below(bases, node.field))
    return _not_null(found, {base[0] for base in bases if len(base) == 1})


def _of_kinds(context: Context, paths: Paths) -> Context:
    """Narrow a context to the kinds that have one of these fields."""
    if not paths:
        return context
    return context.where(lambda _, kind: kind is None or any(has_path(kind, path[1:]) for path in paths))


def _not_null(context: Context, roots: Iterable[str]) -> Context:
    null = frozenset[str]().union(*(_NULL[root] for root in roots))
    return context.where(lambda operation, _: operation not in null)


def _when_compared(node: Node, context: Context, scope: Scope, *, holds: bool) -> Context:
    looked_at = context.with_asked(optional_paths(node, scope))
    if not isinstance(node, Call):
        return looked_at
    if node.function == "hasValue" and holds and node.target is not None:
        return _of_kinds(looked_at, paths_of(node.target, scope))
    if node.function == "@in" and holds and isinstance(node.arguments[0], Constant):
        looked_at = looked_at.with_present(below(paths_of(node.arguments[1], scope), step_of(node.arguments[0])))
    if node.function in ("_!=_", "_==_"):
        left, right = node.arguments
        if isinstance(left, Constant):
            left, right = right, left
        if isinstance(right, Constant):
            return _equal(left, [right.value], looked_at, scope, holds=holds is (node.function == "_==_"))
    if node.function == "@in" and isinstance(node.arguments[1], ListLiteral):
        items = node.arguments[1].items
        values = [item.value for item in items if isinstance(item, Constant)]
        if len(values) == len(items):
            return _equal(node.arguments[0], values, looked_at, scope, holds=holds)
    return looked_at


def _equal(node: Node, values: Sequence[object], context: Context, scope: Scope, *, holds: bool) -> Context:
    """Narrow a context by a comparison with constants."""
    written = dotted(node)
    if values == [None]:
        roots = [path[0] for path in paths_of(node, scope) if len(path) == 1]
        if len(roots) != 1:
            return context
        return context.where(lambda operation, _: operation in _NULL[roots[0]]) if holds else _not_null(context, roots)
    if written == "request.operation":
        return context.where(lambda operation, _: (operation in values) is holds)
    if written in _KIND_PATHS:
        return context.where(lambda _, kind: kind is None or (kind.kind in values) is holds)
    if written in _RESOURCE_PATHS:
        return context.where(lambda _, kind: kind is None or (resource_of(kind)[0].resource in values) is holds)
    return context


def optional_paths(node: Node, scope: Scope) -> frozenset[Path]:
    """Return the fields within an expression that are read with ``?.``."""
    found: set[Path] = set()
    waiting = [(node, scope)]
    while waiting:
        one, seen = waiting.pop()
        part = seen.variable(one)
        if part is not None:
            found |= seen.of_variable(part, "optional_paths", optional_paths)
            continue
        if isinstance(one, Select | Index) and is_optional(one, seen):
            found |= paths_of(one, seen)
        if isinstance(one, Macro):
            seen = seen.having(loop_names(one, seen))
        waiting += [(child, seen) for child in children(one)]
    return frozenset(found)


def dotted(node: Node) -> str:
    """Return ``a.b.c`` where a node is that, whatever ``dyn()`` stands around it; empty otherwise."""
    match node:
        case Name():
            return node.name
        case Select() if not node.test:
            inner = dotted(node.operand)
            return f"{inner}.{node.field}" if inner else ""
        case Call() if node.function == "dyn" and node.target is None and node.arguments:
            return dotted(node.arguments[0])
        case _:
            return ""
