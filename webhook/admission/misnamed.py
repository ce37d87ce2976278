"""Kinds that a built-in API group does not have: the API server has no resource for such an object, and no policy matches it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from webhook.model.objects import Kind, Object
from webhook.rules.schema import known_kinds

_MORE = frozenset({"Binding", "DeleteOptions", "LeaseCandidate", "ResourcePoolStatusRequest", "Scale", "Status"})
"""Kinds of those groups that the table of schemas leaves out; lists of a kind (``PodList``) are known by their end."""


def unknown_kind(obj: Object) -> str:
    """Say that an object's kind is none of its group; empty where it is one, and of groups that we do not know."""
    kind = Kind.of(obj)
    known = _kinds_by_group().get(kind.group)
    if known is None or kind.kind in known or kind.kind in _MORE or kind.kind.endswith("List"):
        return ""
    hint = did_you_mean(kind.kind, sorted(known))
    return f"{kind.api_version} has no kind {kind.kind}, so the API server refuses it and no policy matches it{hint}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the known name that was probably meant, as the end of a sentence; empty when none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - hardly any name is one that there is not

    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


@cache
def _kinds_by_group() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for kind in known_kinds():
        found.setdefault(kind.group, set()).add(kind.kind)
    return {group: frozenset(kinds) for group, kinds in found.items()}
