"""Under which bindings and with which params a policy is to be evaluated for one request; the same for every kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from webhook.cel import EvaluationError
from webhook.model.objects import Object
from webhook.model.policies import Binding, Head
from webhook.model.requests import AdmissionRequest
from webhook.rules.cluster import UNDECIDED
from webhook.rules.compile import CompiledHead, NamedProgram
from webhook.rules.match import is_exempt, match
from webhook.rules.params import collect_params
from webhook.rules.problems import RuleProblem
from webhook.rules.run import Run
from webhook.rules.world import Situation, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """The policy is to be evaluated under this binding with these params."""

    binding: Binding
    params: Object | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Misconfigured:
    """The policy matches, but cannot be evaluated: its failurePolicy decides, whatever the binding's actions are."""

    binding: Binding | None = None
    message: str


Step: TypeAlias = Invocation | Misconfigured


def invocations(head: Head, bindings: Iterable[Binding], situation: Situation) -> Iterator[Step]:
    """Yield what is to be evaluated, in the order of the bindings; nothing where the policy does not match."""
    request, world = situation.request, situation.world
    try:
        if not _policy_matches(head, request, world):
            return
    except RuleProblem as problem:
        yield Misconfigured(message=f"failed to configure policy: {problem}")
        return
    for binding in bindings:
        try:
            if binding.match_resources and match(binding.match_resources, request, world) is None:
                continue
            found = collect_params(head.param_kind, binding.param_ref, request, world=world)
        except RuleProblem as problem:
            yield Misconfigured(binding=binding, message=f"failed to configure binding: {problem}")
            continue
        for params in found:
            yield Invocation(binding=binding, params=params)


def _policy_matches(head: Head, request: AdmissionRequest, world: World) -> bool:
    matched = None if is_exempt(request) else match(head.match_constraints, request, world)
    if matched and matched != request.resource:
        raise RuleProblem(
            f"failed to convert object version: the policy asks for {matched.resource} of {matched.group}/{matched.version}, "
            f"the object came as {request.kind}"
        )
    return matched is not None


def conditions_hold(head: CompiledHead, situation: Situation, params: Object | None) -> bool:
    """Tell whether all match conditions hold.

    One that is false decides, also over others that fail, but not over a spent budget. Otherwise a failed one raises
    RuleProblem, and it is for the failurePolicy to say what that means: Fail denies, Ignore leaves the policy out
    (webhook/matchconditions/matcher.go).
    """
    if not head.match_conditions:
        return True
    return all_hold(Run.of_conditions(head, situation, params), head.match_conditions)


def all_hold(run: Run, conditions: Sequence[NamedProgram]) -> bool:
    """Tell whether all conditions hold in a run, by the rules of ``conditions_hold``."""
    failures, undecided, is_false = [], False, False
    for place, condition in enumerate(conditions, 1):
        try:
            value = run.evaluate(condition.program)
        except EvaluationError as error:
            failures.append(f"expression '{condition.program.text}' resulted in error: {error}")
            undecided |= error.kind == UNDECIDED
            continue
        if value is False and not run.may_run_out(len(conditions) - place):
            return False
        is_false |= value is False
        if not isinstance(value, bool):
            failures.append(f"expression '{condition.program.text}' resulted in error: must evaluate to bool")
    if failures and not is_false:
        unique = list(dict.fromkeys(failures))  # an aggregate names each message once
        raise RuleProblem(unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]", undecided=undecided)
    return not is_false
