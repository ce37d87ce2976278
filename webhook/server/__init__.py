"""The HTTPS endpoint: carries bytes between the API server and whoever decides, within limits.

This room knows HTTP, TLS contexts, limits, drain, counters and log lines, and is the only importer of starlette and
uvicorn. It must not know a rule, a policy or a cluster: it asks a ``Reviewer``, and says ready when it is told so.
"""

from webhook.server.application import build_app, build_status_app
from webhook.server.callers import BearerTokens, BoundTokens, Callers
from webhook.server.group_metrics import GroupMetrics
from webhook.server.logs import configure_logging
from webhook.server.metrics import Metrics
from webhook.server.reviewing import AccessAsker, Reviewer
from webhook.server.serving import serve, stop_on_signals

__all__ = [
    "AccessAsker",
    "BearerTokens",
    "BoundTokens",
    "Callers",
    "GroupMetrics",
    "Metrics",
    "Reviewer",
    "build_app",
    "build_status_app",
    "configure_logging",
    "serve",
    "stop_on_signals",
]
