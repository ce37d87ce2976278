"""The pages of the documentation, taken apart: fenced blocks with what is claimed of them, links, tables, inline code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(
            path
            for folder in ("docs", "charts", "policies", "policies-optional", "examples")
            for path in (ROOT / folder).rglob("*.md")
        ),
    }
)
_FENCE = re.compile(r"(?:<!-- (?P<claim>[^\n]+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block; ``claim`` is the HTML comment on the line before it, such as ``denied by: size-limits``."""

    page: Path
    line: int
    language: str
    text: str
    claim: str = ""

    def __str__(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    """Return a page's path within the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(*languages: str) -> list[Block]:
    """Return the blocks of some languages on all pages."""
    return [block for page in PAGES for block in blocks_of(page) if block.language in languages]


def blocks_of(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start("language")) + 1
        yield Block(page, line, found["language"], found["text"], found["claim"] or "")


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """Return where a page's links lead."""
    return _LINK.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings as links write them."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in _HEADING.findall(prose(page))}


def section(page: Path, title: str) -> str:
    """Return what stands under a heading, up to the next one of its rank or above."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^#{{1,2}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"{name_of(page)} has no section {title!r}"
    return found[2]


def first_cells(text: str) -> list[str]:
    """Return the code in the first column of tables, row by row."""
    return [cell for row in re.findall(r"^\| (.+?) \|", text, re.MULTILINE) for cell in re.findall(r"`([^`]+)`", row)]


def inline_code(page: Path) -> list[str]:
    """Return the inline code of a page."""
    return re.findall(r"`([^`\n]+)`", prose(page))
