"""What half-running groups burn: the requests of members that hold a node while their group can make no progress.

A gang that lost a member does no work, whatever its survivors compute. So from the look that finds it so to the look that
finds it whole or gone, all that its bound members asked of their nodes is counted as stranded, by what took the member.
Resources are counted as the scheduler counts them (``demand``), processing time in cores.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from webhook.groups import has_ended
from webhook.model.disruption import GroupState, Health
from webhook.model.objects import Object
from webhook.preemption.demand import CPU, demand_of

STRANDING = frozenset({GroupState.LOST_A_MEMBER, GroupState.RESTARTING, GroupState.STUCK, GroupState.HELD})
"""States in which bound members do no work that counts."""
_MILLI = 1000

Stranded = Mapping[tuple[str, str], float]
"""Resource seconds by resource and cause: core seconds, byte seconds, device seconds, pod seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burning:
    """What a group burns per second, and why."""

    cause: str
    """Empty: nothing is known to be lost now; whoever keeps the account knows what began it."""
    state: str = ""
    amounts: Mapping[str, float]
    """By resource, in its unit."""


def burning(health: Health, members: Iterable[Object]) -> Burning | None:
    """Return what a group burns as it stands; None where it works, waits for its start or holds no node.

    ``members`` are its pods; those that ended or hold no node cost nothing.
    """
    if health.state not in STRANDING:
        return None
    total: Counter[str] = Counter()
    for pod in members:
        spec = pod.get("spec") or {}
        if spec.get("nodeName") and not has_ended(pod):
            total.update(demand_of(spec))
    if not total:
        return None
    amounts = {name: amount / _MILLI if name == CPU else float(amount) for name, amount in total.items()}
    cause = health.losses[0].cause.value if health.losses else ""
    return Burning(cause=cause, state=health.state.value, amounts=amounts)


@dataclass(slots=True)
class StrandedTime:
    """The account of all groups. It has no clock: every call brings its moment, and one that runs backwards counts nothing."""

    totals: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    _burning: dict[Hashable, tuple[Burning, datetime]] = field(default_factory=dict)

    def look(self, group: Hashable, found: Burning | None, now: datetime) -> None:
        """Take in one look at a group: what it burned until now is counted as it was found the last time.

        While it is restarted or held it may name no loss any more; the cause is then what began it, and of a group that never
        named one its state.
        """
        self._count(group, now)
        before, _ = self._burning.pop(group, (None, now))
        if found is not None:
            cause = found.cause or (before.cause if before else "") or found.state
            self._burning[group] = (replace(found, cause=cause), now)

    def settle(self, now: datetime) -> Stranded:
        """Count all groups up to now, also those that nobody looked at lately, and return the totals."""
        for group in tuple(self._burning):
            self._count(group, now)
        return self.totals

    def stop(self) -> None:
        """Forget what burns, uncounted: another replica leads now and counts from its first look."""
        self._burning.clear()

    def _count(self, group: Hashable, now: datetime) -> None:
        if group not in self._burning:
            return
        known, since = self._burning[group]
        seconds = max((now - since).total_seconds(), 0.0)
        for resource, amount in known.amounts.items():
            self.totals[resource, known.cause] += amount * seconds
        self._burning[group] = (known, max(now, since))
