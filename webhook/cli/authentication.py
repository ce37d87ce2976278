"""How callers of the webhook are known: the flags, the files that they name, and reading these again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import structlog

from webhook.admission import CONFIGURATION_NAME, Endpoint
from webhook.certs import ClientAuthority, Tls
from webhook.cluster import Api, TokenReviews
from webhook.errors import GangwardenError, UsageError
from webhook.server import BearerTokens, BoundTokens, Callers, Metrics
from webhook.settings import AuthenticationSettings

_LOG = structlog.get_logger(__name__)
_LIMIT_BYTES = 256 * 1024
"""A CA file of that size is refused by ``certs``; a thousand tokens are less."""
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Authentication:
    """In which ways callers may be known; any of them is enough, and without one anybody may call."""

    client_ca_file: str = ""
    client_names: tuple[str, ...] = ()
    """Names that a client certificate must carry one of; empty: any."""
    bearer_token_file: str = ""
    bound_tokens: bool = False

    @property
    def is_on(self) -> bool:
        """Tell whether callers must be known."""
        return bool(self.client_ca_file or self.bearer_token_file or self.bound_tokens)


def authentication_options(command: Command) -> Command:
    """Add how callers are known."""
    for option in (
        click.option(
            "--webhook-bound-tokens",
            is_flag=True,
            help="Accept callers with a token that the API server has bound to our webhook configuration (1.37 sends none yet).",
        ),
        click.option(
            "--bearer-token-file",
            default="",
            metavar="PATH",
            help="Accept callers with a bearer token from this file, one a line.",
        ),
        click.option(
            "--client-allowed-name",
            "client_names",
            multiple=True,
            metavar="NAME",
            help="Accept only client certificates with this common name or DNS name; may be repeated.",
        ),
        click.option(
            "--client-ca-file",
            default="",
            metavar="PATH",
            help="Accept callers with a client certificate of an authority in this file. By default anybody may call.",
        ),
    ):
        command = option(command)
    return command


def authentication_of(options: Mapping[str, Any], endpoint: Endpoint | None) -> Authentication:
    """Return what the flags ask for; raises UsageError for what cannot be."""
    wanted = Authentication(
        client_ca_file=options["client_ca_file"],
        client_names=tuple(options["client_names"]),
        bearer_token_file=options["bearer_token_file"],
        bound_tokens=options["webhook_bound_tokens"],
    )
    if wanted.client_names and not wanted.client_ca_file:
        raise UsageError("--client-allowed-name needs --client-ca-file: a name counts only if an authority vouches for it")
    if wanted.bound_tokens and endpoint is None:
        raise UsageError("--webhook-bound-tokens needs --service or --url: a token is made for that address")
    return wanted


class Credentials:
    """The files by which callers are known, read at the start and again and again."""

    def __init__(self, wanted: Authentication, settings: AuthenticationSettings) -> None:
        """Read the files; raises UsageError, CertificateError or InputError for one that cannot be used."""
        self._wanted, self._settings = wanted, settings
        self._read: dict[str, bytes] = {}
        self._told: dict[str, str] = {}
        self.clients = self._clients() if wanted.client_ca_file else None

    def callers(self, metrics: Metrics, tls: Tls, api: Api, endpoint: Endpoint | None) -> Callers | None:
        """Return who knows the callers; None where anybody may call."""
        if not self._wanted.is_on:
            return None
        bound = None
        if self._wanted.bound_tokens and endpoint is not None:
            asker = TokenReviews(api, self._settings)
            bound = BoundTokens(asker=asker, origin=endpoint.origin, configuration=CONFIGURATION_NAME)
        return Callers(
            metrics,
            self._settings,
            certificates=tls if self.clients is not None else None,
            tokens=self._tokens() if self._wanted.bearer_token_file else None,
            bound=bound,
        )

    async def follow(self, tls: Tls, callers: Callers | None) -> None:
        """Take over edited files until cancelled; one that is gone or broken changes nothing."""
        while callers is not None:
            await asyncio.sleep(self._settings.poll_seconds)
            self._again(self._wanted.client_ca_file, lambda: tls.trust(self._clients()))
            self._again(self._wanted.bearer_token_file, lambda: setattr(callers, "tokens", self._tokens()))

    def _again(self, path: str, take: Callable[[], None]) -> None:
        """Take a file over if it has changed, and tell of one that cannot be used, once for each reason."""
        try:
            if path and _content(path) != self._read[path]:
                take()
                _LOG.info("credentials of callers read again", file=path)
            self._told.pop(path, None)
        except GangwardenError as error:
            if self._told.get(path) != str(error):
                self._told[path] = str(error)
                _LOG.warning("credentials of callers not read; those before stay in force", file=path, error=str(error))

    def _clients(self) -> ClientAuthority:
        path = self._wanted.client_ca_file
        content = _content(path)
        found = ClientAuthority(content, self._wanted.client_names, what=path)
        self._read[path] = content
        return found

    def _tokens(self) -> BearerTokens:
        path = self._wanted.bearer_token_file
        content = _content(path)
        found = BearerTokens(content.decode("utf-8", "replace"), source=path)
        self._read[path] = content
        return found


def _content(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(_LIMIT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
