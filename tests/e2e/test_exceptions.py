"""An exception on a real control plane: a refused Job passes, its passing is on record, and the day after it is refused again."""

from __future__ import annotations

import base64
import json
import shutil
import ssl
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.controlplane.client import ApiError, wait_for
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.scenes import job
from tests.e2e.installation import SHIPPED, Installation, running
from tests.e2e.outside import bundles
from tests.policies.writing import RULES, binding, exception, validating, yaml_of

IN_FORCE_SECONDS = 30.0
LASTING_SECONDS = 8.0
"""How long the exception of the last scene lasts: long enough to be seen in force by a process on a busy machine."""
ANNOTATION = "fail.validate.gangwarden.dev/policy-exceptions"


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A webhook with the shipped policies and one of our own about Jobs labelled ``sized``."""
    folder = tmp_path_factory.mktemp("exceptions")
    shutil.copytree(SHIPPED, folder / "policies")
    constraints = {"resourceRules": RULES, "objectSelector": {"matchLabels": {"sized": "yes"}}}
    policy = validating("sizes", "object.spec.parallelism <= 2", matchConstraints=constraints)
    (folder / "policies/sizes.yaml").write_text(yaml_of(policy, binding()))
    with running(control_plane, folder / "policies", folder) as made:
        yield made


def write_exception(installed: Installation, namespace: str, until: datetime) -> None:
    """Put the exception beside the policies, as an editor would: written aside, then renamed."""
    condition = {"name": "team", "expression": f"request.namespace == '{namespace}' && object.metadata.name == 'import'"}
    text = yaml_of(exception(expires=until.strftime("%Y-%m-%dT%H:%M:%SZ"), matchConditions=[condition]))
    aside = installed.directory / "aside"
    aside.write_text(text)
    aside.rename(installed.policies / "exception.yaml")


def refusal(installed: Installation, namespace: str, name: str = "import") -> str:
    """Return why a Job of four pods is refused; empty if it is not. Nothing is stored."""
    try:
        installed.client.create(sized(name, namespace), dry_run=True)
    except ApiError as error:
        return str(error.body["message"])
    return ""


def sized(name: str, namespace: str) -> dict:
    made = job(name, namespace)
    made["metadata"]["labels"] = {"sized": "yes"}
    return made


def test_a_refused_job_passes_by_an_exception_and_is_refused_after_it(installed: Installation, namespace: str) -> None:
    def passes() -> bool:
        return refusal(installed, namespace) == ""

    wait_for(lambda: "denied request" in refusal(installed, namespace), seconds=IN_FORCE_SECONDS, what="the policy is asked")

    write_exception(installed, namespace, datetime.now(UTC) + timedelta(days=30))
    wait_for(passes, seconds=IN_FORCE_SECONDS, what="the Job passes")
    assert "failed expression: object.spec.parallelism <= 2" in refusal(installed, namespace, "another")

    said = installed.cluster.kubectl("create", "-f", "-", stdin=json.dumps(sized("import", namespace)))
    assert "Warning: sizes (validations[0]): excepted by PolicyException 'import' until" in said
    assert "job.batch/import created" in said
    on_record(installed, namespace)

    installed.client.delete("batch/v1/jobs", namespace, "import")
    write_exception(installed, namespace, datetime.now(UTC) + timedelta(seconds=LASTING_SECONDS))
    wait_for(lambda: "expired at" in refusal(installed, namespace), seconds=IN_FORCE_SECONDS, what="the exception ends by itself")
    with pytest.raises(ApiError, match=r"422 .*PolicyException 'import' expired at .*; its owner is batch@example\.com"):
        installed.client.create(sized("import", namespace))


def on_record(installed: Installation, namespace: str) -> None:
    """Look at what auditor and operator have: the annotation, the log line, the counter."""

    def event() -> dict | None:
        found = [one for one in installed.cluster.audited(namespace, "import") if ANNOTATION in one.get("annotations", {})]
        return found[-1] if found else None

    (entry,) = json.loads(wait_for(event, what="the audit event")["annotations"][ANNOTATION])
    assert (entry["exception"], entry["policy"], entry["rule"]) == ("import", "sizes", "validations[0]")
    assert (entry["instead"], entry["owner"], entry["reason"]) == ("deny", "batch@example.com", "being split")
    assert '"exceptions":["import:sizes:validations[0]"]' in installed.webhook.text()
    page = metrics(installed)
    assert 'gangwarden_policy_exceptions_total{exception="import",policy="sizes"}' in page
    assert 'gangwarden_policy_exception_expiry_timestamp_seconds{exception="import",policy="sizes"}' in page


def metrics(installed: Installation) -> str:
    """Return the page that Prometheus reads."""
    (bundle,) = bundles(installed.client)
    context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
    with urllib.request.urlopen(f"{installed.url}/metrics", context=context, timeout=10) as answer:
        return answer.read().decode()


def test_a_broken_exception_changes_nothing(installed: Installation, namespace: str) -> None:
    (installed.policies / "exception.yaml").write_text(yaml_of(exception(rules=[{"rule": "*"}])))

    def said() -> str:
        return installed.webhook.text() if installed.webhook else ""

    wait_for(lambda: "the previous set stays in force" in said(), seconds=IN_FORCE_SECONDS, what="the edit is refused")
    assert '\\"*\\" is not a rule' in said()
    assert "denied request" in refusal(installed, namespace)
    (installed.policies / "exception.yaml").unlink()
