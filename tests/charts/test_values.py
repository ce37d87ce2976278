"""``values.schema.json``: what it takes is what ``values.yaml`` explains, and nothing else gets through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml

from tests.charts.helm import CHART, refusal
from webhook.model.objects import Object

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())
OF_HELM = {"global"}

REFUSED: list[tuple[Object, str]] = [
    ({"replicas": 3}, "additional properties 'replicas' not allowed"),
    ({"webhook": {"replica": 3}}, "additional properties 'replica' not allowed"),
    ({"webhook": {"replicas": "3"}}, "got string, want integer"),
    ({"webhook": {"replicas": 0}}, "minimum"),
    ({"webhook": {"port": 70000}}, "maximum"),
    ({"webhook": {"serviceAccount": {"create": "yes"}}}, "want boolean"),
    ({"controller": {"service": {"port": 1}}}, "additional properties 'service' not allowed"),
    ({"controller": {"extraArgs": "--no-restarts"}}, "want array"),
    ({"controller": {"resources": {"request": {}}}}, "additional properties 'request' not allowed"),
    ({"image": {"digest": "sha1:abc"}}, "does not match pattern"),
    ({"certificates": {"mode": "none"}}, "value must be one of"),
    ({"certificates": {"mode": "given"}}, "certificates.secretName names the Secret"),
    ({"policies": {"source": "git"}}, "value must be one of"),
    ({"policies": {"source": "configMap"}}, "policies.configMap names the ConfigMap"),
    ({"policies": {"source": "volume"}}, "policies.volume is a volume source"),
    ({"namespaces": "team-a"}, "want array"),
    ({"namespaces": ["Team_A"]}, "does not match pattern"),
    ({"nativePolicies": {"stampedWhenAway": "yes"}}, "value must be one of"),
    ({"rbac": {"extraWebhookRules": [{"apiGroups": ["*"], "resources": ["jobs"], "verbs": ["get"]}]}}, "'not' failed"),
    (
        {"rbac": {"extraControllerRules": [{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}]}},
        "must be one of",
    ),
    ({"prometheusRule": {"brokenFor": 15}}, "want string"),
    ({"hooks": {"probe": {"timeoutSeconds": 0}}}, "minimum"),
]


@pytest.mark.parametrize(("values", "told"), REFUSED, ids=lambda value: json.dumps(value) if isinstance(value, dict) else "")
def test_values_that_cannot_be_meant_are_refused(values: Object, told: str) -> None:
    assert told in refusal(values)


def test_the_schema_is_one_of_draft_7_and_takes_the_defaults() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert list(jsonschema.Draft7Validator(SCHEMA).iter_errors(DEFAULTS)) == []


def closed(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every schema that names properties, with its path."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield path, schema
        for key, value in schema.items():
            yield from closed(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for number, value in enumerate(schema):
            yield from closed(value, f"{path}/{number}")


def test_no_object_with_named_keys_takes_other_ones() -> None:
    found = list(closed(SCHEMA))
    assert len(found) > 30
    assert [path for path, schema in found if schema.get("additionalProperties") is not False] == []


def differences(schema: Object, defaults: Object, path: str = "") -> Iterator[str]:
    """Yield keys that only one of the two knows."""
    properties = schema.get("properties")
    if properties is None or not isinstance(defaults, dict):
        return
    yield from (f"{path}.{key}" for key in properties.keys() ^ defaults.keys())
    for key in properties.keys() & defaults.keys():
        yield from differences(properties[key], defaults[key], f"{path}.{key}")


def test_every_key_of_the_schema_has_a_default_and_the_other_way_round() -> None:
    optional = {".global", ".webhook.resources.limits", ".webhook.resources.claims", ".webhook.updateStrategy.type"}
    optional |= {one.replace("webhook", "controller") for one in optional} | {
        ".hooks.resources.limits",
        ".hooks.resources.claims",
    }
    assert set(differences(SCHEMA, DEFAULTS)) == optional
