"""What the feature gates of a cluster mean together: what a change of them costs, and mixtures that lose groups in silence.

Each component has its own gates, and nothing in Kubernetes compares them: what one keeps another never reads. Sources: what a
live 1.37 control plane did when gates were mixed and switched, and pkg/controller/job/job_scheduling_manager.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.groups.claims import IGNORED_GROUPS
from webhook.model.actions import Tell
from webhook.model.groups import Capabilities
from webhook.model.objects import Object

_GATES = {
    "group_objects": "GenericWorkload in kube-apiserver",
    "native_jobs": "WorkloadWithJob in kube-apiserver",
    "native_groups": "WorkloadWithJob in kube-controller-manager",
    "scheduler_groups": "GenericWorkload in kube-scheduler",
    "topology": "TopologyAwareWorkloadScheduling in kube-apiserver",
    "shared_claims": "DRAWorkloadResourceClaims in kube-apiserver",
    "preemption_policy": "PodGroupPreemptionPolicy in kube-apiserver",
    "composite_groups": "CompositePodGroup in kube-apiserver",
}
_NO_GROUPS = (
    "GenericWorkload went off while groups may exist: groups that wait start pod by pod, and pods that running groups make from "
    "now on are in none. Suspend grouped Jobs that wait; when the gate is back, restart groups that lost members."
)
_NO_JOB_CONTROLLER = (
    "kube-apiserver keeps spec.scheduling of Jobs, but the Job controller makes no groups of it: Jobs that ask for one that way "
    "start pod by pod, or not at all. Turn WorkloadWithJob on in kube-controller-manager, or off in kube-apiserver. Meanwhile "
    "Gangwarden itself makes the groups of Jobs that its policies group, unless they say attach: Native."
)
_WISHES = {"topology": "spec.scheduling.schedulingConstraints", "shared_claims": "spec.scheduling.resourceClaims"}
"""What a Job keeps for WorkloadWithJob, and its PodGroup loses without the gate of its own."""
_UNSETTLED = (
    "The answers change back and forth, so the API servers behind one address have different gates: which Job gets its group "
    "depends on which of them stores it. Finish the upgrade, or give all of them the same gates."
)


def changed_gates(before: Capabilities, now: Capabilities) -> str:
    """Return in words which gates went on and off; empty where none did, or where it is not known of one."""
    words = {True: "on", False: "off"}
    looked_at = [(gate, getattr(before, name), getattr(now, name)) for name, gate in _GATES.items()]
    return ", ".join(f"{gate} is {words[new]}" for gate, old, new in looked_at if None not in (old, new) and old != new)


def dangerous_mixtures(now: Capabilities, *, asked_job_controller: bool) -> tuple[str, ...]:
    """Return what is lost in silence with these gates, each in a sentence with the next step.

    ``asked_job_controller``: a canary was flown, so that no known groups of it means none.
    """
    found = [_NO_JOB_CONTROLLER] if asked_job_controller and now.native_jobs and not now.native_groups else []
    found += [IGNORED_GROUPS] if now.group_objects and now.scheduler_groups is False else []
    if now.native_jobs:
        found += [
            f"{_GATES[name].partition(' ')[0]} is off and WorkloadWithJob is on: Jobs keep {field}, and the PodGroups that the "
            "Job controller makes of them lose it. The policy honoured-fields refuses such Jobs; turn the gate on."
            for name, field in _WISHES.items()
            if not getattr(now, name)
        ]
    return tuple(found)


def tell_gates(
    about: Object, before: Capabilities | None, now: Capabilities, *, asked_job_controller: bool, unsettled: bool
) -> Iterator[Tell]:
    """Say what changed and what it costs; ``before`` is None at the first look, where only mixtures are news."""
    yield from _tell_change(about, before, now)
    known = dangerous_mixtures(before, asked_job_controller=asked_job_controller) if before is not None else ()
    mixtures = dangerous_mixtures(now, asked_job_controller=asked_job_controller)
    for danger in (*([_UNSETTLED] if unsettled else ()), *(one for one in mixtures if one not in known)):
        yield Tell(about=about, reason="DangerousGates", message=danger)


def _tell_change(about: Object, before: Capabilities | None, now: Capabilities) -> Iterator[Tell]:
    news = changed_gates(before, now) if before is not None else ""
    if before is None or not news:
        return
    lost = any(getattr(before, name) and getattr(now, name) is False for name in _GATES)
    message = f"What the cluster can do for groups changed: {news}."
    yield Tell(about=about, reason="CapabilitiesChanged", message=message, warning=lost)
    if before.group_objects and not now.group_objects:
        yield Tell(about=about, reason="DangerousGates", message=_NO_GROUPS)
