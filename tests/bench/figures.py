"""What a measurement returns, and the statistics that are shown of it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The same thing done by us and by the anchor, in turns."""

    what: str
    unit: str
    ours: tuple[float, ...]
    anchor: tuple[float, ...]
    paired: bool = False
    """Both took turns in each round, so that rounds are compared one by one."""

    @property
    def ratio(self) -> float:
        """The median of ours over the median of the anchor's; of paired rounds the median of their ratios."""
        if self.paired:
            return statistics.median(ratio(ours, anchor) for ours, anchor in zip(self.ours, self.anchor, strict=True))
        return ratio(statistics.median(self.ours), statistics.median(self.anchor))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A figure that has no anchor."""

    what: str
    unit: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One measurement. ``skipped`` says why there is nothing else in it."""

    title: str
    method: str
    ours: str = "ours"
    anchor: str = "anchor"
    comparisons: tuple[Comparison, ...] = ()
    facts: tuple[Fact, ...] = ()
    skipped: str = ""
    apart: str = ""
    """When it was measured, where that was not with the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that one run found."""

    at: datetime
    cores: int
    load: float
    """Load average of the minute before the run."""
    seconds: float
    versions: Mapping[str, str]
    sections: tuple[Section, ...] = field(default=())


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def p90(values: Sequence[float]) -> float:
    """Return the smallest value that at least nine of ten do not exceed."""
    ordered = sorted(values)
    return ordered[-(-len(ordered) * 9 // 10) - 1]


def ratio(ours: float, anchor: float) -> float:
    """Return ours over the anchor's; infinite where the anchor cost nothing."""
    return ours / anchor if anchor else float("inf")
