"""The live webhook configurations: changed in place, never deleted and created again.

In between there would be no webhook, and every Job created then would pass unseen (cert-manager 7202). What others
wrote is kept: their webhooks, labels and annotations, and the fields of ours of which the plan says nothing. The
caBundle belongs to the certificate rotation; a plan that brings none leaves it as it is. Where an annotation says that
cert-manager's injector keeps it, it is read and never written: two writers would undo each other's work for ever.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from webhook.cluster.api import Api
from webhook.errors import ClusterError
from webhook.model.objects import Object, ObjectKey, metadata_of

_GROUP = "admissionregistration.k8s.io"
_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_SELECTORS = ("namespaceSelector", "objectSelector")
"""One value each: a label that somebody adds to what is selected leaves everything out."""
_SUFFIX = ".gangwarden.dev"
"""Names of our webhooks end so; a webhook whose name does not is somebody else's."""
_INJECTION = "cert-manager.io/inject-"
"""Annotations of the injector begin so: inject-ca-from, inject-ca-from-secret, inject-apiserver-ca."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBundle:
    """The caBundle of one webhook as it is registered."""

    place: str
    """The configuration it stands in."""
    version: str
    """Its resourceVersion."""
    webhook: str
    bundle: bytes
    """PEM; empty if unset or no base64."""
    foreign: bool
    """An injector keeps it."""


class WebhookConfigurations:
    """Our webhook configurations in the cluster, by their names."""

    def __init__(self, api: Api, *names: str, foreign: bool = False) -> None:
        """``foreign``: somebody else keeps all caBundles, whatever the annotations say."""
        self._api, self._foreign = api, foreign
        self._keys = tuple(ObjectKey(_GROUP, kind, "", name) for kind in _KINDS for name in names)

    async def apply(self, desired: Iterable[Object], *, keep_bundles: bool = False) -> tuple[ObjectKey, ...]:
        """Bring each configuration to the planned state; returns the keys of those that had to be written.

        ``keep_bundles``: a caBundle that is there stays, and the plan's is for webhooks that have none.
        """
        written = []
        for planned in desired:
            key = ObjectKey.of(planned)
            if await self._apply_one(key, planned, keep_bundles=keep_bundles):
                written.append(key)
        return tuple(written)

    async def delete(self) -> tuple[ObjectKey, ...]:
        """Take our configurations away; returns the keys of those that were there."""
        return tuple([key for key in self._keys if await self._api.delete_found(key)])

    async def published(self) -> tuple[LiveBundle, ...]:
        """Return the caBundle of every webhook of ours that is registered."""
        live = [(key, await self._api.find(key)) for key in self._keys]
        return tuple(each for key, obj in live if obj is not None for each in self._bundles(key, obj))

    async def publish(self, bundle: bytes, versions: Mapping[str, str]) -> None:
        """Set the caBundle (PEM) of every webhook of ours at these places, as ``published`` named them.

        ClusterError 409 where a configuration is of another version by now: whoever wrote it may have known more.
        """
        encoded = base64.b64encode(bundle).decode()
        for key in (key for key in self._keys if str(key) in versions):
            live = await self._api.find(key)
            if live is None or all(webhook["clientConfig"].get("caBundle") == encoded for webhook in _ours(live)):
                continue  # None: not registered any more; `apply` brings the bundle along
            metadata = metadata_of(live) | {"resourceVersion": versions[str(key)]}
            webhooks = [_with_bundle(webhook, encoded) for webhook in live.get("webhooks") or ()]
            await self._api.replace(live | {"metadata": metadata, "webhooks": webhooks})

    def _bundles(self, key: ObjectKey, obj: Object) -> Iterator[LiveBundle]:
        metadata = metadata_of(obj)
        foreign = self._foreign or any(name.startswith(_INJECTION) for name in metadata.get("annotations") or ())
        place, version = str(key), str(metadata["resourceVersion"])
        for webhook in _ours(obj):
            name, bundle = str(webhook["name"]), _bundle(webhook)
            yield LiveBundle(place=place, version=version, webhook=name, bundle=bundle, foreign=foreign)

    async def _apply_one(self, key: ObjectKey, planned: Object, *, keep_bundles: bool) -> bool:
        def edit(live: Object) -> Object | None:
            merged = merge_configuration(live, _without_known(planned, live) if keep_bundles else planned)
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
        elif name in _SELECTORS:
            result[name] = {field: said for field, said in value.items() if said != []}
        elif isinstance(value, dict) and isinstance(live.get(name), dict):
            result[name] = _merged(live[name], value)
        elif value == []:
            result.pop(name, None)  # the API server stores no empty list; one in its place would be written again for ever
        else:
            result[name] = value
    return result


def _ours(obj: Object) -> Sequence[Object]:
    return [webhook for webhook in obj.get("webhooks") or () if webhook["name"].endswith(_SUFFIX)]


def _without_known(planned: Object, live: Object) -> Object:
    """Leave out the bundles of webhooks that have one."""
    known = {webhook["name"] for webhook in _ours(live) if webhook["clientConfig"].get("caBundle")}
    return planned | {"webhooks": [_bare(one) if one["name"] in known else one for one in planned.get("webhooks") or ()]}


def _bare(webhook: Object) -> Object:
    client = {name: value for name, value in webhook["clientConfig"].items() if name != "caBundle"}
    return webhook | {"clientConfig": client}


def _bundle(webhook: Object) -> bytes:
    try:
        return base64.b64decode(webhook["clientConfig"].get("caBundle") or "", validate=True)
    except binascii.Error:
        return b""


def _with_bundle(webhook: Object, encoded: str) -> Object:
    if not webhook["name"].endswith(_SUFFIX):
        return webhook
    return webhook | {"clientConfig": webhook["clientConfig"] | {"caBundle": encoded}}
