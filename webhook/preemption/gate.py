"""The answers to requests of the eviction API, with a memory of how long each group was waited for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime

from webhook.model.objects import Object
from webhook.model.requests import AdmissionRequest
from webhook.model.snapshot import Snapshot
from webhook.model.verdicts import Admitted, Answer, Denied, Finding, Trail, Verdict
from webhook.preemption.guard import EvictionAnswer, Judged, Passes, PodsOf, Waits, is_dry_run, judge_eviction, pods_naming
from webhook.settings import GuardSettings

GUARD = "eviction-guard"
"""What logs and counters call the policy that speaks, where none of the loaded ones does."""
_TOO_MANY = 429
"""The only status after which a drain asks again; without retryAfterSeconds it prints the reason at once (experiments 2.2)."""


class EvictionGate:
    """Answers evictions; belongs to one replica."""

    def __init__(self, settings: GuardSettings, pods: PodsOf = pods_naming) -> None:
        self._settings, self._pods = settings, pods
        self._patience = Patience(forget_seconds=settings.forget_seconds)

    def answer(
        self, request: AdmissionRequest, snapshot: Snapshot, spec_of: Callable[[Object], Judged | None], now: datetime
    ) -> Answer:
        """Answer one request; what is no eviction of a pod passes."""
        if request.sub_resource != "eviction" or request.object is None:
            return _admitted(Passes(because="it is no eviction", is_known=False))
        limit, ours = self._settings.longest_hold_seconds, self._settings.controller_user
        judged = judge_eviction(request, snapshot, spec_of, now=now, longest_seconds=limit, ours=ours, pods=self._pods)
        return self._after(judged, now, is_try=is_dry_run(request))

    def _after(self, judged: EvictionAnswer, now: datetime, *, is_try: bool) -> Answer:
        if isinstance(judged, Passes):
            if judged.resets:
                self._patience.reset(judged.resets)
            return _admitted(judged)
        waited = self._patience.waited(judged.pod_group, now, is_try=is_try)
        if waited >= judged.limit_seconds:
            return _admitted(Passes(because=f"it has waited for {waited:.0f} s: {judged.because}", policy=judged.policy))
        return _denied(judged, judged.limit_seconds - waited)


class Patience:
    """Since when evictions of which group wait. It has no clock; every call brings its moment.

    Each webhook replica counts for itself, which only adds as long as a replica has not been asked. A try (dry run) starts no
    clock. A group that nobody asked about for ``forget_seconds`` begins anew.
    """

    def __init__(self, *, forget_seconds: float = 600.0, most: int = 10_000) -> None:
        self._forget, self._most = forget_seconds, most
        self._asked: OrderedDict[str, tuple[datetime, datetime]] = OrderedDict()
        """By UID of the PodGroup: when the first and when the last eviction was asked for."""

    def waited(self, pod_group: str, now: datetime, *, is_try: bool) -> float:
        """Return for how many seconds a group has waited by now, and remember that it was asked about."""
        first, last = self._asked.get(pod_group, (now, now))
        if (now - last).total_seconds() > self._forget:
            first = now
        if not is_try:
            self._asked[pod_group] = (first, now)
            self._asked.move_to_end(pod_group)
            if len(self._asked) > self._most:
                self._asked.popitem(last=False)
        return max((now - first).total_seconds(), 0.0)

    def reset(self, pod_group: str) -> None:
        """Forget a group: it was taken apart, and whoever waits for it the next time waits for something new."""
        self._asked.pop(pod_group, None)


def _admitted(judged: Passes) -> Admitted:
    verdict = Verdict.ALLOW if judged.is_known else Verdict.ERROR
    found = Finding(policy=judged.policy or GUARD, rule="onEviction", verdict=verdict, message=judged.because)
    return Admitted(trail=Trail(findings=(found,)))


def _denied(judged: Waits, left_seconds: float) -> Denied:
    message = f"{judged.because}. In {left_seconds:.0f} s it passes whatever happens."
    found = Finding(
        policy=judged.policy,
        rule="onEviction",
        verdict=Verdict.DENY,
        message=message,
        reason="TooManyRequests",
        code=_TOO_MANY,
    )
    return Denied(message=message, reason="TooManyRequests", code=_TOO_MANY, trail=Trail(findings=(found,)))
