"""``gangwarden dev``: the real HTTPS endpoints on a folder of manifests, without a cluster, again on every edit."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click
import uvloop
from prometheus_client import CollectorRegistry
from watchfiles import awatch

from webhook.admission import CustomKinds
from webhook.certs import FileStore, Material, Rotator, Tls, load_profile
from webhook.cli.caller import Caller
from webhook.cli.offline import Offline, doubts_about, load_offline
from webhook.cli.reviewer import LiveReviewer
from webhook.errors import GangwardenError, InputError
from webhook.model.results import Result
from webhook.policies import (
    Kept,
    Manifest,
    PolicyStore,
    PolicyWatcher,
    Swap,
    bundled_policies,
    bundled_profile,
    is_source,
    load_policies,
    manifest_files,
    read_manifests,
)
from webhook.policies.files import SUFFIXES
from webhook.reports import print_error, print_notes, print_overview, print_review, terminal
from webhook.server import Metrics, build_app, configure_logging, serve, stop_on_signals
from webhook.settings import Settings

_TOKEN = re.compile(r"-[0-9a-f]{10}\b")
"""The fresh part of group names: it differs in every review and is no news."""


@click.command("dev")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--once", is_flag=True, help="Stop after the first pass.")
@click.option("-p", "--policies", multiple=True, metavar="PATH", help="Instead of the shipped policies.")
@click.option("--snapshot", multiple=True, metavar="PATH", help="Instead of DIR/cluster.")
def dev_command(folder: Path, policies: tuple[str, ...], snapshot: tuple[str, ...], *, once: bool) -> None:
    """Serve with embedded defaults and admit every manifest in DIR, again on every edit.

    DIR/cluster, if it is there, is the snapshot of the cluster; DIR/policies holds policies beside the shipped ones.
    Certificates are made for this run, and only 127.0.0.1 is listened on.
    """
    configure_logging(json=False, level=logging.WARNING)  # what is decided is printed, not logged
    sys.exit(uvloop.run(Development(folder, policies, snapshot).run(once=once)))


class Development:
    """A webhook of its own on loopback, and its one caller."""

    def __init__(self, folder: Path, policies: Sequence[str], snapshot: Sequence[str]) -> None:
        own, cluster = folder / "policies", folder / "cluster"
        self._folder, self._apart = folder, (own, cluster)
        self._policy_paths: tuple[str | Path, ...] = (*(policies or (bundled_policies(),)), *([own] if own.is_dir() else []))
        self._snapshot_paths = snapshot or ([str(cluster)] if cluster.is_dir() else [])
        self._console = terminal()
        self._said: dict[str, str] = {}
        self._broken: dict[str, str] = {}
        self._warned: frozenset[str] = frozenset()
        self._store = PolicyStore(load_policies(self._policy_paths))
        self._offline = load_offline(self._snapshot_paths, self._store.current)
        self._reload, self._leave = asyncio.Event(), asyncio.Event()
        defaults = Settings()
        local = replace(defaults.serving, host="127.0.0.1", port=0, drain_seconds=0.0, shutdown_seconds=1)
        self._settings = replace(defaults, serving=local)

    async def run(self, *, once: bool) -> int:
        """Serve, admit everything, and unless ``once`` go on until Ctrl-C. Returns the exit code of the first pass."""
        material = await self._certificates()
        stop, port = asyncio.Event(), asyncio.get_running_loop().create_future()
        app = build_app(
            LiveReviewer(
                self._store,
                lambda: self._offline.snapshot,
                lambda: self._offline.surroundings.capabilities,
                limits=self._settings.evaluation,
                invents_namespaces=True,
            ),
            list,
            metrics=Metrics(CollectorRegistry()),
            serving=self._settings.serving,
            evaluation=self._settings.evaluation,
            stop=stop,
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(serve(app, Tls(material).context, self._settings.serving, stop=stop, started=port.set_result))
            try:
                caller = Caller(port=await port, authority=material.ca)
                if once:
                    return await self._admit_all(caller, overview=True)
                stop_on_signals(self._leave)
                await self._admit_all(caller, overview=True)
                await self._follow(caller)
                return 0
            finally:
                stop.set()  # only now: the server outlives the reviews that are under way

    async def _certificates(self) -> Material:
        profile = load_profile(bundled_profile(), self._settings.certificates)
        with tempfile.TemporaryDirectory(prefix="gangwarden-dev-") as folder:
            return await Rotator(FileStore(Path(folder)), profile=profile, clock=lambda: datetime.now(UTC)).renew()

    async def _admit_all(self, caller: Caller, *, overview: bool = False) -> int:
        """Admit every manifest, and print those of which something else is said than before.

        A file that cannot be read is told and passed over; returns the exit code of the first such error, else 0.
        """
        self._print_warnings()
        everything: list[tuple[Result, ...]] = []
        broken: list[tuple[str, GangwardenError]] = []
        manifests, offline = self._read(broken)
        ended: set[str] = set()  # one mistake a file is told at a time
        for path, manifest in manifests:
            if self._leave.is_set():
                return 0
            if path in ended:
                continue
            try:
                results = await caller.admit(manifest, self._store.current, offline)
            except GangwardenError as error:
                ended.add(path)
                broken = [(path, error), *(other for other in broken if other[0] != path)]
            else:
                everything.append(results)
                self._print_news(manifest, results, offline.custom)
        self._print_errors(broken)
        if overview:
            print_overview(self._console, everything)
        return broken[0][1].exit_code if broken else 0

    def _read(self, broken: list[tuple[str, GangwardenError]]) -> tuple[list[tuple[str, Manifest]], Offline]:
        """Return the manifests by their files, and the cluster with the kinds that CRDs among them define.

        What cannot be read is noted as broken; what stands before it in the same file counts.
        """
        paths = self._manifest_paths()
        files, unread = manifest_files(paths) if paths else ((), (self._nothing(),))
        broken += ((error.source, error) for error in unread)
        found: list[tuple[str, Manifest]] = []
        custom = self._offline.custom
        for file in files:
            manifests: list[Manifest] = []
            try:
                manifests.extend(read_manifests(file))
                custom |= CustomKinds.of((manifest.source, manifest.object) for manifest in manifests)
            except GangwardenError as error:
                broken.append((file.path, error))
            found += ((file.path, manifest) for manifest in manifests)
        return found, replace(self._offline, custom=custom)

    def _nothing(self) -> InputError:
        return InputError(f"no file ({', '.join(SUFFIXES)}) is there", source=str(self._folder))

    def _print_warnings(self) -> None:
        """Print what loading the policies warned of, such as a policy that nothing binds: it allows everything here as well."""
        warnings = self._store.current.warnings
        print_notes(self._console, [f"warning: {warning}" for warning in warnings if warning not in self._warned])
        self._warned = frozenset(warnings)

    def _print_errors(self, broken: Sequence[tuple[str, GangwardenError]]) -> None:
        """Print the errors that are new; what a file said before counts no longer, so that mending it is answered."""
        for path, error in broken:
            if self._broken.get(path) != str(error):
                print_error(self._console, error)
            self._said = {source: said for source, said in self._said.items() if not source.startswith(f"{path}#")}
        self._broken = {path: str(error) for path, error in broken}

    def _print_news(self, manifest: Manifest, results: tuple[Result, ...], custom: CustomKinds) -> None:
        said = _TOKEN.sub("", repr([result.as_json() for result in results]))
        if self._said.get(manifest.source) != said:
            self._said[manifest.source] = said
            print_review(self._console, results)
            print_notes(self._console, (f"warning: {doubt}" for doubt in doubts_about(manifest.object, custom)))

    async def _follow(self, caller: Caller) -> None:
        """Admit again whenever a policy or a manifest was saved."""
        leave = self._leave
        watcher = PolicyWatcher(self._policy_paths, self._store, settings=self._settings.reload, told=self._told)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(watcher.run(leave))
            tasks.create_task(self._wake_on_edits())
            await asyncio.sleep(0)  # the notices are ordered now; what was saved since the first pass is looked at once more
            self._look_again()
            self._console.print(
                f"\nWatching {self._folder} and the policies; save a file to see its new verdict, Ctrl-C ends.", markup=False
            )
            while not leave.is_set():
                waiting = [tasks.create_task(self._reload.wait()), tasks.create_task(leave.wait())]
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in waiting:
                    task.cancel()
                if self._reload.is_set() and not leave.is_set():
                    self._reload.clear()
                    await self._admit_all(caller)

    async def _wake_on_edits(self) -> None:
        async for _ in awatch(self._folder, stop_event=self._leave):
            self._look_again()

    def _look_again(self) -> None:
        """Read the snapshot again, which may be what was saved, and admit everything anew."""
        try:
            self._offline = load_offline(self._snapshot_paths, self._store.current)
        except GangwardenError as error:
            print_error(self._console, error)
        self._reload.set()

    def _told(self, swap: Swap) -> None:
        if isinstance(swap, Kept):
            self._console.print("[bold red]error:[/bold red] policies not reloaded; the previous set stays in force:")
            self._console.print(swap.because, markup=False)
            return
        self._console.print(f"[dim]policies reloaded: {swap.policies} in force, revision {swap.revision}[/dim]")
        self._look_again()

    def _manifest_paths(self) -> list[Path]:
        """Return what stands in the folder beside snapshot and policies; a policy repository in it is left alone."""
        found = (path for path in self._folder.iterdir() if path not in self._apart and is_source(path))
        return sorted(path for path in found if not (path / "policies").is_dir())
