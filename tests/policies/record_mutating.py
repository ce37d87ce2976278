"""Ask the API server's own code what MutatingAdmissionPolicies make of objects, and keep the answers.

    python -m tests.policies.record_mutating PROGRAM

PROGRAM reads one request per line and answers it by k8s.io/apiserver v0.37.2: ``compilePolicy`` and ``Dispatch`` of the
plugin, with client-go's type converter for built-in kinds and the deduced one for others. It fills in no defaults, and it
knows no order of policies and no reinvocation: tests/e2e/test_mutations.py asks a whole API server for those.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from webhook.model.objects import Object

RECORDED = Path(__file__).parent / "recorded" / "mutating.jsonl"
NATIVE = "admissionregistration.k8s.io/v1"

CONTAINER: Object = {
    "name": "main",
    "image": "train:1",
    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "ports": [{"containerPort": 80, "protocol": "TCP"}],
    "resources": {"limits": {"cpu": "2"}},
}
JOB: Object = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "ml", "labels": {"team": "a"}},
    "spec": {
        "parallelism": 4,
        "completions": 4,
        "template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}},
    },
}
POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "train-0", "namespace": "ml", "labels": {"team": "a"}, "finalizers": ["example.com/a"]},
    "spec": {
        "containers": [CONTAINER, {"name": "log", "image": "log:1"}],
        "initContainers": [{"name": "load", "image": "load:1"}],
    },
}
DEPLOYMENT: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "ml"},
    "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {"containers": [CONTAINER]}}},
}
SERVICE: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "ml"},
    "spec": {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 443, "protocol": "TCP"}], "selector": {"app": "web"}},
}
CONFIG: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "ml"}, "data": {"a": "1"}}
GANG: Object = {
    "apiVersion": "example.com/v1",
    "kind": "Gang",
    "metadata": {"name": "g", "namespace": "ml", "labels": {"team": "a"}},
    "spec": {"members": [{"name": "a", "size": 1}], "size": 1, "options": {"fast": True, "limits": {"cpu": 1}}, "none": None},
}
PARAMS: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "q", "namespace": "ml", "labels": {"use": "yes"}},
    "data": {"queue": "gpu"},
}
WITH_PARAMS = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
ML: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": {"tier": "gold"}}}

SUSPEND = "Object{spec: Object.spec{suspend: true}}"
SEEN = "Object{metadata: Object.metadata{labels: {'seen': 'yes'}}}"
ADD_SUSPEND = "JSONPatch{op: 'add', path: '/spec/suspend', value: true}"
FIRST_ENV = "/spec/template/spec/containers/0/env"


def pods(fields: str) -> str:
    """Write an ApplyConfiguration of a Job's pod spec."""
    return f"Object{{spec: Object.spec{{template: Object.spec.template{{spec: Object.spec.template.spec{{{fields}}}}}}}}}"


def container(fields: str) -> str:
    return pods(f"containers: [Object.spec.template.spec.containers{{{fields}}}]")


def spec(fields: str) -> str:
    return f"Object{{spec: Object.spec{{{fields}}}}}"


def labels(text: str) -> str:
    return f"Object{{metadata: Object.metadata{{labels: {text}}}}}"


def patch(fields: str) -> str:
    return f"[JSONPatch{{{fields}}}]"


def value(text: str) -> str:
    return patch(f"op: 'add', path: '/metadata/labels/t', value: {text}")


def tested(fields: str) -> str:
    return f"[JSONPatch{{op: 'test', {fields}}}, {ADD_SUSPEND}]"


