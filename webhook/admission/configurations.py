"""The webhook configurations that go with a set of policies: only the kinds and operations that some policy matches.

One path per failurePolicy, so that no policy inherits another's. Own namespace and kube-system are never matched: a
webhook in the way of its own pods, or of the control plane's Leases, cannot be brought back.
Source of the fields: api/admissionregistration/v1/types.go; of the exclusions: the field's outages (Gatekeeper 3829,
Kyverno 11122).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from webhook.admission.conditions import condition_text, may_fail_early
from webhook.admission.policyset import PolicySet, guards_evictions, is_served
from webhook.model.groups import MANAGED_BY, MANAGED_BY_LABEL, PROBE_LABEL
from webhook.model.objects import Object
from webhook.model.policies import Binding, FailurePolicy, ResourceRule
from webhook.rules import CompiledHead

CONFIGURATION_NAME = "gangwarden"
NEVER_SENT = ("gangwarden-system", "kube-system")
"""Namespaces whose objects no webhook of ours gets, whatever else is excluded."""
BYPASS_LABEL = "gangwarden.dev/bypass"
"""On a Namespace, in an emergency (policies/hygiene/guarded-bypass says who may)."""
CONDITION_NAME = "some-policy-speaks-about-it"
_TIMEOUT_SECONDS = 10
_NO_PROBE = {
    "name": "no-probe-of-our-own",
    "expression": f"!request.?dryRun.orValue(false) || object == null || !object.?metadata.?labels[?'{PROBE_LABEL}'].hasValue()",
}
"""Our capability probe would else be answered by ourselves. Only where nothing is stored: anybody can write a label."""
_NO_LEASES = {
    "name": "no-leases",
    "expression": "request.resource.group != 'coordination.k8s.io' || request.resource.resource != 'leases'",
}
"""Nodes and leaders live by renewing them, in namespaces of all kinds: nothing of ours may stand in between."""
_SUFFIX = "gangwarden.dev"
_EVICTIONS = ResourceRule(api_groups=("",), api_versions=("v1",), operations=("CREATE",), resources=("pods/eviction",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the API server reaches us: a URL, or a Service."""

    url: str = ""
    """``https://host:port``, without a path."""
    service_namespace: str = ""
    service_name: str = ""
    service_port: int = 443

    @property
    def origin(self) -> str:
        """Return the address without a path, as the audience of a token for us begins (KEP-6060)."""
        if self.url:
            return self.url.rstrip("/")
        return f"https://{self.service_name}.{self.service_namespace}.svc:{self.service_port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceScope:
    """Of which namespaces objects are sent; objects without a namespace are not affected."""

    excluded: Sequence[str] = ()
    """On top of ``NEVER_SENT`` and of the Service's own."""
    only: Sequence[str] = ()
    """Empty: all others."""
    bypass: bool = False
    """Leave out namespaces with ``BYPASS_LABEL``. To be guarded: else whoever may label a namespace is free of all policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathNeeds:
    """What must be sent to one path."""

    rules: tuple[ResourceRule, ...] = ()
    condition: str = ""
    """CEL: which of it some policy speaks about; empty: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookNeeds:
    """What must be sent to which path."""

    mutating: Mapping[FailurePolicy, PathNeeds]
    """The WorkloadPolicies are under Ignore: the native policy stands in while we are away."""
    validating: Mapping[FailurePolicy, PathNeeds]
    evictions: bool = False
    """Evictions of pods are sent: some policy says something of the groups that they would take apart."""

    def without_conditions(self) -> WebhookNeeds:
        """Return the same needs by rules alone, for an API server that does not take a condition."""
        return WebhookNeeds(
            mutating={policy: replace(needs, condition="") for policy, needs in self.mutating.items()},
            validating={policy: replace(needs, condition="") for policy, needs in self.validating.items()},
            evictions=self.evictions,
        )


def webhook_needs(policies: PolicySet) -> WebhookNeeds:
    """Return what must be sent to us for these policies; a policy without a binding asks for nothing."""
    validating = [(policy.head, bindings) for policy, bindings in policies.validating if bindings and is_served(policy)]
    mutating = [(policy.head, bindings) for policy, bindings in policies.mutating if bindings and is_served(policy)]
    # Their webhook is one of failurePolicy Ignore, so there a condition that fails would go unheard.
    workload = [
        (one.policy.conditions, one.policy.source.head.failure_policy is FailurePolicy.IGNORE)
        for one in policies.workload
        if one.bindings
    ]
    workload += [(one.policy.pods, True) for one in policies.workload if one.bindings and one.policy.pods]
    return WebhookNeeds(
        mutating={
            FailurePolicy.FAIL: _path_needs(_told(mutating, FailurePolicy.FAIL)),
            FailurePolicy.IGNORE: _path_needs([*_told(mutating, FailurePolicy.IGNORE), *workload]),
        },
        validating={failure: _path_needs(_told(validating, failure)) for failure in FailurePolicy},
        evictions=guards_evictions(policies),
    )


def _told(heads: Iterable[tuple[CompiledHead, tuple[Binding, ...]]], failure: FailurePolicy) -> list[tuple[CompiledHead, bool]]:
    return [(head, may_fail_early(head.source, bindings)) for head, bindings in heads if head.source.failure_policy is failure]


