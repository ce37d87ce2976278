"""A tally shows what a Counter of ``prometheus_client`` shows."""

from __future__ import annotations

import re

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.exposition import choose_encoder

from webhook.server.tally import Tally

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