MERGED: dict[str, str] = {
    "a scalar is set": spec("suspend: true"),
    "a scalar is replaced": spec("parallelism: 9"),
    "a label is added and one replaced": labels("{'a': 'b', 'team': 'z'}"),
    "labels written as an object": labels("Object.metadata.labels{a: 'b'}"),
    "labels computed from other labels": labels("object.metadata.labels.transformMap(k, v, v + '-x')"),
    "annotations taken from labels": "Object{metadata: Object.metadata{annotations: object.metadata.labels}}",
    "an empty map adds nothing": labels("{}"),
    "an empty object changes nothing": "Object{}",
    "an empty struct changes nothing": spec(""),
    "a map that was not there": "Object{metadata: Object.metadata{annotations: {'example.com/a': 'b'}}}",
    "a finalizer joins a set": "Object{metadata: Object.metadata{finalizers: ['example.com/b']}}",
    "kind and apiVersion of the patch do not count": "Object{apiVersion: 'v2', kind: 'Pod', spec: Object.spec{suspend: true}}",
    "a name is replaced": "Object{metadata: Object.metadata{name: 'other'}}",
    "an absent optional leaves its field out": spec("?suspend: optional.none(), ?parallelism: optional.of(9)"),
    "a choice of two objects": f"has(object.spec.suspend) ? Object{{}} : {SUSPEND}",
    "the object's own spec changes nothing": "Object{spec: object.spec}",
    "a whole number written as a double": spec("parallelism: 7.0"),
    "a container is found by its name": container("name: 'main', imagePullPolicy: 'Always'"),
    "a container of another name is added": container("name: 'log', image: 'log:1'"),
    "a container without a name is one of its own": container("image: 'log:1'"),
    "an env entry is replaced and one added": container(
        "name: 'main', env: [Object.spec.template.spec.containers.env{name: 'C', value: '3'},"
        " Object.spec.template.spec.containers.env{name: 'A', value: '9'}]"
    ),
    "the order of the patch counts for what both have": container(
        "name: 'main', env: [Object.spec.template.spec.containers.env{name: 'B', value: '2'},"
        " Object.spec.template.spec.containers.env{name: 'A', value: '1'}]"
    ),
    "ports are found by two keys of which one has a default": container(
        "name: 'main', ports: [Object.spec.template.spec.containers.ports{containerPort: 80, name: 'web'}]"
    ),
    "a port of another protocol is another port": container(
        "name: 'main', ports: [Object.spec.template.spec.containers.ports{containerPort: 80, protocol: 'UDP'}]"
    ),
    "resource limits are merged": container(
        "name: 'main', resources: Object.spec.template.spec.containers.resources{limits: {'memory': '1Gi'}}"
    ),
    "every container is changed": pods(
        "containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers"
        "{name: c.name, image: 'mirror/' + c.image})"
    ),
    "the object's own containers change nothing": pods("containers: object.spec.template.spec.containers"),
    "an empty list changes nothing": pods("containers: []"),
    "an init container is added": pods(
        "initContainers: [Object.spec.template.spec.initContainers{name: 'load', image: 'load:1', restartPolicy: 'Always'}]"
    ),
    "a volume is added by name": pods(
        "volumes: [Object.spec.template.spec.volumes{name: 'v', emptyDir: Object.spec.template.spec.volumes.emptyDir{}}]"
    ),
    "topology spread constraints are told apart by two keys": pods(
        "topologySpreadConstraints: [Object.spec.template.spec.topologySpreadConstraints"
        "{topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', maxSkew: 1}]"
    ),
    "a security context is merged": pods("securityContext: Object.spec.template.spec.securityContext{runAsNonRoot: true}"),
    "a pod's group": pods("schedulingGroup: Object.spec.template.spec.schedulingGroup{podGroupName: 'g'}"),
}
"""On a Job; all of these are taken."""

REFUSED: dict[str, str] = {
    "an unknown field": spec("foo: 1"),
    "an unknown field deep inside": container("name: 'main', foo: 1"),
    "text for a number": spec("parallelism: 'x'"),
    "text for a boolean": spec("suspend: 'x'"),
    "a number for text": spec("completionMode: 1"),
    "a boolean for text": spec("completionMode: true"),
    "a uint for a number": spec("parallelism: 5u"),
    "bytes for text": spec("completionMode: b'abc'"),
    "a duration for a number": spec("ttlSecondsAfterFinished: duration('5s')"),
    "null for a boolean": spec("suspend: null"),
    "null for a struct": "Object{spec: null}",
    "a number as label": labels("{'a': 1}"),
    "text for a list": pods("containers: 'x'"),
    "numbers for containers": pods("containers: [1]"),
    "null for a container": pods("containers: [null]"),
    "a mapping written for a container": pods("containers: [{'name': 'main', 'image': 'x'}]"),
    "a mapping written within a mapping": container("name: 'main', resources: {'limits': {'memory': '1Gi'}}"),
    "labels written in a mapping": "Object{metadata: {'labels': {'a': 'b'}}}",
    "two containers of one name": pods(
        "containers: [Object.spec.template.spec.containers{name: 'a'}, Object.spec.template.spec.containers{name: 'a'}]"
    ),
    "an atomic list": container("name: 'main', args: ['--x']"),
    "an atomic list of structs": pods("tolerations: [Object.spec.template.spec.tolerations{key: 'a'}]"),
    "an atomic map": pods("nodeSelector: {'a': 'b'}"),
    "an atomic struct": spec("selector: Object.spec.selector{matchLabels: {'a': 'b'}}"),
    "an atomic struct in a list": (
        "Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences"
        "{uid: 'u', name: 'n', kind: 'k', apiVersion: 'v'}]}}"
    ),
    "the failure rules of a Job": spec(
        "podFailurePolicy: Object.spec.podFailurePolicy{rules: [Object.spec.podFailurePolicy.rules{action: 'Ignore'}]}"
    ),
    "a reference by a config map's key": container(
        "name: 'main', env: [Object.spec.template.spec.containers.env{name: 'C', valueFrom: Object.spec.template.spec.containers"
        ".env.valueFrom{configMapKeyRef: Object.spec.template.spec.containers.env.valueFrom.configMapKeyRef{key: 'k'}}}]"
    ),
    "an object of the wrong name": "Object{spec: Object.wrong{}}",
    "an object of the wrong name within a list": pods("containers: [Object.spec.template.spec.container{name: 'main'}]"),
    "a value that cannot be computed": spec("parallelism: 1 / 0"),
    "a field that is not there": spec("parallelism: object.spec.missing"),
}
"""On a Job; none of these is taken."""

