"""``values.schema.json``: what it takes is what ``values.yaml`` explains, and nothing else gets through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml

from tests.charts.helm import CHART, refusal
from tests.charts.kinds import definitions
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
    ({"webhook": {"statusPort": -1}}, "minimum"),
    ({"webhook": {"statusPort": 9443}}, "9443 is webhook.port: reviews are answered there"),
    ({"webhook": {"statusPort": 443}}, "443 is webhook.service.port"),
    ({"networkPolicy": {"statusFrom": "monitoring"}}, "want array"),
    ({"webhook": {"serviceAccount": {"create": "yes"}}}, "want boolean"),
    ({"controller": {"service": {"port": 1}}}, "additional properties 'service' not allowed"),
    ({"controller": {"extraArgs": "--no-restarts"}}, "want array"),
    ({"controller": {"resources": {"request": {}}}}, "additional properties 'request' not allowed"),
    ({"image": {"digest": "sha1:abc"}}, "does not match pattern"),
    ({"certificates": {"mode": "none"}}, "value must be one of"),
    ({"webhook": {"authentication": {"modes": ["basic"]}}}, "value must be one of"),
    ({"webhook": {"authentication": {"modes": ["client-certificate"]}}}, "clientCA.configMap names the ConfigMap"),
    ({"webhook": {"authentication": {"modes": ["bearer-token"]}}}, "tokens.secret names the Secret"),
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


EVERYTHING = yaml.safe_load((CHART / "ci/everything-values.yaml").read_text())
EITHER = {
    "nativePolicies.stampedWhenAway",  # a boolean, or "auto"
    "networkPolicy.egress.more.0.ports.0.port",  # Kubernetes' own: by number or by name
    "policies.volume.emptyDir.sizeLimit",  # a quantity, as requests and limits are
}
MAPS = {
    "commonLabels", "podLabels", "podAnnotations", "annotations", "labels", "nodeSelector", "requests", "limits", "matchLabels",
}  # fmt: skip
"""Whose keys are the user's to choose."""
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
ONE_OF_EACH: tuple[Any, ...] = ("7 is text", 7.5, True, ["a list"], {"nobody": "knows"}, None)


def merged(under: Any, over: Any) -> Any:
    if isinstance(under, dict) and isinstance(over, dict):
        return {key: merged(under.get(key), over.get(key, under.get(key))) for key in under.keys() | over.keys()}
    return over


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield every value that there is, with the way to it."""
    if path:
        yield path, value
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from places(part, (*path, key))


def with_value(whole: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """Return a copy in which there is something else at the end of the way."""
    if not path:
        return value
    copied = dict(whole) if isinstance(whole, dict) else list(whole)
    copied[path[0]] = with_value(whole[path[0]], path[1:], value)
    return copied


FULL = list(places(merged(DEFAULTS, EVERYTHING)))


def is_taken(path: tuple[str | int, ...], value: Any) -> bool:
    top = path[0]
    return VALIDATOR.is_valid({top: with_value(merged(DEFAULTS, EVERYTHING)[top], path[1:], value)})


def test_no_value_may_be_of_another_type() -> None:
    assert len(FULL) > 350
    wrong = {
        (".".join(map(str, path)), repr(other))
        for path, value in FULL
        for other in ONE_OF_EACH
        if type(other) is not type(value) and not (isinstance(value, int) and isinstance(other, float)) and is_taken(path, other)
    }
    found = {place for place, _ in wrong if not set(place.split(".")) & {"requests", "limits"}}
    assert found == EITHER


def test_no_object_takes_a_key_that_nobody_knows() -> None:
    objects = [(path, value) for path, value in FULL if isinstance(value, dict)]
    found = [path for path, value in objects if is_taken(path, value | {"nobodyKnows": "this"})]
    assert {str(path[-1]) for path in found} <= MAPS, found
    assert len(objects) - len(found) > 70
    assert not VALIDATOR.is_valid({"nobodyKnows": {}})


def test_helm_sees_each_of_them() -> None:
    objects = [path for path, value in FULL if isinstance(value, dict) and not set(map(str, path)) & MAPS]
    spoilt = merged(DEFAULTS, EVERYTHING)
    for path in sorted(objects, key=len, reverse=True):
        inside = spoilt
        for key in path:
            inside = inside[key]
        spoilt = with_value(spoilt, path, inside | {"nobodyKnows": "this"})
    said = refusal(spoilt)
    missed = [path for path in objects if f"'/{'/'.join(map(str, path))}'" not in said.replace(".", "/")]
    assert missed == []


def test_kinds_of_kubernetes_are_as_its_schema_has_them() -> None:
    assert SCHEMA["definitions"] == definitions(), "python -m tests.charts.copied"


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
    optional = {".global"} | {
        f".{part}.{key}"
        for part, keys in {
            "podSecurityContext": ("fsGroup", "fsGroupChangePolicy", "supplementalGroups", "seLinuxOptions"),
            "podSecurityContext.seccompProfile": ("localhostProfile",),
            **{f"{each}.resources": ("limits",) for each in ("webhook", "controller", "hooks")},
            **{f"{each}.updateStrategy": ("type",) for each in ("webhook", "controller")},
            **{
                f"{each}.{probe}Probe": ("initialDelaySeconds",)
                for each in ("webhook", "controller")
                for probe in ("startup", "readiness", "liveness")
            },
        }.items()
        for key in keys
    }
    assert set(differences(SCHEMA, DEFAULTS)) == optional
