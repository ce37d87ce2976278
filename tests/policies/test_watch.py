"""Edits on disk: what is good takes over, what is broken changes nothing and is told, and nothing is missed."""

from __future__ import annotations

import asyncio
import gc
import shutil
import sys
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.policies.breaking import BREAKS, numbered
from tests.policies.test_files import mount
from tests.policies.writing import binding, validating, yaml_of
from webhook.cel import Program
from webhook.errors import PolicySetError
from webhook.policies import Kept, PolicyStore, PolicyWatcher, Swap, Swapped, load_policies, watch
from webhook.policies.files import read_sources
from webhook.settings import ReloadSettings

QUICK = ReloadSettings(poll_seconds=30.0, settle_seconds=0.02)
"""Polling so rare that only a notification can wake the loop within a test."""
POLLING = ReloadSettings(poll_seconds=0.05, settle_seconds=0.02)


def policies(name: str) -> str:
    return yaml_of(validating(name), binding(policy=name))


class Watched:
    """A folder with a watcher, and everything that the watcher said."""

    def __init__(self, folder: Path, settings: ReloadSettings) -> None:
        self.folder = folder
        self.store = PolicyStore(load_policies([folder]))
        self.told: asyncio.Queue[Swap] = asyncio.Queue()
        self.watcher = PolicyWatcher([folder], self.store, settings=settings, told=self.told.put_nowait)

    @property
    def names(self) -> list[str]:
        return [policy.head.source.name for policy, _ in self.store.current.validating]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.yaml").write_text(policies("first"))
    return tmp_path


@asynccontextmanager
async def watching(folder: Path, settings: ReloadSettings) -> AsyncIterator[Watched]:
    watched, stop = Watched(folder, settings), asyncio.Event()
    task = asyncio.create_task(watched.watcher.run(stop))
    try:
        yield watched
    finally:
        stop.set()
        await task


def rewrite(folder: Path) -> None:
    (folder / "p.yaml").write_text(policies("second"))


def rename_over(folder: Path) -> None:
    (folder / ".p.yaml.tmp").write_text(policies("second"))
    (folder / ".p.yaml.tmp").rename(folder / "p.yaml")


def replace_with_another(folder: Path) -> None:
    (folder / "q.yaml").write_text(policies("second"))
    (folder / "p.yaml").unlink()


def write_in_a_subfolder(folder: Path) -> None:
    (folder / "p.yaml").unlink()
    (folder / "deep").mkdir()
    (folder / "deep" / "p.yaml").write_text(policies("second"))


@pytest.mark.parametrize("edit", [rewrite, rename_over, replace_with_another, write_in_a_subfolder])
@pytest.mark.parametrize("settings", [POLLING, QUICK], ids=["polling", "notified"])
async def test_an_edit_takes_over(folder: Path, edit: Callable[[Path], None], settings: ReloadSettings) -> None:
    async with watching(folder, settings) as watched:
        edit(folder)
        while not isinstance(await watched.told.get(), Swapped) or watched.names != ["second"]:
            pass
    assert watched.names == ["second"]


async def test_a_config_map_flip_takes_over(tmp_path: Path) -> None:
    mount(tmp_path, {"p.yaml": policies("first")}, "2026_01")
    async with watching(tmp_path, POLLING) as watched:
        mount(tmp_path, {"p.yaml": policies("second")}, "2026_02")
        shutil.rmtree(tmp_path / "..2026_01")
        swap = await watched.told.get()
    assert isinstance(swap, Swapped)
    assert swap.seconds > 0
    assert (swap.policies, swap.revision, watched.names) == (1, watched.store.current.revision, ["second"])


