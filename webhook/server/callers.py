"""Know who calls: by client certificate, by bearer token, or by a token that the API server has bound to our webhooks.

Whoever is known in one of the ways that are on may ask; everybody else gets 401 before anything of the body is read.
Only reviews are guarded: the kubelet's probes and Prometheus bring no credentials. Without a way that is on, none of this
is in the path of a review.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from webhook.errors import InputError, ReviewError
from webhook.model.objects import Object
from webhook.model.requests import Phase
from webhook.model.tokens import ATTESTED_GROUPS, BOUND_KINDS, TokenTold, bound_name_key
from webhook.model.verdicts import Reviewed, Unanswered
from webhook.server.metrics import Metrics
from webhook.server.protocol import CONNECTION_STATE
from webhook.server.reviewing import RETRY_AFTER_SECONDS, Endpoint, Reviewer, ReviewHandler
from webhook.settings import AuthenticationSettings

TOKEN_LENGTH = 16
"""Shorter tokens can be guessed; ``openssl rand -base64 32`` gives 44 characters."""
_LOG = structlog.get_logger(__name__)


class CertificateJudge(Protocol):
    """Whoever knows whose client certificates are accepted."""

    def why_refused(self, connection: Any) -> str | None:
        """Say why the certificate of a TLS connection is not accepted: empty when it is, None when there is none."""


class TokenAsker(Protocol):
    """Whoever can ask whose a token is."""

    async def answer(self, token: str, audience: str) -> TokenTold:
        """Say whose a token is that was made for an audience, or why that cannot be told."""


class BearerTokens:
    """The tokens that are accepted; kept as hashes, compared in constant time."""

    def __init__(self, text: str, *, source: str) -> None:
        """Take one token a line, without empty lines and those that begin with ``#``; raises InputError."""
        lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1)]
        tokens = [(number, line) for number, line in lines if line and not line.startswith("#")]
        if not tokens:
            raise InputError("there is no token; write one on each line", source=source)
        for number, token in tokens:
            if len(token) < TOKEN_LENGTH or any(each.isspace() for each in token):
                told = f"a token has at least {TOKEN_LENGTH} characters and no blanks; make one with: openssl rand -base64 32"
                raise InputError(told, source=source, line=number)
        self._digests = [_digest(token) for _, token in tokens]

    def __contains__(self, token: str) -> bool:
        """Tell whether a token is among them, in a time that tells nothing of any."""
        found, given = False, _digest(token)
        for digest in self._digests:
            found |= hmac.compare_digest(digest, given)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTokens:
    """Tokens that the API server makes for calls to one webhook of ours (KEP-6060), and what they must say."""

    asker: TokenAsker
    origin: str
    """Our address in the webhook configurations, without a path: ``https://NAME.NAMESPACE.svc:PORT`` or a URL."""
    configuration: str
    """Name of our webhook configurations."""


