"""The renewal plan, as tables: what is held, what the cluster trusts, what time it is; and what must be done."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from webhook.certs import (
    Action,
    CertificateFacts,
    DropAuthority,
    Held,
    MintAuthority,
    MintLeaf,
    Profile,
    PublishBundle,
    ServeLeaf,
    plan_renewal,
)

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
PROFILE = Profile()
SKEW = timedelta(seconds=PROFILE.settings.clock_skew_seconds)


def certificate(
    name: str, *, age: timedelta, days: float, signed_by: str = "", names: frozenset[str] = PROFILE.names
) -> CertificateFacts:
    return CertificateFacts(
        fingerprint=name,
        subject=f"CN={name}",
        not_before=NOW - age - SKEW,
        not_after=NOW - age + timedelta(days=days),
        names=names,
        signed_by=signed_by,
    )


def authority(name: str = "ca", age: timedelta = timedelta(days=30)) -> CertificateFacts:
    return certificate(name, age=age, days=365)


def leaf(name: str = "leaf", age: timedelta = timedelta(days=1), signed_by: str = "ca") -> CertificateFacts:
    return certificate(name, age=age, days=7, signed_by=signed_by)


WELL = Held(authorities=(authority(),), leaf=leaf(), has_authority_key=True)
NEW, OLD = authority("new", timedelta(minutes=10)), authority("old", timedelta(days=250))
OVERLAP = Held(authorities=(NEW, OLD), leaf=leaf(signed_by="old"), has_authority_key=True)
SERVED = replace(OVERLAP, leaf=leaf(signed_by="new", age=timedelta(minutes=1)))


@dataclass(frozen=True)
class Case:
    sentence: str
    held: Held | None = WELL
    live: tuple[frozenset[str], ...] = (frozenset({"ca"}),)
    served: str | None = "leaf"
    wants: list[type[Action]] = field(default_factory=list)

    def __str__(self) -> str:
        return self.sentence


def both(*names: str) -> tuple[frozenset[str], ...]:
    """Return two webhook configurations that trust these."""
    return (frozenset(names), frozenset(names))


CASES = [
    Case("all is well: nothing is done"),
    Case(
        "nothing is held: all is made at once",
        held=None,
        live=(),
        served="",
        wants=[MintAuthority, MintLeaf, PublishBundle, ServeLeaf],
    ),
    Case(
        "a controller that serves nothing does not serve", held=None, served=None, wants=[MintAuthority, MintLeaf, PublishBundle]
    ),
    Case(
        "a leaf past two thirds is replaced",
        held=replace(WELL, leaf=leaf(age=timedelta(days=5))),
        wants=[MintLeaf, ServeLeaf],
    ),
    Case("a leaf short of two thirds is kept", held=replace(WELL, leaf=leaf(age=timedelta(days=4))), wants=[]),
    Case("a lost leaf is replaced", held=replace(WELL, leaf=None), wants=[MintLeaf, ServeLeaf]),
    Case("an expired leaf is replaced", held=replace(WELL, leaf=leaf(age=timedelta(days=8))), wants=[MintLeaf, ServeLeaf]),
    Case(
        "a leaf from a wrong clock's future is replaced",
        held=replace(WELL, leaf=leaf(age=timedelta(days=-2))),
        wants=[MintLeaf, ServeLeaf],
    ),
    Case("a leaf of a stranger is replaced", held=replace(WELL, leaf=leaf(signed_by="")), wants=[MintLeaf, ServeLeaf]),
    Case(
        "a leaf that lacks a name is replaced",
        held=replace(WELL, leaf=replace(leaf(), names=frozenset({"localhost"}))),
        wants=[MintLeaf, ServeLeaf],
    ),
    Case("a stored leaf that is not in use is served", served="other", wants=[ServeLeaf]),
    Case(
        "an authority past two thirds gets a successor beside it, and the leaf stays",
        held=replace(WELL, authorities=(authority(age=timedelta(days=244)),)),
        wants=[MintAuthority, PublishBundle],
    ),
    Case(
        "an expired authority is replaced with its leaf, at once",
        held=replace(WELL, authorities=(authority(age=timedelta(days=366)),)),
        wants=[MintAuthority, DropAuthority, MintLeaf, PublishBundle, ServeLeaf],
    ),
    Case(
        "an authority from a wrong clock's future is replaced",
        held=replace(WELL, authorities=(authority(age=timedelta(days=-2)),)),
        wants=[MintAuthority, MintLeaf, PublishBundle, ServeLeaf],
    ),
    Case("a configuration that lost its bundle gets it back", live=(frozenset({"ca"}), frozenset()), wants=[PublishBundle]),
    Case("a configuration that trusts a stranger too is set right", live=both("ca", "stranger"), wants=[PublishBundle]),
    Case(
        "the successor is published where it is missing, before anything else",
        held=OVERLAP,
        live=both("old"),
        wants=[PublishBundle],
    ),
    Case(
        "one configuration without the successor holds back its leaf",
        held=OVERLAP,
        live=(frozenset({"new", "old"}), frozenset({"old"})),
        wants=[PublishBundle],
    ),
    Case(
        "a successor that has just been published waits for caches",
        held=replace(OVERLAP, authorities=(authority("new", timedelta(minutes=1)), OLD)),
        live=both("new", "old"),
    ),
    Case(
        "a successor trusted everywhere signs the next leaf", held=OVERLAP, live=both("new", "old"), wants=[MintLeaf, ServeLeaf]
    ),
    Case("the old authority stays while other replicas may serve its leaf", held=SERVED, live=both("new", "old")),
    Case(
        "the old authority goes when nobody serves its leaf",
        held=replace(SERVED, leaf=leaf(signed_by="new", age=timedelta(minutes=6))),
        live=both("new", "old"),
        wants=[DropAuthority, PublishBundle],
    ),
    Case(
        "an old leaf that expires before the successor is trusted everywhere is replaced all the same",
        held=replace(OVERLAP, leaf=leaf(signed_by="old", age=timedelta(days=8))),
        live=both("old"),
        wants=[MintLeaf, PublishBundle, ServeLeaf],
    ),
    Case(
        "an expired old authority goes, and the leaf it signed",
        held=replace(OVERLAP, authorities=(NEW, authority("old", timedelta(days=366)))),
        live=both("new", "old"),
        wants=[DropAuthority, MintLeaf, PublishBundle, ServeLeaf],
    ),
    Case(
        "material of another authority is not renewed by us",
        held=replace(WELL, has_authority_key=False, leaf=leaf(age=timedelta(days=8))),
        live=(),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_plan_renewal(case: Case) -> None:
    plan = plan_renewal(case.held, now=NOW, profile=PROFILE, live=case.live, served=case.served)
    assert [type(action) for action in plan] == case.wants
    assert all(action.reason for action in plan)


def test_no_authority_is_dropped_twice() -> None:
    old = authority("old", timedelta(days=366))
    held = Held(authorities=(NEW, old), leaf=leaf(signed_by="new", age=timedelta(hours=1)), has_authority_key=True)
    plan = plan_renewal(held, now=NOW, profile=PROFILE, live=(), served="leaf")
    assert [action.fingerprint for action in plan if isinstance(action, DropAuthority)] == ["old"]
