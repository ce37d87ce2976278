"""The verbs of the Kubernetes API over plain JSON: every call has a timeout, every refusal is a ClusterError."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from webhook.cluster.answers import Answer, decode, refusal
from webhook.cluster.connection import Call, Connection
from webhook.cluster.mapping import Mapper, Mapping
from webhook.errors import ClusterError
from webhook.model.objects import Kind, Object, ObjectKey, metadata_of, uid_of

JsonPatch: TypeAlias = list[Object]
"""Operations of RFC 6902."""

_DRY_RUN = (("dryRun", "All"),)
_APPLY = "application/apply-patch+yaml"
"""Server-side apply. The body is JSON, which is YAML (the only content type that every 1.37 API server takes here)."""
_CHANGE_ATTEMPTS = 5
"""As client-go's ``retry.DefaultRetry``."""


def never_fenced() -> None:
    """Let every write pass: the fence of processes that need no leader."""


@dataclass(frozen=True, slots=True)
class Api:
    """Reads and writes objects. Writes first pass ``fence``, which raises once leadership is lost."""

    connection: Connection
    mapper: Mapper
    fence: Callable[[], None] = never_fenced

    @classmethod
    def over(cls, connection: Connection) -> Self:
        """Build the verbs over an open connection."""

        async def fetch(path: str) -> Object:
            call = Call("GET", path)
            return _decoded(await connection.call(call, timeout_seconds=connection.settings.request_seconds), "discover", path)

        return cls(connection, Mapper(fetch))

    def fenced(self, fence: Callable[[], None]) -> Api:
        """Return the same API whose writes pass this fence."""
        return Api(self.connection, self.mapper, fence)

    async def get(self, key: ObjectKey, *, version: str = "", timeout_seconds: float | None = None) -> Object:
        """Read one object."""
        path = await self._path(key, version=version)
        return await self._send("get", str(key), Call("GET", path), timeout_seconds=timeout_seconds)

    async def find(self, key: ObjectKey, *, version: str = "") -> Object | None:
        """Read one object, or return None when it (or its kind) is not there."""
        try:
            return await self.get(key, version=version)
        except ClusterError as error:
            if error.status == 404:
                return None
            raise

    async def pages(
        self, kind: Kind, *, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> AsyncIterator[Object]:
        """Yield the list of a kind page by page; each item has apiVersion and kind, which the server leaves out."""
        mapping = await self.mapper.find(kind)
        query = [("limit", str(self.connection.settings.page_size))]
        query += [("labelSelector", label_selector)] if label_selector else []
        query += [("fieldSelector", field_selector)] if field_selector else []
        following = ""
        while True:
            asked = (*query, ("continue", following)) if following else tuple(query)
            page = await self._send("list", str(mapping.kind), Call("GET", mapping.path(namespace), asked), timeout_seconds=60.0)
            named = {"apiVersion": page["apiVersion"], "kind": str(page["kind"]).removesuffix("List")}
            yield page | {"items": [named | item for item in page.get("items") or ()]}
            following = str(metadata_of(page).get("continue") or "")
            if not following:
                return

    async def list(self, kind: Kind, *, namespace: str = "", label_selector: str = "", field_selector: str = "") -> list[Object]:
        """Read all objects of a kind, in one namespace or in all."""
        pages = self.pages(kind, namespace=namespace, label_selector=label_selector, field_selector=field_selector)
        return [obj async for page in pages for obj in page["items"]]

    async def create(self, obj: Object, *, dry_run: bool = False) -> Object:
        """Create an object; the API server answers 409 when its name is taken."""
        key, mapping = ObjectKey.of(obj), await self.mapper.find(Kind.of(obj))
        call = Call("POST", mapping.path(key.namespace), _DRY_RUN if dry_run else (), obj)
        return await self._write("create", str(key), call)

    async def replace(self, obj: Object, *, timeout_seconds: float | None = None) -> Object:
        """Write an object as a whole; with ``metadata.resourceVersion`` only if nobody wrote since (409)."""
        key, mapping = ObjectKey.of(obj), await self.mapper.find(Kind.of(obj))
        call = Call("PUT", mapping.path(key.namespace, key.name), (), obj)
        return await self._write("update", str(key), call, timeout_seconds=timeout_seconds)

    async def server_side_apply(
        self, obj: Object, *, manager: str, force: bool = True, dry_run: bool = False, subresource: str = ""
    ) -> Object:
        """Bring the object's given fields to their given values; it is created if absent, unless a UID is given (409).

        Controllers force: fields they state are theirs (Kubernetes' advice for server-side apply).
        """
        key, mapping = ObjectKey.of(obj), await self.mapper.find(Kind.of(obj))
        query = (("fieldManager", manager), ("force", "true" if force else "false"), *(_DRY_RUN if dry_run else ()))
        path = mapping.path(key.namespace, key.name, subresource)
        return await self._write("apply", str(key), Call("PATCH", path, query, obj, _APPLY))

    async def merge_patch(
        self, key: ObjectKey, patch: Object, *, subresource: str = "", dry_run: bool = False, manager: str = ""
    ) -> Object:
        """Patch by RFC 7386. ``metadata.uid`` or ``resourceVersion`` in the patch are preconditions (409)."""
        kind, named = "application/merge-patch+json", (("fieldManager", manager),) if manager else ()
        return await self._patch(key, patch, kind, subresource, dry_run=dry_run, query=named)

    async def json_patch(self, key: ObjectKey, patch: JsonPatch, *, subresource: str = "", dry_run: bool = False) -> Object:
        """Patch by RFC 6902; a failing ``test`` is answered 422."""
        return await self._patch(key, patch, "application/json-patch+json", subresource, dry_run=dry_run)

    async def patch_status(self, key: ObjectKey, status: Object) -> Object:
        """Patch the status subresource by RFC 7386."""
        return await self.merge_patch(key, {"status": status}, subresource="status")

    async def delete(
        self,
        key: ObjectKey,
        *,
        uid: str = "",
        propagation: str = "Background",
        dry_run: bool = False,
        grace_seconds: int | None = None,
    ) -> None:
        """Delete an object; with ``uid`` only that very one (409 when another has its name now)."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        await self._write("delete", str(key), Call("DELETE", await self._path(key), _DRY_RUN if dry_run else (), options))

    async def delete_found(self, key: ObjectKey) -> bool:
        """Delete the object that has this name now; returns whether there was one."""
        live = await self.find(key)
        if live is not None:
            await self.delete(key, uid=uid_of(live))
        return live is not None

    async def evict(self, key: ObjectKey, *, uid: str = "", dry_run: bool = False) -> None:
        """Evict a pod: deleted if its disruption budgets allow it, else 429."""
        eviction: Object = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": key.namespace, "name": key.name},
            "deleteOptions": {"preconditions": {"uid": uid}} if uid else {},
        }
        query = _DRY_RUN if dry_run else ()
        await self._write("evict", str(key), Call("POST", await self._path(key, subresource="eviction"), query, eviction))

    async def change(self, key: ObjectKey, edit: Callable[[Object], Object | None]) -> Object | None:
        """Read, edit and write back, again if somebody else wrote in between; ``edit`` returns None to leave it.

        Returns what was written, or None. Raises ClusterError 404 when the object is not there.
        """
        for attempt in range(1, _CHANGE_ATTEMPTS + 1):
            edited = edit(await self.get(key))
            if edited is None:
                return None
            try:
                return await self.replace(edited)
            except ClusterError as error:
                if error.status != 409 or attempt == _CHANGE_ATTEMPTS:
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def read(self, path: str) -> Object:
        """Read any path that answers with JSON, such as discovery documents."""
        return await self._send("get", path, Call("GET", path))

    async def _patch(
        self,
        key: ObjectKey,
        patch: Any,
        content_type: str,
        subresource: str,
        *,
        dry_run: bool,
        query: tuple[tuple[str, str], ...] = (),
    ) -> Object:
        path, asked = await self._path(key, subresource=subresource), (*query, *(_DRY_RUN if dry_run else ()))
        return await self._write("patch", str(key), Call("PATCH", path, asked, patch, content_type))

    async def _path(self, key: ObjectKey, *, version: str = "", subresource: str = "") -> str:
        mapping: Mapping = await self.mapper.find(Kind(key.group, version, key.kind))
        return mapping.path(key.namespace, key.name, subresource)

    async def _write(self, verb: str, key: str, call: Call, *, timeout_seconds: float | None = None) -> Object:
        self.fence()
        return await self._send(verb, key, call, timeout_seconds=timeout_seconds)

    async def _send(self, verb: str, key: str, call: Call, *, timeout_seconds: float | None = None) -> Object:
        wait = self.connection.settings.request_seconds if timeout_seconds is None else timeout_seconds
        return _decoded(await self.connection.call(call, timeout_seconds=wait), verb, key)


def _decoded(answer: Answer, verb: str, key: str) -> Object:
    if not answer.is_success:
        raise refusal(answer, verb, key)
    found = decode(answer.body)
    if not isinstance(found, dict):
        raise ClusterError(f"{verb} {key}: the answer is not a JSON object", verb=verb, key=key, status=answer.status)
    return found
