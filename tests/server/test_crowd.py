"""Who has to go where too many connections are open."""

from __future__ import annotations

import pytest

from webhook.server.crowd import Crowd


class Named:
    """A connection that notes that it was closed."""

    def __init__(self, name: str) -> None:
        self.name, self.reason = name, ""

    def cut(self, reason: str) -> None:
        self.reason = reason


def crowded(limit: int, *, new: str = "", known: str = "", busy: str = "") -> tuple[Crowd, dict[str, Named]]:
    """Return a crowd of these connections, a letter each, in the order in which they came; each wait began after the last."""
    crowd, named = Crowd(limit), {name: Named(name) for name in known + busy + new}
    for one in named.values():
        assert crowd.enter(one)
    for name in known + busy:
        crowd.works(named[name])
    for name in known:
        crowd.rests(named[name])
    return crowd, named


@pytest.mark.parametrize(
    ("limit", "new", "known", "busy", "gone"),
    [
        pytest.param(4, "abc", "", "", "", id="there is a place"),
        pytest.param(3, "abc", "", "", "a", id="the oldest of those that said nothing"),
        pytest.param(3, "", "abc", "", "a", id="the one that rests longest"),
        pytest.param(3, "c", "ab", "", "a", id="a new one may be about to say something"),
        pytest.param(3, "bc", "a", "", "b", id="where most say nothing one of them goes, and nobody who was answered"),
        pytest.param(3, "", "c", "ab", "c", id="who is being answered stays"),
        pytest.param(3, "c", "", "ab", "c", id="who is being answered stays beside a new one"),
    ],
)
def test_the_one_that_would_be_missed_least_goes(limit: int, new: str, known: str, busy: str, gone: str) -> None:
    crowd, named = crowded(limit, new=new, known=known, busy=busy)
    assert crowd.enter(Named("newest"))
    assert "".join(name for name, one in named.items() if one.reason) == gone
    assert len(crowd) == min(limit, len(named) + 1)


def test_nobody_goes_where_all_are_being_answered() -> None:
    crowd, named = crowded(2, busy="ab")
    assert not crowd.enter(Named("newest"))
    assert [one.reason for one in named.values()] == ["", ""]
    assert len(crowd) == 2


def test_whose_request_arrives_is_not_the_next_to_go() -> None:
    crowd, named = crowded(3, known="abc")
    crowd.begins(named["a"])
    crowd.enter(Named("newest"))
    assert [name for name, one in named.items() if one.reason] == ["b"]


def test_who_sends_without_an_end_goes_in_the_end() -> None:
    crowd, named = crowded(3, new="abc")
    for one in named.values():
        crowd.begins(one)
    for name in ("d", "e", "f"):
        crowd.enter(Named(name))
    assert [one.reason for one in named.values()] == ["crowded"] * 3


def test_one_that_was_closed_leaves_its_place_and_is_not_taken_in_again() -> None:
    crowd, named = crowded(2, known="ab")
    crowd.leave(named["a"])
    crowd.rests(named["a"])
    assert (crowd.enter(Named("c")), named["b"].reason, len(crowd)) == (True, "", 2)
