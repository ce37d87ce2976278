"""Advice about fields that are read where they may be absent, or where the whole object is null."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.admission.advice.checking import UNKNOWN_FIELD
from webhook.admission.advice.paths import ELEMENT, Path
from webhook.admission.advice.schemas import has_path
from webhook.admission.advice.subject import Part, Role, Subject
from webhook.admission.advice.telling import at_node, shown
from webhook.admission.advice.walk import Access, Walker
from webhook.admission.shapes import fields_of, type_of
from webhook.model.diagnostics import Diagnostic, Level
from webhook.model.objects import Kind

_FILLED: dict[tuple[str, Path], set[str]] = {
    ("Job", ("spec",)): {"backoffLimit", "completionMode", "manualSelector", "parallelism", "podReplacementPolicy", "suspend"},
    ("*", ()): {"apiVersion", "kind", "metadata"},
    ("*", ("metadata",)): {"namespace"},
}
"""Fields by kind and path that the table calls optional, and that the API server always fills in."""
_FILLED_LATER: dict[tuple[str, Path], set[str]] = {
    ("Job", ("spec",)): {"selector"},
    ("*", ("metadata",)): {"name", "uid", "creationTimestamp"},
}
"""The same, between mutation and validation of what is created; a name made from generateName is among them."""
_FILLED_TYPES = {"Container": {"image", "imagePullPolicy"}, "EphemeralContainer": {"image", "imagePullPolicy"}}
"""The same by type, wherever it stands; without an image nothing is admitted to validation."""
_TEMPLATED = frozenset({"DaemonSet", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
"""Kinds of which the table has only what they share with others: their metadata and their pod templates."""


def reading_advice(subject: Subject) -> Iterator[Diagnostic]:
    """Look at every field that is read.

    Where the object is null, or a field absent, what is read below it fails for the same reason, and is not told again.
    """
    nulls: set[tuple[Part, str]] = set()
    absent: list[tuple[Access, Diagnostic]] = []
    for access in Walker(subject).accesses():
        for root, found in _null(subject, access):
            if (access.part, root) not in nulls:
                nulls.add((access.part, root))
                yield found
        yield from _unknown(subject, access)
        absent += [(access, found) for found in _absent(subject, access)]
    told = {(access.part, path) for access, _ in absent for path in access.paths}
    yield from (found for access, found in absent if told.isdisjoint((access.part, base) for base in access.bases))


def _unknown(subject: Subject, access: Access) -> Iterator[Diagnostic]:
    """Tell about a field that some kinds do not have which get to this place; that it is there, ``has()`` may have said."""
    paths = access.paths
    if access.context.knows(paths):
        return
    kinds = access.context.kinds
    lacking = sorted(
        kind
        for kind in kinds
        if any(has_path(kind, path[1:-1]) for path in paths) and not any(has_path(kind, path[1:]) for path in paths)
    )
    if lacking:
        names = " and ".join(f"{kind.api_version} {kind.kind}" for kind in lacking)
        others = min((kind.kind for kind in kinds.difference(lacking)), default="")
        ask = f"; ask first which kind it is, as in object.kind == '{others}' ? … : …" if others else ""
        message = f"undefined field '{access.step}': {_bases(access)} of {names} has none, so reading it fails{ask}"
        yield at_node(subject, access.part, access.node, UNKNOWN_FIELD, message)


def _null(subject: Subject, access: Access) -> Iterator[tuple[str, Diagnostic]]:
    for root, operation in (("object", "DELETE"), ("oldObject", "CREATE")):
        if (root,) in access.bases and operation in access.context.operations:
            guard = f"{root} == null || …" if access.within.role is Role.VALIDATION else f"{root} != null && …"
            message = (
                f"{root} is null on {operation}, which the policy matches, so this fails there; write {guard}, "
                f"or match {operation} in a policy of its own"
            )
            yield root, at_node(subject, access.part, access.node, "null-object", message)


def _absent(subject: Subject, access: Access) -> Iterator[Diagnostic]:
    paths = access.paths
    if access.step == ELEMENT or access.context.knows(paths):
        return
    kinds = sorted(
        kind
        for kind in access.context.kinds
        if any(
            _may_be_absent(kind, base[1:], access.step) and not _is_filled(subject, access, kind, base[1:])
            for base in access.bases
        )
    )
    if not kinds:
        return
    of = f" of a {' or a '.join(kind.kind for kind in kinds)}" if len(access.context.kinds) > 1 else ""
    guard, optional = _remedies(access)
    message = (
        f"{shown(min(paths))}{of} may be absent, and reading it then fails; ask {guard} first, or write {optional} with orValue()"
    )
    if access.within.role is Role.MESSAGE:
        yield from _fragile(subject, access, message)
    else:
        yield at_node(subject, access.part, access.node, "absent-field", message)


def _remedies(access: Access) -> tuple[str, str]:
    """Return how to ask for a field, and how to read one that may be absent; in an element of a list without its beginning."""
    base = "" if any(ELEMENT in path for path in access.bases) else _bases(access)
    if access.step.isidentifier():
        return f"has({base}.{access.step})" if base else "has()", f"{base}.?{access.step}"
    return f"'{access.step}' in {base or 'the map'}", f"{base}[?'{access.step}']"


def _bases(access: Access) -> str:
    return shown(min(access.bases))


def _fragile(subject: Subject, access: Access, message: str) -> Iterator[Diagnostic]:
    """Tell about a message that cannot be composed; a message beside it takes its place, which is no great harm."""
    has_other = subject.policy is not None and bool(subject.policy.validations[access.within.index].message)
    told = "`message` is shown instead" if has_other else "the expression is shown instead"
    level = Level.NOTE if has_other else Level.WARNING
    yield at_node(subject, access.part, access.node, "fragile-message", f"{message}; {told}", level=level)


def _is_filled(subject: Subject, access: Access, kind: Kind, base: Path) -> bool:
    """Tell whether the API server fills in a field before the policy is asked."""
    keys = ((kind.kind, base), ("*", base))
    is_early = subject.kind == "MutatingAdmissionPolicy" and "CREATE" in access.context.operations
    later = set() if is_early else set[str]().union(*(_FILLED_LATER.get(key, set()) for key in keys))
    return access.step in later.union(*(_FILLED.get(key, set()) for key in keys))


def _start(kind: Kind, base: Path) -> tuple[str, Path]:
    """Return the type that the table knows nearest to the top of an object, and the path from there; no type: it has none."""
    known = type_of({"apiVersion": kind.api_version, "kind": kind.kind})
    if known:
        return known, base
    if base[:1] == ("metadata",):
        return "ObjectMeta", base[1:]
    is_template = kind.kind in _TEMPLATED and base[:2] == ("spec", "template")
    return ("PodTemplateSpec", base[2:]) if is_template else ("", base)


def _may_be_absent(kind: Kind, base: Path, step: str) -> bool:
    """Tell whether an object of a kind as the API server holds it may lack a field, or a map that it has a key."""
    name, rest = _start(kind, base)
    around = ""
    for part in rest:
        if around:
            around = ""
            continue
        field = fields_of(name).get(part) if name else None
        if field is None:
            return False
        around, name = field.around.replace("*", ""), field.shape if field.is_struct else ""
    if around == "{}":
        return step != ELEMENT
    found = fields_of(name).get(step) if name and not around else None
    return found is not None and not found.fills and step not in _FILLED_TYPES.get(name, set())
