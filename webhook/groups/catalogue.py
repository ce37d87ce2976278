"""Everything that keeps a group from running, takes it apart or brings it back: by its word, what it means and what comes next.

One table for all who tell it: events of the controller, ``gangwarden explain``, and the pages of the runbook, which are written
from it. Text in backquotes is code. Sources: what a live 1.37 control plane was seen to do, and its source where it is silent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from webhook.model.disruption import LossCause


class Topic(StrEnum):
    """Where an entry belongs."""

    EVENT = "event"
    """The reason of an event that the controller records."""
    LOSS = "loss"
    """What took a member."""
    FINDING = "finding"
    """What only ``explain`` says: it follows from events of others, or may hold for a moment without being wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One entry of the table."""

    code: str
    topic: Topic
    meaning: str
    next_step: str


def _notes(topic: Topic, *rows: tuple[str, str, str]) -> tuple[Note, ...]:
    return tuple(Note(code=code, topic=topic, meaning=meaning, next_step=next_step) for code, meaning, next_step in rows)


_WAITS = _notes(
    Topic.EVENT,
    (
        "PodGroupMissing",
        "Pods wait for a PodGroup that does not exist. The controller creates it as soon as it sees the Job.",
        "Is a controller leading? Does its log say `action failed`? Then the API server refuses: permissions, or an admission "
        "policy on PodGroups. While the webhook is away, PodGroups that a policy with `failurePolicy: Fail` speaks about "
        "(topology keys, shared claims) cannot be created.",
    ),
    (
        "QuorumNotReached",
        "Fewer pods exist than must start together, so none is scheduled.",
        "`kubectl describe job` shows the Job controller's own events. Usual: a ResourceQuota, an admission webhook on pods, "
        "`completions` below the quorum. Near the end of a Job some have succeeded and one was replaced: lower "
        "`gangwarden.dev/min-count`.",
    ),
    (
        "MemberGated",
        "A pod has a scheduling gate, and one gated pod holds back the whole group.",
        "Find who sets the gate (its name is in the message) and why it does not take it off. Quota systems gate pods until they "
        "admit the Job.",
    ),
    (
        "SchedulerNameMismatch",
        "The group's pods name different schedulers; each would wait for the other for ever.",
        "Give all pod templates the same `schedulerName` and create the Job again. Something that mutates pods may have set it.",
    ),
    (
        "PriorityMismatch",
        "A pod's priority differs from its group's, which was fixed at creation. The scheduler never takes such a group.",
        "Was the PriorityClass changed or made again, or does something set priorities on pods? Give both the same class, create "
        "the Job again.",
    ),
    (
        "GroupUnschedulable",
        "The scheduler found no room for all of the group at once, or none within one domain of its topology key. Its own words "
        "follow.",
        "As for any Pending pod: requests, taints, selectors, topology key. Room for all is needed at the same moment; the group "
        "is tried again when something changes, with pauses that grow.",
    ),
    (
        "GroupNotAttached",
        "The API server dropped `spec.schedulingGroup` of the pods, or `spec.scheduling` of the Job, so the pods run one by one.",
        "Feature gate `GenericWorkload`, or `WorkloadWithJob`, is off in (one of) the API servers. Turn it on, create the Job "
        "again; without `WorkloadWithJob` the next one gets its group from Gangwarden, unless the policy says `attach: Native`.",
    ),
    (
        "GroupOfSomebodyElse",
        "The Job carries Gangwarden's annotations, but its pods name another group, which somebody wrote. That group is left "
        "alone.",
        "If that was meant, take the `gangwarden.dev/…` annotations off. Usual: a Job copied from `kubectl get -o yaml` and "
        "edited.",
    ),
    (
        "PodGroupNameTaken",
        "A PodGroup of that name exists and belongs to something else. Nothing of it was changed.",
        "Delete that PodGroup if it is a leftover, or create the Job again: it gets a new name.",
    ),
    (
        "GroupPolicyGone",
        "The WorkloadPolicy that decided is not among the loaded ones, or has other groups now. All pods of the Job form the "
        "group.",
        "Restore the policy. Do webhook and controller have the same policy files?",
    ),
    (
        "NativeGroupMissing",
        "The Job asks for a group by `spec.scheduling`, and the Job controller has made none: its pods start one by one, or not "
        "at all.",
        "Is feature gate `WorkloadWithJob` on in kube-controller-manager, and is that running? `kubectl describe job` has the "
        "Job controller's own events. Set `attach: Managed` in the WorkloadPolicy, or `Auto` without `--canary-namespace`, and "
        "create the Job again.",
    ),
    (
        "DelegatedGroupMissing",
        "The Job leaves its group to its owner (`scheduling.k8s.io/group-template-name`), and has none: its pods run one by one, "
        "or it never gets any. Kubernetes says nothing about it.",
        "The message says what is missing of the owner's Workload. The simplest is the label `gangwarden.dev/gang` on the owner: "
        "then all pods of its Jobs are one group.",
    ),
    (
        "GroupNotPlanned",
        "The recorded policy can no longer say what the group is: an expression fails, params are missing, an annotation is not "
        "a number. The pods wait.",
        "The message has rule and reason. Mend the policy, the params or the annotation; it is tried again by itself.",
    ),
    (
        "QuorumNotFollowing",
        "The recorded policy can no longer say what the group is, but the group exists already: it keeps the quorum it has.",
        "The message has rule and reason. Mend the policy, the params or the annotation; it is tried again by itself.",
    ),
    (
        "GroupRefused",
        "The API server refused the group's objects, for good as things are (its words follow).",
        "A ResourceQuota on PodGroups, an admission policy, permissions of the controller, or values that no longer validate.",
    ),
    (
        "GroupFieldDropped",
        "A gate is off in the API server that stored the group, so it was made without a part: topology or shared claims.",
        "Turn the gate on and create the Job again, if the part matters.",
    ),
    (
        "CapabilitiesChanged",
        "On the controller's Lease: a feature gate for groups went on or off, or the Job controller began or ceased to make "
        "groups. New workloads get their groups by the route that is left.",
        "Was that meant? `kubectl describe lease -n gangwarden-system gangwarden-controller` shows all of them.",
    ),
    (
        "DangerousGates",
        "On the controller's Lease: gates that each for itself are fine lose groups, racks or claims together, without a word of "
        "Kubernetes.",
        "The message names the gates, the component and what to do.",
    ),
    (
        "NoGroupObjects",
        "The API server serves no PodGroups, but the Job waits for one; or it asks for a gang by its label, and its pods start "
        "one by one. Who created it was warned, but some creators are controllers, such as a CronJob's.",
        "Feature gate `GenericWorkload` and `--runtime-config=scheduling.k8s.io/v1beta1=true` on kube-apiserver; was it "
        "restarted without them?",
    ),
)
_RESTARTS = _notes(
    Topic.EVENT,
    (
        "GroupLostMember",
        "A member was taken or failed, and the others keep their nodes without making progress. As its policy says, the group "
        "is not restarted (yet).",
        "The message says what took the member and what is waited for. `onDisruption` and `onMemberFailure` in the "
        "WorkloadPolicy decide; by hand: suspend the Job, wait until its pods are gone, resume it.",
    ),
    (
        "GroupTaken",
        "All members were taken at once or one after the other: by the scheduler for something more important, by a drain of all "
        "their nodes. Nothing is left in part, so nothing is restarted.",
        "Nothing, as long as there will be room. A Job makes new pods after a pause: 80 s for four that were lost at once, 10 "
        "minutes at most.",
    ),
    (
        "GroupRestarting",
        "A member was taken, so the whole group is taken down and started again, all at once. The id in the message is on every "
        "event of this restart.",
        "Nothing, if it ends in GroupRestarted. What took the member is in the message; a node that is to be drained stays "
        "cordoned.",
    ),
    (
        "GroupRestarted",
        "All members of the group run again, started together.",
        "Nothing. If a group is restarted again and again, look at what takes its members.",
    ),
    (
        "GroupHeld",
        "The group needs a restart, and something forbids it for now: a disruption budget, the limit of restarts, or another "
        "controller that owns the Job. It is named in the message.",
        "A budget: `kubectl get pdb` shows what it allows; it must allow as many as the group has members, all at once. A limit: "
        "mend what breaks the group, then suspend and resume the Job by hand. Another owner: restart it there.",
    ),
    (
        "GroupStuck",
        "As things are the group can never start together: fewer pods are still to come than its quorum asks for.",
        "The quorum is lowered by itself where it is Gangwarden's to set. Otherwise lower `minCount` of the PodGroup to the "
        "number of pods that are still to work.",
    ),
    (
        "GroupRestartAbandoned",
        "Somebody else changed the Job in the middle of a restart: suspended, resumed, resized or deleted it. Gangwarden lets go "
        "and leaves it as they want it.",
        "Is it as you want it? If a GitOps tool put `suspend` back, have it ignore that field, or the next restart ends the same "
        "way.",
    ),
    (
        "GroupRestartFailed",
        "A step of the restart took too long or was refused, and was given up.",
        "The message says which. Usual: a pod that stays Terminating on a node that answers no more. Delete the Node, or give it "
        "the taint `node.kubernetes.io/out-of-service`.",
    ),
)
_LOSSES = _notes(
    Topic.LOSS,
    (
        LossCause.PREEMPTED,
        "The scheduler took it for a pod or group of higher priority.",
        "Raise the priority of the group, or lower that of the other. `disruptionMode: all` on the PodGroup has the scheduler "
        "take groups as a whole.",
    ),
    (
        LossCause.EVICTED,
        "Somebody evicted it: `kubectl drain`, an autoscaler, a descheduler.",
        "`onEviction: Hold` in the WorkloadPolicy delays evictions; a PodDisruptionBudget forbids them.",
    ),
    (
        LossCause.TAINTED,
        "Its node got a NoExecute taint that it does not tolerate.",
        "`kubectl describe node` shows the taint. Not ready or unreachable: look at that node's kubelet.",
    ),
    (
        LossCause.DEVICE_TAINTED,
        "A device that it had claimed got a NoExecute taint.",
        "`kubectl get resourceslices,devicetaintrules` shows the taint; the driver or an operator set it.",
    ),
    (
        LossCause.COLLECTED,
        "Pod garbage collection removed it, because its node is gone or it ended long ago.",
        "Was the node deleted by an autoscaler or by hand? Then nothing is to be mended.",
    ),
    (
        LossCause.KUBELET,
        "The kubelet ended it: node pressure, a node shutting down, or a more critical pod.",
        "`kubectl describe node` shows pressure conditions. Give the pods requests that are close to what they use.",
    ),
    (
        LossCause.NODE_GONE,
        "Its Node object was deleted while it ran.",
        "Nothing, if the machine is really gone.",
    ),
    (
        LossCause.NODE_SILENT,
        "Its node reports nothing any more.",
        "Is the machine alive? If it is not, delete the Node or give it the taint `node.kubernetes.io/out-of-service`: only then "
        "it is sure that the pod does not run on.",
    ),
    (
        LossCause.DELETED,
        "Somebody deleted the pod.",
        "The API server's audit log knows who. Delete the Job, not its pods.",
    ),
    (
        LossCause.FAILED,
        "Its own program ended with an error. That is no disruption: by default the Job replaces the pod by its own rules.",
        "`kubectl logs` of the pod, as long as it is there. `onMemberFailure: Restart` restarts the whole group instead.",
    ),
    (
        LossCause.UNSEEN,
        "It is missing, and nobody saw it go.",
        "Was a controller leading at that time? Its Lease tells.",
    ),
)
_FINDINGS = _notes(
    Topic.FINDING,
    (
        "NotGrouped",
        "It belongs to no group: nobody asked for one, or it was created while the webhook was away.",
        'A Job gets a group when it is created with label `gangwarden.dev/gang: "true"`; `gangwarden check` on its manifest says '
        "what would become of it.",
    ),
    (
        "Suspended",
        "It is suspended, so it has no pods.",
        'Whoever suspended it resumes it: `kubectl patch job NAME --type=merge -p \'{"spec":{"suspend":false}}\'`.',
    ),
    (
        "QuotaExceeded",
        "A ResourceQuota keeps the missing pods from being created, so the quorum is not reached.",
        "`kubectl describe resourcequota` shows what is used. Room for all pods of the group is needed at the same time.",
    ),
    (
        "PodsRefused",
        "The missing pods cannot be created; the API server's words follow.",
        "Mend what refuses them: an admission webhook or policy, Pod Security, a missing ServiceAccount or PriorityClass.",
    ),
    (
        "NoDomain",
        "No single topology domain has room for the whole group, whatever is free elsewhere.",
        "Make room in one domain, ask for less, or choose a topology key with larger domains.",
    ),
    (
        "BoundInPart",
        "Some members have nodes and others wait, although the group was never started as a whole: the scheduler lost sight of "
        "it, as after a feature gate was off for a while.",
        "Suspend the Job, wait until its pods are gone, resume it: then all start together.",
    ),
    (
        "JobBackOff",
        "All members are gone, and the Job makes new ones after a pause: 10 s, doubled for each pod that failed since the last "
        "success, 10 minutes at most. Nothing shortens it.",
        "Wait. A group of four that is lost at once waits 80 s; `backoffLimitPerIndex` on the Job makes it 10 s, and has a price "
        "of its own.",
    ),
    (
        "NotLooked",
        "Its group is not scheduled and nothing says why; the scheduler may just be about to.",
        "Look again in a few seconds. Is kube-scheduler running, with feature gate `GenericWorkload`?",
    ),
    ("Forming", "The group waits for its start; it starts all at once.", "Nothing."),
    ("Running", "All members that are still to work run.", "Nothing."),
    ("Finished", "It has ended, or is being deleted.", "Nothing."),
)

CATALOGUE: Mapping[str, Note] = MappingProxyType({note.code: note for note in (*_WAITS, *_RESTARTS, *_LOSSES, *_FINDINGS)})
"""By code."""


def notes_on(topic: Topic) -> tuple[Note, ...]:
    """Return the entries of one topic, in the order in which a page tells them."""
    return tuple(note for note in CATALOGUE.values() if note.topic is topic)
