"""What the API server makes of an object before admission sees it, for offline commands: one verdict, also on a laptop.

Fields, constants and the form of empty values come from a generated table; what depends on other fields is here, rule by
rule after ``SetDefaults_*`` of Kubernetes 1.37 (pkg/apis/{batch,core,scheduling}). The result is what CEL sees as ``object``
in a *mutating* review. Not there: what storage adds to a Job afterwards (selector and labels made from its UID), fields whose
feature gate is off, which storage drops, and what admission plugins add to pods. ``status`` stays as given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from webhook.admission.custom import NO_CUSTOM_KINDS, CustomKinds
from webhook.admission.shapes import Rule, Shaper, type_of
from webhook.model.objects import Object

_HOST = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)"
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:(?:{_HOST}(?:\.{_HOST})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?/)?{_PART}(?:/{_PART})*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
"""An image reference (distribution/reference, regexp.go)."""
_BARE_IDENTIFIER = re.compile(r"[a-f0-9]{64}")
_NO_LIMIT = 2**31 - 1


def apply_defaults(obj: Object) -> Object:
    """Return the object as the API server would judge it; an object of a kind that we do not know comes back as it is."""
    type_name = type_of(obj)
    if type_name is None:
        return obj
    found: Object = Shaper(_RULES).shape(type_name, obj)
    return found


class DefaultsFiller:
    """Fills defaults between the mutations of one request; fits ``rules.Complete``.

    Whether an object came as the API server holds it is found out once, and what was completed then is not looked at again:
    of a changed object only what changed is.
    """

    def __init__(self, custom: CustomKinds = NO_CUSTOM_KINDS) -> None:
        """Know further kinds by their CRDs."""
        self._custom = custom
        self._complete: Object | None = None
        self._shaper = Shaper(_RULES)

    def fill(self, obj: Object) -> Object:
        """Return an object as the API server would judge it, and know it again; one of an unknown kind comes back as it is."""
        type_name = type_of(obj)
        if type_name is None:
            return self._custom.complete(obj)
        self._complete = self._shaper.shape(type_name, obj)
        return self._complete

    def __call__(self, before: Object, after: Object) -> Object:
        """Return a changed object as the API server would hold it after the change.

        An object that did not come in that form (from ``check --raw``, or from an API server that knows other fields)
        keeps what we do not know; one that lacks defaults stays without.
        """
        type_name = type_of(after)
        if type_name is None:
            return self._custom.complete(after)
        if type_of(before) != type_name:
            return after
        if before is not self._complete:
            held = self._shaper.shape(type_name, before)
            if held is not before and held != before:
                complete = self._shaper.shape(type_name, after)
                found: Object = _filled(after, complete) if _filled(before, held) == before else after
                return found
        self._complete = self._shaper.shape(type_name, after)
        return self._complete


def _filled(value: Any, complete: Any) -> Any:
    """Return a value with the fields that only ``complete`` has."""
    if isinstance(value, dict) and isinstance(complete, dict):
        added = {key: item for key, item in complete.items() if key not in value}
        return {key: _filled(item, complete.get(key)) for key, item in value.items()} | added
    if isinstance(value, list) and isinstance(complete, list) and len(value) == len(complete):
        return [_filled(item, other) for item, other in zip(value, complete, strict=True)]
    return value


def _job(job: Object) -> Object:
    """Source: SetDefaults_Job. It is not run for the jobTemplate of a CronJob, whose Jobs get it when they are created."""
    if not isinstance(job.get("spec"), dict | None):
        return job
    spec = _given(job.get("spec") or {})
    limit = _NO_LIMIT if "backoffLimitPerIndex" in spec else 6
    replacement = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    constants = {"completionMode": "NonIndexed", "suspend": False, "manualSelector": False, "parallelism": 1}
    pair = {} if "parallelism" in spec else {"completions": 1}
    filled = constants | {"backoffLimit": limit, "podReplacementPolicy": replacement} | pair | spec
    return _with_labels_of_template(job) | {"spec": filled}


def _with_labels_of_template(job: Object) -> Object:
    labels = _inside(job, "spec", "template", "metadata", "labels")
    if not labels or _inside(job, "metadata", "labels"):
        return job
    return job | {"metadata": (job.get("metadata") or {}) | {"labels": labels}}


def _pod(pod: Object) -> Object:
    """Source: SetDefaults_Pod. Pods only: a pod template is not completed in this way."""
    if not isinstance(pod.get("spec"), dict | None):
        return pod
    filled: Object = {"enableServiceLinks": True} | _given(pod.get("spec") or {})
    grace = filled.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace < 0:
        filled["terminationGracePeriodSeconds"] = 1
    for name in ("containers", "initContainers"):
        filled |= _each(filled, name, _with_requests)
        if filled.get("hostNetwork") is True:
            filled |= _each(filled, name, lambda container: container | _each(container, "ports", _with_host_port))
    return pod | {"spec": filled}


def _with_requests(container: Object) -> Object:
    limits, requests = _inside(container, "resources", "limits"), _inside(container, "resources", "requests")
    if not isinstance(limits, dict) or not isinstance(requests or {}, dict):
        return container
    return container | {"resources": container["resources"] | {"requests": limits | (requests or {})}}


def _with_host_port(port: Object) -> Object:
    return port | {"hostPort": port.get("hostPort") or port.get("containerPort")}


def _pod_spec(spec: Object) -> Object:
    """``serviceAccount`` is the old name of ``serviceAccountName``; both are kept, the new one wins."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    return spec | {"serviceAccountName": account, "serviceAccount": account}


def _container(container: Object) -> Object:
    return container | {"imagePullPolicy": container.get("imagePullPolicy") or _pull_policy(container.get("image"))}


def _image_volume(source: Object) -> Object:
    return source | {"pullPolicy": source.get("pullPolicy") or _pull_policy(source.get("reference"))}


def _volume(volume: Object) -> Object:
    """Source: SetDefaults_Volume: a volume without a source is an empty directory."""
    return volume if _given(volume).keys() - {"name"} else volume | {"emptyDir": {}}


def _pull_policy(image: Any) -> str:
    """Say ``Always`` for the tag ``latest``, which is also the one that is meant when there is neither tag nor digest."""
    match = _IMAGE.fullmatch(image) if isinstance(image, str) and not _BARE_IDENTIFIER.fullmatch(image) else None
    if match is None:
        return "IfNotPresent"
    return "Always" if match["tag"] == "latest" or not (match["tag"] or match["digest"]) else "IfNotPresent"


def _given(value: Object) -> Object:
    """Return a mapping without its nulls, which are as good as absent."""
    return {key: item for key, item in value.items() if item is not None}


def _inside(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _each(obj: Object, name: str, rule: Rule) -> Object:
    """Return the change that applies a rule to every entry of a list."""
    entries = obj.get(name)
    if not isinstance(entries, list):
        return {}
    return {name: [rule(entry) if isinstance(entry, dict) else entry for entry in entries]}


_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "Job": _job,
        "Pod": _pod,
        "PodSpec": _pod_spec,
        "Container": _container,
        "EphemeralContainer": _container,
        "ImageVolumeSource": _image_volume,
        "Volume": _volume,
    }
)
