"""Schemas of the native policy kinds, as ``webhook.policies.native`` decodes them."""

from __future__ import annotations

from webhook.model.policies import Action, PatchType
from webhook.policies.kinds import NATIVE
from webhook.policies.schemas.parts import Schema, cel, document, fields, head, listed, match_resources, param_ref, text, texts


def validating_policy() -> Schema:
    """Describe a ValidatingAdmissionPolicy."""
    validation = fields(
        "A rule.",
        {
            "expression": cel("A bool; false: the object does not pass."),
            "message": text("What is said then, in one line."),
            "messageExpression": cel("A string that takes the place of message."),
            "reason": text(
                "Decides the HTTP status.", choices=("Forbidden", "Invalid", "RequestEntityTooLarge"), default="Invalid"
            ),
        },
        required=("expression",),
    )
    annotation = fields(
        "An audit annotation.",
        {"key": text("Its key, below the policy's name.", minLength=1), "valueExpression": cel("A string, or null for none.")},
        required=("key", "valueExpression"),
    )
    spec = fields(
        "Rules that objects must pass.",
        {
            **head(),
            "validations": listed("All are evaluated.", validation),
            "auditAnnotations": listed("What is written into the audit log.", annotation, maxItems=20),
        },
        required=("matchConstraints",),
        anyOf=[{"required": ["validations"]}, {"required": ["auditAnnotations"]}],
    )
    return document("ValidatingAdmissionPolicy", NATIVE, spec)


def mutating_policy() -> Schema:
    """Describe a MutatingAdmissionPolicy."""
    mutation = fields(
        "A change.",
        {
            "patchType": text("In which of two ways it is written.", choices=[kind.value for kind in PatchType]),
            "applyConfiguration": _expression("An Object{…}, merged into the object."),
            "jsonPatch": _expression("A list of JSONPatch{…}."),
        },
        required=("patchType",),
        oneOf=[
            {"properties": {"patchType": {"const": PatchType.APPLY_CONFIGURATION.value}}, "required": ["applyConfiguration"]},
            {"properties": {"patchType": {"const": PatchType.JSON_PATCH.value}}, "required": ["jsonPatch"]},
        ],
        **{"not": {"required": ["applyConfiguration", "jsonPatch"]}},
    )
    spec = fields(
        "Changes to objects.",
        {
            **head(),
            "mutations": listed("One after the other.", mutation, minItems=1),
            "reinvocationPolicy": text("Whether it is asked again after later changes.", choices=("Never", "IfNeeded")),
        },
        required=("matchConstraints", "mutations", "reinvocationPolicy"),
    )
    return document("MutatingAdmissionPolicy", NATIVE, spec)


def validating_binding() -> Schema:
    """Describe a ValidatingAdmissionPolicyBinding."""
    return document(
        "ValidatingAdmissionPolicyBinding",
        NATIVE,
        fields(
            "Makes a ValidatingAdmissionPolicy act.",
            {**binding_fields(), "validationActions": actions()},
            required=("policyName", "validationActions"),
        ),
    )


def mutating_binding() -> Schema:
    """Describe a MutatingAdmissionPolicyBinding."""
    spec = fields("Makes a MutatingAdmissionPolicy act.", binding_fields(), required=("policyName",))
    return document("MutatingAdmissionPolicyBinding", NATIVE, spec)


def binding_fields() -> dict[str, Schema]:
    """Return the fields that every binding has."""
    return {
        "policyName": text("The policy.", minLength=1),
        "paramRef": param_ref(),
        "matchResources": match_resources("Where the policy acts under this binding, within what it speaks about."),
    }


def actions() -> Schema:
    """Describe ``validationActions``."""
    known = [action.value for action in Action]
    return texts("What a failure does; not Deny and Warn together.", choices=known, minItems=1, uniqueItems=True)


def _expression(description: str) -> Schema:
    return fields("The expression.", {"expression": cel(description)}, required=("expression",))
