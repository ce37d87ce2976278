"""Decide what must be done to certificates now. Pure: facts and the time in, actions with reasons out.

The order that keeps every call working while an authority is replaced:

1. mint the new authority and publish it beside the old one, whose key ends here: it signs nothing any more;
2. when every webhook configuration trusts the new one, and has for ``overlap_seconds``, mint and serve a leaf of it;
3. when the last leaf that the old one can have signed has expired, drop the old one and publish again.

No process knows of all others, and none needs to: one that was cut off serves what it has, which stays trusted for as
long as it is valid. So step 3 asks for no heartbeats and does not count replicas.

The wait in step 2 is what this process has seen itself, by a clock that only goes forward (``Sight``). What cannot be
served any more (expired, lost, signed by a stranger) is replaced at once. Where each step stands is read from the
material and the live configurations, so any process can go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from webhook.certs.inspection import CertificateFacts, Held
from webhook.certs.profile import Profile

OWN_SUBJECT = "CN=gangwarden-ca-"
"""How the subjects of authorities begin that we made (minting)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MintAuthority:
    """Make a new authority and put it first in the bundle."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropAuthority:
    """Take an authority out of the bundle."""

    fingerprint: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MintLeaf:
    """Make a new serving certificate, signed by the first authority of the bundle."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishBundle:
    """Write the bundle into every webhook configuration."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeLeaf:
    """Answer new connections with the serving certificate."""

    reason: str


Action: TypeAlias = MintAuthority | DropAuthority | MintLeaf | PublishBundle | ServeLeaf


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What one process sees beside the material."""

    live: tuple[frozenset[str], ...] = ()
    """Fingerprints that each webhook configuration of ours trusts (none: nothing is registered)."""
    foreign: tuple[frozenset[str], ...] = ()
    """The same of those whose caBundle somebody else keeps."""
    trusted_seconds: Mapping[str, float] = field(default_factory=dict)
    """For each authority that all of them trust: for how long this process has seen that."""
    served: str | None = None
    """Fingerprint of the certificate in use, empty for none; None where this process serves nothing."""
    served_by: str = ""
    """Fingerprint of the authority that vouches for it."""
    serves_well: bool = False
    """It is within its dates and trusted by all configurations."""

    def trusts(self, authority: str, seconds: float) -> bool:
        """Tell whether all configurations have trusted an authority for so long; with none there is nobody to wait for."""
        return not (self.live or self.foreign) or self.trusted_seconds.get(authority, -1.0) >= seconds


def plan_renewal(held: Held | None, *, now: datetime, profile: Profile, sight: Sight) -> tuple[Action, ...]:
    """Return what to do with material of our own, in order."""
    changes = _plan_material(held, now=now, profile=profile, sight=sight)
    return (*changes, *_plan_publish(held, changes, sight), *_plan_serve(held, changes, now=now, profile=profile, sight=sight))


def plan_follow(held: Held, *, bundle: frozenset[str], now: datetime, profile: Profile, sight: Sight) -> tuple[Action, ...]:
    """Return what to do with material of somebody else: it is published and served, and never changed.

    ``bundle``: what is to be trusted now, ``held.authorities`` and those that must not go yet.
    """
    return (*_published(bundle, sight), *_plan_serve(held, (), now=now, profile=profile, sight=sight))


def _plan_material(
    held: Held | None, *, now: datetime, profile: Profile, sight: Sight
) -> tuple[MintAuthority | DropAuthority | MintLeaf, ...]:
    if held is None:
        return MintAuthority(reason="there is no authority yet"), MintLeaf(reason="there is no certificate yet")
    if not held.has_authority_key and not held.authorities[0].subject.startswith(OWN_SUBJECT):
        return ()  # someone else's authority: theirs to renew
    expired = tuple(
        DropAuthority(fingerprint=each.fingerprint, reason=f"{each.subject} expired at {each.not_after:%Y-%m-%d %H:%M:%SZ}")
        for each in held.authorities
        if now > each.not_after
    )
    why_authority = _why_authority(held, now, profile)
    why_leaf = _why_unusable(held, now)
    if why_authority:
        urgent = (MintLeaf(reason=why_leaf),) if why_leaf else ()
        return (MintAuthority(reason=f"the authority {why_authority}"), *expired, *urgent)
    if not why_leaf and _is_settled(held, now, profile, sight):
        why_leaf = _why_replace(held, now, profile)
    if why_leaf:
        return (*expired, MintLeaf(reason=why_leaf))
    return (*expired, *_plan_drop(held, now, profile, already={each.fingerprint for each in expired}))


def _why_authority(held: Held, now: datetime, profile: Profile) -> str:
    """Say why the newest authority must be replaced.

    One that is merely due waits until its first leaf is made: where trust comes slower than authorities fall due, each
    would be replaced before it is trusted, and the leaf, which waits for that, would expire.
    """
    if not held.has_authority_key:
        return "has lost its key"
    newest = held.authorities[0]
    waits = held.leaf is not None and held.leaf.signed_by != newest.fingerprint and newest.is_valid(now)
    return "" if waits else _why_renew(newest, now, profile)


