"""What an offline command found: one result per manifest and policy, and what would be created.

The JSON form is a contract (design, section 8): names and meanings stay as they are within one apiVersion.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from webhook.model.objects import Kind, Object, metadata_of
from webhook.model.verdicts import Finding, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one policy said of one manifest."""

    source: str
    """``file#index``, index from 0."""
    object: Object
    """The object as it was judged: defaults applied, unless they were turned off."""
    finding: Finding
    patch: tuple[Object, ...] | None = None
    patched: Object | None = None
    creates: tuple[Object, ...] | None = None
    """Objects that the controller would create once the object is stored."""

    def as_json(self) -> Object:
        """Return the entry of ``results``."""
        kind, meta, finding = Kind.of(self.object), metadata_of(self.object), self.finding
        return {
            "source": self.source,
            "object": {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "namespace": meta.get("namespace") or "",
                "name": meta.get("name") or meta.get("generateName") or "",
            },
            "policy": finding.policy,
            "binding": finding.binding,
            "rule": finding.rule,
            "verdict": finding.verdict.value,
            "message": finding.message,
            "field": finding.field,
            "patch": None if self.patch is None else list(self.patch),
            "patched": self.patched,
            "creates": None if self.creates is None else list(self.creates),
            "exception": None if finding.exception is None else asdict(finding.exception),
        }


def summary(results: Iterable[Result]) -> dict[str, int]:
    """Count results by verdict; every verdict is there, also with 0."""
    counts = dict.fromkeys((verdict.value for verdict in Verdict), 0)
    for result in results:
        counts[result.finding.verdict.value] += 1
    return counts
