"""An expression that is parsed and not checked: names and functions are looked up, and everything is ``dyn``.

No policy is compiled so. Conformance suites have such expressions, to see what evaluation alone does with mistakes that a
checker would have found: a name that is not declared, a function that is not there, ``'a' && false``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from webhook.cel import structs, types
from webhook.cel.check import Checker
from webhook.cel.declarations import Declarations
from webhook.cel.declare import Function
from webhook.cel.syntax import Call, Macro, Name, Node, Select, StructLiteral, children
from webhook.cel.types import Type


class Resolver(Checker):
    """Finds for every node what the planner asks a checker for, and refuses almost nothing."""

    def __init__(self, declarations: Declarations, functions: Mapping[str, Function]) -> None:
        self._known = dict(functions)
        super().__init__(declarations, self._known)

    def type_of(self, node: Node) -> Type:  # noqa: ARG002 - the signature is the checker's
        """Return dyn: nothing is known of any node."""
        return types.DYN

    def check_all(self, node: Node) -> None:
        """Resolve an expression; what is wrong with it shows when it is evaluated."""
        match node:
            case Name():
                self._resolve_name(node)
            case Select() if self._resolve_qualified(node):
                return
            case Call():
                self._resolve_call(node)
                return
            case Macro():
                self._resolve_macro(node)
                return
            case StructLiteral():
                structs.result_type(node, patch_types=self.declarations.patch_types)
            case _:
                pass
        for child in children(node):
            self.check_all(child)

    def _resolve_name(self, node: Name) -> None:
        if (not node.root and self.is_local(node.name)) or self._global_name(node, node.name) is not None:
            return
        # Not declared: a variable all the same, which no activation has.
        self.declarations = replace(self.declarations, variables=self.declarations.variables | {node.name})
        self._global_name(node, node.name)

    def _resolve_qualified(self, node: Select) -> bool:
        name = None if node.test or node.optional else self._qualified(node)
        return name is not None and self._global_name(node, name) is not None

    def _resolve_call(self, node: Call) -> None:
        name, is_method = node.function, node.target is not None
        prefix = None if node.target is None else self._qualified(node.target)
        if f"{prefix}.{name}" in self.functions:
            name, is_method = f"{prefix}.{name}", False
            self.names[node] = name
        elif node.target is not None:
            self.check_all(node.target)
        for argument in node.arguments:
            self.check_all(argument)
        function = self._known.setdefault(name, Function(name, ()))
        arity = len(node.arguments) + is_method
        self.overloads[node] = tuple(
            item for item in function.overloads if item.is_method is is_method and len(item.parameters) == arity
        )

    def _resolve_macro(self, node: Macro) -> None:
        self.check_all(node.range)
        self._scopes.append(dict.fromkeys(node.variables, types.DYN))
        for part in (node.filter, node.body):
            if part is not None:
                self.check_all(part)
        self._scopes.pop()
