"""Know which open connection would be missed least, so that idle ones never keep a caller out.

A limit that turns the newest away lets whoever opens enough connections, and says nothing on them, turn everybody away. So
the one goes whose caller has kept us waiting longest: of those that never had an answer while they are the most, else of
those that rest between two requests. One on which a review is being answered stays.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Protocol


class Closable(Hashable, Protocol):
    """A connection."""

    def cut(self, reason: str) -> None:
        """Close it at once."""


class Crowd:
    """The open connections of a listener."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: set[Closable] = set()
        # Both in the order in which their callers began to keep us waiting.
        self._new: OrderedDict[Closable, None] = OrderedDict()
        self._known: OrderedDict[Closable, None] = OrderedDict()

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._open)

    def enter(self, connection: Closable) -> bool:
        """Take a connection in, in the place of another where there is none left; False: nobody could go."""
        if len(self._open) >= self._limit and not self.relieve():
            return False
        self._open.add(connection)
        self._new[connection] = None
        return True

    def relieve(self) -> bool:
        """Close the connection that would be missed least; False: every one is being answered."""
        waiting = self._new if len(self._new) * 2 > self._limit or not self._known else self._known
        found = next(iter(waiting), None)
        if found is None:
            return False
        self.leave(found)
        found.cut("crowded")
        return True

    def begins(self, connection: Closable) -> None:
        """Note that a request is arriving on it."""
        for waiting in (self._new, self._known):
            if connection in waiting:
                waiting.move_to_end(connection)

    def works(self, connection: Closable) -> None:
        """Note that it is for us to say something: until then it stays."""
        self._new.pop(connection, None)
        self._known.pop(connection, None)

    def rests(self, connection: Closable) -> None:
        """Note that it is for the caller to say or to take something."""
        if connection in self._open:
            self.works(connection)
            self._known[connection] = None

    def leave(self, connection: Closable) -> None:
        """Forget one that is closed."""
        self._open.discard(connection)
        self.works(connection)
