"""Words of disruption: what state a running group is in, what took its members, how far its restart has come.

The rules behind them are in ``preemption``; ``controller`` acts on them, ``cli`` and ``reports`` tell them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class GroupState(StrEnum):
    """Where a group stands, as the metric ``gangwarden_groups{state}`` names it."""

    FORMING = "forming"
    """Not yet started together, or suspended: the scheduler still keeps it whole."""
    WHOLE = "whole"
    """Every member that is still to work has a node and is not on its way out."""
    LOST_A_MEMBER = "lost-a-member"
    """It had started, and a member was taken or failed while others go on."""
    RESTARTING = "restarting"
    """We are taking it down and up again."""
    STUCK = "stuck"
    """As things are its quorum can never be met again."""
    HELD = "held"
    """It needs a restart, and a budget, a limit or another owner forbids it for now."""
    FINISHING = "finishing"
    """Its work is done or given up, or it is being deleted: nothing is to be kept together any more."""


class LossCause(StrEnum):
    """What took a member: the reason of its DisruptionTarget condition, or what was seen where there is none."""

    PREEMPTED = "PreemptionByScheduler"
    EVICTED = "EvictionByEvictionAPI"
    TAINTED = "DeletionByTaintManager"
    DEVICE_TAINTED = "DeletionByDeviceTaintManager"
    COLLECTED = "DeletionByPodGC"
    KUBELET = "TerminationByKubelet"
    NODE_GONE = "NodeGone"
    NODE_SILENT = "NodeSilent"
    DELETED = "Deleted"
    """Somebody deleted the pod, with no condition that says why."""
    FAILED = "Failed"
    """Its own program ended with an error: no disruption, and by default the Job's business."""
    UNSEEN = "Unseen"
    """A member is missing, and nobody saw it go: it went while no controller led."""

    @property
    def is_disruption(self) -> bool:
        """Tell whether something outside the program took the member."""
        return self is not LossCause.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One member that was taken, with the evidence."""

    pod: str
    uid: str
    cause: LossCause
    since: datetime
    """When the fact that counts came about, by the clock of whoever wrote it down."""
    message: str
    """What the condition, the node or the pod says, as it says it; empty where nothing does."""
    node: str = ""
    by: str = ""
    """UID of the preemptor, where the scheduler named it."""
    index: str = ""
    """Completion index of a pod of an Indexed Job."""
    created: datetime | None = None
    """When the member was; None where nobody saw it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The state of one group, with what shows it and what leads out of it."""

    state: GroupState
    because: str
    """One sentence with member, condition and time."""
    way_out: str = ""
    """What happens next or who must act; never empty for a state that does not end by itself."""
    since: datetime | None = None
    losses: tuple[Loss, ...] = ()
    bound: int = 0
    """Members that hold a node and have not ended: what burns while the group is not whole."""
    wanted: int = 0
    """Members that are still to work, from the owner's status."""
    working: int = 0
    """Of those the ones that hold a living node and stay."""
    is_restart_due: bool = False
    """The group's policy asks for a restart, now; only ever with LOST_A_MEMBER."""
    look_again_seconds: float | None = None
    """The state changes by time alone after this long; None: only when something happens."""
    is_short: bool = False
    """Fewer members work than its quorum needs, though it had started: remember since when (``GroupFacts.short_since``)."""


class Step(StrEnum):
    """How far a restart has come; the reason of our condition in the PodGroup's status."""

    SUSPENDING = "Suspending"
    EVICTING = "Evicting"
    """The fallback for owners that may not be suspended."""
    AWAITING = "Awaiting"
    """Until no unfinished member is left: earlier, old and new members together would meet the quorum (KEP-4671)."""
    RESUMING = "Resuming"
    """Quorum first, then the workload."""
    FORMING = "Forming"
    """Resumed; until the scheduler has started all members together."""
    HOLDING = "Holding"
    """A budget, a limit or a foreign owner stands in the way; the message says which."""


INTENT_CONDITION = "gangwarden.dev/Restart"
"""Type of our condition in a PodGroup's status: written before the first write of a restart, gone or False after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A restart that was decided: kept where tenants cannot write, and carried on by the next leader."""

    id: str
    """Short and random; every event of this restart carries it."""
    step: Step
    owner_uid: str
    cause: LossCause
    victim: str
    """Name of the member whose loss began it."""
    began: datetime
    step_since: datetime
    attempt: int = 1
    """The how-manieth restart of this group in a row, without it having been whole for long in between."""
    total: int = 1
    """The how-manieth restart of this group in all, which ``maxRestarts`` bounds."""
    suspended_by_us: bool = False
    """We wrote suspend=true, so that we may write false: nobody else's suspension is ever ended by us."""
    note: str = ""
    """What is waited for."""


class RestartOutcome(StrEnum):
    """How a restart ended, as the metric ``gangwarden_group_restarts_total{outcome}`` names it."""

    WHOLE = "whole"
    """All members run again, started together."""
    ABANDONED = "abandoned"
    """Somebody else's hand: suspended, resumed, resized or deleted in the middle. We let go."""
    FINISHED = "finished"
    """Its work ended meanwhile, or it was deleted: nothing was left to restart."""
    FAILED = "failed"
    """A step took too long or was refused, and the restart was given up with a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The last restart of a group, as its condition keeps it: the next one counts on from it."""

    intent: Intent
    outcome: RestartOutcome
    ended: datetime
