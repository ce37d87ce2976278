"""Test cases of policies (kind PolicyTest), decoded, with the contents of the files they name; and what came of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from webhook.model.access import AccessList
from webhook.model.objects import Object
from webhook.model.policies import Origin
from webhook.model.requests import Operation, UserInfo
from webhook.model.results import Result
from webhook.model.verdicts import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What is expected; what is left out is not looked at."""

    verdict: Verdict
    message: str = ""
    """Part of the finding's message."""
    policy: str = ""
    binding: str = ""
    rule: str = ""
    """Such as ``validations[0]``."""
    field: str = ""
    patched: Object | None = None
    """Part of the object after the change."""
    groups: tuple[Object, ...] | None = None
    """Parts of objects that the controller would create; an empty tuple: none at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question and the answer expected of the policies."""

    name: str
    """A sentence."""
    origin: Origin
    operation: Operation = Operation.CREATE
    object: Object | None = None
    old_object: Object | None = None
    sub_resource: str = ""
    user: UserInfo = field(default_factory=UserInfo)
    namespace_object: Object | None = None
    now: datetime | None = None
    """When it is asked: which exceptions have expired. None: whatever the clock says."""
    params: tuple[Object, ...] = ()
    snapshot: tuple[Object, ...] = ()
    authorizer: AccessList | None = None
    """Who may do what; None: nobody can tell, and rules that ask are skipped."""
    expect: Expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTest:
    """The cases of one file that belong to the same policies."""

    name: str
    path: str
    policies: tuple[str, ...]
    """Files or folders, as paths that can be opened."""
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not as expected."""

    what: str
    """finding, patched, groups, or such as ``groups[0]``."""
    expected: Any
    actual: Any
    """Of an object only the part of which the expectation speaks; None where there is nothing."""
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A case, and what the policies said."""

    test: str
    """Name of the PolicyTest."""
    case: Case
    results: tuple[Result, ...]
    differences: tuple[Difference, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return what is not as expected, one sentence each."""
        return tuple(sentence for difference in self.differences for sentence in difference.sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What cases have exercised of one rule of a policy."""

    policy: str
    rule: str
    """Such as ``validations[0]`` or ``matchConditions[1] (is-gang)``."""
    origin: Origin
    missing: tuple[str, ...]
    """What no case has brought about, such as ``denied``; empty: fully covered."""
