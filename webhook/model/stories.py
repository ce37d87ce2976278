"""What became of a group, in the order of time, with its cause in one sentence and the next step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from webhook.model.objects import Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that happened, to one or several objects at the same second."""

    at: datetime
    about: tuple[str, ...]
    """``Kind name`` of each object."""
    what: str
    """The reason of an event or condition, or one of our own words such as ``Created``."""
    text: str
    source: str
    """``event``, ``condition`` or ``object``."""

    def as_json(self) -> Object:
        """Return the machine's form."""
        at = self.at.isoformat().replace("+00:00", "Z")
        return {"at": at, "about": list(self.about), "what": self.what, "text": self.text, "source": self.source}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """How one group is, and why."""

    pod_group: str
    """Its name; empty where there is none."""
    state: str
    """A GroupState; empty where nothing is grouped."""
    code: str
    """A code of the table of causes."""
    cause: str
    """One sentence, with names and times."""
    next_step: str
    is_finding: bool
    """Something keeps the group from working, and somebody should know."""

    def as_json(self) -> Object:
        """Return the machine's form."""
        return {
            "podGroup": self.pod_group,
            "state": self.state,
            "code": self.code,
            "cause": self.cause,
            "nextStep": self.next_step,
            "finding": self.is_finding,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All that is told of one object."""

    about: str
    """``Kind namespace/name`` of what was asked for."""
    workload: str = ""
    """``Kind namespace/name`` of the workload that its group was made for; empty where it is not known."""
    groups: tuple[Diagnosis, ...]
    """At least one; what needs somebody comes first."""
    entries: tuple[Entry, ...] = ()
    left_out: int = 0
    """How many older entries are not told."""
    unresolved: tuple[tuple[str, str], ...] = ()
    """UIDs of preemptors that nobody has named yet, each with the node that its event names."""

    def as_json(self) -> Object:
        """Return the machine's form, without apiVersion and kind; ``groups[0]`` is what matters most."""
        return {
            "object": self.about,
            "workload": self.workload,
            **{key: value for key, value in self.groups[0].as_json().items() if key != "podGroup"},
            "groups": [one.as_json() for one in self.groups],
            "timeline": [one.as_json() for one in self.entries],
            "leftOut": self.left_out,
        }
