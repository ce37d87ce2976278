"""The pre-commit hooks and the GitHub Action, run as their runners would: entry, arguments and the files that match."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.builders import job
from tests.docs.pages import blocks_of
from tests.policies.writing import OURS, binding, validating, yaml_of
from webhook.model.objects import Object

ROOT = Path(__file__).resolve().parents[2]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
FOLDER = ROOT / ".github/actions/gangwarden"
ACTION = yaml.safe_load((FOLDER / "action.yml").read_text())
BIN = Path(sys.executable).parent
PATIENCE = 60.0  # seconds until a step gives up


def case(pods: int, verdict: str) -> Object:
    return {"name": f"{pods} pods", "object": job("a").parallelism(pods).build(), "expect": {"verdict": verdict}}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A policy with its cases, and two manifests of which one is refused."""
    test = {"apiVersion": OURS, "kind": "PolicyTest", "metadata": {"name": "sizes"}}
    files = {
        "policies/sizes/policy.yaml": yaml_of(validating("sizes.example"), binding("sizes.example", "sizes.example")),
        "policies/sizes/cases.yaml": yaml_of({**test, "spec": {"cases": [case(2, "allow"), case(20, "deny")]}}),
        "jobs/small.yaml": yaml_of(job("small").parallelism(2).build()),
        "jobs/large.yaml": yaml_of(job("large").parallelism(20).build()),
        "README.md": "# nothing for any hook\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run_hook(
    name: str, repository: Path, *changed: str, args: tuple[str, ...] | None = None
) -> subprocess.CompletedProcess[str] | None:
    """Run a hook as pre-commit does; None where no file that changed is its business."""
    hook = HOOKS[name]
    files = [file for file in changed if re.search(hook["files"], file)]
    if not files:
        return None
    words = [*shlex.split(hook["entry"]), *(hook.get("args", ()) if args is None else args)]
    words += files if hook.get("pass_filenames", True) else []
    path = f"{BIN}:{os.environ['PATH']}"
    return subprocess.run(
        words, cwd=repository, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_hooks_say_all_that_pre_commit_needs() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert set(HOOKS) == {"gangwarden-lint", "gangwarden-test", "gangwarden-check"}
    for hook in HOOKS.values():
        assert hook["language"] == "python"
        assert hook["entry"].split()[0] in scripts
        assert hook["name"]
        assert hook["description"]


@pytest.mark.parametrize("changed", ["policies/sizes/policy.yaml", "policies/sizes/cases.yaml"])
def test_the_test_hook_runs_the_cases_of_what_changed(changed: str, repository: Path) -> None:
    done = run_hook("gangwarden-test", repository, changed, "README.md")
    assert done is not None
    assert (done.returncode, "2 passed, 0 failed" in done.stdout) == (0, True), done.stdout + done.stderr
    (repository / "policies/sizes/policy.yaml").write_text(
        yaml_of(validating("sizes.example", "true"), binding("a", "sizes.example"))
    )
    done = run_hook("gangwarden-test", repository, changed)
    assert done is not None
    assert (done.returncode, "1 passed, 1 failed" in done.stdout) == (1, True)


def test_the_lint_hook_looks_at_all_policies_whichever_changed(repository: Path) -> None:
    done = run_hook("gangwarden-lint", repository, "policies/sizes/cases.yaml")
    assert done is not None
    assert done.returncode == 0, done.stdout + done.stderr
    (repository / "policies/sizes/policy.yaml").write_text(yaml_of(validating("sizes.example", "object.spec.("), binding()))
    done = run_hook("gangwarden-lint", repository, "policies/sizes/cases.yaml")
    assert done is not None
    assert done.returncode == 3


def test_the_check_hook_judges_the_manifests_that_changed(repository: Path) -> None:
    own = ("-p", "policies")
    small = run_hook("gangwarden-check", repository, "jobs/small.yaml", args=own)
    both = run_hook("gangwarden-check", repository, "jobs/small.yaml", "jobs/large.yaml", args=own)
    assert small is not None
    assert both is not None
    assert (small.returncode, both.returncode) == (0, 1)


@pytest.mark.parametrize("name", list(HOOKS))
def test_a_hook_leaves_other_files_alone(name: str, repository: Path) -> None:
    assert run_hook(name, repository, "README.md", ".github/workflows/ci.yaml") is None


PAGE = {block.claim: yaml.safe_load(block.text) for block in blocks_of(ROOT / "docs/testing.md") if block.language == "yaml"}


def test_the_page_about_testing_names_hooks_and_inputs_that_there_are() -> None:
    (repo,) = PAGE["pre-commit"]["repos"]
    assert {hook["id"] for hook in repo["hooks"]} == set(HOOKS)
    steps = [step for step in PAGE["workflow"]["jobs"]["policies"]["steps"] if "gangwarden" in step["uses"]]
    assert {step["uses"].partition("@")[0].partition("/gangwarden/")[2] for step in steps} == {str(FOLDER.relative_to(ROOT))}
    assert set().union(*(step["with"] for step in steps)) <= set(ACTION["inputs"])
    given = [step["with"].get("command", ACTION["inputs"]["command"]["default"]) for step in steps]
    assert given == ["lint", "test", "check"]


class Runner:
    """Runs the steps of the composite action; only ``python -m venv`` and pip are not real."""

    def __init__(self, repository: Path, folder: Path) -> None:
        self.repository, self.temp, self.asked = repository, folder / "runner temp", folder / "asked"
        self.temp.mkdir()
        self.python = folder / "python3"
        self.python.write_text(
            "#!/bin/bash\n"
            'if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; exit; fi\n'
            f'echo "${{@: -1}}" > "{self.asked}"; ln -s "{BIN}/gangwarden" "$(dirname "$0")/gangwarden"\n'
        )
        self.python.chmod(0o755)

    def run(self, **given: str) -> subprocess.CompletedProcess[str]:
        inputs = {name: spec["default"] for name, spec in ACTION["inputs"].items()} | {"python": str(self.python)} | given
        for step in ACTION["runs"]["steps"]:
            done = self._step(step, inputs)
            if done.returncode:
                break
        return done

    def _step(self, step: Object, inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
        known = {f"inputs.{name}": value for name, value in inputs.items()} | {"github.action_path": str(FOLDER)}
        env = {name: re.sub(r"\$\{\{ (\S+) \}\}", lambda found: known[found[1]], text) for name, text in step["env"].items()}
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.repository, env={"PATH": os.environ["PATH"], "RUNNER_TEMP": str(self.temp), **env},
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip


@pytest.fixture
def runner(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(repository, tmp_path_factory.mktemp("runner"))


def test_the_action_is_described_and_takes_nothing_into_a_script() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert [name for name, spec in ACTION["inputs"].items() if not spec["description"].endswith(".")] == []
    for step in ACTION["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]


def test_the_action_tests_policies_by_default(runner: Runner) -> None:
    done = runner.run()
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    asked = Path(runner.asked.read_text().strip()).resolve()
    assert asked == ROOT
    (runner.repository / "policies/sizes/policy.yaml").write_text(
        yaml_of(validating("a.example", "true"), binding("a", "a.example"))
    )
    done = runner.run()
    assert (done.returncode, done.stdout.count("::error file=policies/sizes/cases.yaml,line=2,")) == (1, 1)


def test_the_action_checks_manifests_and_writes_a_report(runner: Runner) -> None:
    done = runner.run(
        command="check", paths="jobs/small.yaml\njobs/large.yaml", policies="policies", output="sarif", report="a.sarif"
    )
    assert done.returncode == 1
    assert '"ruleId": "sizes.example/validations[0]"' in (runner.repository / "a.sarif").read_text()


def test_the_action_lints_with_further_arguments(runner: Runner) -> None:
    assert runner.run(command="lint", args="--fail-on\nerror", output="text").returncode == 0


def test_the_action_installs_a_version_from_the_index_if_one_is_named(runner: Runner) -> None:
    runner.run(version="1.2.3")
    assert runner.asked.read_text().strip() == "gangwarden==1.2.3"


@pytest.mark.parametrize("hostile", ["serve", "test; touch owned", "$(touch owned)", "-h"])
def test_the_action_runs_nothing_else(hostile: str, runner: Runner) -> None:
    done = runner.run(command=hostile)
    assert (done.returncode, "must be check, lint or test" in done.stdout) == (2, True)
    runner.run(paths=hostile, args=hostile)
    assert not (runner.repository / "owned").exists()
