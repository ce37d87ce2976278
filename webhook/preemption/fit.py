"""Whether so many pods of one shape would find room together, within one topology domain or anywhere.

All pods of the question are alike, so what a node holds of them is a division, and no order of placing them can do
better. What other groups will take meanwhile, and what ``placement.unmodelled`` names, is not in the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from webhook.preemption.capacity import EVERYWHERE, Capacity, Domain, NodeRoom
from webhook.preemption.demand import PODS, Amounts
from webhook.preemption.placement import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The answer to one question."""

    fits: bool
    largest: int
    """The most pods that one domain holds; looked for no further than the first that holds all that were asked for."""
    domain: str = ""
    """Where that is; empty without a topology key."""
    reason: str = ""
    """Why not, as a sentence; empty where they fit."""


def fit(capacity: Capacity, demand: Amounts, placement: Placement, count: int, *, key: str = EVERYWHERE, empty: bool) -> Fit:
    """Look for room for ``count`` pods; ``empty`` asks of a cluster in which nothing runs."""
    domains = dict(capacity.domains(key))
    best, where = 0, ""
    # Totals say what a domain cannot exceed: with the roomiest first, most are never looked into.
    bounds = [(_holds(domain.total(empty=empty), demand), name) for name, domain in domains.items()] if len(domains) > 1 else []
    for bound, name in sorted(bounds, reverse=True) or [(max(count, 1), name) for name in domains]:
        if bound <= best:
            break
        found = _count(domains[name], demand, placement, count, empty=empty)
        if found > best:
            best, where = found, name
        if best >= count:
            return Fit(fits=True, largest=best, domain=where)
    reason = _reason(domains, demand, placement, count, key=key, empty=empty, best=(best, where))
    return Fit(fits=count <= 0, largest=best, domain=where, reason=reason if count > 0 else "")


def _count(domain: Domain, demand: Amounts, placement: Placement, enough: int, *, empty: bool) -> int:
    """Return how many pods a domain holds, or at least ``enough``."""
    total = 0
    for node in domain.all():
        room = _holds(node.allocatable if empty else node.free, demand)
        if room and not placement.obstacle(node.place):
            total += room
            if total >= enough:
                break
    return total


def _holds(room: Amounts, demand: Amounts) -> int:
    """Return how many times the demand is in the room; a pod always takes at least its place, so it is finite."""
    least = -1
    for resource, amount in demand.items():
        times = room.get(resource, 0) // amount
        if times <= 0:
            return 0
        if least < 0 or times < least:
            least = times
    return max(least, 0)


def _reason(
    domains: Mapping[str, Domain],
    demand: Amounts,
    placement: Placement,
    count: int,
    *,
    key: str,
    empty: bool,
    best: tuple[int, str],
) -> str:
    """Say in one sentence what the most is and what stands against more."""
    most, where = best
    if not domains:
        return f"no node carries the label {key}" if key != EVERYWHERE else "there are no nodes"
    state = "holds" if empty else "has room for"
    place = f"the largest domain of {key}, {where}," if key != EVERYWHERE and where else "the cluster"
    if most == 0 and key != EVERYWHERE:
        place = f"no domain of {key}"
    said = f"{place} {state} {most} of {count} pods" if most else f"{place} {state} even one such pod"
    if most == 0 and key == EVERYWHERE:
        said = f"no node {state} even one such pod"
    looked = domains[where].all() if most else [node for each in domains.values() for node in each.all()]
    short = _short(looked, demand, placement, empty=empty)
    return f"{said}: {short}" if short else said


def _short(nodes: Iterable[NodeRoom], demand: Amounts, placement: Placement, *, empty: bool) -> str:
    """Count by obstacle the nodes that cannot take one more, the commonest first."""
    against: Counter[str] = Counter()
    for node in nodes:
        obstacle = placement.obstacle(node.place)
        against[obstacle or _scarce(node, demand, empty=empty)] += 1
    return ", ".join(f"{number} {_nodes(number)} {what}" for what, number in against.most_common())


def _scarce(node: NodeRoom, demand: Amounts, *, empty: bool) -> str:
    room = node.allocatable if empty else node.free
    resource = min(demand, key=lambda name: (room.get(name, 0) // demand[name], name))
    return "with no place for more pods" if resource == PODS else f"short of {resource}"


def _nodes(number: int) -> str:
    return "node" if number == 1 else "nodes"
