"""What a caller is told, for good and bad bodies; nothing that goes wrong becomes an allow, and the process lives on."""

import json
import threading

import pytest
from structlog.testing import capture_logs

from tests.server.running import Expired, Told, request, review, running
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.model.verdicts import Admitted, Answer, Denied, Finding, Patched, Trail, Verdict
from webhook.settings import EvaluationSettings


@pytest.mark.parametrize(
    "path, asked",
    [
        ("/validate/fail", (Phase.VALIDATE, FailurePolicy.FAIL)),
        ("/validate/ignore", (Phase.VALIDATE, FailurePolicy.IGNORE)),
        ("/mutate/fail", (Phase.MUTATE, FailurePolicy.FAIL)),
        ("/mutate/ignore", (Phase.MUTATE, FailurePolicy.IGNORE)),
    ],
)
async def test_each_path_asks_its_own_question(path: str, asked: tuple[Phase, FailurePolicy]) -> None:
    async with running() as server:
        answer = await server.post(review(), path + "?timeout=10s")
        assert (answer.status, answer.json["response"]) == (200, {"uid": "u-1", "allowed": True})
        assert answer.headers["content-type"] == "application/json"
        assert server.reviewer.asked == [(*asked, "train")]


DEEP = 10_000
BAD = [
    pytest.param(b"", "", 400, "the body is empty", id="empty"),
    pytest.param(b"{", "", 400, "not JSON", id="half an object"),
    pytest.param(b"\xff\xfe", "", 400, "not JSON", id="no UTF-8"),
    pytest.param(b"[]", "", 400, "has no request", id="a list"),
    pytest.param(b"null", "", 400, "has no request", id="null"),
    pytest.param(b'{"kind":"AdmissionReview"}', "", 400, "has no request", id="what the reviewer calls no review"),
    pytest.param(b"[" * DEEP + b"]" * DEEP, "", 400, "depth limit exceeded", id="10,000 lists deep"),
    pytest.param(b'{"a":' * DEEP + b"1" + b"}" * DEEP, "", 400, "depth limit exceeded", id="10,000 objects deep"),
    pytest.param(review(), "Content-Type: text/yaml\r\n", 415, "got text/yaml", id="YAML"),
    pytest.param(review(), "Content-Type: \r\n", 415, "got none", id="no type"),
    pytest.param(b"x" * 2000, "", 413, "larger than 1000 bytes", id="over the cap"),
]


@pytest.mark.parametrize("body, headers, status, words", BAD)
async def test_a_bad_body_is_an_http_error_in_words(body: bytes, headers: str, status: int, words: str) -> None:
    async with running(body_limit_bytes=1000 if status == 413 else 200_000) as server:
        answer = await server.post(body, headers=headers)
        assert (answer.status, answer.headers["content-type"]) == (status, "text/plain; charset=utf-8")
        assert words in answer.text
        assert (await server.post(review())).status == 200


async def test_a_type_with_a_charset_is_json_too() -> None:
    async with running() as server:
        assert (await server.post(review(), headers="Content-Type: Application/JSON; charset=utf-8\r\n")).status == 200


async def test_a_bad_body_leaves_the_connection_usable() -> None:
    async with running() as server:
        connection = await server.connect()
        assert (await connection.post(b"{")).status == 400
        assert (await connection.post(review())).status == 200


@pytest.mark.parametrize(
    "path, status", [("/validate/fail", 405), ("/validate/fail/", 404), ("/evictions", 404), ("/debug/policies", 404), ("/", 404)]
)
async def test_other_ways_in_do_not_exist(path: str, status: int) -> None:
    async with running() as server:
        assert (await server.get(path)).status == status


async def test_evictions_are_answered_once_there_is_a_reviewer_for_them() -> None:
    guard = Told()
    async with running(evictions=guard) as server:
        assert (await server.post(review(), "/evictions")).status == 200
        assert guard.asked == [(Phase.VALIDATE, FailurePolicy.IGNORE, "train")]
        assert server.reviewer.asked == []


def secret_failure(name: str, _expired: Expired) -> Answer:
    if name == "bad":
        raise KeyError("s3cret")
    return Admitted()


@pytest.mark.parametrize("size", [0, 400_000], ids=["in the loop", "in the thread"])
async def test_an_unexpected_error_is_a_500_without_its_text_and_the_process_lives(size: int) -> None:
    with capture_logs() as logs:
        async with running(secret_failure) as server:
            answer = await server.post(review("bad", padding="x" * size))
            assert answer.status == 500
            assert "internal error" in answer.text
            assert "allowed" not in answer.text
            assert (await server.post(review())).status == 200
            assert server.counted(
                "admission_requests_total", path="/validate/fail", operation="CREATE", kind="Job", verdict="error"
            )
    failure = next(line for line in logs if line["event"] == "review failed")
    assert (failure["error"], failure["uid"]) == ("KeyError", "u-1")
    assert "secret_failure" in failure["at"][-1]
    assert "s3cret" not in json.dumps(logs) + answer.text


@pytest.mark.parametrize("error", [RecursionError("deep"), MemoryError(), AssertionError("x"), ValueError("y")], ids=repr)
async def test_no_kind_of_error_is_an_allow(error: Exception) -> None:
    def fail(_name: str, _expired: Expired) -> Answer:
        raise error

    async with running(fail) as server:
        assert (await server.post(review(), "/validate/ignore")).status == 500


