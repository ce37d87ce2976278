"""The renewal plan, as tables: what is held, what the cluster trusts, what time it is; and what must be done."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from webhook.certs import (
    Action,
    CertificateFacts,
    DropAuthority,
    Held,
    Material,
    MintAuthority,
    MintLeaf,
    Profile,
    PublishBundle,
    ServeLeaf,
    Sight,
    inspect_material,
    mint_authority,
    plan_renewal,
)
from webhook.certs.renewal import OWN_SUBJECT, plan_follow

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
    return replace(certificate(name, age=age, days=365), subject=f"CN=gangwarden-ca-{name}")


def leaf(name: str = "leaf", age: timedelta = timedelta(days=1), signed_by: str = "ca") -> CertificateFacts:
    return certificate(name, age=age, days=7, signed_by=signed_by)


WELL = Held(authorities=(authority(),), leaf=leaf(), has_authority_key=True)
NEW, OLD = authority("new", timedelta(minutes=10)), authority("old", timedelta(days=250))
OVERLAP = Held(authorities=(NEW, OLD), leaf=leaf(signed_by="old"), has_authority_key=True)
SERVED = replace(OVERLAP, leaf=leaf(signed_by="new", age=timedelta(minutes=1)))
FOREIGN = certificate("ca", age=timedelta(days=30), days=365)
WEEK = timedelta(days=7)
LATER = replace(SERVED, authorities=(authority("new", WEEK + timedelta(minutes=6)), OLD))


@dataclass(frozen=True)
class Case:
    sentence: str
    held: Held | None = WELL
    live: tuple[frozenset[str], ...] = (frozenset({"ca"}),)
    seen: float = 301.0
    """For how long this process has seen all configurations trust what they trust."""
    served: str | None = "leaf"
    served_by: str = "ca"
    serves_well: bool = False
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
        "a successor that has just been made waits",
        held=replace(OVERLAP, authorities=(authority("new", timedelta(minutes=1)), OLD)),
        live=both("new", "old"),
    ),
    Case(
        "a successor that was made long ago waits when it has just been published",
        held=OVERLAP,
        live=both("new", "old"),
        seen=299.0,
    ),
    Case(
        "a successor trusted everywhere signs the next leaf", held=OVERLAP, live=both("new", "old"), wants=[MintLeaf, ServeLeaf]
    ),
    Case(
        "where nothing is registered, the age of the successor tells",
        held=OVERLAP,
        live=(),
        seen=0.0,
        wants=[MintLeaf, ServeLeaf],
    ),
    Case(
        "a successor that is due before it is trusted everywhere waits for its own leaf before it gets one",
        held=replace(OVERLAP, authorities=(authority("new", timedelta(days=244)), OLD)),
        live=(frozenset({"new", "old"}), frozenset({"old"})),
        wants=[PublishBundle],
    ),
    Case(
        "the leaf of a successor that is due comes before the next authority",
        held=replace(OVERLAP, authorities=(authority("new", timedelta(days=244)), OLD)),
        live=both("new", "old"),
        wants=[MintLeaf, ServeLeaf],
    ),
    Case(
        "a successor that expired before its leaf was made is replaced",
        held=replace(OVERLAP, authorities=(authority("new", timedelta(days=366)), OLD)),
        live=both("old"),
        wants=[MintAuthority, DropAuthority, PublishBundle],
    ),
    Case("the old authority stays while a leaf of it may be valid", held=SERVED, live=both("new", "old")),
    Case(
        "it stays for a whole lifetime of leaves after its key was replaced",
        held=replace(LATER, authorities=(authority("new", WEEK), OLD)),
        live=both("new", "old"),
    ),
    Case(
        "the old authority goes when its last leaf has expired",
        held=LATER,
        live=both("new", "old"),
        wants=[DropAuthority, PublishBundle],
    ),
    Case(
        "of three, the one goes whose successor is old enough",
        held=replace(LATER, authorities=(authority("new", timedelta(days=1)), authority("mid", timedelta(days=8)), OLD)),
        live=both("new", "mid", "old"),
        wants=[DropAuthority, PublishBundle],
    ),
    Case(
        "a stranger that was saved from a live configuration succeeds nobody",
        held=replace(
            LATER, authorities=(authority("new", timedelta(days=1)), certificate("x", age=timedelta(days=20), days=365), OLD)
        ),
        live=both("new", "x", "old"),
    ),
    Case(
        "an older one in front, which somebody restored, succeeds nobody",
        held=replace(WELL, authorities=(authority("ca", timedelta(days=200)), authority("new", timedelta(days=8)))),
        live=both("ca", "new"),
        wants=[],
    ),
    Case(
        "an authority whose leaf is stored stays, whatever the dates",
        held=replace(LATER, leaf=leaf(signed_by="old")),
        live=both("new", "old"),
        seen=0.0,
    ),
    Case(
        "a leaf of a new authority is not served before that is trusted for long enough",
        held=SERVED,
        live=both("new", "old"),
        seen=10.0,
        served="other",
        served_by="old",
        serves_well=True,
    ),
    Case(
        "it is served at once where what is served does not work",
        held=SERVED,
        live=both("new", "old"),
        seen=10.0,
        served="other",
        served_by="old",
        wants=[ServeLeaf],
    ),
    Case(
        "a leaf of the authority that signed what is served needs no waiting",
        seen=0.0,
        served="other",
        serves_well=True,
        wants=[ServeLeaf],
    ),
    Case(
        "a stored leaf of the future is replaced, and not served before it is",
        held=replace(WELL, leaf=leaf(age=timedelta(days=-2))),
        served="other",
        serves_well=True,
        wants=[MintLeaf, ServeLeaf],
    ),
    Case(
        "a lost authority is replaced beside what works",
        held=None,
        live=both("ca"),
        serves_well=True,
        wants=[MintAuthority, MintLeaf, PublishBundle],
    ),
    Case(
        "an authority of ours that lost its key gets a successor",
        held=replace(WELL, has_authority_key=False),
        wants=[MintAuthority, PublishBundle],
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
        held=replace(WELL, authorities=(FOREIGN,), has_authority_key=False, leaf=leaf(age=timedelta(days=8))),
        live=(),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_plan_renewal(case: Case) -> None:
    everywhere = frozenset.intersection(*case.live) if case.live else frozenset()
    sight = Sight(
        live=case.live,
        trusted_seconds=dict.fromkeys(everywhere, case.seen),
        served=case.served,
        served_by=case.served_by,
        serves_well=case.serves_well,
    )
    plan = plan_renewal(case.held, now=NOW, profile=PROFILE, sight=sight)
    assert [type(action) for action in plan] == case.wants
    assert all(action.reason for action in plan)


def test_our_authorities_are_known_by_their_subject() -> None:
    pair = mint_authority(PROFILE, NOW)
    (made,) = inspect_material(Material(ca=pair.certificate, ca_key=pair.key)).authorities
    assert made.subject.startswith(OWN_SUBJECT)


@pytest.mark.parametrize(("served", "wants"), [("leaf", []), ("other", [ServeLeaf])])
def test_material_of_others_is_only_served(served: str, wants: list[type[Action]]) -> None:
    sight = Sight(live=both("ca"), trusted_seconds={"ca": 301.0}, served=served, serves_well=True)
    plan = plan_follow(WELL, bundle=frozenset({"ca"}), now=NOW, profile=PROFILE, sight=sight)
    assert [type(action) for action in plan] == wants


def test_a_new_authority_of_others_is_published_before_its_leaf_is_served() -> None:
    sight = Sight(live=both("old"), trusted_seconds={"old": 1e6}, served="other", served_by="old", serves_well=True)
    plan = plan_follow(WELL, bundle=frozenset({"ca", "old"}), now=NOW, profile=PROFILE, sight=sight)
    assert [type(action) for action in plan] == [PublishBundle]


def test_a_bundle_that_somebody_else_keeps_is_looked_at_and_not_written() -> None:
    sight = Sight(foreign=both("old"), trusted_seconds={"old": 1e6}, served="other", served_by="old", serves_well=True)
    assert plan_follow(WELL, bundle=frozenset({"ca", "old"}), now=NOW, profile=PROFILE, sight=sight) == ()


def test_no_authority_is_dropped_twice() -> None:
    old = authority("old", timedelta(days=366))
    held = Held(authorities=(NEW, old), leaf=leaf(signed_by="new", age=timedelta(hours=1)), has_authority_key=True)
    plan = plan_renewal(held, now=NOW, profile=PROFILE, sight=Sight(served="leaf"))
    assert [action.fingerprint for action in plan if isinstance(action, DropAuthority)] == ["old"]
