"""What one pod asks of its node, as the scheduler counts it.

Source: k8s.io/component-helpers/resource/helpers.go (PodRequests, AggregateContainerRequests) and the scheduler's
framework/types.go: processing time in thousandths of a core, everything else in whole units, both rounded up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from webhook.cel import EvaluationError, parse_quantity
from webhook.model.objects import Object

Amounts = Mapping[str, int]
"""Resource to amount: ``cpu`` in thousandths of a core, others in their own unit (bytes, devices, pods)."""

CPU, PODS = "cpu", "pods"
_NANO_OF_MILLI, _NANO_OF_UNIT = 10**6, 10**9
_AT_POD_LEVEL = (CPU, "memory")
_HUGE_PAGES = "hugepages-"


def demand_of(pod_spec: Object) -> dict[str, int]:
    """Return what a pod of this spec takes from a node, its place among the node's pods included.

    A quantity that is none counts as nothing: refusing it is validation's business. What a pod takes by resourceClaims is not
    counted here.
    """
    found = _of_containers(pod_spec)
    for name, amount in requests_of(pod_spec).items():
        if name in _AT_POD_LEVEL or name.startswith(_HUGE_PAGES):
            found[name] = amount  # said for the whole pod, it stands instead of the sum
    _add(found, amounts_of(pod_spec.get("overhead")))
    found[PODS] = 1
    return {name: amount for name, amount in found.items() if amount}


def requests_of(holder: Object) -> dict[str, int]:
    """Return the requests of a container or pod; a limit without a request is one (SetDefaults_Pod)."""
    resources = holder.get("resources")
    if not isinstance(resources, dict):
        return {}
    return amounts_of(resources.get("limits")) | amounts_of(resources.get("requests"))


def amounts_of(quantities: Any) -> dict[str, int]:
    """Read a map of resources to quantities."""
    if not isinstance(quantities, dict):
        return {}
    return {str(name): amount_of(str(name), quantity) for name, quantity in quantities.items()}


def amount_of(resource: str, quantity: Any) -> int:
    """Read one quantity, rounded up to what the scheduler counts in; 0 for what is none."""
    try:
        nano = parse_quantity(str(quantity)).nano
    except EvaluationError:
        return 0
    return -(-nano // (_NANO_OF_MILLI if resource == CPU else _NANO_OF_UNIT))


def quantity_text(resource: str, amount: int) -> str:
    """Write an amount as a quantity."""
    if resource != CPU:
        return str(amount)
    return f"{amount}m" if amount % 1000 else str(amount // 1000)


def _of_containers(pod_spec: Object) -> dict[str, int]:
    """Return the most that is asked at one time: by the containers together, or while one of the init containers runs."""
    together: dict[str, int] = {}
    for container in _listed(pod_spec, "containers"):
        _add(together, requests_of(container))
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in _listed(pod_spec, "initContainers"):
        asked = requests_of(container)
        if container.get("restartPolicy") == "Always":  # it stays, beside all that come after it
            _add(together, asked)
            _add(sidecars, asked)
            _raise(starting, sidecars)
        else:
            _add(asked, sidecars)
            _raise(starting, asked)
    _raise(together, starting)
    return together


def _listed(pod_spec: Object, name: str) -> Iterable[Object]:
    entries = pod_spec.get(name)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _add(total: dict[str, int], more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: dict[str, int], least: Amounts) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)
