"""The objects of a group: the stamp on a workload, and the Workload and PodGroups that go with it.

Shapes and limits are those of ``scheduling.k8s.io/v1beta1`` in Kubernetes 1.37 (api/scheduling/v1beta1/types.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from webhook.groups.names import given_name, write_names
from webhook.groups.paths import read_path, replace_at
from webhook.model.groups import (
    ALPHA_SCHEDULING_VERSION,
    GROUP_POLICY_ANNOTATION,
    GROUPED_AS_ANNOTATION,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    OWNER_UID_LABEL,
    POD_GROUP_ANNOTATION,
    SCHEDULING_VERSION,
    GroupPlan,
    PlannedComposite,
    PlannedGroup,
)
from webhook.model.objects import Kind, Object, annotations_of, metadata_of

_RECORD = (POD_GROUP_ANNOTATION, GROUP_POLICY_ANNOTATION, GROUPED_AS_ANNOTATION)


def stamp(workload: Object, plan: GroupPlan) -> Object:
    """Return the workload with its pods put into the plan's groups and the decision recorded in annotations."""
    stamped = workload
    for group in plan.groups:
        for path in group.paths:
            stamped = replace_at(stamped, f"{path}.spec.schedulingGroup", _always({"podGroupName": group.pod_group}))
    names = {group.slot: group.pod_group for group in plan.groups if group.paths}
    written = {
        **({POD_GROUP_ANNOTATION: write_names(names)} if names else {}),
        GROUP_POLICY_ANNOTATION: f"{plan.policy}/{plan.binding}",
        GROUPED_AS_ANNOTATION: given_name(workload),
    }
    return replace_at(stamped, "metadata.annotations", lambda old: {**(old if isinstance(old, dict) else {}), **written})


def restore_stamp(workload: Object, before: Object, places: Iterable[tuple[str, tuple[str, ...]]]) -> Object:
    """Return the workload with what it had ``before``: its record, and the stamp wherever a template names no group now.

    ``places`` are PodGroup names, each with the paths of its templates.
    """
    stamped = workload
    for name, paths in places:
        for path in paths:
            if any(isinstance(spec, dict) for spec in read_path(stamped, f"{path}.spec")):
                stamped = replace_at(stamped, f"{path}.spec.schedulingGroup", _unless_given({"podGroupName": name}))
    written = annotations_of(before)
    lost = {key: written[key] for key in _RECORD if key in written and key not in annotations_of(workload)}
    return replace_at(stamped, "metadata.annotations", lambda old: {**(old or {}), **lost}) if lost else stamped


def workload_object(owner: Object, plan: GroupPlan) -> Object:
    """Return the Workload of a plan: documentation of the whole, which the scheduler does not read."""
    kind = Kind.of(owner)
    return {
        "apiVersion": SCHEDULING_VERSION,
        "kind": "Workload",
        "metadata": _metadata(owner, workload_name(plan)),
        "spec": {
            "controllerRef": {"apiGroup": kind.group, "kind": kind.kind, "name": metadata_of(owner)["name"]},
            **_tree(plan),
        },
    }


def pod_group_object(owner: Object, plan: GroupPlan, group: PlannedGroup) -> Object:
    """Return one PodGroup of a plan.

    It is owned by the workload with ``controller: false``: native discovery looks at controller references only, and
    pods never get a PodGroup as owner, which would break cascading deletion (native-semantics, GC hazard).
    """
    return {
        "apiVersion": SCHEDULING_VERSION,
        "kind": "PodGroup",
        "metadata": _metadata(owner, group.pod_group),
        "spec": {
            **({"parentCompositePodGroupName": group.parent} if group.parent else {}),
            "workloadRef": {"workloadName": workload_name(plan), "templateName": group.template},
            **_group_fields(group),
        },
    }


def composite_object(owner: Object, plan: GroupPlan, composite: PlannedComposite) -> Object:
    """Return one CompositePodGroup of a plan, owned as its PodGroups are."""
    return {
        "apiVersion": ALPHA_SCHEDULING_VERSION,
        "kind": "CompositePodGroup",
        "metadata": _metadata(owner, composite.name),
        "spec": {
            "workloadRef": {"workloadName": workload_name(plan), "templateName": composite.template},
            **_composite_fields(composite),
        },
    }


def workload_name(plan: GroupPlan) -> str:
    """Return the Workload's name: that of the first group, which is unique already."""
    return plan.groups[0].pod_group


def _tree(plan: GroupPlan) -> Object:
    """Return the templates of a Workload: of groups by themselves, or of groups within groups, but never both."""
    if not plan.composites:
        return {"podGroupTemplates": [_template(group) for group in _templates(plan)]}
    within: dict[str, list[Object]] = {}
    template_of = {composite.name: composite.template for composite in plan.composites}
    for group in _templates(plan):
        within.setdefault(template_of.get(group.parent, ""), []).append(_template(group))
    composites = {composite.template: composite for composite in reversed(plan.composites)}
    return {
        "compositePodGroupTemplates": [
            {"name": name, **_composite_fields(composites[name]), "podGroupTemplates": within[name]}
            for name in within
            if name in composites
        ]
    }


def _template(group: PlannedGroup) -> Object:
    return {"name": group.template, **_group_fields(group)}


def _templates(plan: GroupPlan) -> tuple[PlannedGroup, ...]:
    """Return one group for each template: it stands for those that are made from the same one."""
    return tuple({group.template: group for group in reversed(plan.groups)}[name] for name in _names(plan))


def _names(plan: GroupPlan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(group.template for group in plan.groups))


def _unless_given(value: Object) -> Callable[[Any], Any]:
    return lambda old: old or value


def _always(value: Object) -> Callable[[Any], Object]:
    return lambda _: value


def _composite_fields(composite: PlannedComposite) -> Object:
    least = composite.min_group_count
    fields: Object = {
        "schedulingPolicy": {"basic": {}} if least is None else {"gang": {"minGroupCount": least}},
        "disruptionMode": {"all": {}} if composite.disrupt_all else {"single": {}},
    }
    if composite.topology_key:
        fields["schedulingConstraints"] = {"topology": [{"key": composite.topology_key}]}
    if composite.priority_class_name:
        fields["priorityClassName"] = composite.priority_class_name
    return fields


def _group_fields(group: PlannedGroup) -> Object:
    policy: Object = {"basic": {}} if group.min_count is None else {"gang": {"minCount": group.min_count}}
    fields: Object = {"schedulingPolicy": policy}
    if group.disrupt_all is not None:
        # Written out even where it is the default: a gang defaults to `single`, and the field cannot be changed later.
        fields["disruptionMode"] = {"all": {}} if group.disrupt_all else {"single": {}}
    if group.topology_key:
        fields["schedulingConstraints"] = {"topology": [{"key": group.topology_key}]}
    if group.priority_class_name:
        fields["priorityClassName"] = group.priority_class_name
    if group.resource_claims:
        fields["resourceClaims"] = [dict(claim) for claim in group.resource_claims]
    return fields


def _metadata(owner: Object, name: str) -> Object:
    meta, kind = metadata_of(owner), Kind.of(owner)
    reference = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": False,
        "blockOwnerDeletion": True,
    }
    return {
        "name": name,
        "namespace": meta["namespace"],
        "labels": {MANAGED_BY_LABEL: MANAGED_BY, OWNER_UID_LABEL: meta["uid"]},
        "ownerReferences": [reference],
    }
