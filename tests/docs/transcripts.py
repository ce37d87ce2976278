"""Pages that show a terminal: commands in ``sh`` blocks, and below each what is printed, in a ``text`` block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.docs.pages import Block, blocks_of

VARYING = re.compile(r"\d+(s|m\d*s?)\b|-[0-9a-f]{10}\b|(?<=-\d)-[a-z0-9]{5}\b")
"""Ages, the fresh parts of names."""


def steps(page: Path) -> Iterator[tuple[Block, Block | None]]:
    """Yield each command block with the block of its output, if it has one."""
    found = [block for block in blocks_of(page) if block.language in {"sh", "text"}]
    for block, following in pairwise((*found, None)):
        if block and block.language == "sh":
            yield block, following if following and following.language == "text" else None


def shows(said: str, output: Block) -> bool:
    """Tell whether lines occur in this order; ``…`` stands for anything, and ages and fresh names may differ."""
    lines = iter([same(line) for line in said.splitlines()])
    wanted = [same(line) for line in output.text.splitlines() if line.strip() not in {"", "…"}]
    return all(any(matches(line, pattern) for line in lines) for pattern in wanted)


def same(line: str) -> str:
    return re.sub(r"\s+", " ", VARYING.sub("~", line)).strip()


def matches(line: str, pattern: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), line) is not None
