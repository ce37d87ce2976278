"""How many groups one entry of ``podGroups`` makes of a workload, and which of its templates belong to each.

Most make one of all. Where the templates stand in a list (or in a mapping, by role), each may be a group of its own, or those
that share a key; a JobSet that starts step by step needs a group for each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from webhook.groups.paths import places_at
from webhook.model.objects import Object
from webhook.model.policies import PodGroupSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One group to be: what tells it from the others of the same entry, and whose templates it is made of."""

    key: str
    """Empty where there is only one."""
    paths: tuple[str, ...]
    """Where the templates stand, wildcards replaced by what they met."""
    items: tuple[Any, ...] = ()
    """What the wildcard met, as expressions see it."""


def chooses(spec: PodGroupSpec) -> bool:
    """Tell whether an entry looks at the list in which its templates stand."""
    return not spec.on_pods and (spec.instances != "One" or spec.members.where is not None)


def instances_of(
    spec: PodGroupSpec, workload: Object, *, is_member: Callable[[Any], bool], key_of: Callable[[Any], str]
) -> tuple[Instance, ...]:
    """Return the groups of one entry for a workload, in the order of the list; one at most unless it asks for more."""
    if not chooses(spec):
        return (Instance(key="", paths=spec.members.paths),)
    found: dict[str, Instance] = {}
    for name, place, item in _entries(spec, workload):
        if not is_member(item):
            continue
        key = {"One": "", "PerItem": name}.get(spec.instances, "") if spec.instances != "Key" else key_of(item)
        known = found.get(key, Instance(key=key, paths=()))
        found[key] = replace(known, paths=(*known.paths, place), items=(*known.items, item))
    return tuple(found.values())


def _entries(spec: PodGroupSpec, workload: Object) -> Iterator[tuple[str, str, Any]]:
    """Yield what tells each entry of the list from the others, the path of its template, and the entry."""
    (path,) = spec.members.paths
    before, _, after = path.partition("[*]")
    for place, item in places_at(workload, f"{before}[*]"):
        given = item.get("name") if isinstance(item, dict) else None
        yield given if isinstance(given, str) and given else _ending(place), f"{place}{after}", item


def _ending(place: str) -> str:
    """Return the index in a list, or the key in a mapping as part of a name."""
    return place.removesuffix("]").replace("[", ".").rpartition(".")[2].lower()
