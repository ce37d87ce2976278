"""``dev``: every manifest through the real endpoints, and again whenever somebody saves a file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import job
from tests.cli.conftest import Gangwarden, Write
from tests.cli.following import PATIENCE, Following, following
from tests.policies.writing import binding, validating

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def first_pass() -> str:
    done = subprocess.run(
        [Path(sys.executable).parent / "gangwarden", "dev", "--once", "examples"],
        capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("CronJob training/nightly-evaluation", ["  allow"]),
        ("Job analytics/too-large", ["  deny   size-limits.gangwarden.dev", "128"]),
        ("Job training/unknown-topology", ["  deny   allowed-keys.gangwarden.dev", "topology.kubernetes.io/rak"]),
        ("Job training/unreachable-quorum", ["  deny   reachable-quorum.gangwarden.dev", "spec.completions is 3"]),
        ("Job ci/integration-tests", ["  allow"]),
        ("Job analytics/revenue-report-driver", ["  allow"]),
        ("Job analytics/revenue-report-executors", ["  allow", "creates Workload", "creates PodGroup", "minCount: 4"]),
        (
            "Job training/llm-finetune",
            ["  allow", "patch  add /spec/template/spec/schedulingGroup", "creates PodGroup", "topology.kubernetes.io/rack"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_example_gets_a_block_with_verdict_patch_and_objects(manifest: str, said: list[str], first_pass: str) -> None:
    block = first_pass.partition(f"{manifest}  examples/jobs/")[2].partition("\n")[2]
    block = block[
        : next((place for place in range(len(block)) if block.startswith(("\nJob ", "\nCronJob ", "\n\n"), place)), None)
    ]
    assert [part for part in said if part not in block] == []


def test_the_closing_table_holds_every_manifest(first_pass: str) -> None:
    table = [line.split() for line in first_pass.partition("\nManifest ")[2].splitlines()[1:]]
    assert table == [
        ["CronJob", "training/nightly-evaluation", "allow"],
        ["Job", "analytics/too-large", "deny", "size-limits.gangwarden.dev"],
        ["Job", "training/unknown-topology", "deny", "allowed-keys.gangwarden.dev"],
        ["Job", "training/unreachable-quorum", "deny", "reachable-quorum.gangwarden.dev"],
        ["Job", "analytics/revenue-report-driver", "allow"],
        ["Job", "analytics/revenue-report-executors", "allow", "4", "at", "once"],
        ["Job", "ci/integration-tests", "allow"],
        ["Job", "training/llm-finetune", "allow", "4", "at", "once"],
    ]


def test_one_pass_tells_of_a_broken_manifest_judges_the_others_and_exits_with_4(gangwarden: Gangwarden, write: Write) -> None:
    write("jobs/a.yaml", "a: [")
    write("jobs/b.yaml", job("b").at("spec.paralelism", 3).build())
    policies = write("p.yaml", validating("sizes", "false"), binding())
    result = gangwarden("dev", "--once", "-p", policies, "jobs")
    assert result.exit_code == 4
    assert "error: jobs/a.yaml#0:2: not YAML" in result.stdout
    assert "warning: unknown field spec.paralelism is dropped" in result.stdout
    assert result.stdout.endswith("Job team-a/b  deny            sizes\n")


@pytest.mark.parametrize(
    ("files", "code", "told"),
    [
        pytest.param({"p.yaml": "a: [", "jobs/a.yaml": "a: 1"}, 3, "error: p.yaml:", id="a broken policy"),
        pytest.param(
            {"p.yaml": "", "jobs/cluster/a.yaml": "kind: [", "jobs/a.yaml": "a: 1"},
            4,
            "jobs/cluster/a.yaml",
            id="a broken snapshot",
        ),
        pytest.param({"p.yaml": "", "jobs/notes.txt": "words"}, 4, "no file (.yaml, .yml, .json) is there", id="no manifests"),
    ],
)
def test_what_cannot_start_is_told(files: dict[str, str], code: int, told: str, gangwarden: Gangwarden, write: Write) -> None:
    for name, text in files.items():
        write(name, *([text] if text else [validating(), binding()]))
    result = gangwarden("dev", "--once", "-p", "p.yaml", "jobs")
    assert (result.exit_code, told in result.output) == (code, True)


def test_a_policy_that_nothing_binds_is_told_for_it_denies_nothing(gangwarden: Gangwarden, write: Write) -> None:
    write("jobs/policies/p.yaml", validating("sizes", "false"))
    write("jobs/a.yaml", job("a").build())
    result = gangwarden("dev", "--once", "jobs")
    assert result.exit_code == 0
    assert "'sizes' has no binding: in a cluster it does nothing" in result.stdout.replace("\n", " ")


def test_a_folder_without_anything_is_named(gangwarden: Gangwarden, write: Write) -> None:
    write("jobs/policies/p.yaml", validating("sizes", "false"), binding())
    result = gangwarden("dev", "--once", "jobs")
    assert (result.exit_code, "error: jobs: no file (.yaml, .yml, .json) is there" in result.stdout) == (4, True)


@pytest.fixture
def development(tmp_path: Path) -> Iterator[Following]:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    with following(tmp_path, "dev", "-p", "policies", "examples") as running:
        yield running


def test_saving_a_job_or_a_policy_prints_the_new_verdict_and_a_broken_one_an_error(development: Following) -> None:
    limits = "policies/gang/size-limits/policy.yaml"
    development.hear("Watching examples and the policies")

    development.save("examples/jobs/refused-too-large.yaml", "parallelism: 200", "parallelism: 100")
    development.hear("Job analytics/too-large")
    development.hear("minCount: 100")

    development.save(limits, '"128"', '"64"')
    development.hear("policies reloaded")
    development.hear("  deny   size-limits.gangwarden.dev")
    development.hear("at most 64 are allowed")

    development.save(limits, "kind: ValidatingAdmissionPolicy\n", "kind: ValidatingAdmissionPolicy\nkind: again\n")
    development.hear("error: policies not reloaded; the previous set stays in force:")
    development.hear(f"{limits}:")
    development.hear("duplicate key")

    development.save("examples/jobs/refused-too-large.yaml", "parallelism: 100", "parallelism: 65")
    development.hear("only when 65 pods")

    development.save("examples/jobs/training.yaml", "kind: Job", "kind: [")
    development.hear("error: examples/jobs/training.yaml#")
    development.save("examples/jobs/training.yaml", "kind: [", "kind: Job")
    development.hear("Job training/llm-finetune")

    development.save(limits, "kind: ValidatingAdmissionPolicy\nkind: again\n", "kind: ValidatingAdmissionPolicy\n")
    assert development.end() == 0
    assert "Traceback" not in development.text


def test_a_termination_ends_it_well_too(development: Following) -> None:
    development.hear("Watching examples")
    os.kill(development.process.pid, signal.SIGTERM)
    assert development.process.wait(PATIENCE) == 0