def _why_renew(certificate: CertificateFacts, now: datetime, profile: Profile) -> str:
    if now < certificate.not_before:
        return f"is not valid before {certificate.not_before:%Y-%m-%d %H:%M:%SZ}: a clock was wrong when it was made"
    if now > certificate.not_after:
        return f"expired at {certificate.not_after:%Y-%m-%d %H:%M:%SZ}"
    lifetime = certificate.not_after - certificate.not_before
    if now >= certificate.not_before + lifetime * profile.settings.renew_after_fraction:
        return f"is due: it expires at {certificate.not_after:%Y-%m-%d %H:%M:%SZ}"
    return ""


def _why_unusable(held: Held, now: datetime) -> str:
    """Say why no caller can accept the leaf as it is; such a leaf is replaced at once."""
    if held.leaf is None:
        return "there is no certificate yet"
    if not held.leaf.is_valid(now):
        return f"the certificate is outside its dates, {held.leaf.not_before:%Y-%m-%d} to {held.leaf.not_after:%Y-%m-%d}"
    signer = next((each for each in held.authorities if each.fingerprint == held.leaf.signed_by), None)
    if signer is None:
        return "no authority in the bundle signed the certificate"
    return "" if signer.is_valid(now) else "the authority that signed the certificate is outside its dates"


def _why_replace(held: Held, now: datetime, profile: Profile) -> str:
    """Say why a leaf that works should be replaced."""
    if held.leaf is None:
        return ""
    missing = sorted(profile.names - held.leaf.names)
    if missing:
        return f"the certificate lacks the name {', '.join(missing)}"
    if held.leaf.signed_by != held.authorities[0].fingerprint:
        return "the new authority is trusted everywhere"
    why = _why_renew(held.leaf, now, profile)
    return f"the certificate {why}" if why else ""


def _is_settled(held: Held, now: datetime, profile: Profile, sight: Sight) -> bool:
    """Tell whether callers accept leaves of the newest authority; a sole one needs no waiting."""
    if len(held.authorities) == 1:
        return True
    overlap, newest = profile.settings.overlap_seconds, held.authorities[0]
    return sight.trusts(newest.fingerprint, overlap) and now - _minted(newest, profile) >= timedelta(seconds=overlap)


def _plan_drop(held: Held, now: datetime, profile: Profile, *, already: set[str]) -> tuple[DropAuthority, ...]:
    """Drop authorities whose last leaf has expired: the key of each was overwritten when a newer one was minted."""
    if held.leaf is None:
        return ()
    settings = profile.settings
    wait = timedelta(days=settings.leaf_days, seconds=settings.clock_skew_seconds)
    dropped = []
    for index, each in enumerate(held.authorities):
        after = _successor(each, held.authorities[:index])
        if after is None or now <= _minted(after, profile) + wait or each.fingerprint in already | {held.leaf.signed_by}:
            continue
        reason = f"the last certificate that {each.subject} can have signed has expired"
        dropped.append(DropAuthority(fingerprint=each.fingerprint, reason=reason))
    return tuple(dropped)


def _successor(authority: CertificateFacts, newer: Sequence[CertificateFacts]) -> CertificateFacts | None:
    """Return who took an authority's place, and the place of its key: the next one of ours that was made later.

    Among authorities that were saved from live configurations there may be those of somebody else.
    """
    ours = (one for one in reversed(newer) if one.subject.startswith(OWN_SUBJECT) and one.not_before >= authority.not_before)
    return next(ours, None)


def _plan_publish(held: Held | None, changes: tuple[Action, ...], sight: Sight) -> tuple[PublishBundle, ...]:
    if any(isinstance(each, MintAuthority | DropAuthority) for each in changes):
        return (PublishBundle(reason="the bundle of authorities changes"),)
    return _published(frozenset(each.fingerprint for each in held.authorities) if held else frozenset(), sight)


def _published(wanted: frozenset[str], sight: Sight) -> tuple[PublishBundle, ...]:
    if any(trusted != wanted for trusted in sight.live):
        return (PublishBundle(reason="a webhook configuration trusts other authorities than ours"),)
    return ()


def _plan_serve(
    held: Held | None, changes: tuple[Action, ...], *, now: datetime, profile: Profile, sight: Sight
) -> tuple[ServeLeaf, ...]:
    """Serve another leaf when callers are sure to trust it, or when they do not trust what is served."""
    if sight.served is None:
        return ()
    if any(isinstance(each, MintLeaf) for each in changes):
        signer = "" if held is None or isinstance(changes[0], MintAuthority) else held.authorities[0].fingerprint
        reason = "there is a new certificate"
    elif held is None or held.leaf is None or held.leaf.fingerprint == sight.served or not held.leaf.is_valid(now):
        return ()
    else:
        signer, reason = held.leaf.signed_by, "the stored certificate is another than the one in use"
    sure = signer and (signer == sight.served_by or sight.trusts(signer, profile.settings.overlap_seconds))
    return (ServeLeaf(reason=reason),) if sure or not sight.serves_well else ()


def _minted(certificate: CertificateFacts, profile: Profile) -> datetime:
    return certificate.not_before + timedelta(seconds=profile.settings.clock_skew_seconds)
