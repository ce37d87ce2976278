"""Read what an operator says about certificates: names and lifetimes, from ``certs/profile.yaml``.

Decoded strictly: a misspelt field that were passed over would become a certificate that nobody asked for.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from webhook.errors import InputError
from webhook.model.objects import Kind, Object
from webhook.settings import CertificateSettings

PROFILE_KIND = Kind("gangwarden.dev", "v1alpha1", "CertificateProfile")
PROFILE_LIMIT_BYTES = 64 * 1024  # a page of settings; anything larger is another file given by mistake
_DNS_NAME = re.compile(r"(\*\.)?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)*[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NUMBERS = {
    "caDays": "ca_days",
    "leafDays": "leaf_days",
    "renewAfterFraction": "renew_after_fraction",
    "clockSkewSeconds": "clock_skew_seconds",
    "overlapSeconds": "overlap_seconds",
    "checkSeconds": "check_seconds",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Who the serving certificate is for, and how long things last."""

    dns_names: tuple[str, ...] = ("localhost",)
    ip_addresses: tuple[str, ...] = ("127.0.0.1",)
    settings: CertificateSettings = field(default_factory=CertificateSettings)

    @property
    def names(self) -> frozenset[str]:
        """Return all names and addresses a certificate must carry."""
        return frozenset(self.dns_names) | frozenset(self.ip_addresses)

    def named_as(self, names: Iterable[str]) -> Profile:
        """Return the same profile for these names and addresses and no others."""
        given = sorted(names)
        addresses = tuple(name for name in given if _is_address(name))
        return replace(self, dns_names=tuple(name for name in given if name not in addresses), ip_addresses=addresses)

    def with_dns_names(self, *names: str) -> Profile:
        """Return the same profile for more names, such as those of the Service it runs behind."""
        return replace(self, dns_names=tuple(dict.fromkeys((*self.dns_names, *names))))


def load_profile(path: Path, settings: CertificateSettings) -> Profile:
    """Read a profile file; what it does not say comes from ``settings``."""
    try:
        with path.open("rb") as file:
            text = file.read(PROFILE_LIMIT_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=str(path)) from error
    if len(text) > PROFILE_LIMIT_BYTES:
        raise InputError(f"is larger than {PROFILE_LIMIT_BYTES} bytes, so it is no certificate profile", source=str(path))
    try:
        document = yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a SafeLoader that also refuses duplicate keys
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 0
        raise InputError(f"is not YAML: {getattr(error, 'problem', None) or error}", source=str(path), line=line) from error
    return decode_profile(document, settings, source=str(path))


def decode_profile(document: Any, settings: CertificateSettings, *, source: str) -> Profile:
    """Decode a CertificateProfile; raises InputError naming the field."""
    reader = _Reader(source)
    top = reader.mapping(document, "", allowed={"apiVersion", "kind", "metadata", "spec"})
    if Kind.of(top) != PROFILE_KIND:
        raise InputError(f"is a {Kind.of(top)}, expected {PROFILE_KIND}", source=source)
    spec = reader.mapping(top.get("spec", {}), "spec", allowed={"dnsNames", "ipAddresses", *_NUMBERS})
    numbers = {name: reader.number(spec[key], f"spec.{key}") for key, name in _NUMBERS.items() if key in spec}
    merged = replace(settings, **numbers)
    if not 0 < merged.renew_after_fraction < 1:
        raise InputError("spec.renewAfterFraction must lie between 0 and 1", source=source)
    if merged.leaf_days > merged.ca_days:
        raise InputError("spec.leafDays must not exceed spec.caDays: a leaf cannot outlive its authority", source=source)
    default = Profile()
    profile = Profile(
        dns_names=reader.names(spec.get("dnsNames", list(default.dns_names)), "spec.dnsNames", accepts=_is_dns_name),
        ip_addresses=reader.names(spec.get("ipAddresses", list(default.ip_addresses)), "spec.ipAddresses", accepts=_is_address),
        settings=merged,
    )
    if not profile.names:
        raise InputError("spec.dnsNames and spec.ipAddresses are both empty: nobody could call the server", source=source)
    return profile


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads typed values and names the field that is wrong."""

    source: str

    def mapping(self, value: Any, path: str, *, allowed: set[str]) -> Object:
        if not isinstance(value, dict):
            raise InputError(f"{path or 'the document'} must be a mapping", source=self.source)
        unknown = sorted(str(key) for key in value if key not in allowed)
        if unknown:
            place = f"{path}." if path else ""
            raise InputError(f"unknown field {place}{unknown[0]}; known: {', '.join(sorted(allowed))}", source=self.source)
        return value

    def number(self, value: Any, path: str) -> float:
        # a bool is an int in Python; .inf and .nan are floats in YAML
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
            raise InputError(f"{path} must be a positive number, found {value!r}", source=self.source)
        return float(value)

    def names(self, value: Any, path: str, *, accepts: Callable[[str], bool]) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise InputError(f"{path} must be a list", source=self.source)
        for index, name in enumerate(value):
            if not isinstance(name, str) or not accepts(name):
                raise InputError(f"{path}[{index}] is not a valid name: {name!r}", source=self.source)
        return tuple(dict.fromkeys(value))


def _is_dns_name(text: str) -> bool:
    return len(text) <= 253 and _DNS_NAME.fullmatch(text) is not None


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


class _StrictLoader(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys without a word, and expands aliases without a bound."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # types-PyYAML leaves it bare
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed here", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else key
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {name}", key.start_mark)
            seen.add(name)
        return dict(super().construct_mapping(node, deep))
