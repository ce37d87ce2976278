"""When nobody led, for whoever wants to know why a group was not restarted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.soak.reaper import joined

START = datetime(2027, 3, 1, 12, tzinfo=UTC)


def lapse(*seconds: float) -> tuple[datetime, datetime]:
    died, led = (START + timedelta(seconds=number) for number in seconds)
    return died, led


@pytest.mark.parametrize(
    ("lapses", "expected"),
    [
        ([], []),
        ([lapse(40, 60), lapse(0, 15)], [lapse(0, 15), lapse(40, 60)]),
        ([lapse(0, 4), lapse(10, 16), lapse(20, 21), lapse(38, 41)], [lapse(0, 21), lapse(38, 41)]),
        ([lapse(0, 30), lapse(5, 8)], [lapse(0, 30)]),
    ],
    ids=["none", "far apart", "hardly led between", "one within the other"],
)
def test_lapses_with_hardly_a_leader_between_are_one(lapses, expected):
    assert joined(lapses) == expected
