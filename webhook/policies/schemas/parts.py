"""What JSON Schemas of several kinds share, and short words for the shapes that the strict loader knows.

Draft 7, because that is what editors read. Schemas are as strict as the loader about names of fields, and say what a
person wants to know while typing; what takes more than a shape to find wrong is for ``gangwarden lint``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from webhook.policies.heads import METADATA_FIELDS, OPERATIONS

Schema: TypeAlias = dict[str, Any]


def text(description: str, *, choices: Iterable[str] = (), **more: Any) -> Schema:
    """Describe a text, and which ones there are if not all."""
    values = list(choices)
    return {"type": "string", "description": description, **({"enum": values} if values else {}), **more}


def cel(description: str) -> Schema:
    """Describe a CEL expression."""
    return {"type": "string", "minLength": 1, "description": f"CEL. {description}"}


def fields(description: str, properties: Mapping[str, Schema], *, required: Sequence[str] = (), **more: Any) -> Schema:
    """Describe a mapping that has these fields and no others."""
    needed = {"required": list(required)} if required else {}
    return {
        "type": "object",
        "description": description,
        "properties": dict(properties),
        "additionalProperties": False,
        **needed,
        **more,
    }


def listed(description: str, items: Schema, **more: Any) -> Schema:
    """Describe a list."""
    return {"type": "array", "description": description, "items": items, **more}


def texts(description: str, *, choices: Iterable[str] = (), **more: Any) -> Schema:
    """Describe a list of texts."""
    values = list(choices)
    return listed(description, {"type": "string", **({"enum": values} if values else {})}, **more)


def pairs(description: str) -> Schema:
    """Describe a mapping of texts to texts."""
    return {"type": "object", "description": description, "additionalProperties": {"type": "string"}}


def anything(description: str) -> Schema:
    """Describe a mapping of which we know nothing further, such as a Kubernetes object."""
    return {"type": "object", "description": description}


def document(kind: str, api_version: str, spec: Schema, *, metadata: Schema | None = None) -> Schema:
    """Describe a whole document."""
    return fields(
        spec["description"],
        {
            "apiVersion": {"const": api_version, "description": "Group and version of the kind."},
            "kind": {"const": kind, "description": "The kind."},
            "metadata": metadata or _metadata(),
            "spec": spec,
            "status": {"type": "object", "description": "Written by the API server; ignored."},
        },
        required=("apiVersion", "kind", "metadata", "spec"),
    )


def match_resources(description: str, *, needs_rules: bool = False) -> Schema:
    """Describe ``matchConstraints`` and ``matchResources``."""
    rules: Schema = {"minItems": 1} if needs_rules else {}
    return fields(
        description,
        {
            "resourceRules": listed("Which operations on which resources.", _rule(), **rules),
            "excludeResourceRules": listed("Exceptions from resourceRules.", _rule()),
            "namespaceSelector": label_selector("By the labels of the object's namespace."),
            "objectSelector": label_selector("By the labels of the object; whoever writes it chooses them."),
            "matchPolicy": text(
                "Whether other versions of a resource match as well.", choices=("Equivalent", "Exact"), default="Equivalent"
            ),
        },
        **({"required": ["resourceRules"]} if needs_rules else {}),
    )


def label_selector(description: str) -> Schema:
    """Describe a label selector."""
    requirement = fields(
        "A condition on one label.",
        {
            "key": text("The label."),
            "operator": text("What is asked of it.", choices=("In", "NotIn", "Exists", "DoesNotExist")),
            "values": texts("For In and NotIn."),
        },
        required=("key", "operator"),
    )
    return fields(
        description,
        {"matchLabels": pairs("Labels and their values."), "matchExpressions": listed("Conditions; all must hold.", requirement)},
    )


def conditions() -> Schema:
    """Describe ``matchConditions``."""
    return listed("All must be true for the policy to be asked.", named_expression("A condition.", "A bool."), maxItems=64)


def named_expression(description: str, result: str) -> Schema:
    """Describe a name and an expression."""
    return fields(
        description, {"name": text("Its name.", minLength=1), "expression": cel(result)}, required=("name", "expression")
    )


def head() -> dict[str, Schema]:
    """Return the fields of ``spec`` that every policy kind has."""
    return {
        "failurePolicy": text(
            "What becomes of a request whose rule cannot be evaluated.", choices=("Fail", "Ignore"), default="Fail"
        ),
        "matchConstraints": match_resources("What the policy speaks about.", needs_rules=True),
        "matchConditions": conditions(),
        "paramKind": fields(
            "The kind of the policy's params, which expressions read as params.",
            {"apiVersion": text("Such as v1.", minLength=1), "kind": text("Such as ConfigMap.", minLength=1)},
            required=("apiVersion", "kind"),
        ),
        "variables": listed(
            "Expressions that others read as variables.NAME; evaluated when first read.",
            named_expression("A variable.", "Any value; may read the variables above it."),
        ),
    }


def param_ref() -> Schema:
    """Describe ``paramRef``."""
    return fields(
        "Which params the policy gets under this binding; one of name and selector.",
        {
            "name": text("Name of the object.", minLength=1),
            "namespace": text("Its namespace; empty: that of the object in question."),
            "selector": label_selector("All params with these labels."),
            "parameterNotFoundAction": text("What to do where there is none.", choices=("Deny", "Allow")),
        },
        required=("parameterNotFoundAction",),
        oneOf=[{"required": ["name"]}, {"required": ["selector"]}],
    )


def _rule() -> Schema:
    needed: Schema = {"minItems": 1}
    return fields(
        "Operations on resources.",
        {
            "apiGroups": texts('Such as batch; "" is the core group, "*" every group.', **needed),
            "apiVersions": texts('Such as v1, or "*".', **needed),
            "operations": texts("What is done to them.", choices=OPERATIONS, **needed),
            "resources": texts("Such as jobs or jobs/status.", **needed),
            "resourceNames": texts("Only objects of these names.", uniqueItems=True),
            "scope": text("Whether they have a namespace.", choices=("Cluster", "Namespaced", "*"), default="*"),
        },
        required=("apiGroups", "apiVersions", "operations", "resources"),
    )


def _metadata() -> Schema:
    known: dict[str, Schema] = {name: {} for name in METADATA_FIELDS if name != "namespace"}
    known |= {
        "name": text("The name, a DNS subdomain.", minLength=1),
        "labels": pairs("Labels."),
        "annotations": pairs("Annotations."),
    }
    return fields("Name, labels and annotations; the object belongs to no namespace.", known, required=("name",))
