"""Bodies of reviews: whatever is sent gets a review or a refusal in words, and what decodes never slips by a rule that must deny.

Each input is judged three times by one rule that denies in three ways (its words, a planted breach, an error), as Kyverno's
FuzzPodBypass does, and once by all shipped policies on one of the paths.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import orjson
import yaml

from tests.policies import writing
from tests.soak.hostile import Attacker
from webhook.admission import PolicySet, decode_review
from webhook.cli.reviewer import LiveReviewer
from webhook.errors import ReviewError
from webhook.model.groups import Capabilities
from webhook.model.objects import Object
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.model.snapshot import EMPTY_SNAPSHOT
from webhook.model.verdicts import Reviewed
from webhook.policies import PolicyStore, SourceFile, bundled_policies, load_policies
from webhook.policies.files import Sources
from webhook.policies.load import compile_sources
from webhook.rules.match import is_exempt
from webhook.server.reviewing import _decode, _subject_of, levels_of
from webhook.settings import EvaluationSettings

EVERYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
PRIVILEGED = """
[object.?spec.?containers, object.?spec.?template.?spec.?containers].all(list,
  list.orValue([]).all(one, one.?securityContext.?privileged.orValue(false) != true))
"""
RULES = {
    "never": "false",
    "planted": PRIVILEGED,
    "broken": "[object, oldObject].all(one, one.no.such.field == 1)",
}
"""Nothing passes the first, nothing privileged the second, and the third cannot be evaluated, under failurePolicy Fail."""
BREACH = {"name": "breach", "image": "breach", "securityContext": {"privileged": True}}
PATHS = tuple((phase, policy) for phase in Phase for policy in FailurePolicy)


class BypassError(AssertionError):
    """Something was allowed that a rule denies."""


class Target:
    """The whole way of a body, but for the socket."""

    def __init__(self) -> None:
        self._denying = {name: reviewer_of(denying(name, rule)) for name, rule in RULES.items()}
        self._shipped = reviewer_of(load_policies([bundled_policies()]))

    def run(self, data: bytes) -> None:
        """Judge a body; raises BypassError, or whatever was not answered in words."""
        try:
            document = _decode(data)
        except ReviewError as error:
            return refused(error)
        _subject_of(document)
        phase, failure_policy = PATHS[sum(data[-8:]) % len(PATHS)]
        answer = reviewed(self._shipped, document, phase, failure_policy, levels=levels_of(data))
        if answer is None:
            return None
        orjson.dumps(answer.document)
        for name, reviewer in self._denying.items():
            asked = planted(orjson.loads(data)) if name == "planted" else document
            if asked is not None and not is_exempt(decode_review(asked)):
                must_deny(reviewer, asked, name)
        return None

    def mutate(self, data: bytes, random: Random) -> bytes | None:
        """Exchange pieces of a review for others, or send what is none."""
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            return None
        if not document or not isinstance(document, dict):
            return None
        try:
            return Attacker([document], random).body()[0]
        except (IndexError, RecursionError, UnicodeError):  # nothing is left to exchange
            return None


def denying(name: str, rule: str, **more: Any) -> PolicySet:
    """Return a set of one policy about everything; ``more`` goes into its spec."""
    spec = {"matchConstraints": {"resourceRules": [EVERYTHING]}, "failurePolicy": "Fail", **more}
    documents = [writing.validating(name, rule, **spec), writing.binding(policy=name)]
    content = yaml.safe_dump_all(documents).encode()
    return compile_sources(Sources((SourceFile(f"{name}.yaml", content),), (), name))


def reviewer_of(policies: PolicySet) -> LiveReviewer:
    """Return the webhook's own reviewer."""
    capabilities = Capabilities(group_objects=True, topology=True, shared_claims=True)
    limits = EvaluationSettings()
    store = PolicyStore(policies)
    return LiveReviewer(store, lambda: EMPTY_SNAPSHOT, lambda: capabilities, limits=limits, invents_namespaces=True)


def reviewed(
    reviewer: LiveReviewer, document: Any, phase: Phase, failure_policy: FailurePolicy, *, levels: int | None = None
) -> Reviewed | None:
    """Return what came of a review, or None for a refusal."""
    try:
        answer = reviewer.review(document, phase=phase, failure_policy=failure_policy, expired=lambda: False, levels=levels)
    except ReviewError as error:
        refused(error)
        return None
    assert isinstance(answer, Reviewed), "asked something, though nobody was there to answer"
    return answer


def refused(error: ReviewError) -> None:
    """Look at a refusal."""
    in_words(error)
    assert 400 <= error.status < 500, f"refused with {error.status}"


def in_words(error: object, begin: str = "") -> None:
    """Refuse an error that says nothing, or that does not begin with its place."""
    text = str(error)
    assert text.removeprefix(begin).strip(), "refused without a word"
    assert text.startswith(begin), f"no place in {text}"


def must_deny(reviewer: LiveReviewer, document: Object, name: str) -> None:
    """Raise BypassError unless a review is denied, in words."""
    answer = reviewed(reviewer, document, Phase.VALIDATE, FailurePolicy.FAIL)
    if answer is None:
        return
    response = answer.document["response"]
    if response["allowed"] is not False:
        raise BypassError(f"the rule {name!r} let this pass: {json.dumps(document)[:2000]}")
    in_words(response["status"]["message"])


def planted(document: Any) -> Object | None:
    """Return the review with a privileged container in its object, or None where there is no place for one."""
    request = document.get("request") if isinstance(document, dict) else None
    found = request.get("object") if isinstance(request, dict) else None
    if not isinstance(found, dict):
        return None
    spec = found.setdefault("spec", {})
    if not isinstance(spec, dict):
        return None
    inner = spec.get("template", {}).get("spec") if isinstance(spec.get("template"), dict) else None
    place = inner if isinstance(inner, dict) else spec
    there = place.get("containers")
    place["containers"] = [*(there if isinstance(there, list) else []), BREACH]
    return document
