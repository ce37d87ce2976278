"""Several replicas with one Secret, in any order of their steps: what a caller trusts, whoever answers serves.

Each replica stands still at any call to the cluster for as long as it likes, is killed there, or loses the answer to what it
wrote. The Secret is deleted and damaged, and rotations are asked for. Clocks differ, and API servers hear of a new caBundle
late. At every moment each certificate that is served and within its dates verifies against every bundle that may be in force.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.certs.fakes import Configurations, Listener, Memory, Registered
from webhook.certs import Material, Profile, Rotator
from webhook.certs.inspection import bundle_fingerprints, inspect_material, signer_of
from webhook.certs.material import parse_certificates
from webhook.errors import ClusterError, GangwardenError
from webhook.settings import CertificateSettings

REPLICAS = 3
SKEWS = (timedelta(seconds=-140), timedelta(0), timedelta(seconds=140))
"""How wrong the clocks are by which replicas judge: less than what certificates are backdated by."""
LAG_SECONDS = 10.0
"""How late an API server may hear of a caBundle."""
PROFILE = Profile(settings=CertificateSettings(ca_days=20, leaf_days=6, overlap_seconds=120.0))
DAMAGE = (
    {"tls.crt": b"-----BEGIN CERTIFICATE-----\nMIIB"},
    {"tls.key": b""},
    {"ca.crt": b"garbage"},
    {"ca.key": b""},
    {"ca.key": b"garbage", "tls.key": b"garbage"},
)


class Turn:
    """A moment in which others may act."""

    def __await__(self) -> Generator[Turn]:
        yield self


@dataclass
class World:
    """The cluster, and the time by which its API servers judge."""

    now: datetime = datetime(2027, 1, 1, tzinfo=UTC)
    seconds: float = 0.0
    secret: Memory = field(default_factory=Memory)
    configurations: Configurations = field(default_factory=Configurations)
    heard: list[tuple[float, bytes]] = field(default_factory=list)
    """When bundles were replaced, and by what was in force until then."""

    def in_force(self) -> set[bytes]:
        """Return the bundles that some API server may use."""
        late = {bundle for until, bundle in self.heard if until > self.seconds - LAG_SECONDS}
        return late | set(self.configurations.bundles)


class Line:
    """A replica's way to the Secret and to the configurations, on which answers get lost."""

    def __init__(self, world: World) -> None:
        self.world, self.losing = world, ""

    async def load(self) -> tuple[dict[str, bytes], str] | None:
        await Turn()
        return await self.world.secret.load()

    async def save(self, files: Mapping[str, bytes], version: str | None) -> str:
        await Turn()
        self._lose("request")
        saved = await self.world.secret.save(files, version)
        self._lose("answer")
        await Turn()
        return saved

    async def published(self) -> tuple[Registered, ...]:
        await Turn()
        return await self.world.configurations.published()

    async def publish(self, bundle: bytes, versions: Mapping[str, str]) -> None:
        for place, version in versions.items():
            await Turn()
            self._lose("request")
            before = self.world.configurations.bundles[int(place)]
            await self.world.configurations.publish(bundle, {place: version})
            if before != bundle:
                self.world.heard.append((self.world.seconds, before))
            self._lose("answer")

    def _lose(self, what: str) -> None:
        if self.losing == what:
            self.losing = ""
            raise ClusterError(f"the {what} was lost")


class Replica:
    """One process: it starts, looks again and again, and is killed."""

    def __init__(self, world: World, skew: timedelta) -> None:
        self.world, self.line, self.skew = world, Line(world), skew
        self.start()

    def start(self) -> None:
        self.rotator = Rotator(
            self.line,
            profile=PROFILE,
            clock=lambda: self.world.now + self.skew,
            publisher=self.line,
            timer=lambda: self.world.seconds,
        )
        self.listener: Listener | None = None
        self.is_ready = False
        self.look: Coroutine[Any, Any, Material] | None = None

    def advance(self) -> bool:
        """Go on to the next call to the cluster; False where the look has ended."""
        self.look = self.look or self.rotator.renew()
        try:
            self.look.send(None)
        except StopIteration as ended:
            self.look = None
            self._serve(ended.value)
        except GangwardenError:
            self.look = None
        return self.look is not None

    def finish(self) -> None:
        while self.advance():
            pass

    def kill(self) -> None:
        if self.look is not None:
            self.look.close()
        self.start()

    def _serve(self, material: Material) -> None:
        if self.listener is None:
            self.listener = Listener()
            self.listener.offer(material)
            self.rotator.attach(self.listener, material)

    def why_broken(self) -> str:
        """Say which bundle in force does not trust what is served."""
        if self.listener is None:
            return ""
        served = self.listener.material
        leaf = parse_certificates(served.certificate, what="served")[0]
        if self.world.now > leaf.not_valid_after_utc:
            return ""  # it was cut off for longer than certificates live, and nobody can help it
        if self.world.now < leaf.not_valid_before_utc:
            return "it is not valid yet"
        anchors = (signer_of(served.certificate, bundle) for bundle in self.world.in_force())
        return "" if all(anchors) else "a bundle in force does not trust it"


