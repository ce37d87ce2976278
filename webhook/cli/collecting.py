"""Python's search for cycles, for commands that read much, judge it once and end."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

_COLLECT_AFTER = 250_000
"""New objects after which Python looks for cycles; usually 700."""


@contextmanager
def without_search() -> Iterator[None]:
    """Import what stays without the search for cycles in it, which would be made a dozen times over."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def collect_seldom() -> None:
    """Spare the process the search for cycles among what it keeps anyway: an eighth of its time, and once more at its end."""
    gc.freeze()  # all modules, which stay
    gc.set_threshold(_COLLECT_AFTER)
    atexit.register(gc.freeze)
