"""A tally shows what a Counter of ``prometheus_client`` shows."""

from __future__ import annotations

import re

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.exposition import choose_encoder

from webhook.server.tally import BUNDLES, Tally

NAME, WHAT, LABELS = "gangwarden_things_total", "Things.", ["kind", "verdict"]
COUNTED = [("a", "allow"), ("b", "deny"), ("a", "allow"), ('"\n', "allow")]


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0"])
def test_the_page_is_that_of_a_counter(accept: str) -> None:
    encoder, _ = choose_encoder(accept)
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    tally, counter = Tally(NAME, WHAT, LABELS, registry=ours), Counter(NAME, WHAT, LABELS, registry=theirs)
    for labels in COUNTED:
        tally.add(*labels)
        counter.labels(*labels).inc()
    tally.add_all(COUNTED)
    for labels in COUNTED:
        counter.labels(*labels).inc()
    pages = [re.sub(r"(_created\S* )\S+", r"\1T", encoder(registry).decode()) for registry in (ours, theirs)]
    assert pages[0] == pages[1]
    assert ours.get_sample_value(NAME, {"kind": "a", "verdict": "allow"}) == 4.0


def test_no_two_have_one_name() -> None:
    registry = CollectorRegistry()
    Tally(NAME, WHAT, LABELS, registry=registry)
    with pytest.raises(ValueError, match="Duplicated"):
        Tally(NAME, WHAT, LABELS, registry=registry)


def test_a_bundle_counts_as_its_parts_do() -> None:
    registry = CollectorRegistry()
    tally = Tally(NAME, WHAT, LABELS, registry=registry)
    one, asked = object(), []

    def several() -> list[tuple[str, str]]:
        asked.append(True)
        return [("a", "allow"), ("b", "deny"), ("a", "allow")]

    tally.add("a", "allow")
    for _ in range(3):
        tally.add_bundle(one, several)
    assert len(asked) == 1
    assert registry.get_sample_value(NAME, {"kind": "a", "verdict": "allow"}) == 7.0
    for _ in range(2 * BUNDLES):  # more than are kept apart; each object lives as long as its bundle
        tally.add_bundle(object(), several)
    tally.add("b", "deny")
    assert registry.get_sample_value(NAME, {"kind": "a", "verdict": "allow"}) == 7.0 + 4 * BUNDLES
    assert registry.get_sample_value(NAME, {"kind": "b", "verdict": "deny"}) == 4.0 + 2 * BUNDLES
