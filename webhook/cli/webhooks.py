"""``gangwarden webhooks``: the webhook configurations that the policies need, planned, applied in place, deleted."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import click
import yaml

from webhook.admission import CONFIGURATION_NAME, plan_configurations, webhook_needs
from webhook.certs import load_material
from webhook.cli.options import cluster_options, endpoint_of, endpoint_options, policy_option
from webhook.cluster import Api, WebhookConfigurations, connect
from webhook.errors import UsageError
from webhook.model.objects import Object
from webhook.policies import bundled_policies, load_policies


@click.group("webhooks")
def webhooks_command() -> None:
    """Plan, apply or delete the webhook configurations that the policies need."""


@webhooks_command.command("plan")
@policy_option
@endpoint_options
@click.option("--cert-dir", metavar="PATH", help="Certificate folder whose authority becomes the caBundle.")
def plan_command(
    policies: tuple[str, ...], cert_dir: str | None, url: str, service: str, excluded_namespaces: tuple[str, ...]
) -> None:
    """Print the configurations as YAML."""
    planned = _plan(policies, cert_dir, url=url, service=service, excluded=excluded_namespaces)
    click.echo("---\n".join(yaml.safe_dump(json.loads(json.dumps(one)), sort_keys=False) for one in planned), nl=False)


@webhooks_command.command("apply")
@cluster_options
@policy_option
@endpoint_options
@click.option("--cert-dir", metavar="PATH", help="Certificate folder whose authority becomes the caBundle.")
def apply_command(  # noqa: PLR0917 - click passes flags by name
    kubeconfig: str | None,
    context: str | None,
    policies: tuple[str, ...],
    cert_dir: str | None,
    url: str,
    service: str,
    excluded_namespaces: tuple[str, ...],
) -> None:
    """Create or change the configurations in place; without --cert-dir the live caBundle stays."""
    planned = _plan(policies, cert_dir, url=url, service=service, excluded=excluded_namespaces)

    async def act(live: WebhookConfigurations) -> None:
        written = await live.apply(planned)
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
    async with await connect(kubeconfig, context) as connection:
        await act(WebhookConfigurations(Api.over(connection), CONFIGURATION_NAME))


def _plan(
    policies: Sequence[str], cert_dir: str | None, *, url: str, service: str, excluded: Sequence[str]
) -> tuple[Object, ...]:
    endpoint = endpoint_of(url, service)
    if endpoint is None:
        raise UsageError("say where the webhook is reached: --url or --service")
    loaded = load_policies(policies or (bundled_policies(),))
    bundle = ""
    if cert_dir is not None:
        authority = load_material(Path(cert_dir)).get("ca.crt")
        if authority is None:
            raise UsageError(f"{cert_dir} holds no ca.crt; make one with: gangwarden certs init {cert_dir}")
        bundle = base64.b64encode(authority).decode()
    return plan_configurations(webhook_needs(loaded), endpoint, ca_bundle=bundle, excluded_namespaces=excluded)
