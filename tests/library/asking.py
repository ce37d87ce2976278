"""Cases put to the engine offline: the same rounds, defaults and surroundings as ``gangwarden check``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from webhook.admission import (
    Asker,
    Checker,
    ParamIndex,
    PolicySet,
    SnapshotWorld,
    Surroundings,
    apply_defaults,
    in_namespace,
    request_for,
)
from webhook.admission.expect import differences
from webhook.cluster import load_snapshot
from webhook.model.cases import Case
from webhook.model.groups import Capabilities
from webhook.model.objects import Object, ObjectKey
from webhook.model.requests import AdmissionRequest, Operation
from webhook.model.results import Result
from webhook.model.snapshot import EMPTY_SNAPSHOT, Snapshot, snapshot_of
from webhook.model.verdicts import Admitted, Patched, Trail
from webhook.policies import Manifest
from webhook.rules import ClusterView, Situation

ALL_GATES_ON = Capabilities(group_objects=True, native_jobs=True, topology=True, shared_claims=True)


@dataclass(frozen=True)
class Asked:
    """A case, and what the policies said."""

    case: Case
    results: tuple[Result, ...]

    @property
    def messages(self) -> list[str]:
        return [result.finding.message for result in self.results]

    @property
    def differences(self) -> tuple[str, ...]:
        """What is not as the case expects; the object is that of the last policy which changed it."""
        trail = Trail(findings=tuple(result.finding for result in self.results))
        changed = next((result for result in reversed(self.results) if result.patched is not None), None)
        created = changed.creates or () if changed else ()
        answer = (
            Patched(object=changed.patched or {}, patch=changed.patch or (), trail=trail) if changed else Admitted(trail=trail)
        )
        return differences(self.case.expect, answer, created)


def ask(case: Case, policies: PolicySet) -> Asked:
    """Put one case to a set of policies."""
    snapshot, capabilities = _cluster(case, policies)
    known = replace(policies, params=_params(policies, case.params))
    world = SnapshotWorld(snapshot=snapshot, files=known.params, invents_namespaces=True)

    def situation(request: AdmissionRequest) -> Situation:
        view = ClusterView(snapshot, request.namespace)
        return Situation(request=request, world=world, cluster=view, skip_undecided=True)

    surroundings = Surroundings(snapshot=snapshot, capabilities=capabilities, token=lambda: "0123456789")
    checker = Checker(policies=known, surroundings=surroundings, situation=situation)
    return Asked(case, checker.check(_request(case), source=case.name))


def _request(case: Case) -> AdmissionRequest:
    asker = Asker(operation=case.operation)
    if case.user.username or case.user.groups:
        asker = replace(asker, user=case.user)
    obj, old = (given and apply_defaults(in_namespace(given, "default")) for given in (case.object, case.old_object))
    asked_about = old if case.operation is Operation.DELETE else obj
    assert asked_about is not None
    return request_for(asked_about, asker, old=old)


def _cluster(case: Case, policies: PolicySet) -> tuple[Snapshot, Capabilities]:
    spaces = [case.namespace_object] if case.namespace_object else []
    if not case.snapshot:
        return (snapshot_of(spaces) if spaces else EMPTY_SNAPSHOT), ALL_GATES_ON
    given = [Manifest(object=obj, source=f"snapshot#{index}", line=1) for index, obj in enumerate((*case.snapshot, *spaces))]
    snapshot, capabilities = load_snapshot(given)
    return Snapshot({**{kind: {} for kind in policies.needs}, **snapshot.buckets}), capabilities


def _params(policies: PolicySet, given: Sequence[Object]) -> ParamIndex:
    """Let the params of a case take the place of those that the policy brings."""
    filed = [obj for objects in policies.params.objects.values() for obj in objects]
    return ParamIndex.of({ObjectKey.of(obj): obj for obj in (*filed, *given)}.values())
