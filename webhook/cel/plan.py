"""From a checked syntax tree to closures: each node becomes a function of the frame, made once, called for every request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_never

from webhook.cel import access, calls, logic, loops
from webhook.cel.budget import Budget
from webhook.cel.check import TYPE_NAMES, Checker
from webhook.cel.compare import is_key
from webhook.cel.errors import CompileError, EvaluationError, Overrun
from webhook.cel.frames import FIRST_SLOT, Closure
from webhook.cel.syntax import (
    Call,
    Conditional,
    Constant,
    Index,
    ListLiteral,
    Logical,
    Macro,
    MapLiteral,
    Name,
    Node,
    Select,
    StructLiteral,
)
from webhook.cel.values import TypeValue, type_name

_FOLD_STEPS = 10_000
"""Most that folding one constant call may cost; a dearer call is left to the evaluation, which has a budget of its own."""

_CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"})
"""Calls that the API server folds when it builds a program, and refuses the expression if that fails (cel-go decorators.go)."""


class Planner:
    """Plans one expression. ``slots`` counts the loop variables that a frame must hold."""

    def __init__(self, checker: Checker) -> None:
        self.slots = 0
        self._checker = checker
        self._scopes: list[dict[str, int]] = []
        self._constants: dict[Closure, Any] = {}

    def plan(self, node: Node) -> Closure:
        """Return the closure of a node; raises CompileError for a constant that has no value."""
        match node:
            case Constant():
                return self._constant(node.value)
            case Name():
                return self._plan_name(node)
            case Select():
                return self._plan_select(node)
            case Index():
                return self._plan_index(node)
            case Call():
                return self._plan_call(node)
            case Logical():
                return logic.chain([self.plan(term) for term in node.terms], stop=node.operator == "_||_")
            case Conditional():
                return logic.choose(self.plan(node.test), self.plan(node.then), self.plan(node.otherwise))
            case ListLiteral():
                return self._plan_list(node)
            case MapLiteral():
                return self._plan_map(node)
            case StructLiteral():
                raise CompileError(f"unsupported: typed object '{node.name}'", *node.place)
            case Macro():
                return self._plan_macro(node)
        assert_never(node)

    def _constant(self, value: Any) -> Closure:
        def run(_: object) -> Any:
            return value

        self._constants[run] = value
        return run

    def _plan_name(self, node: Name | Select) -> Closure:
        name = self._checker.names.get(node)
        if name is None:
            assert isinstance(node, Name)  # noqa: S101 - the checker resolves every other name
            return access.read_slot(next(scope[node.name] for scope in reversed(self._scopes) if node.name in scope))
        if self._checker.declarations.type_of(name) is None:
            return self._constant(TypeValue(TYPE_NAMES[name].name))
        return access.read_variable(name)

    def _plan_select(self, node: Select) -> Closure:
        if node in self._checker.names:
            return self._plan_name(node)
        if node.test:
            return access.test_field(self.plan(node.operand), node.field)
        if node.optional:
            return access.read_optional(self.plan(node.operand), self._constant(node.field))
        start, fields = self._path(node)
        closure = self.plan(start)
        return access.read_field(closure, fields[0]) if len(fields) == 1 else access.read_path(closure, fields)

    def _path(self, node: Node) -> tuple[Node, tuple[str, ...]]:
        """Split ``a.b['c'].d`` into where it starts and the fields it follows."""
        fields: list[str] = []
        while node not in self._checker.names:
            if isinstance(node, Select) and not node.test and not node.optional:
                fields.append(node.field)
                node = node.operand
            elif isinstance(node, Index) and not node.optional and isinstance(node.key, Constant) and type(node.key.value) is str:
                fields.append(node.key.value)
                node = node.operand
            else:
                break
        return node, tuple(reversed(fields))

    def _plan_index(self, node: Index) -> Closure:
        start, fields = self._path(node)
        if fields:
            return access.read_path(self.plan(start), fields)
        operand, key = self.plan(node.operand), self.plan(node.key)
        if key in self._constants and not is_key(self._constants[key]):
            raise CompileError(f"invalid qualifier type: {type_name(self._constants[key])}", *node.place)
        return access.read_optional(operand, key) if node.optional else access.read_index(operand, key)

    def _plan_call(self, node: Call) -> Closure:
        arguments = [self.plan(argument) for argument in node.arguments]
        if node in self._checker.host_calls:
            return calls.call_host(self._checker.host_calls[node], node.function, arguments)
        name = self._checker.names.get(node, node.function)
        if node.target is not None and node not in self._checker.names:
            arguments.insert(0, self.plan(node.target))
        closure = self._specialise(name, arguments) or calls.call(
            self._checker.functions[name], self._checker.overloads[node], arguments
        )
        return self._fold(node, name, closure) if all(item in self._constants for item in arguments) else closure

    def _specialise(self, name: str, arguments: list[Closure]) -> Closure | None:
        """Return a closure made for operators that are everywhere, with constants on their right taken in."""
        makers: Mapping[str, Callable[[Closure, Closure], Closure]] = {
            "_==_": logic.equals,
            "_!=_": logic.differs,
            "@in": logic.is_in,
        }
        if name == "!_":
            return logic.negate(arguments[0])
        if name == "@in" and arguments[1] in self._constants:
            return logic.is_in_constant(arguments[0], self._constants[arguments[1]])
        if name in ("or", "orValue"):
            return logic.either(arguments[0], arguments[1], unwrap=name == "orValue")
        if name in makers:
            return makers[name](arguments[0], arguments[1])
        return None

    def _fold(self, node: Node, name: str, closure: Closure) -> Closure:
        """Evaluate a call of constants once. One that fails keeps failing at every evaluation, unless it is a conversion."""
        try:
            return self._constant(closure([{}, Budget(_FOLD_STEPS)]))
        except Overrun:
            return closure
        except EvaluationError as error:
            if name in _CONVERSIONS:
                raise CompileError(error.message, *node.place) from error
            return closure

    def _plan_list(self, node: ListLiteral) -> Closure:
        items = [self.plan(item) for item in node.items]
        if any(node.optional):
            return logic.make_optional_list(items, tuple(node.optional))
        if all(item in self._constants for item in items):
            return self._constant([self._constants[item] for item in items])
        return logic.make_list(items)

    def _plan_map(self, node: MapLiteral) -> Closure:
        keys, values = [self.plan(key) for key in node.keys], [self.plan(value) for value in node.values]
        closure = logic.make_map_literal(keys, values, tuple(node.optional))
        if not any(node.optional) and all(item in self._constants for item in keys + values):
            return self._fold(node, "", closure)
        return closure

    def _plan_macro(self, node: Macro) -> Closure:
        range_ = self.plan(node.range)
        slots = tuple(self._take_slot() for _ in node.variables)
        self._scopes.append(dict(zip(node.variables, slots, strict=True)))
        filter_ = self.plan(node.filter) if node.filter is not None else None
        body = self.plan(node.body)
        self._scopes.pop()
        match node.name:
            case "all" | "exists":
                return loops.quantify(range_, slots, body, stop=node.name == "exists")
            case "exists_one":
                return loops.exists_one(range_, slots, body)
            case "map" | "transformList":
                return loops.transform(range_, slots, filter_, body)
            case "filter":
                return loops.keep(range_, slots, body)
            case "transformMap":
                return loops.transform_map(range_, slots, filter_, body)
            case "transformMapEntry":
                return loops.transform_entries(range_, slots, filter_, body)
            case "sortBy":
                return loops.sort_by(range_, slots, body)
            case "optMap" | "optFlatMap":
                return loops.optional_map(range_, slots, body, flat=node.name == "optFlatMap")

    def _take_slot(self) -> int:
        self.slots += 1
        return FIRST_SLOT + self.slots - 1
