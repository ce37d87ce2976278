"""Mutating policies for tests, compiled and bound, in the fewest words that say what matters."""

from __future__ import annotations

from typing import Any

from tests.rules.building import binding, constraints, text
from webhook.model.policies import Binding, Head, MutatingPolicy, Mutation, Origin, PatchType
from webhook.rules import BoundMutating, compile_mutating


def mutation(cel: str) -> Mutation:
    """Write a mutation; what begins with ``[`` is a JSONPatch."""
    kind = PatchType.JSON_PATCH if cel.startswith("[") else PatchType.APPLY_CONFIGURATION
    return Mutation(patch_type=kind, expression=text(cel))


def policy(name: str, *expressions: str, bindings: tuple[Binding, ...] = (binding(),), **parts: Any) -> BoundMutating:
    reinvoked = parts.pop("reinvoked", False)
    head = Head(name=name, origin=Origin("p.yaml", 1), **{"match_constraints": constraints(), **parts})
    source = MutatingPolicy(head=head, mutations=tuple(map(mutation, expressions)), reinvoked=reinvoked)
    return compile_mutating(source), bindings


def label(key: str, value: str = "'yes'") -> str:
    """Write an ApplyConfiguration that sets a label."""
    return f"Object{{metadata: Object.metadata{{labels: {{'{key}': {value}}}}}}}"
