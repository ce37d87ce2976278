"""The page for authors of controllers: its program prints what it shows."""

from __future__ import annotations

import subprocess
import sys

from tests.docs.pages import ROOT, blocks_of

PAGE = ROOT / "docs/operator-authors.md"


def test_the_program_prints_what_the_page_shows() -> None:
    program, shown = (
        next(block.text for block in blocks_of(PAGE) if block.language == language) for language in ("python", "text")
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == shown
