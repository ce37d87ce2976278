"""What docs/cel.md tells of ``cluster``: every method, what is watched for it, and examples that give what they say."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import pytest
import yaml

from tests.docs.pages import ROOT, blocks_of
from webhook.cel import Declarations, compile_expression
from webhook.cluster import load_snapshot
from webhook.model.objects import Object
from webhook.preemption import Capacity, NodeRoomView
from webhook.rules.cluster import CLUSTER_METHODS, NEEDED_KINDS, ClusterView
from webhook.rules.declare import CLUSTER_RESULTS

PAGE = ROOT / "docs/cel.md"
_, _, SECTION = PAGE.read_text().partition("\n## The cluster\n")
SECTION = SECTION.partition("\n## ")[0]
METHODS = re.findall(r"^\| (`cluster\.[^|]+) \| [^|]+ \| ([^|]+) \|$", SECTION, re.MULTILINE)
EXAMPLES = re.findall(r"^\| `([^|]+)` \| `([^|]+)` \|$", SECTION, re.MULTILINE)
DECLARED = Declarations(variables=frozenset({"object"}), hosts={"cluster": CLUSTER_METHODS}, results=CLUSTER_RESULTS)


@dataclass(frozen=True)
class Document:
    """One document of the page."""

    object: Object
    source: str = "docs/cel.md"
    line: int = 1


@functools.cache
def world() -> tuple[ClusterView, Object]:
    """Return the cluster of the page, and the object that is asked about."""
    (block,) = [block for block in blocks_of(PAGE) if block.claim == "cluster"]
    listed, capabilities, job = yaml.safe_load_all(block.text)
    snapshot, seen = load_snapshot([Document(obj) for obj in (*listed["items"], capabilities)])
    room = NodeRoomView(lambda: Capacity.of(snapshot))
    return ClusterView(snapshot, job["metadata"]["namespace"], room=room, capabilities=seen), job


def methods_in(text: str) -> set[str]:
    return set(re.findall(r"cluster\.(\w+)\(", text))


@pytest.mark.parametrize("expression, value", EXAMPLES)
def test_an_example_gives_what_the_page_says(expression: str, value: str) -> None:
    view, job = world()
    assert compile_expression(f"({expression}) == {value}", DECLARED).evaluate({"cluster": view, "object": job}) is True


def test_every_method_is_told_of_and_has_an_example() -> None:
    assert methods_in(" ".join(told for told, _ in METHODS)) == set(CLUSTER_METHODS)
    assert methods_in(" ".join(expression for expression, _ in EXAMPLES)) == set(CLUSTER_METHODS)


@pytest.mark.parametrize("told, watched", METHODS)
def test_what_is_watched_for_a_method_is_what_the_page_says(told: str, watched: str) -> None:
    (method,) = methods_in(told)
    kinds = {kind for _, kind in NEEDED_KINDS.get(method, ())}
    assert watched == (", ".join(sorted(kinds)) or "nothing")
