"""Policy documents for tests, as the YAML that an author would write."""

from __future__ import annotations

import json
from typing import Any

from webhook.model.objects import Object

NATIVE = "admissionregistration.k8s.io/v1"
OURS = "gangwarden.dev/v1alpha1"
RULES: list[Object] = [{"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}]


def validating(name: str = "sizes", *expressions: str, **spec: Any) -> Object:
    rules = {"matchConstraints": {"resourceRules": RULES}}
    validations = [{"expression": expression} for expression in expressions or ("object.spec.parallelism <= 8",)]
    return {
        "apiVersion": NATIVE,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {**rules, "validations": validations, **spec},
    }


def binding(name: str = "everywhere", policy: str = "sizes", **spec: Any) -> Object:
    return {
        "apiVersion": NATIVE,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": policy, "validationActions": ["Deny"], **spec},
    }


def mutating(name: str = "labels", *expressions: str, **spec: Any) -> Object:
    """Write a MutatingAdmissionPolicy; what begins with ``[`` is a JSONPatch."""
    mutations = [
        {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}
        if text.startswith("[")
        else {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}
        for text in expressions or ("Object{metadata: Object.metadata{labels: {'seen': 'yes'}}}",)
    ]
    return {
        "apiVersion": NATIVE,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": RULES},
            "reinvocationPolicy": "Never",
            "mutations": mutations,
            **spec,
        },
    }


def mutating_binding(name: str = "everywhere", policy: str = "labels", **spec: Any) -> Object:
    return {
        "apiVersion": NATIVE,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": policy, **spec},
    }


def workload(name: str = "gangs", *, group: Object | None = None, **spec: Any) -> Object:
    members = {"path": "spec.template", "countExpression": "object.spec.parallelism"}
    return {
        "apiVersion": OURS,
        "kind": "WorkloadPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": RULES},
            "podGroups": [{"name": "workers", "members": members, **(group or {})}],
            **spec,
        },
    }


def workload_binding(name: str = "everywhere", policy: str = "gangs", **spec: Any) -> Object:
    return {
        "apiVersion": OURS,
        "kind": "WorkloadPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": policy, **spec},
    }


def exception(name: str = "import", policy: str = "sizes", **spec: Any) -> Object:
    """Write an exception for namespace team-a; a field that is None is left out."""
    whole = {
        "policyName": policy,
        "rules": [{"rule": "validations[0]"}],
        "matchConditions": [{"name": "team", "expression": "request.namespace == 'team-a'"}],
        "owner": "batch@example.com",
        "reason": "being split",
        "expires": "2026-12-31",
        **spec,
    }
    return {
        "apiVersion": OURS,
        "kind": "PolicyException",
        "metadata": {"name": name},
        "spec": {key: value for key, value in whole.items() if value is not None},
    }


def yaml_of(*documents: Object) -> str:
    """JSON is YAML; one document a line keeps line numbers predictable: 2, 4, 6, …."""
    return "".join(f"---\n{json.dumps(document)}\n" for document in documents)


def text_of(*documents: Object | str) -> str:
    """Return what a file holds: the text that was given, or documents as YAML."""
    given = [document for document in documents if isinstance(document, str)]
    return given[0] if given else yaml_of(*(document for document in documents if not isinstance(document, str)))
