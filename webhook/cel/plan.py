"""From a checked syntax tree to closures: each node becomes a function of the frame, made once, called for every request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, assert_never

from webhook.cel import access, calls, logic, loops, structs
from webhook.cel.access import StepKind
from webhook.cel.budget import Budget
from webhook.cel.check import Checker
from webhook.cel.compare import is_key
from webhook.cel.costs import Formula
from webhook.cel.declare import Overload
from webhook.cel.errors import CompileError, EvaluationError, Overrun
from webhook.cel.frames import FIRST_SLOT, Closure
from webhook.cel.library import regex
from webhook.cel.library.regex import compile_pattern
from webhook.cel.pricing import CONVERSIONS, Prices, Rates
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
from webhook.cel.types import TYPE_NAMES, Kind, Type, is_optional, unwrap_optional
from webhook.cel.values import TypeValue, go_name

_FOLD_UNITS = 10_000
"""Most that folding one constant call may cost; a dearer call is left to the evaluation, which has a budget of its own."""

_PATTERNS = {"matches": regex.matches, "find": regex.find}
"""Functions whose constant pattern is compiled once."""


class Planner:
    """Plans one expression. ``slots`` counts the loop variables that a frame must hold."""

    def __init__(self, checker: Checker, prices: Prices, variables: Sequence[str] = ()) -> None:
        """Make a planner; ``variables`` are loop variables whose slots whoever builds the frame has filled."""
        self.slots = len(variables)
        self.due = 0
        """Price of the straight run of nodes that is being planned: charged where it begins."""
        self._checker = checker
        self._prices = prices
        self._scopes = [{name: slot for slot, name in enumerate(variables, FIRST_SLOT)}]
        self._constants: dict[Closure, Any] = {}
        self._shared_constants: set[Closure] = set()
        """Those that the API server folds too: it refuses an expression when their use fails, we fold more than it does."""

    def plan(self, node: Node) -> Closure:
        """Return the closure of a node; raises CompileError for a constant that has no value."""
        self.due += self._prices.of(node)
        match node:
            case Constant():
                return self._constant(node.value, shared=True)
            case Name():
                return self._plan_name(node)
            case Select():
                return self._plan_select(node)
            case Index():
                return self._plan_way(node)
            case Call():
                return self._plan_call(node)
            case Logical():
                terms = [self.plan(node.terms[0]), *(self._plan_arm(term) for term in node.terms[1:])]
                return logic.chain(terms, stop=node.operator == "_||_")
            case Conditional():
                return self._plan_choice(node, ())
            case ListLiteral():
                return self._plan_list(node)
            case MapLiteral():
                return self._plan_map(node)
            case StructLiteral():
                return structs.make_object(node, [self.plan(value) for value in node.values])
            case Macro():
                return self._plan_macro(node)
        assert_never(node)

    def _plan_apart(self, node: Node, plan: Callable[[Node], Closure] | None = None) -> tuple[Closure, int]:
        """Plan a node that does not run whenever what surrounds it does, and return its price."""
        due, self.due = self.due, 0
        closure = (plan or self.plan)(node)
        due, self.due = self.due, due
        return closure, due

    def _plan_arm(self, node: Node, plan: Callable[[Node], Closure] | None = None) -> Closure:
        """Plan a node that may be left out, and pays for itself when it is not."""
        closure, due = self._plan_apart(node, plan)
        return logic.charge(closure, due) if due else closure

    def constant_of(self, closure: Closure) -> tuple[bool, Any]:
        """Tell whether a closure that this planner made is a constant, and which."""
        return closure in self._constants, self._constants.get(closure)

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
        if self._is_typed(node.operand) and not node.optional:
            operand = self.plan(node.operand)
            return access.test_field(operand, (), node.field) if node.test else access.read_typed(operand, node.field)
        return self._plan_way(node)

    def _is_typed(self, operand: Node) -> bool:
        return self._checker.declarations.patch_types and structs.is_typed(self._checker.type_of(operand))

    def _is_step(self, node: Node) -> bool:
        """Tell whether a node is a field or an index after something else."""
        if isinstance(node, Select):
            return node not in self._checker.names and (node.optional or not self._is_typed(node.operand))
        return isinstance(node, Index)

    def _plan_way(self, node: Select | Index) -> Closure:
        """Plan ``a.b['c'][d].?e`` or ``has(a.b)``: where it starts, and the steps from there."""
        self.due -= self._prices.of(node)  # which is counted with those of the other steps
        way = self._plan_attribute(node)
        if not isinstance(node, Select) or not node.test:
            return way
        if self._prices.wraps_around(node):
            way = access.pay_at_least_once(way, self._count_steps(node))
        return access.is_there(way)

    def _count_steps(self, node: Node) -> int:
        count = 0
        while self._is_step(node):
            assert isinstance(node, Select | Index)  # noqa: S101 - so says _is_step
            count, node = count + 1, node.operand
        return count

    def _plan_attribute(self, node: Node, rest: Sequence[access.Step] = ()) -> Closure:
        """Plan what cel-go takes for an attribute: a way, whatever follows it, and of ``has()`` the way that it tests.

        So it takes branches of ``? :``, which are followed by what follows that, and keys. There ``has()`` of an optional is no
        bool but the optional that it comes upon (interpreter/planner.go, planCallConditional and planCallIndex).
        """
        steps = list(rest)
        while self._is_step(node):
            assert isinstance(node, Select | Index)  # noqa: S101 - so says _is_step
            self.due += self._prices.of(node)
            steps.insert(0, self._plan_step(node))
            node = node.operand
        if isinstance(node, Conditional):
            return self._plan_choice(node, steps)
        start = self.plan(node)
        if any(kind is StepKind.OPTIONAL for _, kind in steps) or (steps and is_optional(self._checker.type_of(node))):
            self.due -= len(steps)
            return access.follow_optionally(start, steps)
        return self._plan_plain_way(start, steps)

    def _plan_choice(self, node: Conditional, rest: Sequence[access.Step]) -> Closure:
        test = self.plan(node.test)
        plan = partial(self._plan_attribute, rest=rest)
        return logic.choose(test, self._plan_arm(node.then, plan), self._plan_arm(node.otherwise, plan))

    def _plan_plain_way(self, start: Closure, steps: Sequence[access.Step]) -> Closure:
        fields = [field for field in (self._constants.get(key) for key, _ in steps) if type(field) is str]
        if not steps:
            return start
        if len(fields) < len(steps) or any(kind is StepKind.TEST for _, kind in steps[:-1]):
            return access.follow(start, steps)
        if steps[-1][1] is StepKind.TEST:
            return access.test_field(start, fields[:-1], fields[-1])
        return access.read_fields(start, fields)

    def _plan_step(self, step: Select | Index) -> access.Step:
        kind = StepKind.OPTIONAL if step.optional else StepKind.PLAIN
        if isinstance(step, Select):
            return self._constant(step.field, shared=True), StepKind.TEST if step.test else kind
        key = self._plan_attribute(step.key)
        if key in self._shared_constants and not is_key(self._constants[key]):
            raise CompileError(f"invalid qualifier type: {go_name(self._constants[key])}", *step.place)
        return key, kind

    def _plan_call(self, node: Call) -> Closure:
        name = self._checker.names.get(node, node.function)
        arguments = [self._plan_arm(item) if name in ("or", "orValue") else self.plan(item) for item in node.arguments]
        if node in self._checker.host_calls:
            return calls.call_host(self._checker.host_calls[node], node.function, arguments)
        if node.target is not None and node not in self._checker.names:
            arguments.insert(0, self.plan(node.target))
        formula = self._prices.formula(node)
        closure = self._specialise(node, name, arguments, formula)
        if closure is None:
            closure = calls.call(self._checker.functions[name], self._overloads(node, name, arguments), arguments, formula)
        if any(item not in self._constants for item in arguments):
            return closure
        budget = Budget(_FOLD_UNITS)
        folded = self._fold(node, closure, budget, shared=name in CONVERSIONS and self._are_shared(arguments))
        if folded is not closure and node not in self._prices.folded:
            self.due += budget.spent
        return folded

    def _overloads(self, node: Call, name: str, arguments: Sequence[Closure]) -> tuple[Overload, ...]:
        """Return the overloads that may answer; of ``findAll`` one that has its pattern compiled, if that is constant."""
        fitting = self._checker.overloads[node]
        is_search = name == "findAll" and bool(fitting) and arguments[1] in self._shared_constants
        pattern = self._constants[arguments[1]] if is_search else None
        if type(pattern) is not str:
            return fitting
        compiled = self._compile_pattern(node, pattern)
        return (replace(fitting[0], run=lambda budget, text, _, *limit: regex.find_all(budget, compiled, text, *limit)),)

    def _specialise(self, node: Call, name: str, arguments: list[Closure], formula: Formula | None) -> Closure | None:
        """Return a closure made for operators that are everywhere, with constants on their right taken in."""
        makers: Mapping[str, Callable[[Closure, Closure], Closure]] = {
            "_==_": logic.equals,
            "_!=_": logic.differs,
            "@in": logic.is_in if formula is None else logic.is_in_list,
        }
        if name == "!_":
            return logic.negate(arguments[0])
        items = (
            self._constants[arguments[1]]
            if name == "@in" and self._prices.is_list(node) and arguments[1] in self._shared_constants
            else None
        )
        if formula is None and type(items) is list:
            return logic.is_in_constants(arguments[0], items)
        if name in _PATTERNS and len(arguments) == 2 and arguments[1] in self._shared_constants:
            return self._plan_pattern(node, name, arguments[0], self._constants[arguments[1]])
        if name in ("or", "orValue") and len(arguments) == 2:  # an expression that is not checked may give it any number
            return logic.either(arguments[0], arguments[1], unwrap=name == "orValue")
        if name == "_==_" and type(self._constants.get(arguments[1])) in logic.SAME and arguments[1] in self._constants:
            return logic.equals_constant(arguments[0], self._constants[arguments[1]])
        if name in makers:
            return makers[name](arguments[0], arguments[1])
        if formula is not None:
            return None
        if name in logic.COMPARISONS and type(self._constants.get(arguments[1])) is int:
            return logic.compare_constant(arguments[0], self._constants[arguments[1]], name)
        if name in logic.COMPARISONS:
            return logic.compare(arguments[0], arguments[1], name)
        return None

    def _plan_pattern(self, node: Call, name: str, text: Closure, pattern: Any) -> Closure | None:
        """Plan a search for a constant pattern, which the API server compiles when it builds the program."""
        if type(pattern) is not str:
            return None
        return calls.search(_PATTERNS[name], text, self._compile_pattern(node, pattern), name, len(pattern))

    @staticmethod
    def _compile_pattern(node: Call, pattern: str) -> Any:
        try:
            return compile_pattern(pattern)
        except EvaluationError as error:
            raise CompileError(error.message, *node.place) from error

    def _fold(self, node: Node, closure: Closure, budget: Budget, *, shared: bool) -> Closure:
        """Evaluate a call of constants once; a failure is left to evaluation, unless the API server would have folded it too."""
        try:
            return self._constant(closure([{}, budget]), shared=shared)
        except Overrun as error:
            if shared and error.kind == "internal":
                raise CompileError(error.message, *node.place) from error
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
            return self._fold(node, closure, Budget(_FOLD_UNITS), shared=self._are_shared(keys + values))
        return closure

    def _plan_macro(self, node: Macro) -> Closure:
        optional = node.name in ("optMap", "optFlatMap")
        range_, range_due = self._plan_apart(node.range)
        if optional:
            range_ = logic.charge(range_, range_due) if range_due else range_
            held, _ = unwrap_optional(self._checker.type_of(node.range))
            self._refuse_type_variable(node, held, node.variables[0])
        else:
            self.due += range_due
            self._refuse_kept_types(node)
        slots = tuple(self._take_slot() for _ in node.variables)
        self._scopes.append(dict(zip(node.variables, slots, strict=True)))
        filter_, filter_due = (None, 0) if node.filter is None else self._plan_apart(node.filter)
        body, body_due = self._plan_apart(node.body)
        self._scopes.pop()
        each, kept, check = self._prices.rates(node)
        rates = Rates(each + body_due, kept, check) if filter_ is None else Rates(each + filter_due, kept + body_due, check)
        if optional:
            body = logic.charge(body, body_due) if body_due else body
            second = 1 if self._prices.reads_twice(node) else None
            return loops.optional_map(range_, slots, body, second, flat=node.name == "optFlatMap")
        return self._plan_loop(node, (range_, slots, filter_, body, rates))

    def _refuse_kept_types(self, node: Macro) -> None:
        """Refuse loops that keep types of themselves: what is kept is read by the name of its variable."""
        ranged = self._checker.type_of(node.range)
        if node.name in ("filter", "transformMap") and ranged.kind in (Kind.LIST, Kind.MAP):
            is_position = node.name == "transformMap" and ranged.kind is Kind.LIST
            if not is_position:
                self._refuse_type_variable(node, ranged.parameters[0], node.variables[0])

    def _plan_loop(self, node: Macro, parts: tuple[Closure, loops.Slots, Closure | None, Closure, Rates]) -> Closure:
        range_, slots, filter_, body, rates = parts
        match node.name:
            case "all" | "exists":
                return loops.quantify(range_, slots, body, rates, stop=node.name == "exists")
            case "exists_one":
                return loops.exists_one(range_, slots, body, rates)
            case "map" | "transformList":
                return loops.transform(range_, slots, filter_, body, rates)
            case "filter":
                return loops.keep(range_, slots, body, rates)
            case "transformMap":
                return loops.transform_map(range_, slots, filter_, body, rates)
            case "transformMapEntry":
                return loops.transform_entries(range_, slots, filter_, body, rates)
            case _:
                formula = self._prices.formula(node)
                return loops.sort_by(range_, slots, body, rates, formula.pay if formula else lambda *_: None)

    def _take_slot(self) -> int:
        self.slots += 1
        return FIRST_SLOT + self.slots - 1
