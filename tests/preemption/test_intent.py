"""What is written of a restart is read again by the next leader, and nothing else is taken for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import pod_group
from webhook.model.actions import SetCondition
from webhook.model.disruption import INTENT_CONDITION, Intent, LossCause, Past, RestartOutcome, Step
from webhook.model.objects import Object
from webhook.preemption.intent import Trace, is_marked_disrupted, read_trace, write_disrupted, write_intent, write_past

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
INTENT = Intent(
    id="3f9a1c", step=Step.AWAITING, owner_uid="job-uid", cause=LossCause.EVICTED, victim="g-0", began=NOW, step_since=NOW
)
GROUP = pod_group("g").build()


def after(write: SetCondition, *others: Object) -> Object:
    """The PodGroup as the API server holds it after a write."""
    if write.status is None:
        return GROUP | {"status": {"conditions": list(others)}}
    assert write.since is not None
    made = {
        "type": write.type,
        "status": "True" if write.status else "False",
        "reason": write.word,
        "message": write.message,
        "lastTransitionTime": write.since.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return GROUP | {"status": {"conditions": [*others, made]}}


MOMENTS = st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)).map(
    lambda found: found.replace(microsecond=0)
)
INTENTS = st.builds(
    Intent,
    id=st.from_regex("[0-9a-f]{6}", fullmatch=True),
    step=st.sampled_from(Step),
    owner_uid=st.uuids().map(str),
    cause=st.sampled_from(LossCause),
    victim=st.one_of(st.just(""), st.from_regex("[a-z][a-z0-9-]{0,40}[a-z0-9]", fullmatch=True)),
    began=MOMENTS,
    step_since=MOMENTS,
    attempt=st.integers(1, 50),
    total=st.integers(1, 50),
    suspended_by_us=st.booleans(),
    note=st.text(max_size=60),
)


@given(INTENTS)
def test_every_restart_is_read_as_it_was_written(intent: Intent) -> None:
    other = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled"}
    assert read_trace(after(write_intent(GROUP, intent), other)) == Trace(intent=intent)


@pytest.mark.parametrize("outcome", RestartOutcome)
def test_the_last_restart_stays_to_be_counted_on(outcome: RestartOutcome) -> None:
    past = Past(intent=replace(INTENT, step=Step.FORMING, total=3), outcome=outcome, ended=NOW)
    assert read_trace(after(write_past(GROUP, replace(past, intent=replace(past.intent, step_since=NOW))))) == Trace(past=past)


def test_the_message_begins_with_what_people_look_for() -> None:
    assert write_intent(GROUP, replace(INTENT, note="2 members are still ending")).message == (
        "restart=3f9a1c attempt=1 total=1 owner=job-uid cause=EvictionByEvictionAPI victim=g-0 "
        "began=2026-01-01T12:00:00+00:00 suspended=no | 2 members are still ending"
    )


@pytest.mark.parametrize(
    "field, value",
    [
        ("message", ""),
        ("message", "somebody else's words"),
        ("message", "restart=1 attempt=x"),
        ("reason", "Dancing"),
        ("lastTransitionTime", "yesterday"),
        ("lastTransitionTime", "2026-01-01T12:00:00"),
        ("message", None),
    ],
)
@pytest.mark.parametrize("status", ["True", "False"])
def test_what_we_could_not_have_written_is_nothing(field: str, value: Any, status: str) -> None:
    found = after(write_intent(GROUP, INTENT))
    found["status"]["conditions"][0] |= {"status": status, field: value}
    assert read_trace(found) == Trace()


def test_a_group_without_status_has_no_trace() -> None:
    assert read_trace(GROUP) == Trace()
    assert read_trace(GROUP | {"status": None}) == Trace()


def test_the_mark_of_disruption_is_taken_away_and_never_left_false() -> None:
    marked = write_disrupted(GROUP, LossCause.EVICTED, "Pod g-0 was evicted", NOW)
    assert (marked.type, marked.status, marked.word) == ("DisruptionTarget", True, "EvictionByEvictionAPI")
    assert is_marked_disrupted(after(marked))
    assert write_disrupted(GROUP, None, "", NOW).status is None
    assert not is_marked_disrupted(GROUP)


def test_only_the_condition_of_our_type_counts() -> None:
    found = after(write_intent(GROUP, INTENT))
    found["status"]["conditions"][0]["type"] = "Restart"
    assert INTENT_CONDITION != "Restart"
    assert read_trace(found) == Trace()
