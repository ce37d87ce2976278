"""Decoders of ValidatingAdmissionPolicy, MutatingAdmissionPolicy and of bindings, with the API server's validation rules.

Source of the rules: kubernetes 1.37 pkg/apis/admissionregistration/validation/validation.go. One of ours on top: two
variables of one name, of which the API server would silently use the later.
"""

from __future__ import annotations

from webhook.model.names import wrong_qualified_name, wrong_subdomain
from webhook.model.policies import (
    Action,
    Binding,
    MutatingPolicy,
    Mutation,
    NamedExpression,
    PatchType,
    ValidatingPolicy,
    Validation,
)
from webhook.policies.cursor import Cursor
from webhook.policies.heads import (
    HEAD_FIELDS,
    decode_annotations,
    decode_head,
    decode_match_resources,
    decode_name,
    decode_param_ref,
    fail_repeated,
)

ROOT_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")
_ANNOTATIONS_LIMIT = 20
_SOURCE_LIMIT_BYTES = 5 * 1024
_MUTATIONS = {PatchType.APPLY_CONFIGURATION: "applyConfiguration", PatchType.JSON_PATCH: "jsonPatch"}
"""Which field of a mutation goes with its patchType."""


def decode_validating_policy(root: Cursor) -> ValidatingPolicy:
    """Read a ValidatingAdmissionPolicy."""
    spec = spec_of(root)
    spec.only(*HEAD_FIELDS, "validations", "auditAnnotations")
    head = decode_head(root, spec)
    if not spec.items("validations") and not spec.items("auditAnnotations"):
        spec.fail("required: validations or auditAnnotations must contain at least one item", "validations")
    validations = (_validation(item) for item in spec.mappings("validations"))
    return ValidatingPolicy(
        head=head,
        validations=tuple(validation for validation in validations if validation),
        audit_annotations=_annotations(spec, head.name),
    )


def decode_mutating_policy(root: Cursor) -> MutatingPolicy:
    """Read a MutatingAdmissionPolicy."""
    spec = spec_of(root)
    spec.only(*HEAD_FIELDS, "mutations", "reinvocationPolicy")
    if not spec.items("mutations"):
        spec.fail("required: at least one item", "mutations")
    _fail_delete(spec.mapping("matchConstraints"))
    reinvocation = spec.text("reinvocationPolicy", required=True, choices=("Never", "IfNeeded"))
    mutations = (_mutation(item) for item in spec.mappings("mutations"))
    return MutatingPolicy(
        head=decode_head(root, spec),
        mutations=tuple(mutation for mutation in mutations if mutation),
        reinvoked=reinvocation == "IfNeeded",
    )


def decode_mutating_binding(root: Cursor) -> Binding:
    """Read a MutatingAdmissionPolicyBinding, which has no actions: a mutation cannot only warn."""
    spec = spec_of(root)
    spec.only("policyName", "paramRef", "matchResources")
    _fail_delete(spec.mapping("matchResources"))
    return _binding(root, spec, "MutatingAdmissionPolicy", ())


def decode_binding(root: Cursor, policy_kind: str, *, default_actions: tuple[Action, ...] = ()) -> Binding:
    """Read a binding of any policy kind; without ``default_actions`` it must say what it does."""
    spec = spec_of(root)
    spec.only("policyName", "paramRef", "matchResources", "validationActions")
    return _binding(root, spec, policy_kind, _actions(spec, default_actions))


def _binding(root: Cursor, spec: Cursor, policy_kind: str, actions: tuple[Action, ...]) -> Binding:
    policy_name = spec.text("policyName", required=True)
    spec.check("policyName", wrong_subdomain, policy_name)
    reference, resources = spec.mapping("paramRef"), spec.mapping("matchResources")
    return Binding(
        name=decode_name(root),
        policy_kind=policy_kind,
        policy_name=policy_name,
        origin=root.origin,
        param_ref=decode_param_ref(reference) if reference else None,
        match_resources=decode_match_resources(resources) if resources else None,
        actions=actions,
        annotations=decode_annotations(root),
    )