PATCHED: dict[str, str] = {
    "add sets a field": patch("op: 'add', path: '/spec/suspend', value: true"),
    "add replaces a field": patch("op: 'add', path: '/spec/parallelism', value: 9"),
    "add appends to a list": patch(f"op: 'add', path: '{FIRST_ENV}/-', value: {{'name': 'C', 'value': '3'}}"),
    "add inserts before an entry": patch(f"op: 'add', path: '{FIRST_ENV}/0', value: {{'name': 'C', 'value': '3'}}"),
    "add at a negative index": patch(f"op: 'add', path: '{FIRST_ENV}/-1', value: {{'name': 'C', 'value': '3'}}"),
    "add of an object": patch(
        f"op: 'add', path: '{FIRST_ENV}/0', value: Object.spec.template.spec.containers.env{{name: 'C', value: '3'}}"
    ),
    "add of an atomic list": patch(
        "op: 'add', path: '/spec/template/spec/tolerations', value: [{'key': 'a', 'operator': 'Exists'}]"
    ),
    "add of a list of objects": patch(
        "op: 'add', path: '/spec/template/spec/tolerations', value: [Object.spec.template.spec.tolerations{key: 'a'}]"
    ),
    "add of a list with numbers": patch(
        "op: 'add', path: '/spec/template/spec/tolerations', value: [{'key': dyn('a'), 'tolerationSeconds': dyn(5)}]"
    ),
    "add of null": patch("op: 'add', path: '/spec/suspend', value: null"),
    "add without a value": patch("op: 'add', path: '/spec/suspend'"),
    "add of an absent optional": patch("op: 'add', path: '/spec/suspend', ?value: optional.none()"),
    "add of a present optional": value("optional.of('x')"),
    "add of a double that is whole": patch("op: 'add', path: '/spec/parallelism', value: 7.0"),
    "add of a uint": patch("op: 'add', path: '/spec/parallelism', value: 7u"),
    "add of a timestamp": value("timestamp('2020-01-01T00:00:00Z')"),
    "add of a duration": value("duration('90s')"),
    "add of bytes": value("b'abc'"),
    "add of text that JSON escapes": value(r"""'a<b>&é\n"q'"""),
    "a map is made before a key is set in it": (
        "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {}},"
        " JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('a~b/c'), value: 'v'}]"
    ),
    "replace sets a field": patch("op: 'replace', path: '/spec/parallelism', value: 9"),
    "replace sets a field that was not there": patch("op: 'replace', path: '/spec/suspend', value: true"),
    "replace of an entry": patch(f"op: 'replace', path: '{FIRST_ENV}/0', value: {{'name': 'C'}}"),
    "replace of everything by itself": patch("op: 'replace', path: '', value: object"),
    "remove of a field": patch("op: 'remove', path: '/spec/parallelism'"),
    "remove of a label": patch("op: 'remove', path: '/metadata/labels/team'"),
    "remove of an entry": patch(f"op: 'remove', path: '{FIRST_ENV}/0'"),
    "remove at a negative index": patch(f"op: 'remove', path: '{FIRST_ENV}/-1'"),
    "move of a field": patch("op: 'move', from: '/spec/parallelism', path: '/spec/completions'"),
    "move within a list": patch(f"op: 'move', from: '{FIRST_ENV}/0', path: '{FIRST_ENV}/1'"),
    "copy of labels": patch("op: 'copy', from: '/metadata/labels', path: '/metadata/annotations'"),
    "copy of what is not there makes null": patch("op: 'copy', from: '/metadata/nope', path: '/metadata/annotations'"),
    "a test that passes": tested("path: '/spec/parallelism', value: 4"),
    "a test of a double that is whole": tested("path: '/spec/parallelism', value: 4.0"),
    "a test of text": tested("path: '/metadata/labels/team', value: 'a'"),
    "a test of a mapping": tested("path: '/metadata/labels', value: {'team': 'a'}"),
    "a test of a list, whatever the order of keys": tested(
        f"path: '{FIRST_ENV}', value: [{{'value': '1', 'name': 'A'}}, {{'name': 'B', 'value': '2'}}]"
    ),
    "a test without a value for what is not there": tested("path: '/spec/suspend'"),
    "a test for null fails where nothing is": tested("path: '/spec/suspend', value: null"),
    "a test of a null that was added, for an empty map, passes": (
        f"[JSONPatch{{op: 'add', path: '/spec/suspend', value: null}},"
        f" JSONPatch{{op: 'test', path: '/spec/suspend', value: {{}}}}, {ADD_SUSPEND}]"
    ),
    "a test of a null that was added, for an empty list, fails": (
        f"[JSONPatch{{op: 'add', path: '/spec/suspend', value: null}},"
        f" JSONPatch{{op: 'test', path: '/spec/suspend', value: []}}, {ADD_SUSPEND}]"
    ),
    "a test of another number fails": tested("path: '/spec/parallelism', value: 5"),
    "a test of another type fails": tested("path: '/spec/parallelism', value: '4'"),
    "a test of another mapping fails": tested("path: '/metadata/labels', value: {'team': 'b'}"),
    "a test without a value fails where something is": tested("path: '/spec/parallelism'"),
    "a test that fails undoes what was before it": (
        "[JSONPatch{op: 'replace', path: '/spec/parallelism', value: 5},"
        " JSONPatch{op: 'test', path: '/spec/parallelism', value: 4}]"
    ),
    "no operation at all": f"true ? [] : [{ADD_SUSPEND}]",
    "an absent operation": f"[?optional.none(), {ADD_SUSPEND}]",
    "operations from a comprehension": (
        "object.spec.template.spec.containers.map(c, JSONPatch{op: 'add', path: '/metadata/labels/has-' + c.name, value: 'yes'})"
    ),
    "an index with zeros before it": patch(f"op: 'remove', path: '{FIRST_ENV}/00'"),
    "the first step of a path without a slash is lost": patch("op: 'add', path: 'x/spec/suspend', value: true"),
}
"""On a Job; all of these are taken."""

