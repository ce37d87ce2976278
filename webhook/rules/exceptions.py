"""Whether a PolicyException lets pass what one rule of a policy has found.

Each exception stands alone: it covers the rules that it names, for requests on which all of its own conditions hold,
until it expires. Nothing of one is ever joined with something of another (GHSA-gg4x-fgg2-h9w9), and an exception whose
conditions cannot be evaluated does not apply. It is asked only after its rule has failed: a rule that could not be
evaluated has found nothing, so there is nothing to except, and the failurePolicy decides as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from webhook.errors import PolicyError, PolicySetError
from webhook.model.exceptions import PolicyException
from webhook.model.objects import Kind, Object, Resource
from webhook.model.policies import Head, MatchResources, ParamKind
from webhook.model.requests import AdmissionRequest, Operation, UserInfo
from webhook.model.verdicts import ExceptionUse, Finding, Verdict
from webhook.rules.compile import CompiledException, compile_head, references
from webhook.rules.invocations import all_hold
from webhook.rules.problems import RuleProblem
from webhook.rules.run import Run
from webhook.rules.world import Situation, bare_namespace

_NOBODY = "zz-some-stranger"
"""Name, namespace and user of a request that no exception can have been made for."""
_KINDS = {"cronjobs": "CronJob", "jobsets": "JobSet", "podgroups": "PodGroup"}
"""Kinds whose resources do not tell how they are spelt."""
_USUAL = (
    Resource("batch", "v1", "jobs"),
    Resource("batch", "v1", "cronjobs"),
    Resource("", "v1", "pods"),
    Resource("apps", "v1", "deployments"),
    Resource("scheduling.k8s.io", "v1beta1", "podgroups"),
)
"""What stands for everything: whoever excepts all objects of one of these excepts too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What the exceptions say of one failure."""

    exception: CompiledException | None = None
    """The one that covers it; None: it stands."""
    notes: tuple[str, ...] = ()
    """Why exceptions that name the rule do not cover it, where that is worth telling."""

    def noted(self, message: str) -> str:
        """Return the message of a failure that stands, with the notes behind it."""
        return f"{message} ({'; '.join(self.notes)})" if self.notes else message


def compile_exception(source: PolicyException, constraints: MatchResources) -> CompiledException:
    """Compile an exception of a policy with these constraints; raises PolicySetError for what is wrong or too wide."""
    head = compile_head(
        Head(
            name=source.name,
            origin=source.origin,
            annotations=source.annotations,
            match_constraints=constraints,
            match_conditions=source.match_conditions,
        )
    )
    roots = references(condition.program for condition in head.match_conditions)
    compiled = CompiledException(source=source, head=head, references=roots)
    if any(_holds(compiled, Situation(request=stranger, world=_Nowhere())) for stranger in _strangers(constraints)):
        origin = source.match_conditions[0].expression.origin
        message = (
            "too wide: the conditions hold for any object, such as a bare one of an unknown user in an unknown namespace; "
            "say whose objects are meant, such as request.namespace == 'team-a'"
        )
        raise PolicySetError([PolicyError(message, path=origin.path, line=origin.line, field=origin.field)])
    return compiled


def rule_on(exceptions: Iterable[CompiledException], rule: str, situation: Situation) -> Ruling:
    """Return the first exception, in the order given, that covers the failure of a rule."""
    notes: list[str] = []
    for exception in exceptions:
        if all(rule != one.name for one in exception.source.rules):
            continue
        who = f"PolicyException '{exception.name}'"
        try:
            if not all_hold(Run(exception.head, situation, None), exception.head.match_conditions):
                continue
        except RuleProblem as problem:
            notes.append(f"{who} does not apply, for it could not be evaluated: {problem}")
            continue
        if situation.now is None:
            notes.append(f"{who} does not apply, for nobody tells the time here")
        elif situation.now >= exception.source.expires:
            notes.append(f"{who} expired at {exception.until}; its owner is {exception.source.owner}")
        else:
            return Ruling(exception=exception)
    return Ruling(notes=tuple(notes))


def excepted(finding: Finding, exception: CompiledException, *, instead: str) -> Finding:
    """Return the finding of a rule that an exception covers; ``instead`` says what it would have done else."""
    source = exception.source
    use = ExceptionUse(name=source.name, owner=source.owner, reason=source.reason, expires=exception.until, instead=instead)
    told = f"excepted by PolicyException '{use.name}' until {use.expires} ({use.reason}; owner: {use.owner})"
    message = f"{told}: {finding.message}" if finding.message else told
    return replace(finding, verdict=Verdict.ALLOW, message=message, exception=use)


def _holds(exception: CompiledException, situation: Situation) -> bool:
    try:
        return all_hold(Run(exception.head, situation, None), exception.head.match_conditions)
    except RuleProblem:
        return False


def _strangers(constraints: MatchResources) -> Iterator[AdmissionRequest]:
    """Yield requests that the policy matches and that have nothing about them: whom they fit, everything fits."""
    for rule in constraints.resource_rules:
        operations = [one for one in Operation if {"*", one.value} & set(rule.operations)]
        for group, version, text in product(rule.api_groups, rule.api_versions, rule.resources):
            for resource, operation in product(_named(group, version, text), operations):
                yield _stranger(resource, operation, sub_resource=text.partition("/")[2].strip("*"))


def _named(group: str, version: str, text: str) -> Iterator[Resource]:
    """Yield what a rule names; for a wildcard some of what it stands for."""
    name = text.partition("/")[0]
    for usual in _USUAL if "*" in (group, version, name) else ():
        pairs = ((group, usual.group), (version, usual.version), (name, usual.resource))
        if all(said in ("*", known) for said, known in pairs):
            yield usual
    if name != "*":
        yield Resource(group.strip("*"), version.strip("*"), name)


def _stranger(resource: Resource, operation: Operation, *, sub_resource: str) -> AdmissionRequest:
    kind = Kind(resource.group, resource.version, _KINDS.get(resource.resource, resource.resource.capitalize().removesuffix("s")))
    obj: Object = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": _NOBODY, "namespace": _NOBODY}}
    return AdmissionRequest(
        uid=_NOBODY,
        kind=kind,
        resource=resource,
        sub_resource=sub_resource,
        name=_NOBODY,
        namespace=_NOBODY,
        operation=operation,
        user=UserInfo(username=_NOBODY, groups=("system:authenticated",)),
        object=None if operation is Operation.DELETE else obj,
        old_object=None if operation in (Operation.CREATE, Operation.CONNECT) else obj,
    )


class _Nowhere:
    """A world in which every namespace exists, without anything about it."""

    def namespace(self, name: str) -> Object | None:
        return bare_namespace(name)

    def params(self, *_: object, **__: object) -> tuple[Object, ...]:
        return ()

    def is_namespaced(self, kind: ParamKind) -> bool | None:  # noqa: ARG002 - fits World
        return None
