"""Whether disruption budgets let a whole group go at once: all of them together, from what their status says.

Asking pod by pod proves nothing about a group: a dry-run eviction takes nothing off the budget, and real ones are refused
half-way (experiments 1.1, 1.2). And a suspension asks no budget at all, so it has to be asked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from webhook.groups import condition, has_ended
from webhook.model.objects import Object, controller_of, labels_of, metadata_of
from webhook.model.policies import DisruptionSpec
from webhook.model.snapshot import Bucket
from webhook.rules import selector_of, selects


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetsAllow:
    """The whole group may go."""

    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetsHold:
    """It may not go as a whole, and so none of it."""

    because: str
    """One sentence with the budget's name and numbers."""
    can_never: bool
    """Waiting does not help: somebody has to change the budget."""
    way_out: str


BudgetAnswer: TypeAlias = BudgetsAllow | BudgetsHold


def judge_budgets(going: Iterable[Object], budgets: Bucket | None, spec: DisruptionSpec) -> BudgetAnswer:
    """Judge whether all these pods of one namespace may go together.

    ``budgets`` are those of the namespace, None where they are not watched. Pods that have ended, are on their way out or
    have not begun cost no budget (pkg/registry/core/pod/storage/eviction.go).
    """
    if spec.budgets == "Ignore":
        return BudgetsAllow(because="the policy says budgets: Ignore")
    if budgets is None:
        message = "PodDisruptionBudgets are not watched, so nobody knows whether they allow it"
        return BudgetsHold(because=message, can_never=True, way_out="Let Gangwarden list PodDisruptionBudgets.")
    covered = list(_covered([pod for pod in going if not _is_free(pod)], budgets))
    holds = [*_doubly(covered), *_each(covered)]
    if not holds:
        names = sorted({str(metadata_of(one).get("name")) for _, covering in covered for one in covering})
        return BudgetsAllow(because=f"budgets {', '.join(names)} allow it" if names else "no budget covers a member")
    return next((hold for hold in holds if hold.can_never), holds[0])


Covered: TypeAlias = tuple[Object, list[Object]]
"""A pod and the budgets that select it."""


def _covered(pods: list[Object], budgets: Bucket) -> Iterator[Covered]:
    known = {pair for pod in pods for pair in labels_of(pod).items()}
    chosen = [(selector_of(one["spec"]["selector"]), one) for one in budgets.values() if _may_select(one, known)]
    for pod in pods:
        yield pod, [one for selector, one in chosen if selects(selector, labels_of(pod))]


def _may_select(budget: Object, known: set[tuple[str, str]]) -> bool:
    """Tell whether a budget may select one of some pods, by all their labels; a namespace may have hundreds for other pods."""
    # A budget without a selector selects nothing, one with an empty selector everything (policy/v1).
    selector = (budget.get("spec") or {}).get("selector")
    if selector is None or metadata_of(budget).get("deletionTimestamp"):
        return False
    return all(pair in known for pair in (selector.get("matchLabels") or {}).items())


def _is_free(pod: Object) -> bool:
    return (
        has_ended(pod) or bool(metadata_of(pod).get("deletionTimestamp")) or (pod.get("status") or {}).get("phase") == "Pending"
    )


def _doubly(covered: list[Covered]) -> Iterator[BudgetsHold]:
    for pod, covering in covered:
        if len(covering) > 1:
            names = " and ".join(sorted(str(metadata_of(one).get("name")) for one in covering))
            yield BudgetsHold(
                because=f"Pod {metadata_of(pod).get('name')} is covered by PodDisruptionBudgets {names}, and the eviction API "
                "refuses a pod that more than one covers",
                can_never=True,
                way_out=f"Change the selectors of {names} so that each pod is covered by one.",
            )
            return


def _each(covered: list[Covered]) -> Iterator[BudgetsHold]:
    pods: dict[str, list[Object]] = {}
    found: dict[str, Object] = {}
    for pod, covering in covered:
        for one in covering:
            name = str(metadata_of(one).get("name"))
            found[name] = one
            pods.setdefault(name, []).append(pod)
    for name in sorted(found):
        hold = _unfit(found[name], pods[name]) or _unsynced(found[name]) or _short(found[name], pods[name])
        if hold is not None:
            yield hold


def _unfit(budget: Object, pods: list[Object]) -> BudgetsHold | None:
    """Find a budget that no Job can satisfy: its number needs a scale subresource, and a Job has none (disruption.go)."""
    spec, name = budget.get("spec") or {}, metadata_of(budget).get("name")
    if spec.get("maxUnavailable") is not None:
        said = f"maxUnavailable: {spec['maxUnavailable']}"
    elif isinstance(spec.get("minAvailable"), str):
        said = f"minAvailable: {spec['minAvailable']}"
    else:
        return None
    if not any((controller_of(pod) or {}).get("kind") == "Job" for pod in pods):
        return None
    return BudgetsHold(
        because=f"PodDisruptionBudget {name} says {said}, which cannot be computed for pods of a Job (jobs.batch does not "
        "implement the scale subresource), so it refuses every eviction for ever",
        can_never=True,
        way_out=f"Give PodDisruptionBudget {name} a whole number as minAvailable, or delete it.",
    )


def _unsynced(budget: Object) -> BudgetsHold | None:
    meta, status = metadata_of(budget), budget.get("status") or {}
    name = meta.get("name")
    allowed = condition(budget, "DisruptionAllowed") or {}
    if allowed.get("reason") == "SyncFailed":
        return BudgetsHold(
            because=f"PodDisruptionBudget {name} could not be computed: {allowed.get('message', '')}",
            can_never=True,
            way_out=f"Mend PodDisruptionBudget {name}, or delete it.",
        )
    if status.get("observedGeneration", 0) < meta.get("generation", 0):
        because = f"PodDisruptionBudget {name} was changed, and its status does not speak of that yet"
        return BudgetsHold(because=because, can_never=False, way_out="It is asked again when its status changes.")
    return None


def _short(budget: Object, pods: list[Object]) -> BudgetsHold | None:
    status, name = budget.get("status") or {}, metadata_of(budget).get("name")
    need = sum(_counts(pod, budget) for pod in pods)
    allowed = int(status.get("disruptionsAllowed") or 0)
    if allowed >= need:
        return None
    most = int(status.get("expectedPods") or 0) - int(status.get("desiredHealthy") or 0)
    because = f"PodDisruptionBudget {name} allows {allowed} disruptions now, and {need} of its pods would go"
    if most >= need:
        return BudgetsHold(because=because, can_never=False, way_out="It is asked again when its status changes.")
    return BudgetsHold(
        because=f"{because}; even with all its {status.get('expectedPods', 0)} pods healthy it would allow {max(most, 0)}",
        can_never=True,
        way_out=f"Lower minAvailable of PodDisruptionBudget {name} so that it allows {need}, or delete it.",
    )


def _counts(pod: Object, budget: Object) -> bool:
    """Tell whether evicting a pod takes from the budget: an unready one does not where its policy is AlwaysAllow."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    is_unready = any(one.get("type") == "Ready" and one.get("status") != "True" for one in conditions)
    return not (is_unready and (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow")
