"""The page that Prometheus reads: the promised names, and values that follow what happened."""

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from tests.server.running import review, running
from webhook.model.disruption import LossCause, RestartOutcome
from webhook.server import GroupMetrics, Metrics

DESIGNED: dict[str, set[str]] = {
    "gangwarden_admission_requests_total": {"path", "operation", "kind", "verdict"},
    "gangwarden_admission_duration_seconds_bucket": {"path", "le"},
    "gangwarden_policy_evaluations_total": {"policy", "verdict"},
    "gangwarden_policy_reloads_total": {"status"},
    "gangwarden_policy_set_info": {"hash"},
    "gangwarden_policy_last_reload_timestamp_seconds": set(),
    "gangwarden_certificate_expiry_timestamp_seconds": {"use"},
    "gangwarden_groups": {"state"},
    "gangwarden_group_restarts_total": {"cause", "outcome"},
    "gangwarden_stranded_resource_seconds_total": {"resource", "cause"},
    "gangwarden_snapshot_age_seconds": set(),
    "gangwarden_leader": set(),
}
"""What the design promises to dashboards and alerts, with labels; whatever else is shown is a welcome addition."""


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(CollectorRegistry())


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_the_promised_names_are_there_with_their_labels() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    groups = GroupMetrics(registry, stranded=lambda: {("cpu", "NodeGone"): 1.0}, leads=lambda: True)
    groups.restarted(LossCause.EVICTED, RestartOutcome.WHOLE)
    metrics.answered("/mutate/fail", 0.1, operation="CREATE", kind="Job", verdict="allow")
    metrics.evaluated("p", "deny")
    metrics.reload_succeeded("abc", 1.0)
    metrics.certificate_expires("serving", 2.0)
    page, _ = metrics.render("")
    samples = [sample for family in text_string_to_metric_families(page.decode()) for sample in family.samples]
    shown = {name: {label for sample in samples if sample.name == name for label in sample.labels} for name in DESIGNED}
    assert DESIGNED.keys() <= {sample.name for sample in samples}
    assert shown == DESIGNED


def test_durations_are_told_apart_up_to_the_longest_timeout(metrics: Metrics) -> None:
    metrics.answered("/mutate/fail", 20.0, operation="CREATE", kind="Job", verdict="allow")
    bucket = "gangwarden_admission_duration_seconds_bucket"
    assert value(metrics, bucket, path="/mutate/fail", le="10.0") == 0
    assert value(metrics, bucket, path="/mutate/fail", le="30.0") == 1


def test_only_the_policy_set_in_force_is_named(metrics: Metrics) -> None:
    metrics.reload_succeeded("old", 1.0)
    metrics.reload_succeeded("new", 2.0)
    metrics.reload_failed()
    assert value(metrics, "gangwarden_policy_set_info", hash="old") is None
    assert value(metrics, "gangwarden_policy_set_info", hash="new") == 1
    assert value(metrics, "gangwarden_policy_last_reload_timestamp_seconds") == 2.0
    assert value(metrics, "gangwarden_policy_reloads_total", status="success") == 2
    assert value(metrics, "gangwarden_policy_reloads_total", status="failure") == 1


def test_a_process_is_ready_as_long_as_it_says_so_and_one_that_says_nothing_is_not_on_the_page(metrics: Metrics) -> None:
    unmet = ["policies are not loaded"]
    assert b"gangwarden_ready{" not in metrics.render("")[0]
    metrics.ready_when("webhook", lambda: not unmet)
    assert value(metrics, "gangwarden_ready", process="webhook") == 0
    unmet.clear()
    assert value(metrics, "gangwarden_ready", process="webhook") == 1


def test_an_invented_operation_is_counted_as_other(metrics: Metrics) -> None:
    metrics.answered("/mutate/fail", 0.1, operation="x" * 1000, kind="Job", verdict="refused")
    labels = {"path": "/mutate/fail", "operation": "other", "kind": "Job", "verdict": "refused"}
    assert value(metrics, "gangwarden_admission_requests_total", **labels) == 1


@pytest.mark.parametrize(
    "accept, content_type",
    [("", "text/plain"), ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text")],
)
async def test_the_page_comes_in_the_format_asked_for(accept: str, content_type: str) -> None:
    async with running() as server:
        await server.post(review())
        page = await server.get("/metrics", f"Accept: {accept}\r\n")
        assert page.headers["content-type"].startswith(content_type)
        assert 'gangwarden_admission_duration_seconds_count{path="/validate/fail"} 1.0' in page.text