@dataclass(frozen=True, slots=True)
class Known:
    """A caller who may ask, about all API groups or about some."""

    groups: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A caller who may not: why, in a word for counters and in a sentence for him."""

    reason: str
    words: str
    status: int = 401


Caller: TypeAlias = Known | Refused


class Callers:
    """Knows the callers of reviews. ``tokens`` may be replaced at any time."""

    def __init__(
        self,
        metrics: Metrics,
        settings: AuthenticationSettings,
        *,
        certificates: CertificateJudge | None = None,
        tokens: BearerTokens | None = None,
        bound: BoundTokens | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tokens = tokens
        self._certificates, self._bound = certificates, bound
        self._metrics, self._settings, self._clock = metrics, settings, clock
        self._told: dict[str, tuple[float, int]] = {}

    def guard(self, endpoint: Endpoint, handler_for: Callable[[Endpoint], ReviewHandler]) -> Guarded:
        """Return what answers the calls to an endpoint; ``handler_for`` makes what answers those of known callers."""
        return Guarded(self, endpoint, handler_for)

    async def identify(self, request: Request, endpoint: Endpoint) -> Caller:
        """Find out who calls, from what came with the connection and the headers alone."""
        refused = Refused(reason="none", words=f"this webhook answers known callers only, and no {self._wanted()} came along")
        connection = request.scope["state"].get(CONNECTION_STATE)
        if self._certificates is not None and connection is not None:
            reason = self._certificates.why_refused(connection)
            if reason == "":
                return Known()
            if reason is not None:
                refused = Refused(reason="certificate", words=f"the client certificate is not accepted: {reason}")
        token = _bearer(request)
        if not token or (self.tokens is None and self._bound is None):
            return refused
        if self.tokens is not None and token in self.tokens:
            return Known()
        if self._bound is None:
            return Refused(reason="token", words="the bearer token is none of those that are accepted")
        return await _judge_bound(self._bound, token, endpoint)

    def refuse(self, refused: Refused, request: Request, endpoint: Endpoint) -> Response:
        """Answer a caller who may not ask."""
        self.note(refused.reason, endpoint.path, refused.words, address=request.client.host if request.client else "")
        headers = {"Connection": "close"}  # only that makes him stop sending a body that nobody reads
        if refused.status == 401 and not (self.tokens is None and self._bound is None):
            headers["WWW-Authenticate"] = "Bearer"
        if refused.status == 503:
            headers["Retry-After"] = RETRY_AFTER_SECONDS
        return PlainTextResponse(refused.words, refused.status, headers)

    def note(self, reason: str, path: str, words: str, *, address: str = "") -> None:
        """Count a refusal, and log it unless the same reason has been logged just now."""
        self._metrics.caller_refused(reason)
        now, (last, unsaid) = self._clock(), self._told.get(reason, (float("-inf"), 0))
        if now - last < self._settings.log_seconds:
            self._told[reason] = (last, unsaid + 1)
            return
        self._told[reason] = (now, 0)
        _LOG.warning("caller refused", reason=reason, path=path, address=address, because=words, unsaid=unsaid)

    def _wanted(self) -> str:
        ways = ["client certificate"] if self._certificates is not None else []
        ways += ["bearer token"] if self.tokens is not None or self._bound is not None else []
        return " or ".join(ways)


class Guarded:
    """Answers the calls to one endpoint: those of known callers as ever, all others with why not."""

    def __init__(self, callers: Callers, endpoint: Endpoint, handler_for: Callable[[Endpoint], ReviewHandler]) -> None:
        self._callers, self._endpoint, self._handler_for = callers, endpoint, handler_for
        self._handler = handler_for(endpoint)

    async def handle(self, request: Request) -> Response:
        """Answer one call."""
        caller = await self._callers.identify(request, self._endpoint)
        match caller:
            case Refused():
                return self._callers.refuse(caller, request, self._endpoint)
            case Known(groups=None):
                return await self._handler.handle(request)
            case Known(groups=groups):
                only = _OnlyGroups(self._callers, self._endpoint, groups or frozenset())
                return await self._handler_for(replace(self._endpoint, reviewer=only)).handle(request)


class _OnlyGroups:
    """A reviewer who speaks of some API groups only: which one a review is about stands in its body."""

    def __init__(self, callers: Callers, endpoint: Endpoint, groups: frozenset[str]) -> None:
        self._callers, self._path, self._groups = callers, endpoint.path, groups
        self._reviewer: Reviewer = endpoint.reviewer

    def review(self, body: Object, **how: Any) -> Reviewed | Unanswered:
        """Decide, or refuse with ReviewError 401. ``how`` is as ``Reviewer`` has it."""
        group = _group_of(body)
        if group not in self._groups:
            words = f"the bearer token does not speak for API group {group!r}, which this review is about"
            self._callers.note("group", self._path, words)
            raise ReviewError(words, status=401)
        return self._reviewer.review(body, **how)


async def _judge_bound(bound: BoundTokens, token: str, endpoint: Endpoint) -> Caller:
    told = await bound.asker.answer(token, bound.origin + endpoint.path)
    if isinstance(told, str):
        words = f"whose the bearer token is cannot be told now: {told}"
        return Refused(reason="unavailable", words=words, status=503)
    if not told.authenticated:
        return Refused(reason="token", words=f"the bearer token is not accepted: {told.error}")
    kind = BOUND_KINDS[0 if endpoint.phase is Phase.MUTATE else 1]
    named: Sequence[str] = told.extra.get(bound_name_key(kind), ())
    if tuple(named) != (bound.configuration,):
        return Refused(reason="token", words=f"the bearer token is not bound to the {kind} {bound.configuration}")
    groups = frozenset(told.extra.get(ATTESTED_GROUPS, ()))
    return Known() if "*" in groups else Known(groups)


def _group_of(body: Any) -> str:
    """Return the API group whose rule sent a review to us, which is that of the resource (of evictions: pods')."""
    for key in ("request", "resource"):
        body = body.get(key) if isinstance(body, dict) else None
    group = body.get("group") if isinstance(body, dict) else None
    return group if isinstance(group, str) else ""


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
