"""The rules of advice: their names, which are stable, how bad each is, and what it looks for in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from webhook.model.diagnostics import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One rule that lint knows."""

    name: str
    level: Level
    """The level it is told at; a rule may tell a harmless case as a note."""
    sentence: str


REFUSED = "refused"
"""What cannot be loaded at all. It can neither be ignored nor lowered."""
_SENTENCES: tuple[tuple[str, Level, str], ...] = (
    (REFUSED, Level.ERROR, "The file, a field or an expression is refused at load, by us and by the API server."),
    ("absent-field", Level.WARNING, "A field is read that may be absent, without `has()` or `?.` before it."),
    ("binding-without-policy", Level.WARNING, "A binding names a policy that is not among the files."),
    ("constant-condition", Level.WARNING, "A condition or validation always comes to the same."),
    ("costly", Level.WARNING, "An expression takes more than a tenth of a limit of the API server."),
    ("exception-expiry", Level.WARNING, "A PolicyException has expired, will do so soon, or lasts for more than a year."),
    ("fragile-message", Level.WARNING, "A messageExpression may fail, and another text than the one meant would be shown."),
    ("ignored-failures", Level.NOTE, "A policy that denies lets pass what it cannot evaluate (failurePolicy: Ignore)."),
    (
        "matches-everything",
        Level.WARNING,
        "A policy that fails closed matches every resource, leaders' leases among them.",
    ),
    ("missed-containers", Level.WARNING, "A rule looks at containers and misses initContainers."),
    ("missed-templates", Level.NOTE, "A rule judges pods, and the controllers that make them only when it is too late."),
    (
        "never-applies",
        Level.WARNING,
        "Match conditions that can never hold for what the policy matches, or a selector that nothing fits.",
    ),
    ("no-message", Level.WARNING, "A validation has no message of its own."),
    ("no-policy", Level.WARNING, "No policy, binding or exception is among the files: most likely the path is wrong."),
    ("not-exportable", Level.NOTE, "The API server cannot load the policy: it needs Gangwarden."),
    ("null-object", Level.WARNING, "An expression reads `object` on DELETE or `oldObject` on CREATE, where it is null."),
    ("param-not-found", Level.NOTE, "A binding names a param that is not among the params of this kind in the files."),
    ("param-ref-missing", Level.WARNING, "A policy has a paramKind and its binding no paramRef, so params is null."),
    ("param-ref-unused", Level.WARNING, "A binding has a paramRef and its policy no paramKind, so nothing comes of it."),
    ("policy-without-binding", Level.WARNING, "A policy has no binding among the files, so it does nothing."),
    ("tenant-decides", Level.WARNING, "Who writes the object exempts it from the rule, by a label or an annotation."),
    ("type-mismatch", Level.WARNING, "Types do not fit, as the API server writes it into the policy's status."),
    (
        "unknown-field",
        Level.WARNING,
        "A field that objects of a matched kind do not have, as the API server says in the status.",
    ),
    ("unknown-lint-rule", Level.WARNING, "The annotation `gangwarden.dev/lint-ignore` names a rule that there is not."),
    ("unknown-resource", Level.WARNING, "A rule names a resource, group or version that Kubernetes does not have."),
    ("unused-params", Level.WARNING, "A policy has a paramKind that no expression reads."),
    ("unused-variable", Level.WARNING, "A variable that no expression reads."),
)
ADVICE: Mapping[str, Advice] = MappingProxyType(
    {name: Advice(name=name, level=level, sentence=sentence) for name, level, sentence in _SENTENCES}
)
