"""Two controllers beside a webhook, so that one follows when the other dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.controlplane.cluster import ControlPlane
from tests.e2e.installation import SHIPPED, Installation, running
from tests.e2e.test_disruption import ROUTES


@contextmanager
def two_controllers(route: str, directory: Path) -> Iterator[Installation]:
    """Run them on a control plane of their own, on one of the routes by which Jobs get their groups."""
    gates, flags = ROUTES[route]
    with ControlPlane(gates=gates) as cluster, running(cluster, SHIPPED, directory, "serve", *flags) as made:
        for _ in range(2):
            made.start_controller(*flags)
        made.wait_for_leader()
        yield made
