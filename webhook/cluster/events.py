"""Events on objects: what people read in ``kubectl describe``.

The same event on the same object has the same name, so it is the API server that counts repetitions (``series``), also
across restarts and a change of leader. Against floods as in client-go (tools/record/events_cache.go): a repetition
within the quiet time is only counted here and told with the next one, and each object has a burst of 25 events, refilled
with one every five minutes.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from webhook.cluster.api import Api
from webhook.errors import ClusterError
from webhook.model.actions import Tell
from webhook.model.objects import Object, ObjectKey, metadata_of

_CONTROLLER = "gangwarden.dev/controller"
_NOTE_LIMIT, _INSTANCE_LIMIT, _NAME_LIMIT = 1024, 128, 253
"""Of a note and a reporting instance: pkg/apis/core/validation/events.go. Of a name: DNS subdomain."""
_QUIET_SECONDS = 60.0
_BURST, _REFILL_SECONDS = 25.0, 300.0
_REMEMBERED = 4096


@dataclass(slots=True)
class _Repetition:
    sent: float
    unsent: int = 0


@dataclass(slots=True)
class _Allowance:
    left: float
    at: float


class EventRecorder:
    """Posts events. ``instance`` names this process in them."""

    def __init__(
        self,
        api: Api,
        *,
        instance: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api, self._instance, self._now, self._clock = api, instance[:_INSTANCE_LIMIT], now, clock
        self._repetitions: OrderedDict[ObjectKey, _Repetition] = OrderedDict()
        self._allowances: OrderedDict[str, _Allowance] = OrderedDict()

    async def post(self, tell: Tell) -> Object | None:
        """Record an event, or count it up; None when it was only counted here. Raises ClusterError."""
        event = self._event(tell)
        key = ObjectKey.of(event)
        seen = self._repetitions.get(key)
        if seen is not None and self._clock() - seen.sent < _QUIET_SECONDS:
            seen.unsent += 1
            return None
        if not self._is_allowed(str(event["regarding"].get("uid") or event["regarding"]["name"])):
            return None
        times = 1 + (seen.unsent if seen else 0)
        stored = await self._store(key, event, times)
        self._repetitions[key] = _Repetition(self._clock())
        self._repetitions.move_to_end(key)
        if len(self._repetitions) > _REMEMBERED:
            self._repetitions.popitem(last=False)
        return stored

    async def _store(self, key: ObjectKey, event: Object, times: int) -> Object:
        try:
            return await self._api.create(event)
        except ClusterError as error:
            if error.status != 409:
                raise
        count = int(((await self._api.get(key)).get("series") or {}).get("count") or 1)
        return await self._api.merge_patch(key, {"series": {"count": count + times, "lastObservedTime": event["eventTime"]}})

    def _is_allowed(self, who: str) -> bool:
        now = self._clock()
        allowance = self._allowances.setdefault(who, _Allowance(_BURST, now))
        self._allowances.move_to_end(who)
        if len(self._allowances) > _REMEMBERED:
            self._allowances.popitem(last=False)
        allowance.left = min(_BURST, allowance.left + (now - allowance.at) / _REFILL_SECONDS)
        allowance.at = now
        if allowance.left < 1:
            return False
        allowance.left -= 1
        return True

    def _event(self, tell: Tell) -> Object:
        about = ObjectKey.of(tell.about)
        uid = str(metadata_of(tell.about).get("uid") or "")
        note = tell.message if len(tell.message.encode()) <= _NOTE_LIMIT else _cut(tell.message)
        mark = hashlib.sha256("\n".join((uid, str(about), tell.reason, note)).encode()).hexdigest()[:16]
        regarding = {
            "apiVersion": tell.about.get("apiVersion", ""),
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": uid,
        }
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "namespace": about.namespace or "default",  # where events of cluster-scoped objects live
                "name": f"{about.name[: _NAME_LIMIT - 17]}.{mark}",
            },
            "eventTime": self._now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": _CONTROLLER,
            "reportingInstance": self._instance,
            "action": tell.reason,
            "reason": tell.reason,
            "type": "Warning" if tell.warning else "Normal",
            "regarding": {name: value for name, value in regarding.items() if value},
            "note": note,
        }


def _cut(message: str) -> str:
    return message.encode()[: _NOTE_LIMIT - 3].decode(errors="ignore") + "..."
