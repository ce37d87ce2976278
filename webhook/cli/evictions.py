"""The reviewer of evictions: the snapshot and the policies of the moment, and a gate that remembers who waits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import orjson

from webhook.admission import decode_review, disruption_of, encode_review
from webhook.cli.reviewer import Holder
from webhook.model.access import Answers
from webhook.model.objects import Kind, Object
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.model.snapshot import Snapshot
from webhook.model.verdicts import Reviewed
from webhook.preemption import EvictionGate

GUARD_KINDS = (Kind("", "v1", "Pod"), Kind("policy", "v1", "PodDisruptionBudget"), Kind("batch", "v1", "Job"))
"""What a replica must follow to judge evictions, besides PodGroups and the workloads that policies group."""
_UTC_NOW = partial(datetime.now, UTC)


class EvictionReviewer:
    """Fits ``server.Reviewer``."""

    def __init__(
        self,
        policies: Holder,
        snapshot: Callable[[], Snapshot],
        gate: EvictionGate,
        *,
        clock: Callable[[], datetime] = _UTC_NOW,
    ) -> None:
        self._policies, self._snapshot, self._gate, self._clock = policies, snapshot, gate, clock

    def review(
        self,
        body: Object,
        *,
        phase: Phase,  # noqa: ARG002 - there is one path of evictions
        failure_policy: FailurePolicy,  # noqa: ARG002
        expired: Callable[[], bool],  # noqa: ARG002 - one look at one group
        answers: Answers | None = None,  # noqa: ARG002 - no rule asks who may do what
        levels: int | None = None,
    ) -> Reviewed:
        """Decide one decoded body; ReviewError if it is no review."""
        request = decode_review(body, levels=levels)
        policies = self._policies.current
        answer = self._gate.answer(request, self._snapshot(), partial(disruption_of, policies), self._clock())
        return Reviewed(document=encode_review(request.uid, answer, dump=orjson.dumps), answer=answer)
