"""Names of our group objects.

A name is chosen in the mutating call, where the workload has no UID and, under generateName, no name either. So it
is the first part of what is known plus a fresh token, and it is recorded on the workload: names are ours, never
predicted from native hashing (reference: Job controller, job_scheduling_manager.go; its hash changes between releases).
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from webhook.model.groups import (
    GROUP_POLICY_ANNOTATION,
    GROUPED_AS_ANNOTATION,
    POD_GROUP_ANNOTATION,
    ROUTE_ANNOTATION,
    SCHEDULING_GROUP,
)
from webhook.model.objects import Object, ObjectKey, annotations_of, metadata_of
from webhook.model.snapshot import Snapshot

_BASE_LENGTH = 40
"""Of the workload's name. With the template's name (up to 63) and a token of 10 the whole stays far below the 253
characters of a DNS subdomain, and kubectl's columns stay readable."""


def group_name(workload: Object, slot: str, token: str, *, alone: bool) -> str:
    """Return a new PodGroup name; ``alone`` leaves the slot out where a workload has only one group."""
    base = (given_name(workload) or str(workload.get("kind") or "group")).lower()
    start = base[:_BASE_LENGTH].rstrip("-.")
    parts = [start, token] if alone else [start, slot.replace("/", "-"), token]
    return "-".join(parts)


def name_for_pods(workload: Object, slot: str) -> str:
    """Return the name of a group whose pods are stamped one by one: every pod must come to the same one by itself.

    By then the workload is stored, so its UID makes the name its own.
    """
    meta = metadata_of(workload)
    token = sha256(f"{meta.get('uid')}/{slot}".encode()).hexdigest()[:10]
    return group_name(workload, slot, token, alone=False)


def given_name(workload: Object) -> str:
    """Return the name as far as its creator gave it: the name, or the prefix under generateName."""
    meta = metadata_of(workload)
    return str(meta.get("name") or meta.get("generateName") or "")


def is_record_of_another(workload: Object) -> bool:
    """Tell whether the record on a workload was written for one of another name: the manifest is a copy."""
    return bool(recorded_names(workload)) and annotations_of(workload).get(GROUPED_AS_ANNOTATION) != given_name(workload)


def is_record_of_its_own(stored: Object) -> bool:
    """Tell whether the record on a stored workload was written for it, whose name was perhaps only a prefix then."""
    meta, written_as = metadata_of(stored), annotations_of(stored).get(GROUPED_AS_ANNOTATION)
    return bool(written_as) and written_as in (meta.get("name"), meta.get("generateName"))


def is_recorded_for_pods(stored: Object) -> bool:
    """Tell whether a stored workload was attached so that each of its pods gets its group by itself: it names none then."""
    if recorded_names(stored) or recorded_route(stored):
        return False
    return bool(recorded_policy(stored)[0]) and is_record_of_its_own(stored)


def write_names(names: dict[str, str]) -> str:
    """Return the annotation's value for PodGroup names by what the record calls each group."""
    return ",".join(f"{template}={name}" for template, name in names.items())


def recorded_names(workload: Object) -> dict[str, str]:
    """Read PodGroup names by slot (see ``PlannedGroup``) from a workload; empty when we never attached anything."""
    value = str(annotations_of(workload).get(POD_GROUP_ANNOTATION) or "")
    pairs = (pair.partition("=") for pair in value.split(",") if pair)
    return {template: name for template, _, name in pairs if template and name}


def recorded_route(workload: Object) -> str:
    """Read by which route a workload got its group, if somebody else makes that; empty where it is ours, or none."""
    return str(annotations_of(workload).get(ROUTE_ANNOTATION) or "")


def recorded_policy(workload: Object) -> tuple[str, str]:
    """Read the policy and binding that decided; two empty strings when we never attached anything."""
    policy, _, binding = str(annotations_of(workload).get(GROUP_POLICY_ANNOTATION) or "").partition("/")
    return policy, binding


def missing_groups(owner: Object, names: Iterable[str], snapshot: Snapshot) -> tuple[str, ...]:
    """Return those PodGroups of a workload, by their names, that do not exist."""
    namespace = str(metadata_of(owner).get("namespace") or "")
    return tuple(name for name in names if snapshot.get(ObjectKey(SCHEDULING_GROUP, "PodGroup", namespace, name)) is None)
