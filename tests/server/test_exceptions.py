"""What an operator sees of exceptions: a counter for each, from 0, its end, and the log line of the review."""

import structlog.testing
from prometheus_client import CollectorRegistry

from tests.server.running import review, running
from webhook.model.verdicts import Admitted, ExceptionUse, Finding, Trail, Verdict
from webhook.server import Metrics

USE = ExceptionUse(name="import", owner="o", reason="r", expires="2026-12-31T00:00:00Z", instead="deny")
EXCEPTED = Finding(policy="sizes", rule="validations[0]", verdict=Verdict.ALLOW, exception=USE)
TOTAL, EXPIRY = "gangwarden_policy_exceptions_total", "gangwarden_policy_exception_expiry_timestamp_seconds"


def test_an_exception_that_nobody_has_used_is_counted_as_such() -> None:
    metrics = Metrics(CollectorRegistry())
    metrics.exceptions_in_force({("import", "sizes"): 5.0, ("old", "sizes"): 4.0})
    metrics.excepted("import", "sizes")
    labels = [{"exception": name, "policy": "sizes"} for name in ("import", "old")]
    assert [metrics.registry.get_sample_value(TOTAL, one) for one in labels] == [1, 0]
    assert [metrics.registry.get_sample_value(EXPIRY, one) for one in labels] == [5, 4]


def test_the_end_of_one_that_was_taken_away_is_not_shown_any_more() -> None:
    metrics = Metrics(CollectorRegistry())
    metrics.exceptions_in_force({("import", "sizes"): 5.0})
    metrics.exceptions_in_force({})
    assert metrics.registry.get_sample_value(EXPIRY, {"exception": "import", "policy": "sizes"}) is None


async def test_a_review_that_used_one_is_counted_and_logged_by_its_name() -> None:
    with structlog.testing.capture_logs() as lines:
        async with running(lambda name, _: Admitted(trail=Trail(findings=(EXCEPTED,) if name == "train" else ()))) as server:
            await server.post(review("train"))
            await server.post(review("other"))
            page = (await server.get("/metrics")).text
    first, second = (line for line in lines if line["event"] == "review")
    assert first["exceptions"] == ["import:sizes:validations[0]"]
    assert "exceptions" not in second
    assert f'{TOTAL}{{exception="import",policy="sizes"}} 1.0' in page
