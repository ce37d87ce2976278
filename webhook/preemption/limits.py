"""How often groups are restarted: each one at most so often, with longer and longer pauses, and so many at a time.

A restart that cures nothing would otherwise run for ever, and a broken rack would take down a namespace in one moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from webhook.model.disruption import Intent, Past, RestartOutcome
from webhook.model.policies import DisruptionSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How many restarts are begun in how much time; seconds."""

    per_namespace: int
    per_owner: int
    window_seconds: float
    backoff_initial_seconds: float
    backoff_limit_seconds: float
    calm_seconds: float
    """A group that has been whole for this long begins to count anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """When restarts were begun lately."""

    in_namespace: Sequence[datetime] = ()
    of_owner: Sequence[datetime] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """What a restart waits for, as two sentences; ``seconds`` until it may be asked again."""

    because: str
    way_out: str
    seconds: float | None = None
    """None: time does not help."""
    is_budget: bool = False


def attempt_after(past: Past | None, rates: Rates, now: datetime) -> int:
    """Return the how-manieth restart in a row the next one is."""
    if past is None or now - past.ended >= timedelta(seconds=rates.calm_seconds):
        return 1
    return past.intent.attempt + 1


def find_limit(  # noqa: PLR0917 - one restart, and all that is known of earlier ones
    intent: Intent, spec: DisruptionSpec, past: Past | None, begun: Begun, rates: Rates, now: datetime
) -> Obstacle | None:
    """Return what forbids a restart to begin now; None where nothing does."""
    if intent.total > spec.max_restarts:
        times = "once" if spec.max_restarts == 1 else f"{spec.max_restarts} times"
        return Obstacle(
            because=f"The group was restarted {times} already, and its policy allows no more (maxRestarts)."
            if spec.max_restarts
            else "Its policy allows no restart (maxRestarts: 0).",
            way_out="Raise maxRestarts in the WorkloadPolicy, or delete the workload and create it again.",
        )
    return _pause(intent, past, rates, now) or _crowd(begun, rates, now)


def _pause(intent: Intent, past: Past | None, rates: Rates, now: datetime) -> Obstacle | None:
    """Let a group that breaks again and again wait longer each time; longer still after somebody undid what we did."""
    undone = past is not None and past.outcome is RestartOutcome.ABANDONED
    doublings = intent.attempt - 2 + (3 if undone else 0)
    if intent.attempt < 2:
        return None
    pause = min(rates.backoff_initial_seconds * 2.0 ** min(doublings, 30), rates.backoff_limit_seconds)
    left = ((past.ended if past else intent.began) + timedelta(seconds=pause) - now).total_seconds()
    if left <= 0:
        return None
    return Obstacle(
        because=f"It was restarted {intent.attempt - 1} times in a row, so the next restart comes {pause:.0f} s after the last.",
        way_out="It goes on by itself; look for what takes its members again and again.",
        seconds=left,
    )


def _crowd(begun: Begun, rates: Rates, now: datetime) -> Obstacle | None:
    places = (
        ("of this workload", begun.of_owner, rates.per_owner),
        ("in this namespace", begun.in_namespace, rates.per_namespace),
    )
    for where, moments, most in places:
        since = sorted(at for at in moments if now - at < timedelta(seconds=rates.window_seconds))
        if len(since) >= most:
            left = (since[-most] + timedelta(seconds=rates.window_seconds) - now).total_seconds()
            return Obstacle(
                because=f"{most} groups {where} are restarted in {rates.window_seconds:.0f} s at most, and so many were.",
                way_out="It goes on by itself.",
                seconds=max(left, 0.1),
            )
    return None
