"""Whether a request is one that a policy or a binding speaks about.

Follows apiserver pkg/admission/plugin/policy/matching/matching.go and plugin/webhook/predicates/{rules,namespace,object}.
Its "attributes" are those of the client's own request: where the API server has converted the object for us
(matchPolicy Equivalent of the webhook), ``request_resource`` tells what the client asked for.
"""

from __future__ import annotations

from collections.abc import Container

from webhook.model.objects import Object, Resource, labels_of
from webhook.model.policies import MatchResources, ResourceRule
from webhook.model.requests import AdmissionRequest, Operation
from webhook.rules.equivalence import equivalents
from webhook.rules.problems import RuleProblem
from webhook.rules.selectors import is_everything, selects
from webhook.rules.world import World

SORTS = 1024
"""How many sorts of requests are remembered; a cluster has a few hundred."""
_NAMESPACES = Resource("", "v1", "namespaces")
_EXEMPT = {
    "admissionregistration.k8s.io": frozenset(
        {
            "validatingadmissionpolicies", "validatingadmissionpolicybindings",
            "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
        }
    ),
    "authentication.k8s.io": frozenset({"selfsubjectreviews", "tokenreviews"}),
    "authorization.k8s.io": frozenset(
        {"localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"}
    ),
}  # fmt: skip
"""What no policy judges: policies themselves, which must stay repairable, and the reviews by which access is decided.

Sources: apiserver plugin/policy/generic/plugin.go; kubernetes pkg/kubeapiserver/admission/exclusion/resources.go.
"""


def match(constraints: MatchResources, request: AdmissionRequest, world: World) -> Resource | None:
    """Return the resource under which the constraints know the request, or None.

    A namespace that cannot be found is a problem only if everything else matches.
    """
    problem: RuleProblem | None = None
    try:
        if not _namespace_matches(constraints, request, world):
            return None
    except RuleProblem as error:
        problem = error
    if not _object_matches(constraints, request):
        return None
    found = found_resource(constraints, request)
    if found and problem:
        raise problem
    return found


def found_resource(constraints: MatchResources, request: AdmissionRequest) -> Resource | None:
    """Return under which name the rules know the request; settled once for all requests of a sort, unless rules name objects."""
    try:
        return constraints.found[request.sort]
    except KeyError:
        rules, excluding = constraints.resource_rules, constraints.exclude_resource_rules
        if _find(excluding, constraints, request):
            found = None
        else:
            found = _find(rules, constraints, request) if rules else asked_resource(request)
        if not any(rule.resource_names for rule in (*rules, *excluding)):
            if len(constraints.found) >= SORTS:
                constraints.found.clear()
            constraints.found[request.sort] = found
        return found


def may_match(constraints: MatchResources, request: AdmissionRequest) -> bool:
    """Tell whether constraints could match some request of this sort, whatever its names, labels and namespace."""
    rules = constraints.resource_rules
    return not rules or any(rule.resource_names for rule in rules) or _find(rules, constraints, request) is not None


def is_exempt(request: AdmissionRequest) -> bool:
    """Tell whether no policy may judge the request."""
    asked = asked_resource(request)
    return asked.resource in _EXEMPT.get(asked.group, ())


def asked_resource(request: AdmissionRequest) -> Resource:
    """Return the resource that the client used."""
    return request.request_resource or request.resource


def asked_namespace(request: AdmissionRequest) -> str:
    """Return the request's namespace; a Namespace counts as being in itself, as in the API server."""
    return request.namespace or (request.name if asked_resource(request) == _NAMESPACES else "")


def _find(rules: tuple[ResourceRule, ...], constraints: MatchResources, request: AdmissionRequest) -> Resource | None:
    """Return the first name of the resource that a rule knows.

    Where the API server has converted the object, the version at hand is tried first: it is the one to be judged.
    """
    if not rules:
        return None
    asked = asked_resource(request)
    equivalent = constraints.match_policy == "Equivalent"
    names: tuple[Resource, ...] = (request.resource, asked, *equivalents(asked)) if equivalent else (asked,)
    for name in names:
        for rule in rules:
            if _rule_matches(rule, name, request):
                return name
    return None


def _rule_matches(rule: ResourceRule, resource: Resource, request: AdmissionRequest) -> bool:
    return (
        _scope_matches(rule.scope, resource, request)
        and _contains(rule.operations, request.operation)
        and _contains(rule.api_groups, resource.group)
        and _contains(rule.api_versions, resource.version)
        and any(_resource_matches(text, resource.resource, _asked_sub_resource(request)) for text in rule.resources)
        and (not rule.resource_names or request.name in rule.resource_names)
    )


def _scope_matches(scope: str, resource: Resource, request: AdmissionRequest) -> bool:
    cluster_scoped = resource == _NAMESPACES or not asked_namespace(request)
    return scope == "*" or (scope == "Cluster") == cluster_scoped


def _contains(items: Container[str], wanted: str) -> bool:
    return wanted in items or "*" in items


def _resource_matches(text: str, resource: str, sub_resource: str) -> bool:
    named, _, sub = text.partition("/")
    return named in ("*", resource) and sub in ("*", sub_resource)


def _asked_sub_resource(request: AdmissionRequest) -> str:
    return request.request_sub_resource if request.request_resource else request.sub_resource


def _namespace_matches(constraints: MatchResources, request: AdmissionRequest, world: World) -> bool:
    if is_everything(constraints.namespace_selector):
        return True
    name, about_namespace = asked_namespace(request), asked_resource(request).resource == "namespaces"
    if not name and not about_namespace:
        return True  # cluster-scoped objects are never selected away
    changing = request.operation in (Operation.CREATE, Operation.UPDATE)
    if about_namespace and changing and not _asked_sub_resource(request):
        return selects(constraints.namespace_selector, labels_of(request.object or {}))  # the labels it is to have
    found = world.namespace(name)
    if found is None:
        raise RuleProblem(f'namespaces "{name}" not found')
    return selects(constraints.namespace_selector, labels_of(found))


def _object_matches(constraints: MatchResources, request: AdmissionRequest) -> bool:
    """Look at the old object as well: dropping a label in the same update must not slip by."""
    selector = constraints.object_selector
    if is_everything(selector):
        return True

    def selected(obj: Object | None) -> bool:
        return obj is not None and selects(selector, labels_of(obj))

    return selected(request.object) or selected(request.old_object)
