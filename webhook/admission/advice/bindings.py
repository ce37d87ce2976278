"""Advice about what holds policies, bindings and params together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from webhook.admission.advice.ignoring import ignored_rules
from webhook.admission.advice.nodes import roots_of, walk
from webhook.admission.advice.subject import Part, Role, Subject
from webhook.admission.advice.telling import at_binding, at_part, at_policy
from webhook.admission.misnamed import did_you_mean
from webhook.admission.policyset import PolicySet, heads_of
from webhook.cel.syntax import Name, Select
from webhook.model.diagnostics import Diagnostic
from webhook.model.objects import metadata_of
from webhook.model.policies import Binding


def binding_advice(bindings: Iterable[Binding], names: Mapping[str, Iterable[str]]) -> Iterator[Diagnostic]:
    """Look for bindings of policies that are not there; ``names`` has those that are, by kind, loadable or not."""
    for binding in bindings:
        known = list(names.get(binding.policy_kind, ()))
        if binding.policy_name not in known:
            hint = did_you_mean(binding.policy_name, known)
            message = f"there is no {binding.policy_kind} {binding.policy_name} among the files{hint}"
            yield at_binding(binding, "binding-without-policy", message)


def param_advice(policies: PolicySet) -> Iterator[Diagnostic]:
    """Look for params that are named and not there. Where no object of the kind is among the files, all may be in the cluster."""
    for head, bindings, _ in heads_of(policies):
        kind = head.param_kind
        given = policies.params.objects.get((kind.api_version, kind.kind), ()) if kind else ()
        for binding in bindings:
            reference = binding.param_ref
            if not given or reference is None or not reference.name or "param-not-found" in ignored_rules(binding.annotations):
                continue
            here = [meta for meta in map(metadata_of, given) if reference.namespace in ("", meta.get("namespace", ""))]
            names = [str(meta.get("name")) for meta in here]
            if reference.name not in names:
                where = f" in namespace {reference.namespace}" if reference.namespace else ""
                message = f"there is no {given[0]['kind']} {reference.name}{where} among the files, where others are"
                yield at_binding(binding, "param-not-found", message + did_you_mean(reference.name, names))


def wiring_advice(subject: Subject) -> Iterator[Diagnostic]:
    """Look at a policy's bindings, params and variables."""
    if not subject.bindings:
        message = "has no binding among the files: in the API server it does nothing"
        yield at_policy(subject, "policy-without-binding", message)
    yield from _params(subject)
    for part in subject.having(Role.VARIABLE):
        if not any(_reads(other, part.name) for other in subject.parts if other is not part):
            message = f"variable '{part.name}' is read by no expression: leave it out"
            yield at_part(subject, part, "unused-variable", message)


def _params(subject: Subject) -> Iterator[Diagnostic]:
    kind = subject.head.param_kind
    if kind is None:
        for binding in subject.bindings:
            if binding.param_ref is not None and "param-ref-unused" not in ignored_rules(binding.annotations):
                message = (
                    f"has a paramRef, but {subject.kind} {subject.head.name} has no paramKind: no expression sees the params"
                )
                yield at_binding(binding, "param-ref-unused", message)
        return
    if not any("params" in roots_of(part.root) for part in subject.parts):
        message = f"has the paramKind {kind.api_version} {kind.kind}, but no expression reads params: leave it out"
        yield at_policy(subject, "unused-params", message)
        return
    for binding in subject.bindings:
        if binding.param_ref is None and "param-ref-missing" not in ignored_rules(binding.annotations):
            message = f"has no paramRef, but {subject.head.name} reads params, which is null then; name one of kind {kind.kind}"
            yield at_binding(binding, "param-ref-missing", message)


def _reads(part: Part, variable: str) -> bool:
    return any(
        isinstance(one, Select) and one.field == variable and isinstance(one.operand, Name) and one.operand.name == "variables"
        for one in walk(part.root)
    )
