"""Leaders that die now and then, and when nobody led: what happened to a group then was seen by no controller that could act."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import TypeAlias

from tests.e2e.installation import Installation
from tests.e2e.staging import Stage

DEATH_SECONDS = 45.0
"""About how often a leader dies; a scene lasts some 15 s, and the Lease of a dead one as long."""
REPLACED_AFTER = timedelta(seconds=10)
"""The Job controller's back-off for one lost member (experiments 3.1): shorter than a Lease, which is 15 s."""
UNDECIDED = timedelta(seconds=5)
"""A leader may die before it has acted on what it saw: a deletion that nobody explained is left alone for 2 s, and the machine
is busy."""
BRIEF = timedelta(seconds=10)
"""Who leads for less than this has hardly begun to look at the groups when it is over, on a machine so busy."""
Lapse: TypeAlias = tuple[datetime, datetime]


class FilledUpError(Exception):
    """A Job made its group whole while nobody led, so no restart was needed (docs/disruption.md) and the scene shows nothing."""


class Reaper(threading.Thread):
    """Kills the leader now and then, and starts another one."""

    def __init__(self, installed: Installation, flags: tuple[str, ...], random: Random) -> None:
        super().__init__()
        self._installed, self._flags, self._random = installed, flags, random
        self._ended = threading.Event()
        self.lapses: list[Lapse] = []

    def run(self) -> None:
        while not self._ended.wait(self._random.uniform(0.5, 1.5) * DEATH_SECONDS):
            with suppress(AssertionError):  # the Lease of the last one may not have run out yet
                self._kill()

    def end(self) -> None:
        self._ended.set()
        self.join()

    def explain(self, stage: Stage) -> None:
        """Raise FilledUpError where a Job of this stage made its group whole while nobody led."""
        for gang in stage.gangs:
            if self.was_away(gang.filled_up()):
                raise FilledUpError(gang.name)

    def was_away(self, replaced: Collection[datetime]) -> bool:
        """Tell whether members were replaced, and each one was lost and replaced while nobody led."""
        lapses = joined([*self.lapses, *self._lost()])
        return bool(replaced) and all(any(_spans(lapse, at) for lapse in lapses) for at in replaced)

    def _lost(self) -> Iterator[Lapse]:
        """Yield when nobody led because a busy API server did not let the leader renew its Lease, by the controllers' logs."""
        lines = [line for one in self._installed.controllers for line in one.text().splitlines() if '"event":"lead' in line]
        marks = sorted((datetime.fromisoformat(said["timestamp"]), said["event"]) for said in map(json.loads, lines))
        for (since, event), (until, then) in pairwise(marks):
            if event != "leading" and then == "leading":
                yield since, until

    def _kill(self) -> None:
        leader = self._installed.wait_for_leader()
        died = datetime.now(UTC)
        leader.kill()
        self._installed.start_controller(*self._flags)
        try:
            self._installed.wait_for_leader()
        finally:
            self.lapses.append((died, datetime.now(UTC)))


def joined(lapses: Iterable[Lapse]) -> list[Lapse]:
    """Return lapses with those taken for one between which somebody led only briefly."""
    found: list[Lapse] = []
    for lapse in sorted(lapses):
        died, led = found[-1] if found else lapse
        if found and lapse[0] - led < BRIEF:
            found[-1] = died, max(led, lapse[1])
        else:
            found.append(lapse)
    return found


def _spans(lapse: Lapse, replaced: datetime) -> bool:
    died, led = lapse
    return died - UNDECIDED <= replaced - REPLACED_AFTER and replaced <= led
