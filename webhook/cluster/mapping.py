"""Which REST resource a kind is served as: a table for the kinds in use, discovery for all others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import quote

from webhook.errors import ClusterError
from webhook.model.objects import Kind, Object, Resource


@dataclass(frozen=True, slots=True)
class Mapping:
    """A kind and the resource that serves it."""

    kind: Kind
    resource: str
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Build the URL path of a collection, an object or a subresource."""
        kind = self.kind
        parts = ["apis", kind.group, kind.version] if kind.group else ["api", kind.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [self.resource, name, subresource]
        return "/" + "/".join(quote(part, safe="") for part in parts if part)


_TABLE = """
v1                              Pod                              pods
v1                              Event                            events
v1                              Secret                           secrets
v1                              ConfigMap                        configmaps
v1                              Service                          services
v1                              ServiceAccount                   serviceaccounts
v1                              ResourceQuota                    resourcequotas
v1                              Node                             nodes                              cluster
v1                              Namespace                        namespaces                         cluster
batch/v1                        Job                              jobs
batch/v1                        CronJob                          cronjobs
scheduling.k8s.io/v1            PriorityClass                    priorityclasses                    cluster
scheduling.k8s.io/v1beta1       Workload                         workloads
scheduling.k8s.io/v1beta1       PodGroup                         podgroups
scheduling.k8s.io/v1alpha3      CompositePodGroup                compositepodgroups
resource.k8s.io/v1              ResourceClaim                    resourceclaims
resource.k8s.io/v1              ResourceClaimTemplate            resourceclaimtemplates
resource.k8s.io/v1              ResourceSlice                    resourceslices                     cluster
resource.k8s.io/v1              DeviceClass                      deviceclasses                      cluster
coordination.k8s.io/v1          Lease                            leases
events.k8s.io/v1                Event                            events
policy/v1                       PodDisruptionBudget              poddisruptionbudgets
apps/v1                         Deployment                       deployments
apps/v1                         ReplicaSet                       replicasets
apps/v1                         StatefulSet                      statefulsets
apiextensions.k8s.io/v1         CustomResourceDefinition         customresourcedefinitions          cluster
authentication.k8s.io/v1        TokenReview                      tokenreviews                       cluster
authorization.k8s.io/v1         SubjectAccessReview              subjectaccessreviews               cluster
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration     mutatingwebhookconfigurations      cluster
admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration   validatingwebhookconfigurations    cluster
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy        validatingadmissionpolicies        cluster
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings  cluster
admissionregistration.k8s.io/v1 MutatingAdmissionPolicy          mutatingadmissionpolicies          cluster
admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding   mutatingadmissionpolicybindings    cluster
"""


def _read_table() -> dict[Kind, Mapping]:
    found: dict[Kind, Mapping] = {}
    for line in _TABLE.strip().splitlines():
        api_version, name, resource, *scope = line.split()
        kind = Kind.parse(api_version, name)
        found[kind] = Mapping(kind, resource, namespaced=not scope)
    return found


KNOWN = _read_table()
"""The kinds that need no discovery, as Kubernetes 1.37 serves them."""
_CLUSTER_WIDE = frozenset((kind.group, kind.kind) for kind, mapping in KNOWN.items() if not mapping.namespaced)


def is_cluster_wide(kind: Kind) -> bool:
    """Tell whether objects of a kind stand in no namespace; custom kinds that we follow all do stand in one."""
    return (kind.group, kind.kind) in _CLUSTER_WIDE


class Mapper:
    """Finds mappings; what discovery told is kept for the life of the process.

    A custom resource's plural and scope cannot change while its CRD exists.
    """

    def __init__(self, fetch: Callable[[str], Awaitable[Object]]) -> None:
        self._fetch = fetch
        self._found = dict(KNOWN)

    async def find(self, kind: Kind) -> Mapping:
        """Return the mapping of a kind; an empty version means the one that the server prefers.

        Raises ClusterError with status 404 when the server does not serve it.
        """
        if found := self._lookup(kind):
            return found
        version = kind.version or await self._preferred_version(kind.group)
        await self._discover(kind.group, version)
        if found := self._lookup(kind):
            return found
        message = f"the server does not serve {Kind(kind.group, version, kind.kind)}"
        raise ClusterError(message, verb="discover", key=kind.kind, status=404, reason="NotFound")

    async def kind_of(self, resource: Resource) -> Kind:
        """Return the kind that a resource is served as; version ``*`` or none means the one that the server prefers.

        Raises ClusterError with status 404 when the server does not serve it.
        """
        version = "" if resource.version == "*" else resource.version
        if found := self._named(resource, version):
            return found
        version = version or await self._preferred_version(resource.group)
        await self._discover(resource.group, version)
        if found := self._named(resource, version):
            return found
        message = f"the server does not serve {resource.resource} of {resource.group}/{version}"
        raise ClusterError(message, verb="discover", key=resource.resource, status=404, reason="NotFound")

    def _named(self, resource: Resource, version: str) -> Kind | None:
        place = (resource.group, resource.resource)
        same = (kind for kind, mapping in self._found.items() if (kind.group, mapping.resource) == place)
        return next((kind for kind in same if version in ("", kind.version)), None)

    async def _discover(self, group: str, version: str) -> None:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        for entry in (await self._fetch(path)).get("resources") or ():
            if "/" not in entry["name"]:
                served = Kind(group, version, entry["kind"])
                self._found[served] = Mapping(served, entry["name"], namespaced=bool(entry["namespaced"]))

    def _lookup(self, kind: Kind) -> Mapping | None:
        if kind.version:
            return self._found.get(kind)
        same = (mapping for known, mapping in self._found.items() if (known.group, known.kind) == (kind.group, kind.kind))
        return next(same, None)

    async def _preferred_version(self, group: str) -> str:
        if not group:
            return "v1"
        return str((await self._fetch(f"/apis/{group}"))["preferredVersion"]["version"])
