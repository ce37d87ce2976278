"""What came back from the API server, and the error it becomes when it is a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from webhook.errors import ClusterError


@dataclass(frozen=True, slots=True)
class Answer:
    """One response: status, whole body, and the ``Retry-After`` header in seconds."""

    status: int
    body: bytes
    retry_after: float | None = None

    @property
    def is_success(self) -> bool:
        """Tell whether the call did what was asked."""
        return 200 <= self.status < 300


def decode(body: bytes) -> Any:
    """Decode a JSON body; None when it is not JSON, as from a proxy in between."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def refusal(answer: Answer, verb: str, key: str) -> ClusterError:
    """Turn a failed answer (a ``metav1.Status``, or a proxy's page) into an error that says what was refused and why."""
    status = decode(answer.body)
    if not isinstance(status, dict) or status.get("kind") != "Status":
        text = answer.body[:200].decode(errors="replace").strip()
        status = {"message": text or "no explanation"}
    return status_error(status | {"code": answer.status}, verb, key, retry_after=answer.retry_after)


def status_error(status: dict[str, Any], verb: str, key: str, *, retry_after: float | None = None) -> ClusterError:
    """Turn a ``metav1.Status`` into an error; a watch sends one as the object of an ERROR event."""
    code, reason = int(status.get("code") or 500), str(status.get("reason") or "")
    after = (status.get("details") or {}).get("retryAfterSeconds")
    return ClusterError(
        f"{verb} {key}: {code}{' ' + reason if reason else ''}: {status.get('message') or 'no explanation'}",
        verb=verb,
        key=key,
        status=code,
        reason=reason,
        retry_after=retry_after if retry_after is not None else (float(after) if after else None),
    )
