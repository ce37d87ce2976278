"""An API server on loopback that keeps objects in memory and misbehaves on request.

It speaks as much of the protocol as the cluster room uses: versions, lists in pages, WatchList, bookmarks, 410, 409.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from aiohttp import web

Json = dict[str, Any]
INITIAL_END = {"k8s.io/initial-events-end": "true"}


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class FakeApi:
    """Objects by path; every change is kept, so that a watch can be resumed from any version."""

    objects: dict[str, Json] = field(default_factory=dict)
    changes: list[tuple[int, str, str, Json]] = field(default_factory=list)
    version: int = 100
    oldest: int = 0
    watch_list: bool = True
    gone_as_event: bool = False
    end_watches: bool = False
    token: str = ""
    failures: list[tuple[int, Json]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    admit: Callable[[Json], Json] = lambda body: body
    forbidden: list[str] = field(default_factory=list)
    documents: dict[str, Json] = field(default_factory=dict)
    metrics: str = ""
    redirect: tuple[str, int] | None = None
    """Where every request is sent to instead, and with which status."""
    ahead: timedelta | None = timedelta(0)
    """How far the clock by which answers are dated is ahead of the real one; None: answers bear no date."""
    tls: ssl.SSLContext | None = None
    port: int = 0

    def __post_init__(self) -> None:
        self.documents["/version"] = {"gitVersion": "v1.37.2"}
        self.changed = asyncio.Condition()
        self.answering = asyncio.Event()
        self.answering.set()
        self.cut = asyncio.Event()

    async def start(self) -> None:
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._serve)
        app.on_response_prepare.append(self._date)
        self.runner = web.AppRunner(app, shutdown_timeout=0.01, access_log=None)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", self.port, reuse_address=True, ssl_context=self.tls)
        await site.start()
        self.port = self.runner.addresses[0][1]

    async def stop(self) -> None:
        await self.cut_watches()
        await self.runner.cleanup()

    async def _date(self, _request: web.Request, response: web.StreamResponse) -> None:
        response.headers["Date"] = format_datetime(datetime.now(UTC) + self.ahead, usegmt=True) if self.ahead is not None else ""

    def hang(self) -> None:
        """Take requests and watches from now on without a word."""
        self.answering.clear()

    def resume(self) -> None:
        self.answering.set()

    async def cut_watches(self) -> None:
        """End every open watch, as a restart does."""
        async with self.changed:
            self.cut.set()
            self.cut = asyncio.Event()
            self.changed.notify_all()

    def kubeconfig(self, folder: Path, *, ca: str = "", **user: Any) -> str:
        scheme, trust = ("https", {"certificate-authority": ca}) if ca else ("http", {})
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "fake",
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}],
            "clusters": [{"name": "fake", "cluster": {"server": f"{scheme}://127.0.0.1:{self.port}"} | trust}],
            "users": [{"name": "fake", "user": user or {"token": "first"}}],
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config))
        return str(path)

    async def put(self, path: str, obj: Json) -> Json:
        """Store an object at its path, as if somebody had written it."""
        async with self.changed:
            kind = "MODIFIED" if path in self.objects else "ADDED"
            self.version += 1
            before = self.objects.get(path, {}).get("metadata", {})
            meta = {"uid": before.get("uid", f"uid-{self.version}")} | obj["metadata"] | {"resourceVersion": str(self.version)}
            self.objects[path] = obj | {"metadata": meta}
            self.changes.append((self.version, kind, path, self.objects[path]))
            self.changed.notify_all()
            return self.objects[path]

    async def remove(self, path: str) -> None:
        async with self.changed:
            self.version += 1
            gone = self.objects.pop(path)
            gone = gone | {"metadata": gone["metadata"] | {"resourceVersion": str(self.version)}}
            self.changes.append((self.version, "DELETED", path, gone))
            self.changed.notify_all()

    def forget_history(self) -> None:
        """Answer 410 to every version from before now."""
        self.oldest = self.version

    def seen(self, method: str, part: str = "") -> list[Request]:
        return [request for request in self.requests if request.method == method and part in request.path]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        body = json.loads(text) if text else None
        noted = Request(request.method, request.path, dict(request.query), dict(request.headers), body)
        self.requests.append(noted)
        await self.answering.wait()
        if self.redirect:
            return web.Response(status=self.redirect[1], headers={"Location": self.redirect[0]})
        if self.token and noted.headers.get("Authorization") != f"Bearer {self.token}":
            return _status(401, "Unauthorized", "no such token")
        if self.failures:
            code, status = self.failures.pop(0)
            return web.json_response({"kind": "Status", "code": code} | status, status=code)
        if any(part in request.path for part in self.forbidden):
            return _status(403, "Forbidden", "you may not")
        if request.path == "/metrics" and self.metrics:
            return web.Response(text=self.metrics)
        if request.path in self.documents:
            return web.json_response(self.documents[request.path])
        if request.query.get("watch") == "true":
            return await self._watch(request)
        answer = getattr(self, f"_{request.method.lower()}")
        response: web.StreamResponse = await answer(noted)
        return response

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        initial = request.query.get("sendInitialEvents") == "true"
        if initial and not self.watch_list:
            return _status(
                422, "Invalid", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            )
        since = int(request.query.get("resourceVersion", "0") or 0)
        if not initial and since < self.oldest:
            if not self.gone_as_event:
                return _status(410, "Expired", "too old resource version")
            gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}
            return web.Response(text=json.dumps(gone) + "\n")
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        cut = self.cut
        if initial:
            for obj in self._under(request.path):
                await _send(response, "ADDED", obj)
            since = self.version
            await _send(response, "BOOKMARK", {"metadata": {"resourceVersion": str(since), "annotations": INITIAL_END}})
        while not cut.is_set() and not self.end_watches:
            async with self.changed:
                news = [change for change in self.changes if change[0] > since and _is_under(change[2], request.path)]
                if not news:
                    await self.changed.wait()
                    continue
            await self.answering.wait()
            for version, kind, _, obj in news:
                await _send(response, kind, obj)
                since = version
        return response

    def _under(self, collection: str) -> list[Json]:
        return [obj for path, obj in sorted(self.objects.items()) if _is_under(path, collection)]

    async def _get(self, request: Request) -> web.Response:
        if request.path in self.objects:
            return web.json_response(self.objects[request.path])
        found = [obj for obj in self._under(request.path) if _is_selected(obj, request.query.get("labelSelector", ""))]
        if not found and not request.query.get("limit"):
            return _status(404, "NotFound", f"{request.path} not found")
        start, limit = int(request.query.get("continue", "0")), int(request.query.get("limit", "500"))
        following = str(start + limit) if start + limit < len(found) else ""
        page = [
            {key: value for key, value in obj.items() if key not in {"apiVersion", "kind"}}
            for obj in found[start : start + limit]
        ]
        meta = {"resourceVersion": str(self.version), "continue": following}
        named = (
            {"apiVersion": found[0]["apiVersion"], "kind": found[0]["kind"] + "List"}
            if found
            else {"apiVersion": "v1", "kind": "List"}
        )
        return web.json_response(named | {"metadata": meta, "items": page})

    async def _post(self, request: Request) -> web.Response:
        if request.path.endswith("/eviction"):
            await self.remove(request.path.removesuffix("/eviction"))
            return web.json_response({"kind": "Status", "status": "Success"}, status=201)
        if request.query.get("dryRun") == "All":
            return web.json_response(self.admit(request.body), status=201)
        body = self.admit(request.body)
        meta = body["metadata"]
        body["metadata"] = meta = meta | {"name": meta.get("name") or f"{meta['generateName']}{self.version}"}
        path = f"{request.path}/{meta['name']}"
        if path in self.objects:
            return _status(409, "AlreadyExists", f"{path} already exists")
        return web.json_response(await self.put(path, body), status=201)

    async def _put(self, request: Request) -> web.Response:
        live = self.objects.get(request.path)
        if live is None:
            return _status(404, "NotFound", f"{request.path} not found")
        if (
            request.body["metadata"].get("resourceVersion", live["metadata"]["resourceVersion"])
            != live["metadata"]["resourceVersion"]
        ):
            return _status(409, "Conflict", "the object has been modified")
        return web.json_response(await self.put(request.path, request.body))

    async def _patch(self, request: Request) -> web.Response:
        path = request.path.removesuffix("/status").removesuffix("/scale")
        live = self.objects.get(path)
        if live is None and "apply" not in request.headers["Content-Type"]:
            return _status(404, "NotFound", f"{path} not found")
        return web.json_response(await self.put(path, _merge(live or {}, request.body)))

    async def _delete(self, request: Request) -> web.Response:
        live = self.objects.get(request.path)
        if live is None:
            return _status(404, "NotFound", f"{request.path} not found")
        wanted = ((request.body or {}).get("preconditions") or {}).get("uid")
        if wanted and wanted != live["metadata"]["uid"]:
            return _status(409, "Conflict", "Precondition failed: UID in precondition")
        await self.remove(request.path)
        return web.json_response({"kind": "Status", "status": "Success"})


def _merge(live: Json, patch: Json) -> Json:
    result = dict(live)
    for key, value in patch.items():
        result[key] = _merge(live.get(key, {}), value) if isinstance(value, dict) else value
    return result


def _is_selected(obj: Json, selector: str) -> bool:
    """Tell whether an object has the labels that are asked for."""
    wanted = dict(term.split("=") for term in selector.split(",") if term)
    return wanted.items() <= (obj["metadata"].get("labels") or {}).items()


def _is_under(path: str, collection: str) -> bool:
    """Tell whether a path is in a collection, of one namespace or of all."""
    if path.rpartition("/")[0] == collection:
        return True
    base, _, resource = collection.rpartition("/")
    parts = path.removeprefix(f"{base}/namespaces/").split("/")
    return path.startswith(f"{base}/namespaces/") and len(parts) == 3 and parts[1] == resource


async def _send(response: web.StreamResponse, kind: str, obj: Json) -> None:
    await response.write(json.dumps({"type": kind, "object": obj}).encode() + b"\n")


def _status(code: int, reason: str, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "reason": reason, "message": message}, status=code)
