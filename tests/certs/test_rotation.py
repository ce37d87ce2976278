"""Rotation from the first certificate to the next authority, with a clock of our own and fakes at the Protocols.

After every step one promise is checked: whoever trusts the live caBundle accepts what is served.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.certs.material import AUTHORITY, NOW, Wish, issue, material
from webhook.certs import FileStore, Material, Profile, Rotator, why_untrusted
from webhook.certs.material import fingerprint, parse_certificates
from webhook.errors import CertificateError, ClusterError


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2027, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Memory:
    """A Secret: one set of files with a version."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.version = 0
        self.saves = 0

    async def load(self) -> tuple[dict[str, bytes], str] | None:
        return (dict(self.files), str(self.version)) if self.files else None

    async def save(self, files: Mapping[str, bytes], version: str | None) -> str:
        if version != (str(self.version) if self.files else None):
            raise ClusterError("changed", status=409)
        self.files, self.version, self.saves = dict(files), self.version + 1, self.saves + 1
        return str(self.version)


class Configurations:
    """The caBundles of two webhooks."""

    def __init__(self) -> None:
        self.bundles: list[bytes] = [b"", b""]

    async def published(self) -> tuple[bytes, ...]:
        return tuple(self.bundles)

    async def publish(self, bundle: bytes) -> None:
        self.bundles = [bundle, bundle]


class Listener:
    """A server that remembers what it was offered."""

    def __init__(self) -> None:
        self.served, self.material = "", Material(ca=b"")

    def offer(self, material: Material) -> None:
        self.material = material
        self.served = fingerprint(parse_certificates(material.certificate, what="tls.crt")[0])


class Cluster:
    """One leader that renews and serves, one replica that follows."""

    def __init__(self) -> None:
        self.clock, self.secret, self.configurations = Clock(), Memory(), Configurations()
        self.leading, self.following = Listener(), Listener()
        self.leader = self.rotator(self.leading)
        self.replica = Rotator(self.secret, profile=Profile(), clock=self.clock, server=self.following)

    def rotator(self, listener: Listener) -> Rotator:
        return Rotator(self.secret, profile=Profile(), clock=self.clock, publisher=self.configurations, server=listener)

    @property
    def authorities(self) -> int:
        return len(parse_certificates(self.secret.files["ca.crt"], what="ca.crt"))

    async def step(self, by: timedelta = timedelta(0)) -> None:
        self.clock.now += by
        await self.leader.renew()
        self.check()
        await self.replica.follow()
        self.check()

    async def start(self, after: timedelta = timedelta(0)) -> None:
        """Begin, or wake after a long sleep in which everything ran out."""
        self.clock.now += after
        await self.leader.renew()
        await self.replica.follow()
        self.check()

    def check(self) -> None:
        for listener in (self.leading, self.following):
            for bundle in self.configurations.bundles:
                if listener.served:
                    assert why_untrusted(listener.material.certificate, bundle, self.clock.now) == ""


async def test_a_year_of_rotation_never_serves_what_is_not_trusted() -> None:
    cluster, seen, authorities = Cluster(), set(), set()
    for _ in range(2 * 365):
        await cluster.step(timedelta(hours=12))
        await cluster.step(timedelta(minutes=1))
        seen.add(cluster.leading.served)
        authorities.add(cluster.secret.files["ca.key"])
    assert len(authorities) == 2  # the first was replaced after 8 months
    assert cluster.authorities == 1
    assert 70 < len(seen) < 85  # every four and a half days


async def test_an_authority_is_replaced_in_three_steps() -> None:
    cluster = Cluster()
    await cluster.start()
    await cluster.start(after=timedelta(days=240))
    first = cluster.leading.served
    await cluster.step(timedelta(days=4))
    assert (cluster.authorities, cluster.leading.served) == (2, first)
    await cluster.step(timedelta(seconds=299))
    assert cluster.leading.served == first
    await cluster.step(timedelta(seconds=2))
    second = cluster.leading.served
    assert second != first
    await cluster.step(timedelta(seconds=299))
    assert cluster.authorities == 2
    await cluster.step(timedelta(seconds=2))
    assert (cluster.authorities, cluster.leading.served) == (1, second)


async def test_nothing_is_written_while_nothing_is_due() -> None:
    cluster = Cluster()
    for _ in range(5):
        await cluster.step(timedelta(minutes=1))
    assert cluster.secret.saves == 1


async def test_another_leader_goes_on_where_the_first_one_died() -> None:
    cluster = Cluster()
    await cluster.start()
    await cluster.start(after=timedelta(days=240))
    cluster.clock.now += timedelta(days=4)
    broken = Rotator(cluster.secret, profile=Profile(), clock=cluster.clock)  # mints, and dies before it publishes
    await broken.renew()
    cluster.leader = cluster.rotator(cluster.leading)
    for _ in range(4):
        await cluster.step(timedelta(minutes=6))
    assert cluster.authorities == 1


async def test_an_overwritten_bundle_is_set_right() -> None:
    cluster = Cluster()
    await cluster.step()
    cluster.configurations.bundles[1] = b""
    await cluster.step(timedelta(minutes=1))
    assert cluster.configurations.bundles[1] == cluster.secret.files["ca.crt"]


async def test_a_deleted_secret_comes_back_as_it_was() -> None:
    cluster = Cluster()
    await cluster.step()
    before, cluster.secret.files = cluster.secret.files, {}
    await cluster.step(timedelta(minutes=1))
    assert cluster.secret.files == before


DAMAGE = [
    pytest.param({"tls.crt": b"garbage"}, id="a broken leaf"),
    pytest.param({"tls.key": b""}, id="a lost key"),
    pytest.param({"ca.crt": b"garbage"}, id="a broken authority"),
    pytest.param({"ca.key": b"garbage"}, id="a broken authority's key"),
]


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_leader_puts_back_what_it_remembers(damage: dict[str, bytes]) -> None:
    cluster = Cluster()
    await cluster.start()
    before = dict(cluster.secret.files)
    cluster.secret.files.update(damage)
    await cluster.step(timedelta(minutes=1))
    assert cluster.secret.files == before


@pytest.mark.parametrize("damage", [*DAMAGE, pytest.param(None, id="nothing left")])
async def test_a_new_leader_repairs_damage_without_breaking_what_is_served(damage: dict[str, bytes] | None) -> None:
    cluster = Cluster()
    await cluster.start()
    cluster.secret.files = cluster.secret.files | damage if damage else {}
    cluster.leader = cluster.rotator(cluster.leading)
    for _ in range(3):
        await cluster.step(timedelta(minutes=6))
    assert cluster.authorities == 1


async def test_the_slower_of_two_leaders_takes_what_the_faster_made() -> None:
    cluster, other = Cluster(), Listener()
    renewals = (cluster.leader.renew(), cluster.rotator(other).renew())
    first, second = await asyncio.gather(*renewals)
    assert first == second
    assert other.served == cluster.leading.served


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
    rotator = Rotator(secret, profile=Profile(), clock=lambda: NOW, server=listener)
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
