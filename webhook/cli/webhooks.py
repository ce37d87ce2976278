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
from webhook.cli.api_server_files import MODES, write_files
from webhook.cli.options import Command, cluster_options, endpoint_of, endpoint_options, only_option, policy_option, scope_of
from webhook.cli.registration import register
from webhook.errors import UsageError
from webhook.model.objects import ObjectKey
from webhook.policies import bundled_policies, load_policies

if TYPE_CHECKING:
    from webhook.cluster import Api

_DEPLOYMENT = ("apps", "Deployment")
_NAMED = {
    "deployment": _DEPLOYMENT,
    "controller": _DEPLOYMENT,
    "secret": ("", "Secret"),
    "lease": ("coordination.k8s.io", "Lease"),
}


def authentication_plan_options(command: Command) -> Command:
    """Add which files are written for an API server that is to show who it is."""
    for option in (
        click.option(
            "--api-server-dir",
            default="",
            metavar="PATH",
            help="Where that folder will be on the hosts of the API servers; the same path by default.",
        ),
        click.option(
            "--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Folder that they are written into."
        ),
        click.option(
            "--authentication",
            type=click.Choice(MODES),
            help="Write the AdmissionConfiguration and kubeconfig for the API server instead, with credentials of this kind.",
        ),
    ):
        command = option(command)
    return command


@click.group("webhooks")
def webhooks_command() -> None:
    """Plan, apply or delete the webhook configurations that the policies need."""


@webhooks_command.command("plan")
@policy_option
@endpoint_options
@only_option
@click.option("--cert-dir", metavar="PATH", help="Certificate folder whose authority becomes the caBundle.")
@authentication_plan_options
def plan_command(  # noqa: PLR0917 - click passes flags by name
    policies: tuple[str, ...],
    cert_dir: str | None,
    url: str,
    service: str,
    authentication: str | None,
    out: Path | None,
    api_server_dir: str,
    **scope: Any,
) -> None:
    """Print the configurations as YAML. With --authentication, write the files by which the API server shows who it is."""
    if authentication is not None:
        click.echo("\n".join(_authenticate(endpoint_of(url, service), authentication, out, api_server_dir)))
        return
    if out is not None or api_server_dir:
        raise UsageError("--out and --api-server-dir go with --authentication")
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

    from webhook.cluster import WebhookConfigurations  # noqa: PLC0415 - ``plan`` needs no Kubernetes client

    async def act(api: Api) -> None:
        live = WebhookConfigurations(api, CONFIGURATION_NAME)
        written = await register(live, needs, endpoint, ca_bundle=bundle, scope=scope_of(scope))
        click.echo("\n".join(f"{key} written" for key in written) or "nothing to change")

    asyncio.run(_with_cluster(kubeconfig, context, act))


@webhooks_command.command("delete")
@cluster_options
@policy_option
@only_option
@click.option("--binding", "bindings", multiple=True, metavar="NAME", help="Delete this binding of a native policy first.")
@click.option("--deployment", default="", metavar="NS/NAME", help="Scale this Deployment of replicas to zero, and wait for it.")
@click.option(
    "--controller",
    default="",
    metavar="NS/NAME",
    help="Then scale this Deployment of controllers to zero, and resume what they had suspended.",
)
@click.option("--secret", default="", metavar="NS/NAME", help="Last, delete this Secret of certificates.")
@click.option("--lease", default="", metavar="NS/NAME", help="Last, delete this Lease of controllers.")
@click.option("--create-groups", is_flag=True, help="Create the group objects that stamped workloads still wait for.")
@click.option(
    "--timeout", "patience_seconds", default=120.0, metavar="SECONDS", show_default=True, help="For the replicas to end."
)
def delete_command(  # noqa: PLR0917 - click passes flags by name
    kubeconfig: str | None,
    context: str | None,
    policies: tuple[str, ...],
    only_namespaces: tuple[str, ...],
    bindings: tuple[str, ...],
    create_groups: bool,
    patience_seconds: float,
    **named: str,
) -> None:
    """Take the configurations away: from then on nothing is sent to the webhook.

    A replica with --url or --service writes them again: end it before, or name its --deployment.
    """
    from webhook.cli.departure import delete_by_key, end, release, settle, survey, unbind, withdraw  # noqa: PLC0415 - ``plan`` needs no client

    keys = {flag: _named(flag, value) for flag, value in named.items()}
    controller = keys.pop("controller")

    async def act(api: Api) -> None:
        for line in await unbind(api, bindings):
            click.echo(line)
        removed = await withdraw(api, keys.pop("deployment"), patience_seconds=patience_seconds)
        click.echo("\n".join(removed) or "there was none")
        paths = policies or (bundled_policies(),)
        if create_groups:
            for line in await settle(api, await survey(api, paths, namespaces=only_namespaces)):
                click.echo(line)
        if controller is not None:
            await end(api, controller, patience_seconds=patience_seconds)
            for line in await release(api, await survey(api, paths, namespaces=only_namespaces)):
                click.echo(line)
        for line in await delete_by_key(api, filter(None, keys.values())):
            click.echo(line)

    asyncio.run(_with_cluster(kubeconfig, context, act))


def _named(flag: str, value: str) -> ObjectKey | None:
    """Return the object that a flag names; None where it is not given."""
    if not value:
        return None
    namespace, slash, name = value.partition("/")
    if not (namespace and slash and name):
        raise UsageError(f"--{flag} {value} must be NAMESPACE/NAME")
    return ObjectKey(*_NAMED[flag], namespace, name)


@webhooks_command.command("probe")
@cluster_options
@click.option("--namespace", default="default", show_default=True, metavar="NS", help="Where the Job would be created.")
@click.option("--timeout", "timeout_seconds", default=120.0, show_default=True, metavar="SECONDS", help="How long to try.")
def probe_command(kubeconfig: str | None, context: str | None, namespace: str, timeout_seconds: float) -> None:
    """Wait until the API server really calls the webhook, seen by a labelled Job that is not stored (dry run)."""
    from webhook.cli.calling import look_for_a_call  # noqa: PLC0415 - as above

    async def act(api: Api) -> None:
        click.echo(await look_for_a_call(api, namespace=namespace, timeout_seconds=timeout_seconds))

    asyncio.run(_with_cluster(kubeconfig, context, act))


def _authenticate(endpoint: Endpoint | None, mode: str, out: Path | None, place: str) -> list[str]:
    if endpoint is None:
        raise UsageError("say where the webhook is reached: --url or --service")
    if out is None:
        raise UsageError("--authentication needs --out: the files hold credentials, and are not printed")
    return write_files(endpoint, mode, out=out, place=place or str(out.resolve()))


async def _with_cluster(kubeconfig: str | None, context: str | None, act: Callable[[Api], Awaitable[None]]) -> None:
    from webhook.cluster import Api, connect  # noqa: PLC0415 - ``plan`` needs no Kubernetes client

    async with await connect(kubeconfig, context) as connection:
        await act(Api.over(connection))


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
