"""MutatingAdmissionPolicies, compiled: like any policy, and for each mutation a program that makes a patch.

Only mutations may write ``Object{…}`` and ``JSONPatch{…}``, not the conditions and variables before them (apiserver
pkg/admission/plugin/policy/mutating/compilation.go). What they must return is checked here, where it has a place in the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from webhook.cel import Program
from webhook.cel.types import Kind, Type, list_of
from webhook.errors import PolicyError, PolicySetError
from webhook.model.policies import MutatingPolicy, Mutation, PatchType
from webhook.rules.compile import CompiledException, CompiledHead, compile_head, compile_one, references

_WANTED = {
    PatchType.APPLY_CONFIGURATION: (Type(Kind.STRUCT, "Object"),),
    PatchType.JSON_PATCH: (list_of(Type(Kind.STRUCT, "JSONPatch")),),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledMutation:
    """One mutation, ready to be evaluated."""

    source: Mutation
    program: Program


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledMutating:
    """A MutatingAdmissionPolicy, ready to be evaluated."""

    source: MutatingPolicy
    head: CompiledHead
    mutations: tuple[CompiledMutation, ...] = ()
    exceptions: tuple[CompiledException, ...] = ()
    """In the order of their names."""
    references: frozenset[str] = field(default_factory=frozenset)
    """Every root variable that some expression of the policy reads."""

    @property
    def name(self) -> str:
        """Return the policy's name."""
        return self.source.head.name


def compile_mutating(policy: MutatingPolicy) -> CompiledMutating:
    """Compile a policy; raises PolicySetError with every expression that is wrong."""
    head = compile_head(policy.head)
    errors: list[PolicyError] = []
    declarations = replace(head.declarations, patch_types=True)
    mutations = []
    for mutation in policy.mutations:
        try:
            program = compile_one(mutation.expression, declarations, _WANTED[mutation.patch_type])
        except PolicyError as error:
            errors.append(error)
        else:
            mutations.append(CompiledMutation(source=mutation, program=program))
    if errors:
        raise PolicySetError(errors)
    shared = (named.program for named in (*head.match_conditions, *head.variables))
    return CompiledMutating(
        source=policy,
        head=head,
        mutations=tuple(mutations),
        references=references([*shared, *(mutation.program for mutation in mutations)]),
    )
