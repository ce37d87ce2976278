"""Advice that a policy does not want to hear: the annotation ``gangwarden.dev/lint-ignore: rule, rule``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.admission.advice.catalog import ADVICE, REFUSED
from webhook.admission.advice.subject import Subject
from webhook.admission.advice.telling import at_binding, at_policy
from webhook.admission.misnamed import did_you_mean
from webhook.model.diagnostics import Diagnostic
from webhook.model.policies import Binding

_RULE = "unknown-lint-rule"
IGNORE = "gangwarden.dev/lint-ignore"


def ignored_rules(annotations: Mapping[str, str]) -> frozenset[str]:
    """Return the rules that an object asks to be left out."""
    return frozenset(name.strip() for name in annotations.get(IGNORE, "").split(",") if name.strip())


def unknown_ignored(about: Subject | Binding) -> Iterator[Diagnostic]:
    """Tell about names that no rule has: what they were meant to silence is not silenced."""
    known = ADVICE.keys() - {REFUSED}
    annotations = about.annotations if isinstance(about, Binding) else about.head.annotations
    for name in sorted(ignored_rules(annotations) - known):
        message = f"{IGNORE} names '{name}', which is no rule that can be left out{did_you_mean(name, known)}"
        yield at_binding(about, _RULE, message) if isinstance(about, Binding) else at_policy(about, _RULE, message)
