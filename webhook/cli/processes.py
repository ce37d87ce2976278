"""``serve``, ``controller`` and ``run``: the processes in a cluster, each joined from its rooms in one place."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import click
import uvloop

from webhook.admission import NamespaceScope
from webhook.cli.authentication import authentication_of, authentication_options
from webhook.cli.cluster_process import ClusterProcess, Plan
from webhook.cli.options import (
    alpha_option,
    canary_option,
    cluster_options,
    endpoint_of,
    endpoint_options,
    only_option,
    policy_option,
    scope_of,
)
from webhook.server import configure_logging


def serving_options(command: Any) -> Any:
    """Add where a replica listens and where its certificates are."""
    for option in (
        click.option(
            "--cert-profile", default="", metavar="PATH", help="Names and lifetimes of certificates; the shipped ones by default."
        ),
        click.option(
            "--cert-given",
            is_flag=True,
            help="The certificate is somebody else's, such as cert-manager's: it is checked and followed, never made.",
        ),
        click.option("--cert-secret", default="", metavar="NS/NAME", help="Secret that replicas share for certificates."),
        click.option(
            "--cert-dir", default=".gangwarden/certs", show_default=True, metavar="PATH", help="Folder for certificates."
        ),
        click.option(
            "--longest-hold",
            default=3600.0,
            show_default=True,
            metavar="SECONDS",
            help="How long evictions of one group may wait in all, whatever its policy says.",
        ),
        click.option("--port", default=9443, show_default=True, metavar="N", help="Port to listen on; 0 takes a free one."),
        click.option("--host", default="0.0.0.0", show_default=True, help="Address to listen on."),  # noqa: S104 - see settings
    ):
        command = option(command)
    return command


def controller_options(command: Any) -> Any:
    """Add where the Lease is, and whether broken groups are restarted."""
    for option in (
        click.option(
            "--restarts/--no-restarts",
            default=True,
            show_default=True,
            help="Restart groups that lost a member, as their policies say; without, they are only told of and counted.",
        ),
        click.option("--namespace", default="gangwarden-system", show_default=True, metavar="NS", help="Namespace of the Lease."),
    ):
        command = option(command)
    return command


def status_options(*, port: int | None) -> Callable[[Any], Any]:
    """Add where a process tells how it is; without a ``port`` only where one is given."""
    places = (
        click.option(
            "--status-port",
            type=int,
            default=port,
            show_default=port is not None,
            metavar="N",
            help="Port of /healthz, /readyz, /metrics and /debug/policies, without TLS; 0 takes a free one.",
        ),
        click.option("--status-host", default="0.0.0.0", show_default=True, help="Address of the status port."),  # noqa: S104 - as above
    )
    return lambda command: reduce(lambda given, option: option(given), places, command)


def log_option(command: Any) -> Any:
    """Add the form of the log."""
    return click.option("--log-format", type=click.Choice(["json", "text"]), default="json", show_default=True)(command)


@click.command("serve")
@cluster_options
@policy_option
@serving_options
@authentication_options
@endpoint_options
@status_options(port=None)
@only_option
@canary_option
@alpha_option
@log_option
def serve_command(**options: Any) -> None:
    """Run a webhook replica in a cluster. With --url or --service it keeps the webhook configurations itself."""
    _run(Plan(webhook=True, controller=False, **_common(options), **_serving(options)), options)


@click.command("controller")
@cluster_options
@policy_option
@controller_options
@status_options(port=9444)
@only_option
@canary_option
@alpha_option
@log_option
def controller_command(**options: Any) -> None:
    """Run the controller in a cluster; of several replicas one works, by a Lease."""
    _run(
        Plan(
            webhook=False,
            controller=True,
            namespace=options["namespace"],
            restarts=options["restarts"],
            scope=NamespaceScope(only=options["only_namespaces"]),
            **_common(options),
        ),
        options,
    )


@click.command("run")
@cluster_options
@policy_option
@serving_options
@authentication_options
@endpoint_options
@controller_options
@status_options(port=None)
@only_option
@canary_option
@alpha_option
@log_option
def run_command(**options: Any) -> None:
    """Run webhook and controller side by side in one process."""
    kept = {"namespace": options["namespace"], "restarts": options["restarts"]}
    _run(Plan(webhook=True, controller=True, **kept, **_common(options), **_serving(options)), options)


def _common(options: dict[str, Any]) -> dict[str, Any]:
    return {
        "kubeconfig": options["kubeconfig"],
        "context": options["context"],
        "policies": tuple(options["policies"]),
        "canary_namespace": options["canary_namespace"],
        "status_host": options["status_host"],
        "status_port": options["status_port"],
        "alpha": tuple(options["alpha"]),
    }


def _serving(options: dict[str, Any]) -> dict[str, Any]:
    endpoint = endpoint_of(options["url"], options["service"])
    return {
        "host": options["host"],
        "port": options["port"],
        "cert_dir": options["cert_dir"],
        "cert_secret": options["cert_secret"],
        "cert_profile": options["cert_profile"],
        "endpoint": endpoint,
        "authentication": authentication_of(options, endpoint),
        "cert_given": options["cert_given"],
        "longest_hold_seconds": options["longest_hold"],
        "scope": scope_of(options),
    }


def _run(plan: Plan, options: dict[str, Any]) -> None:
    configure_logging(json=options["log_format"] == "json")
    uvloop.run(ClusterProcess(plan).run())
