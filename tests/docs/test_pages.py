"""The pages hold together: links lead somewhere, generated parts are as the code has them, quoted commands exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.docs.generate import PARTS, renewed
from tests.docs.pages import PAGES, ROOT, anchors, blocks, first_cells, inline_code, links, name_of, section
from webhook import errors
from webhook.cli import main as command_line
from webhook.cluster.files import CAPABILITIES
from webhook.policies.kinds import _KINDS, Treatment

README = ROOT / "README.md"
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
GROUP_TOKEN = re.compile(r"-[0-9a-f]{10}\b")
MACHINE = (str(ROOT), str(Path.home()))
SELF_PRAISE = re.compile(
    r"\b(seamless|powerful|blazing|simply|easily|robust|cutting-edge|best-in-class|effortless)", re.IGNORECASE
)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [link for link in links(page) if not leads(page, link)] == []


def leads(page: Path, link: str) -> bool:
    if link.startswith("https://"):
        return True
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_generated_parts_are_as_the_code_has_them(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert renewed(text) == text, "run: python -m tests.docs.generate"


def test_every_part_that_can_be_generated_stands_on_a_page() -> None:
    everything = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in PARTS if f"<!-- generated: {name} -->" not in everything] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_names_no_machine_and_does_not_praise(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [place for place in MACHINE if place in text] + SELF_PRAISE.findall(text) == []


def commands_on(page: Path) -> Iterator[list[str]]:
    """Yield the quoted commands of a page that are ours or make's."""
    shell = [block.text.replace("\\\n", " ") for block in blocks("sh", "") if block.page == page]
    for line in (*inline_code(page), *(line for text in shell for line in text.splitlines())):
        for words in simple_commands(line) if re.search(r"\b(gangwarden|make) [a-z]", line) else ():
            if Path(words[0]).name in {"gangwarden", "make"}:
                yield [Path(words[0]).name, *words[1:]]


def simple_commands(line: str) -> Iterator[list[str]]:
    """Yield the commands of a line, which pipes and ``&&`` part."""
    words: list[str] = []
    for word in (*shlex.split(line, comments=True), "|"):
        if word not in {"|", "&&"}:
            words.append(word)
        elif words:
            yield words
            words = []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_quoted_command_exists_with_its_flags(page: Path) -> None:
    assert [words for words in commands_on(page) if not exists(words)] == []


def exists(words: list[str]) -> bool:
    if words[0] == "make":
        return words[1] in TARGETS
    command: click.Command = command_line
    context, rest = click.Context(command, info_name="gangwarden", **command_line.context_settings), words[1:]
    while rest and isinstance(command, click.Group) and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        if found is None:
            return rest[0] == "COMMAND"
        command, context, rest = found, click.Context(found, info_name=rest[0], parent=context), rest[1:]
    try:
        command.make_parser(context).parse_args(list(rest))
    except click.UsageError:
        return False
    return True


@pytest.mark.parametrize("words", [["gangwarden", "frobnicate"], ["gangwarden", "check", "--no-such-flag"], ["make", "coffee"]])
def test_a_command_that_is_not_there_would_be_found(words: list[str]) -> None:
    assert not exists(words)


@pytest.fixture(scope="module")
def examples() -> list[str]:
    """What ``make run ONCE=1`` prints, on a terminal that is wide enough."""
    command = [Path(sys.executable).parent / "gangwarden", "dev", "--once", "examples"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "COLUMNS": "160"}, capture_output=True, text=True, timeout=60, check=True
    )
    return [GROUP_TOKEN.sub("", line.rstrip()) for line in done.stdout.splitlines()]


def test_the_readme_shows_what_make_run_prints(examples: list[str]) -> None:
    (block,) = [block for block in blocks("text") if block.claim == "output of: gangwarden dev --once examples"]
    printed = iter(examples)
    for line in block.text.splitlines():
        wanted, is_cut = GROUP_TOKEN.sub("", line.rstrip("… ")), line.endswith("…")
        if wanted:
            assert any(said == wanted or (is_cut and said.startswith(wanted)) for said in printed), line


def test_the_readme_lists_the_exit_codes() -> None:
    codes = {cls.exit_code for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, errors.GangwardenError)}
    assert first_cells(section(README, "Check in CI")) == [str(code) for code in sorted({0} | codes)]


def test_the_readme_lists_the_kinds_that_are_refused() -> None:
    later = [kind for kind, (_, treatment) in _KINDS.items() if treatment is Treatment.LATER]
    said = section(README, "What this version does, and what it refuses")
    assert [kind for kind in later if f"`{kind}`" not in said] == []


def test_every_kind_of_document_is_in_the_reference() -> None:
    said = section(ROOT / "docs/reference/policies.md", "Files")
    assert [kind for kind in (*_KINDS, CAPABILITIES.kind) if f"`{kind}`" not in said and "Webhook" not in kind] == []
