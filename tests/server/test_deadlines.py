"""Go's notation for durations, as the API server writes it into ``?timeout=``."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.server.deadlines import parse_duration


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("10s", 10.0),
        ("1m30s", 90.0),
        ("1h", 3600.0),
        ("1.5s", 1.5),
        ("250ms", 0.25),
        ("9.999999s", 9.999999),
        ("0s", 0.0),
        ("", None),
        ("10", None),
        ("s", None),
        ("-1s", None),
        ("1s ", None),
        ("1d", None),
        ("1e3s", None),
        ("٣s", None),
    ],
)
def test_parse_duration(text: str, seconds: float | None) -> None:
    assert parse_duration(text) == (None if seconds is None else pytest.approx(seconds))


@given(st.text(alphabet="0123456789.hmsnuµ-+ ", max_size=200))
def test_whatever_is_sent_is_a_number_of_seconds_or_nothing(text: str) -> None:
    found = parse_duration(text)
    assert found is None or 0 <= found < 1e15
