"""The question that the API server would ask about a manifest, for commands that have no API server."""

from __future__ import annotations

from dataclasses import dataclass, field

from webhook.model.objects import Kind, Object, Resource, metadata_of
from webhook.model.requests import AdmissionRequest, Operation, UserInfo

_PLURALS = {
    "Endpoints": "endpoints",
    "NetworkPolicy": "networkpolicies",
    "Ingress": "ingresses",
    "IngressClass": "ingressclasses",
    "PriorityClass": "priorityclasses",
    "StorageClass": "storageclasses",
    "RuntimeClass": "runtimeclasses",
    "DeviceClass": "deviceclasses",
    "Eviction": "pods/eviction",
}
_SUB_RESOURCE_KINDS = {
    "PodExecOptions": "pods/exec",
    "PodAttachOptions": "pods/attach",
    "PodPortForwardOptions": "pods/portforward",
    "PodProxyOptions": "pods/proxy",
    "ServiceProxyOptions": "services/proxy",
    "NodeProxyOptions": "nodes/proxy",
}
"""Kinds that are not stored: they are what a client sends when it connects."""
_CLUSTER_SCOPED = frozenset(
    """Namespace Node PersistentVolume PriorityClass StorageClass RuntimeClass IngressClass DeviceClass ResourceSlice
    ClusterRole ClusterRoleBinding CustomResourceDefinition APIService CSIDriver CSINode VolumeAttachment
    ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
    ValidatingWebhookConfiguration MutatingWebhookConfiguration ClusterQueue ResourceFlavor Topology HyperNode
    ClusterTrainingRuntime""".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks offline, and what for; an administrator who creates, unless said otherwise."""

    operation: Operation = Operation.CREATE
    user: UserInfo = field(
        default_factory=lambda: UserInfo(username="kubernetes-admin", groups=("system:masters", "system:authenticated"))
    )


def is_cluster_scoped(kind: Kind) -> bool:
    """Tell whether objects of a kind have no namespace, as far as can be known without an API server."""
    return kind.kind in _CLUSTER_SCOPED


def resource_of(kind: Kind) -> tuple[Resource, str]:
    """Return the resource and subresource of a kind: known ones exactly, others by the usual plural."""
    named = _SUB_RESOURCE_KINDS.get(kind.kind) or _PLURALS.get(kind.kind) or _plural(kind.kind.lower())
    resource, _, sub_resource = named.partition("/")
    if kind.kind in _SUB_RESOURCE_KINDS:
        kind = Kind("", "v1", kind.kind)
    return Resource(kind.group, kind.version, resource), sub_resource


def request_for(obj: Object, asker: Asker, *, old: Object | None = None) -> AdmissionRequest:
    """Build the request about a manifest. ``old`` is the object before an UPDATE; on DELETE it is the manifest."""
    kind, meta = Kind.of(obj), metadata_of(obj)
    resource, sub_resource = resource_of(kind)
    deleting = asker.operation is Operation.DELETE
    return AdmissionRequest(
        uid="offline",
        kind=kind,
        resource=resource,
        sub_resource=sub_resource,
        name=str(meta.get("name") or ""),
        namespace="" if is_cluster_scoped(kind) else str(meta.get("namespace") or ""),
        operation=asker.operation,
        user=asker.user,
        object=None if deleting else obj,
        old_object=obj if deleting else old,
        dry_run=True,
    )


def review_of(request: AdmissionRequest) -> Object:
    """Return the AdmissionReview in which the API server would send a request."""
    kind = {"group": request.kind.group, "version": request.kind.version, "kind": request.kind.kind}
    resource = {"group": request.resource.group, "version": request.resource.version, "resource": request.resource.resource}
    body: Object = {
        "uid": request.uid,
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": request.name,
        "namespace": request.namespace,
        "operation": request.operation.value,
        "userInfo": request.user.as_json(),
        "object": request.object,
        "oldObject": request.old_object,
        "dryRun": request.dry_run,
        "options": request.options,
    }
    if request.sub_resource:
        body |= {"subResource": request.sub_resource, "requestSubResource": request.sub_resource}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": body}


def in_namespace(obj: Object, default: str) -> Object:
    """Return the object in a namespace: its own, the default one, or none where its kind has none."""
    if is_cluster_scoped(Kind.of(obj)) or metadata_of(obj).get("namespace"):
        return obj
    return {**obj, "metadata": {**metadata_of(obj), "namespace": default}}


def as_stored(obj: Object) -> Object:
    """Return what the API server would store, as far as our objects refer to it: with a name and a UID."""
    meta = metadata_of(obj)
    name = meta.get("name") or f"{meta.get('generateName', '')}xxxxx"
    return {**obj, "metadata": {**meta, "name": name, "uid": meta.get("uid") or "(set by the API server)"}}


def _plural(word: str) -> str:
    if word.endswith("y") and not word.endswith(("ay", "ey", "oy", "uy")):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")
