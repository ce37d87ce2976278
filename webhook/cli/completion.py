"""Shell completion, as click makes it."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion", epilog='Example: eval "$(gangwarden completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script of a shell."""
    from webhook.cli.app import main  # noqa: PLC0415 - app imports its commands by name

    made = get_completion_class(shell)
    assert made is not None  # noqa: S101 - click knows the three shells above
    click.echo(made(main, {}, "gangwarden", "_GANGWARDEN_COMPLETE").source())
