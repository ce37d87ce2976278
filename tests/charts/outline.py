"""A rendered chart in few lines, for golden files that a person reads: what an object decides, without what all have alike.

``python -m tests.charts.outline`` writes ``tests/charts/golden`` anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from tests.charts.helm import CHART, NAMESPACE, render
from webhook.model.objects import Object

HERE = Path(__file__).resolve().parent
VALUES = {"default": None} | {
    path.name.removesuffix("-values.yaml"): path for path in sorted((CHART / "ci").glob("*-values.yaml"))
}
"""Where chart-testing looks for them."""


def outline(name: str) -> str:
    """Return the outline of the chart with one of the value sets."""
    path = VALUES[name]
    values = yaml.safe_load(path.read_text()) if path else {}
    objects = sorted(render(values), key=lambda one: (one["kind"], one["metadata"]["name"], one["metadata"].get("namespace", "")))
    return "".join(f"{line}\n" for one in objects for line in _lines(one))


def _lines(one: Object) -> Iterator[str]:
    meta = one["metadata"]
    place = meta.get("namespace", "")
    hook = (meta.get("annotations") or {}).get("helm.sh/hook")
    yield (
        f"{one['kind']} {meta['name']}"
        + (f" in {place}" if place not in ("", NAMESPACE) else "")
        + (f" ({hook})" if hook else "")
    )
    yield from (f"  {line}" for line in _PARTS.get(one["kind"], _nothing)(one))


def _nothing(_one: Object) -> Iterator[str]:
    yield from ()


def _pods(one: Object) -> Iterator[str]:
    spec = one["spec"]["template"]["spec"]
    container, *beside = spec["containers"]
    yield f"{one['spec'].get('replicas', 1)} x {container['image']} as {spec['serviceAccountName']}"
    yield from (f"{word}" for word in container["args"])
    yield from (f"beside it {one['image']}" for one in beside)
    yield f"volumes {json.dumps(spec['volumes'])}"
    told = {key: spec[key] for key in ("hostNetwork", "dnsPolicy", "imagePullSecrets") if key in spec}
    if told:
        yield json.dumps(told)


def _rules(one: Object) -> Iterator[str]:
    for rule in one["rules"]:
        resources = " ".join(
            f"{resource}.{group}" if group else resource for group in rule["apiGroups"] for resource in rule["resources"]
        )
        names = f" named {' '.join(rule['resourceNames'])}" if "resourceNames" in rule else ""
        yield f"{' '.join(rule['verbs'])}: {resources}{names}"


def _subjects(one: Object) -> Iterator[str]:
    yield f"{one['roleRef']['name']} to {' '.join(subject['name'] for subject in one['subjects'])}"


def _spec(one: Object) -> Iterator[str]:
    yield json.dumps({key: value for key, value in one["spec"].items() if key not in ("selector", "podSelector")})


def _data(one: Object) -> Iterator[str]:
    yield from (f"{key}: {' '.join(text.split())[:200]}" for key, text in one["data"].items())


def _alerts(one: Object) -> Iterator[str]:
    for group in one["spec"]["groups"]:
        yield from (f"{rule['alert']}: {rule['expr']} for {rule.get('for', '0s')}" for rule in group["rules"])


def _place(one: Object) -> Iterator[str]:
    yield json.dumps({key: one["spec"][key] for key in ("matchResources", "paramRef") if key in one["spec"]})


_PARTS: dict[str, Callable[[Object], Iterator[str]]] = {
    "Certificate": _spec,
    "ClusterRole": _rules,
    "ClusterRoleBinding": _subjects,
    "ConfigMap": _data,
    "Deployment": _pods,
    "HorizontalPodAutoscaler": _spec,
    "Issuer": _spec,
    "Job": _pods,
    "NetworkPolicy": _spec,
    "PodDisruptionBudget": _spec,
    "PrometheusRule": _alerts,
    "Role": _rules,
    "RoleBinding": _subjects,
    "Service": _spec,
    "ServiceMonitor": _spec,
    "ValidatingAdmissionPolicyBinding": _place,
}


if __name__ == "__main__":
    for each in VALUES:
        (HERE / f"golden/{each}.txt").write_text(outline(each))
