"""Answer one review over HTTP: read, hand to the reviewer, send, count, log. No rule is known here.

Reviews are decided in the event loop. They are pure Python, so a thread would run beside others and not in parallel
with them, and each hand-over costs as much as a small review. What a thread does buy is fairness, and a caller can
only make a review slow by making it large: so large ones go to a single thread, where the interpreter slices them.
One thread, because a decoded body takes twenty times its bytes, and two of the largest at once are enough.

Nothing here turns an error into an answer: what the reviewer did not decide is an HTTP error, to which the API server
applies the failurePolicy of the webhook whose path this is.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import orjson
import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from webhook.errors import ReviewError
from webhook.model.access import AccessQuestion, Answers, Told
from webhook.model.objects import Object
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.model.verdicts import Admitted, Answer, Denied, Finding, Patched, Reviewed, Trail, Unanswered, Verdict
from webhook.server.deadlines import Deadline, deadline_of
from webhook.server.limits import Held, InFlight, UnreadError, receive_body
from webhook.server.logs import say
from webhook.server.metrics import Metrics
from webhook.settings import EvaluationSettings, ServingSettings

RETRY_AFTER_SECONDS = "1"  # client-go repeats a 429 only if told when (rest/request.go checkWait); its timeout bounds it
BEGUN = "begun"
"""Key in the state of a request under which a review stands that is decided but for what must be asked."""
WORD_LIMIT = 253  # the longest name Kubernetes accepts; what is longer was invented to fill our log
_DENY, _ALLOW = Verdict.DENY.value, Verdict.ALLOW.value
_LOG = structlog.get_logger(__name__)


class Reviewer(Protocol):
    """Whoever decides."""

    def review(
        self,
        body: Object,
        *,
        phase: Phase,
        failure_policy: FailurePolicy,
        expired: Callable[[], bool],
        answers: Answers | None = None,
        levels: int | None = None,
    ) -> Reviewed | Unanswered:
        """Decide one decoded body; ReviewError if it is no review. May be called from a thread of the server.

        It is nested no deeper than so many ``levels``, where that is known.
        With ``answers`` it may say what it must know first, unless they are closed, and is then asked again.
        """


class AccessAsker(Protocol):
    """Whoever knows, or asks, who may do what."""

    async def answers(self, questions: Iterable[AccessQuestion], *, seconds: float) -> Mapping[AccessQuestion, Told]:
        """Answer every question, or say why there is no answer, within some seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A path, and what it asks of whom."""

    path: str
    reviewer: Reviewer
    phase: Phase
    failure_policy: FailurePolicy


class Subject(NamedTuple):
    """What a review is about, for log and counters; read before anything was checked, so all of it may be empty."""

    uid: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    operation: str = ""


class Reply(NamedTuple):
    """An HTTP answer."""

    status: int
    body: bytes
    media_type: str = "text/plain"
    headers: Mapping[str, str] = MappingProxyType({})


_NO_TRAIL = Trail()


class Outcome(NamedTuple):
    """What is sent, and what is said about it."""

    reply: Reply
    verdict: str
    subject: Subject = Subject()
    trail: Trail = _NO_TRAIL


# Nobody is left to answer; the caller hung up or was cut off for being slow.
_ABANDONED = Outcome(reply=Reply(400, b""), verdict="abandoned")


class Incoming(NamedTuple):
    """A review whose body is arriving."""

    held: Held
    started: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A review that cannot be decided yet."""

    document: Any
    subject: Subject
    questions: tuple[AccessQuestion, ...]


