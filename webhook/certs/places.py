"""Where certificates are kept, published and served, as far as rotation is concerned. Others fill these roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from webhook.certs.material import Material


class MaterialStore(Protocol):
    """Where material is kept, as files by name: a directory or a Secret."""

    async def load(self) -> tuple[dict[str, bytes], str] | None:
        """Return the files and their version, or None where there are none."""

    async def save(self, files: Mapping[str, bytes], version: str | None) -> str:
        """Replace ``version`` (None: create); ClusterError with status 409 if another process was faster."""


class LiveBundle(Protocol):
    """The caBundle of one webhook as it is registered."""

    @property
    def place(self) -> str:
        """Return the configuration it stands in."""

    @property
    def webhook(self) -> str:
        """Return the name of the webhook."""

    @property
    def version(self) -> str:
        """Return the version of that configuration."""

    @property
    def bundle(self) -> bytes:
        """Return the PEM; empty if unset."""

    @property
    def foreign(self) -> bool:
        """Tell whether somebody else keeps it, such as cert-manager's injector."""


class BundlePublisher(Protocol):
    """The webhook configurations, as far as their caBundle goes."""

    async def published(self) -> Sequence[LiveBundle]:
        """Return the caBundle of every webhook of ours that is registered."""

    async def publish(self, bundle: bytes, versions: Mapping[str, str]) -> None:
        """Set the caBundle (PEM) of ours at these places; ClusterError 409 if one is of another version by now."""


class CertificateServer(Protocol):
    """Whoever answers handshakes."""

    served: str

    def offer(self, material: Material) -> None:
        """Serve this from the next handshake on; raises CertificateError and keeps the old if it cannot."""