def _path_needs(heads: Sequence[tuple[CompiledHead, bool]]) -> PathNeeds:
    """Return what a path needs of policies; with each head whether its own match conditions may be told."""
    return PathNeeds(
        rules=tuple(rule for head, _ in heads for rule in head.source.match_constraints.resource_rules),
        condition=condition_text((head.source, head.match_conditions if told else ()) for head, told in heads),
    )


def plan_configurations(needs: WebhookNeeds, endpoint: Endpoint, *, ca_bundle: str, scope: NamespaceScope) -> tuple[Object, ...]:
    """Return the MutatingWebhookConfiguration and ValidatingWebhookConfiguration; ``ca_bundle`` is base64 of PEM."""
    own = (endpoint.service_namespace,) if endpoint.service_namespace else ()
    common = _common(_namespaces(scope, {*NEVER_SENT, *own, *scope.excluded}))
    bundle = {"caBundle": ca_bundle} if ca_bundle else {}
    reinvoked = {**common, "reinvocationPolicy": "IfNeeded"}
    mutating = [_webhook("mutate", policy, needs.mutating.get(policy, PathNeeds()), common=reinvoked) for policy in FailurePolicy]
    validating = [
        _webhook("validate", policy, needs.validating.get(policy, PathNeeds()), common=common) for policy in FailurePolicy
    ]
    validating += [_guard(common)] if needs.evictions else []
    for webhook in (*mutating, *validating):
        webhook["clientConfig"] = {**_client(endpoint, webhook.pop("path")), **bundle}
    return (_configuration("Mutating", mutating), _configuration("Validating", validating))


def _configuration(kind: str, webhooks: Iterable[Object]) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": CONFIGURATION_NAME, "labels": {MANAGED_BY_LABEL: MANAGED_BY}},
        "webhooks": [webhook for webhook in webhooks if webhook["rules"]],
    }


def _webhook(phase: str, policy: FailurePolicy, needs: PathNeeds, *, common: Object) -> Object:
    word, leases = policy.value.lower(), [_NO_LEASES] if any(map(_covers_leases, needs.rules)) else []
    told = [{"name": CONDITION_NAME, "expression": needs.condition}] if needs.condition else []
    return {
        "name": f"{word}.{phase}.{_SUFFIX}",
        "path": f"/{phase}/{word}",
        "rules": _merged(needs.rules),
        "failurePolicy": policy.value,
        # Always written: what a plan does not mention stays as it is in the cluster, and an old condition must not.
        "matchConditions": [_NO_PROBE, *leases, *told],
        **common,
    }


def _covers_leases(rule: ResourceRule) -> bool:
    return not {"*", "coordination.k8s.io"}.isdisjoint(rule.api_groups) and not {"*", "*/*", "leases"}.isdisjoint(rule.resources)


def _guard(common: Object) -> Object:
    """Return the webhook on evictions, and on nothing else: a veto of a pod's DELETE has the scheduler try without pause.

    A try (dry run) leaves no trace: how long a group is waited for begins with the first one in earnest.
    """
    return {
        "name": f"evictions.{_SUFFIX}",
        "path": "/evictions",
        "rules": _merged([_EVICTIONS]),
        "failurePolicy": FailurePolicy.IGNORE.value,
        "matchConditions": [],
        **common,
        "sideEffects": "NoneOnDryRun",
    }


def _namespaces(scope: NamespaceScope, excluded: set[str]) -> list[Object]:
    name = "kubernetes.io/metadata.name"
    only = [{"key": name, "operator": "In", "values": sorted(set(scope.only))}] if scope.only else []
    bypass = [{"key": BYPASS_LABEL, "operator": "DoesNotExist"}] if scope.bypass else []
    return [{"key": name, "operator": "NotIn", "values": sorted(excluded)}, *only, *bypass]


def _common(namespaces: Sequence[Object]) -> Object:
    return {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchExpressions": namespaces},
        "objectSelector": {"matchExpressions": []},  # of the caller's labels, so nothing may hang on it
        "sideEffects": "None",
        "timeoutSeconds": _TIMEOUT_SECONDS,
        "admissionReviewVersions": ["v1"],
    }


def _client(endpoint: Endpoint, path: str) -> Object:
    if endpoint.url:
        return {"url": endpoint.origin + path}
    service = {
        "namespace": endpoint.service_namespace,
        "name": endpoint.service_name,
        "path": path,
        "port": endpoint.service_port,
    }
    return {"service": service}


def _merged(rules: Sequence[ResourceRule]) -> list[Object]:
    """Merge rules without widening them, in a stable order: the output is compared, and each rule is a call less."""
    operations: dict[tuple[tuple[str, ...], tuple[str, ...], str, str], set[str]] = defaultdict(set)
    for rule in rules:
        for resource in rule.resources:
            operations[tuple(sorted(rule.api_groups)), tuple(sorted(rule.api_versions)), rule.scope, resource].update(
                rule.operations
            )
    resources: dict[tuple[tuple[str, ...], tuple[str, ...], str, tuple[str, ...]], set[str]] = defaultdict(set)
    for (groups, versions, scope, resource), found in operations.items():
        resources[groups, versions, scope, tuple(sorted(found))].add(resource)
    return [
        {
            "apiGroups": list(groups),
            "apiVersions": list(versions),
            "operations": list(found),
            "resources": sorted(names),
            "scope": scope,
        }
        for (groups, versions, scope, found), names in sorted(resources.items())
    ]
