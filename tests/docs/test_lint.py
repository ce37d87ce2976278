"""The page on linting: every rule is there, and its examples are what it says of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.admission.advice.linting import linted, marked
from tests.docs.pages import ROOT, Block, blocks_of
from webhook.admission.advice import ADVICE

PAGE = ROOT / "docs/lint.md"
EXAMPLES = [block for block in blocks_of(PAGE) if block.claim.startswith("lint: ")]


def test_every_rule_has_a_section_with_an_example_of_what_is_told_and_of_what_is_not() -> None:
    assert set(re.findall(r"^### ([\w-]+)$", PAGE.read_text(), re.MULTILINE)) == ADVICE.keys()
    told = {block.claim.removeprefix("lint: ") for block in EXAMPLES}
    assert ADVICE.keys() - told == set()
    whole = {block.claim.removeprefix("lint: ") for block in EXAMPLES if marked(block.text)}
    silent = {name.removeprefix("not ") for name in told if name.startswith("not ")}
    assert ADVICE.keys() - whole - silent == set()


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: f"{block.claim} ({block.line})")
def test_an_example_is_spoken_of_as_the_page_says(block: Block, tmp_path: Path) -> None:
    rule = block.claim.removeprefix("lint: ").removeprefix("not ")
    found = [one for one in linted(block.text, tmp_path) if one.rule == rule]
    if block.claim.startswith("lint: not "):
        assert found == []
    elif marked(block.text):
        assert sorted({one.line for one in found}) == marked(block.text)
    else:
        assert found
