"""One policy as the API server takes it from its own files: without params, and under a name that the API reserves.

What a policy file of the API server (``ManifestBasedAdmissionControlConfig``, KEP-5793) may hold is in apiserver
pkg/admission/plugin/policy/manifest/loader/loader.go: names that end in ``.static.k8s.io``, no paramKind, no paramRef.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from webhook.cel.rewrite import literal, paths_read, replace_variable
from webhook.model.objects import Object

SUFFIX = ".static.k8s.io"
NAME_LIMIT = 250
"""A file is named after its policy, and file systems take 255 bytes."""
_POLICY_KINDS = (
    "validatingadmissionpolicies", "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
)  # fmt: skip
_POLICY_GROUP = "admissionregistration.k8s.io"
_KEPT = ("labels", "annotations")


def static_name(*parts: str) -> str:
    """Return the name of an exported object."""
    return ".".join(part.removesuffix(SUFFIX) for part in parts) + SUFFIX


def static_policy(policy: Object, name: str) -> Object:
    """Return a policy under another name, without ``paramKind``; its rules speak of what they spoke of as an object."""
    spec = {key: value for key, value in policy["spec"].items() if key != "paramKind"}
    constraints = spec["matchConstraints"]
    if any(map(_meets_policies, constraints["resourceRules"])):
        excluded = constraints.get("excludeResourceRules") or ()
        spec["matchConstraints"] = {**constraints, "excludeResourceRules": [*excluded, _OWN]}
    return {**_head(policy, name), "spec": copy.deepcopy(spec)}


def static_binding(binding: Object, name: str, policy_name: str) -> Object:
    """Return a binding under another name and of another policy, without its params."""
    spec = {key: value for key, value in binding["spec"].items() if key != "paramRef"}
    return {**_head(binding, name), "spec": {**copy.deepcopy(spec), "policyName": policy_name}}


def with_params(policy: Object, params: Object | None) -> Object:
    """Write params into the expressions of a policy; raises CompileError for an expression that is none.

    Variables and rules read them from a variable; match conditions have no variables, so there they stand in place.
    """
    written, spec = f"dyn({literal(params)})", dict(policy["spec"])
    variables = [dict(variable) for variable in spec.get("variables") or ()]
    name = _free_name({variable["name"] for variable in variables})

    def by_name(text: str) -> str:
        return replace_variable(text, "params", f"variables.{name}")

    before = list(expressions_of(policy, "variables", "validations", "auditAnnotations", "mutations"))
    _rewrite(spec, ("matchConditions",), lambda text: replace_variable(text, "params", written))
    _rewrite(spec, ("variables", "validations", "auditAnnotations", "mutations"), by_name)
    for was, now in zip(policy["spec"].get("validations") or (), spec.get("validations") or (), strict=True):
        _keep_message(was, now)
    after = list(expressions_of({**policy, "spec": spec}, "variables", "validations", "auditAnnotations", "mutations"))
    if before != after:
        spec["variables"] = [{"name": name, "expression": written}, *(spec.get("variables") or ())]
    return {**policy, "spec": spec}


def cannot_patch_with(policy: Object, params: Object | None) -> str:
    """Return which part of the params an ``Object{…}`` would refuse once it is written as CEL; empty for none.

    A list or map within another is taken from an object, and refused where the expression itself wrote it (apiserver
    pkg/cel/mutation/dynamic/objects.go).
    """
    if all("applyConfiguration" not in mutation for mutation in policy["spec"].get("mutations") or ()):
        return ""
    paths = {path for text in expressions_of(policy, "variables", "mutations") for path in paths_read(text, "params")}
    return next((".".join(("params", *path)) for path in sorted(paths) if _depth(_at(params, path)) > 1), "")


def expressions_of(policy: Object, *fields: str) -> Iterator[str]:
    """Yield the expressions in the given fields of ``spec``."""
    for field in fields:
        for item in policy["spec"].get(field) or ():
            yield from (str(place[key]) for place, key in _places(item))


def _rewrite(spec: Object, fields: tuple[str, ...], change: Callable[[str], str]) -> None:
    for field in fields:
        if spec.get(field):
            spec[field] = copy.deepcopy(spec[field])
            for item in spec[field]:
                for place, key in _places(item):
                    place[key] = change(place[key])


def _places(item: Object) -> Iterator[tuple[Object, str]]:
    for place in (item, item.get("applyConfiguration"), item.get("jsonPatch")):
        for key in ("expression", "messageExpression", "valueExpression"):
            if place and place.get(key):
                yield place, key


def _keep_message(was: Object, now: Object) -> None:
    """Write down what is said where an author wrote no message: the expression as it was, not as it is now."""
    text = was["expression"].strip()
    if was["expression"] != now["expression"] and not was.get("message") and "\n" not in text and "\r" not in text:
        now["message"] = f"failed expression: {text}"


def _free_name(taken: set[str]) -> str:
    name = "params"
    while name in taken:
        name += "_"
    return name


def _head(obj: Object, name: str) -> Object:
    kept = {key: obj["metadata"][key] for key in _KEPT if obj["metadata"].get(key)}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": {"name": name, **kept}}


_OWN: Object = {
    "apiGroups": [_POLICY_GROUP],
    "apiVersions": ["*"],
    "operations": ["*"],
    "resources": [resource + sub for resource in _POLICY_KINDS for sub in ("", "/*")],
}
"""What no policy that is an object judges, so that policies stay repairable; those in files would (generic/plugin.go)."""


def _meets_policies(rule: Object) -> bool:
    resources = {resource.partition("/")[0] for resource in rule["resources"]}
    return bool({"*", _POLICY_GROUP} & set(rule["apiGroups"])) and bool({"*", *_POLICY_KINDS} & resources)


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _depth(value: Any) -> int:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if items is None else 1 + max(map(_depth, items), default=0)
