"""JSON Schemas of everything that is read strictly, for editors. That they know what the decoders know is tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from webhook.policies.schemas import native, ours
from webhook.policies.schemas.parts import Schema

_DRAFT = "http://json-schema.org/draft-07/schema#"
_KINDS: Mapping[str, Callable[[], Schema]] = {
    "ValidatingAdmissionPolicy": native.validating_policy,
    "ValidatingAdmissionPolicyBinding": native.validating_binding,
    "MutatingAdmissionPolicy": native.mutating_policy,
    "MutatingAdmissionPolicyBinding": native.mutating_binding,
    "WorkloadPolicy": ours.workload_policy,
    "WorkloadPolicyBinding": ours.workload_binding,
    "PolicyException": ours.policy_exception,
    "PolicyTest": ours.policy_test,
    "Capabilities": ours.capabilities,
}
SCHEMA_KINDS = tuple(_KINDS)


def schema_of(kind: str) -> Schema:
    """Return the schema of one kind; raises KeyError for one that has none."""
    return {"$schema": _DRAFT, "title": kind, **_KINDS[kind]()}


def schema_of_all() -> Schema:
    """Return one schema for files of several kinds: each document by its kind, others as they are (params, for example)."""
    chosen = [
        {
            "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
            "then": {"$ref": f"#/definitions/{kind}"},
        }
        for kind in _KINDS
    ]
    return {
        "$schema": _DRAFT,
        "title": "Gangwarden policy files",
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string", "description": "Group and version of the kind."},
            "kind": {
                "anyOf": [{"enum": list(_KINDS)}, {"type": "string"}],
                "description": "A kind of policy, binding or test, or any other that serves as params.",
            },
        },
        "required": ["apiVersion", "kind"],
        "allOf": chosen,
        "definitions": {kind: describe() for kind, describe in _KINDS.items()},
    }
