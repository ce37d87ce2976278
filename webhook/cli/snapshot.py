"""``gangwarden snapshot save``: what policies may ask of a cluster, in a file for questions without one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click

from webhook.cli.options import alpha_option, canary_option, cluster_options, policy_option
from webhook.cluster import (
    Api,
    connect,
    fetch_snapshot,
    job_controller_makes_groups,
    probe_capabilities,
    save_snapshot,
    scheduler_keeps_groups,
)
from webhook.errors import ClusterError, UsageError
from webhook.model.groups import SCHEDULING_GROUP, Capabilities
from webhook.model.objects import Kind
from webhook.model.snapshot import EMPTY_SNAPSHOT, Snapshot
from webhook.policies import bundled_policies, load_policies
from webhook.reports import print_notes, terminal
from webhook.rules import NEEDED_KINDS

_ALWAYS = frozenset({("", "Namespace"), (SCHEDULING_GROUP, "PodGroup"), (SCHEDULING_GROUP, "Workload")})
_SECRET = ("", "Secret")
_SUFFIXES = (".yaml", ".yml", ".json")
_CANARY_SECONDS = 20.0
"""How long the Job controller and the scheduler have to answer, each."""


@click.group("snapshot")
def snapshot_command() -> None:
    """Save what policies may ask of a cluster."""


@snapshot_command.command("save")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@cluster_options
@policy_option
@alpha_option
@canary_option
@click.option(
    "-n", "--namespace", "namespaces", multiple=True, metavar="NS", help="Of namespaced objects only these; all by default."
)
def save_command(
    file: Path,
    kubeconfig: str | None,
    context: str | None,
    policies: tuple[str, ...],
    namespaces: tuple[str, ...],
    *,
    alpha: tuple[str, ...],
    canary_namespace: str,
) -> None:
    """Write namespaces, nodes, pods, groups and what else policies look at to FILE (YAML or JSON), for --snapshot.

    Only the fields that policies can use are kept of pods and nodes: no environment, no commands, no images. Secrets are never
    saved. A kind that may not be read is named and left out: a rule that asks for it is then skipped, loudly.
    """
    if file.suffix not in _SUFFIXES:
        raise UsageError(f"{file} must end in {', '.join(_SUFFIXES)}: its ending says in which form it is written")
    wanted = _kinds(load_policies(policies or (bundled_policies(),)).needs)
    notes = asyncio.run(_save(file, kubeconfig, context, wanted, namespaces, alpha=alpha, canary_namespace=canary_namespace))
    print_notes(terminal(stderr=True), notes)


def _kinds(needs: Iterable[tuple[str, str]]) -> list[Kind]:
    every = _ALWAYS.union(*NEEDED_KINDS.values(), needs) - {_SECRET}
    return [Kind(group, "", kind) for group, kind in sorted(every)]


async def _save(
    file: Path,
    kubeconfig: str | None,
    context: str | None,
    kinds: list[Kind],
    namespaces: tuple[str, ...],
    *,
    alpha: tuple[str, ...],
    canary_namespace: str,
) -> list[str]:
    """Read kind by kind, so that one that is forbidden costs only itself; returns what a person should know."""
    notes, snapshot = [], EMPTY_SNAPSHOT
    async with await connect(kubeconfig, context) as connection:
        api = Api.over(connection)
        capabilities = await _capabilities(api, canary_namespace, alpha=alpha)
        for kind in kinds:
            try:
                found = await fetch_snapshot(api, [kind], namespaces=namespaces)
            except ClusterError as error:
                if error.status != 403:
                    raise
                notes.append(f"warning: {kind.kind}s are not in the snapshot, for they may not be read: {error}")
                continue
            snapshot = Snapshot({**snapshot.buckets, **found.buckets})
    save_snapshot(file, snapshot, capabilities)
    return [*notes, f"note: {_count(snapshot)} objects of {len(snapshot.buckets)} kinds in {file}"]


async def _capabilities(api: Api, canary_namespace: str, *, alpha: tuple[str, ...]) -> Capabilities:
    found = (await probe_capabilities(api)).within(alpha)
    if canary_namespace and found.native_jobs:
        native = await job_controller_makes_groups(api, canary_namespace, patience_seconds=_CANARY_SECONDS)
        found = replace(found, native_groups=native)
    if canary_namespace and found.group_objects:
        kept = await scheduler_keeps_groups(api, canary_namespace, patience_seconds=_CANARY_SECONDS)
        found = replace(found, scheduler_groups=kept)
    return found


def _count(snapshot: Snapshot) -> int:
    return sum(len(bucket) for spaces in snapshot.buckets.values() for bucket in spaces.values())
