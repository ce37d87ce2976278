"""Asks the API server whose a bearer token is (TokenReview), for callers of the webhook.

Answers are kept under a hash of the token, for seconds, and never beyond the token's own end. What the token says of
itself is read before anything is asked: one that is over, or for somebody else, costs the API server nothing. None of it
is believed on its own: what counts is what the API server says.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from webhook.cluster.api import Api
from webhook.errors import ClusterError
from webhook.model.objects import Object
from webhook.model.tokens import TokenAnswer, TokenTold
from webhook.settings import AuthenticationSettings

_Key = tuple[bytes, str]
"""Hash of a token, and the audience."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claims:
    """What a token says of itself."""

    audiences: tuple[str, ...]
    expires: float


class TokenReviews:
    """Answers whose tokens are by the API server that ``api`` speaks to."""

    def __init__(self, api: Api, settings: AuthenticationSettings, *, clock: Callable[[], float] = time.time) -> None:
        """``clock`` tells seconds since the epoch, as tokens do."""
        self._api, self._settings, self._clock = api, settings, clock
        self._at_once = asyncio.Semaphore(settings.token_reviews_at_once)
        self._asking: dict[_Key, asyncio.Task[TokenTold]] = {}
        self._kept: OrderedDict[_Key, tuple[float, TokenAnswer]] = OrderedDict()

    async def answer(self, token: str, audience: str) -> TokenTold:
        """Say whose a token is that was made for an audience; a string says why that cannot be told."""
        claims = _claims_of(token)
        if claims is None:
            return TokenAnswer(authenticated=False, error="it is no token of a service account")
        if claims.expires <= self._clock():
            return TokenAnswer(authenticated=False, error="it has expired")
        if audience not in claims.audiences:
            return TokenAnswer(authenticated=False, error=f"it was made for {_short(claims.audiences)}, not for {audience}")
        key = (hashlib.sha256(token.encode()).digest(), audience)
        kept = self._kept.get(key)
        if kept is not None and kept[0] > self._clock():
            return kept[1]
        return await self._ask(key, token, claims)

    async def _ask(self, key: _Key, token: str, claims: _Claims) -> TokenTold:
        """Ask once for all who wait for the same; whoever hangs up does not end it for the others."""
        task = self._asking.get(key)
        if task is None:
            if len(self._asking) >= self._settings.token_reviews_limit:
                return "too many tokens are being reviewed"
            task = self._asking[key] = asyncio.create_task(self._review(key, token, claims))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        return await asyncio.shield(task)

    async def _review(self, key: _Key, token: str, claims: _Claims) -> TokenTold:
        spec = {"token": token, "audiences": [key[1]]}
        try:
            async with self._at_once:
                review = await self._api.create({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec})
        except ClusterError as error:
            return str(error)
        answer = _answer_of(review, key[1])
        self._kept[key] = (min(self._clock() + self._settings.token_seconds, claims.expires), answer)
        self._kept.move_to_end(key)
        while len(self._kept) > self._settings.token_limit:
            self._kept.popitem(last=False)
        return answer


def _answer_of(review: Object, audience: str) -> TokenAnswer:
    status = _mapping(review.get("status"))
    if status.get("authenticated") is not True:
        return TokenAnswer(authenticated=False, error=str(status.get("error") or "the API server does not know it"))
    # An authenticator that knows nothing of audiences returns none: its yes may be meant for anybody (api/authentication/v1).
    if audience not in (status.get("audiences") or ()):
        return TokenAnswer(authenticated=False, error=f"the API server does not confirm that it is for {audience}")
    user = _mapping(status.get("user"))
    extra = {str(key): tuple(map(str, values or ())) for key, values in _mapping(user.get("extra")).items()}
    return TokenAnswer(authenticated=True, user=str(user.get("username") or ""), extra=extra)


def _claims_of(token: str) -> _Claims | None:
    """Read audiences and end of a signed JWT (RFC 7519); None for anything else."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError):
        return None
    claims = _mapping(claims)
    audiences, expires = claims.get("aud"), claims.get("exp")
    audiences = [audiences] if isinstance(audiences, str) else audiences
    if not isinstance(audiences, list) or not isinstance(expires, int | float):
        return None
    return _Claims(audiences=tuple(map(str, audiences)), expires=float(expires))


def _mapping(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _short(audiences: tuple[str, ...]) -> str:
    """Name audiences in an answer to whoever sent them; they are the caller's own words, so bounded and of one line."""
    text = ", ".join(audiences)[:200]
    return "".join(each if each.isprintable() else "?" for each in text) or "nobody"
