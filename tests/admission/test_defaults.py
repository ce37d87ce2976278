"""Offline commands judge what the API server would judge: defaults are compared with its own code, and told in examples."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane import build
from webhook.admission.defaults import apply_defaults

Object = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
CONTAINER: Object = {"name": "c", "image": "busybox"}
HTTP: Object = {"httpGet": {"port": 80}}

CONTAINERS: dict[str, Object] = {
    "nothing but a name": {"name": "c"},
    "an image without a tag": {"image": "busybox"},
    "the tag latest": {"image": "registry.test:5000/a/b:latest"},
    "another tag": {"image": "registry.test:5000/a/b:1.2"},
    "a digest": {"image": "busybox@sha256:" + "a" * 64},
    "the tag latest and a digest": {"image": "busybox:latest@sha256:" + "a" * 64},
    "a name in capitals": {"image": "BusyBox"},
    "a host in capitals": {"image": "Registry/busybox"},
    "a bare identifier": {"image": "a" * 64},
    "an empty tag": {"image": "busybox:"},
    "underscores in the name": {"image": "a__b/c_d"},
    "a pull policy of its own": {"image": "busybox", "imagePullPolicy": "Never"},
    "empty strings and lists": {"command": [], "args": [], "workingDir": "", "ports": [], "terminationMessagePath": ""},
    "false and null": {"stdin": False, "tty": True, "livenessProbe": None, "securityContext": {"privileged": False}},
    "ports": {"ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "hostPort": 0}]},
    "an HTTP probe": {"livenessProbe": HTTP, "readinessProbe": {"httpGet": {"port": "web", "path": "/x", "scheme": "HTTPS"}}},
    "other probes": {"startupProbe": {"grpc": {"port": 1}, "timeoutSeconds": 0}, "livenessProbe": {"exec": {"command": ["x"]}}},
    "a TCP probe": {"readinessProbe": {"tcpSocket": {"port": 1}, "initialDelaySeconds": 0, "failureThreshold": 1}},
    "hooks": {"lifecycle": {"preStop": HTTP, "postStart": {"sleep": {"seconds": 1}}}},
    "environment": {
        "env": [
            {"name": "a", "value": ""},
            {"name": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "c", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"name": "d", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}},
            {"name": "e", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        "envFrom": [{"configMapRef": {"name": "m"}}, {"prefix": "", "secretRef": {}}],
    },
    "limits only": {"resources": {"limits": {"cpu": "1000m", "memory": "1024Mi", "example.com/gpu": 2}}},
    "limits and some requests": {"resources": {"limits": {"cpu": 1, "memory": "1.5Gi"}, "requests": {"cpu": "0.5"}}},
    "odd quantities": {"resources": {"requests": {"cpu": "0.0001", "memory": "1e3", "a/b": "1500", "a/c": "0.5Gi", "a/d": "+1"}}},
    "numbers as quantities": {"resources": {"requests": {"cpu": 0.25, "memory": 1000000, "a/b": 0}}},
    "empty resources": {"resources": {"limits": {}, "requests": None, "claims": []}},
    "resource claims": {"resources": {"claims": [{"name": "dev"}, {"name": "dev", "request": ""}]}},
    "security": {"securityContext": {"capabilities": {"drop": ["ALL"], "add": []}, "runAsUser": 0, "seccompProfile": {}}},
    "mounts": {"volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": False, "subPath": ""}], "volumeDevices": []},
    "restart rules": {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]},
    "a field nobody knows": {"imagePolicy": "Always", "resources": {"limit": {"cpu": 1}}},
}
VOLUMES: dict[str, Object] = {
    "no source": {},
    "null sources": {"emptyDir": None, "secret": None},
    "an empty directory": {"emptyDir": {"sizeLimit": "1024Mi", "medium": ""}},
    "a secret": {"secret": {"secretName": "s", "items": [{"key": "k", "path": "p"}]}},
    "a config map": {"configMap": {"name": "m", "defaultMode": 0}},
    "a host path": {"hostPath": {"path": "/x"}},
    "the downward API": {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    "projections": {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"downwardAPI": {"items": []}}]}},
    "projections of nothing": {"projected": {}},
    "a claim of its own": {"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1024Gi"}}}}}},
    "an image": {"image": {"reference": "data:latest"}},
    "an image with a tag": {"image": {"reference": "data:1"}},
    "iscsi": {"iscsi": {"targetPortal": "p", "iqn": "q"}},
    "rbd": {"rbd": {"monitors": ["m"], "image": "i"}},
    "an azure disk": {"azureDisk": {"diskName": "d", "diskURI": "u"}},
    "scale io": {"scaleIO": {"gateway": "g", "system": "s", "secretRef": {"name": "n"}}},
    "a claim": {"persistentVolumeClaim": {"claimName": "c", "readOnly": False}},
    "csi": {"csi": {"driver": "d", "volumeAttributes": {"a": "b"}}},
}
POD_SPECS: dict[str, Object] = {
    "empty strings": {"dnsPolicy": "", "schedulerName": "", "restartPolicy": "", "nodeSelector": {}, "tolerations": []},
    "values of its own": {"dnsPolicy": "Default", "schedulerName": "other", "restartPolicy": "OnFailure", "priority": 0},
    "the old service account": {"serviceAccount": "old"},
    "both service accounts": {"serviceAccount": "old", "serviceAccountName": "new"},
    "host network": {"hostNetwork": True, "containers": [CONTAINER | {"ports": [{"containerPort": 80}]}]},
    "no host network": {"hostNetwork": False, "hostPID": False, "shareProcessNamespace": False},
    "negative grace": {"terminationGracePeriodSeconds": -1},
    "no grace": {"terminationGracePeriodSeconds": 0, "enableServiceLinks": False, "automountServiceAccountToken": False},
    "a security context": {"securityContext": {"runAsNonRoot": True, "sysctls": [{"name": "a", "value": "b"}], "fsGroup": 0}},
    "init containers": {"initContainers": [{"name": "i", "image": "x:1", "resources": {"limits": {"cpu": 1}}}]},
    "an ephemeral container": {"ephemeralContainers": [{"name": "e", "image": "x", "livenessProbe": HTTP}]},
    "pod resources": {"resources": {"limits": {"cpu": "2000m"}}},
    "affinity": {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}},
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {}}]},
        }
    },
    "spread": {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "k", "labelSelector": {"matchLabels": {}}}]},
    "a scheduling group": {"schedulingGroup": {"podGroupName": "g"}, "schedulingGates": [{"name": "w"}]},
    "an empty group": {"schedulingGroup": {}, "resourceClaims": [{"name": "d", "resourceClaimName": "r"}]},
    "names and hosts": {"hostname": "", "hostAliases": [{"ip": "1.1.1.1"}], "dnsConfig": {"options": [{"name": "o"}]}},
    "overhead": {"overhead": {"cpu": "0.1"}, "os": {"name": "linux"}, "readinessGates": [{"conditionType": "t"}]},
    "no containers": {"containers": None},
}
JOB_SPECS: dict[str, Object] = {
    "nothing": {},
    "parallelism only": {"parallelism": 4},
    "completions only": {"completions": 4},
    "nulls": {"parallelism": None, "completions": None, "suspend": None},
    "an index budget": {"backoffLimitPerIndex": 1, "maxFailedIndexes": 0, "completionMode": "Indexed"},
    "both budgets": {"backoffLimitPerIndex": 1, "backoffLimit": 3},
    "a failure policy": {
        "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    },
    "an empty failure policy": {"podFailurePolicy": {}},
    "a replacement policy": {"podFailurePolicy": {"rules": []}, "podReplacementPolicy": "TerminatingOrFailed"},
    "suspended": {"suspend": True, "manualSelector": False, "activeDeadlineSeconds": 0, "ttlSecondsAfterFinished": 0},
    "a selector": {"selector": {"matchLabels": {"a": "b"}, "matchExpressions": []}, "manualSelector": True},
    "a success policy": {"successPolicy": {"rules": [{"succeededIndexes": "0"}]}, "managedBy": "kueue.x-k8s.io/multikueue"},
    "native scheduling": {
        "scheduling": {"schedulingPolicy": {"gang": {}}, "schedulingConstraints": {"topology": [{"key": "k"}]}}
    },
    "native scheduling in full": {"scheduling": {"disruptionMode": {"all": {}}, "resourceClaims": [{"name": "d"}]}},
}
METADATA: dict[str, Object] = {
    "no labels": {},
    "labels": {"labels": {"own": "1"}},
    "empty labels": {"labels": {}, "annotations": {}, "finalizers": []},
    "a null label": {"labels": {"a": None}, "generateName": "g-", "namespace": ""},
    "an owner": {"ownerReferences": [{"name": "o", "kind": "K", "uid": "u"}], "creationTimestamp": None, "generation": 0},
    "a time": {"creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{"manager": "m", "operation": "Apply"}]},
}
GROUPS: dict[str, Object] = {
    "nothing": {},
    "a gang": {"schedulingPolicy": {"gang": {"minCount": 4}}},
    "a gang without a count": {"schedulingPolicy": {"gang": {}}, "disruptionMode": {}},
    "all or none": {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}, "priority": 0},
    "topology": {"schedulingConstraints": {"topology": [{"key": "k"}]}, "preemptionPolicy": "Never"},
    "empty topology": {"schedulingConstraints": {"topology": []}, "priorityClassName": ""},
    "a workload": {"workloadRef": {"workloadName": "w", "templateName": "t"}, "resourceClaims": [{"name": "d"}]},
}


def pod_specs() -> Iterator[tuple[str, Object]]:
    for what, part in CONTAINERS.items():
        yield f"a container with {what}", {"containers": [{"name": "c"} | part]}
    for what, part in VOLUMES.items():
        yield f"a volume with {what}", {"containers": [CONTAINER], "volumes": [{"name": "v"} | part]}
    for what, part in POD_SPECS.items():
        yield what, {"containers": [CONTAINER]} | part


def job_like(spec: Object, metadata: Object | None = None, labels: Object | None = None) -> Object:
    template = {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
    return made("batch/v1", "Job", metadata or {}, spec={"template": template} | spec)


def made(version: str, kind: str, metadata: Object | None = None, **parts: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"} | (metadata or {})} | parts


def cron_job(job_spec: Object, **spec: Any) -> Object:
    return made("batch/v1", "CronJob", spec={"schedule": "@daily", "jobTemplate": {"spec": job_spec}} | spec)


def varied_objects() -> Iterator[tuple[str, Object]]:
    """Build every part in every kind that can hold it: some 300 objects."""
    for what, spec in pod_specs():
        yield f"Pod: {what}", made("v1", "Pod", spec=spec)
        yield f"PodTemplate: {what}", made("v1", "PodTemplate", template={"spec": spec})
        yield f"Job: {what}", job_like({"template": {"spec": spec}})
        yield f"CronJob: {what}", cron_job({"template": {"spec": spec}})
    for what, spec in JOB_SPECS.items():
        yield f"Job with {what}", job_like(spec)
        yield f"CronJob with {what}", cron_job(job_like(spec)["spec"], suspend=None)
    for what, metadata in METADATA.items():
        yield f"Job named with {what}", job_like({}, metadata, {"of": "template"})
        yield f"Pod named with {what}", made("v1", "Pod", metadata, spec={"containers": [CONTAINER]})
    for what, spec in GROUPS.items():
        yield f"PodGroup with {what}", made("scheduling.k8s.io/v1beta1", "PodGroup", spec=spec)
        templates = [{"name": "t"} | {key: value for key, value in spec.items() if key != "workloadRef"}]
        yield f"Workload with {what}", made("scheduling.k8s.io/v1beta1", "Workload", spec={"podGroupTemplates": templates})
    yield "a CronJob of its own mind", cron_job({}, concurrencyPolicy="Forbid", successfulJobsHistoryLimit=0, suspend=True)
    yield "a Job with a null spec", made("batch/v1", "Job", spec=None)
    yield "a Pod without a spec", made("v1", "Pod")


@pytest.fixture(scope="module")
def apidefaults() -> Path:
    return build.ensure(["apidefaults"]) / "apidefaults"


@pytest.mark.e2e
@pytest.mark.timeout(1800)
def test_defaults_are_those_of_the_api_server(apidefaults: Path) -> None:
    names, objects = zip(*varied_objects(), strict=True)
    lines = "".join(json.dumps(obj) + "\n" for obj in objects)
    done = subprocess.run([apidefaults, "apply"], input=lines, capture_output=True, text=True, timeout=60, check=True)
    wanted = dict(zip(names, map(json.loads, done.stdout.splitlines()), strict=True))
    assert [name for name, seen in wanted.items() if "error" in seen] == []
    assert len(wanted) >= 200
    found = {name: apply_defaults(obj) for name, obj in zip(names, objects, strict=True)}
    assert {name: seen for name, seen in found.items() if seen != wanted[name]} == {}


@pytest.mark.e2e
@pytest.mark.timeout(1800)
def test_the_table_of_fields_is_the_one_that_the_api_server_s_types_give(apidefaults: Path) -> None:
    done = subprocess.run([apidefaults, "table"], capture_output=True, text=True, timeout=60, check=True)
    assert (ROOT / "webhook/admission/_defaults_table.py").read_text() == done.stdout


def test_a_bare_job_has_one_pod_that_must_complete() -> None:
    spec = apply_defaults(made("batch/v1", "Job", spec={}))["spec"]
    assert (spec["parallelism"], spec["completions"], spec["completionMode"], spec["suspend"]) == (1, 1, "NonIndexed", False)


def test_a_job_with_parallelism_only_is_a_work_queue_without_completions() -> None:
    assert "completions" not in apply_defaults(job_like({"parallelism": 4}))["spec"]


def test_the_template_of_a_cron_job_is_not_completed_as_a_job() -> None:
    inner = apply_defaults(cron_job({}))["spec"]["jobTemplate"]["spec"]
    assert "parallelism" not in inner
    assert inner["template"]["spec"]["schedulerName"] == "default-scheduler"


def test_an_explicit_false_is_absent_where_the_api_cannot_tell_it_from_nothing() -> None:
    spec = apply_defaults(made("v1", "Pod", spec={"hostNetwork": False, "shareProcessNamespace": False}))["spec"]
    assert ("hostNetwork" in spec, spec["shareProcessNamespace"]) == (False, False)


def test_a_quantity_given_as_a_number_is_text_in_its_canonical_form() -> None:
    given = {"limits": {"cpu": 2, "memory": "2048Mi"}, "requests": {"cpu": 0.5}}
    pod = apply_defaults(made("v1", "Pod", spec={"containers": [CONTAINER | {"resources": given}]}))
    wanted = {"limits": {"cpu": "2", "memory": "2Gi"}, "requests": {"cpu": "500m", "memory": "2Gi"}}
    assert pod["spec"]["containers"][0]["resources"] == wanted


def test_a_pod_group_without_a_mode_is_disrupted_pod_by_pod() -> None:
    group = apply_defaults(made("scheduling.k8s.io/v1beta1", "PodGroup", spec={}))
    assert group["spec"] == {"schedulingPolicy": {}, "disruptionMode": {"single": {}}}


def test_other_kinds_and_the_given_object_stay_as_they_are() -> None:
    other, job = made("example.test/v1", "Thing", spec={"a": None}), job_like({})
    before = json.dumps(job)
    assert apply_defaults(other) is other
    assert apply_defaults(job) is not job
    assert json.dumps(job) == before


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param("x", id="a spec that is text"),
        pytest.param([], id="a spec that is a list"),
        pytest.param({"containers": "x"}, id="containers that are text"),
        pytest.param({"volumes": {}}, id="volumes that are a mapping"),
        pytest.param({"containers": ["x", 1]}, id="containers that are none"),
        pytest.param({"overhead": {"cpu": "much", "memory": True}}, id="quantities that are none"),
        pytest.param({"hostNetwork": "yes", "priority": "x"}, id="values of another type"),
    ],
)
@pytest.mark.parametrize("kind", ["Pod", "PodTemplate", "Job"])
def test_what_is_wrong_stays_wrong_and_visible(kind: str, spec: Any) -> None:
    if kind == "Pod":
        found = apply_defaults(made("v1", "Pod", spec=spec))["spec"]
    elif kind == "PodTemplate":
        found = apply_defaults(made("v1", "PodTemplate", template={"spec": spec}))["template"]["spec"]
    else:
        found = apply_defaults(job_like({"template": {"spec": spec, "metadata": spec}}))["spec"]["template"]["spec"]
    assert (found | spec if isinstance(spec, dict) else spec) == found


def test_a_job_whose_spec_is_no_mapping_stays_as_it_is() -> None:
    assert apply_defaults(made("batch/v1", "Job", spec=[1]))["spec"] == [1]
