"""Decide what must be done to certificates now. Pure: facts and the time in, actions with reasons out.

The order that keeps every call working while an authority is replaced:

1. mint the new authority and publish it beside the old one;
2. when every webhook configuration trusts it, and has for ``overlap_seconds``, mint and serve a leaf of it;
3. when that leaf has been out for ``overlap_seconds``, drop the old authority and publish again.

Where nothing works any more (expired, lost, signed by a stranger) there is nobody left to spare, and all of it is
done at once. Where each step stands is read from the material and the live configurations, so any process can go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from webhook.certs.inspection import CertificateFacts, Held
from webhook.certs.profile import Profile


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


def plan_renewal(
    held: Held | None, *, now: datetime, profile: Profile, live: tuple[frozenset[str], ...], served: str | None
) -> tuple[Action, ...]:
    """Return what to do, in order.

    ``live``: the fingerprints that each webhook configuration trusts (none: nothing is registered).
    ``served``: fingerprint of the certificate in use, empty for none; None where this process serves nothing.
    """
    changes = _plan_material(held, now=now, profile=profile, live=live)
    return (*changes, *_plan_publish(held, changes, live), *_plan_serve(held, changes, served))


def _plan_material(
    held: Held | None, *, now: datetime, profile: Profile, live: tuple[frozenset[str], ...]
) -> tuple[MintAuthority | DropAuthority | MintLeaf, ...]:
    if held is None:
        return MintAuthority(reason="there is no authority yet"), MintLeaf(reason="there is no certificate yet")
    if not held.has_authority_key:
        return ()  # someone else's authority: theirs to renew
    expired = tuple(
        DropAuthority(fingerprint=each.fingerprint, reason=f"{each.subject} expired at {each.not_after:%Y-%m-%d %H:%M:%SZ}")
        for each in held.authorities
        if now > each.not_after
    )
    why_authority = _why_renew(held.authorities[0], now, profile)
    why_leaf = _why_unusable(held, now)
    if why_authority:
        urgent = (MintLeaf(reason=why_leaf),) if why_leaf else ()
        return (MintAuthority(reason=f"the authority {why_authority}"), *expired, *urgent)
    if not why_leaf and _is_settled(held, now, profile, live):
        why_leaf = _why_replace(held, now, profile)
    if why_leaf:
        return (*expired, MintLeaf(reason=why_leaf))
    return (*expired, *_plan_drop(held, now, profile, already={each.fingerprint for each in expired}))


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


def _is_settled(held: Held, now: datetime, profile: Profile, live: tuple[frozenset[str], ...]) -> bool:
    """Tell whether callers accept leaves of the newest authority; a sole one needs no waiting."""
    newest = held.authorities[0]
    if len(held.authorities) == 1:
        return True
    return _age(newest, now, profile) >= _overlap(profile) and all(newest.fingerprint in trusted for trusted in live)


def _plan_drop(held: Held, now: datetime, profile: Profile, *, already: set[str]) -> tuple[DropAuthority, ...]:
    newest, *older = held.authorities
    if held.leaf is None or held.leaf.signed_by != newest.fingerprint or _age(held.leaf, now, profile) < _overlap(profile):
        return ()
    return tuple(
        DropAuthority(fingerprint=each.fingerprint, reason=f"nothing signed by {each.subject} is served any more")
        for each in older
        if each.fingerprint not in already
    )


def _plan_publish(held: Held | None, changes: tuple[Action, ...], live: tuple[frozenset[str], ...]) -> tuple[PublishBundle, ...]:
    if any(isinstance(each, MintAuthority | DropAuthority) for each in changes):
        return (PublishBundle(reason="the bundle of authorities changes"),)
    wanted = frozenset(each.fingerprint for each in held.authorities) if held else frozenset()
    if any(trusted != wanted for trusted in live):
        return (PublishBundle(reason="a webhook configuration trusts other authorities than ours"),)
    return ()


def _plan_serve(held: Held | None, changes: tuple[Action, ...], served: str | None) -> tuple[ServeLeaf, ...]:
    if served is None:
        return ()
    if any(isinstance(each, MintLeaf) for each in changes):
        return (ServeLeaf(reason="there is a new certificate"),)
    if held is not None and held.leaf is not None and held.leaf.fingerprint != served:
        return (ServeLeaf(reason="the stored certificate is another than the one in use"),)
    return ()


def _age(certificate: CertificateFacts, now: datetime, profile: Profile) -> timedelta:
    return now - certificate.not_before - timedelta(seconds=profile.settings.clock_skew_seconds)


def _overlap(profile: Profile) -> timedelta:
    return timedelta(seconds=profile.settings.overlap_seconds)
