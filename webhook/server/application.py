"""Lay out the paths: one per phase and failurePolicy, so that no policy inherits another's, and those for operators."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from webhook.model.objects import Object
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.server.callers import Callers
from webhook.server.limits import InFlight
from webhook.server.metrics import Metrics
from webhook.server.reviewing import AccessAsker, Endpoint, Reviewer, ReviewHandler
from webhook.settings import EvaluationSettings, ServingSettings


def build_app(
    reviewer: Reviewer,
    readiness: Callable[[], list[str]],
    *,
    metrics: Metrics,
    serving: ServingSettings,
    evaluation: EvaluationSettings,
    stop: asyncio.Event,
    evictions: Reviewer | None = None,
    access: AccessAsker | None = None,
    callers: Callers | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Starlette:
    """Build the application.

    ``readiness`` returns the conditions that are not met, as phrases for a person; ``stop`` is the event that ``serve``
    is given: once it is set the replica is not ready any more. ``/evictions`` exists only with a reviewer for it. ``access``
    answers what rules ask of who may do what; None: nobody does. ``callers`` knows who may call; None: anybody may.
    """
    in_flight = InFlight(serving)
    worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="large-review")
    handler_for = partial(
        ReviewHandler,
        in_flight=in_flight,
        worker=worker,
        metrics=metrics,
        serving=serving,
        evaluation=evaluation,
        clock=clock,
        access=access,
    )
    handlers = {
        endpoint.path: handler_for(endpoint) if callers is None else callers.guard(endpoint, handler_for)
        for endpoint in _endpoints(reviewer, evictions)
    }
    app = Starlette(
        routes=[
            *(Route(path, handler.handle, methods=["POST"]) for path, handler in handlers.items()),
            *_status_routes(readiness, metrics, stop),
        ]
    )
    app.router.redirect_slashes = False  # an answer built from the caller's Host header serves nobody here
    app.state.at_once = {path.encode(): handler for path, handler in handlers.items() if isinstance(handler, ReviewHandler)}
    return app


def build_status_app(
    readiness: Callable[[], list[str]],
    *,
    metrics: Metrics,
    stop: asyncio.Event,
    policies: Callable[[], Object] | None = None,
) -> Starlette:
    """Build the application for operators, on a port of its own: how the process is, what it counts, and its ``policies``.

    The last of it is not for the port that answers reviews, which whoever reaches it may ask.
    """
    routes = _status_routes(readiness, metrics, stop)
    if policies is not None:
        routes.append(_debug_route(policies))
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    return app


def _debug_route(policies: Callable[[], Object]) -> Route:
    async def render(_: Request) -> Response:
        return Response(orjson.dumps(policies(), option=orjson.OPT_INDENT_2) + b"\n", media_type="application/json")

    return Route("/debug/policies", render)


def _endpoints(reviewer: Reviewer, evictions: Reviewer | None) -> list[Endpoint]:
    found = [
        Endpoint(path=f"/{phase.value}/{policy.value.lower()}", reviewer=reviewer, phase=phase, failure_policy=policy)
        for phase in Phase
        for policy in FailurePolicy
    ]
    if evictions is not None:
        # Ignore: the guard may delay a drain, never block it because it is away.
        found.append(Endpoint(path="/evictions", reviewer=evictions, phase=Phase.VALIDATE, failure_policy=FailurePolicy.IGNORE))
    return found


def _status_routes(readiness: Callable[[], list[str]], metrics: Metrics, stop: asyncio.Event) -> list[Route]:
    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        unmet = ["the server is shutting down"] if stop.is_set() else readiness()
        if unmet:
            return PlainTextResponse("not ready:\n" + "".join(f"- {each}\n" for each in unmet), status_code=503)
        return PlainTextResponse("ok\n")

    async def render(request: Request) -> Response:
        page, content_type = metrics.render(request.headers.get("accept", ""))
        return Response(page, headers={"content-type": content_type})

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", render)]
