"""May somebody do something: the question that CEL's ``authorizer`` asks, its answer, and rules that answer offline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from webhook.errors import InputError
from webhook.model.requests import UserInfo

Extra = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessUser:
    """Who would do it; hashable, as answers are kept by question."""

    name: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Extra = ()

    @classmethod
    def of(cls, user: UserInfo) -> AccessUser:
        """Build from who made a request."""
        extra = tuple(sorted((key, tuple(values)) for key, values in user.extra.items()))
        return cls(name=user.username, uid=user.uid, groups=user.groups, extra=extra)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessQuestion:
    """What would be done: to a path of the API server if ``path`` is set, else to resources.

    The fields are those of a SubjectAccessReview; selectors are as the expression gave them.
    """

    user: AccessUser
    verb: str
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessAnswer:
    """Yes or no. ``error`` says that some authorizer failed on the way, which leaves a no uncertain."""

    allowed: bool
    reason: str = ""
    error: str = ""


Told: TypeAlias = AccessAnswer | str
"""What came of a question: the answer, or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What is known of who may do what while a request is judged."""

    known: Mapping[AccessQuestion, Told] = field(default_factory=dict)
    closed: str = ""
    """Why nothing more can be asked; empty: it can."""


class Authorizer(Protocol):
    """Answers questions of access at once, without waiting for anybody."""

    def authorize(self, question: AccessQuestion) -> AccessAnswer:
        """Answer; raises whatever its user takes for "cannot be told"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRule:
    """One line of an access list. None fits anything; a rule with a path speaks of paths only, any other of resources only."""

    user: str | None = None
    user_group: str | None = None
    """A group that the user is in; ``group`` is the API group."""
    verb: str | None = None
    group: str | None = None
    resource: str | None = None
    subresource: str | None = None
    namespace: str | None = None
    name: str | None = None
    path: str | None = None
    answer: AccessAnswer

    def fits(self, question: AccessQuestion) -> bool:
        """Tell whether the rule speaks of a question."""
        if bool(question.path) is (self.path is None):
            return False
        pairs = (
            (self.user, question.user.name),
            (self.verb, question.verb),
            (self.group, question.group),
            (self.resource, question.resource),
            (self.subresource, question.subresource),
            (self.namespace, question.namespace),
            (self.name, question.name),
            (self.path, question.path),
        )
        if self.user_group not in (None, "*", *question.user.groups):
            return False
        return all(wanted is None or wanted in ("*", given) for wanted, given in pairs)


class AccessList:
    """Answers by the first rule that fits, and denies what none speaks of, as RBAC does."""

    def __init__(self, rules: Iterable[AccessRule]) -> None:
        self._rules = tuple(rules)

    def authorize(self, question: AccessQuestion) -> AccessAnswer:
        """Answer a question."""
        return next((rule.answer for rule in self._rules if rule.fits(question)), AccessAnswer(allowed=False))


ACCESS_QUESTION = ("user", "userGroup", "verb", "group", "resource", "subresource", "namespace", "name", "path")
"""Fields of a rule that say which questions it answers; what is left out fits any."""
ACCESS_ANSWER = {"allowed": bool, "reason": str, "error": str}
"""Fields of a rule that are its answer, and their types."""


def access_list(data: Any, *, source: str) -> AccessList:
    """Read an access list from JSON: ``[{user, userGroup, verb, group, …, allowed, reason, error}]``.

    Raises InputError for anything else.
    """
    if not isinstance(data, list):
        raise InputError("must be a list of rules", source=source)
    return AccessList([_rule(item, source, f"[{position}]") for position, item in enumerate(data)])


def _rule(item: Any, source: str, where: str) -> AccessRule:
    if not isinstance(item, dict):
        raise InputError(f"{where} must be an object", source=source)
    unknown = [key for key in item if key not in ACCESS_QUESTION and key not in ACCESS_ANSWER]
    if unknown:
        known = ", ".join((*ACCESS_QUESTION, *ACCESS_ANSWER))
        raise InputError(f"{where} has an unknown field '{unknown[0]}'; a rule has {known}", source=source)
    for key, value in item.items():
        if not isinstance(value, ACCESS_ANSWER.get(key, str)):
            form = "true or false" if key == "allowed" else "a string"
            raise InputError(f"{where}.{key} must be {form}", source=source)
    answer = {"allowed": False, **{key: value for key, value in item.items() if key in ACCESS_ANSWER}}
    parts = {"user_group" if key == "userGroup" else key: item[key] for key in ACCESS_QUESTION if key in item}
    return AccessRule(answer=AccessAnswer(**answer), **parts)
