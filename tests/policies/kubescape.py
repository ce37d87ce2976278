"""The kubescape corpus as questions: each case's object, built as its README says, and the answer expected."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from webhook.model.objects import Object

_CLUSTER_SCOPED = ("ClusterRole", "ClusterRoleBinding")


@dataclass(frozen=True)
class Question:
    name: str
    control: str
    object: Object
    binding: Object
    params: Object
    expected: str


def questions(corpus: Path) -> Iterator[Question]:
    for folder in sorted((corpus / "controls").iterdir()):
        policy = yaml.safe_load((folder / "policy.yaml").read_text())["metadata"]["name"]
        for case in json.loads((folder / "tests.json").read_text()):
            yield question(corpus / "test-resources", folder.name, policy, case)


def question(templates: Path, control: str, policy: str, case: dict[str, Any]) -> Question:
    def template(key: str, default: str) -> Object:
        loaded: Object = yaml.safe_load((templates / case.get(key, default)).read_text())
        return loaded

    obj = template("template", "")
    for change in case.get("field_change_list", ()):
        path, _, value = change.partition("=")
        put(obj, path, parsed(value))
    if obj["kind"] not in _CLUSTER_SCOPED:
        obj.setdefault("metadata", {}).setdefault("namespace", "default")
    binding = template("binding_template", "policy-binding.yaml")
    params = template("param_template", "default-control-configuration.yaml")
    binding["metadata"]["name"] = f"{policy}-binding"
    binding["spec"]["policyName"] = policy
    binding["spec"]["paramRef"]["name"] = params["metadata"]["name"] = f"{policy}-params"
    return Question(f"{control}: {case['name']}", control, obj, binding, params, case["expected"])


def parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def put(obj: Any, path: str, value: Any) -> None:
    """Set a value at a path, making the containers on the way."""
    steps: list[str | int] = [int(index) if index else key for key, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path)]
    place = obj
    for step, following in itertools.pairwise(steps):
        if isinstance(step, int):
            place.extend([None] * (step + 1 - len(place)))
        found = place[step] if isinstance(step, int) else place.get(step)
        if found is None:
            found = place[step] = [] if isinstance(following, int) else {}
        place = found
    last = steps[-1]
    if isinstance(last, int):
        place.extend([None] * (last + 1 - len(place)))
    place[last] = value
