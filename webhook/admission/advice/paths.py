"""Which fields of ``object`` and ``oldObject`` a part of an expression stands for.

A path runs over fields, keys and ``[*]`` for any element of a list. What cannot be followed, such as the result of a function,
has no path, and nothing is said about it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from webhook.admission.advice.subject import Part, Role, Subject
from webhook.cel.syntax import Call, Conditional, Constant, Index, ListLiteral, Macro, Name, Node, Select

Path: TypeAlias = tuple[str, ...]
Paths: TypeAlias = frozenset[Path]
Answer = TypeVar("Answer")
ELEMENT = "[*]"
NOWHERE: Paths = frozenset()
_ROOTS = ("object", "oldObject")
_JOINED = ("orValue", "or", "_+_")
"""Functions whose result is one of their operands, or has the elements of all."""
_SAME = ("dyn", "value", "distinct", "sort", "reverse")
"""Functions whose result has the fields of what they are given."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean at a place: loop variables, and the variables of the policy."""

    variables: Mapping[str, Part]
    local: Mapping[str, Paths]
    _known: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was found out about variables: each may be read by two others, and those by four."""

    @classmethod
    def of(cls, subject: Subject) -> Scope:
        """Return the scope in which the expressions of a policy begin."""
        return cls({part.name: part for part in subject.having(Role.VARIABLE)}, {})

    def within(self, part: Part) -> Scope:
        """Return the scope of a variable's expression: the loops around the place that reads it are not seen there."""
        return replace(self, local={}) if part.role is Role.VARIABLE else self

    def having(self, names: Mapping[str, Paths]) -> Scope:
        """Return the scope within a loop."""
        return replace(self, local={**self.local, **names})

    def variable(self, node: Node) -> Part | None:
        """Return the variable of the policy that a node reads."""
        if isinstance(node, Select) and isinstance(node.operand, Name) and node.operand.name == "variables" and not node.test:
            return self.variables.get(node.field)
        return None

    def of_variable(self, part: Part, question: Hashable, ask: Callable[[Node, Scope], Answer]) -> Answer:
        """Ask something of a variable's expression, once for all places that read it."""
        key = (part, question)
        if key not in self._known:
            self._known[key] = ask(part.root, self.within(part))
        found: Answer = self._known[key]
        return found


def paths_of(node: Node, scope: Scope) -> Paths:
    """Return the paths that a node may stand for."""
    match node:
        case Name():
            return scope.local.get(node.name, frozenset({(node.name,)}) if node.name in _ROOTS else NOWHERE)
        case Select():
            part = scope.variable(node)
            if part is not None:
                return scope.of_variable(part, "paths_of", paths_of)
            return NOWHERE if node.test else below(paths_of(node.operand, scope), node.field)
        case Index():
            return below(paths_of(node.operand, scope), step_of(node.key))
        case Conditional():
            return paths_of(node.then, scope) | paths_of(node.otherwise, scope)
        case Call():
            return _paths_of_call(node, scope)
        case Macro() if node.name in ("filter", "sortBy"):
            return paths_of(node.range, scope)
        case _:
            return NOWHERE


def elements_of(node: Node, scope: Scope) -> Paths:
    """Return the paths of what a loop over a node runs over."""
    match node:
        case ListLiteral():
            return _all(paths_of(item, scope) for item in node.items)
        case Select() if (part := scope.variable(node)) is not None:
            return scope.of_variable(part, "elements_of", elements_of)
        case Conditional():
            return elements_of(node.then, scope) | elements_of(node.otherwise, scope)
        case Macro() if node.name in ("filter", "sortBy"):
            return elements_of(node.range, scope)
        case Macro() if node.name in ("map", "transformList"):
            return paths_of(node.body, scope.having(loop_names(node, scope)))
        case Call() if node.function in _JOINED:
            return _all(elements_of(one, scope) for one in _operands(node))
        case _:
            return below(paths_of(node, scope), ELEMENT)


def loop_names(node: Macro, scope: Scope) -> Mapping[str, Paths]:
    """Return what the variables of a loop stand for; of two, the first is an index or a key."""
    ranged = paths_of(node.range, scope) if node.name in ("optMap", "optFlatMap") else elements_of(node.range, scope)
    return dict(zip(node.variables, (ranged,) if len(node.variables) == 1 else (NOWHERE, ranged), strict=True))


def below(paths: Paths, step: str) -> Paths:
    """Return the paths one step further down."""
    return frozenset((*path, step) for path in paths)


def step_of(key: Node) -> str:
    """Return the step that an index takes."""
    return key.value if isinstance(key, Constant) and isinstance(key.value, str) else ELEMENT


def is_optional(node: Node, scope: Scope) -> bool:
    """Tell whether a node is an optional, on which further selection cannot fail."""
    match node:
        case Select() if (part := scope.variable(node)) is not None:
            return scope.of_variable(part, "is_optional", is_optional)
        case Select() | Index():
            return node.optional or is_optional(node.operand, scope)
        case Call():
            return node.function in ("or", "of", "ofNonZeroValue", "none", "first", "last")
        case Conditional():
            return is_optional(node.then, scope) or is_optional(node.otherwise, scope)
        case Macro():
            return node.name in ("optMap", "optFlatMap")
        case _:
            return False


def _paths_of_call(node: Call, scope: Scope) -> Paths:
    if node.function in _JOINED:
        return _all(paths_of(one, scope) for one in _operands(node))
    return paths_of(_operands(node)[0], scope) if node.function in _SAME and _operands(node) else NOWHERE


def _operands(node: Call) -> list[Node]:
    return node.arguments if node.target is None else [node.target, *node.arguments]


def _all(found: Iterable[Paths]) -> Paths:
    return NOWHERE.union(*found)
