"""Which group a new pod belongs to, where pods get their group one by one: for kinds whose definition prunes it from templates.

A pod proves whose it is by the controllers above it, as far as they are known; its labels prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from webhook.cel import EvaluationError
from webhook.groups.compile import ITEM, CompiledGroup, CompiledWorkload
from webhook.groups.names import is_record_of_its_own, name_for_pods, recorded_policy
from webhook.groups.resolve import GroupFailure
from webhook.model.groups import slot_of
from webhook.model.names import wrong_label
from webhook.model.objects import Object, controller_of, metadata_of
from webhook.model.ownership import controllers_above
from webhook.model.snapshot import Snapshot
from webhook.rules import RuleProblem, Run, Situation


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What is known of a pod that a policy chooses."""

    pod_group: str = ""
    """Empty: it is in no group."""
    unknown: Object | None = None
    """The reference to a controller that is not in the snapshot, so that nobody can tell yet."""


def find_member(compiled: CompiledWorkload, run: Run, pod: Object, snapshot: Snapshot) -> Member | None:
    """Return the group of a new pod; None where the policy does not choose it. Raises GroupFailure.

    ``pod`` must have its namespace; it may lack a name.
    """
    for index, group in enumerate(compiled.groups):
        if _ask(run, group, pod, f"podGroups[{index}].members.where") is True:
            return _placed(compiled, run, group, pod, snapshot, index)
    return None


def seen_keys(compiled: CompiledWorkload, situation: Situation, workload: Object, snapshot: Snapshot) -> tuple[str, ...]:
    """Return what tells the groups of a workload apart, of all its pods that are in a group now. Raises GroupFailure.

    It looks at pods as the controller keeps them, with labels and without annotations.
    """
    chosen = [(index, group) for index, group in enumerate(compiled.groups) if group.source.on_pods and group.instance_key]
    if not chosen:
        return ()
    run, found = Run(compiled.head, situation, None), set()
    for pod in _pods_of(workload, snapshot):
        name = pod["spec"]["schedulingGroup"].get("podGroupName")
        for index, group in chosen:
            key = key_of(run, group, pod, f"podGroups[{index}].instances.keyExpression")
            if name == name_for_pods(workload, slot_of(group.source.name, key)):
                found.add(key)
    return tuple(sorted(found))


def _pods_of(workload: Object, snapshot: Snapshot) -> Iterator[Object]:
    meta = metadata_of(workload)
    for pod in snapshot.list("", "Pod", namespace=str(meta.get("namespace") or "")):
        grouped = (pod.get("spec") or {}).get("schedulingGroup")
        if grouped and any(metadata_of(above).get("uid") == meta.get("uid") for above in controllers_above(pod, snapshot)):
            yield pod


def _placed(  # noqa: PLR0917 - one pod, one policy, one entry of it
    compiled: CompiledWorkload, run: Run, group: CompiledGroup, pod: Object, snapshot: Snapshot, index: int
) -> Member:
    last = pod
    for above in controllers_above(pod, snapshot):
        if recorded_policy(above)[0] == compiled.name and is_record_of_its_own(above):
            key = key_of(run, group, pod, f"podGroups[{index}].instances.keyExpression")
            return Member(pod_group=name_for_pods(above, slot_of(group.source.name, key)))
        last = above
    return Member(unknown=controller_of(last))


def key_of(run: Run, group: CompiledGroup, pod: Object, rule: str) -> str:
    """Return what tells the pod's group from others of the same entry. Raises GroupFailure."""
    if group.instance_key is None:
        return ""
    key = _ask(run, group, pod, rule, key=True)
    if not isinstance(key, str) or (key and wrong_label(key)):
        raise GroupFailure(f"{rule} gave {str(key)[:80]!r}, which cannot be part of a name (a DNS label)", rule=rule)
    return key


def _ask(run: Run, group: CompiledGroup, pod: Object, rule: str, *, key: bool = False) -> object:
    program = group.instance_key if key else group.where
    try:
        return None if program is None else run.evaluate_with(program, {ITEM: pod})
    except (EvaluationError, RuleProblem) as error:
        raise GroupFailure(f"{rule} failed: {error}", rule=rule) from error
