"""The quick way through a file comes to what the strict one comes to, or leaves the file to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from webhook.policies import read_documents
from webhook.policies.nodes import BrokenSource
from webhook.policies.plain import read_plain

ROOT = Path(__file__).parents[2]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
WORDS = st.sampled_from(
    ["on", "~", "017", "1_0", "1.0", ".inf", "<<", "<<: *a", "&a x", "*a", "!!str 1", "'q'", '"d"', "|\n  b", ""]
)


def strictly(text: bytes, path: str) -> list[tuple[int, int, Any]]:
    return [(document.number, document.root.line, document.root.plain()) for document in read_documents(text, path)]


def exactly(value: Any) -> str:
    return json.dumps(value)  # tells 1 from 1.0 and true


def agree(text: bytes, path: str = "x.yaml") -> bool:
    """Return whether the file could be read quickly; fails where that came to something else."""
    found = read_plain(text, path)
    if found is not None:
        assert exactly([(one.number, one.line, one.value) for one in found]) == exactly(strictly(text, path))
    return found is not None


@given(st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)))
def test_what_was_dumped_is_read_as_it_is_read_strictly(value: Any) -> None:
    agree(yaml.safe_dump_all([value, {"items": [value]}], sort_keys=False).encode())
    agree(json.dumps(value).encode(), "x.json")


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["", "- ", "a: ", "b: ", "on: ", "- c: ", "---\n"]), WORDS), max_size=8)
)
def test_lines_thrown_together_are_read_as_they_are_read_strictly(lines: list[tuple[int, str, str]]) -> None:
    text = "\n".join(" " * indent + start + word for indent, start, word in lines).encode()
    try:
        agree(text)
    except BrokenSource as error:
        pytest.fail(f"read, though it is broken: {error.message}")


@pytest.mark.parametrize("path", sorted(ROOT.glob("policies*/*/*/policy.yaml")) + sorted(ROOT.glob("examples/*/*.yaml")), ids=str)
def test_every_file_of_ours_is_read_quickly(path: Path) -> None:
    assert agree(path.read_bytes())


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2", "a: &x 1", "a: *x", "<<: {b: 1}", "a: !!str 1", "a: !x {b: 1}", "a: .nan", "~: 1", "{[a]: 1}", "a: [",
        "\xff", "a: \x00", "[" * 102 + "]" * 102, "items: &x []", "&x a: 1",
    ],
)  # fmt: skip
def test_what_is_out_of_the_ordinary_is_left_to_the_strict_reader(text: str) -> None:
    assert read_plain(text.encode("latin-1"), "x.yaml") is None


def test_the_entries_of_a_list_have_their_lines() -> None:
    (document,) = read_plain(b"kind: List\nitems:\n- a: 1\n-\n  b: 2\n- [c]\n", "x.yaml") or []
    assert document.item_lines == [3, 5, 6]
