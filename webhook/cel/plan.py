"""From a checked syntax tree to closures: each node becomes a function of the frame, made once, called for every request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, assert_never

from webhook.cel import access, calls, logic, loops, structs
from webhook.cel.budget import Budget
from webhook.cel.check import Checker
from webhook.cel.compare import is_key
from webhook.cel.errors import CompileError, EvaluationError, Overrun
from webhook.cel.frames import FIRST_SLOT, Closure
from webhook.cel.library import regex
from webhook.cel.library.regex import compile_pattern
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
from webhook.cel.types import TYPE_NAMES, Kind, Type, unwrap_optional
from webhook.cel.values import TypeValue, go_name

_FOLD_STEPS = 10_000
"""Most that folding one constant call may cost; a dearer call is left to the evaluation, which has a budget of its own."""

_CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})
"""Calls that the API server folds when it builds a program, and refuses the expression if that fails (cel-go decorators.go)."""

_PATTERNS = {"matches": regex.matches, "find": regex.find}
"""Functions whose constant pattern is compiled once."""


class Planner:
    """Plans one expression. ``slots`` counts the loop variables that a frame must hold."""

    def __init__(self, checker: Checker) -> None:
        self.slots = 0
        self._checker = checker
        self._scopes: list[dict[str, int]] = []
        self._constants: dict[Closure, Any] = {}
        self._shared_constants: set[Closure] = set()
        """Those that the API server folds too: it refuses an expression when their use fails, we fold more than it does."""

    def plan(self, node: Node) -> Closure:
        """Return the closure of a node; raises CompileError for a constant that has no value."""
        match node:
            case Constant():
                return self._constant(node.value, shared=True)
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
                return structs.make_object(node, [self.plan(value) for value in node.values])
            case Macro():
                return self._plan_macro(node)
        assert_never(node)

    def _constant(self, value: Any, *, shared: bool) -> Closure:
        def run(_: object) -> Any:
            return value

        self._constants[run] = value
        if shared:
            self._shared_constants.add(run)
        return run

    def _are_shared(self, closures: Iterable[Closure]) -> bool:
        return self._shared_constants.issuperset(closures)

    def _plan_name(self, node: Name | Select) -> Closure:
        name = self._checker.names.get(node)
        if name is None:
            assert isinstance(node, Name)  # noqa: S101 - the checker resolves every other name
            self._refuse_type_variable(node, self._checker.type_of(node), node.name)
            return access.read_slot(next(scope[node.name] for scope in reversed(self._scopes) if node.name in scope))
        if self._checker.declarations.type_of(name) is None:
            return self._constant(TypeValue(TYPE_NAMES[name].name), shared=True)
        return access.read_variable(name)

    def _refuse_type_variable(self, node: Node, type_: Type, name: str) -> None:
        """Refuse loop variables that hold types: cel-go takes their names for names of types (interpreter/planner.go)."""
        if type_.kind is Kind.TYPE:
            raise CompileError(f"reference to undefined type: {name}", *node.place)

    def _plan_select(self, node: Select) -> Closure:
        if node in self._checker.names:
            return self._plan_name(node)
        if node.test:
            return access.test_field(self.plan(node.operand), node.field)
        if node.optional:
            return access.read_optional(self.plan(node.operand), self._constant(node.field, shared=True))
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
        if key in self._shared_constants and not is_key(self._constants[key]):
            raise CompileError(f"invalid qualifier type: {go_name(self._constants[key])}", *node.place)
        return access.read_optional(operand, key) if node.optional else access.read_index(operand, key)

    def _plan_call(self, node: Call) -> Closure:
        arguments = [self.plan(argument) for argument in node.arguments]
        if node in self._checker.host_calls:
            return calls.call_host(self._checker.host_calls[node], node.function, arguments)
        name = self._checker.names.get(node, node.function)
        if node.target is not None and node not in self._checker.names:
            arguments.insert(0, self.plan(node.target))
        closure = self._specialise(node, name, arguments)
        if closure is None:
            closure = calls.call(self._checker.functions[name], self._checker.overloads[node], arguments)
        if any(item not in self._constants for item in arguments):
            return closure
        return self._fold(node, closure, shared=name in _CONVERSIONS and self._are_shared(arguments))

    def _specialise(self, node: Call, name: str, arguments: list[Closure]) -> Closure | None:
        """Return a closure made for operators that are everywhere, with constants on their right taken in."""
        makers: Mapping[str, Callable[[Closure, Closure], Closure]] = {
            "_==_": logic.equals,
            "_!=_": logic.differs,
            "@in": logic.is_in,
        }
        if name == "!_":
            return logic.negate(arguments[0])
        if name == "@in" and arguments[1] in self._shared_constants and type(self._constants[arguments[1]]) is list:
            return logic.is_in_constants(arguments[0], self._constants[arguments[1]])
        if name in _PATTERNS and len(arguments) == 2 and arguments[1] in self._shared_constants:
            return self._plan_pattern(node, name, arguments[0], self._constants[arguments[1]])
        if name in ("or", "orValue"):
            return logic.either(arguments[0], arguments[1], unwrap=name == "orValue")
        if name == "_==_" and type(self._constants.get(arguments[1])) in logic.SAME and arguments[1] in self._constants:
            return logic.equals_constant(arguments[0], self._constants[arguments[1]])
        if name in makers:
            return makers[name](arguments[0], arguments[1])
        if name in logic.COMPARISONS and type(self._constants.get(arguments[1])) is int:
            return logic.compare_constant(arguments[0], self._constants[arguments[1]], name)
        if name in logic.COMPARISONS:
            return logic.compare(arguments[0], arguments[1], name)
        return None

    def _plan_pattern(self, node: Call, name: str, text: Closure, pattern: Any) -> Closure | None:
        """Plan a search for a constant pattern, which the API server compiles when it builds the program."""
        if type(pattern) is not str:
            return None
        try:
            return calls.search(_PATTERNS[name], text, compile_pattern(pattern), name)
        except EvaluationError as error:
            raise CompileError(error.message, *node.place) from error

    def _fold(self, node: Node, closure: Closure, *, shared: bool) -> Closure:
        """Evaluate a call of constants once; a failure is left to evaluation, unless the API server would have folded it too."""
        try:
            return self._constant(closure([{}, Budget(_FOLD_STEPS)]), shared=shared)
        except Overrun:
            return closure
        except EvaluationError as error:
            if shared:
                raise CompileError(error.message, *node.place) from error
            return closure
        except Exception:  # noqa: BLE001 - a bug of ours shows when the expression is evaluated, as an EvaluationError
            return closure

    def _plan_list(self, node: ListLiteral) -> Closure:
        items = [self.plan(item) for item in node.items]
        if any(node.optional):
            return logic.make_optional_list(items, tuple(node.optional))
        if all(item in self._constants for item in items):
            return self._constant([self._constants[item] for item in items], shared=self._are_shared(items))
        return logic.make_list(items)

    def _plan_map(self, node: MapLiteral) -> Closure:
        keys, values = [self.plan(key) for key in node.keys], [self.plan(value) for value in node.values]
        closure = logic.make_map_literal(keys, values, tuple(node.optional))
        if not any(node.optional) and all(item in self._constants for item in keys + values):
            return self._fold(node, closure, shared=self._are_shared(keys + values))
        return closure

    def _plan_macro(self, node: Macro) -> Closure:
        range_ = self.plan(node.range)
        if node.name in ("optMap", "optFlatMap"):
            held, _ = unwrap_optional(self._checker.type_of(node.range))
            self._refuse_type_variable(node, held, node.variables[0])
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
