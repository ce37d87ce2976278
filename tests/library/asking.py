"""Cases put to the engine offline, as ``gangwarden test`` does, with what tests ask of the outcome."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.admission import PolicySet
from webhook.cli.trial import try_case
from webhook.model.cases import Case
from webhook.model.results import Result


@dataclass(frozen=True)
class Asked:
    """A case, and what the policies said."""

    case: Case
    results: tuple[Result, ...]
    differences: tuple[str, ...]

    @property
    def messages(self) -> list[str]:
        return [result.finding.message for result in self.results]


def ask(case: Case, policies: PolicySet) -> Asked:
    """Put one case to a set of policies."""
    tried = try_case(case, policies)
    return Asked(case, tried.results, tried.sentences)
