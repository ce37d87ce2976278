"""The values of CEL's ``authorizer``: each remembers what was said so far, and ``check`` asks.

Source: apiserver pkg/cel/library/authz.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn

from webhook.cel import types
from webhook.cel.errors import EvaluationError, no_overload
from webhook.cel.types import Type
from webhook.model.access import AccessAnswer, AccessQuestion, AccessUser, Authorizer
from webhook.model.names import wrong_label, wrong_subdomain


class AccessValue:
    """A value that only the functions of this library take; comparing two is an error, as in the API server."""

    __slots__ = ()
    cel_type: Type
    may_be_key: ClassVar[bool] = False
    """The API server's authorizer is a list of them, which Go cannot hash (see ``values.Opaque``)."""

    def __eq__(self, other: object) -> NoReturn:
        raise no_overload()

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, slots=True, eq=False)
class AccessRoot(AccessValue):
    """``authorizer``: somebody who may be allowed something."""

    user: AccessUser
    authorizer: Authorizer
    cel_type = types.AUTHORIZER

    def path(self, path: str) -> PathCheck:
        """Choose a path of the API server."""
        if not go_strip(path):
            raise EvaluationError("path must not be empty")
        return PathCheck(AccessQuestion(user=self.user, verb="", path=path), self.authorizer)

    def group(self, group: str) -> GroupCheck:
        """Choose an API group."""
        return GroupCheck(group, self)

    def service_account(self, namespace: str, name: str) -> AccessRoot:
        """Choose another user: a ServiceAccount."""
        if wrong_subdomain(name):
            raise EvaluationError("Invalid service account name")
        if wrong_label(namespace):
            raise EvaluationError("Invalid service account namespace")
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        return AccessRoot(AccessUser(name=f"system:serviceaccount:{namespace}:{name}", groups=groups), self.authorizer)


@dataclass(frozen=True, slots=True, eq=False)
class GroupCheck(AccessValue):
    """An API group."""

    name: str
    root: AccessRoot
    cel_type = types.GROUP_CHECK

    def resource(self, resource: str) -> ResourceCheck:
        """Choose a resource of the group."""
        if not go_strip(resource):
            raise EvaluationError("resource must not be empty")
        question = AccessQuestion(user=self.root.user, verb="", group=self.name, resource=resource)
        return ResourceCheck(question, self.root.authorizer)


@dataclass(frozen=True, slots=True, eq=False)
class _Check(AccessValue):
    question: AccessQuestion
    authorizer: Authorizer

    def check(self, verb: str) -> Decision:
        """Ask."""
        return Decision(self.authorizer.authorize(replace(self.question, verb=verb)))


class PathCheck(_Check):
    """A path, to be checked for a verb."""

    __slots__ = ()
    cel_type = types.PATH_CHECK


class ResourceCheck(_Check):
    """A resource, to be narrowed down and checked for a verb."""

    __slots__ = ()
    cel_type = types.RESOURCE_CHECK

    def narrow(self, **part: Any) -> ResourceCheck:
        """Set one part of the question."""
        return ResourceCheck(replace(self.question, **part), self.authorizer)


@dataclass(frozen=True, slots=True, eq=False)
class Decision(AccessValue):
    """An answer."""

    answer: AccessAnswer
    cel_type = types.DECISION
    may_be_key = True


def access_variables(authorizer: Authorizer, user: AccessUser, asked: AccessQuestion) -> Mapping[str, Any]:
    """Return the two variables of an activation; ``asked`` is the resource that the request is about."""
    return {
        "authorizer": AccessRoot(user, authorizer),
        "authorizer.requestResource": ResourceCheck(replace(asked, user=user, verb=""), authorizer),
    }


def go_strip(text: str) -> str:
    """Strip blanks as Go's strings.TrimSpace does; Python takes four control characters for blanks that Go does not."""
    start, end = 0, len(text)
    while start < end and _is_go_space(text[start]):
        start += 1
    while end > start and _is_go_space(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_go_space(character: str) -> bool:
    return character.isspace() and character not in "\x1c\x1d\x1e\x1f"
