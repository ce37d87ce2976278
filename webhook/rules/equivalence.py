"""Which resources are the same resource in another version or group, for matchPolicy Equivalent.

The API server derives this from its storage (two resources stored as one are equivalent). We declare the built-in
ones of Kubernetes 1.37 that are served in more than one version. Not covered: versions of custom resources, and
versions that only an older or newer API server serves; there a rule matches the version it names. What counts is
only that a rule *finds* a request: converting the object is the API server's work, done before a webhook is called.
"""

from __future__ import annotations

from webhook.model.objects import Resource

_FAMILIES: tuple[tuple[Resource, ...], ...] = tuple(
    tuple(Resource(group, version, resource) for group, version in places)
    for resource, places in (
        ("events", (("", "v1"), ("events.k8s.io", "v1"))),
        ("horizontalpodautoscalers", (("autoscaling", "v1"), ("autoscaling", "v2"))),
        ("workloads", (("scheduling.k8s.io", "v1beta1"), ("scheduling.k8s.io", "v1alpha3"))),
        ("podgroups", (("scheduling.k8s.io", "v1beta1"), ("scheduling.k8s.io", "v1alpha3"))),
        *(
            (resource, tuple(("resource.k8s.io", version) for version in ("v1", "v1beta2", "v1beta1")))
            for resource in ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices")
        ),
        *(
            (resource, (("networking.k8s.io", "v1"), ("networking.k8s.io", "v1beta1")))
            for resource in ("ipaddresses", "servicecidrs")
        ),
        *(
            (resource, tuple(("admissionregistration.k8s.io", version) for version in ("v1", "v1beta1", "v1alpha1")))
            for resource in ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
        ),
    )
)


_NAMES = frozenset(name.resource for family in _FAMILIES for name in family)
_OTHERS = {name: tuple(other for other in family if other != name) for family in _FAMILIES for name in family}


def equivalents(resource: Resource) -> tuple[Resource, ...]:
    """Return the other names of a resource; empty when it has none."""
    return _OTHERS.get(resource, ()) if resource.resource in _NAMES else ()