FAILED: dict[str, str] = {
    "add below a map that is not there": patch("op: 'add', path: '/metadata/annotations/x', value: 'v'"),
    "add below a scalar": patch("op: 'add', path: '/spec/parallelism/x', value: 'v'"),
    "add beyond the end of a list": patch(f"op: 'add', path: '{FIRST_ENV}/9', value: {{'name': 'C'}}"),
    "add at what is no index": patch(f"op: 'add', path: '{FIRST_ENV}/x', value: {{'name': 'C'}}"),
    "add without a path": "[JSONPatch{op: 'add', value: 1}]",
    "replace below what is not there": patch("op: 'replace', path: '/spec/missing/x', value: true"),
    "replace beyond the end of a list": patch(f"op: 'replace', path: '{FIRST_ENV}/7', value: {{'name': 'C'}}"),
    "replace at the end of a list": patch(f"op: 'replace', path: '{FIRST_ENV}/-', value: {{'name': 'C'}}"),
    "replace of everything by a number": patch("op: 'replace', path: '', value: 1"),
    "remove of a key that is not there": patch("op: 'remove', path: '/spec/suspend'"),
    "remove beyond the end of a list": patch(f"op: 'remove', path: '{FIRST_ENV}/5'"),
    "remove at what is no index": patch(f"op: 'remove', path: '{FIRST_ENV}/x'"),
    "move of what is not there": patch("op: 'move', from: '/spec/nope', path: '/spec/completions'"),
    "move from below what is not there": patch("op: 'move', from: '/nope/nope', path: '/spec/completions'"),
    "move to below what is not there": patch("op: 'move', from: '/spec/parallelism', path: '/x/y/z'"),
    "move without from": patch("op: 'move', path: '/spec/completions'"),
    "copy from below what is not there": patch("op: 'copy', from: '/nope/nope', path: '/metadata/annotations'"),
    "copy to below what is not there": patch("op: 'copy', from: '/metadata/labels', path: '/a/b/c'"),
    "copy from beyond the end of a list": patch(f"op: 'copy', from: '{FIRST_ENV}/4', path: '/metadata/annotations'"),
    "test below what is not there": tested("path: '/spec/nope/nope', value: 1"),
    "test beyond the end of a list": tested(f"path: '{FIRST_ENV}/3', value: 1"),
    "an operation of no known kind": patch("op: 'frob', path: '/spec/parallelism'"),
    "an operation without a kind": "[JSONPatch{path: '/spec/parallelism'}]",
    "a quantity has no JSON": value("quantity('1Gi')"),
    "a type has no JSON": value("type(1)"),
    "a map with numbers as keys has no JSON": patch("op: 'add', path: '/metadata/labels', value: {1: 'a'}"),
    "a map with booleans as keys has no JSON": patch("op: 'add', path: '/metadata/labels', value: {true: 'a'}"),
    "an object of the wrong name in a value": patch(
        "op: 'add', path: '/spec/selector', value: Object.spec.selector{matchLabels: Object.spec.selector.wrong{a: 'b'}}"
    ),
    "a patch that cannot be computed": patch("op: 'add', path: '/spec/' + object.spec.missing, value: 1"),
}
"""On a Job; none of these is taken."""

