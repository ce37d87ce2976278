"""What the chart holds of other places of this repository, because Helm reads no file outside of a chart.

``python -m tests.charts.copied`` writes it anew: after an edit of a native policy, or of ``docs/install/10-permissions.yaml``,
which says first what the processes may do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.charts.kinds import SCHEMA, schema_text
from webhook.cluster.mapping import KNOWN
from webhook.model.objects import Object

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "charts/gangwarden/files"
PERMISSIONS = ROOT / "docs/install/10-permissions.yaml"
TREES = ROOT / "docs/install/optional/composite-groups.yaml"
NATIVE = (
    "disruption/fenced-controller",
    "gang/guarded-quorum",
    "gang/stamped-when-away",
    "hygiene/guarded-bypass",
    "topology/labelled-nodes",
)
_WHOLE_CLUSTER = {mapping.resource for mapping in KNOWN.values() if not mapping.namespaced}
_HEAD = "# From docs/install/10-permissions.yaml, by `python -m tests.charts.copied`.\n"


def copies() -> Iterator[tuple[Path, str]]:
    """Yield each file of the chart that has its origin elsewhere, with what it should hold."""
    for folder in NATIVE:
        yield FILES / f"policies/{Path(folder).name}.yaml", (ROOT / "policies" / folder / "policy.yaml").read_text()
    webhook, controller = (granted("ClusterRole", f"gangwarden-{process}") for process in ("webhook", "controller"))
    for process, rules in (("webhook", webhook), ("controller", list(_serving(controller, "")))):
        yield FILES / f"rules/{process}-cluster.yaml", _HEAD + written(_split(rules, whole_cluster=True))
        yield FILES / f"rules/{process}.yaml", _HEAD + written(_split(rules, whole_cluster=False))
    for purpose in ("suspend", "restarts"):
        yield FILES / f"rules/controller-{purpose}.yaml", _HEAD + written(_serving(controller, purpose))
    trees = granted("ClusterRole", "gangwarden-controller-trees", TREES)
    yield (
        FILES / "rules/controller-trees.yaml",
        _HEAD.replace("10-permissions", "optional/composite-groups") + written(iter(trees)),
    )


def granted(kind: str, name: str, path: Path = PERMISSIONS) -> list[Object]:
    """Return the rules of a role of the manifests."""
    documents = yaml.safe_load_all(path.read_text())
    return next(doc["rules"] for doc in documents if doc["kind"] == kind and doc["metadata"]["name"] == name)


def _split(rules: list[Object], *, whole_cluster: bool) -> Iterator[Object]:
    """Yield the rules about what stands in no namespace, or all others: only these can become Roles."""
    for rule in rules:
        resources = [one for one in rule["resources"] if (one.partition("/")[0] in _WHOLE_CLUSTER) is whole_cluster]
        if resources:
            yield {**rule, "resources": resources}


def _serving(rules: list[Object], purpose: str) -> Iterator[Object]:
    """Yield the part of the rules that serves a purpose, "suspend" or "restarts", or what is needed without either."""
    for rule in rules:
        verbs = [verb for verb in rule["verbs"] if _purpose(rule["apiGroups"], rule["resources"], verb) == purpose]
        if verbs:
            yield {**rule, "verbs": verbs}


def _purpose(groups: list[str], resources: list[str], verb: str) -> str:
    """Return what a verb is for; a controller that restarts no group follows workloads, and writes groups and events alone."""
    if resources == ["podgroups/status"] or (groups == [""] and verb in ("create", "delete")):
        return "restarts"
    is_of_groups = bool({"scheduling.k8s.io", "events.k8s.io"} & set(groups))
    return "suspend" if verb in ("get", "patch") and not is_of_groups else ""


def written(rules: Iterator[Object]) -> str:
    """Return rules as the manifests write them, one key a line."""
    lines = []
    for rule in rules:
        fields = [f"{key}: {json.dumps(words)}" for key, words in rule.items()]
        lines += [f"{'- ' if not number else '  '}{field}" for number, field in enumerate(fields)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for path, text in copies():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    SCHEMA.write_text(schema_text())
