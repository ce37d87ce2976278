"""What a WorkloadPolicy may not ask for, found when it is loaded: whatever were stamped would wait for a group for ever."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.errors import PolicyError
from webhook.groups.instances import chooses
from webhook.groups.paths import may_meet
from webhook.model.policies import Members, ResourceRule, WorkloadPolicy

_NEVER = {
    ("apps", "*"): (
        "a Deployment, StatefulSet, ReplicaSet or DaemonSet replaces its pods one by one, and each new one would wait for a "
        "quorum: group workloads whose pods start together once"
    ),
    ("batch", "cronjobs"): "a CronJob's Jobs would all be in one group: group the Jobs that it makes, each by itself",
    ("", "*"): "pods are no workloads that own their group: name the kind whose controller makes the pods",
}
"""Kinds that no policy can group, by API group and resource, and why."""


def refusals(policy: WorkloadPolicy) -> Iterator[PolicyError]:
    """Yield everything in a policy that is not carried out, with its field."""
    origin = policy.head.origin
    for field, message in (*_of_attach(policy), *_of_rules(policy), *_of_groups(policy), *_of_composites(policy)):
        yield PolicyError(message, path=origin.path, line=origin.line, field=field)


def _of_attach(policy: WorkloadPolicy) -> Iterator[tuple[str, str]]:
    if policy.attach != "Native":
        return
    if policy.composites:
        yield "spec.attach", "attach: Native makes no groups of groups; use Auto or Managed"
    elif [spec.members.paths for spec in policy.pod_groups] != [("spec.template",)]:
        yield (
            "spec.attach",
            "attach: Native makes one group, of the pods at spec.template; use Auto or Managed for other groups",
        )
    rules = policy.head.match_constraints.resource_rules
    if any(rule.api_groups != ("batch",) or set(rule.resources) != {"jobs"} for rule in rules):
        yield "spec.attach", "attach: Native is for Jobs of batch only, for no other controller makes their groups"


def _of_rules(policy: WorkloadPolicy) -> Iterator[tuple[str, str]]:
    for index, rule in enumerate(policy.head.match_constraints.resource_rules):
        reason = _wrong_rule(rule)
        if reason:
            yield f"spec.matchConstraints.resourceRules[{index}]", reason


def _wrong_rule(rule: ResourceRule) -> str:
    for group in rule.api_groups:
        for resource in rule.resources:
            if group == "*" or "*" in resource or "/" in resource:
                return (
                    "name API groups and resources one by one, without * and subresources, such as apiGroups: [batch] and "
                    "resources: [jobs]: the controller follows the workloads that it makes groups for"
                )
            reason = _NEVER.get((group, resource)) or _NEVER.get((group, "*"))
            if reason:
                return reason
    return ""


def _of_groups(policy: WorkloadPolicy) -> Iterator[tuple[str, str]]:
    taken: list[str] = []
    for index, spec in enumerate(policy.pod_groups):
        field = f"spec.podGroups[{index}]"
        for place, path in _places(spec.members):
            if spec.members.where is None and not spec.on_pods and any(may_meet(path, other) for other in taken):
                yield f"{field}.members.{place}", f"{path} belongs to another group already; a pod has one group"
            if spec.members.where is None and not spec.on_pods:
                taken.append(path)
        if chooses(spec) and [path.count("[*]") for path in spec.members.paths] != [1]:
            place = "members.where" if spec.instances == "One" else "instances"
            yield (
                f"{field}.{place}",
                'only with one path over one list or mapping ("[*]"): nothing else has entries',
            )
        if spec.on_pods != policy.pod_groups[0].on_pods:
            yield f"{field}.stamp", "all groups of a policy are stamped in one way: on the templates, or on the pods"
        if spec.on_pods and spec.instances == "PerItem":
            yield f"{field}.instances", "instances: PerItem tells entries of a list apart, not pods; use keyExpression"


def _of_composites(policy: WorkloadPolicy) -> Iterator[tuple[str, str]]:
    for index, composite in enumerate(policy.composites):
        alone = [group.name for group in policy.pod_groups if group.composite == composite.name and group.instances == "One"]
        if composite.per_instance and alone:
            reason = f"there is one {alone[0]} for all of them; give it instances as well, or leave this out"
            yield f"spec.compositePodGroups[{index}].instances", f"PerInstance makes a tree for each instance, but {reason}"


def _places(members: Members) -> Iterator[tuple[str, str]]:
    if len(members.paths) == 1:
        yield "path", members.paths[0]
        return
    for index, path in enumerate(members.paths):
        yield f"paths[{index}]", path
