"""Decoder of WorkloadPolicy (``gangwarden.dev/v1alpha1``): the native PodGroup shape, with a CEL sibling per value.

A field ``x`` takes a literal, its sibling ``xExpression`` takes CEL; a literal becomes the expression of itself, so
that everything behind this door knows expressions only.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from webhook.model.groups import OVERRIDES
from webhook.model.names import wrong_label, wrong_qualified_name, wrong_subdomain
from webhook.model.objects import Object
from webhook.model.policies import CompositeSpec, DisruptionSpec, Expression, Members, PodGroupSpec, WorkloadPolicy
from webhook.policies.cursor import Cursor
from webhook.policies.heads import HEAD_FIELDS, decode_head, fail_repeated
from webhook.policies.native import spec_of

_GROUPS_LIMIT = 8
"""A Workload holds at most 8 podGroupTemplates or compositePodGroupTemplates, and each of these at most 8 of its own."""
_CLAIMS_LIMIT = 4
"""A PodGroup holds at most 4 resourceClaims."""
_PATH = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:\[\*\])?(?:\.[A-Za-z][A-Za-z0-9]*(?:\[\*\])?)*")
_RESOURCE = re.compile(r"[a-z][a-z0-9]*(?:\.[a-z0-9-]+)*")
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def decode_workload_policy(root: Cursor) -> WorkloadPolicy:
    """Read a WorkloadPolicy."""
    spec = spec_of(root)
    spec.only(*HEAD_FIELDS, "precedence", "attach", "podGroups", "compositePodGroups", "disruption", "overrides")
    composites, groups = _tree(spec)
    disruption, overrides = spec.mapping("disruption"), spec.mapping("overrides")
    return WorkloadPolicy(
        head=decode_head(root, spec),
        precedence=spec.number("precedence"),
        attach=spec.text("attach", "Auto", choices=("Auto", "Native", "Managed")),
        pod_groups=groups,
        composites=composites,
        disruption=_disruption(disruption) if disruption else DisruptionSpec(),
        allowed_overrides=_overrides(overrides) if overrides else (),
    )


def _tree(spec: Cursor) -> tuple[tuple[CompositeSpec, ...], tuple[PodGroupSpec, ...]]:
    """Read the groups, by themselves or within groups of groups: one of the two, as in a Workload."""
    if not spec.has("compositePodGroups"):
        alone = _several(spec, "podGroups")
        fail_repeated(alone, "name")
        return (), tuple(group for cursor in alone if (group := _group(cursor)))
    if spec.has("podGroups"):
        spec.fail("podGroups and compositePodGroups exclude each other: name all groups within the latter", "podGroups")
    found = [(cursor, _composite(cursor), _several(cursor, "podGroups")) for cursor in _several(spec, "compositePodGroups")]
    every = [one for cursor, _, within in found for one in (cursor, *within)]
    fail_repeated(every, "name")  # template names are unique in the whole of a Workload
    groups = (replace(group, composite=above.name) for _, above, within in found for each in within if (group := _group(each)))
    return tuple(above for _, above, _ in found), tuple(groups)


def _several(holder: Cursor, name: str) -> list[Cursor]:
    entries = holder.mappings(name)
    if not entries or len(entries) > _GROUPS_LIMIT:
        holder.fail(f"required: 1 to {_GROUPS_LIMIT} entries", name)
    return entries


def _composite(cursor: Cursor) -> CompositeSpec:
    cursor.only("name", "instances", "schedulingPolicy", "disruptionMode", "schedulingConstraints", "podGroups")
    name = cursor.text("name", required=True)
    cursor.check("name", wrong_label, name)
    gang, min_group_count = _scheduling(cursor, "minGroupCount")
    return CompositeSpec(
        name=name,
        per_instance=cursor.text("instances", "One", choices=("One", "PerInstance")) == "PerInstance",
        gang=gang,
        min_group_count=min_group_count,
        disrupt_all=_one_of(cursor, "disruptionMode", ("all", "single"), "all") == "all",
        topology_keys=_topology(cursor),
    )


def _group(cursor: Cursor) -> PodGroupSpec | None:
    cursor.only(
        "name", "members", "instances", "stamp", "schedulingPolicy", "disruptionMode", "schedulingConstraints",
        "priorityClassName", "priorityClassNameExpression", "resourceClaims",
    )  # fmt: skip
    name = cursor.text("name", required=True)
    cursor.check("name", wrong_label, name)
    stamp = cursor.text("stamp", "Template", choices=("Template", "Pod"))
    members = _members(cursor, on_pods=stamp == "Pod")
    gang, min_count = _scheduling(cursor)
    instances, key = _instances(cursor)
    priority = cursor.text("priorityClassName")
    cursor.check("priorityClassName", wrong_subdomain, priority)
    claims = cursor.mappings("resourceClaims")
    if len(claims) > _CLAIMS_LIMIT:
        cursor.fail(f"at most {_CLAIMS_LIMIT} entries", "resourceClaims")
    fail_repeated(claims, "name")
    if members is None:
        return None
    return PodGroupSpec(
        name=name,
        members=members,
        gang=gang,
        min_count=min_count,
        disrupt_all=_one_of(cursor, "disruptionMode", ("all", "single"), "all") == "all",
        topology_keys=_topology(cursor),
        priority_class_name=_value(cursor, "priorityClassName"),
        resource_claims=tuple(_claim(claim) for claim in claims),
        instances=instances,
        instance_key=key,
        stamp=stamp,
    )


def _members(group: Cursor, *, on_pods: bool) -> Members | None:
    cursor = group.mapping("members")
    if cursor is None:
        group.fail("required", "members") if not group.has("members") else None
        return None
    cursor.only("path", "paths", "where", "through", "count", "countExpression")
    paths = _paths(cursor, required=not on_pods)
    where, count = cursor.expression("where"), _count(cursor, "count")
    if on_pods and where is None:
        cursor.fail("required with stamp: Pod: it says which pods", "where")
    for item in cursor.items("through"):
        if isinstance(item.node.value, str) and not _RESOURCE.fullmatch(item.node.value):
            item.fail(f'"{item.node.value}" is not a resource with its group, such as jobs.batch')
    if cursor.has("through") and not on_pods:
        cursor.fail("only with stamp: Pod", "through")
    if where and not on_pods and not any("[*]" in path for path in paths):
        cursor.fail('only with a path over a list ("[*]")', "where")
    if count is None:
        if not cursor.has("count") and not cursor.has("countExpression"):
            cursor.fail("required: count or countExpression", "countExpression")
        return None
    return Members(paths=paths, where=where, through=cursor.texts("through"), count=count)


def _paths(cursor: Cursor, *, required: bool) -> tuple[str, ...]:
    if cursor.has("path") and cursor.has("paths"):
        cursor.fail("path and paths exclude each other", "paths")
    if not cursor.has("paths"):
        path = cursor.text("path", required=required)
        cursor.check("path", _wrong_path, path)
        return (path,) if path or required else ()
    paths = cursor.texts("paths", required=True)
    for item in cursor.items("paths"):
        if isinstance(item.node.value, str) and (problem := _wrong_path(item.node.value)):
            item.fail(problem)
    return paths


def _wrong_path(text: str) -> str:
    return "" if _PATH.fullmatch(text) else f'"{text}" is not a path such as spec.template'


def _scheduling(group: Cursor, least: str = "minCount") -> tuple[bool, Expression | None]:
    if _one_of(group, "schedulingPolicy", ("gang", "basic"), "gang") == "basic":
        return False, None
    policy = group.mapping("schedulingPolicy")
    gang = policy.mapping("gang") if policy else None
    if gang is None:
        return True, None
    gang.only(least, f"{least}Expression")
    return True, _count(gang, least)


def _instances(group: Cursor) -> tuple[str, Expression | None]:
    node = group.node.value.get("instances")
    if node is None or not isinstance(node.value, dict):
        return group.text("instances", "One", choices=("One", "PerItem")), None
    cursor = group.mapping("instances")
    return "Key", cursor.only("keyExpression").expression("keyExpression", required=True) if cursor else None


def _topology(group: Cursor) -> tuple[Expression, ...]:
    constraints = group.mapping("schedulingConstraints")
    if constraints is None:
        return ()
    items = constraints.only("topology").mappings("topology")
    if len(items) > 1:
        constraints.fail("at most one entry: the scheduler takes no more", "topology")
    keys = []
    for item in items:
        item.only("key", "keyExpression")
        item.check("key", wrong_qualified_name, item.text("key"))
        key = _value(item, "key")
        if key is None:
            item.fail("required: key or keyExpression", "key")
        else:
            keys.append(key)
    return tuple(keys)


def _claim(cursor: Cursor) -> Object:
    cursor.only("name", "resourceClaimName", "resourceClaimTemplateName")
    cursor.check("name", wrong_label, cursor.text("name", required=True))
    if cursor.has("resourceClaimName") == cursor.has("resourceClaimTemplateName"):
        cursor.fail("exactly one of resourceClaimName and resourceClaimTemplateName is required")
    for name in ("resourceClaimName", "resourceClaimTemplateName"):
        cursor.check(name, wrong_subdomain, cursor.text(name))
    return cursor.plain()


def _disruption(cursor: Cursor) -> DisruptionSpec:
    cursor.only(
        "onDisruption", "onMemberFailure", "replacementGracePeriod", "onEviction", "budgets", "budgetTimeout", "onBudgetTimeout",
        "maxRestarts", "fastRestart", "restart",
    )  # fmt: skip
    default = DisruptionSpec()
    return DisruptionSpec(
        on_disruption=cursor.text("onDisruption", default.on_disruption, choices=("Restart", "IfNotReplaced", "Ignore")),
        on_member_failure=cursor.text("onMemberFailure", default.on_member_failure, choices=("Restart", "Ignore")),
        replacement_grace_seconds=_seconds(cursor, "replacementGracePeriod", default.replacement_grace_seconds),
        on_eviction=cursor.text("onEviction", default.on_eviction, choices=("Finish", "Hold")),
        budgets=cursor.text("budgets", default.budgets, choices=("Respect", "Ignore")),
        budget_timeout_seconds=_seconds(cursor, "budgetTimeout", default.budget_timeout_seconds),
        on_budget_timeout=cursor.text("onBudgetTimeout", default.on_budget_timeout, choices=("Hold", "Restart")),
        max_restarts=cursor.number("maxRestarts", default.max_restarts, minimum=0),
        fast_restart=cursor.flag("fastRestart", default=default.fast_restart),
        suspend_path=_restart(cursor, default.suspend_path),
    )


def _restart(cursor: Cursor, default: str) -> str:
    restart = cursor.mapping("restart")
    if restart is None:
        return default
    restart.only("suspendPath", "evict")
    evict = restart.mapping("evict")
    if evict:
        evict.only()
    if restart.has("suspendPath") == restart.has("evict"):
        restart.fail("exactly one of suspendPath and evict is required")
    path = restart.text("suspendPath")
    restart.check("suspendPath", lambda text: "" if _PATH.fullmatch(text) else f'"{text}" is not a path', path)
    return path


def _overrides(cursor: Cursor) -> tuple[str, ...]:
    allowed = cursor.only("allow").texts("allow")
    for item in cursor.items("allow"):
        if isinstance(item.node.value, str) and item.node.value not in OVERRIDES:
            item.fail(f'"{item.node.value}" cannot be overridden: use {", ".join(OVERRIDES)}')
    return allowed


def _one_of(cursor: Cursor, name: str, kinds: tuple[str, ...], default: str) -> str:
    """Read a union such as ``{gang: {...}}``: a mapping with exactly one of some keys."""
    union = cursor.mapping(name)
    if union is None:
        return default
    given = [kind for kind in kinds if union.only(*kinds).has(kind)]
    if len(given) != 1:
        union.fail(f"exactly one of {' and '.join(kinds)} is required")
        return default
    if given[0] != "gang" and (member := union.mapping(given[0])):
        member.only()
    return given[0]


def _value(cursor: Cursor, name: str) -> Expression | None:
    """Read a text or its CEL sibling; None when neither says anything."""
    literal, computed = cursor.text(name), cursor.expression(f"{name}Expression")
    if literal and computed:
        cursor.fail(f"{name} and {name}Expression exclude each other", name)
    return Expression(json.dumps(literal), cursor.origin) if literal else computed


def _count(cursor: Cursor, name: str) -> Expression | None:
    """Read a positive number or its CEL sibling; None when neither says anything."""
    computed = cursor.expression(f"{name}Expression")
    if not cursor.has(name):
        return computed
    if computed:
        cursor.fail(f"{name} and {name}Expression exclude each other", name)
    return Expression(str(cursor.number(name, 1, minimum=1)), cursor.origin)


def _seconds(cursor: Cursor, name: str, default: float) -> float:
    text = cursor.text(name)
    found = _DURATION.fullmatch(text)
    if not text:
        return default
    if found is None:
        cursor.fail(f'"{text}" is not a duration: write 90s, 10m or 1h30m', name)
        return default
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(hours * 3600 + minutes * 60 + seconds)
