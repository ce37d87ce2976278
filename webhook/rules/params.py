"""Which params a binding brings (apiserver pkg/admission/plugin/policy/generic/policy_dispatcher.go, CollectParams)."""

from __future__ import annotations

from webhook.model.objects import Object
from webhook.model.policies import ParamKind, ParamRef
from webhook.model.requests import AdmissionRequest
from webhook.rules.match import asked_namespace
from webhook.rules.problems import RuleProblem
from webhook.rules.world import World


def collect_params(
    kind: ParamKind | None, reference: ParamRef | None, request: AdmissionRequest, *, world: World
) -> tuple[Object | None, ...]:
    """Return the params to evaluate with, one by one; ``(None,)`` where the policy or the binding asks for none.

    A binding that names no namespace reads from the request's own, so a tenant's params rule only over that tenant.
    """
    if kind is None or reference is None:
        return (None,)
    namespace = _namespace(kind, reference, request, world=world)
    found = world.params(kind, namespace, name=reference.name or None, selector=reference.selector)
    if not found and reference.parameter_not_found_action == "Deny":
        raise RuleProblem("no params found for policy binding with `Deny` parameterNotFoundAction")
    return tuple(found)


def _namespace(kind: ParamKind, reference: ParamRef, request: AdmissionRequest, *, world: World) -> str:
    namespaced = world.is_namespaced(kind)
    if namespaced is None:  # nothing of this kind is there, so nothing will be found
        return reference.namespace
    if not namespaced:
        if reference.namespace:
            raise RuleProblem("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    namespace = reference.namespace or asked_namespace(request)
    if not namespace:
        raise RuleProblem("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return namespace
