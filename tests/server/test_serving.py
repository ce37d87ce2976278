"""Start and end: a free port, a taken port, signals, and a drain in which no caller sees an EOF."""

import asyncio
import contextlib
import os
import signal
import threading

import pytest
from prometheus_client import CollectorRegistry

from tests.server.running import MATERIAL, PATIENCE, Expired, Running, Told, request, review, running, trust
from webhook.certs import Tls
from webhook.errors import UsageError
from webhook.model.verdicts import Admitted, Answer
from webhook.server import Metrics, build_app, serve, stop_on_signals
from webhook.settings import EvaluationSettings, ServingSettings


async def test_a_free_port_is_taken_and_told() -> None:
    async with running() as first, running() as second:
        assert first.port != second.port
        assert (await second.get("/healthz")).text == "ok\n"


async def test_a_taken_port_is_an_error_and_not_an_exit() -> None:
    async with running() as first:
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{first.port}"):
            async with running(port=first.port):
                pass


async def test_readiness_names_what_is_missing() -> None:
    async with running(unmet=["policies are not loaded", "jobs have not synced"]) as server:
        answer = await server.get("/readyz")
        assert (answer.status, answer.text) == (503, "not ready:\n- policies are not loaded\n- jobs have not synced\n")
        assert (await server.get("/healthz")).status == 200


async def test_a_drain_finishes_what_was_begun() -> None:
    body = request(review())
    async with running(drain_seconds=2.0) as server:
        idle, begun = await server.connect(), await server.connect()
        assert (await idle.post(review())).status == 200
        await begun.send(body[:-5])
        server.stop.set()
        late = await server.get("/readyz")
        assert (late.status, late.text) == (503, "not ready:\n- the server is shutting down\n")
        assert late.headers["connection"] == "close"
        await begun.send(body[-5:])
        assert (await begun.answer()).status == 200
        assert (await idle.rest()) == b""
        await asyncio.wait_for(server.task, PATIENCE)


async def test_new_connections_are_served_until_the_drain_is_over() -> None:
    async with running(drain_seconds=60.0) as server:
        server.stop.set()
        for _ in range(150):  # much longer than a tick of the server's loop
            assert (await server.post(review())).status == 200
        server.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await server.task
        server.task = asyncio.create_task(asyncio.sleep(0))


async def test_a_request_that_is_still_arriving_at_the_end_is_answered() -> None:
    body = request(review())
    async with running() as server:
        begun = await server.connect()
        await begun.send(body[:-5])
        await asyncio.sleep(0)  # the server reads the first part before it is told to stop
        server.stop.set()
        await begun.send(body[-5:])
        assert (await begun.answer()).status == 200
        await asyncio.wait_for(server.task, PATIENCE)


async def test_busy_callers_see_no_eof_during_a_drain() -> None:
    async def call(server: Running) -> int:
        """Behave like the API server's pool: reuse until told to close; stop dialling once the replica is unready."""
        calls = 0
        while not server.stop.is_set():
            connection = await server.connect()
            told = ""
            while told != "close":
                answer = await connection.post(review())
                assert answer.status == 200
                told = answer.headers.get("connection", "")
                calls += 1
        return calls

    busy = asyncio.Event()

    def count(_name: str, _expired: Expired) -> Answer:
        if len(server.reviewer.asked) > 200:
            busy.set()
        return Admitted()

    async with running(count, drain_seconds=3.0) as server:
        callers = [asyncio.create_task(call(server)) for _ in range(32)]
        await asyncio.wait_for(busy.wait(), PATIENCE)
        server.stop.set()
        assert min(await asyncio.gather(*callers)) > 0
        await asyncio.wait_for(server.task, PATIENCE)


async def test_a_parked_connection_does_not_hold_up_the_end() -> None:
    async with running(drain_seconds=0.1, first_byte_seconds=60.0, shutdown_seconds=60) as server:
        await server.connect()
        server.stop.set()
        with contextlib.suppress(ConnectionError):
            await server.connect()
        await asyncio.wait_for(server.task, PATIENCE)


async def test_a_caller_that_never_finishes_does_not_hold_up_the_end() -> None:
    async with running(request_seconds=60.0, shutdown_seconds=1) as server:
        stuck = await server.connect()
        await stuck.send(request(review())[:-5])
        await server.get("/healthz")
        server.stop.set()
        await asyncio.wait_for(server.task, PATIENCE)


async def test_a_cancelled_server_closes_at_once() -> None:
    async with running(shutdown_seconds=60) as server:
        connection = await server.connect()
        server.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await server.task
        assert await connection.rest() == b""
        with pytest.raises(OSError):
            await server.connect()
        server.task = asyncio.create_task(asyncio.sleep(0))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_begins_the_drain(number: signal.Signals) -> None:
    async with running() as server:
        stop_on_signals(server.stop)
        os.kill(os.getpid(), number)
        await asyncio.wait_for(server.stop.wait(), PATIENCE)
        await asyncio.wait_for(server.task, PATIENCE)


def test_it_runs_in_a_loop_of_a_thread_that_is_not_ours() -> None:
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    statuses: list[int] = []
    thread = threading.Thread(target=lambda: asyncio.run(serve_once(statuses)))
    thread.start()
    thread.join(PATIENCE)
    assert statuses == [200]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == handlers


async def serve_once(statuses: list[int]) -> None:
    """Start, ask once, stop: on asyncio's own loop."""
    serving = ServingSettings(host="127.0.0.1", port=0, drain_seconds=0)
    stop, metrics, tls = asyncio.Event(), Metrics(CollectorRegistry()), Tls(MATERIAL)
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    app = build_app(Told(), list, metrics=metrics, serving=serving, evaluation=EvaluationSettings(), stop=stop)
    async with asyncio.TaskGroup() as group:
        server = Running(
            0, tls, stop, metrics, Told(), group.create_task(serve(app, tls.context, serving, stop=stop, started=port.set_result))
        )
        server.port = await port
        connection = await server.connect(trust())
        statuses.append((await connection.post(review())).status)
        connection.close()
        stop.set()
