"""The places that rotation works on, in memory: a Secret, webhook configurations, a server, and clocks that tests set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from webhook.certs import Material
from webhook.certs.material import fingerprint, parse_certificates
from webhook.errors import ClusterError


class Clock:
    def __init__(self) -> None:
        self.now, self.seconds = datetime(2027, 1, 1, tzinfo=UTC), 1000.0

    def __call__(self) -> datetime:
        return self.now

    def timer(self) -> float:
        return self.seconds

    def advance(self, by: timedelta) -> None:
        self.now, self.seconds = self.now + by, self.seconds + by.total_seconds()


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


@dataclass(frozen=True, kw_only=True)
class Registered:
    """A caBundle as it is registered."""

    place: str
    version: str
    bundle: bytes
    foreign: bool = False
    webhook: str = "ignore.mutate.gangwarden.dev"


class Configurations:
    """Two webhook configurations of one webhook each; whoever writes one gives it a new version."""

    def __init__(self) -> None:
        self.bundles: list[bytes] = [b"", b""]
        self.versions, self.foreign = [0, 0], False

    def set(self, index: int, bundle: bytes) -> None:
        if self.bundles[index] != bundle:
            self.bundles[index], self.versions[index] = bundle, self.versions[index] + 1

    async def published(self) -> tuple[Registered, ...]:
        return tuple(
            Registered(place=str(index), version=str(version), bundle=bundle, foreign=self.foreign)
            for index, (bundle, version) in enumerate(zip(self.bundles, self.versions, strict=True))
        )

    async def publish(self, bundle: bytes, versions: Mapping[str, str]) -> None:
        for place, version in versions.items():
            if str(self.versions[int(place)]) != version and self.bundles[int(place)] != bundle:
                raise ClusterError("changed", status=409)
            self.set(int(place), bundle)


class Listener:
    """A server that remembers what it was offered."""

    def __init__(self) -> None:
        self.served, self.material = "", Material(ca=b"")

    def offer(self, material: Material) -> None:
        self.material = material
        self.served = fingerprint(parse_certificates(material.certificate, what="tls.crt")[0])
