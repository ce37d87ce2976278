"""One test case put to the engine: the same rounds, defaults and surroundings as ``gangwarden check``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from webhook.admission import (
    Checker,
    DefaultsFiller,
    ParamIndex,
    PolicySet,
    SnapshotWorld,
    Surroundings,
    request_for,
    result_differences,
)
from webhook.cli.asking import asker_of
from webhook.cli.offline import ASSUMED, Offline, custom_kinds, placed
from webhook.model.cases import Case, Tried
from webhook.model.groups import Capabilities
from webhook.model.objects import Object, ObjectKey
from webhook.model.requests import AdmissionRequest, Operation
from webhook.model.snapshot import EMPTY_SNAPSHOT, Snapshot, snapshot_of
from webhook.policies import Manifest
from webhook.settings import EvaluationSettings

_TOKEN = "0123456789"  # noqa: S105 - a part of names: the same in every run, so that a case may expect it
_NAMESPACE = "default"


def try_case(case: Case, policies: PolicySet, *, test: str = "") -> Tried:
    """Put a case to a set of policies; raises InputError where an object of the case is none that an API server decodes."""
    known = replace(policies, params=_params(policies, case.params))
    offline = _offline(case, known)
    checker = Checker(policies=known, surroundings=offline.surroundings, situation=offline.situation)
    complete = DefaultsFiller(offline.custom)
    results = checker.check(_request(case, complete), source=f"{case.origin.path}:{case.origin.line}", complete=complete)
    return Tried(test=test, case=case, results=results, differences=result_differences(case.expect, results))


def _request(case: Case, complete: DefaultsFiller) -> AdmissionRequest:
    old, obj = (given and complete.fill(_judged(given, case)) for given in (case.old_object, case.object))
    asked_about = old if case.operation is Operation.DELETE else obj
    assert asked_about is not None  # noqa: S101 - the reader of cases sees to it
    asker = asker_of(case.operation, case.user.username, case.user.groups)
    request = request_for(asked_about, asker, old=old)
    return replace(request, sub_resource=case.sub_resource) if case.sub_resource else request


def _judged(given: Object, case: Case) -> Object:
    manifest = Manifest(object=given, source=case.origin.path, line=case.origin.line)
    return placed(manifest, _NAMESPACE)


def _offline(case: Case, policies: PolicySet) -> Offline:
    snapshot, capabilities = _cluster(case, policies)
    return Offline(
        snapshot=snapshot,
        surroundings=Surroundings(snapshot=snapshot, capabilities=capabilities, token=lambda: _TOKEN),
        world=SnapshotWorld(snapshot=snapshot, files=policies.params, invents_namespaces=True),
        limits=EvaluationSettings(),
        default_namespace=_NAMESPACE,
        now=case.now or datetime.now(UTC),
        authorizer=case.authorizer,
        custom=custom_kinds(snapshot),
    )


def _cluster(case: Case, policies: PolicySet) -> tuple[Snapshot, Capabilities]:
    spaces = [case.namespace_object] if case.namespace_object else []
    if not case.snapshot:
        return (snapshot_of(spaces) if spaces else EMPTY_SNAPSHOT), ASSUMED
    from webhook.cluster import load_snapshot  # noqa: PLC0415 - brings the Kubernetes client: half a second and 50 MB

    place = f"{case.origin.path}:{case.origin.line}"
    objects = enumerate((*case.snapshot, *spaces))
    snapshot, capabilities = load_snapshot(
        [Manifest(object=obj, source=f"{place}: snapshot#{index}", line=1) for index, obj in objects]
    )
    return Snapshot({**{kind: {} for kind in policies.needs}, **snapshot.buckets}), capabilities


def _params(policies: PolicySet, given: Sequence[Object]) -> ParamIndex:
    """Let the params of a case take the place of those that the policy brings."""
    filed = [obj for objects in policies.params.objects.values() for obj in objects]
    return ParamIndex.of({ObjectKey.of(obj): obj for obj in (*filed, *given)}.values())
