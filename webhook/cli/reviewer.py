"""The webhook's reviewer: takes the policy set and the snapshot of the moment, and hands both to the thinking rooms."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

import orjson

from webhook.admission import PolicySet, Round, SnapshotWorld, Surroundings, decide, decode_review, encode_review
from webhook.cli.offline import fresh_token
from webhook.groups import has_lost_its_group
from webhook.model.access import Answers
from webhook.model.groups import Capabilities
from webhook.model.objects import Object
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Operation, Phase
from webhook.model.snapshot import EMPTY_SNAPSHOT, Snapshot
from webhook.model.verdicts import Reviewed, Unanswered
from webhook.rules import ClusterView, Inquiry, Situation
from webhook.settings import EvaluationSettings

_VALIDATE, _MUTATE, _CREATE = Phase.VALIDATE, Phase.MUTATE, Operation.CREATE  # looked up once, not in each review
_ROUNDS = {(phase, policy): Round(phase=phase, failure_policy=policy) for phase in Phase for policy in FailurePolicy}
_UTC_NOW = partial(datetime.now, UTC)
_NOTHING_AROUND = Surroundings(snapshot=EMPTY_SNAPSHOT, capabilities=Capabilities(), token=fresh_token)
"""What a group would be attached in, where nothing is attached."""


def is_shallow(value: object) -> bool:
    """Tell whether orjson encodes a value: it recurses no deeper than 254 levels, and says so in a tenth of a walk's time."""
    try:
        orjson.dumps(value)
    except TypeError:  # its JSONEncodeError, which is one
        return False
    return True


class Holder(Protocol):
    """Whoever holds the policy set in force."""

    current: PolicySet


class LiveReviewer:
    """Fits ``server.Reviewer``."""

    def __init__(
        self,
        policies: Holder,
        snapshot: Callable[[], Snapshot],
        capabilities: Callable[[], Capabilities],
        *,
        limits: EvaluationSettings,
        invents_namespaces: bool = False,
        view: Callable[[Snapshot, str], ClusterView] = ClusterView,
        clock: Callable[[], datetime] = _UTC_NOW,
        doubt: Callable[[], None] = lambda: None,
    ) -> None:
        """``doubt`` is called when the API server dropped what it was seen to keep; from any thread."""
        self._policies, self._snapshot, self._capabilities = policies, snapshot, capabilities
        self._limits, self._invents_namespaces, self._view = limits, invents_namespaces, view
        self._clock, self._doubt = clock, doubt

    def review(
        self,
        body: Object,
        *,
        phase: Phase,
        failure_policy: FailurePolicy,
        expired: Callable[[], bool],
        answers: Answers | None = None,
        levels: int | None = None,
    ) -> Reviewed | Unanswered:
        """Decide one decoded body by one policy set and one snapshot; ReviewError if it is no review.

        Policies may change between two calls for one review; then the answers known by then may not be enough.
        """
        request = decode_review(body, levels=levels, is_shallow=is_shallow)
        if phase is _VALIDATE and request.operation is _CREATE and has_lost_its_group(request.object or {}):
            self._doubt()  # the API server drops fields between mutation and validation
        inquiry = Inquiry(answers) if answers else None
        policies, snapshot = self._policies.current, self._snapshot()
        situation = Situation(
            request=request,
            world=SnapshotWorld(snapshot=snapshot, files=policies.params, invents_namespaces=self._invents_namespaces),
            cluster=self._view(snapshot, request.namespace),
            authorizer=inquiry,
            limits=self._limits,
            expired=expired,
            now=self._clock(),
        )
        surroundings = _NOTHING_AROUND
        if phase is _MUTATE:
            surroundings = Surroundings(snapshot=snapshot, capabilities=self._capabilities(), token=fresh_token)
        answer = decide(_ROUNDS[phase, failure_policy], policies, situation, surroundings)
        if inquiry and inquiry.open:
            return Unanswered(questions=tuple(inquiry.open))
        return Reviewed(document=encode_review(request.uid, answer, dump=orjson.dumps), answer=answer)
