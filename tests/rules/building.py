"""Policies, bindings, requests and worlds for tests of rules, in the fewest words that say what matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.builders import job, namespace
from webhook.model.objects import Kind, Object, Resource, labels_of, metadata_of
from webhook.model.policies import (
    Action,
    Binding,
    Expression,
    FailurePolicy,
    Head,
    LabelSelector,
    MatchResources,
    NamedExpression,
    Origin,
    ParamKind,
    ParamRef,
    Requirement,
    ResourceRule,
    ValidatingPolicy,
    Validation,
)
from webhook.model.requests import AdmissionRequest, Operation
from webhook.model.verdicts import Admitted, Denied
from webhook.rules import Situation, compile_policy, judge, selects

JOBS = Resource("batch", "v1", "jobs")
CONFIG_MAP = ParamKind(api_version="v1", kind="ConfigMap")


def text(cel: str, field_path: str = "spec") -> Expression:
    return Expression(cel, Origin("policy.yaml", 7, field_path))


def named(**expressions: str) -> tuple[NamedExpression, ...]:
    return tuple(NamedExpression(name=name, expression=text(cel, f"spec.{name}")) for name, cel in expressions.items())


def rule(**parts: Any) -> ResourceRule:
    everything: dict[str, Any] = {"operations": ("*",), "api_groups": ("*",), "api_versions": ("*",), "resources": ("*/*",)}
    return ResourceRule(**everything | {key: value if key == "scope" else tuple(value) for key, value in parts.items()})


def constraints(*rules: ResourceRule, **parts: Any) -> MatchResources:
    return MatchResources(resource_rules=rules or (rule(),), **parts)


def selector(*requirements: Requirement, **labels: str) -> LabelSelector:
    return LabelSelector(match_labels=tuple(labels.items()), match_expressions=requirements)


def policy(*validations: str | Validation, **parts: Any) -> ValidatingPolicy:
    annotations = parts.pop("audit_annotations", ())
    head = Head(name="sizes", origin=Origin("policy.yaml", 1), **{"match_constraints": constraints(), **parts})
    given = (v if isinstance(v, Validation) else Validation(expression=text(v)) for v in validations)
    return ValidatingPolicy(head=head, validations=tuple(given), audit_annotations=annotations)


def ignoring(*validations: str, **parts: Any) -> ValidatingPolicy:
    return policy(*validations, failure_policy=FailurePolicy.IGNORE, **parts)


def binding(*actions: Action, name: str = "everywhere", **parts: Any) -> Binding:
    return Binding(
        name=name,
        policy_kind="ValidatingAdmissionPolicy",
        policy_name="sizes",
        origin=Origin("policy.yaml", 20),
        actions=actions or (Action.DENY,),
        **parts,
    )


def by_name(name: str, **parts: Any) -> ParamRef:
    return ParamRef(name=name, **parts)


def request(obj: Object | None = None, **parts: Any) -> AdmissionRequest:
    obj = job().build() if obj is None and "old_object" not in parts else obj
    known = obj or parts["old_object"]
    kind = Kind.of(known)
    default = {
        "kind": kind,
        "resource": Resource(kind.group, kind.version, f"{kind.kind.lower()}s"),
        "name": metadata_of(known).get("name", ""),
        "namespace": metadata_of(known).get("namespace", ""),
        "operation": Operation.CREATE if obj else Operation.DELETE,
        "object": obj,
    }
    return AdmissionRequest(uid="1", **default | parts)


@dataclass(frozen=True)
class FakeWorld:
    """Knows the namespaces and params that it was given."""

    namespaces: Sequence[Object] = (namespace(),)
    objects: Sequence[Object] = ()
    namespaced: bool | None = field(default=True)

    def namespace(self, name: str) -> Object | None:
        return next((obj for obj in self.namespaces if metadata_of(obj)["name"] == name), None)

    def params(self, kind: ParamKind, namespace: str, *, name: str | None, selector: LabelSelector | None) -> list[Object]:
        return [
            obj
            for obj in self.objects
            if metadata_of(obj).get("namespace", "") == namespace
            and name in (None, metadata_of(obj)["name"])
            and (selector is None or selects(selector, labels_of(obj)))
        ]

    def is_namespaced(self, kind: ParamKind) -> bool | None:
        return self.namespaced


def config_map(name: str, *, namespace: str = "team-a", labels: dict[str, str] | None = None, **data: str) -> Object:
    meta = {"name": name, "namespace": namespace, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def situation(asked: AdmissionRequest | None = None, **parts: Any) -> Situation:
    return Situation(request=asked or request(), **{"world": FakeWorld(), **parts})


def ask(judged: ValidatingPolicy, *bindings: Binding, **parts: Any) -> Admitted | Denied:
    """Judge a request (a Job's CREATE) by one policy; once more, now that its sort is known, it comes to the same."""
    policies, asked = [(compile_policy(judged), bindings or (binding(),))], situation(**parts)
    answer = judge(policies, asked)
    if "authorizer" not in parts:  # those count what they are asked
        assert judge(policies, asked) == answer
    return answer