class ReviewHandler:
    """Answers the reviews that arrive at one endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        in_flight: InFlight,
        worker: Executor,
        metrics: Metrics,
        serving: ServingSettings,
        evaluation: EvaluationSettings,
        clock: Callable[[], float],
        access: AccessAsker | None = None,
    ) -> None:
        self._endpoint, self._in_flight, self._worker, self._metrics = endpoint, in_flight, worker, metrics
        self._serving, self._evaluation, self._clock, self._access = serving, evaluation, clock, access

    async def handle(self, request: Request) -> Response:
        """Answer one request, whatever was sent and whatever the reviewer does."""
        started = self._clock()
        try:
            with self._in_flight.review() as held:
                body = await receive_body(request, held, self._serving.body_limit_bytes)
                timeout = request.query_params.get("timeout", "")
                begun = request.scope["state"].get(BEGUN)
                outcome = await self._decide(body, self._deadline(timeout), begun)
        except ReviewError as error:
            outcome = _refused(error, Subject())
        except ClientDisconnect:
            outcome = _ABANDONED
        self._record(outcome, self._clock() - started)
        reply = outcome.reply
        return Response(reply.body, reply.status, reply.headers, reply.media_type)

    def begin(self) -> Incoming | None:
        """Take a place for a review that is read by somebody else; None when there is none."""
        try:
            return Incoming(self._in_flight.take(), self._clock())
        except ReviewError:
            return None

    def answer(self, incoming: Incoming, body: bytes, timeout: str) -> Reply | Pending:
        """Decide at once what was read, unless something must be asked first: then it is for ``handle`` to go on."""
        outcome = self._begin(body, self._deadline(timeout), None if self._access is None else Answers())
        if isinstance(outcome, Pending):
            return outcome
        self._record(outcome, self._clock() - incoming.started)
        return outcome.reply

    def end(self, incoming: Incoming, *, abandoned: bool = False) -> None:
        """Give the place back; ``abandoned``: whoever sent the review hung up or was cut off."""
        self._in_flight.give_back(incoming.held)
        if abandoned:
            self._record(_ABANDONED, self._clock() - incoming.started)

    async def _decide(self, body: bytes, deadline: Deadline, begun: Pending | None) -> Outcome:
        """Decide, and ask the API server in between as often as the rules must know who may do what."""
        answers = None if self._access is None else Answers()
        step = begun or await self._run(len(body), partial(self._begin, body, deadline, answers))
        for left in range(self._evaluation.access_rounds - 1, -1, -1):
            if isinstance(step, Outcome) or self._access is None or answers is None:
                break
            told = await self._access.answers(step.questions, seconds=deadline.left())
            closed = "" if left else "its rules have asked too often"
            answers = Answers(known={**answers.known, **told}, closed=closed)
            step = await self._run(len(body), partial(self._judge, step.document, step.subject, deadline, answers))
        assert isinstance(step, Outcome)  # noqa: S101 - closed answers let nothing be asked
        return step

    def _deadline(self, timeout: str) -> Deadline:
        return deadline_of(self._clock, self._evaluation.deadline_seconds, timeout)

    async def _run(self, size: int, judge: Callable[[], Outcome | Pending]) -> Outcome | Pending:
        if size <= self._serving.inline_limit_bytes:
            return judge()
        return await asyncio.get_running_loop().run_in_executor(self._worker, judge)

    def _begin(self, body: bytes, expired: Callable[[], bool], answers: Answers | None) -> Outcome | Pending:
        try:
            document = _decode(body)
        except ReviewError as error:
            return _refused(error, Subject())
        return self._judge(document, _subject_of(document), expired, answers, levels=levels_of(body))

    def _judge(
        self,
        document: Any,
        subject: Subject,
        expired: Callable[[], bool],
        answers: Answers | None,
        *,
        levels: int | None = None,
    ) -> Outcome | Pending:
        endpoint = self._endpoint
        try:
            reviewed = endpoint.reviewer.review(
                document,
                phase=endpoint.phase,
                failure_policy=endpoint.failure_policy,
                expired=expired,
                answers=answers,
                levels=levels,
            )
            if isinstance(reviewed, Unanswered):
                assert answers is not None and not answers.closed  # noqa: S101, PT018 - nothing may be asked then
                return Pending(document=document, subject=subject, questions=reviewed.questions)
            reply = Reply(200, orjson.dumps(reviewed.document), "application/json")
        except ReviewError as error:
            return _refused(error, subject)
        except Exception as error:  # noqa: BLE001 - whatever it is: the caller gets a 500 and the process lives on
            _LOG.error("review failed", path=endpoint.path, uid=subject.uid, **_describe(error))
            text = b"the review could not be decided because of an internal error; see the log of the webhook"
            return Outcome(reply=Reply(status=500, body=text), verdict=Verdict.ERROR, subject=subject)
        return Outcome(reply, _verdict_of(reviewed.answer), subject, reviewed.answer.trail)

    def _record(self, outcome: Outcome, seconds: float) -> None:
        subject, trail = outcome.subject, outcome.trail
        self._metrics.answered(
            self._endpoint.path, seconds, operation=subject.operation, kind=subject.kind, verdict=outcome.verdict
        )
        self._metrics.found(trail)
        spoke = [] if trail.is_plain else [one for one in trail.findings if one.verdict is not Verdict.ALLOW or one.exception]
        for finding in spoke:
            if finding.exception:
                self._metrics.excepted(finding.exception.name, finding.policy)
        say(
            "review",
            path=self._endpoint.path,
            uid=subject.uid,
            kind=subject.kind,
            namespace=subject.namespace,
            name=subject.name,
            operation=subject.operation,
            verdict=outcome.verdict,
            status=outcome.reply.status,
            policies=_policies_of(spoke) if spoke else [],
            **(_exceptions_of(spoke) if spoke else {}),
            ms=round(seconds * 1000, 2),
        )


def _decode(body: bytes) -> Any:
    try:
        return orjson.loads(body)  # refuses more than 1,024 levels of nesting by itself
    except orjson.JSONDecodeError as error:
        raise ReviewError(f"the body is not JSON: {error.msg} at byte {error.pos}") from error


def levels_of(body: bytes) -> int:
    """Return how deep JSON is nested at most: no deeper than it has brackets."""
    return body.count(b"{") + body.count(b"[")


def _refused(error: ReviewError, subject: Subject) -> Outcome:
    headers = {}
    if error.status == 429:
        headers["Retry-After"] = RETRY_AFTER_SECONDS
    if isinstance(error, UnreadError):
        headers["Connection"] = "close"
    verdict = "shed" if error.status == 429 else "refused"
    # Plain text is what client-go puts into its own error (rest/request.go isTextResponse), so a person reads it.
    return Outcome(reply=Reply(error.status, str(error).encode(), headers=headers), verdict=verdict, subject=subject)


def _verdict_of(answer: Answer) -> str:
    match answer:
        case Denied():
            return _DENY
        case Patched():
            return "patch"
        case Admitted():
            return _ALLOW


def _policies_of(findings: Sequence[Finding]) -> list[str]:
    """Name the policies that had something to say; those that simply allow would fill every line."""
    spoke = (each for each in findings if each.verdict not in {Verdict.ALLOW, Verdict.SKIP})
    return sorted({f"{each.policy}:{each.verdict}" for each in spoke})


def _exceptions_of(findings: Sequence[Finding]) -> dict[str, list[str]]:
    """Name the exceptions that let something pass, with policy and rule; most reviews have no such field."""
    used = {f"{one.exception.name}:{one.policy}:{one.rule}" for one in findings if one.exception}
    return {"exceptions": sorted(used)} if used else {}


def _subject_of(document: Any) -> Subject:
    request = _mapping(document, "request")
    return Subject(
        _word(request.get("uid")),
        _word(_mapping(request, "kind").get("kind")),
        _word(request.get("namespace")),
        _word(request.get("name")),
        _word(request.get("operation")),
    )


def _mapping(value: Any, key: str) -> Object:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _word(value: Any) -> str:
    """Return text that is safe to log: short, of one line, without escape sequences."""
    if type(value) is str and len(value) <= WORD_LIMIT and value.isprintable():
        return value
    text = value[:WORD_LIMIT] if isinstance(value, str) else ""
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)


def _describe(error: Exception) -> dict[str, Any]:
    """Say where an error came from, without its text and without values: either may hold a piece of the object."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    return {"error": type(error).__name__, "at": [f"{each.filename}:{each.lineno} {each.name}" for each in frames]}
