"""The story of one pod, PodGroup or workload: which groups it belongs to, what became of them, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from webhook.groups import is_true, node_of, recorded_names, why_waiting
from webhook.model.groups import GANG_LABEL, SCHEDULING_GROUP, PlannedGroup
from webhook.model.objects import Object, ObjectKey, controller_of, labels_of, metadata_of
from webhook.model.ownership import controllers_above
from webhook.model.policies import DisruptionSpec
from webhook.model.snapshot import Snapshot
from webhook.model.stories import Diagnosis, Story
from webhook.preemption.deadnodes import ABSENT_SECONDS
from webhook.preemption.diagnosis import diagnose, missing_group, ungrouped
from webhook.preemption.facts import GroupFacts, gather_facts, owner_of
from webhook.preemption.happenings import Happening, happenings
from webhook.preemption.intent import read_trace
from webhook.preemption.membership import owner_reference
from webhook.preemption.moments import created
from webhook.preemption.timeline import newest, timeline

_ASKED_IN_VAIN = (
    f'Its label `{GANG_LABEL}: "true"` asks for one, so it was created while the webhook was away or before it was installed, or '
    "it was labelled later. No group can be given to a Job that is there: delete it and create it again."
)

Judge = Callable[[Object], DisruptionSpec]
"""What the policy of a workload says of disruption; the defaults where no policy is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What belongs to the object that was asked for."""

    workload: Object | None
    names: tuple[str, ...]
    """Of its PodGroups, those that do not exist as well."""
    pods: tuple[Object, ...]
    pod_groups: tuple[Object, ...]
    events: tuple[Happening, ...]


def tell_story(
    target: Object,
    snapshot: Snapshot,
    *,
    spec_of: Judge,
    now: datetime,
    names: Mapping[str, str] = MappingProxyType({}),
) -> Story:
    """Tell what became of the groups of an object that is in the snapshot.

    ``names`` are those of preemptors by UID that were found elsewhere; whoever is in the snapshot is named without.
    """
    scene = _scene(target, snapshot)
    known = {str(metadata_of(one).get("uid")): one for one in _possible_preemptors(snapshot)}

    def name_of(uid: str) -> str:
        return names.get(uid) or (str(ObjectKey.of(known[uid])) if uid in known else "")

    groups = sorted(_diagnoses(target, scene, snapshot, spec_of, now, name_of), key=lambda one: not one.is_finding)
    entries, left_out = newest(timeline(scene.workload, scene.pod_groups, scene.pods, scene.events, name_of))
    return Story(
        about=str(ObjectKey.of(target)),
        workload=str(ObjectKey.of(scene.workload)) if scene.workload else "",
        groups=tuple(groups),
        entries=entries,
        left_out=left_out,
        unresolved=tuple({one.preemptor: None for one in scene.events if one.preemptor and not name_of(one.preemptor[0])}),
    )


def _scene(target: Object, snapshot: Snapshot) -> Scene:
    namespace = str(metadata_of(target).get("namespace") or "")
    workload, names = _belongings(target, snapshot)
    every = tuple(snapshot.list("", "Pod", namespace=namespace))
    pods = tuple(pod for pod in every if _group_name(pod) in names or _is_of(pod, workload) or pod is target)
    found = (snapshot.get(ObjectKey(SCHEDULING_GROUP, "PodGroup", namespace, name)) for name in names)
    pod_groups = tuple(group for group in found if group is not None)
    near = [*pods, *pod_groups, *([workload] if workload else []), target]
    return Scene(
        workload=workload,
        names=names,
        pods=pods,
        pod_groups=pod_groups,
        events=tuple(_events_about(near, workload, happenings(snapshot, namespace))),
    )


def _belongings(target: Object, snapshot: Snapshot) -> tuple[Object | None, tuple[str, ...]]:
    """Return the workload that a group was made for, and the names of its groups."""
    namespace, kind = str(metadata_of(target).get("namespace") or ""), target.get("kind")
    if kind == "Pod":
        name = _group_name(target)
        group = snapshot.get(ObjectKey(SCHEDULING_GROUP, "PodGroup", namespace, name)) if name else None
        above = tuple(controllers_above(target, snapshot))
        recorded = next((one for one in above if recorded_names(one)), above[-1] if above else None)
        return (owner_of(group, snapshot) if group else None) or recorded, (name,) if name else ()
    if kind == "PodGroup":
        return owner_of(target, snapshot), (str(metadata_of(target)["name"]),)
    owned = (
        str(metadata_of(group)["name"])
        for group in snapshot.list(SCHEDULING_GROUP, "PodGroup", namespace=namespace)
        if (owner_reference(group) or {}).get("uid") == metadata_of(target).get("uid")
    )
    return target, tuple(dict.fromkeys((*recorded_names(target).values(), *owned)))


def _events_about(near: Sequence[Object], workload: Object | None, events: Iterable[Happening]) -> Iterator[Happening]:
    """Yield the events of these objects, and of pods that are gone and bore the workload's name."""
    uids = {str(metadata_of(one).get("uid")) for one in near}
    named = {(str(one.get("kind")), str(metadata_of(one).get("name"))) for one in near}
    prefix = f"{metadata_of(workload).get('name')}-" if workload else ""
    for event in events:
        place = (event.kind, event.name)
        is_there = event.uid in uids if event.uid else place in named
        if is_there or (prefix and event.kind == "Pod" and event.name.startswith(prefix) and place not in named):
            yield event