def spec_of(root: Cursor) -> Cursor:
    """Return ``spec``, or the root itself, with an error noted, when there is none."""
    root.only(*ROOT_FIELDS)
    spec = root.mapping("spec")
    if spec is None:
        if not root.has("spec"):
            root.fail("required", "spec")
        return Cursor(root.document, root.node._replace(value={}, keys={}), "spec", [])
    return spec


def _mutation(cursor: Cursor) -> Mutation | None:
    cursor.only("patchType", *_MUTATIONS.values())
    written = cursor.text("patchType", required=True, choices=[kind.value for kind in PatchType])
    if not written:
        return None
    patch_type = PatchType(written)
    for other, name in _MUTATIONS.items():
        if other is not patch_type and cursor.has(name):
            cursor.fail(f"not allowed with patchType {patch_type}", name)
    name = _MUTATIONS[patch_type]
    content = cursor.mapping(name)
    if content is None:
        if not cursor.has(name):
            cursor.fail(f"required with patchType {patch_type}", name)
        return None
    expression = content.only("expression").expression("expression", required=True)
    return Mutation(patch_type=patch_type, expression=expression) if expression else None


def _fail_delete(resources: Cursor | None) -> None:
    """Note rules about DELETE: there is no object to be changed."""
    for rule in resources.mappings("resourceRules") if resources else ():
        for operation in rule.items("operations"):
            if operation.node.value == "DELETE":
                operation.fail('"DELETE" is not supported: a mutating policy takes CREATE, UPDATE, CONNECT or "*"')


def _validation(cursor: Cursor) -> Validation | None:
    cursor.only("expression", "message", "messageExpression", "reason")
    expression = cursor.expression("expression", required=True)
    message, composed = cursor.text("message"), cursor.expression("messageExpression")
    if message and not message.strip():
        cursor.fail("must not be blank", "message")
    if "\n" in message.strip() or "\r" in message.strip():
        cursor.fail("must not contain line breaks", "message")
    if composed is None and cursor.text("messageExpression"):
        cursor.fail("must not be blank", "messageExpression")
    reason = cursor.text("reason", "Invalid", choices=("Forbidden", "Invalid", "RequestEntityTooLarge"))
    if expression is None:
        return None
    return Validation(expression=expression, message=message, message_expression=composed, reason=reason)


def _annotations(spec: Cursor, policy: str) -> tuple[NamedExpression, ...]:
    items = spec.mappings("auditAnnotations")
    if len(items) > _ANNOTATIONS_LIMIT:
        spec.fail(f"at most {_ANNOTATIONS_LIMIT} entries, not {len(items)}", "auditAnnotations")
    fail_repeated(items, "key")
    found = []
    for item in items:
        item.only("key", "valueExpression")
        key, expression = item.text("key", required=True), item.expression("valueExpression", required=True)
        if key and policy:
            item.check("key", wrong_qualified_name, f"{policy}/{key}")
        if expression and len(expression.text.strip().encode()) > _SOURCE_LIMIT_BYTES:
            item.fail(f"at most {_SOURCE_LIMIT_BYTES} bytes", "valueExpression")
        if expression:
            found.append(NamedExpression(name=key, expression=expression))
    return tuple(found)


def _actions(spec: Cursor, default: tuple[Action, ...]) -> tuple[Action, ...]:
    items = spec.items("validationActions")
    if not items:
        if not default or spec.has("validationActions"):
            spec.fail("required: at least one of Deny, Warn and Audit", "validationActions")
        return default
    known, found = [action.value for action in Action], []
    for item in items:
        if not item.expect(str, "text"):
            continue
        if item.node.value not in known:
            item.fail(f'"{item.node.value}" is not an action: use Deny, Warn or Audit')
        elif Action(item.node.value) in found:
            item.fail(f'"{item.node.value}" is there twice')
        else:
            found.append(Action(item.node.value))
    if Action.DENY in found and Action.WARN in found:
        spec.fail("Deny and Warn together are refused: the same text would come twice", "validationActions")
    return tuple(found)
