"""Test cases run again on every edit, until Ctrl-C; what is broken is told, and the next edit gets its chance."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import uvloop

from webhook.admission import EMPTY_POLICIES
from webhook.errors import GangwardenError
from webhook.policies import PolicyStore, PolicyWatcher
from webhook.reports import print_error, terminal
from webhook.server import stop_on_signals
from webhook.settings import ReloadSettings


class Session(Protocol):
    """What is run again."""

    @property
    def paths(self) -> Sequence[str]:
        """Return what was named on the command line."""

    def run(self) -> int:
        """Run once, and print what came of it."""

    def watched(self) -> tuple[str, ...]:
        """Return the files and folders whose edits count."""


def watch_session(session: Session) -> int:
    """Run a session now and after every edit; returns the exit code of the last run."""
    return uvloop.run(_follow(session))


async def _follow(session: Session) -> int:
    leave, edited = asyncio.Event(), asyncio.Event()
    stop_on_signals(leave)
    watcher = PolicyWatcher(
        await asyncio.to_thread(_watched, session),
        PolicyStore(EMPTY_POLICIES),  # differs from whatever is there, so the first look calls for the first run
        settings=ReloadSettings(),
        told=lambda _: edited.set(),
    )
    code = 0
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watcher.run(leave))
        while not leave.is_set():
            waiting = [tasks.create_task(edited.wait()), tasks.create_task(leave.wait())]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in waiting:
                task.cancel()
            if edited.is_set() and not leave.is_set():
                edited.clear()
                code = await asyncio.to_thread(_run, session)
    return code


def _watched(session: Session) -> tuple[str, ...]:
    """Return what is to be watched; where the tests cannot be read, at least their own files are."""
    try:
        return session.watched()
    except GangwardenError:
        return tuple(session.paths)


def _run(session: Session) -> int:
    console = terminal()
    try:
        code = session.run()
    except GangwardenError as error:
        print_error(console, error)
        code = error.exit_code
    console.print("\n[dim]Watching; save a policy or a case to run again, Ctrl-C ends.[/dim]\n")
    return code