BOMB = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in ("ab", "bc", "cd", "de", "ef")
)
BROKEN = {
    "a tab": "a:\n\t- b\n",
    "a duplicate key": "a: 1\na: 2\n",
    "an alias bomb": BOMB,
    "an unknown field": yaml_of(validating("second", validationz=[])),
    "a CEL error": yaml_of(validating("second", "objekt.spec")),
    "half a file": policies("second")[:300],
    "nothing": "",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
async def test_a_broken_edit_changes_nothing_and_says_why(folder: Path, text: str) -> None:
    watched = Watched(folder, POLLING)
    before = watched.store.current
    (folder / "p.yaml").write_text(text)
    swap = await watched.watcher.check()
    assert isinstance(swap, Kept)
    assert swap.because.startswith(str(folder / "p.yaml"))
    assert watched.store.current is before


async def test_a_broken_edit_is_told_once_and_its_repair_takes_over(folder: Path) -> None:
    watched = Watched(folder, POLLING)
    (folder / "p.yaml").write_text("a: [")
    assert isinstance(await watched.watcher.check(), Kept)
    assert await watched.watcher.check() is None
    (folder / "p.yaml").write_text(policies("second"))
    assert isinstance(await watched.watcher.check(), Swapped)
    assert watched.names == ["second"]


async def test_going_back_to_what_is_in_force_is_a_swap_too(folder: Path) -> None:
    watched = Watched(folder, POLLING)
    (folder / "p.yaml").write_text("a: [")
    await watched.watcher.check()
    (folder / "p.yaml").write_text(policies("first"))
    assert isinstance(await watched.watcher.check(), Swapped)


async def test_a_folder_that_is_gone_keeps_the_rules(folder: Path) -> None:
    watched = Watched(folder, POLLING)
    shutil.rmtree(folder)
    swap = await watched.watcher.check()
    assert isinstance(swap, Kept)
    assert "no such file or folder" in swap.because
    assert watched.names == ["first"]


async def test_nothing_new_is_not_offered(folder: Path) -> None:
    watched = Watched(folder, POLLING)
    (folder / "p.yaml").touch()
    assert await watched.watcher.check() is None


async def test_files_are_taken_when_they_have_settled(folder: Path) -> None:
    """A writer at work: each reading but the last two differs from the one before."""
    watched = Watched(folder, POLLING)
    states = iter(["second", "third", "fourth", "fourth"])
    real = watched.watcher._read

    async def read() -> object:
        name = next(states, "fourth")
        (folder / "p.yaml").write_text(policies(name))
        return await real()

    watched.watcher._read = read  # type: ignore[assignment, method-assign]  # a disk that changes under the reader
    await watched.watcher.check()
    assert watched.names == ["fourth"]
    assert watched.told.qsize() == 1


async def test_a_bug_that_a_file_lays_bare_does_not_end_the_watching(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(folder, POLLING)

    def fall_over(_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("webhook.policies.watch.compile_sources", fall_over)
    rewrite(folder)
    swap = await watched.watcher.check()
    assert isinstance(swap, Kept)
    assert "internal error while loading: RuntimeError: boom" in swap.because


class Cycle:
    """What only a collection frees."""

    def __init__(self) -> None:
        self.itself = self


def test_loading_gives_way_quickly_and_collects_what_is_left_behind_meanwhile(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[object, ...]] = []
    usual = sys.getswitchinterval(), gc.get_threshold(), gc.get_freeze_count()

    def load(_: object) -> None:
        full = gc.get_stats()[2]["collections"]
        left_behind = weakref.ref(Cycle())
        kept = [[] for _ in range(100_000)]
        seen.append(
            (left_behind() is None, gc.get_stats()[2]["collections"] - full, sys.getswitchinterval() < usual[0], len(kept))
        )

    monkeypatch.setattr(watch, "_compile", load)
    watch._compile_beside(read_sources([folder], limit_bytes=1_000_000))
    assert seen == [(True, 0, True, 100_000)]
    assert (sys.getswitchinterval(), gc.get_threshold(), gc.get_freeze_count()) == usual


def test_what_was_left_behind_before_loading_is_collected_by_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.disable()  # a collection of its own accord in between would make it old, and what is old waits
    try:
        middling = Cycle()
        left_behind = weakref.ref(middling)
        gc.collect(0)
        del middling
    finally:
        gc.enable()
    monkeypatch.setattr(watch, "_compile", lambda _: None)
    watch._compile_beside(read_sources([folder], limit_bytes=1_000_000))
    assert left_behind() is None


def test_what_is_held_while_loading_can_still_be_collected_later(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = [Cycle()]
    left_behind = weakref.ref(held[0])
    monkeypatch.setattr(watch, "_compile", lambda _: None)
    watch._compile_beside(read_sources([folder], limit_bytes=1_000_000))
    held.clear()
    gc.collect()
    assert left_behind() is None


@pytest.mark.parametrize("how", BREAKS)
def test_of_an_edit_that_is_refused_nothing_stays(how: str, tmp_path: Path) -> None:
    (tmp_path / "whole.yaml").write_text(numbered("whole", 1))
    (tmp_path / "broken.yaml").write_text(BREAKS[how](numbered("broken", 1)))
    sources = read_sources([tmp_path], limit_bytes=1_000_000)
    watch._compile(sources)  # what is kept from the first time on is kept once
    gc.collect()
    gc.disable()
    try:
        before = loaded()
        assert isinstance(watch._compile(sources), PolicySetError)
        assert loaded() == before
    finally:
        gc.enable()


def loaded() -> int:
    """Return how many expressions there are in the process."""
    return sum(isinstance(one, Program) for one in gc.get_objects())
