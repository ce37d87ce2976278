"""Exceptions for tests, compiled, in the fewest words that say what matters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.rules.building import constraints, rule, text
from webhook.model.exceptions import ExceptedRule, PolicyException
from webhook.model.policies import MatchResources, NamedExpression, Origin
from webhook.rules import CompiledException, compile_exception

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
PLACE = Origin("exceptions.yaml", 3)
JOBS = constraints(rule(api_groups=["batch"], api_versions=["v1"], resources=["jobs"]))
IN_TEAM_A = "request.namespace == 'team-a'"


def source(*conditions: str, name: str = "import", rules: tuple[str, ...] = ("validations[0]",), **parts: Any) -> PolicyException:
    named = (NamedExpression(name=f"c{i}", expression=text(cel)) for i, cel in enumerate(conditions or (IN_TEAM_A,)))
    default: dict[str, Any] = {"owner": "batch@example.com", "reason": "being split", "expires": NOW + timedelta(days=30)}
    return PolicyException(
        name=name,
        origin=PLACE,
        policy_kind="ValidatingAdmissionPolicy",
        policy_name="sizes",
        policy_origin=PLACE,
        rules=tuple(ExceptedRule(name=one, origin=PLACE) for one in rules),
        match_conditions=tuple(named),
        **default | parts,
    )


def exception(*conditions: str, of: MatchResources = JOBS, **parts: Any) -> CompiledException:
    """Write an exception for Jobs of namespace team-a, valid at NOW."""
    return compile_exception(source(*conditions, **parts), of)
