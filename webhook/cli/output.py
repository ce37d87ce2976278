"""The way of results to whoever reads them: what could not be written was not told, whatever the verdict is."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from webhook.errors import OutputError

_FAILURES = frozenset({errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What a write meets whose reader has left, or whose disk is full or broken."""


@contextmanager
def written_whole() -> Iterator[None]:
    """See to it that all output has left the process at the end; raises OutputError where it could not."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # what is short waits in a buffer, and Python would tell of it after the exit code is settled
    except OSError as error:
        if error.errno not in _FAILURES or error.filename is not None:
            raise
        _turn_away()
        raise OutputError(f"the output could not be written whole: {error.strerror or error}") from error


def _turn_away() -> None:
    """Drop what still waits in the buffer: Python writes it at its end, and would fail once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
