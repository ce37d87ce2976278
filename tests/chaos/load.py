"""Jobs that are asked for at an even pace and not stored, and what must come of each: stamped, refused, or let be."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import requests

from tests.chaos.edits import Edits
from tests.controlplane.client import ApiError, Client
from tests.controlplane.scenes import job
from tests.e2e.installation import labelled_job

Object = dict[str, Any]
SLACK_SECONDS = 1.0
"""What was missed by more than this is not caught up with: where the machine is busy, the rate falls."""
CALLERS = 12
_EDIT = re.compile(r"\bedit (\d+)\b")


class Pace:
    """Moments at an even rate, for any number of threads."""

    def __init__(self, per_second: float) -> None:
        self._step, self._lock, self._next = 1 / per_second, threading.Lock(), time.monotonic()

    def wait(self, ended: threading.Event) -> bool:
        """Wait for the next moment; False when it is over."""
        with self._lock:
            now = time.monotonic()
            due = max(self._next, now - SLACK_SECONDS)
            self._next = due + self._step
        return not ended.wait(max(0.0, due - now))


@dataclass(frozen=True, slots=True)
class Ask:
    """A kind of Job, and what must come of it: refused with these words (empty: admitted), with a stamp or without."""

    make: Callable[[str, str], Object]
    refusal: str = ""
    stamped: bool = False


def _misshapen(name: str, namespace: str) -> Object:
    return labelled_job(name, namespace, completions=3)


def _forbidden(how: str) -> Callable[[str, str], Object]:
    def make(name: str, namespace: str) -> Object:
        made = job(name, namespace)
        made["metadata"]["labels"] = {f"chaos.test/forbidden-{how}": "true"}
        return made

    return make


ASKS = {
    "gang": Ask(labelled_job, stamped=True),
    "misshapen gang": Ask(_misshapen, refusal="reachable-quorum.gangwarden.dev"),
    "forbidden under Ignore": Ask(_forbidden("ignore"), refusal="forbidden-ignore.chaos.test"),
    "forbidden under Fail": Ask(_forbidden("fail"), refusal="forbidden-fail.chaos.test"),
    "plain": Ask(job),
}
SHARES = (40, 15, 15, 10, 20)
"""Out of a hundred, in the order of `ASKS`."""


class Load:
    """Callers, and what they found wrong."""

    def __init__(self, client: Client, namespace: str, edits: Edits, random: Random, *, per_second: float) -> None:
        self._client, self._namespace, self._edits, self._random = client, namespace, edits, random
        self._pace, self._lock, self._ended = Pace(per_second), threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._run, name=f"caller {index}") for index in range(CALLERS)]
        self.calls: Counter[str] = Counter()
        self.failed: list[str] = []
        self.unenforced: list[str] = []

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(60)

    def _run(self) -> None:
        while self._pace.wait(self._ended):
            with self._lock:
                (kind,) = self._random.choices(list(ASKS), SHARES)
                self.calls[kind] += 1
                number = self.calls.total()
            try:
                self._ask(kind, f"call-{number}")
            except Exception as error:  # noqa: BLE001 - told by the scene
                self._tell(self.failed, f"{kind}: {error!r}")

    def _ask(self, kind: str, name: str) -> None:
        ask = ASKS[kind]
        try:
            stored = self._client.create(ask.make(name, self._namespace), dry_run=True)
        except ApiError as error:
            words = str(error.body.get("message"))
            if not ask.refusal or ask.refusal not in words or error.status not in (403, 422):
                self._tell(self.failed, f"{kind}: {error}")
            elif edit := self._edits.never_good(int(number) for number in _EDIT.findall(words)):
                self._tell(self.unenforced, f"{kind}: judged by edit {edit}, which was never whole")
        except requests.RequestException as error:
            self._tell(self.failed, f"{kind}: {error!r}")
        else:
            has_stamp = "schedulingGroup" in stored["spec"]["template"]["spec"]
            if ask.refusal or has_stamp != ask.stamped:
                self._tell(self.unenforced, f"{kind} came through {'with' if has_stamp else 'without'} a stamp")

    def _tell(self, where: list[str], what: str) -> None:
        with self._lock:
            where.append(f"{time.strftime('%H:%M:%S', time.gmtime())} {what}")
