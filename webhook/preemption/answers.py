"""What the CEL variable ``cluster`` tells of the nodes' room; fits ``rules.Room``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from webhook.model.objects import Object
from webhook.preemption.capacity import Capacity, Domain
from webhook.preemption.demand import Amounts, demand_of, quantity_text
from webhook.preemption.fit import Fit, fit
from webhook.preemption.placement import Placement, unmodelled


class NodeRoomView:
    """Answers in plain JSON, amounts as quantities."""

    def __init__(self, capacity: Callable[[], Capacity]) -> None:
        self._capacity = capacity

    def domains(self, key: str) -> list[Object]:
        """Describe the domains of a topology key in the order of their names; nodes without the label are in none."""
        found = self._capacity().domains(key)
        return [_described(found[name]) for name in sorted(found)]

    def fit(self, pod_spec: Object, count: int, key: str) -> Object:
        """Say whether ``count`` such pods have room within one domain of ``key`` (empty: anywhere), now and if nothing ran."""
        demand, placement = demand_of(pod_spec), Placement.of(pod_spec)
        capacity = self._capacity()
        now = fit(capacity, demand, placement, count, key=key, empty=False)
        # What fits beside others fits without them: the second search is for the rare case.
        best = now if now.fits else fit(capacity, demand, placement, count, key=key, empty=True)
        return _as_json(now) | {"whenEmpty": _as_json(best), "notModelled": list(unmodelled(pod_spec))}


def _as_json(found: Fit) -> Object:
    return asdict(found)


def _described(domain: Domain) -> Object:
    return {
        "name": domain.name,
        "nodes": len(domain.nodes),
        "allocatable": _quantities(domain.total(empty=True)),
        "free": _quantities(domain.total(empty=False)),
    }


def _quantities(amounts: Amounts) -> Object:
    return {name: quantity_text(name, amount) for name, amount in sorted(amounts.items())}
