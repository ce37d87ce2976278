"""What expressions cost: measured on the cases beside the policies, else on made-up objects."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from webhook.admission import PolicySet, bind_unbound
from webhook.admission.advice import Cost, CostLedger
from webhook.cli.offline import load_offline
from webhook.cli.trial import try_case
from webhook.errors import CasesError, InputError, PolicyError
from webhook.policies import find_tests
from webhook.settings import EvaluationSettings


def measure(paths: Sequence[str], policies: PolicySet) -> tuple[CostLedger, tuple[PolicyError, ...]]:
    """Return what the expressions of some policies cost, and what is wrong with the cases among the files."""
    ledger = CostLedger(EvaluationSettings().cost_per_expression)
    observed = bind_unbound(ledger.observe(policies))
    broken: tuple[PolicyError, ...] = ()
    try:
        tests = find_tests(paths)
    except CasesError as error:
        tests, broken = (), error.errors
    for test in tests:
        for case in test.cases:
            with suppress(InputError):  # `test` tells about it
                try_case(case, observed)
    ledger.try_samples(observed, load_offline((), observed).situation)
    return ledger, broken


def cost_json(cost: Cost) -> dict[str, Any]:
    """Return a cost for ``-o json``."""
    line, column = cost.expression.place(1, 1)
    origin = cost.expression.origin
    return {
        "policy": cost.policy,
        "file": origin.path,
        "line": line,
        "column": column,
        "field": origin.field,
        "cost": cost.most,
        "limit": cost.limit,
        "madeUp": cost.made_up,
    }
