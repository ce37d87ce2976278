"""A review is gone when it is answered, and policies when others take their place: nothing waits for Python's search for cycles.

That search comes seldom to what has grown old, and a set of policies that is loaded makes everything old: what waits for it then
stays for hours, objects of users among it.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.security.fuzz.__main__ import CORPUS
from tests.security.fuzz.reviews import PATHS, denying, reviewed, reviewer_of
from webhook.cli.reviewer import LiveReviewer
from webhook.model.objects import Object
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.policies import bundled_policies, load_policies

REVIEWS = {path.stem: json.loads(path.read_bytes()) for path in sorted((CORPUS / "reviews").glob("*.json"))}
ABSORBS = """
[1, 2, 3].exists(i, object.none.x == i || i == 3) && (object.none.x == 1 || true) && (object.none.x == 1 || oldObject.y || true)
&& (object.none.x == 1 || '%d'.format([dyn(object.kind)]) == '' || true) && ('%d'.format([dyn(object.kind)]) == '' || true)
&& object.none.x == 1
"""
SETS = {
    "shipped": lambda: load_policies([bundled_policies()]),
    "absorbing": lambda: denying("absorbs", ABSORBS),
    "failing": lambda: denying(
        "fails", "variables.none.no.such.field == 1", variables=[{"name": "none", "expression": "object"}]
    ),
}


@pytest.fixture(scope="module", params=SETS)
def reviewer(request: pytest.FixtureRequest) -> LiveReviewer:
    return reviewer_of(SETS[request.param]())


@pytest.fixture
def without_search() -> Iterator[None]:
    """Only what nothing knows any more is freed."""
    gc.collect()
    gc.disable()
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


@pytest.mark.usefixtures("without_search")
@pytest.mark.parametrize("review", REVIEWS.values(), ids=REVIEWS)
def test_nothing_of_a_review_waits_for_the_search_for_cycles(reviewer: LiveReviewer, review: Object) -> None:
    for debug in (0, gc.DEBUG_SAVEALL):  # the first time what is kept for all that follow is made
        gc.set_debug(debug)
        for phase, failure_policy in PATHS:
            reviewed(reviewer, review, phase, failure_policy)
        gc.collect()
    assert Counter(type(one).__qualname__ for one in gc.garbage) == {}


@pytest.mark.usefixtures("without_search")
def test_nothing_of_a_set_of_policies_waits_for_it() -> None:
    for debug in (0, gc.DEBUG_SAVEALL):
        reviewer = reviewer_of(
            denying("often", "object.kind != oldObject.kind && [1, 2].exists(i, i == object.spec.parallelism)")
        )
        for _ in range(200):  # and then it has generated code
            reviewed(reviewer, REVIEWS["job-update"], Phase.VALIDATE, FailurePolicy.FAIL)
        gc.collect()
        gc.set_debug(debug)
        del reviewer
        gc.collect()
    assert Counter(type(one).__qualname__ for one in gc.garbage) == {}
