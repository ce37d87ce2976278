"""Asks the API server who may do what (SubjectAccessReview), for the CEL variable ``authorizer``.

Answers are kept for some seconds: a Job controller creates many pods in a row, and each would ask the same. Whoever asks
what is being asked already waits for that answer. A question that cannot be answered is told as such, never as a yes.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from webhook.cluster.api import Api
from webhook.errors import ClusterError
from webhook.model.access import AccessAnswer, AccessQuestion, Told
from webhook.model.objects import Object
from webhook.settings import ClusterSettings


class AccessReviews:
    """Answers questions of access by the API server that ``api`` speaks to."""

    def __init__(self, api: Api, settings: ClusterSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._api, self._settings, self._clock = api, settings, clock
        self._at_once = asyncio.Semaphore(settings.access_at_once)
        self._asking: dict[AccessQuestion, asyncio.Task[Told]] = {}
        self._kept: OrderedDict[AccessQuestion, tuple[float, AccessAnswer]] = OrderedDict()

    async def answers(self, questions: Iterable[AccessQuestion], *, seconds: float) -> dict[AccessQuestion, Told]:
        """Return an answer, or why there is none, for every question, within some seconds."""
        waiting = {question: self._ask(question) for question in dict.fromkeys(questions)}
        if waiting:
            await asyncio.wait(waiting.values(), timeout=max(seconds, 0.0))
        late = "the API server has not answered in time"
        return {question: task.result() if task.done() else late for question, task in waiting.items()}

    def _ask(self, question: AccessQuestion) -> asyncio.Task[Told]:
        """Return the task that asks; it outlives those who wait for it, so that its answer serves the next."""
        task = self._asking.get(question)
        if task is None:
            task = self._asking[question] = asyncio.create_task(self._answer(question))
            task.add_done_callback(lambda _: self._asking.pop(question, None))
        return task

    async def _answer(self, question: AccessQuestion) -> Told:
        kept = self._kept.get(question)
        if kept is not None and kept[0] > self._clock():
            return kept[1]
        try:
            async with self._at_once:
                review = await self._api.create(_review(question))
        except ClusterError as error:
            return str(error)
        status = review.get("status")
        if not isinstance(status, dict) or not isinstance(status.get("allowed"), bool):
            return "the answer of the API server is none"
        if status["allowed"] and status.get("denied"):  # refused by the API server's own client of webhook authorizers too
            return "the answer of the API server is yes and no at once"
        answer = AccessAnswer(
            allowed=status["allowed"], reason=str(status.get("reason") or ""), error=str(status.get("evaluationError") or "")
        )
        self._keep(question, answer)
        return answer

    def _keep(self, question: AccessQuestion, answer: AccessAnswer) -> None:
        self._kept[question] = (self._clock() + self._settings.access_seconds, answer)
        self._kept.move_to_end(question)
        while len(self._kept) > self._settings.access_limit:
            self._kept.popitem(last=False)


def _review(question: AccessQuestion) -> Object:
    """Write the question as apiserver pkg/cel/library/authz.go asks it."""
    user = question.user
    spec: Object = {
        "user": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra},
    }
    if question.path:
        spec["nonResourceAttributes"] = {"path": question.path, "verb": question.verb}
    else:
        spec["resourceAttributes"] = _attributes(question)
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}


def _attributes(question: AccessQuestion) -> Object:
    attributes: Object = {
        "verb": question.verb,
        "group": question.group,
        "version": "*",
        "resource": question.resource,
        "subresource": question.subresource,
        "namespace": question.namespace,
        "name": question.name,
    }
    selectors = {"fieldSelector": question.field_selector, "labelSelector": question.label_selector}
    return attributes | {key: {"rawSelector": text} for key, text in selectors.items() if text}
