"""The type checker: what the API server refuses before it stores an expression is refused here (cel-go checker/checker.go).

Types flow from the leaves up. ``dyn`` fits everything, and most of a policy is dyn because ``object`` is, so what this finds is
undeclared names, unknown functions, wrong numbers of arguments, and the mistakes between literals and typed functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import assert_never

from webhook.cel import structs, types
from webhook.cel.declarations import Declarations
from webhook.cel.declare import Function, Overload
from webhook.cel.errors import CompileError
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
    Place,
    Select,
    StructLiteral,
)
from webhook.cel.types import Kind, Type
from webhook.cel.unify import Bindings, assign, more_general, resolve


class Checker:
    """Checks one expression and keeps what it found for the planner."""

    def __init__(self, declarations: Declarations, functions: Mapping[str, Function]) -> None:
        self.declarations = declarations
        self.functions = functions
        self.overloads: dict[Node, tuple[Overload, ...]] = {}
        """The overloads that may answer each call."""
        self.names: dict[Node, str] = {}
        """Nodes that turned out to be a qualified name: a variable, a type, or the name of a function."""
        self.host_calls: dict[Node, str] = {}
        """Calls of a host's method, with the host's name."""
        self.references: set[str] = set()
        """Root variables that are read."""
        self._errors: list[CompileError] = []
        self._types: dict[Node, Type] = {}
        self._bindings: Bindings = {}
        self._fresh = 0
        self._scopes: list[dict[str, Type]] = []

    def type_of(self, node: Node) -> Type:
        """Return the type of a checked node."""
        return resolve(self._bindings, self._types[node], unbound_to_dyn=True)

    def is_local(self, name: str) -> bool:
        """Tell whether a loop variable of this name is in scope."""
        return any(name in scope for scope in self._scopes)

    @property
    def errors(self) -> tuple[CompileError, ...]:
        """Return all mistakes found so far, in the order of their places."""
        return tuple(sorted(self._errors, key=lambda error: (error.line, error.column)))

    def check_all(self, node: Node) -> None:
        """Check an expression; raises the CompileError of the mistake that stands first in its text, which has the others."""
        self.check(node)
        if self._errors:
            first, *others = self.errors
            first.others = tuple(others)
            raise first

    def check(self, node: Node) -> Type:
        """Check a node and everything below. A mistake is kept, and its node fits everywhere, so that others are found too."""
        try:
            found = self._check(node)
        except CompileError as error:
            self._errors.append(error)
            found = types.ERROR
        self._types[node] = found
        return found

    def _check(self, node: Node) -> Type:
        match node:
            case Constant():
                return node.type
            case Name():
                return self._check_name(node)
            case Select():
                return self._check_select(node)
            case Index():
                function = "_[?_]" if node.optional else "_[_]"
                return self._resolve(node, function, None, [node.operand, node.key])
            case Call():
                return self._check_call(node)
            case Logical():
                return self._check_terms(node)
            case Conditional():
                return self._resolve(node, "_?_:_", None, [node.test, node.then, node.otherwise])
            case ListLiteral():
                return self._check_list(node)
            case MapLiteral():
                return self._check_map(node)
            case StructLiteral():
                return self._check_struct(node)
            case Macro():
                return self._check_macro(node)
        assert_never(node)

    def _check_terms(self, node: Logical) -> Type:
        for term in node.terms:
            self._expect(term, types.BOOL)
        return types.BOOL

    def _check_name(self, node: Name) -> Type:
        if not node.root:
            for scope in reversed(self._scopes):
                if node.name in scope:
                    return scope[node.name]
        found = self._global_name(node, node.name)
        if found is None:
            raise self._undeclared(
                node.name, node.place, [*self.declarations.names, *(name for scope in self._scopes for name in scope)]
            )
        return found

    def _global_name(self, node: Node, name: str) -> Type | None:
        """Resolve a variable or a type by its whole name."""
        declared = self.declarations.type_of(name)
        if declared is not None:
            self.references.add(name)
            self.names[node] = name
            return declared
        if name in types.TYPE_NAMES:
            self.names[node] = name
            return types.type_of(types.TYPE_NAMES[name])
        return None

    def _undeclared(self, name: str, place: Place, known: Iterable[str]) -> CompileError:
        return CompileError(f"undeclared reference to '{name}' (in container ''){_hint(name, known)}", *place)

    def _check_select(self, node: Select) -> Type:
        if not node.test and not node.optional:
            name = self._qualified(node)
            if name is not None:
                found = self._global_name(node, name)
                if found is not None:
                    return found
        inner, was_optional = types.unwrap_optional(resolve(self._bindings, self.check(node.operand)))
        result = self._field_type(node, inner)
        if node.test:
            return types.BOOL
        return types.optional_of(result) if was_optional or node.optional else result

    def _qualified(self, node: Node) -> str | None:
        """Return ``a.b.c`` where the node is that and ``a`` is no loop variable."""
        parts: list[str] = []
        while isinstance(node, Select) and not node.test and not node.optional:
            parts.append(node.field)
            node = node.operand
        if not isinstance(node, Name) or (self.is_local(node.name) and not node.root):
            return None
        return ".".join([node.name, *reversed(parts)])

    def _field_type(self, node: Select, operand: Type) -> Type:
        if operand.kind is Kind.MAP:
            return resolve(self._bindings, operand.parameters[1])
        if operand.kind is Kind.STRUCT:
            if operand.fields is None:
                return types.DYN
            if node.field not in operand.fields:
                raise CompileError(f"undefined field '{node.field}'{_hint(node.field, operand.fields)}", *node.place)
            return operand.fields[node.field]
        if operand.kind is Kind.PARAMETER:
            self._bindings = assign(self._bindings, [types.DYN], [operand]) or self._bindings
            return types.DYN
        if not operand.is_dyn:
            raise CompileError(f"type '{operand}' does not support field selection", *node.place)
        return types.DYN

    def _check_call(self, node: Call) -> Type:
        if node.target is None:
            return self._resolve(node, node.function, None, node.arguments)
        prefix = self._qualified(node.target)
        if prefix is not None:
            if f"{prefix}.{node.function}" in self.functions:
                self.names[node] = f"{prefix}.{node.function}"
                return self._resolve(node, f"{prefix}.{node.function}", None, node.arguments)
            if prefix in self.declarations.hosts:
                return self._check_host_call(node, prefix)
        return self._resolve(node, node.function, node.target, node.arguments)

    def _check_host_call(self, node: Call, host: str) -> Type:
        methods = self.declarations.hosts[host]
        if node.function not in methods:
            raise CompileError(f"undeclared method '{node.function}' of '{host}'{_hint(node.function, methods)}", *node.place)
        for argument in node.arguments:
            self.check(argument)
        wanted = methods[node.function]
        if len(node.arguments) not in wanted:
            raise CompileError(
                f"'{host}.{node.function}' takes {' or '.join(map(str, wanted))} arguments, not {len(node.arguments)}",
                *node.place,
            )
        self.host_calls[node] = host
        self.references.update((host, f"{host}.{node.function}"))
        return self.declarations.results.get(f"{host}.{node.function}", types.DYN)

    def _resolve(self, node: Node, name: str, target: Node | None, arguments: Sequence[Node]) -> Type:
        """Find the overloads that fit the arguments; the result is dyn where they differ in it."""
        given = [] if target is None else [self.check(target)]
        if name not in self.functions:  # said first: what is wrong with the arguments of an unknown function helps nobody
            raise self._undeclared(name, node.place, self.functions)
        given += [self.check(argument) for argument in arguments]
        return self._pick(node, name, given, is_method=target is not None)

    def _pick(self, node: Node, name: str, given: Sequence[Type], *, is_method: bool) -> Type:
        function = self.functions.get(name)
        overloads = function.overloads if function else ()
        if self.declarations.new_expressions:
            overloads = tuple(item for item in overloads if not item.stored_only)
        if not overloads:
            raise self._undeclared(name, node.place, self.functions)
        result: Type | None = None
        fitting = []
        for item in overloads:
            if item.is_method is not is_method:
                continue
            wanted, returned = self._instantiate(item)
            trial = assign(self._bindings, given, wanted)
            if trial is None:
                continue
            self._bindings = trial
            fitting.append(item)
            returned = resolve(trial, returned)
            result = returned if result is None or result == returned else types.DYN
        if result is None:
            raise self._no_overload(node, name, given, is_method=is_method)
        self.overloads[node] = tuple(fitting)
        return result

    def _instantiate(self, item: Overload) -> tuple[list[Type], Type]:
        fresh: Bindings = {}
        wanted = [self._freshen(parameter, fresh) for parameter in item.parameters]
        return wanted, self._freshen(item.result, fresh)

    def _freshen(self, type_: Type, fresh: Bindings) -> Type:
        if type_.kind is Kind.PARAMETER:
            return fresh.setdefault(type_, self._variable()) if type_ not in fresh else fresh[type_]
        if not type_.parameters:
            return type_
        return Type(type_.kind, type_.name, tuple(self._freshen(part, fresh) for part in type_.parameters), type_.fields)

    def _variable(self) -> Type:
        self._fresh += 1
        return types.parameter(f"_var{self._fresh - 1}")

    def _no_overload(self, node: Node, name: str, given: Sequence[Type], *, is_method: bool) -> CompileError:
        shown = [str(resolve(self._bindings, item, unbound_to_dyn=True)) for item in given]
        target = f"{shown.pop(0)}." if is_method else ""
        return CompileError(f"found no matching overload for '{name}' applied to '{target}({', '.join(shown)})'", *node.place)

    def _expect(self, node: Node, wanted: Type) -> None:
        """Check a node that must be of one type."""
        found = self.check(node)
        trial = assign(self._bindings, [found], [wanted])
        if trial is None:
            raise mismatch(node, wanted, resolve(self._bindings, found))
        self._bindings = trial

    def _check_list(self, node: ListLiteral) -> Type:
        element: Type | None = None
        for item, optional in zip(node.items, node.optional, strict=True):
            element = self._join(element, self._entry_type(item, optional=optional))
        return types.list_of(element or self._variable())

    def _check_map(self, node: MapLiteral) -> Type:
        key_type: Type | None = None
        value_type: Type | None = None
        for key, value, optional in zip(node.keys, node.values, node.optional, strict=True):
            key_type = self._join(key_type, self.check(key))
            value_type = self._join(value_type, self._entry_type(value, optional=optional))
        return types.map_of(key_type or self._variable(), value_type or self._variable())

    def _entry_type(self, node: Node, *, optional: bool) -> Type:
        found = self.check(node)
        if not optional:
            return found
        inner, was_optional = types.unwrap_optional(found)
        if not was_optional and found.kind is not Kind.DYN:
            raise mismatch(node, types.optional_of(found), found)
        return inner

    def _join(self, previous: Type | None, current: Type) -> Type:
        """Return the common type of entries, dyn where they have none; ``validate`` refuses that nearly everywhere."""
        if previous is None:
            return current
        trial = assign(self._bindings, [previous], [current])
        if trial is None:
            return types.DYN
        self._bindings = trial
        return more_general(previous, current)

    def _check_struct(self, node: StructLiteral) -> Type:
        made = structs.result_type(node, patch_types=self.declarations.patch_types)
        for position, (value, optional) in enumerate(zip(node.values, node.optional, strict=True)):
            found, wanted = self._entry_type(value, optional=optional), structs.field_type(node, position, made)
            trial = assign(self._bindings, [wanted], [found])
            if trial is None:
                text = f"expected type of field '{node.fields[position]}' is '{wanted}' but provided type is '{found}'"
                raise CompileError(text, *node.field_places[position])
            self._bindings = trial
        return made

    def _check_macro(self, node: Macro) -> Type:
        if node.name in ("optMap", "optFlatMap"):
            return self._check_optional_macro(node)
        first, second = self._range_types(node)
        variables = dict(zip(node.variables, (first, second), strict=False))
        self._scopes.append(variables)
        try:
            test = None if node.filter is None else self.check(node.filter)
            made = self._loop_type(node, first)
            return made if test is None else self._pick(node, "_?_:_", [test, made, made], is_method=False)
        finally:
            self._scopes.pop()

    def _range_types(self, node: Macro) -> tuple[Type, Type]:
        """Return the types of the loop variables."""
        ranged = resolve(self._bindings, self.check(node.range))
        two = len(node.variables) == 2
        if ranged.kind is Kind.LIST:
            element = ranged.parameters[0]
            return (types.INT, element) if two else (element, types.DYN)
        if ranged.kind is Kind.MAP:
            return ranged.parameters[0], ranged.parameters[1]
        if ranged.kind is Kind.PARAMETER:
            self._bindings = assign(self._bindings, [types.DYN], [ranged]) or self._bindings
        elif not ranged.is_dyn:
            text = f"expression of type '{ranged}' cannot be range of a comprehension (must be list, map, or dynamic)"
            raise CompileError(text, *node.range.place)
        return types.DYN, types.DYN

    def _loop_type(self, node: Macro, first: Type) -> Type:
        if node.name in ("all", "exists"):
            self._expect(node.body, types.BOOL)
            return types.BOOL
        if node.name in ("exists_one", "filter"):
            kept = types.INT if node.name == "exists_one" else types.list_of(first)
            self._pick(node, "_?_:_", [self.check(node.body), kept, kept], is_method=False)
            return types.BOOL if node.name == "exists_one" else types.list_of(resolve(self._bindings, first))
        body = resolve(self._bindings, self.check(node.body))
        if node.name == "transformMap":
            return types.map_of(resolve(self._bindings, first), body)
        if node.name == "transformMapEntry":
            made = types.map_of(self._variable(), self._variable())
            return self._pick(node, "cel.@mapInsert", [made, body], is_method=False)
        if node.name == "sortBy":
            return self._pick(node, "@sortByAssociatedKeys", [self._types[node.range], types.list_of(body)], is_method=True)
        return types.list_of(body)

    def _check_optional_macro(self, node: Macro) -> Type:
        target = self.check(node.range)
        self._pick(node, "hasValue", [target], is_method=True)
        inner = self._pick(node, "value", [target], is_method=True)
        self._scopes.append({node.variables[0]: resolve(self._bindings, inner)})
        try:
            body = self.check(node.body)
        finally:
            self._scopes.pop()
        if node.name == "optMap":
            return types.optional_of(resolve(self._bindings, body))
        return self._pick(node, "_?_:_", [types.BOOL, body, types.optional_of(self._variable())], is_method=False)


def mismatch(node: Node, wanted: Type, found: Type) -> CompileError:
    """Build the error of a node that should be of another type."""
    return CompileError(f"expected type '{wanted}' but found '{found}'", *node.place)


def _hint(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, sorted(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""
