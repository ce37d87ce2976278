"""Scenes on a real control plane: one of it per session and gate set, a namespace of its own per test."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane import build
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.plan import MANAGED, NATIVE
from tests.e2e.devices import DEVICES

HERE = Path(__file__).resolve().parent
SCENE_SECONDS = 180


def pytest_configure(config: pytest.Config) -> None:
    """Let a polite kill end the session as Ctrl-C does, so that no control plane is left behind."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(SCENE_SECONDS))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the programs before the first test, where no test's time limit runs and the progress is seen."""
    if session.config.option.collectonly or not any(item.get_closest_marker("e2e") for item in session.items):
        return
    terminal = session.config.get_terminal_writer()

    def say(line: str) -> None:
        terminal.line(line)
        terminal.flush()

    try:
        build.ensure(say=say)
    except build.BuildError as error:
        pytest.exit(str(error), returncode=3)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the ends of the logs under a scene that failed."""
    report = yield
    cluster = getattr(item, "funcargs", {}).get("control_plane")
    if report.failed and isinstance(cluster, ControlPlane):
        report.sections.append(("logs of the control plane", cluster.logs()))
    return report


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """A control plane that knows group objects and nothing more: four nodes of 4 CPU in two racks."""
    with ControlPlane(gates=MANAGED) as cluster:
        for document in _param_holders():
            cluster.client.create(document)
        yield cluster


@pytest.fixture(scope="session")
def native() -> Iterator[ControlPlane]:
    """A control plane whose Job controller makes groups, with racks and with two devices that a gang may share."""
    with ControlPlane(gates=NATIVE) as cluster:
        cluster.kubectl("create", "-f", "-", stdin=DEVICES)
        yield cluster


@pytest.fixture
def space(native: ControlPlane) -> Iterator[str]:
    """A namespace of a random name beside a Job controller that makes groups."""
    with native.namespace() as name:
        yield name


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of a random name."""
    with control_plane.namespace() as name:
        yield name


def _param_holders() -> Iterator[dict[str, Any]]:
    """Yield policies that match nothing and keep the API server reading ConfigMaps as params.

    It stops when the last policy of such params is gone, and never starts again: the informer is the shared one, which is
    started once in a process (apiserver pkg/admission/plugin/policy/generic/policy_source.go, ensureParamsForPolicyLocked).
    A later test that selects params by labels would then see those of an earlier one.
    """
    rule = {"apiGroups": ["nowhere.dev"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}
    common = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "matchConstraints": {"resourceRules": [rule]}}
    change = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/data'}]"}}
    parts: dict[str, dict[str, Any]] = {
        "ValidatingAdmissionPolicy": {"validations": [{"expression": "true"}]},
        "MutatingAdmissionPolicy": {"mutations": [change], "reinvocationPolicy": "Never"},
    }
    for kind, spec in parts.items():
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "param-holder.gangwarden.dev"}}
        reference = {"name": "none", "parameterNotFoundAction": "Allow"}
        binding = {"policyName": "param-holder.gangwarden.dev", "paramRef": reference}
        if kind.startswith("Validating"):
            binding["validationActions"] = ["Deny"]
        yield {**head, "kind": kind, "spec": common | spec}
        yield {**head, "kind": f"{kind}Binding", "spec": binding}
