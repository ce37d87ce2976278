"""Rotation from the first certificate to the next authority, with a clock of our own and fakes at the Protocols.

After every step one promise is checked: whoever trusts the live caBundle accepts what is served.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.certs.fakes import Clock, Configurations, Listener, Memory
from tests.certs.material import AUTHORITY, NOW, Wish, issue, material
from webhook.certs import FileStore, Material, Profile, Rotator, inspect_material, why_untrusted
from webhook.certs.material import fingerprint, parse_certificates, without
from webhook.errors import CertificateError, ClusterError
from webhook.settings import CertificateSettings

ROOT = issue(AUTHORITY)


class Cluster:
    """Two replicas that renew and serve."""

    def __init__(self, profile: Profile | None = None) -> None:
        self.clock, self.secret, self.configurations = Clock(), Memory(), Configurations()
        self.profile = profile or Profile()
        self.listeners: list[Listener] = []
        self.first, self.second = self.replica(), self.replica()

    def replica(self) -> Rotator:
        rotator = Rotator(
            self.secret, profile=self.profile, clock=self.clock, publisher=self.configurations, timer=self.clock.timer
        )
        self.listeners.append(Listener())
        rotator.attach(self.listeners[-1])
        return rotator

    @property
    def authorities(self) -> int:
        return len(parse_certificates(self.secret.files["ca.crt"], what="ca.crt"))

    @property
    def newest(self) -> str:
        return fingerprint(parse_certificates(self.secret.files["ca.crt"], what="ca.crt")[0])

    @property
    def served(self) -> list[str]:
        return [each.served for each in self.listeners[-2:]]

    async def step(self, by: timedelta = timedelta(0)) -> None:
        self.clock.advance(by)
        for replica in (self.first, self.second):
            await replica.renew()
            self.check()

    async def pass_by(self, time: timedelta) -> None:
        """Let time go by with looks as close together as in production."""
        for _ in range(int(time.total_seconds() // 30)):
            await self.step(timedelta(seconds=30))

    async def start(self, after: timedelta = timedelta(0)) -> None:
        """Begin, or wake after a long sleep in which everything ran out."""
        self.clock.advance(after)
        for replica in (self.first, self.second):
            await replica.renew()
        self.check()

    def check(self) -> None:
        for listener in self.listeners[-2:]:
            for bundle in self.configurations.bundles:
                if listener.served:
                    assert why_untrusted(listener.material.certificate, bundle, self.clock.now) == ""


async def test_months_of_rotation_never_serve_what_is_not_trusted() -> None:
    cluster, seen, authorities = Cluster(replace(Profile(), settings=CertificateSettings(ca_days=60))), set(), set()
    await cluster.start()
    until = cluster.clock.now + timedelta(days=130)
    while cluster.clock.now < until:
        waits = (
            cluster.authorities > 1 and inspect_material(Material.of_files(cluster.secret.files)).leaf.signed_by != cluster.newest
        )
        await cluster.step(timedelta(seconds=30) if waits else timedelta(days=1))
        seen.add(cluster.served[0])
        authorities.add(cluster.secret.files["ca.key"])
    assert len(authorities) == 4  # each is replaced after 40 days
    assert cluster.authorities == 1
    assert 24 < len(seen) < 32  # each certificate is replaced after four and a half days


async def test_an_authority_is_replaced_in_three_steps() -> None:
    cluster = Cluster()
    await cluster.start()
    await cluster.start(after=timedelta(days=240))
    first = cluster.served
    await cluster.step(timedelta(days=4))
    assert (cluster.authorities, cluster.served) == (2, first)
    await cluster.pass_by(timedelta(seconds=299))
    assert cluster.served == first
    await cluster.pass_by(timedelta(seconds=60))
    second = cluster.served
    assert len({*first, *second}) == 2
    for days in (3, 3):
        await cluster.step(timedelta(days=days))
        assert cluster.authorities == 2
    await cluster.step(timedelta(days=1, seconds=300))
    assert cluster.authorities == 1


async def test_a_replica_that_was_cut_off_for_days_is_trusted_as_long_as_its_certificate_is_valid() -> None:
    cluster = Cluster()
    await cluster.start()
    await cluster.start(after=timedelta(days=240))
    cluster.clock.advance(timedelta(days=4))
    ends = await cluster.second.renew()  # the new authority is made, and from here on the second sees nothing any more
    expiry = inspect_material(ends).leaf.not_after
    pace = timedelta(seconds=30)
    while cluster.clock.now < expiry:
        cluster.check()
        await cluster.first.renew()
        cluster.clock.advance(pace)
        pace = timedelta(hours=3) if cluster.served[0] != cluster.served[1] else pace
    assert cluster.served[0] != cluster.served[1]


async def test_nothing_is_written_while_nothing_is_due() -> None:
    cluster = Cluster()
    for _ in range(5):
        await cluster.step(timedelta(minutes=1))
    assert (cluster.secret.saves, cluster.configurations.versions) == (1, [1, 1])


async def test_another_replica_goes_on_where_the_first_one_died() -> None:
    cluster = Cluster()
    await cluster.start()
    await cluster.start(after=timedelta(days=240))
    cluster.clock.advance(timedelta(days=4))
    await Rotator(cluster.secret, profile=Profile(), clock=cluster.clock).renew()  # mints, and dies before it publishes
    assert cluster.authorities == 2
    before = cluster.served
    await cluster.pass_by(timedelta(minutes=6))
    assert before != cluster.served
    for _ in range(3):
        await cluster.step(timedelta(days=3))
    assert cluster.authorities == 1


async def test_an_overwritten_bundle_is_set_right() -> None:
    cluster = Cluster()
    await cluster.start()
    cluster.configurations.set(1, b"")
    await cluster.step(timedelta(minutes=1))
    assert cluster.configurations.bundles[1] == cluster.secret.files["ca.crt"]


async def test_an_authority_whose_bundle_was_overwritten_is_waited_for_anew() -> None:
    cluster = Cluster()
    await cluster.start()
    await cluster.start(after=timedelta(days=240))
    await cluster.step(timedelta(days=4))
    before, old = cluster.served, cluster.configurations.bundles[0]
    await cluster.pass_by(timedelta(seconds=270))
    cluster.configurations.set(0, without(old, bundle_order(old)[0]))  # a GitOps tool, with what it wrote last
    await cluster.pass_by(timedelta(seconds=60))  # the first replica repairs it, and the second sees that somebody wrote
    assert cluster.served == before
    await cluster.pass_by(timedelta(seconds=330))
    assert not set(cluster.served) & set(before)


def bundle_order(bundle: bytes) -> list[str]:
    return [fingerprint(each) for each in parse_certificates(bundle, what="a bundle")]


async def test_a_slow_replica_does_not_publish_an_older_bundle() -> None:
    cluster = Cluster()
    await cluster.start()
    await cluster.start(after=timedelta(days=240))
    cluster.clock.advance(timedelta(days=4))
    live, stale = await cluster.configurations.published(), cluster.secret.files["ca.crt"]
    await cluster.first.renew()
    with pytest.raises(ClusterError) as caught:
        await cluster.configurations.publish(stale, {each.place: each.version for each in live})
    assert caught.value.status == 409
    cluster.check()


async def test_what_an_injector_keeps_is_never_written() -> None:
    cluster = Cluster()
    await cluster.start()
    cluster.configurations.foreign = True
    for index in (0, 1):
        cluster.configurations.set(index, issue(AUTHORITY).pem)
    before = list(cluster.configurations.bundles)
    await cluster.first.renew()
    assert cluster.configurations.bundles == before
    assert "which the CA bundle does not hold" in await cluster.first.distrust()


async def test_a_deleted_secret_comes_back_as_it_was() -> None:
    cluster = Cluster()
    await cluster.step()
    before, cluster.secret.files = cluster.secret.files, {}
    await cluster.step(timedelta(minutes=1))
    assert cluster.secret.files == before


async def test_a_replica_that_starts_after_the_secret_was_deleted_does_not_break_the_others() -> None:
    cluster = Cluster()
    await cluster.start()
    before, cluster.secret.files = cluster.served, {}
    await cluster.replica().renew()  # it knows nothing, and is first
    cluster.listeners.insert(0, cluster.listeners.pop())
    cluster.check()
    await cluster.step(timedelta(seconds=30))
    assert (cluster.served, cluster.authorities) == (before, 2)
    await cluster.pass_by(timedelta(minutes=6))
    assert cluster.served != before
    for _ in range(3):
        await cluster.step(timedelta(days=3))
    assert cluster.authorities == 1


async def test_a_replica_that_missed_a_new_authority_does_not_put_back_what_it_remembers() -> None:
    cluster = Cluster()
    await cluster.start()
    await cluster.start(after=timedelta(days=240))
    cluster.clock.advance(timedelta(days=4))
    for _ in range(13):
        await cluster.first.renew()
        cluster.clock.advance(timedelta(seconds=30))
    assert cluster.served[0] != cluster.served[1]
    cluster.secret.files = {}
    await cluster.second.renew()
    cluster.check()
    assert cluster.authorities == 3
    await cluster.pass_by(timedelta(minutes=6))
    assert cluster.served[0] == cluster.served[1]


async def test_a_lost_key_of_the_authority_is_put_back_by_who_remembers_it() -> None:
    cluster = Cluster()
    await cluster.start()
    before = dict(cluster.secret.files)
    del cluster.secret.files["ca.key"]
    await cluster.step(timedelta(minutes=1))
    assert cluster.secret.files == before


async def test_where_nobody_remembers_the_key_a_new_authority_takes_over() -> None:
    cluster = Cluster()
    await cluster.start()
    before = cluster.served
    del cluster.secret.files["ca.key"]
    cluster.first, cluster.second = cluster.replica(), cluster.replica()
    await cluster.start()
    assert (cluster.served, cluster.authorities) == (before, 2)
    await cluster.pass_by(timedelta(minutes=6))
    assert cluster.served[0] == cluster.served[1] != before[0]


DAMAGE = [
    pytest.param({"tls.crt": b"garbage"}, id="a broken leaf"),
    pytest.param({"tls.key": b""}, id="a lost key"),
    pytest.param({"ca.crt": b"garbage"}, id="a broken authority"),
    pytest.param({"ca.key": b"garbage"}, id="a broken authority's key"),
]


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_replica_puts_back_what_it_remembers(damage: dict[str, bytes]) -> None:
    cluster = Cluster()
    await cluster.start()
    before = dict(cluster.secret.files)
    cluster.secret.files.update(damage)
    await cluster.step(timedelta(minutes=1))
    assert cluster.secret.files == before


@pytest.mark.parametrize("damage", [*DAMAGE, pytest.param(None, id="nothing left")])
async def test_a_new_replica_repairs_damage_without_breaking_what_is_served(damage: dict[str, bytes] | None) -> None:
    cluster = Cluster()
    await cluster.start()
    cluster.secret.files = cluster.secret.files | damage if damage else {}
    cluster.first = cluster.replica()
    cluster.listeners[0] = cluster.listeners.pop()
    await cluster.pass_by(timedelta(minutes=7))
    assert len(set(cluster.served)) == 1
    for _ in range(3):
        await cluster.step(timedelta(days=3))
    assert cluster.authorities == 1


async def test_the_slower_of_two_takes_what_the_faster_made() -> None:
    cluster = Cluster()
    first, second = await asyncio.gather(cluster.first.renew(), cluster.second.renew())
    assert first == second
    assert len(set(cluster.served)) == 1
    assert cluster.secret.saves == 1
    cluster.check()


async def test_a_store_that_is_always_newer_ends_the_attempts() -> None:
    class Contested(Memory):
        async def save(self, files: Mapping[str, bytes], version: str | None) -> str:
            raise ClusterError("changed", status=409)

    rotator = Rotator(Contested(), profile=Profile(), clock=Clock())
    with pytest.raises(CertificateError, match="5 times in a row"):
        await rotator.renew()


async def test_a_refusal_of_the_cluster_is_not_repeated() -> None:
    class Forbidden(Memory):
        async def save(self, files: Mapping[str, bytes], version: str | None) -> str:
            raise ClusterError("forbidden", status=403)

    with pytest.raises(ClusterError, match="forbidden"):
        await Rotator(Forbidden(), profile=Profile(), clock=Clock()).renew()


async def test_following_an_empty_store_says_so() -> None:
    with pytest.raises(CertificateError, match="the store is empty"):
        await Rotator(Memory(), profile=Profile(), clock=Clock()).follow()


async def test_material_of_others_is_checked_before_it_is_served() -> None:
    secret, listener = Memory(), Listener()
    root = issue(AUTHORITY)
    secret.files = material(issue(Wish(), root), root).as_files()
    rotator = Rotator(secret, profile=Profile(), clock=lambda: NOW)
    rotator.attach(listener)
    with pytest.raises(CertificateError, match=r"not valid for elsewhere\.test"):
        await rotator.follow(["elsewhere.test"])
    assert listener.served == ""
    await rotator.follow(["gangwarden.test"])
    assert listener.served


async def test_material_of_others_is_not_rewritten() -> None:
    secret, root = Memory(), issue(AUTHORITY)
    good = material(issue(Wish(), root), root)
    secret.files = replace(good, certificate=b"garbage").as_files()
    with pytest.raises(CertificateError, match="not a PEM certificate"):
        await Rotator(secret, profile=Profile(), clock=lambda: NOW).renew()
    assert secret.saves == 0


async def test_the_loop_goes_on_after_a_failure(tmp_path: Path) -> None:
    stop, calls = asyncio.Event(), []

    async def step() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise ClusterError("away")
        stop.set()

    profile = Profile()
    profile = replace(profile, settings=replace(profile.settings, check_seconds=0.001))
    await Rotator(FileStore(tmp_path), profile=profile, clock=Clock()).run(step, stop=stop)
    assert len(calls) == 2


async def test_a_leaf_is_replaced_on_request_and_served_at_the_next_look() -> None:
    cluster = Cluster()
    await cluster.start()
    before = cluster.served
    await Rotator(cluster.secret, profile=Profile(), clock=cluster.clock).replace(authority=False)
    await cluster.step(timedelta(seconds=30))
    assert cluster.served != before
    assert cluster.authorities == 1


async def test_an_authority_is_replaced_on_request_without_a_moment_of_distrust() -> None:
    cluster = Cluster()
    await cluster.start()
    before, by_hand = cluster.served, Rotator(cluster.secret, profile=Profile(), clock=cluster.clock)
    await by_hand.replace(authority=True)
    await cluster.step(timedelta(seconds=30))
    for authority in (False, True):
        with pytest.raises(CertificateError, match="not in use yet"):
            await by_hand.replace(authority=authority)
    await cluster.pass_by(timedelta(seconds=270))
    assert cluster.served == before
    await cluster.pass_by(timedelta(seconds=120))
    assert not set(cluster.served) & set(before)
    await by_hand.replace(authority=True)
    assert cluster.authorities == 3


@pytest.mark.parametrize("files", [{}, material(issue(Wish(), ROOT), ROOT).as_files()], ids=["nothing", "material of others"])
async def test_nothing_is_replaced_that_is_not_ours(files: dict[str, bytes]) -> None:
    secret = Memory()
    secret.files = files
    with pytest.raises(CertificateError, match=r"the store is empty|there is no ca\.key"):
        await Rotator(secret, profile=Profile(), clock=lambda: NOW).replace(authority=True)
    assert secret.saves == 0
