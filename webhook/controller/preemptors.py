"""Who preempted a member: only the scheduler's event on the victim says so, and only by UID, for an hour (experiments 10.3)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from webhook.model.disruption import Health, LossCause

Witness: TypeAlias = Callable[[str, str], Awaitable[str]]
"""Asked with namespace and UID of a victim; returns the UID of its preemptor, empty where no event names one (yet). Does not
raise."""
_TRIES = 4
"""The event comes within about a second after the victim was asked to go; further looks are some seconds apart."""
_REMEMBERED = 4096
AGAIN_SECONDS = 2.0


async def nobody_saw(_namespace: str, _pod_uid: str) -> str:
    """Return nothing; a ``Witness`` for a keeper that has none."""
    return ""


class Preemptors:
    """Remembers who preempted whom, and how often it was asked in vain."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness
        self._asked: OrderedDict[str, tuple[str, int]] = OrderedDict()
        """By UID of the victim: its preemptor, and how often that was asked for."""

    async def named(self, health: Health, namespace: str) -> Health:
        """Return the health with the preemptor in its losses, as far as that is known. One question a look at most.

        The victims of one preemption have one preemptor, so it is enough to know that of the first.
        """
        first = next((one for one in health.losses if one.cause is LossCause.PREEMPTED and not one.by), None)
        if first is None:
            return health
        by = await self._ask(namespace, first.uid)
        losses = (replace(one, by=one.by or by) if one.cause is LossCause.PREEMPTED else one for one in health.losses)
        return replace(health, losses=tuple(losses))

    def is_open(self, health: Health) -> bool:
        """Tell whether it is worth asking again soon who preempted a member."""
        open_ = (one for one in health.losses if one.cause is LossCause.PREEMPTED and not one.by)
        return any(self._asked.get(one.uid, ("", 0))[1] in range(1, _TRIES) for one in open_)

    async def _ask(self, namespace: str, victim: str) -> str:
        by, tries = self._asked.get(victim, ("", 0))
        if by or tries >= _TRIES:
            return by
        by = await self._witness(namespace, victim)
        self._asked[victim] = (by, tries + 1)
        self._asked.move_to_end(victim)
        if len(self._asked) > _REMEMBERED:
            self._asked.popitem(last=False)
        return by
