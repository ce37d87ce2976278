"""Who counts what the keeper sees and does. The keeper knows no metrics: ``cli`` hands it somebody who fits ``Recorder``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from webhook.model.disruption import Health, LossCause, RestartOutcome
from webhook.model.objects import Object, ObjectKey


class Recorder(Protocol):
    """Whoever counts. Nothing here may fail or wait: it is called in the middle of the work."""

    def looked(self, pod_group: ObjectKey, health: Health, members: Iterable[Object]) -> None:
        """Note what one look at a group found; ``members`` are its unfinished pods."""

    def gone(self, pod_group: ObjectKey) -> None:
        """Note that a group is not there any more, or not ours to keep."""

    def restarted(self, cause: LossCause, outcome: RestartOutcome) -> None:
        """Note that a restart has ended."""

    def stopped(self) -> None:
        """Note that this process leads no longer: what it saw is another's to see now."""


class Unrecorded:
    """Counts nothing; fits ``Recorder``, for a keeper whose process has no metrics."""

    def looked(self, pod_group: ObjectKey, health: Health, members: Iterable[Object]) -> None:
        """Do nothing."""

    def gone(self, pod_group: ObjectKey) -> None:
        """Do nothing."""

    def restarted(self, cause: LossCause, outcome: RestartOutcome) -> None:
        """Do nothing."""

    def stopped(self) -> None:
        """Do nothing."""