UNREADABLE: dict[str, str] = {
    "an unknown field": patch("op: 'add', path: '/spec/foo', value: 1"),
    "an unknown field at the root": patch("op: 'add', path: 'spec/suspend', value: true"),
    "an unknown field in a container": patch("op: 'add', path: '/spec/template/spec/containers/0/imge', value: 'x'"),
    "text for a number": patch("op: 'add', path: '/spec/parallelism', value: 'x'"),
    "a fraction for a number": patch("op: 'add', path: '/spec/parallelism', value: 1.5"),
    "a whole number too large for JSON": patch("op: 'add', path: '/spec/parallelism', value: 9007199254740993"),
    "a number for a list": patch("op: 'replace', path: '/spec/template/spec/containers', value: 1"),
    "a mapping for text": patch("op: 'replace', path: '/spec/completionMode', value: {'a': 'b'}"),
    "another kind": patch("op: 'replace', path: '/kind', value: 'Pod'"),
}
"""What the API server cannot read back: 500 whatever the failurePolicy."""


def policy(*mutations: str, **more: Any) -> Object:
    """Write a policy; the kind of a patch shows in its expression."""
    written = []
    for text in mutations:
        is_object = text.startswith("Object") or f": {SUSPEND}" in text
        kind, name = ("ApplyConfiguration", "applyConfiguration") if is_object else ("JSONPatch", "jsonPatch")
        written.append({"patchType": kind, name: {"expression": text}})
    rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*"]}]
    constraints = {"resourceRules": rules, **more.pop("constraints", {})}
    told = {"matchConstraints": constraints, "reinvocationPolicy": "Never", "mutations": written, **more}
    return {"apiVersion": NATIVE, "kind": "MutatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": told}


def binding(name: str = "everywhere", **more: Any) -> Object:
    told = {"policyName": "p", **more}
    return {"apiVersion": NATIVE, "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": told}


def scene(case: str, *mutations: str, obj: Object | None = JOB, **more: Any) -> Object:
    """Write a request; what is no part of one belongs to the policy."""
    parts = ("bindings", "params", "request", "oldObject", "namespaceObject", "typed")
    asked = {key: more.pop(key) for key in parts if key in more}
    return {"case": case, "policy": policy(*mutations, **more), "bindings": [binding()], "object": obj, **asked}


def rules(**parts: list[str] | str) -> Object:
    given = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*"], **parts}
    return {"resourceRules": [given]}


def condition(text: str) -> list[Object]:
    return [{"name": "c", "expression": text}]


def variable(name: str, text: str) -> Object:
    return {"name": name, "expression": text}


def reading(**more: Any) -> Object:
    return binding(paramRef={"parameterNotFoundAction": "Deny", **more})


