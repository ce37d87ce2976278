"""Decoders of what every policy kind and every binding shares, with the API server's validation rules.

Source of the rules: kubernetes 1.37 pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

from webhook.model.names import (
    wrong_api_version,
    wrong_identifier,
    wrong_label_value,
    wrong_path_segment,
    wrong_qualified_name,
    wrong_subdomain,
)
from webhook.model.policies import (
    FailurePolicy,
    Head,
    LabelSelector,
    MatchResources,
    NamedExpression,
    ParamKind,
    ParamRef,
    Requirement,
    ResourceRule,
)
from webhook.policies.cursor import Cursor

HEAD_FIELDS = ("failurePolicy", "matchConstraints", "matchConditions", "paramKind", "variables")
"""Fields of ``spec`` that ``decode_head`` reads."""
METADATA_FIELDS = (
    "name", "labels", "annotations", "namespace", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "ownerReferences", "managedFields", "selfLink",
)  # fmt: skip
"""What a Kubernetes object may say in its metadata."""
OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT", "*")
"""What a rule of ``matchConstraints`` can be about."""
_CONDITIONS_LIMIT = 64


def decode_name(root: Cursor) -> str:
    """Read ``metadata`` of a cluster-scoped object and return its name."""
    meta = root.mapping("metadata")
    if meta is None:
        root.fail("required", "metadata.name") if not root.has("metadata") else None
        return ""
    meta.only(*METADATA_FIELDS)
    if meta.has("namespace"):
        meta.fail("not allowed: policies and bindings belong to the cluster, not to a namespace", "namespace")
    name = meta.text("name", required=True)
    meta.check("name", wrong_subdomain, name)
    return name


def decode_labels(root: Cursor) -> dict[str, str]:
    """Read ``metadata.labels``."""
    meta = root.mapping("metadata")
    return meta.pairs("labels") if meta else {}


def decode_annotations(root: Cursor) -> dict[str, str]:
    """Read ``metadata.annotations``."""
    meta = root.mapping("metadata")
    return meta.pairs("annotations") if meta else {}


def decode_head(root: Cursor, spec: Cursor) -> Head:
    """Read what every policy kind shares."""
    param_kind = spec.mapping("paramKind")
    constraints = spec.mapping("matchConstraints")
    if not spec.has("matchConstraints"):
        spec.fail("required", "matchConstraints")
    matched = decode_match_resources(constraints) if constraints else MatchResources()
    if constraints and not constraints.items("resourceRules"):
        constraints.fail("required: at least one rule", "resourceRules")
    return Head(
        name=decode_name(root),
        origin=root.origin,
        failure_policy=FailurePolicy(spec.text("failurePolicy", "Fail", choices=("Fail", "Ignore"))),
        match_constraints=matched,
        match_conditions=decode_conditions(spec),
        param_kind=_param_kind(param_kind) if param_kind else None,
        variables=_variables(spec),
        labels=decode_labels(root),
        annotations=decode_annotations(root),
    )


def decode_match_resources(cursor: Cursor) -> MatchResources:
    """Read ``matchConstraints`` of a policy or ``matchResources`` of a binding."""
    cursor.only("namespaceSelector", "objectSelector", "resourceRules", "excludeResourceRules", "matchPolicy")
    return MatchResources(
        namespace_selector=decode_selector(cursor.mapping("namespaceSelector")),
        object_selector=decode_selector(cursor.mapping("objectSelector")),
        resource_rules=tuple(_rule(rule) for rule in cursor.mappings("resourceRules")),
        exclude_resource_rules=tuple(_rule(rule) for rule in cursor.mappings("excludeResourceRules")),
        match_policy=cursor.text("matchPolicy", "Equivalent", choices=("Equivalent", "Exact")),
    )


def decode_selector(cursor: Cursor | None) -> LabelSelector:
    """Read a label selector; an absent one selects everything."""
    if cursor is None:
        return LabelSelector()
    cursor.only("matchLabels", "matchExpressions")
    labels = cursor.pairs("matchLabels")
    for key, value in labels.items():
        cursor.check("matchLabels", wrong_qualified_name, key)
        cursor.check("matchLabels", wrong_label_value, value)
    return LabelSelector(
        match_labels=tuple(labels.items()),
        match_expressions=tuple(_requirement(item) for item in cursor.mappings("matchExpressions")),
    )


def decode_param_ref(cursor: Cursor) -> ParamRef:
    """Read which params a binding uses."""
    cursor.only("name", "namespace", "selector", "parameterNotFoundAction")
    name = cursor.text("name")
    cursor.check("name", wrong_path_segment, name)
    if name and cursor.has("selector"):
        cursor.fail("name and selector exclude each other", "selector")
    elif not name and not cursor.has("selector"):
        cursor.fail("one of name and selector is required")
    return ParamRef(
        name=name,
        namespace=cursor.text("namespace"),
        selector=decode_selector(cursor.mapping("selector")) if cursor.has("selector") else None,
        parameter_not_found_action=cursor.text("parameterNotFoundAction", required=True, choices=("Deny", "Allow")),
    )


def fail_repeated(items: list[Cursor], name: str) -> None:
    """Note every entry whose field says what an earlier one has said."""
    seen: set[str] = set()
    for item in items:
        value = item.node.value.get(name)
        if value is None or not isinstance(value.value, str):
            continue
        if value.value in seen:
            item.fail(f'"{value.value}" is there twice', name)
        seen.add(value.value)


def _requirement(cursor: Cursor) -> Requirement:
    cursor.only("key", "operator", "values")
    key = cursor.text("key", required=True)
    cursor.check("key", wrong_qualified_name, key)
    operator = cursor.text("operator", required=True, choices=("In", "NotIn", "Exists", "DoesNotExist"))
    values = cursor.texts("values")
    if operator in ("In", "NotIn") and not values:
        cursor.fail(f"required with operator {operator}", "values")
    if operator in ("Exists", "DoesNotExist") and values:
        cursor.fail(f"not allowed with operator {operator}", "values")
    for value in values:
        cursor.check("values", wrong_label_value, value)
    return Requirement(key=key, operator=operator, values=values)


def _rule(cursor: Cursor) -> ResourceRule:
    cursor.only("resourceNames", "operations", "apiGroups", "apiVersions", "resources", "scope")
    names = ("operations", "apiGroups", "apiVersions", "resources", "resourceNames")
    lists = {name: cursor.texts(name, required=name != "resourceNames") for name in names}
    for name in ("operations", "apiGroups", "apiVersions"):
        if "*" in lists[name] and len(lists[name]) > 1:
            cursor.fail('"*" stands alone or not at all', name)
    for name, values in lists.items():
        if "" in values and name not in ("apiGroups", "resourceNames"):
            cursor.fail("an entry must not be empty", name)
        if name == "resourceNames" and len(set(values)) < len(values):
            cursor.fail("an entry is there twice", name)
    for operation in cursor.items("operations"):
        if isinstance(operation.node.value, str) and operation.node.value not in OPERATIONS:
            operation.fail(f'"{operation.node.value}" is not an operation: use {", ".join(OPERATIONS)}')
    for name in lists["resourceNames"]:
        cursor.check("resourceNames", wrong_path_segment, name)
    cursor.check("resources", lambda _: _wrong_resources(lists["resources"]), "resources")
    return ResourceRule(
        resource_names=lists["resourceNames"],
        operations=lists["operations"],
        api_groups=lists["apiGroups"],
        api_versions=lists["apiVersions"],
        resources=lists["resources"],
        scope=cursor.text("scope", "*", choices=("Cluster", "Namespaced", "*")),
    )


def _wrong_resources(resources: tuple[str, ...]) -> str:
    """Return which wildcard makes which other entry pointless; the API server refuses those."""
    if "*/*" in resources and len(resources) > 1:
        return 'if "*/*" is there, nothing else may be'
    if "*" in resources and any("/" not in resource and resource != "*" for resource in resources):
        return 'if "*" is there, no other resource without a subresource may be'
    earlier: set[str] = set()
    for resource, slash, sub in (text.partition("/") for text in resources):
        if slash and (f"{resource}/*" in earlier or f"*/{sub}" in earlier):
            return f'"{resource}/{sub}" is covered by a wildcard before it'
        earlier.add(f"{resource}{slash}{sub}")
    return ""


def decode_conditions(spec: Cursor) -> tuple[NamedExpression, ...]:
    """Read ``matchConditions``."""
    items = spec.mappings("matchConditions")
    if len(items) > _CONDITIONS_LIMIT:
        spec.fail(f"at most {_CONDITIONS_LIMIT} entries, not {len(items)}", "matchConditions")
    fail_repeated(items, "name")
    for item in items:
        item.check("name", wrong_qualified_name, item.text("name"))
    return _named(items)


def _variables(spec: Cursor) -> tuple[NamedExpression, ...]:
    items = spec.mappings("variables")
    fail_repeated(items, "name")
    for item in items:
        item.check("name", wrong_identifier, item.text("name"))
    return _named(items)


def _named(items: list[Cursor]) -> tuple[NamedExpression, ...]:
    found = []
    for item in items:
        item.only("name", "expression")
        name, expression = item.text("name", required=True), item.expression("expression", required=True)
        if expression:
            found.append(NamedExpression(name=name, expression=expression))
    return tuple(found)


def _param_kind(cursor: Cursor) -> ParamKind:
    cursor.only("apiVersion", "kind")
    api_version = cursor.text("apiVersion", required=True)
    cursor.check("apiVersion", wrong_api_version, api_version)
    return ParamKind(api_version=api_version, kind=cursor.text("kind", required=True))
