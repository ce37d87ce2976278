"""Calls of the real HTTPS endpoint of a webhook process, past the API server."""

from __future__ import annotations

import http.client
import ssl
from typing import Any, Self

from tests.e2e.installation import Installation

CALL_SECONDS = 30.0


class Caller:
    """One caller with one connection, opened anew whenever it was closed."""

    def __init__(self, installed: Installation) -> None:
        context = ssl.create_default_context(cafile=str(installed.directory / "certs" / "ca.crt"))
        self._connection = http.client.HTTPSConnection("localhost", installed.port, context=context, timeout=CALL_SECONDS)

    def post(self, path: str, body: bytes, *, content_type: str = "application/json") -> tuple[int, bytes]:
        """Return status and body of the answer."""
        try:
            self._connection.request("POST", path, body, {"Content-Type": content_type})
            response = self._connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_review(document: Any) -> bool:
    """Tell whether a document is an answer that an API server accepts."""
    response = document.get("response") if isinstance(document, dict) else None
    return isinstance(response, dict) and isinstance(response.get("allowed"), bool) and isinstance(response.get("uid"), str)