def matching() -> list[Object]:
    """Which policies act at all, on what, in which order, and what becomes of failures."""
    queue = labels("{'queue': params.data.queue}")
    other = {**PARAMS, "metadata": {"name": "r", "namespace": "ml", "labels": {"use": "no"}}, "data": {"queue": "cpu"}}
    double = "Object{spec: Object.spec{parallelism: object.spec.parallelism * 2}}"
    return [
        scene("another resource is left alone", SUSPEND, constraints=rules(resources=["pods"])),
        scene("another group is left alone", SUSPEND, constraints=rules(apiGroups=["apps"])),
        scene("an excluded resource is left alone", SUSPEND, constraints={"excludeResourceRules": rules()["resourceRules"]}),
        scene("an object that is selected", SEEN, constraints={"objectSelector": {"matchLabels": {"team": "a"}}}),
        scene("an object that is not selected", SEEN, constraints={"objectSelector": {"matchLabels": {"team": "b"}}}),
        scene(
            "a namespace that is selected",
            SEEN,
            namespaceObject=ML,
            constraints={"namespaceSelector": {"matchLabels": {"tier": "gold"}}},
        ),
        scene(
            "a namespace that is not selected",
            SEEN,
            namespaceObject=ML,
            constraints={"namespaceSelector": {"matchLabels": {"tier": "lead"}}},
        ),
        scene("an update sees both objects", labels("{'was': string(oldObject.spec.parallelism)}"), oldObject=JOB),
        scene("an update that is not asked for", SUSPEND, constraints=rules(operations=["CREATE"]), oldObject=JOB),
        scene("a delete has nothing to change", SUSPEND, obj=None, oldObject=JOB, constraints=rules(operations=["*"])),
        scene("a condition that holds", SUSPEND, matchConditions=condition("object.spec.parallelism > 3")),
        scene("a condition that does not hold", SUSPEND, matchConditions=condition("object.spec.parallelism > 100")),
        scene("a condition that fails", SUSPEND, matchConditions=condition("object.spec.nope > 1")),
        scene(
            "a condition that fails and is ignored",
            SUSPEND,
            matchConditions=condition("object.spec.nope > 1"),
            failurePolicy="Ignore",
        ),
        scene(
            "a false condition outweighs one that fails",
            SUSPEND,
            matchConditions=[*condition("object.spec.nope > 1"), {"name": "d", "expression": "false"}],
        ),
        scene(
            "the request is read",
            labels("{'by': request.userInfo.username, 'op': request.operation}"),
            request={"userInfo": {"username": "ann"}},
        ),
        scene("the namespace is read", labels("{'tier': namespaceObject.metadata.labels['tier']}"), namespaceObject=ML),
        scene("variables are read", labels("{'n': variables.n}"), variables=[variable("n", "string(object.spec.parallelism)")]),
        scene(
            "a variable reads an earlier one",
            labels("{'n': variables.m}"),
            variables=[variable("n", "'x'"), variable("m", "variables.n + 'y'")],
        ),
        scene("a variable that fails", labels("{'n': variables.n}"), variables=[variable("n", "object.spec.nope")]),
        scene("a variable that fails and is not read", SEEN, variables=[variable("n", "object.spec.nope")]),
        scene(
            "a variable is a list of patches' values",
            "variables.n.map(n, JSONPatch{op: 'add', path: '/metadata/labels/' + n, value: n})",
            variables=[variable("n", "['a', 'b']")],
        ),
        scene("a mutation sees what the one before it made", double, double),
        scene(
            "variables are computed anew for each mutation",
            double,
            labels("{'n': variables.n}"),
            variables=[variable("n", "string(object.spec.parallelism)")],
        ),
        scene("a patch upon a merge", SEEN, tested("path: '/metadata/labels/seen', value: 'yes'")),
        scene("a merge upon a patch", patch("op: 'remove', path: '/metadata/labels'"), SEEN),
        scene("a failure denies, though another mutation works", "Object{spec: Object.wrong{}}", SEEN),
        scene("the first of two failures is told", "Object{spec: Object.wrong{}}", patch("op: 'remove', path: '/spec/nope'")),
        scene("an ignored failure leaves out one mutation", "Object{spec: Object.wrong{}}", SEEN, failurePolicy="Ignore"),
        scene(
            "an ignored failure after a mutation that works",
            SEEN,
            patch("op: 'remove', path: '/spec/nope'"),
            failurePolicy="Ignore",
        ),
        scene("an ignored failure of all", patch("op: 'remove', path: '/spec/nope'"), failurePolicy="Ignore"),
        scene("a test that fails leaves out one mutation", tested("path: '/spec/parallelism', value: 5"), SEEN),
        scene("params by name", queue, **WITH_PARAMS, params=PARAMS, bindings=[reading(name="q")]),
        scene(
            "params by selector, one after the other",
            labels("{params.data.queue: 'yes'}"),
            **WITH_PARAMS,
            params=[PARAMS, other],
            bindings=[reading(selector={"matchExpressions": [{"key": "use", "operator": "Exists"}]})],
        ),
        scene(
            "params that a selector leaves out",
            labels("{params.data.queue: 'yes'}"),
            **WITH_PARAMS,
            params=[PARAMS, other],
            bindings=[reading(selector={"matchLabels": {"use": "no"}})],
        ),
        scene(
            "params in another namespace",
            queue,
            **WITH_PARAMS,
            params=PARAMS,
            bindings=[reading(name="q", namespace="ml")],
            obj={**JOB, "metadata": {"name": "t", "namespace": "dl"}},
        ),
        scene("params that are not found", queue, **WITH_PARAMS, params=PARAMS, bindings=[reading(name="nope")]),
        scene(
            "params that are not found and ignored",
            queue,
            **WITH_PARAMS,
            params=PARAMS,
            bindings=[reading(name="nope")],
            failurePolicy="Ignore",
        ),
        scene(
            "params that may be missing",
            queue,
            **WITH_PARAMS,
            params=PARAMS,
            bindings=[binding(paramRef={"name": "nope", "parameterNotFoundAction": "Allow"})],
        ),
        scene("params that the binding does not use", labels("{'none': string(params == null)}"), **WITH_PARAMS, params=PARAMS),
        scene(
            "a condition reads params",
            SUSPEND,
            **WITH_PARAMS,
            params=PARAMS,
            bindings=[reading(name="q")],
            matchConditions=condition("params.data.queue == 'cpu'"),
        ),
        scene("two bindings, both", double, bindings=[binding("a"), binding("b")]),
        scene(
            "two bindings of which one matches",
            double,
            bindings=[binding("a", matchResources={"objectSelector": {"matchLabels": {"team": "b"}}}), binding("b")],
        ),
        scene("a binding that does not match", SUSPEND, bindings=[binding(matchResources={**rules(resources=["pods"])})]),
        scene("no binding", SUSPEND, bindings=[]),
        scene(
            "the second binding fails", patch("op: 'remove', path: '/spec/parallelism'"), bindings=[binding("a"), binding("b")]
        ),
    ]


