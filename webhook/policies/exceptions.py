"""Decoder of PolicyException (``gangwarden.dev/v1alpha1``), and the policy that each one belongs to.

What would let more pass than its author meant is refused: no rule named, no condition, no end, a name that no policy or
rule has. An exception that has expired is no mistake: a set of policies must not stop loading at midnight.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from webhook.admission.policyset import INSTALL_LABEL, NATIVE
from webhook.errors import PolicyError, PolicySetError
from webhook.model.exceptions import WHOLE_WORKLOAD, ExceptedRule, PolicyException
from webhook.model.policies import MutatingPolicy, Origin, PolicySource, ValidatingPolicy
from webhook.policies.cursor import Cursor, hint
from webhook.policies.heads import decode_annotations, decode_conditions, decode_name, fail_repeated
from webhook.policies.moments import moment_of
from webhook.policies.native import spec_of
from webhook.rules import CompiledException, compile_exception

EXCEPTABLE = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy", "WorkloadPolicy")
_SOON, _LONG = timedelta(days=14), timedelta(days=366)
_RULE = re.compile(rf"(?:validations|mutations)\[\d+\]|{WHOLE_WORKLOAD}")


def decode_exception(root: Cursor) -> list[PolicyException]:
    """Read a PolicyException; an empty list, with errors noted, where something about it is wrong."""
    errors, spec = len(root.errors), spec_of(root)
    spec.only("policyKind", "policyName", "rules", "matchConditions", "owner", "reason", "expires")
    items = spec.mappings("rules")
    if not spec.items("rules"):
        spec.fail('required: name each rule, such as {rule: "validations[0]"}; there is no wildcard', "rules")
    fail_repeated(items, "rule")
    if not spec.items("matchConditions"):
        spec.fail("required: at least one condition that says for which objects the rules do not apply", "matchConditions")
    for name in ("owner", "reason"):
        if not spec.text(name, required=True).strip() and spec.text(name):
            spec.fail("must not be blank", name)
    exception = PolicyException(
        name=decode_name(root),
        origin=root.origin,
        policy_kind=spec.text("policyKind", EXCEPTABLE[0], choices=EXCEPTABLE),
        policy_name=spec.text("policyName", required=True),
        policy_origin=spec.origin_of("policyName"),
        rules=tuple(map(_rule, items)),
        match_conditions=decode_conditions(spec),
        owner=spec.text("owner").strip(),
        reason=" ".join(spec.text("reason").split()),
        expires=_expiry(spec) or datetime.min.replace(tzinfo=UTC),
        annotations=decode_annotations(root),
    )
    return [] if len(root.errors) > errors else [exception]


def compile_exceptions(
    exceptions: Iterable[PolicyException], policies: Mapping[str, Iterable[PolicySource]], errors: list[PolicyError]
) -> dict[str, dict[str, tuple[CompiledException, ...]]]:
    """Return the exceptions of each policy by its kind and then its name, in the order of their own names.

    ``policies`` are all policies by kind. What names nothing, or lets too much pass, is noted among the errors.
    """
    known = {kind: {policy.head.name: policy for policy in found} for kind, found in policies.items()}
    placed: dict[str, dict[str, tuple[CompiledException, ...]]] = {kind: {} for kind in known}
    for exception in sorted(exceptions, key=lambda exception: exception.name):
        try:
            compiled = _compile(exception, known[exception.policy_kind])
        except PolicySetError as error:
            errors.extend(error.errors)
        else:
            of_kind = placed[exception.policy_kind]
            of_kind[exception.policy_name] = (*of_kind.get(exception.policy_name, ()), compiled)
    return placed


def exception_warnings(exceptions: Iterable[PolicyException], now: datetime) -> Iterator[str]:
    """Say which exceptions have run out, will do so soon, or last so long that nobody will look at them again."""
    for exception in exceptions:
        end, owner = exception.expires, exception.owner
        place = f"{exception.origin.path}:{exception.origin.line}: PolicyException '{exception.name}'"
        if end <= now:
            yield f"{place} has expired ({end:%Y-%m-%d %H:%M} UTC) and does nothing: take it away, or have it renewed by {owner}"
        elif end - now < _SOON:
            yield f"{place} expires soon ({end:%Y-%m-%d %H:%M} UTC): take it away, or have it renewed by {owner}"
        elif end - now > _LONG:
            yield f"{place} lasts for more than a year ({end:%Y-%m-%d}): give it an earlier end, or change the policy"


def _compile(exception: PolicyException, policies: Mapping[str, PolicySource]) -> CompiledException:
    policy = policies.get(exception.policy_name)
    if policy is None:
        near = hint(exception.policy_name, policies)
        message = f'there is no {exception.policy_kind} "{exception.policy_name}" among the files{near}'
        raise PolicySetError([_error(message, exception.policy_origin)])
    if policy.head.labels.get(INSTALL_LABEL) == NATIVE:
        message = (
            f'"{exception.policy_name}" has the label {INSTALL_LABEL}: {NATIVE}: the API server itself decides it, and knows no '
            "exceptions; narrow its matchConditions"
        )
        raise PolicySetError([_error(message, exception.policy_origin)])
    complaints = [_error(complaint, rule.origin) for rule in exception.rules if (complaint := _wrong(rule, policy))]
    if complaints:
        raise PolicySetError(complaints)
    return compile_exception(exception, policy.head.match_constraints)


def _rule(cursor: Cursor) -> ExceptedRule:
    cursor.only("rule", "expression")
    name = cursor.text("rule", required=True)
    if name and not _RULE.fullmatch(name):
        cursor.fail(f'"{name}" is not a rule: write validations[0], mutations[0] or {WHOLE_WORKLOAD}, one entry for each', "rule")
    return ExceptedRule(name=name, expression=cursor.text("expression"), origin=cursor.origin)


def _expiry(spec: Cursor) -> datetime | None:
    """Read the moment of expiry; a date means the end of that day in UTC. None, with an error noted, where there is none."""
    if not spec.has("expires"):
        spec.fail("required: the last day on which it is needed, such as 2026-12-31", "expires")
        return None
    text = spec.text("expires", required=True)
    if not text:
        return None
    try:
        return moment_of(text, at_end=True)
    except ValueError:
        spec.fail(f'"{text}" is not a date: write 2026-12-31 (to the end of that day, UTC) or 2026-12-31T18:00:00Z', "expires")
        return None


def _wrong(rule: ExceptedRule, policy: PolicySource) -> str:
    """Return why a rule is none of a policy."""
    known = rules_of(policy)
    if rule.name not in known:
        return f'the policy has no rule "{rule.name}": it has {", ".join(known) or "none"}'
    if rule.expression and rule.expression.strip() != known[rule.name].strip():
        return f"{rule.name} of the policy is another expression by now: {known[rule.name].strip() or 'none'}"
    return ""


def rules_of(policy: PolicySource) -> dict[str, str]:
    """Return the rules of a policy that can be excepted, with their expressions."""
    if isinstance(policy, ValidatingPolicy):
        return {f"validations[{index}]": one.expression.text for index, one in enumerate(policy.validations)}
    if isinstance(policy, MutatingPolicy):
        return {f"mutations[{index}]": one.expression.text for index, one in enumerate(policy.mutations)}
    return {WHOLE_WORKLOAD: ""}


def _error(message: str, origin: Origin) -> PolicyError:
    return PolicyError(message, path=origin.path, line=origin.line, field=origin.field)