def _diagnoses(  # noqa: PLR0917 - one object, and all that is known around it
    target: Object, scene: Scene, snapshot: Snapshot, spec_of: Judge, now: datetime, name_of: Callable[[str], str]
) -> Iterator[Diagnosis]:
    if not scene.names:
        was_asked = target.get("kind") == "Job" and labels_of(target).get(GANG_LABEL) == "true"
        yield ungrouped(_why_ungrouped(target, scene), next_step=_ASKED_IN_VAIN if was_asked else "")
        return
    there = {str(metadata_of(group)["name"]): group for group in scene.pod_groups}
    for name in scene.names:
        if name in there:
            facts = _facts(there[name], scene, snapshot, spec_of, now)
            yield diagnose(facts, scene.events, name_of)
        else:
            yield _of_missing(name, scene)


def _of_missing(name: str, scene: Scene) -> Diagnosis:
    named = [pod for pod in scene.pods if _group_name(pod) == name]
    group = PlannedGroup(template="", pod_group=name, count=len(named), min_count=None)
    cause = why_waiting(group, None, named)
    if cause is None:
        workload = f"{scene.workload.get('kind')} {metadata_of(scene.workload).get('name')}" if scene.workload else "It"
        because = f"{workload} is to have PodGroup {name}, which does not exist, and has no pods that wait for it."
        return replace(ungrouped(because, "PodGroupMissing"), pod_group=name)
    return missing_group(name, cause)


def _why_ungrouped(target: Object, scene: Scene) -> str:
    kind, name = target.get("kind"), metadata_of(target).get("name")
    owner = controller_of(target)
    above = f" It is controlled by {owner.get('kind')} {owner.get('name')}." if owner else ""
    many = len(scene.pods)
    also = f" {many} {'pod of it names' if many == 1 else 'pods of it name'} no group." if many and kind != "Pod" else ""
    return f"{kind} {name} is in no group, so its pods start and go one by one.{above}{also}"


def _facts(pod_group: Object, scene: Scene, snapshot: Snapshot, spec_of: Judge, now: datetime) -> GroupFacts:
    owner, name = owner_of(pod_group, snapshot), str(metadata_of(pod_group)["name"])
    named = tuple(pod for pod in scene.pods if _group_name(pod) == name)
    waiting = [created(pod) for pod in named if not node_of(pod)]
    was_started = is_true(pod_group, "PodGroupInitiallyScheduled")
    return gather_facts(
        pod_group,
        named,
        snapshot,
        spec=spec_of(owner) if owner else DisruptionSpec(),
        now=now,
        absent_nodes=_absent(named, snapshot, now),
        short_since=min(waiting, default=None) if was_started else None,
        intent=read_trace(pod_group).intent,
    )


def _absent(pods: Iterable[Object], snapshot: Snapshot, now: datetime) -> Mapping[str, datetime]:
    """Return the nodes that are not there; one look cannot tell since when, so they count as missing for long enough."""
    if not snapshot.knows("", "Node"):
        return {}
    nodes = {node_of(pod) for pod in pods} - {""}
    since = now - timedelta(seconds=ABSENT_SECONDS)
    return {name: since for name in nodes if snapshot.get(ObjectKey("", "Node", "", name)) is None}


def _is_of(pod: Object, workload: Object | None) -> bool:
    owner = controller_of(pod)
    return workload is not None and owner is not None and owner.get("uid") == metadata_of(workload).get("uid")


def _group_name(pod: Object) -> str:
    return str(((pod.get("spec") or {}).get("schedulingGroup") or {}).get("podGroupName") or "")


def _possible_preemptors(snapshot: Snapshot) -> Iterator[Object]:
    yield from snapshot.list(SCHEDULING_GROUP, "PodGroup")
    yield from snapshot.list("", "Pod")
