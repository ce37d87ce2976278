"""What certificates say, and who trusts them: as JSON, and in lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from webhook.certs import CertificateFacts, Material, facts_of, inspect_material, why_untrusted
from webhook.errors import CertificateError
from webhook.model.objects import Object

if TYPE_CHECKING:
    from webhook.certs import LiveBundle


def describe(material: Material | None, live: Sequence[LiveBundle], now: datetime) -> Object:
    """Return the facts as JSON; times are RFC 3339 in UTC. ``problem``: why callers would refuse the certificate."""
    authorities, chain, problem = _material(material, now) if material else ((), (), "")
    registered = [_registered(each, material, now) for each in live]
    untrusting = next((each for each in registered if each["problem"]), None)
    if untrusting and not problem:
        problem = f"{untrusting['webhook']} in {untrusting['configuration']} does not trust it: {untrusting['problem']}"
    return {
        "apiVersion": "gangwarden.dev/v1alpha1",
        "authorities": [_one(each) for each in authorities],
        "chain": [_one(each) for each in chain],
        "leaf": None if not chain else {"names": sorted(chain[0].names), **_one(chain[0])},
        "live": registered,
        "problem": problem,
    }


def _material(material: Material, now: datetime) -> tuple[tuple[CertificateFacts, ...], tuple[CertificateFacts, ...], str]:
    """Return the authorities, the chain and what is wrong; a file alone has no authorities, and only its dates are judged."""
    if not material.ca:
        chain = facts_of(material.certificate, what="the file")
        dated = (
            ""
            if chain[0].is_valid(now)
            else f"it is outside its dates, {_date(chain[0].not_before)} to {_date(chain[0].not_after)}"
        )
        return (), chain, dated
    authorities = inspect_material(material).authorities
    if not material.certificate:
        return authorities, (), "there is no serving certificate"
    return authorities, facts_of(material.certificate, what="tls.crt"), why_untrusted(material.certificate, material.ca, now)


def _registered(each: LiveBundle, material: Material | None, now: datetime) -> Object:
    try:
        trusted = [_one(one) for one in facts_of(each.bundle, what="the CA bundle")]
    except CertificateError as error:
        trusted, problem = [], str(error)
    else:
        problem = why_untrusted(material.certificate, each.bundle, now) if material and material.certificate else ""
    return {
        "configuration": each.place,
        "webhook": each.webhook,
        "injected": each.foreign,
        "trusts": trusted,
        "problem": problem,
    }


def _one(facts: CertificateFacts) -> Object:
    return {
        "subject": facts.subject,
        "notBefore": facts.not_before.isoformat(),
        "notAfter": facts.not_after.isoformat(),
        "sha256": facts.fingerprint,
    }


def tell(facts: Object, now: datetime) -> Iterator[str]:
    """Say the facts in lines."""
    for authority in facts["authorities"]:
        yield f"authority    {authority['subject']}  {_expiry(authority['notAfter'], now)}"
    if facts["leaf"]:
        names = ", ".join(facts["leaf"]["names"]) or facts["leaf"]["subject"]
        yield f"certificate  {names}  {_expiry(facts['leaf']['notAfter'], now)}"
    for link in facts["chain"][1:]:
        yield f"chain        {link['subject']}  {_expiry(link['notAfter'], now)}"
    for one in facts["live"]:
        kept = " (cert-manager keeps it)" if one["injected"] else ""
        trusts = ", ".join(each["subject"] for each in one["trusts"]) or "nobody"
        said = f"refuses it: {one['problem']}" if one["problem"] else "accepts it" if facts["leaf"] else "is registered"
        yield f"live         {one['configuration']} {one['webhook']}{kept} trusts {trusts}: {said}"
    yield f"verdict      {facts['problem'] or _well(facts)}"


def _well(facts: Object) -> str:
    if facts["live"]:
        return "the API server accepts it" if facts["leaf"] else "every caBundle can be read"
    return "callers that trust ca.crt accept it" if facts["authorities"] else "it is within its dates; nothing says who trusts it"


def _expiry(moment: str, now: datetime) -> str:
    """Return when something ends, in days: that is how often people look."""
    days = (datetime.fromisoformat(moment) - now).days
    return f"expires {moment} (in {days} days)" if days >= 0 else f"expired {moment} ({-days} days ago)"


def _date(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%SZ}"