def kinds() -> list[Object]:
    """Other kinds than Jobs: built in, and not."""
    gang = spec("members: [Object.spec.members{name: 'b', size: 2}]")
    return [
        scene("a Pod's container by name", spec("containers: [Object.spec.containers{name: 'log', image: 'log:2'}]"), obj=POD),
        scene(
            "a Pod's containers in the order of the patch",
            spec(
                "containers: [Object.spec.containers{name: 'log'}, Object.spec.containers{name: 'new', image: 'n'},"
                " Object.spec.containers{name: 'main'}]"
            ),
            obj=POD,
        ),
        scene(
            "a new container between those that are there",
            spec(
                "containers: [Object.spec.containers{name: 'main'}, Object.spec.containers{name: 'new', image: 'n'},"
                " Object.spec.containers{name: 'log'}]"
            ),
            obj=POD,
        ),
        scene(
            "a Pod's finalizers are a set",
            "Object{metadata: Object.metadata{finalizers: ['example.com/b', 'example.com/a']}}",
            obj=POD,
        ),
        scene("a finalizer that is there already", "Object{metadata: Object.metadata{finalizers: ['example.com/a']}}", obj=POD),
        scene("a finalizer twice", "Object{metadata: Object.metadata{finalizers: ['example.com/b', 'example.com/b']}}", obj=POD),
        scene(
            "a Pod's host aliases by ip",
            spec("hostAliases: [Object.spec.hostAliases{ip: '10.0.0.1', hostnames: ['a']}]"),
            obj=POD,
        ),
        scene("a Pod's image pull secrets", spec("imagePullSecrets: [Object.spec.imagePullSecrets{name: 's'}]"), obj=POD),
        scene(
            "a Pod's affinity",
            spec(
                "affinity: Object.spec.affinity{nodeAffinity: Object.spec.affinity.nodeAffinity"
                "{preferredDuringSchedulingIgnoredDuringExecution: []}}"
            ),
            obj=POD,
        ),
        scene("a Deployment's container by name", container("name: 'main', image: 'web:2'"), obj=DEPLOYMENT),
        scene("a Deployment's selector", spec("selector: Object.spec.selector{matchLabels: {'a': 'b'}}"), obj=DEPLOYMENT),
        scene("a Service's port by its keys", spec("ports: [Object.spec.ports{port: 443, name: 'tls'}]"), obj=SERVICE),
        scene("a Service's selector is atomic", spec("selector: {'a': 'b'}"), obj=SERVICE),
        scene("an int-or-string as text", spec("ports: [Object.spec.ports{port: 443, targetPort: 'tls'}]"), obj=SERVICE),
        scene("an int-or-string as a number", spec("ports: [Object.spec.ports{port: 443, targetPort: 8443}]"), obj=SERVICE),
        scene("an int-or-string that is neither", spec("ports: [Object.spec.ports{port: 443, targetPort: true}]"), obj=SERVICE),
        scene("a ConfigMap's data", "Object{data: {'b': '2'}}", obj=CONFIG),
        scene("a ConfigMap's data by a patch", "[JSONPatch{op: 'add', path: '/data/b', value: '2'}]", obj=CONFIG),
        scene("a list of a kind without a schema is replaced", gang, obj=GANG),
        scene(
            "a mapping of a kind without a schema is merged",
            spec("options: Object.spec.options{limits: Object.spec.options.limits{memory: 2}}"),
            obj=GANG,
        ),
        scene(
            "a mapping written within a mapping, for a kind without a schema",
            spec("options: {'limits': {'memory': 2}}"),
            obj=GANG,
        ),
        scene("any type for a field of a kind without a schema", spec("size: 'large', options: 1"), obj=GANG),
        scene("a mapping where a scalar was", spec("size: Object.spec.size{cpu: 1}"), obj=GANG),
        scene("something where null was", spec("none: Object.spec.none{cpu: 1}"), obj=GANG),
        scene("a fraction for a kind without a schema", spec("size: 1.5"), obj=GANG),
        scene("a new field of a kind without a schema", "Object{status: Object.status{phase: 'New'}}", obj=GANG),
        scene("an empty list for a kind without a schema", spec("fresh: []"), obj=GANG),
        scene("an empty list where one was", spec("members: []"), obj=GANG),
        scene("null for a kind without a schema", spec("size: null"), obj=GANG),
        scene(
            "a patch of a kind without a schema",
            "[JSONPatch{op: 'replace', path: '/spec/members/0/size', value: 3},"
            " JSONPatch{op: 'add', path: '/spec/any', value: [1.5, 2.0]}]",
            obj=GANG,
        ),
    ]


