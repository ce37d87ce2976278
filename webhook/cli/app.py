"""The command line: which commands there are, and how errors leave.

Commands are imported when they are called, so that ``--help`` and shell completion do not load a whole server.
"""

from __future__ import annotations

from importlib import import_module

import click
from click.shell_completion import CompletionItem

from webhook.cli.collecting import without_search
from webhook.cli.output import written_whole
from webhook.errors import GangwardenError

_COMMANDS = {
    "check": ("webhook.cli.check", "Judge manifests offline, with the verdicts of the API server."),
    "test": ("webhook.cli.testing", "Run the test cases that stand beside policies."),
    "lint": ("webhook.cli.lint", "Look at policies: what does not load, and advice on what does."),
    "eval": ("webhook.cli.evaluate", "Evaluate a CEL expression, or JSON lines of them."),
    "dev": ("webhook.cli.develop", "Serve with embedded defaults and admit every manifest of a folder, again on every edit."),
    "serve": ("webhook.cli.processes", "Run a webhook replica in a cluster."),
    "controller": ("webhook.cli.processes", "Run the controller in a cluster."),
    "run": ("webhook.cli.processes", "Run webhook and controller side by side in one process."),
    "explain": ("webhook.cli.explain", "Tell what became of a group, and why, with the next step."),
    "webhooks": ("webhook.cli.webhooks", "Plan, apply or delete the webhook configurations that the policies need."),
    "policies": ("webhook.cli.export", "Write policies for the API server's own file loader."),
    "certs": ("webhook.cli.certificates", "Make, replace and show certificates."),
    "snapshot": ("webhook.cli.snapshot", "Save what policies may ask of a cluster, for --snapshot."),
    "schema": ("webhook.cli.schema", "Print the JSON Schema of policy files, for editors."),
    "completion": ("webhook.cli.completion", "Print the completion script of a shell."),
}


class Commands(click.Group):
    """Loads a command when it is needed, and turns our errors into words and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands, in the order of a day's work."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        if cmd_name not in _COMMANDS:
            return None
        with without_search():
            module = import_module(_COMMANDS[cmd_name][0])
        found = getattr(module, f"{cmd_name}_command")
        assert isinstance(found, click.Command)  # noqa: S101 - a slip in the table above, not a user's doing
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List commands with their sentences, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in _COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer commands by the table: click would import each of them at every press of the key."""
        offered = [CompletionItem(name, help=told) for name, (_, told) in _COMMANDS.items() if name.startswith(incomplete)]
        return offered + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; an error of ours is printed with what to do next, and decides the exit code."""
        try:
            with written_whole():
                return super().invoke(ctx)
        except GangwardenError as error:
            from webhook.reports import print_error, terminal  # noqa: PLC0415 - most runs end without an error

            print_error(terminal(stderr=True), error)
            ctx.exit(error.exit_code)


@click.group(
    name="gangwarden",
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 no findings, 1 findings, 2 usage, 3 a policy is broken, 4 an input is broken, 5 no cluster.",
)
@click.version_option(None, "-V", "--version", package_name="gangwarden", message="gangwarden %(version)s")
def main() -> None:
    """Policy-as-code admission for gangs on Kubernetes: all pods of a group start together, or none does."""
