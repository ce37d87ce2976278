"""The work queue: one worker a key, no change lost, pauses that double."""

from __future__ import annotations

import asyncio

import pytest

from webhook.controller.queue import WorkQueue


@pytest.fixture
def queue():
    made = WorkQueue(backoff_initial_seconds=0.01, backoff_limit_seconds=0.04)
    yield made
    made.close()


async def test_a_key_added_twice_is_handled_once(queue):
    queue.add("a")
    queue.add("a")
    assert await queue.take() == "a"
    assert len(queue) == 0


async def test_a_change_during_the_work_is_handled_afterwards(queue):
    queue.add("a")
    key = await queue.take()
    queue.add("a")
    assert len(queue) == 0
    queue.done(key)
    assert await queue.take() == "a"


async def test_failures_come_back_after_pauses_that_double_up_to_a_limit(queue):
    queue.add("a")
    pauses = [queue.failed(await asyncio.wait_for(queue.take(), 10)) for _ in range(4)]
    assert pauses == [0.01, 0.02, 0.04, 0.04]


async def test_success_forgets_the_failures(queue):
    queue.add("a")
    queue.failed(await queue.take())
    queue.done(await asyncio.wait_for(queue.take(), 10))
    queue.add("a")
    assert queue.failed(await queue.take()) == 0.01


async def test_the_earlier_of_two_delays_counts(queue):
    queue.add_after("a", 0.01)
    queue.add_after("a", 3600)
    assert await asyncio.wait_for(queue.take(), 10) == "a"
    queue.done("a")
    queue.add_after("b", 3600)
    queue.add_after("b", 0.01)
    assert await asyncio.wait_for(queue.take(), 10) == "b"
