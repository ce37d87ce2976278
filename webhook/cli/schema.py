"""``gangwarden schema``: what editors need to complete and check policy files while they are written."""

from __future__ import annotations

import click

from webhook.policies import SCHEMA_KINDS, schema_of, schema_of_all
from webhook.reports import json_text


@click.command("schema")
@click.argument("kind", metavar="[KIND]", required=False, type=click.Choice(SCHEMA_KINDS, case_sensitive=False))
def schema_command(kind: str | None) -> None:
    """Print the JSON Schema (draft 7) of a kind; without KIND one for files that hold documents of several kinds.

    KIND is one of the kinds that stand in policy files, such as WorkloadPolicy or PolicyTest.
    """
    click.echo(json_text(schema_of(kind) if kind else schema_of_all(), indent=2))
