"""The one exception of this room: a rule, or what it needs, that could not be had."""

from __future__ import annotations


class RuleProblem(Exception):  # noqa: N818 - not an error of the program: the policy's failurePolicy decides what it means
    """Something a rule needs could not be had; never caught without asking the failurePolicy."""

    def __init__(self, message: str, *, undecided: bool = False) -> None:
        super().__init__(message)
        self.undecided = undecided
        """The snapshot does not hold what the rule asks for; offline that is a reason to skip it."""


class Unstorable(Exception):  # noqa: N818 - an answer, not an error of the program
    """A patch made something of the object that the API server cannot read back: 500, whatever the failurePolicy."""
