"""``gangwarden policies``: what is done with a set of policies as a whole."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from webhook.cli.options import now_option, policy_option
from webhook.errors import UsageError
from webhook.policies import WORKLOAD, Export, LeftOut, bundled_policies, plan_export, write_export
from webhook.reports import API_VERSION, json_text, print_notes, terminal


@click.group("policies")
def policies_command() -> None:
    """Write policies for the API server's own file loader."""


@policies_command.command("export")
@policy_option
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to write; `validating` and `mutating` below it are the API server's staticManifestsDir.",
)
@now_option
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def export_command(policies: tuple[str, ...], out: Path, now: datetime | None, output: str) -> None:
    """Write the policies that the API server can judge by itself, from files; exit with 1 if a native one is left out."""
    paths = tuple(map(Path, policies)) or (bundled_policies(),)
    for path in paths:
        if out.resolve().is_relative_to(path.resolve()):
            raise UsageError(f"--out {out} lies within {path}, where the next export would read what this one writes")
    export = plan_export(paths, now=now)
    removed = write_export(export, out)
    click.echo(_json(export, removed, out) if output == "json" else _text(export, removed, out))
    print_notes(terminal(stderr=True), (f"note: {note}" for note in export.notes))
    sys.exit(1 if any(one.kind != WORKLOAD for one in export.left_out) else 0)


def _text(export: Export, removed: Sequence[Path], out: Path) -> str:
    lines = []
    for one in export.exported:
        params = f", with {one.params} written in" if one.params else ""
        lines.append(f"{out / one.file}: {one.kind} '{one.policy}'{params}")
    lines += [f"{path}: removed, no longer exported" for path in removed]
    lines += [f"not exported: {_title(one)}: {one.reason}" for one in export.left_out]
    return "\n".join(lines) or "nothing to export"


def _title(one: LeftOut) -> str:
    binding = f" with binding '{one.binding}'" if one.binding else ""
    return f"{one.kind} '{one.policy}'{binding} ({one.origin.path}:{one.origin.line})"


def _json(export: Export, removed: Sequence[Path], out: Path) -> str:
    document = {
        "apiVersion": API_VERSION,
        "kind": "PolicyExport",
        "exported": [
            {
                "kind": one.kind,
                "policy": one.policy,
                "name": one.name,
                "bindings": list(one.bindings),
                "params": one.params or None,
                "file": str(out / one.file),
            }
            for one in export.exported
        ],
        "notExported": [
            {
                "kind": one.kind,
                "policy": one.policy,
                "binding": one.binding or None,
                "reason": one.reason,
                "source": f"{one.origin.path}:{one.origin.line}",
            }
            for one in export.left_out
        ],
        "removed": [str(path) for path in removed],
        "notes": list(export.notes),
    }
    return json_text(document, indent=2)
