"""``gangwarden certs``: make certificate material in a folder, replace it, and show what is there and who trusts it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook.certs import FileStore, Material, MaterialStore, Rotator, load_material, load_profile
from webhook.cli.certificate_facts import describe, tell
from webhook.cli.options import cluster_options, endpoint_names, endpoint_of
from webhook.errors import CertificateError, ClusterError, UsageError
from webhook.model.objects import Object
from webhook.policies import bundled_profile
from webhook.settings import CertificateSettings

if TYPE_CHECKING:
    from webhook.certs import LiveBundle

_FILE_LIMIT_BYTES = 256 * 1024 + 1
_profile_option = click.option(
    "--profile", type=click.Path(path_type=Path, exists=True), help="Certificate profile; the shipped one by default."
)
_service_option = click.option(
    "--service", default="", metavar="NS/NAME", help="Service whose names the certificate carries as well."
)
_secret_option = click.option("--secret", default="", metavar="NS/NAME", help="Secret that replicas share.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What is shown."""

    material: Material | None
    live: Sequence[LiveBundle] = ()
    now: datetime
    """By the clock of the API server where one was asked."""


@click.group("certs")
def certs_command() -> None:
    """Make, replace and show certificates."""


@certs_command.command("init")
@click.argument("directory", type=click.Path(path_type=Path))
@_profile_option
@_service_option
def init_command(directory: Path, profile: Path | None, service: str) -> None:
    """Make an authority and a serving certificate in a folder, or renew what is due there."""
    chosen = load_profile(profile or bundled_profile(), CertificateSettings())
    chosen = chosen.with_dns_names(*endpoint_names(endpoint_of("", service)))
    rotator = Rotator(FileStore(directory), profile=chosen, clock=lambda: datetime.now(UTC))
    asyncio.run(rotator.renew())
    _print(_Seen(material=_of_folder(directory), now=datetime.now(UTC)), "text")


@certs_command.command("rotate")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False, exists=True), required=False)
@_secret_option
@click.option("--authority", is_flag=True, help="Replace the authority: a new one beside the old, whose key is thrown away.")
@cluster_options
def rotate_command(
    directory: Path | None,
    secret: str,
    authority: bool,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Replace the serving certificate now, or the authority, in a folder or in the Secret of running replicas.

    They take it up when they look next, within 30 seconds, and no call fails: a new authority is published first, and a
    certificate of it is served when it has been trusted for five minutes.
    """
    if directory is not None and not secret:
        asyncio.run(_replace(FileStore(directory), lambda: datetime.now(UTC), authority=authority))
    elif secret and directory is None:
        asyncio.run(_replace_in_secret(secret, kubeconfig, context, authority=authority))
    else:
        raise UsageError("give either a folder or --secret NS/NAME")
    click.echo("a new authority stands beside the old one" if authority else "there is a new certificate")


async def _replace_in_secret(secret: str, kubeconfig: str | None, context: str | None, *, authority: bool) -> None:
    from webhook.cluster import Api, SecretStore, connect  # noqa: PLC0415 - folders need no Kubernetes client

    namespace, name = _place(secret)
    async with await connect(kubeconfig, context) as connection:
        store = SecretStore(Api.over(connection), namespace=namespace, name=name)
        await _replace(store, connection.now, authority=authority)


async def _replace(store: MaterialStore, clock: Callable[[], datetime], *, authority: bool) -> None:
    profile = load_profile(bundled_profile(), CertificateSettings())
    try:
        await Rotator(store, profile=profile, clock=clock).replace(authority=authority)
    except ClusterError as error:
        if error.status != 409:
            raise
        raise CertificateError("another process replaced certificates at the same moment; look, and try again") from error


def _place(secret: str) -> tuple[str, str]:
    namespace, slash, name = secret.partition("/")
    if not (namespace and slash and name):
        raise UsageError(f"--secret {secret} must be NAMESPACE/NAME")
    return namespace, name


@certs_command.command("show")
@click.argument("path", type=click.Path(path_type=Path), required=False)
@_secret_option
@click.option("--live", is_flag=True, help="Ask the webhook configurations of the cluster whether they trust the certificate.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@cluster_options
def show_command(  # noqa: PLR0917 - click passes flags by name
    path: Path | None, secret: str, live: bool, output: str, kubeconfig: str | None, context: str | None
) -> None:
    """Show expiry, names and chain of a folder, a PEM file or a Secret; exits with 1 when callers would refuse it."""
    if path is not None and secret:
        raise UsageError("give either a path or --secret NS/NAME")
    if path is None and not secret and not live:
        raise UsageError("give a folder, a PEM file, --secret NS/NAME or --live")
    material = None if path is None else _of_folder(path) if path.is_dir() or not path.exists() else _of_file(path)
    seen = _Seen(material=material, now=datetime.now(UTC))
    if secret or live:
        seen = asyncio.run(_look(material, secret=secret, live=live, kubeconfig=kubeconfig, context=context))
    sys.exit(0 if _print(seen, output) else 1)


def _of_folder(directory: Path) -> Material:
    files = load_material(directory)
    if not files:
        raise CertificateError(f"{directory} holds no certificate; make one with: gangwarden certs init {directory}")
    return Material.of_files(files)


def _of_file(path: Path) -> Material:
    """Read certificates alone, as somebody gives or serves them."""
    try:
        with path.open("rb") as file:
            return Material(ca=b"", certificate=file.read(_FILE_LIMIT_BYTES))
    except OSError as error:
        raise CertificateError(f"{path} cannot be read: {error.strerror}") from error


async def _look(material: Material | None, *, secret: str, live: bool, kubeconfig: str | None, context: str | None) -> _Seen:
    from webhook.admission import CONFIGURATION_NAME  # noqa: PLC0415 - only where a cluster is asked
    from webhook.cluster import Api, SecretStore, WebhookConfigurations, connect  # noqa: PLC0415

    namespace, name = _place(secret) if secret else ("", "")
    async with await connect(kubeconfig, context) as connection:
        api = Api.over(connection)
        if secret:
            found = await SecretStore(api, namespace=namespace, name=name).load()
            if found is None:
                raise CertificateError(f"there is no Secret {secret}")
            material = Material.of_files(found[0])
        bundles = await WebhookConfigurations(api, CONFIGURATION_NAME).published() if live else ()
        if live and not bundles:
            raise CertificateError(f"no webhook configuration is registered under the name {CONFIGURATION_NAME}")
        return _Seen(material=material, live=bundles, now=connection.now())


def _print(seen: _Seen, output: str) -> bool:
    """Print the facts; return whether callers would accept the certificate."""
    facts: Object = describe(seen.material, seen.live, seen.now)
    if output == "json":
        click.echo(json.dumps(facts, indent=2))
    else:
        for line in tell(facts, seen.now):
            click.echo(line)
    return not facts["problem"]