async def test_an_answer_that_is_no_json_is_a_500() -> None:
    class Odd(Told):
        def review(self, body, **_):
            return type("Reviewed", (), {"document": {"x": object()}, "answer": Admitted()})()

    async with running(evictions=Odd()) as server:
        assert (await server.post(review(), "/evictions")).status == 500


DENIED = Denied(message="s3cret", trail=Trail(findings=(Finding(policy="size", verdict=Verdict.DENY, message="s3cret"),)))
PATCHED = Patched(object={}, patch=(), trail=Trail(findings=(Finding(policy="gang", verdict=Verdict.WARN),)))
QUIET = Admitted(trail=Trail(findings=(Finding(policy="ok", verdict=Verdict.ALLOW),)))


@pytest.mark.parametrize(
    "answer, verdict, policies",
    [(DENIED, "deny", ["size:deny"]), (PATCHED, "patch", ["gang:warn"]), (QUIET, "allow", [])],
    ids=["denied", "patched", "admitted"],
)
async def test_a_decision_is_one_line_and_never_the_object(answer: Answer, verdict: str, policies: list[str]) -> None:
    with capture_logs() as logs:
        async with running(lambda *_: answer) as server:
            await server.post(review(padding="s3cret"))
            assert (
                server.counted("admission_requests_total", path="/validate/fail", operation="CREATE", kind="Job", verdict=verdict)
                == 1
            )
    (line,) = logs
    assert line.pop("ms") >= 0
    assert line == {
        "event": "review",
        "log_level": "info",
        "path": "/validate/fail",
        "uid": "u-1",
        "kind": "Job",
        "namespace": "team",
        "name": "train",
        "operation": "CREATE",
        "verdict": verdict,
        "status": 200,
        "policies": policies,
    }


async def test_policies_are_counted_by_what_they_said() -> None:
    async with running(lambda *_: DENIED) as server:
        await server.post(review())
        assert server.counted("policy_evaluations_total", policy="size", verdict="deny") == 1


async def test_a_caller_cannot_forge_or_flood_the_log() -> None:
    with capture_logs() as logs:
        async with running() as server:
            await server.post(review("\x1b[31m\nforged" + "x" * 5000))
    assert len(logs[0]["name"]) == 253
    assert logs[0]["name"].isprintable()


async def test_a_caller_cannot_flood_the_counters() -> None:
    async with running() as server:
        connection = await server.connect()
        for index in range(150):
            kind = {"group": "", "version": "v1", "kind": f"Kind{index}"}
            assert (await connection.post(review(kind=kind))).status == 200
        page = (await server.get("/metrics")).text
        assert page.count('gangwarden_admission_requests_total{kind="') == 101
        assert (
            server.counted("admission_requests_total", path="/validate/fail", operation="CREATE", kind="other", verdict="allow")
            == 50
        )


class Ticking:
    """A clock that a reviewer can move."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    "query, limit, expires_after",
    [
        pytest.param("", 5.0, 5.0, id="our own limit where the caller names none"),
        pytest.param("?timeout=10s", 5.0, 5.0, id="our own limit where it is the smaller"),
        pytest.param("?timeout=2s", 5.0, 1.6, id="the caller's timeout with a margin"),
        pytest.param("?timeout=1m30s", 90.0, 72.0, id="a timeout in minutes and seconds"),
        pytest.param("?timeout=500ms", 5.0, 0.4, id="a timeout in milliseconds"),
        pytest.param("?timeout=0s", 5.0, 5.0, id="no time at all is no timeout"),
        pytest.param("?timeout=soon", 5.0, 5.0, id="a word"),
        pytest.param("?timeout=-3s", 5.0, 5.0, id="a negative timeout"),
        pytest.param("?timeout=" + "9" * 400 + "s", 5.0, 5.0, id="a huge number"),
    ],
)
async def test_a_review_expires_before_the_caller_gives_up(query: str, limit: float, expires_after: float) -> None:
    clock, seen = Ticking(), []

    def watch(_name: str, expired: Expired) -> Answer:
        for moment in (0.0, expires_after - 0.01, expires_after + 0.01):
            clock.now = 1000.0 + moment
            seen.append(expired())
        return Admitted()

    async with running(watch, clock=clock, evaluation=EvaluationSettings(deadline_seconds=limit)) as server:
        assert (await server.post(review(), "/validate/fail" + query)).status == 200
    assert seen == [False, False, True]


async def test_the_deadline_runs_while_the_loop_is_busy() -> None:
    def busy(_name: str, expired: Expired) -> Answer:
        while not expired():
            pass
        return DENIED

    async with running(busy) as server:
        answer = await server.post(review(), "/validate/fail?timeout=50ms")
        assert answer.json["response"]["allowed"] is False


async def test_a_large_review_is_decided_beside_the_loop() -> None:
    def where(name: str, _expired: Expired) -> Answer:
        threads[name] = threading.current_thread().name
        return Admitted()

    threads: dict[str, str] = {}
    async with running(where, inline_limit_bytes=10_000) as server:
        await server.post(review("small"))
        await server.post(review("large", padding="x" * 20_000))
    assert threads["small"] == threading.main_thread().name
    assert threads["large"].startswith("large-review")


async def test_a_slow_large_review_keeps_nobody_waiting() -> None:
    small_done = threading.Event()

    def wait(name: str, _expired: Expired) -> Answer:
        if name == "large":
            assert small_done.wait(30)
        return Admitted()

    async with running(wait, inline_limit_bytes=10_000) as server:
        slow = await server.connect()
        await slow.send(request(review("large", padding="x" * 20_000)))
        assert (await server.post(review("small"))).status == 200
        small_done.set()
        assert (await slow.answer()).status == 200
