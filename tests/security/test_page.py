"""What docs/security.md claims: every test that it names is there, and no threat and no point of the checklist is left out."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)))
POINTS = range(1, 27)


@cache
def functions_of(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def rows(heading: str) -> dict[int, str]:
    """Return the numbered rows of the table under a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return {int(number): rest for number, rest in re.findall(r"^\| (\d+) \|(.*)$", section, re.MULTILINE)}


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_every_test_that_is_named_is_there(path: str, name: str) -> None:
    assert name in functions_of(path)


def test_every_threat_has_a_row_with_its_test_or_says_that_there_is_none() -> None:
    found = rows("The threats of SIG Security")
    assert sorted(found) == list(range(1, 19))
    assert [number for number, row in found.items() if "::test_" not in row] == [17]


@pytest.mark.parametrize("point", POINTS)
def test_every_point_of_the_checklist_has_a_test_with_its_number(point: int) -> None:
    (named,) = re.findall(r"`(tests/security/\w+\.py)::(test_(\d\d)_\w+)`", rows("The checklist")[point])
    assert int(named[2]) == point
    assert named[1] in functions_of(named[0])
