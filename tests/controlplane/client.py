"""A small synchronous client of the API server for tests: JSON in, JSON out, errors with the server's own words."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import requests

Object = dict[str, Any]
Found = TypeVar("Found")

JOBS = "batch/v1/jobs"
CRON_JOBS = "batch/v1/cronjobs"
PODS = "v1/pods"
NODES = "v1/nodes"
DEPLOYMENTS = "apps/v1/deployments"
NAMESPACES = "v1/namespaces"
EVENTS = "v1/events"
WORKLOADS = "scheduling.k8s.io/v1beta1/workloads"
POD_GROUPS = "scheduling.k8s.io/v1beta1/podgroups"

POLL_SECONDS = 0.05
_WARNING = re.compile(r'299 - ("(?:[^"\\]|\\.)*")')
CALL_SECONDS = 40.0
"""Longer than the API server waits for a webhook (30 s at most), so that its answer is what a test sees."""


class ApiError(Exception):
    """The API server refused a call; ``status`` is the HTTP status and ``body`` its Status object."""

    def __init__(self, response: requests.Response) -> None:
        self.status = response.status_code
        try:
            self.body: Object = response.json()
        except ValueError:
            self.body = {"message": response.text}
        super().__init__(f"{response.request.method} {response.request.path_url}: {self.status} {self.body.get('message')}")


class Client:
    """Speaks for the cluster's admin. Resources are written ``group/version/plural``, or ``v1/plural`` for the core group."""

    def __init__(self, server: str, pki: Path) -> None:
        self._server, self._pki = server, pki
        self._threads = threading.local()  # a requests.Session may not be shared between threads
        self._plurals: dict[str, dict[str, str]] = {}

    def request(
        self, method: str, path: str, body: object = None, *, query: Mapping[str, str] | None = None, **headers: str
    ) -> Any:
        """Send one request and return the decoded answer (text where it is not JSON)."""
        response = self._send(method, path, body, query=query, **headers)
        if response.status_code >= 400:
            raise ApiError(response)
        return response.json() if "json" in response.headers.get("Content-Type", "") else response.text

    def create(self, obj: Object, *, namespace: str = "", dry_run: bool = False) -> Object:
        """Create an object; its kind says where."""
        where = namespace or obj.get("metadata", {}).get("namespace", "")
        query = {"dryRun": "All"} if dry_run else None
        return self.request("POST", path_of(self._resource_of(obj), where), obj, query=query)

    def attempt(self, obj: Object) -> tuple[str, list[str]]:
        """Create an object without storing it; returns why it was refused (empty: it was not), and the warnings."""
        path = path_of(self._resource_of(obj), obj.get("metadata", {}).get("namespace", ""))
        response = self._send("POST", path, obj, query={"dryRun": "All"})
        refusal = "" if response.ok else str(ApiError(response).body.get("message"))
        return refusal, [json.loads(text) for text in _WARNING.findall(response.headers.get("Warning", ""))]

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """Read one object; ApiError with status 404 if there is none."""
        return self.request("GET", path_of(resource, namespace, name))

    def find(self, resource: str, namespace: str, name: str) -> Object | None:
        """Read one object, or return None."""
        try:
            return self.get(resource, namespace, name)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, resource: str, namespace: str = "", *, labels: str = "", fields: str = "") -> list[Object]:
        """List objects of a namespace (empty: of all), chosen by selectors."""
        chosen = {"labelSelector": labels, "fieldSelector": fields}
        return self.request("GET", path_of(resource, namespace), query={key: value for key, value in chosen.items() if value})[
            "items"
        ]

    def patch(self, resource: str, namespace: str, name: str, change: object, *, dry_run: bool = False) -> Object:
        """Patch an object: a JSON merge patch if ``change`` is a dict, RFC 6902 if it is a list."""
        return self._patch(path_of(resource, namespace, name), change, dry_run=dry_run)

    def patch_status(self, resource: str, namespace: str, name: str, status: Object) -> Object:
        """Merge ``status`` into the status of an object."""
        return self._patch(path_of(resource, namespace, name, "status"), {"status": status})

    def delete(self, resource: str, namespace: str, name: str, *, propagation: str = "Background", **options: Any) -> None:
        """Ask for deletion; something that is gone already is fine."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation, **options}
        try:
            self.request("DELETE", path_of(resource, namespace, name), body)
        except ApiError as error:
            if error.status != 404:
                raise

    def delete_all(self, resource: str, namespace: str, *, propagation: str = "Background") -> None:
        """Delete every object of this resource in a namespace (one by one: Jobs have no other way that waits for none)."""
        for item in self.list(resource, namespace):
            self.delete(resource, namespace, item["metadata"]["name"], propagation=propagation)

    def evict(self, namespace: str, pod: str, *, dry_run: bool = False, **delete_options: Any) -> Object:
        """Evict a pod as `kubectl drain` does: a dry run is said in the body, not in the URL."""
        options = delete_options | ({"dryRun": ["All"]} if dry_run else {})
        eviction: Object = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
        return self.request("POST", path_of(PODS, namespace, pod, "eviction"), eviction | {"deleteOptions": options})

    def bind(self, namespace: str, pod: str, node: str) -> Object:
        """Give a pod a node past its scheduler."""
        meta, target = {"name": pod, "namespace": namespace}, {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
        return self.request("POST", path_of(PODS, namespace, pod, "binding"), binding)

    def finish_pod(self, namespace: str, name: str, phase: str = "Succeeded", *, exit_code: int | None = None) -> Object:
        """End the containers of a running pod as its kubelet would."""
        code = (0 if phase == "Succeeded" else 1) if exit_code is None else exit_code
        statuses = self.get(PODS, namespace, name)["status"].get("containerStatuses", [])
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for status in statuses:
            started = status["state"].get("running", {}).get("startedAt", now)
            ended = {"exitCode": code, "startedAt": started, "finishedAt": now, "reason": "Error" if code else "Completed"}
            status |= {"ready": False, "started": False, "state": {"terminated": ended}}
        return self.patch_status(PODS, namespace, name, {"phase": phase, "containerStatuses": statuses})

    def _patch(self, path: str, change: object, *, dry_run: bool = False) -> Object:
        kind = "application/json-patch+json" if isinstance(change, list) else "application/merge-patch+json"
        return self.request("PATCH", path, change, query={"dryRun": "All"} if dry_run else None, Content_Type=kind)

    def _resource_of(self, obj: Object) -> str:
        version = obj["apiVersion"]
        if obj["kind"] not in self._plurals.get(version, {}):
            found = self.request("GET", path_of(f"{version}/").rstrip("/"))["resources"]
            self._plurals[version] = {item["kind"]: item["name"] for item in found if "/" not in item["name"]}
        return f"{version}/{self._plurals[version][obj['kind']]}"

    def _send(
        self, method: str, path: str, body: object, *, query: Mapping[str, str] | None, **headers: str
    ) -> requests.Response:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._session().request(method, self._server + path, json=body, params=query, headers=sent, timeout=CALL_SECONDS)

    def _session(self) -> requests.Session:
        if not hasattr(self._threads, "session"):
            session = requests.Session()
            session.trust_env = False  # a proxy or REQUESTS_CA_BUNDLE of the machine must not reach loopback
            session.verify = str(self._pki / "ca.crt")
            session.cert = (str(self._pki / "admin.crt"), str(self._pki / "admin.key"))
            self._threads.session = session
        return self._threads.session


def path_of(resource: str, namespace: str = "", *rest: str) -> str:
    """Return the URL path of a resource, of one object, or of a subresource of it."""
    version, _, plural = resource.rpartition("/")
    prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
    parts = [prefix, *(["namespaces", namespace] if namespace else []), plural, *rest]
    return "/".join(parts)


def wait_for(probe: Callable[[], Found], *, seconds: float = 60.0, what: str = "") -> Found:
    """Return the first true result of ``probe``; AssertionError with its last result when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what or probe}; last seen: {found!r}")
        time.sleep(POLL_SECONDS)
