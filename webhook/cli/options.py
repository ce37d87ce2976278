"""Flags that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from webhook.errors import UsageError
from webhook.model.groups import COMPOSITE_POD_GROUP
from webhook.policies import moment_of

if TYPE_CHECKING:
    from webhook.admission import Endpoint, NamespaceScope

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(exists=True, dir_okay=False)
FILE_OR_FOLDER = click.Path(exists=True)
"""Paths that must be there: one that is not is a slip at the command line (2), not a broken policy or input (3, 4)."""


output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "junit", "sarif", "github"]),
    default="text",
    show_default=True,
    help="What is printed: for people, for programs, or for a CI system.",
)


def cluster_options(command: Command) -> Command:
    """Add how the API server is reached."""
    for option in (
        click.option("--context", default=None, metavar="NAME", help="Context within the kubeconfig."),
        click.option(
            "--kubeconfig",
            default=None,
            metavar="PATH",
            envvar="KUBECONFIG",
            help="Kubeconfig; inside a pod its service account.",
        ),
    ):
        command = option(command)
    return command


def policy_option(command: Command) -> Command:
    """Add where policies are."""
    return click.option(
        "-p",
        "--policies",
        multiple=True,
        metavar="PATH",
        type=FILE_OR_FOLDER,
        help="Policy files or folders; the shipped ones by default.",
    )(command)


class Moment(click.ParamType[datetime]):
    """A moment as RFC 3339 writes it; a day counts from its begin, in UTC."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return it with its time zone."""
        if isinstance(value, datetime):
            return value
        try:
            return moment_of(value)
        except ValueError:
            self.fail(f"{value} is not a moment: write 2026-12-31 or 2026-12-31T18:00:00Z", param, ctx)


def now_option(command: Command) -> Command:
    """Add at which moment exceptions are valid or expired."""
    return click.option(
        "--now",
        type=Moment(),
        default=None,
        metavar="TIME",
        help="Judge exceptions as of this moment, such as 2026-12-31T18:00:00Z; the clock's by default.",
    )(command)


def only_option(command: Command) -> Command:
    """Add to which namespaces a process keeps."""
    return click.option(
        "--only-namespace",
        "only_namespaces",
        multiple=True,
        metavar="NS",
        help="Look after these namespaces alone, and ask for no objects of others; may be repeated.",
    )(command)


def alpha_option(command: Command) -> Command:
    """Add what may be used although it is alpha in Kubernetes."""
    return click.option(
        "--enable-alpha",
        "alpha",
        multiple=True,
        metavar="FEATURE",
        type=click.Choice([COMPOSITE_POD_GROUP]),
        help="Use CompositePodGroup where the cluster has it on: alpha in Kubernetes, which must not carry production.",
    )(command)


def canary_option(command: Command) -> Command:
    """Add where the Job controller and the scheduler are tried out."""
    return click.option(
        "--canary-namespace",
        default="",
        metavar="NS",
        help="Make a suspended Job there now and then, to see whether the Job controller makes groups (WorkloadWithJob): only "
        "then do policies with attach: Auto leave groups to it. And two pods that fit no node, to see whether the scheduler "
        "keeps groups together (GenericWorkload).",
    )(command)


def endpoint_options(command: Command) -> Command:
    """Add where the API server reaches the webhook, and what it sends there."""
    for option in (
        click.option(
            "--bypass",
            is_flag=True,
            help="Let namespaces with the label gangwarden.dev/bypass go unasked; have the policy guarded-bypass guard it.",
        ),
        click.option(
            "--exclude-namespace",
            "excluded_namespaces",
            multiple=True,
            metavar="NS",
            help="A further namespace whose objects are never sent, besides kube-system and the webhook's own; may be repeated.",
        ),
        click.option("--service", default="", metavar="NS/NAME[:PORT]", help="The Service by which the webhook is reached."),
        click.option("--url", default="", metavar="URL", help="The URL by which the webhook is reached, without a path."),
    ):
        command = option(command)
    return command


def scope_of(options: Mapping[str, Any]) -> NamespaceScope:
    """Return which namespaces are sent, from the flags of ``endpoint_options`` and ``only_option``."""
    from webhook.admission import NamespaceScope  # noqa: PLC0415 - for the commands that have these flags

    return NamespaceScope(
        excluded=tuple(options["excluded_namespaces"]), only=tuple(options["only_namespaces"]), bypass=options["bypass"]
    )


def endpoint_of(url: str, service: str) -> Endpoint | None:
    """Return where the webhook is reached; None when neither flag is given. Raises UsageError for what cannot be."""
    from webhook.admission import Endpoint  # noqa: PLC0415 - for the commands that have these flags

    if url and service:
        raise UsageError("give either --url or --service")
    if url:
        if not url.startswith("https://"):
            raise UsageError(f"--url {url} must start with https://: the API server calls nothing else")
        return Endpoint(url=url)
    if not service:
        return None
    place, _, port = service.partition(":")
    namespace, slash, name = place.partition("/")
    if not (slash and namespace and name) or (port and not port.isdigit()):
        raise UsageError(f"--service {service} must be NAMESPACE/NAME or NAMESPACE/NAME:PORT")
    return Endpoint(service_namespace=namespace, service_name=name, service_port=int(port or 443))


def endpoint_names(endpoint: Endpoint | None) -> tuple[str, ...]:
    """Return the DNS names that the serving certificate needs for an endpoint."""
    if endpoint is None or endpoint.url:
        return ()
    base = f"{endpoint.service_name}.{endpoint.service_namespace}.svc"
    return (base, f"{base}.cluster.local")
