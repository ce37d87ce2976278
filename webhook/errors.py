"""Errors, by who must act.

* GangwardenError
  - UsageError        the person at the command line: a flag or a path is wrong
    - OutputError     … or nobody reads what is printed, or the disk is full
  - PolicyError       a policy author must edit a file (has path, line, field)
    - PathError       … or whoever named the path, because there is nothing to edit
    - CasesError      … or a file of test cases
  - InputError        the owner of a manifest must mend it (has source and document)
    - InputSetError     … or several of them
  - ReviewError       the caller of the webhook sent what we cannot read (has an HTTP status)
  - CertificateError  an operator must replace key or certificate material
  - ClusterError      the Kubernetes API refused or was away (has verb, key, status)

Each one says what is wrong in its text and what to do next in ``advice()``; the command line prints both and
exits with ``exit_code``, never with a traceback.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class GangwardenError(Exception):
    """Any failure that a person outside this code base can mend."""

    exit_code: ClassVar[int] = 1

    def advice(self) -> str:
        """Say what to do next, in one sentence; empty when the message says it already."""
        return ""


class UsageError(GangwardenError):
    """A flag, an argument or a path is wrong."""

    exit_code = 2


class OutputError(UsageError):
    """What a command had to say could not be written."""

    def advice(self) -> str:
        """Say that the exit code tells nothing of what was looked at."""
        return "Whatever was found is not told: run it again with an output that takes all of it."


class PolicyError(GangwardenError):
    """A policy file cannot be used as it is."""

    exit_code = 3

    def __init__(self, message: str, *, path: str, line: int = 0, column: int = 0, field: str = "") -> None:
        super().__init__(message)
        self.path, self.line, self.column, self.field = path, line, column, field

    def __str__(self) -> str:
        """Return ``path:line:column: field: message``, leaving out what is unknown."""
        place = ":".join(str(part) for part in (self.path, self.line, self.column) if part)
        return ": ".join(part for part in (place, self.field, self.args[0]) if part)

    def advice(self) -> str:
        """Name the file to edit."""
        return f"Edit {self.path}" + (f" at line {self.line}." if self.line else ".")

    def each(self) -> tuple[PolicyError, ...]:
        """Return the single errors that this one is made of."""
        return (self,)


class PathError(PolicyError):
    """A path leads to no policy at all, so that it is the path that must be mended."""

    def advice(self) -> str:
        """Say nothing: no file is there to edit."""
        return ""


class PolicySetError(PolicyError):
    """Everything that is wrong with a set of policy files, so that an author sees all of it at once."""

    def __init__(self, errors: Sequence[PolicyError]) -> None:
        first = errors[0]
        super().__init__(first.args[0], path=first.path, line=first.line, column=first.column, field=first.field)
        self.errors = tuple(one for error in errors for one in error.each())

    def each(self) -> tuple[PolicyError, ...]:
        """Return the single errors."""
        return self.errors

    def __str__(self) -> str:
        """Return one line per error."""
        return "\n".join(str(error) for error in self.errors)

    def advice(self) -> str:
        """Name the file to edit where there is but one error; otherwise each line names its own."""
        return self.errors[0].advice() if len(self.errors) == 1 else ""


class CasesError(PolicySetError):
    """Everything that is wrong with a file of test cases."""

    exit_code = 4


class InputError(GangwardenError):
    """A manifest, a snapshot or another input of a command cannot be read."""

    exit_code = 4

    def __init__(self, message: str, *, source: str, line: int = 0) -> None:
        super().__init__(message)
        self.source, self.line = source, line

    def __str__(self) -> str:
        """Return ``source:line: message``; source is ``file`` or ``file#document``."""
        place = f"{self.source}:{self.line}" if self.line else self.source
        return f"{place}: {self.args[0]}"


class InputSetError(InputError):
    """Everything that is wrong with some inputs, so that their owner sees all of it at once; ``errors`` must not be empty."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        first = errors[0]
        super().__init__(first.args[0], source=first.source, line=first.line)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        """Return one line per error."""
        return "\n".join(map(str, self.errors))


class ReviewError(GangwardenError):
    """The caller sent something that is not a review we can read."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class CertificateError(GangwardenError):
    """Key or certificate material is missing, broken or does not fit together."""

    exit_code = 4


class ClusterError(GangwardenError):
    """The Kubernetes API refused a call, or could not be reached."""

    exit_code = 5

    def __init__(
        self, message: str, *, verb: str = "", key: str = "", status: int = 0, reason: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.verb, self.key, self.status, self.reason, self.retry_after = verb, key, status, reason, retry_after

    @property
    def is_unreachable(self) -> bool:
        """Tell whether no answer came at all (as opposed to a refusal)."""
        return self.status == 0

    def advice(self) -> str:
        """Say which of address, identity and permission to look at."""
        if self.status == 403:
            return "Give this identity the missing permission (RBAC)."
        if self.status == 401 or self.is_unreachable:
            return "Check address and credentials of the kubeconfig: `kubectl version` must work with the same one."
        return ""
