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
    code, watched, enough = 0, await asyncio.to_thread(_watched, session, ()), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(_watch(watched, edited, enough))
        while await _is_edited(edited, leave):
            edited.clear()
            named = await asyncio.to_thread(_watched, session, watched)
            if named == watched:
                code = await asyncio.to_thread(_run, session)
                continue
            # The edit has named other policies: whoever watches those too looks at once, and that look calls for the run.
            enough.set()
            await asyncio.wait((watching,))
            watched, enough = named, asyncio.Event()
            watching = tasks.create_task(_watch(watched, edited, enough))
        enough.set()
    return code


async def _watch(paths: Sequence[str], edited: asyncio.Event, enough: asyncio.Event) -> None:
    """Set ``edited`` now and whenever something at the paths has changed."""
    nothing = PolicyStore(EMPTY_POLICIES)  # differs from whatever is there, so the first look calls for a run
    await PolicyWatcher(paths, nothing, settings=ReloadSettings(), told=lambda _: edited.set()).run(enough)


async def _is_edited(edited: asyncio.Event, leave: asyncio.Event) -> bool:
    """Wait for an edit; False when it is time to leave."""
    waiting = [asyncio.create_task(event.wait()) for event in (edited, leave)]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    return not leave.is_set()


def _watched(session: Session, before: tuple[str, ...]) -> tuple[str, ...]:
    """Return what is to be watched; where the tests cannot be read what was, and at least their own files."""
    try:
        return session.watched()
    except GangwardenError:
        return before or tuple(session.paths)


def _run(session: Session) -> int:
    console = terminal()
    try:
        code = session.run()
    except GangwardenError as error:
        print_error(console, error)
        code = error.exit_code
    console.print("\n[dim]Watching; save a policy or a case to run again, Ctrl-C ends.[/dim]\n")
    return code
