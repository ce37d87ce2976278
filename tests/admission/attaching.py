"""Mutating reviews for tests: a Job, some WorkloadPolicies, and a cluster around them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.builders import Built, job
from tests.groups.building import compiled
from tests.rules.building import binding, request, situation
from webhook.admission import BoundWorkload, Surroundings, attach
from webhook.groups import CompiledWorkload
from webhook.model.groups import Capabilities
from webhook.model.objects import Object
from webhook.model.policies import Action, Binding
from webhook.model.snapshot import snapshot_of
from webhook.model.verdicts import Admitted, Answer, Denied, Finding, Patched

GROUPS = Capabilities(group_objects=True)
EVERYTHING = Capabilities(group_objects=True, native_jobs=True, topology=True, shared_claims=True)


def bound(policy: CompiledWorkload | None = None, *bindings: Binding) -> BoundWorkload:
    return BoundWorkload(policy=policy or compiled(), bindings=bindings or (binding(),))


def watching(*actions: Action) -> Binding:
    return binding(*actions, name="watched")


def around(*objects: Object, capabilities: Capabilities = GROUPS) -> Surroundings:
    tokens: Iterator[int] = count()
    return Surroundings(snapshot=snapshot_of(objects), capabilities=capabilities, token=lambda: f"{next(tokens):010x}")


def answer(
    obj: Built | Object | None = None, *policies: BoundWorkload, surroundings: Surroundings | None = None, **asked: Any
) -> Answer:
    """Ask about a Job; ``skip_undecided`` and ``world`` are of the situation, all else is of the request."""
    given = job() if obj is None else obj
    built = given.build() if isinstance(given, Built) else given
    about = {key: asked.pop(key) for key in ("skip_undecided", "world") if key in asked}
    answered, _ = attach(policies or (bound(),), situation(request(built, **asked), **about), surroundings or around())
    return answered


def said(answered: Answer) -> list[tuple[str, str]]:
    return [(finding.verdict.value, finding.message) for finding in answered.trail.findings]


def only(answered: Answer) -> Finding:
    (finding,) = answered.trail.findings
    return finding


def grouped(obj: Built | Object | None = None, *policies: Any, **more: Any) -> Patched:
    found = answer(obj, *policies, **more)
    assert isinstance(found, Patched), said(found)
    return found


def denied(obj: Built | Object | None = None, *policies: Any, **more: Any) -> Denied:
    found = answer(obj, *policies, **more)
    assert isinstance(found, Denied), said(found)
    return found


def admitted(obj: Built | Object | None = None, *policies: Any, **more: Any) -> Admitted:
    found = answer(obj, *policies, **more)
    assert isinstance(found, Admitted), said(found)
    return found


def group_of(obj: Object) -> str:
    return str(obj["spec"]["template"]["spec"]["schedulingGroup"]["podGroupName"])
