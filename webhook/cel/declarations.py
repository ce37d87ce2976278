"""What an expression may refer to: the contract between whoever writes an activation and the checker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webhook.cel import types
from webhook.cel.types import Kind, Type


@dataclass(frozen=True, slots=True)
class Declarations:
    """Names that expressions may use. What is not declared is refused when the expression is compiled."""

    variables: frozenset[str] = frozenset()
    """Root variables of any type."""
    fields: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Roots whose first-level fields are all known, such as ``request``; another field is refused."""
    hosts: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)
    """Variables that are ``HostObject``s: their methods, and how many arguments each may take."""
    results: Mapping[str, Type] = field(default_factory=dict)
    """What methods of hosts return, by ``host.method``; of others nothing is known before they are called."""
    types: Mapping[str, Type] = field(default_factory=dict)
    """Roots of a known type; the API server types ``request``, ``namespaceObject`` and ``variables``."""
    patch_types: bool = False
    """Whether ``Object{…}`` and ``JSONPatch{…}`` may be written, as in a MutatingAdmissionPolicy."""
    new_expressions: bool = False
    """Whether only functions count that every supported release has, as for expressions that are not stored yet."""
    checked: bool = True
    """False for expressions of conformance suites that are parsed only. Never false for a policy: see ``uncheck``."""

    def type_of(self, name: str) -> Type | None:
        """Return the type of a root variable, None for an undeclared one."""
        if name in self.types:
            return self.types[name]
        if name in self.fields:
            return Type(Kind.STRUCT, name, fields=dict.fromkeys(self.fields[name], types.DYN))
        if name in self.hosts:
            return Type(Kind.OPAQUE, f"host.{name}")
        return types.DYN if name in self.variables else None

    @property
    def names(self) -> frozenset[str]:
        """Return every declared root."""
        return self.variables.union(self.fields, self.hosts, self.types)
