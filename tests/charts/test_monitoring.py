"""Alerts and dashboard, read as Prometheus reads them: each metric, label and value of a label is one that there is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import promql_parser as promql
import pytest

from tests.charts.helm import named, render
from tests.docs.pages import ROOT
from webhook.model.disruption import GroupState
from webhook.model.objects import Object

RUNBOOK = (ROOT / "docs/runbook.md").read_text()
VERDICTS = {"allow", "patch", "deny", "refused", "shed", "error", "abandoned", "warn", "audit"}
VALUES = {
    "state": {state.value for state in GroupState},
    "status": {"success", "failure"},
    "use": {"serving", "authority"},
    "process": {"webhook"},
    "verdict": VERDICTS,
}
"""What labels may say, where it is not for users to choose."""
PAGE = (ROOT / "docs/reference/metrics.md").read_text()
ON_THE_PAGE = re.search(r"## Alerts worth having\n\n```\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def objects() -> list[Object]:
    return render({"prometheusRule": {"enabled": True, "reloadDays": 3}, "dashboard": {"enabled": True}})


@pytest.fixture(scope="module")
def alerts(objects: list[Object]) -> list[Object]:
    groups = named(objects, "PrometheusRule", "gangwarden")["spec"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


@pytest.fixture(scope="module")
def board(objects: list[Object]) -> Object:
    (text,) = named(objects, "ConfigMap", "gangwarden-dashboard")["data"].values()
    return json.loads(text)


@pytest.fixture(scope="module")
def queries(alerts: list[Object], board: Object) -> list[str]:
    """Every query of alerts, dashboard and documentation."""
    page = ON_THE_PAGE[1] if ON_THE_PAGE else ""
    lines = [line for line in page.splitlines() if line and not line.startswith("#")]
    assert len(lines) > 5
    return [rule["expr"] for rule in alerts] + [target["expr"] for _, target in targets(board)] + lines


def targets(board: Object) -> list[tuple[str, Object]]:
    return [(panel["title"], target) for panel in board["panels"] for target in panel["targets"]]


def served() -> dict[str, set[str]]:
    """Return the labels of every series of our page, by its name: the table of metrics.md, which is written from the code."""
    found = {}
    for name, kind, labels in re.findall(r"^\| `(gangwarden_\w+)` \| (\w+) \| (.*?) \|", PAGE, re.MULTILINE):
        names = set(re.findall(r"`(\w+)`", labels))
        for ending in ("_bucket", "_sum", "_count") if kind == "histogram" else ("",):
            found[name + ending] = names | ({"le"} if ending == "_bucket" else set())
    return found


SERVED = served()


def parts(expr: Any) -> Iterator[Any]:
    """Yield an expression and all that it is made of."""
    yield expr
    inside = [getattr(expr, name, None) for name in ("lhs", "rhs", "expr", "vector_selector", "vs", "param")]
    for part in [*inside, *getattr(expr, "args", ())]:
        if isinstance(part, promql.Expr):
            yield from parts(part)


def selectors(query: str) -> list[Any]:
    return [part for part in parts(promql.parse(query)) if isinstance(part, promql.VectorSelector)]


def test_a_query_is_one_and_asks_for_what_there_is(queries: list[str]) -> None:
    for query in queries:
        found = selectors(query)
        assert found, "it asks for nothing"
        labels = set().union(*(SERVED[selector.name] for selector in found))
        for selector in found:
            for matcher in selector.matchers.matchers:
                assert matcher.name in SERVED[selector.name], query
                if matcher.name in VALUES:
                    assert set(matcher.value.split("|")) <= VALUES[matcher.name], query
        for part in parts(promql.parse(query)):
            if isinstance(part, promql.AggregateExpr) and part.modifier is not None:
                assert set(part.modifier.labels) <= labels, query


def test_the_reader_of_queries_refuses_what_prometheus_would() -> None:
    for wrong in ("sum(gangwarden_leader", "rate(gangwarden_leader)", "gangwarden_leader{", "min by x (gangwarden_leader)"):
        with pytest.raises(ValueError, match=r".+"):
            promql.parse(wrong)
    (found,) = selectors('sum(rate(gangwarden_nothing{verdict="shed"}[5m])) > 0')
    assert found.name not in SERVED


def test_an_alert_says_what_it_is_about_and_points_at_its_heading(alerts: list[Object]) -> None:
    assert len(alerts) > 12
    for rule in alerts:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"].endswith((".", "?"))
        assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{rule['alert'].lower()}"
        heading = f"\n### {rule['alert']}\n"
        assert RUNBOOK.count(heading) == 1
        assert "**Next:**" in RUNBOOK.split(heading)[1].split("\n### ")[0]
        assert promql.parse_duration(rule.get("for", "1s"))
        used = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        modifiers = [part.modifier for part in parts(promql.parse(rule["expr"])) if isinstance(part, promql.AggregateExpr)]
        assert used <= set().union(*(modifier.labels for modifier in modifiers if modifier is not None))


def test_the_runbook_explains_no_alert_that_there_is_not(alerts: list[Object]) -> None:
    section = RUNBOOK.split("\n## Alerts\n")[1].split("\n## ")[0]
    assert re.findall(r"^### (\w+)$", section, re.MULTILINE) == [rule["alert"] for rule in alerts]


def test_alerts_point_to_where_the_runbook_is_read() -> None:
    values = {"prometheusRule": {"enabled": True, "runbookUrl": "https://docs.example.com/runbook"}}
    (groups,) = [one["spec"]["groups"] for one in render(values) if one["kind"] == "PrometheusRule"]
    names = {rule["alert"] for group in groups for rule in group["rules"]}
    assert "GangwardenPoliciesOld" not in names, "only where it was asked for"
    assert {rule["annotations"]["runbook_url"].partition("#")[0] for group in groups for rule in group["rules"]} == {
        "https://docs.example.com/runbook"
    }


def test_the_dashboard_is_one_that_grafana_shows(board: Object) -> None:
    assert {variable["name"]: variable["type"] for variable in board["templating"]["list"]} == {"source": "datasource"}
    assert (board["uid"], board["schemaVersion"]) == ("gangwarden", 39)
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["datasource"] == {"type": "prometheus", "uid": "${source}"}
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        assert panel["fieldConfig"]["defaults"]["unit"] in {"short", "s", "d", "reqps"}
    for one, other in combinations((panel["gridPos"] for panel in panels), 2):
        apart = [one[at] + one[size] <= other[at] or other[at] + other[size] <= one[at] for at, size in (("x", "w"), ("y", "h"))]
        assert any(apart)
    assert max(panel["gridPos"]["x"] + panel["gridPos"]["w"] for panel in panels) == 24


def test_a_legend_names_labels_that_its_query_keeps(board: Object) -> None:
    for title, target in targets(board):
        outer = (promql.ParenExpr, promql.BinaryExpr)
        expr = next(part for part in parts(promql.parse(target["expr"])) if not isinstance(part, outer))
        kept = set(expr.modifier.labels) if isinstance(expr, promql.AggregateExpr) and expr.modifier is not None else set()
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) == kept, title


def test_grafanas_sidecar_finds_the_dashboard(objects: list[Object]) -> None:
    assert named(objects, "ConfigMap", "gangwarden-dashboard")["metadata"]["labels"]["grafana_dashboard"] == "1"
