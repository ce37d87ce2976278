"""What the cluster was last seen to do with group fields; looked at again and again, for gates change with upgrades."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace

import structlog

from webhook.cli.looking import look_until_answered
from webhook.cluster import Api, job_controller_makes_groups, probe_capabilities, scheduler_keeps_groups
from webhook.errors import ClusterError
from webhook.groups import tell_gates
from webhook.model.actions import Tell
from webhook.model.groups import COMPOSITE_POD_GROUP, Capabilities
from webhook.model.objects import Object, ObjectKey

_LOG = structlog.get_logger(__name__)
_LOOK_SECONDS = 60.0
"""Some requests a minute, none of which stores anything; a control plane upgrade takes longer than that."""
_CANARY_LOOKS = 5
"""A canary is written and deleted, so it flies at every fifth look only."""
_CANARY_SECONDS = 20.0
"""How long the Job controller has for one, and the scheduler; both take seconds where they are not drowned in work."""
_DOUBT_SECONDS = 5.0
"""How soon after a look somebody's doubt brings the next: a flood of Jobs must not become one of probes."""
_REMEMBERED = 5
"""Looks in which an answer that was given up must not come back, or the API servers differ."""


class CapabilityWatch:
    """Holds ``current``. Of use after the first look only: a webhook that took unknown for no would ungroup gangs.

    With a ``canary_namespace`` it also finds out what the Job controller and the scheduler do; without, that stays unknown.
    What changes is logged, and told as events about ``about``. ``alpha`` names what may be used although it is alpha in
    Kubernetes.
    """

    def __init__(
        self,
        api: Api,
        *,
        canary_namespace: str = "",
        probe_namespace: str = "default",
        about: Object | None = None,
        tell: Callable[[Tell], Awaitable[object]] | None = None,
        alpha: Collection[str] = (),
    ) -> None:
        self._alpha = alpha
        self._api, self._canary_namespace, self._probe_namespace = api, canary_namespace, probe_namespace
        self._about, self._tell = about or {}, tell
        self._looks, self._fly_next = 0, False
        self._seen: deque[Capabilities] = deque(maxlen=_REMEMBERED)
        self._doubted = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.current = Capabilities()

    def doubt(self) -> None:
        """Say that the cluster did otherwise than is known here, so that it is looked at again soon; from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._doubted.set)

    async def look_first(self, timeout_seconds: float) -> None:
        """Look until it succeeds; raises the last ClusterError when it does not in time."""
        await look_until_answered(self._look, timeout_seconds)

    async def run(self) -> None:
        """Look repeatedly until cancelled; where the API server does not answer, what was known stays."""
        self._loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._look_again())
            if self._canary_namespace:
                tasks.create_task(self._watch_scheduler())

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(_DOUBT_SECONDS)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._doubted.wait(), _LOOK_SECONDS - _DOUBT_SECONDS)
                self._fly_next = True
            self._doubted.clear()
            try:
                await self._look()
            except ClusterError as error:
                _LOG.warning("capabilities not probed", error=str(error))

    async def _look(self) -> None:
        found = await probe_capabilities(self._api, known=self.current, namespace=self._probe_namespace)
        native_groups = self.current.native_groups and found.native_jobs
        if self._canary_namespace and found.native_jobs and (self._fly_next or self._looks % _CANARY_LOOKS == 0):
            self._fly_next = False
            native_groups = await self._fly()
        self._looks += 1
        if found != found.within(self._alpha) and self._looks == 1:
            _LOG.info("alpha feature left alone", feature=COMPOSITE_POD_GROUP)
        scheduler_groups = self.current.scheduler_groups if found.group_objects else None
        found = replace(found, native_groups=native_groups, scheduler_groups=scheduler_groups).within(self._alpha)
        await self._become(found, self.current if self._looks > 1 else None, unsettled=self._is_unsettled(found))

    async def _watch_scheduler(self) -> None:
        """Ask the scheduler now and then, beside the looks: its answer takes seconds, and no start and no doubt waits for it."""
        while True:
            answer = await self._ask_scheduler() if self.current.group_objects else None
            if answer is not None and self.current.group_objects:
                await self._become(replace(self.current, scheduler_groups=answer), self.current)
            await asyncio.sleep(_LOOK_SECONDS * (1 if answer is None else _CANARY_LOOKS))

    async def _ask_scheduler(self) -> bool | None:
        try:
            return await scheduler_keeps_groups(self._api, self._canary_namespace, patience_seconds=_CANARY_SECONDS)
        except ClusterError as error:
            _LOG.warning("the canary for the scheduler failed", error=str(error))
            return None

    async def _fly(self) -> bool:
        """Ask the Job controller; whatever goes wrong, it is not relied on until it has answered."""
        try:
            return await job_controller_makes_groups(self._api, self._canary_namespace, patience_seconds=_CANARY_SECONDS)
        except ClusterError as error:
            _LOG.warning("the canary for the Job controller failed", error=str(error))
            return False

    def _is_unsettled(self, found: Capabilities) -> bool:
        """Remember what API servers answer (the others are another matter), and tell whether they contradict each other."""
        kept = replace(found, native_groups=False, scheduler_groups=None)
        unsettled = bool(self._seen) and kept != self._seen[-1] and kept in self._seen
        self._seen.append(kept)
        return unsettled

    async def _become(self, found: Capabilities, before: Capabilities | None, *, unsettled: bool = False) -> None:
        """Hold what was found, and tell what is new about it; ``before`` is None at the first look."""
        self.current = found
        news = tell_gates(
            self._about,
            before,
            found,
            asked_job_controller=bool(self._canary_namespace),
            unsettled=unsettled,
        )
        for tell in news:
            _LOG.warning("capabilities", reason=tell.reason, message=tell.message)
            if self._tell is not None:
                await self._post(self._tell, tell)

    async def _post(self, post: Callable[[Tell], Awaitable[object]], tell: Tell) -> None:
        """Tell it on the stored object: ``kubectl describe`` shows events that name its UID only."""
        try:
            stored = await self._api.find(ObjectKey.of(tell.about))
            await post(replace(tell, about=stored or tell.about))
        except ClusterError as error:
            _LOG.warning("a change of capabilities was not told", error=str(error))
