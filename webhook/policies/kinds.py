"""Which kinds stand among policy files, and which of them this version loads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from webhook.errors import PolicyError
from webhook.model.exceptions import PolicyException
from webhook.model.objects import Object
from webhook.model.policies import Action, Binding, MutatingPolicy, Origin, ValidatingPolicy, WorkloadPolicy
from webhook.policies.cursor import Cursor, hint
from webhook.policies.exceptions import decode_exception
from webhook.policies.native import decode_binding, decode_mutating_binding, decode_mutating_policy, decode_validating_policy
from webhook.policies.nodes import Document
from webhook.policies.workload import decode_workload_policy

NATIVE = "admissionregistration.k8s.io/v1"
OURS = "gangwarden.dev/v1alpha1"
LIST_FIELDS = frozenset({"apiVersion", "kind", "metadata", "items"})
"""All that a v1 List has."""


class Treatment(Enum):
    """What becomes of a document of a kind."""

    VALIDATING = "a ValidatingAdmissionPolicy"
    MUTATING = "a MutatingAdmissionPolicy"
    WORKLOAD = "a WorkloadPolicy"
    BINDING = "a binding"
    MUTATING_BINDING = "a binding that has no actions"
    TEST = "test cases, which are no part of a policy set"
    ASIDE = "an input of commands, no part of a policy set either"
    EXCEPTION = "a PolicyException"
    LATER = "a kind that a later version loads"
    PLAIN = "any other object: it may serve as params"


_KINDS: dict[str, tuple[str, Treatment]] = {
    "ValidatingAdmissionPolicy": (NATIVE, Treatment.VALIDATING),
    "ValidatingAdmissionPolicyBinding": (NATIVE, Treatment.BINDING),
    "MutatingAdmissionPolicy": (NATIVE, Treatment.MUTATING),
    "MutatingAdmissionPolicyBinding": (NATIVE, Treatment.MUTATING_BINDING),
    "ValidatingWebhookConfiguration": (NATIVE, Treatment.PLAIN),
    "MutatingWebhookConfiguration": (NATIVE, Treatment.PLAIN),
    "WorkloadPolicy": (OURS, Treatment.WORKLOAD),
    "WorkloadPolicyBinding": (OURS, Treatment.BINDING),
    "PolicyException": (OURS, Treatment.EXCEPTION),
    "PreemptionPolicy": (OURS, Treatment.LATER),
    "PolicyTest": (OURS, Treatment.TEST),
    "Capabilities": (OURS, Treatment.ASIDE),
}
_UNMISTAKABLE = frozenset(kind for kind, (api_version, _) in _KINDS.items() if api_version == NATIVE) | {
    "WorkloadPolicy",
    "WorkloadPolicyBinding",
}
"""Kinds that nobody else has: with another apiVersion they are mistakes, where ``PolicyException`` may be Kyverno's."""


@dataclass(slots=True)
class Contents:
    """What the documents of a set of files say."""

    validating: list[ValidatingPolicy] = field(default_factory=list)
    mutating: list[MutatingPolicy] = field(default_factory=list)
    workload: list[WorkloadPolicy] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    exceptions: list[PolicyException] = field(default_factory=list)
    others: list[tuple[Object, Origin]] = field(default_factory=list)
    errors: list[PolicyError] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """JSON files that are something else altogether."""


def read_document(document: Document, contents: Contents) -> None:
    """Decode one document into the contents."""
    for root in roots_of(document, contents.errors):
        kind = root.node.value["kind"].value
        match treatment_of(root):
            case Treatment.VALIDATING:
                contents.validating.append(decode_validating_policy(root))
            case Treatment.MUTATING:
                contents.mutating.append(decode_mutating_policy(root))
            case Treatment.MUTATING_BINDING:
                contents.bindings.append(decode_mutating_binding(root))
            case Treatment.WORKLOAD:
                contents.workload.append(decode_workload_policy(root))
            case Treatment.BINDING:
                ours = kind == "WorkloadPolicyBinding"
                actions = (Action.DENY,) if ours else ()
                contents.bindings.append(decode_binding(root, kind.removesuffix("Binding"), default_actions=actions))
            case Treatment.EXCEPTION:
                contents.exceptions += decode_exception(root)
            case Treatment.LATER:
                root.fail(f"{kind} is not supported by this version: take the document out of the policy files", "kind")
            case Treatment.PLAIN:
                contents.others.append((root.plain(), root.origin))
            case Treatment.TEST | Treatment.ASIDE | None:
                pass


def is_foreign_json(document: Document) -> bool:
    """Tell whether a JSON file is no Kubernetes object at all: repositories hold many such files for other tools.

    In YAML that would be a mistake; there a lost ``kind`` must not take a policy out of force.
    """
    root = document.root.value
    return document.path.endswith(".json") and not (isinstance(root, dict) and root.keys() & {"kind", "apiVersion"})


def roots_of(document: Document, errors: list[PolicyError]) -> Iterator[Cursor]:
    """Yield the objects of a document, which are many in a v1 List; each has an apiVersion and a kind."""
    root = Cursor(document, document.root, "", errors)
    if not root.expect(dict, "a mapping"):
        return
    kind, api_version = root.text("kind", required=True), root.text("apiVersion", required=True)
    if kind == "List" and api_version == "v1":
        for item in root.only(*LIST_FIELDS).mappings("items"):
            if item.text("kind", required=True) and item.text("apiVersion", required=True):
                yield item
    elif kind and api_version:
        yield root


def treatment_of(root: Cursor) -> Treatment | None:
    """Return what becomes of an object; None, with an error noted, when its kind or apiVersion is misspelt."""
    kind, api_version = root.text("kind"), root.text("apiVersion")
    wanted, treatment = _KINDS.get(kind, ("", Treatment.PLAIN))
    group = api_version.partition("/")[0]
    groups = (NATIVE.partition("/")[0], OURS.partition("/")[0])
    if wanted == api_version:
        return treatment
    if wanted and (group == wanted.partition("/")[0] or kind in _UNMISTAKABLE or hint(group, [wanted.partition("/")[0]])):
        root.fail(f'"{api_version}" is not read for kind {kind}: write {wanted}', "apiVersion")
        return None
    near = hint(kind, [known for known, (version, _) in _KINDS.items() if version.partition("/")[0] == group])
    if group in groups:
        root.fail(f'"{kind}" is not a kind of {group}{near}', "kind")
        return None
    near = hint(group, groups) and hint(kind, _KINDS)
    if near:
        root.fail(f'"{api_version}"{hint(api_version, (NATIVE, OURS))}', "apiVersion")
        return None
    return Treatment.PLAIN
