"""``gangwarden certs``: make certificate material in a folder, and show what is there."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from webhook.certs import FileStore, Material, Rotator, inspect_material, load_material, load_profile, why_untrusted
from webhook.cli.options import endpoint_names, endpoint_of
from webhook.errors import CertificateError
from webhook.model.objects import Object
from webhook.policies import bundled_profile
from webhook.settings import CertificateSettings


@click.group("certs")
def certs_command() -> None:
    """Make and show certificates."""


@certs_command.command("init")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--profile", type=click.Path(path_type=Path, exists=True), help="Certificate profile; the shipped one by default.")
@click.option("--service", default="", metavar="NS/NAME", help="Service whose names the certificate carries as well.")
def init_command(directory: Path, profile: Path | None, service: str) -> None:
    """Make an authority and a serving certificate in a folder, or renew what is due there."""
    chosen = load_profile(profile or bundled_profile(), CertificateSettings())
    chosen = chosen.with_dns_names(*endpoint_names(endpoint_of("", service)))
    rotator = Rotator(FileStore(directory), profile=chosen, clock=lambda: datetime.now(UTC))
    asyncio.run(rotator.renew())
    _print(directory, "text")


@certs_command.command("show")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def show_command(directory: Path, output: str) -> None:
    """Show expiry, names and chain; exits with 1 when callers would refuse the certificate."""
    sys.exit(0 if _print(directory, output) else 1)


def _print(directory: Path, output: str) -> bool:
    """Print the facts; return whether a caller that trusts ca.crt would accept tls.crt."""
    files = load_material(directory)
    if not files:
        raise CertificateError(f"{directory} holds no certificate; make one with: gangwarden certs init {directory}")
    now = datetime.now(UTC)
    facts = describe(Material.of_files(files), now)
    if output == "json":
        click.echo(json.dumps(facts, indent=2))
    else:
        for authority in facts["authorities"]:
            click.echo(f"authority    {authority['subject']}  {_expiry(authority['notAfter'], now)}")
        leaf = facts["leaf"]
        if leaf:
            click.echo(f"certificate  {', '.join(leaf['names'])}  {_expiry(leaf['notAfter'], now)}")
        click.echo(f"verdict      {facts['problem'] or 'callers that trust ca.crt accept it'}")
    return not facts["problem"]


def _expiry(moment: str, now: datetime) -> str:
    """Return when something ends, in days: that is how often people look."""
    days = (datetime.fromisoformat(moment) - now).days
    return f"expires {moment} (in {days} days)" if days >= 0 else f"expired {moment} ({-days} days ago)"


def describe(material: Material, now: datetime) -> Object:
    """Return the facts of some material as JSON; times are RFC 3339 in UTC."""
    held = inspect_material(material)
    leaf = held.leaf
    return {
        "authorities": [{"subject": one.subject, "notAfter": one.not_after.isoformat()} for one in held.authorities],
        "leaf": None if leaf is None else {"names": sorted(leaf.names), "notAfter": leaf.not_after.isoformat()},
        "problem": "there is no serving certificate" if leaf is None else why_untrusted(material.certificate, material.ca, now),
    }