def scenes() -> list[Object]:
    """Return all requests; Jobs pass through their Go type, as in the API server."""
    return [
        *(scene(f"merge: {case}", text, typed=True) for case, text in MERGED.items()),
        *(scene(f"merge refused: {case}", text, typed=True) for case, text in REFUSED.items()),
        *(scene(f"patch: {case}", text, typed=True) for case, text in PATCHED.items()),
        *(scene(f"patch failed: {case}", text, typed=True) for case, text in FAILED.items()),
        *(scene(f"unreadable: {case}", text, typed=True) for case, text in UNREADABLE.items()),
        scene("unreadable: also where failures are ignored", UNREADABLE["an unknown field"], typed=True, failurePolicy="Ignore"),
        *({**one, "case": f"acting: {one['case']}", "typed": True} for one in matching()),
        *({**one, "case": f"kinds: {one['case']}"} for one in kinds()),
    ]


def main(program: str) -> None:
    """Write every request with its answer, one a line."""
    asked = scenes()
    lines = "".join(json.dumps({key: part for key, part in one.items() if key != "case"}) + "\n" for one in asked)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    with RECORDED.open("w", encoding="utf-8") as out:
        for one, line in zip(asked, done.stdout.splitlines(), strict=True):
            answer = json.loads(line)
            assert answer["ok"], f"{one['case']}: {answer}"
            told = {key: part for key, part in answer["response"].items() if key in ("allowed", "code", "reason", "message")}
            if "patched" in answer:
                told["patched"] = answer["patched"]
            out.write(json.dumps({**one, "expected": told}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