class Replicas(RuleBasedStateMachine):
    """Any order of looks, kills, losses, damages and rotations."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.replicas = [Replica(self.world, skew) for skew in SKEWS]
        for replica in self.replicas:
            replica.finish()
        self.pass_time(60.0)

    @rule(which=st.integers(0, REPLICAS - 1), calls=st.integers(1, 4))
    def some_calls(self, which: int, calls: int) -> None:
        for _ in range(calls):
            if not self.replicas[which].advance():
                break

    @rule(order=st.permutations(range(REPLICAS)), rounds=st.integers(1, 12))
    def everybody_looks(self, order: list[int], rounds: int) -> None:
        for _ in range(rounds):
            self.pass_time(30.0)
            for which in order:
                self.replicas[which].finish()
                self.check()

    @rule(which=st.integers(0, REPLICAS - 1), rounds=st.integers(1, 12))
    def one_looks(self, which: int, rounds: int) -> None:
        for _ in range(rounds):
            self.pass_time(30.0)
            self.replicas[which].finish()

    @rule(which=st.integers(0, REPLICAS - 1), what=st.sampled_from(("request", "answer")))
    def the_next_write_is_lost(self, which: int, what: str) -> None:
        self.replicas[which].line.losing = what

    @rule(which=st.integers(0, REPLICAS - 1))
    def killed(self, which: int) -> None:
        self.replicas[which].kill()

    @rule(seconds=st.sampled_from((1.0, 30.0, 600.0, 43_200.0, 86_400.0)))
    def pass_time(self, seconds: float) -> None:
        self.world.seconds += seconds
        self.world.now += timedelta(seconds=seconds)

    @rule()
    def the_secret_is_deleted(self) -> None:
        self.world.secret.files = {}

    @precondition(lambda self: self.world.secret.files)
    @rule(damage=st.sampled_from(DAMAGE))
    def the_secret_is_damaged(self, damage: dict[str, bytes]) -> None:
        secret = self.world.secret
        files = secret.files | damage
        if not files.get("ca.key") and files.get("ca.crt") == b"garbage":
            return  # nothing tells that it was ours, and an operator's material is not written over
        secret.files, secret.version = files, secret.version + 1

    @rule(authority=st.booleans())
    def a_rotation_is_asked_for(self, authority: bool) -> None:
        by_hand = Rotator(self.world.secret, profile=PROFILE, clock=lambda: self.world.now)
        look = by_hand.replace(authority=authority)
        try:
            look.send(None)
        except (StopIteration, GangwardenError):
            return
        raise AssertionError("a Secret in memory answers at once")

    @invariant()
    def check(self) -> None:
        for replica in self.replicas:
            broken = replica.why_broken()
            if replica.is_ready:
                assert not broken
            replica.is_ready = replica.listener is not None and (replica.is_ready or not broken)

    def teardown(self) -> None:
        """After some minutes of peace all serve the same, the Secret is sound, and the configurations are of one mind."""
        for _ in range(10):
            self.everybody_looks(list(range(REPLICAS)), 1)
        held = inspect_material(Material.of_files(self.world.secret.files))
        assert held.has_authority_key
        assert {replica.listener.served for replica in self.replicas if replica.listener} == {held.leaf.fingerprint}
        assert held.leaf.signed_by == held.authorities[0].fingerprint
        trusted = {bundle_fingerprints(bundle) for bundle in self.world.configurations.bundles}
        assert trusted == {frozenset(each.fingerprint for each in held.authorities)}


TestReplicas = Replicas.TestCase
TestReplicas.settings = settings(
    max_examples=12,
    stateful_step_count=20,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
