"""The command line as a whole: help, versions, completion, and the processes that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import IO

import click
import pytest

from tests.cli.conftest import Gangwarden, Write
from tests.policies.writing import binding, validating
from webhook.cli import main
from webhook.cli.app import _COMMANDS

BIN = Path(sys.executable).parent
OFFLINE = ("kubernetes", "aiohttp", "cryptography", "starlette", "uvicorn")


def all_commands() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    for name in _COMMANDS:
        command = main.get_command(click.Context(main), name)
        found.append((name,))
        found += [(name, sub) for sub in getattr(command, "commands", ())]
    return found


def run(*args: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"}}
    return subprocess.run(args, capture_output=True, text=True, env=kept | environment, timeout=60, check=False)


@pytest.mark.parametrize("command", all_commands(), ids=" ".join)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help(command: tuple[str, ...], flag: str, gangwarden: Gangwarden) -> None:
    result = gangwarden(*command, flag)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: {' '.join(('gangwarden', *command))} ")
    assert max(map(len, result.stdout.splitlines())) <= 110


def test_the_list_of_commands_has_a_sentence_for_each(gangwarden: Gangwarden) -> None:
    shown = " ".join(gangwarden("--help").stdout.split())
    assert [name for name, (_, sentence) in _COMMANDS.items() if f"{name} {sentence}" not in shown] == []


def test_the_help_names_the_exit_codes(gangwarden: Gangwarden) -> None:
    shown = " ".join(gangwarden("--help").stdout.split())
    assert "0 no findings, 1 findings, 2 usage, 3 a policy is broken, 4 an input is broken, 5 no cluster" in shown


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version_is_that_of_the_package(flag: str, gangwarden: Gangwarden) -> None:
    assert gangwarden(flag).stdout == f"gangwarden {version('gangwarden')}\n"


def test_an_unknown_command_is_a_slip_of_usage(gangwarden: Gangwarden) -> None:
    result = gangwarden("chek")
    assert result.exit_code == 2
    assert "chek" in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell: str, gangwarden: Gangwarden) -> None:
    result = gangwarden("completion", shell)
    assert result.exit_code == 0
    assert "_GANGWARDEN_COMPLETE" in result.stdout


def test_completion_offers_commands_and_flags() -> None:
    def offered(words: str, number: str) -> list[str]:
        done = run(BIN / "gangwarden", _GANGWARDEN_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=number)
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert offered("gangwarden c", "1") == ["check", "controller", "certs", "completion"]
    assert "--fail-on" in offered("gangwarden check --fa", "2")
    assert offered("gangwarden webhooks ", "2") == ["apply", "delete", "plan", "probe"]


@pytest.mark.parametrize("name", ["gangwarden", "kubectl-gangwarden"])
def test_both_entry_points_run(name: str, write: Write) -> None:
    policies, manifest = write("p.yaml", validating(), binding()), write("m.yaml", validating())
    done = run(BIN / name, "check", "-p", policies, manifest)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("1 skip\n")


@pytest.mark.parametrize("command", [("check", "-o", "json"), ("check",), ("lint",), ("schema",)], ids=" ".join)
@pytest.mark.parametrize("end", ["a full disk", "a reader that has left"])
def test_output_that_cannot_be_written_is_told(command: tuple[str, ...], end: str, write: Write) -> None:
    policies = write("p.yaml", validating(), binding())
    rest = {"check": ("-p", policies, write("m.yaml", validating())), "lint": (policies,), "schema": ()}[command[0]]
    with Path("/dev/full").open("w") if end == "a full disk" else _left_pipe() as output:
        done = subprocess.run(
            [BIN / "gangwarden", *command, *rest], stdout=output, stderr=subprocess.PIPE, text=True, check=False
        )
    reason = "No space left on device" if end == "a full disk" else "Broken pipe"
    assert done.stderr.startswith(f"error: the output could not be written whole: {reason}\n")
    assert (done.returncode, done.stderr.count("\n")) == (2, 2)


def _left_pipe() -> IO[str]:
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w")


def test_an_error_of_a_process_is_words_and_an_exit_code(write: Write) -> None:
    done = run(BIN / "gangwarden", "check", "-p", write("p.yaml", "a: ["), write("m.yaml", validating()))
    assert done.returncode == 3
    assert done.stderr.startswith("error: p.yaml:")
    assert "Traceback" not in done.stderr


def test_colour_is_for_terminals_and_can_be_refused(write: Write) -> None:
    command = (BIN / "gangwarden", "check", "-p", write("p.yaml", validating(), binding()), write("m.yaml", validating()))
    assert "\x1b[" not in run(*command).stdout
    assert "\x1b[" in run(*command, FORCE_COLOR="1").stdout  # rich's word for: take this for a terminal
    assert "\x1b[3" not in run(*command, FORCE_COLOR="1", NO_COLOR="1").stdout


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("webhook.cli.app", ("rich", "celpy", *OFFLINE)),
        ("webhook.cli.evaluate", OFFLINE),
        ("webhook.cli.check", OFFLINE),
        ("webhook.cli.webhooks", ("kubernetes", "aiohttp", "starlette", "uvicorn")),
    ],
)
def test_offline_commands_do_not_load_what_they_do_not_need(module: str, absent: tuple[str, ...]) -> None:
    program = f"import sys, {module}; print(*[name for name in {absent!r} if name in sys.modules])"
    assert run(sys.executable, "-c", program).stdout == "\n"
