"""What the API server writes into ``status.typeChecking`` of policies, and what lint says it will: the same, word for word.

Every policy is stored in a real API server, whose controller checks it against the schemas of the kinds that it matches.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.client import Client, Object, wait_for
from tests.controlplane.cluster import ControlPlane
from webhook.admission.advice import expression_warnings, subjects_of
from webhook.policies import load_policies

RESOURCE = "admissionregistration.k8s.io/v1/validatingadmissionpolicies"
JOBS = ("batch", "v1", ["jobs"])
PODS = ("", "v1", ["pods"])
DEPLOYMENTS = ("apps", "v1", ["deployments"])
CHECKED_SECONDS = 60.0
CONTROLS: dict[str, tuple[list[tuple[str, str, list[str]]], Object, list[str]]] = {
    "a field that there is": ([JOBS], {}, ["object.spec.parallelism > 0"]),
    "a field that there is not": ([DEPLOYMENTS], {}, ["object.spec.replicaz > 1"]),
    "two mistakes in one expression": (
        [JOBS],
        {},
        ["object.spec.pods > 1 && object.spec.template.spec.containers.all(c, c.imge == 3)"],
    ),
    "mistakes in two expressions": ([JOBS], {}, ["object.spec.a > 1", "true", "oldObject.spec.b > 1"]),
    "a mistake on the second line": ([JOBS], {}, ["object.spec.parallelism > 1\n  && object.spec.pods > 1"]),
    "wide characters before a mistake": ([JOBS], {}, ["'日本' != '' && object.spec.nope == '日'"]),
    "a tab before a mistake": ([JOBS], {}, ["true &&\tobject.spec.nope"]),
    "a number beside text": ([JOBS], {}, ["object.spec.parallelism == '3'"]),
    "the result is no bool": ([JOBS], {}, ["dyn(object.spec.parallelism) == 1"]),
    "no field of a scalar": ([JOBS], {}, ["object.spec.parallelism.size > 1"]),
    "a quantity": ([PODS], {}, ["object.spec.containers.all(c, c.resources.limits['cpu'] != '1')"]),
    "a namespace": ([PODS], {}, ["object.metadata.namespace != 'a' && object.metadata.__namespace__ != 'b'"]),
    "a timestamp": ([PODS], {}, ["object.metadata.creationTimestamp < timestamp('2026-01-01T00:00:00Z')"]),
    "a timestamp as text": ([PODS], {}, ["object.metadata.creationTimestamp.startsWith('2026')"]),
    "a number or text": ([PODS], {}, ["object.spec.containers.all(c, c.livenessProbe.httpGet.port == 80)"]),
    "null for a struct, a map and a number": (
        [JOBS],
        {},
        ["object.spec.scheduling == null", "object.metadata.labels == null", "object.spec.parallelism == null"],
    ),
    "lists of two kinds of containers": ([PODS], {}, ["(object.spec.containers + object.spec.initContainers).all(c, true)"]),
    "lists of one type at two places": ([PODS], {}, ["object.spec.containers == object.spec.containers"]),
    "a struct or an empty map": ([PODS], {}, ["(has(object.spec.securityContext) ? object.spec.securityContext : {}) == {}"]),
    "managed fields, data without a schema": ([PODS], {}, ["object.metadata.managedFields.all(f, has(f.fieldsV1.f))"]),
    "bytes of a Secret": ([("", "v1", ["secrets"])], {}, ["object.data['a'] == b'x'", "object.data['a'] == 'x'"]),
    "has() of what there is not": ([JOBS], {}, ["!has(object.spec.replicas)"]),
    "an optional field that there is not": ([JOBS], {}, ["object.spec.?replicas.orValue(1) > 1"]),
    "three kinds, of which two lack a field": (
        [JOBS, PODS, DEPLOYMENTS],
        {},
        ["object.kind == 'Pod' || object.spec.template.spec.restartPolicy == 'Never'", "object.spec.replicas > 1"],
    ),
    "a kind that is not there, one with a wildcard, one that is": (
        [("", "v2", ["pods"]), ("apps", "*", ["deployments"]), JOBS],
        {},
        ["object.spec.containers.size() > 0"],
    ),
    "a subresource beside its resource": ([("apps", "v1", ["deployments/scale", "deployments"])], {}, ["object.spec.nope > 0"]),
    "only a subresource": ([("apps", "v1", ["deployments/scale"])], {}, ["object.spec.nope > 0"]),
    "variables with types": (
        [JOBS],
        {
            "variables": [
                {"name": "pods", "expression": "object.spec.parallelism"},
                {"name": "containers", "expression": "object.spec.template.spec.containers"},
                {"name": "spec", "expression": "object.spec"},
                {"name": "wrong", "expression": "object.spec.nope"},
            ]
        },
        ["variables.pods == '1'", "variables.containers.all(c, c.nope == 1)", "variables.spec.nope == 1", "variables.wrong == 1"],
    ),
    "params with a schema": (
        [JOBS],
        {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}},
        ["params.data.max != '' && params.daten.max != ''"],
    ),
    "params of an unknown kind": (
        [JOBS],
        {"paramKind": {"apiVersion": "example.org/v1", "kind": "Limit"}},
        ["params.anything.max > 1"],
    ),
    "an authorizer": (
        [JOBS],
        {},
        ["authorizer.group('').resource('pods').check('get').allowed()", "authorizer.requestResource.check('get').allowed()"],
    ),
    "request and namespaceObject": ([JOBS], {}, ["request.userInfo.username != '' && namespaceObject.metadata.name != ''"]),
    "groups of our own field": (
        [("scheduling.k8s.io", "v1beta1", ["podgroups", "workloads"])],
        {},
        ["object.spec.schedulingPolicy.gang.x > 1"],
    ),
    "kinds of other groups": (
        [
            ("policy", "v1", ["poddisruptionbudgets"]),
            ("resource.k8s.io", "v1", ["resourceclaims"]),
            ("", "v1", ["namespaces", "nodes"]),
        ],
        {},
        ["object.spec.minAvailable == 1", "object.spec.devices.requests.all(r, r.exactly.count > 1 && r.nope)"],
    ),
    "a CronJob and its template": (
        [("batch", "v1", ["cronjobs"])],
        {},
        ["object.spec.jobTemplate.spec.template.spec.nodes == 1"],
    ),
}


def policy(name: str, case: str) -> Object:
    """Write the policy of a case; each validation has a messageExpression that repeats it as text."""
    rules, more, expressions = CONTROLS[case]
    constraints = [
        {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": resources}
        for group, version, resources in rules
    ]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            **more,
            "matchConstraints": {"resourceRules": constraints},
            "validations": [{"expression": text, **_message(text)} for text in expressions],
        },
    }


def _message(text: str) -> Object:
    return {} if "authorizer" in text else {"messageExpression": f"string({text})"}  # which messages do not have


@pytest.fixture(scope="module")
def written(control_plane: ControlPlane) -> dict[str, list[dict[str, str]]]:
    """Store all policies at once, and return what the API server has written into each."""
    names = {case: f"checked-{index}" for index, case in enumerate(CONTROLS)}
    client = control_plane.client
    try:
        for case, name in names.items():
            client.create(policy(name, case))
        return {case: checked(client, name) for case, name in names.items()}
    finally:
        for name in names.values():
            client.delete(RESOURCE, "", name)


def checked(client: Client, name: str) -> list[dict[str, str]]:
    def status() -> Any:
        found = client.get(RESOURCE, "", name)
        return found["status"] if found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"] else None

    found = wait_for(status, seconds=CHECKED_SECONDS)
    return [
        {"fieldRef": one["fieldRef"], "warning": unnumbered(one["warning"])}
        for one in found.get("typeChecking", {}).get("expressionWarnings", ())
    ]


def unnumbered(text: str) -> str:
    """Take the numbers out with which the API server makes names of types unique."""
    return re.sub(r"\b([A-Z][A-Za-z]+)\d+(?=\.|\b)", r"\1", text)


@pytest.mark.parametrize("case", CONTROLS)
def test_lint_says_what_the_api_server_writes(case: str, written: dict[str, list[dict[str, str]]], tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy("p", case), allow_unicode=True))
    (subject,) = subjects_of(load_policies([tmp_path / "policy.yaml"]))
    said = [{"fieldRef": one.field, "warning": one.warning} for one in expression_warnings(subject)]
    assert said == written[case]
