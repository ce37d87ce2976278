"""The live webhook configurations: changed in place, never deleted and created again.

In between there would be no webhook, and every Job created then would pass unseen (cert-manager 7202). What others
wrote is kept: their webhooks, labels and annotations, and the fields of ours of which the plan says nothing. The
caBundle belongs to the certificate rotation; a plan that brings none leaves it as it is.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence

from webhook.cluster.api import Api
from webhook.errors import ClusterError
from webhook.model.objects import Object, ObjectKey, metadata_of

_GROUP = "admissionregistration.k8s.io"
_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_SUFFIX = ".gangwarden.dev"
"""Names of our webhooks end so; a webhook whose name does not is somebody else's."""


class WebhookConfigurations:
    """Our webhook configurations in the cluster, by their names."""

    def __init__(self, api: Api, *names: str) -> None:
        self._api = api
        self._keys = tuple(ObjectKey(_GROUP, kind, "", name) for kind in _KINDS for name in names)

    async def apply(self, desired: Iterable[Object]) -> tuple[ObjectKey, ...]:
        """Bring each configuration to the planned state; returns the keys of those that had to be written."""
        written = []
        for planned in desired:
            key = ObjectKey.of(planned)
            if await self._apply_one(key, planned):
                written.append(key)
        return tuple(written)

    async def delete(self) -> tuple[ObjectKey, ...]:
        """Take our configurations away; returns the keys of those that were there."""
        return tuple([key for key in self._keys if await self._api.delete_found(key)])

    async def published(self) -> tuple[bytes, ...]:
        """Return the caBundle (PEM; empty if unset) of every webhook of ours that is registered."""
        live = [await self._api.find(key) for key in self._keys]
        return tuple(_bundle(webhook) for obj in live if obj is not None for webhook in _ours(obj))

    async def publish(self, bundle: bytes) -> None:
        """Set the caBundle (PEM) of every webhook of ours that is registered."""
        encoded = base64.b64encode(bundle).decode()

        def edit(live: Object) -> Object | None:
            if all(webhook["clientConfig"].get("caBundle") == encoded for webhook in _ours(live)):
                return None
            return live | {"webhooks": [_with_bundle(webhook, encoded) for webhook in live.get("webhooks") or ()]}

        for key in self._keys:
            try:
                await self._api.change(key, edit)
            except ClusterError as error:
                if error.status != 404:  # not registered (yet): `webhooks apply` brings the bundle along
                    raise

    async def _apply_one(self, key: ObjectKey, planned: Object) -> bool:
        def edit(live: Object) -> Object | None:
            merged = merge_configuration(live, planned)
            return None if merged == live else merged

        try:
            return await self._api.change(key, edit) is not None
        except ClusterError as error:
            if error.status != 404:
                raise
        await self._api.create(planned)
        return True


def merge_configuration(live: Object, planned: Object) -> Object:
    """Lay a planned configuration over the live one.

    Ours that are no longer planned go, those of others stay, behind ours. Mappings are merged field by field, lists
    and values are replaced, an empty list by nothing. The address is one value: a Service must not stay beside a new URL.
    """
    before = {webhook["name"]: webhook for webhook in live.get("webhooks") or ()}
    webhooks = [_merged(before.get(webhook["name"], {}), webhook) for webhook in planned.get("webhooks") or ()]
    foreign = [webhook for name, webhook in before.items() if not name.endswith(_SUFFIX)]
    metadata = _merged(metadata_of(live), metadata_of(planned))
    return live | {"metadata": metadata, "webhooks": webhooks + foreign}


def _merged(live: Object, planned: Object) -> Object:
    result = dict(live)
    for name, value in planned.items():
        if name == "clientConfig":
            kept = {"caBundle": live[name]["caBundle"]} if "caBundle" in live.get(name, {}) else {}
            service = _merged(live.get(name, {}).get("service") or {}, value["service"]) if "service" in value else None
            result[name] = kept | value | ({"service": service} if service else {})
        elif isinstance(value, dict) and isinstance(live.get(name), dict):
            result[name] = _merged(live[name], value)
        elif value == []:
            result.pop(name, None)  # the API server stores no empty list; one in its place would be written again for ever
        else:
            result[name] = value
    return result


def _ours(obj: Object) -> Sequence[Object]:
    return [webhook for webhook in obj.get("webhooks") or () if webhook["name"].endswith(_SUFFIX)]


def _bundle(webhook: Object) -> bytes:
    try:
        return base64.b64decode(webhook["clientConfig"].get("caBundle") or "", validate=True)
    except binascii.Error:
        return b""


def _with_bundle(webhook: Object, encoded: str) -> Object:
    if not webhook["name"].endswith(_SUFFIX):
        return webhook
    return webhook | {"clientConfig": webhook["clientConfig"] | {"caBundle": encoded}}
