"""Groups of groups: PodGroups of one workload that start together, as a CompositePodGroup (Kubernetes 1.37, alpha).

The scheduler takes the whole tree at once and wants the priority, scheduler and preemption policy of every pod to be those
of its root (schedule_one_podgroup.go); what differs would never start, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from webhook.groups.compile import CompiledComposite, CompiledWorkload
from webhook.groups.names import name_for_pods
from webhook.groups.paths import read_path
from webhook.groups.resolve import AGREED, TOPOLOGY_RULE, GroupProblem, Values, asked_topology_key
from webhook.model.groups import Capabilities, PlannedComposite, PlannedGroup, slot_of
from webhook.model.objects import Object
from webhook.rules import Run

_MIN_RULE = "schedulingPolicy.gang.minGroupCountExpression"


def resolve_tree(
    compiled: CompiledWorkload, run: Run, groups: tuple[PlannedGroup, ...]
) -> tuple[tuple[PlannedGroup, ...], tuple[PlannedComposite, ...]]:
    """Return the groups, each with what it stands in, and the groups of groups. Raises GroupProblem.

    A group of no pods is not made yet and does not count: its quorum could not be met.
    """
    workload, composites = run.situation.request.object or {}, []
    parents: dict[str, str] = {}
    for index, composite in enumerate(compiled.composites):
        for key, members in _trees(compiled, composite, groups):
            made = _resolve(compiled, composite, run, workload=workload, key=key, members=members, index=index)
            composites.append(made)
            parents |= {member.slot: made.name for member in members}
    return tuple(replace(group, parent=parents.get(group.slot, "")) for group in groups), tuple(composites)


def check_composites(composites: Sequence[PlannedComposite], capabilities: Capabilities) -> None:
    """Raise GroupProblem where groups of groups are asked for and were not switched on, which nobody does by accident."""
    if composites and not capabilities.composite_groups:
        raise GroupProblem(NO_COMPOSITES, rule="compositePodGroups")


NO_COMPOSITES = (
    "its groups are to start together as a CompositePodGroup, which is alpha in Kubernetes 1.37 and must not carry production; "
    "on a cluster for trials turn on feature gate CompositePodGroup and --runtime-config=scheduling.k8s.io/v1alpha3=true, and "
    "start Gangwarden with --enable-alpha=CompositePodGroup"
)


def _trees(
    compiled: CompiledWorkload, composite: CompiledComposite, groups: Iterable[PlannedGroup]
) -> Iterator[tuple[str, tuple[PlannedGroup, ...]]]:
    """Yield the groups that stand in one composite, instance by instance where each makes a tree of its own."""
    within = {one.source.name for one in compiled.groups if one.source.composite == composite.source.name}
    trees: dict[str, tuple[PlannedGroup, ...]] = {}
    for group in groups:
        if group.template in within and group.count:
            key = group.instance if composite.source.per_instance else ""
            trees[key] = (*trees.get(key, ()), group)
    yield from trees.items()


def _resolve(
    compiled: CompiledWorkload,
    composite: CompiledComposite,
    run: Run,
    *,
    workload: Object,
    key: str,
    members: tuple[PlannedGroup, ...],
    index: int,
) -> PlannedComposite:
    spec, rule = composite.source, f"compositePodGroups[{index}]"
    _check_agreed(workload, members, rule)
    values = Values(run, rule)
    asked = asked_topology_key(workload, compiled.source.allowed_overrides)
    return PlannedComposite(
        template=spec.name,
        name=name_for_pods(workload, slot_of(spec.name, key)),
        count=len(members),
        min_group_count=_min_group_count(composite, values, len(members)) if spec.gang else None,
        disrupt_all=spec.disrupt_all,
        topology_key=asked or values.label_key(composite.topology_key, TOPOLOGY_RULE, {}),
        priority_class_name=members[0].priority_class_name,
    )


def _min_group_count(composite: CompiledComposite, values: Values, count: int) -> int:
    """Return how many groups start together at least; more than there are would never start."""
    if composite.min_group_count is None:
        return count
    wanted = values.whole_number(composite.min_group_count, _MIN_RULE, {}, least=1)
    if wanted > count:
        raise values.failure(f"gave {wanted}, but there are {count} groups, so they would never start", _MIN_RULE)
    return wanted


def _check_agreed(workload: Object, members: tuple[PlannedGroup, ...], rule: str) -> None:
    classes = {member.priority_class_name for member in members}
    if len(classes) > 1:
        shown = ", ".join(map(repr, sorted(classes)))
        problem = f"priorityClassName differs between groups that are to start together ({shown}), which is never scheduled"
        raise GroupProblem(problem, rule=rule, field=_field(members[-1], "priorityClassName"))
    for name in AGREED:
        specs = (spec for member in members for path in member.paths for spec in read_path(workload, f"{path}.spec"))
        given = {str(spec.get(name) or "") for spec in specs}
        if len(given) > 1:
            shown = ", ".join(map(repr, sorted(given)))
            problem = f"{name} differs between groups that are to start together ({shown}), which is never scheduled"
            raise GroupProblem(problem, rule=rule, field=_field(members[-1], name))


def _field(member: PlannedGroup, name: str) -> str:
    return f"{member.paths[0]}.spec.{name}" if member.paths else ""
