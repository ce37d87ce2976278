"""Certificate material in a Secret: files by name, written only over the version that was read."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from webhook.cluster.api import Api
from webhook.errors import ClusterError
from webhook.model.groups import MANAGED_BY, MANAGED_BY_LABEL
from webhook.model.objects import Object, ObjectKey, metadata_of


class SecretStore:
    """One Secret as a store of files. The version is its resourceVersion."""

    def __init__(self, api: Api, *, namespace: str, name: str) -> None:
        self._api, self._key = api, ObjectKey("", "Secret", namespace, name)

    async def load(self) -> tuple[dict[str, bytes], str] | None:
        """Return the files and their version, or None where there is no Secret."""
        found = await self._api.find(self._key)
        if found is None:
            return None
        files = {name: base64.b64decode(value) for name, value in (found.get("data") or {}).items()}
        return files, str(metadata_of(found)["resourceVersion"])

    async def save(self, files: Mapping[str, bytes], version: str | None) -> str:
        """Replace ``version`` (None: create); ClusterError with status 409 if another process was faster."""
        data = {name: base64.b64encode(content).decode() for name, content in files.items()}
        if version is None:
            metadata = {"namespace": self._key.namespace, "name": self._key.name, "labels": {MANAGED_BY_LABEL: MANAGED_BY}}
            secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
            stored = await self._api.create(secret)
        else:
            live = await self._api.find(self._key)  # for the labels, owners and type that others gave it
            if live is None:
                raise ClusterError(f"{self._key} was deleted meanwhile", verb="update", key=str(self._key), status=409)
            stored = await self._api.replace(live | {"metadata": metadata_of(live) | {"resourceVersion": version}, "data": data})
        return str(metadata_of(stored)["resourceVersion"])
