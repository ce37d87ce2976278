"""``gangwarden webhooks``: the webhook configurations that the policies need, planned, applied in place, deleted."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

from webhook.admission import CONFIGURATION_NAME, Endpoint, WebhookNeeds, plan_configurations, webhook_needs
from webhook.certs import load_material
from webhook.cli.options import cluster_options, endpoint_of, endpoint_options, only_option, policy_option, scope_of
from webhook.cli.registration import register
from webhook.errors import UsageError
from webhook.policies import bundled_policies, load_policies

if TYPE_CHECKING:
    from webhook.cluster import WebhookConfigurations


@click.group("webhooks")
def webhooks_command() -> None:
    """Plan, apply or delete the webhook configurations that the policies need."""


@webhooks_command.command("plan")
@policy_option
@endpoint_options
@only_option
@click.option("--cert-dir", metavar="PATH", help="Certificate folder whose authority becomes the caBundle.")
def plan_command(policies: tuple[str, ...], cert_dir: str | None, url: str, service: str, **scope: Any) -> None:
    """Print the configurations as YAML."""
    endpoint, needs, bundle = _wanted(policies, cert_dir, url=url, service=service)
    planned = plan_configurations(needs, endpoint, ca_bundle=bundle, scope=scope_of(scope))
    click.echo("---\n".join(yaml.safe_dump(json.loads(json.dumps(one)), sort_keys=False) for one in planned), nl=False)


@webhooks_command.command("apply")
@cluster_options
@policy_option
@endpoint_options
@only_option
@click.option("--cert-dir", metavar="PATH", help="Certificate folder whose authority becomes the caBundle.")
def apply_command(  # noqa: PLR0917 - click passes flags by name
    kubeconfig: str | None,
    context: str | None,
    policies: tuple[str, ...],
    cert_dir: str | None,
    url: str,
    service: str,
    **scope: Any,
) -> None:
    """Create or change the configurations in place; without --cert-dir the live caBundle stays."""
    endpoint, needs, bundle = _wanted(policies, cert_dir, url=url, service=service)

    async def act(live: WebhookConfigurations) -> None:
        written = await register(live, needs, endpoint, ca_bundle=bundle, scope=scope_of(scope))
        click.echo("\n".join(f"{key} written" for key in written) or "nothing to change")

    asyncio.run(_with_cluster(kubeconfig, context, act))


@webhooks_command.command("delete")
@cluster_options
def delete_command(kubeconfig: str | None, context: str | None) -> None:
    """Take the configurations away: from then on nothing is sent to the webhook."""

    async def act(live: WebhookConfigurations) -> None:
        removed = await live.delete()
        click.echo("\n".join(f"{key} deleted" for key in removed) or "there was none")

    asyncio.run(_with_cluster(kubeconfig, context, act))


async def _with_cluster(
    kubeconfig: str | None, context: str | None, act: Callable[[WebhookConfigurations], Awaitable[None]]
) -> None:
    from webhook.cluster import Api, WebhookConfigurations, connect  # noqa: PLC0415 - ``plan`` needs no Kubernetes client

    async with await connect(kubeconfig, context) as connection:
        await act(WebhookConfigurations(Api.over(connection), CONFIGURATION_NAME))


def _wanted(policies: Sequence[str], cert_dir: str | None, *, url: str, service: str) -> tuple[Endpoint, WebhookNeeds, str]:
    """Return where the webhook is, what is to be sent to it, and the caBundle in base64 (empty: leave it as it is)."""
    endpoint = endpoint_of(url, service)
    if endpoint is None:
        raise UsageError("say where the webhook is reached: --url or --service")
    needs = webhook_needs(load_policies(policies or (bundled_policies(),)))
    if cert_dir is None:
        return endpoint, needs, ""
    authority = load_material(Path(cert_dir)).get("ca.crt")
    if authority is None:
        raise UsageError(f"{cert_dir} holds no ca.crt; make one with: gangwarden certs init {cert_dir}")
    return endpoint, needs, base64.b64encode(authority).decode()
