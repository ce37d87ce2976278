"""Who is there: the members of a group by what they do now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from webhook.groups import is_job, node_of, repaired_quorum, still_to_run
from webhook.model.disruption import Loss, LossCause
from webhook.model.objects import Object, labels_of, metadata_of
from webhook.preemption.deadnodes import absence_ends_seconds, death_of
from webhook.preemption.facts import GroupFacts
from webhook.preemption.losses import INDEX_LABEL, loss_of
from webhook.preemption.moments import created

_RAN = ("working", "leaving", "succeeded", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class RollCall:
    """The members of a group, each in one place; and how many there should be."""

    working: tuple[Object, ...]
    """On a living node, neither ended nor on the way out."""
    waiting: tuple[Object, ...]
    """Without a node, and not on the way out."""
    leaving: tuple[Object, ...]
    """Not ended, and deleted or on a dead node: the scheduler still counts them."""
    succeeded: tuple[Object, ...]
    failed: tuple[Object, ...]
    losses: tuple[Loss, ...]
    """Of members that nobody has replaced yet, earliest first."""
    wanted: int
    """Members that are still to work at the same time."""
    needed: int
    """The quorum as far as it can still be met; 0 for a basic group."""
    unsure_seconds: float | None
    """In how long it will be known whether a node that is missing is gone."""

    @property
    def is_short(self) -> bool:
        """Tell whether fewer members work than the quorum needs, while some hold nodes."""
        return len(self.working) < self.needed and bool(self.bound)

    @property
    def is_broken(self) -> bool:
        """Tell whether the group runs in part.

        One of which the last member was taken does not: nobody is left who would have to go with it.
        """
        return self.is_short and (bool(self.working) or self.needed > 1)

    @property
    def unfinished(self) -> tuple[Object, ...]:
        """Return the members that have not ended."""
        return (*self.working, *self.waiting, *self.leaving)

    @property
    def bound(self) -> int:
        """Count the members that hold a node."""
        return sum(bool(node_of(pod)) for pod in self.unfinished)


def call_roll(facts: GroupFacts) -> RollCall:
    """Find out who works, who waits and who was lost."""
    places: dict[str, list[Object]] = {"working": [], "waiting": [], "leaving": [], "succeeded": [], "failed": []}
    seen = {loss.uid: loss for loss in facts.losses}
    losses: list[Loss] = []
    dead = {name: death_of(name, facts) for name in {node_of(pod) for pod in facts.members}}
    for pod in facts.members:
        node = node_of(pod)
        loss = _as_seen(loss_of(pod, dead[node]), seen.pop(str(metadata_of(pod).get("uid")), None))
        places[_place(pod, loss)].append(pod)
        if loss is not None and node:
            losses.append(loss)
    succeeded = _succeeded(places["succeeded"])
    wanted = _wanted(facts, succeeded)
    unsure = [absence_ends_seconds(name, facts) for name in dead]
    return RollCall(
        **{name: tuple(pods) for name, pods in places.items()},
        losses=_open([*losses, *seen.values()], (pod for place in _RAN for pod in places[place] if node_of(pod))),
        wanted=wanted,
        needed=_needed(facts, succeeded, wanted),
        unsure_seconds=min((seconds for seconds in unsure if seconds is not None), default=None),
    )


def _as_seen(loss: Loss | None, seen: Loss | None) -> Loss | None:
    """Return how a member was lost: what was seen first, where what is left of it looks like its own failure.

    A pod that ends because it was deleted fails, as a rule, and a last deletion without grace takes the first one's time away.
    """
    return seen if loss is not None and seen is not None and loss.cause is LossCause.FAILED else loss


def _place(pod: Object, loss: Loss | None) -> str:
    phase = (pod.get("status") or {}).get("phase")
    if phase in ("Succeeded", "Failed"):
        return "succeeded" if phase == "Succeeded" else "failed"
    if loss is not None:
        return "leaving"
    return "working" if node_of(pod) else "waiting"


def _succeeded(pods: list[Object]) -> int:
    """Count what succeeded: an index may have succeeded twice."""
    indexes = {labels_of(pod).get(INDEX_LABEL) or metadata_of(pod).get("uid") for pod in pods}
    return len(indexes)


def _wanted(facts: GroupFacts, succeeded: int) -> int:
    if facts.owner is not None and is_job(facts.owner):
        return still_to_run(facts.owner, succeeded=succeeded)
    count = facts.planned.count if facts.planned is not None else facts.quorum or len(facts.members)
    return max(count - succeeded, 0)


def _needed(facts: GroupFacts, succeeded: int, wanted: int) -> int:
    if facts.asked is None or facts.quorum is None:
        return 0
    if facts.owner is not None and is_job(facts.owner):
        return repaired_quorum(facts.asked, facts.owner, succeeded=succeeded)
    return max(min(facts.asked, wanted), 1)


def _open(losses: list[Loss], replacing: Iterable[Object]) -> tuple[Loss, ...]:
    """Leave out losses that a later member made good: the same index again, or any pod that was created since, one for one.

    What became of that member is a story of its own: a disruption is over when its replacement has run, also if that failed.
    """
    if not losses:
        return ()
    later = _Later(replacing)
    newest_first = sorted(losses, key=lambda one: (one.since, one.pod), reverse=True)
    return tuple(reversed([loss for loss in newest_first if not later.makes_good(loss)]))


class _Later:
    """The members that once held a node, newest first; each makes good one loss, or all of its own index."""

    def __init__(self, pods: Iterable[Object]) -> None:
        held = [(created(pod), str(metadata_of(pod).get("uid")), labels_of(pod).get(INDEX_LABEL) or "") for pod in pods]
        self._spare = sorted(held, reverse=True)
        self._by_index: dict[str, list[tuple[datetime, str]]] = {}
        for at, uid, index in self._spare:
            self._by_index.setdefault(index, []).append((at, uid))

    def makes_good(self, loss: Loss) -> bool:
        """Tell whether a member came after a loss. To be asked from the newest loss to the oldest."""
        since = loss.since.replace(microsecond=0)  # creation times are whole seconds
        if loss.index:
            return any(at >= since and uid != loss.uid for at, uid in self._by_index.get(loss.index, ())[:2])
        number = next((n for n, (_, uid, _) in enumerate(self._spare[:2]) if uid != loss.uid), None)
        return number is not None and self._spare[number][0] >= since and bool(self._spare.pop(number))
