"""What ``gangwarden check`` costs on the Jobs of a large repository: whole processes, from the start of Python to the exit code.

The anchor reads the same file with libyaml and does nothing with it. A process that measures starts each of them, so that the
memory of the bench itself is not taken for theirs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.bench.figures import Comparison, Fact, Section

ROOT = Path(__file__).resolve().parents[2]
JOBS, ROUNDS = 1_000, 7
POLICIES = (
    "gang/labelled-jobs", "gang/reachable-quorum", "gang/size-limits", "gang/uniform-members", "topology/allowed-keys",
    "disruption/make-restart-safe", "hygiene/backoff-fits-group", "hygiene/native-job-names",
)  # fmt: skip
"""Eight of the shipped ones that speak about Jobs, among them the one that groups and the one that changes."""
READERS = {
    "values": "import sys, yaml; all(True for _ in yaml.load_all(open(sys.argv[1], 'rb'), yaml.CSafeLoader))",
    "events": "import sys, yaml; all(True for _ in yaml.parse(open(sys.argv[1], 'rb'), yaml.CSafeLoader))",
}
METHOD = f"""\
{JOBS:,} Jobs, every second one a gang, through `gangwarden check` with {len(POLICIES)} shipped policies, its text going to a
pipe; CPU time of the whole process with the start of Python, in turns. The bar of the project is a ratio of at most 2.5 in the
first row, and 300 MiB. **Its anchor is a Python process in which libyaml alone parses the file into values** (`yaml.load_all`
with `CSafeLoader`), and drops each. The second row sets the same process of ours beside one that asks libyaml for its bare events
(`yaml.parse`), which are no values yet. Both sides have their modules compiled, as an installed package has."""


def measure() -> Section:
    """Measure on a file made for it."""
    with tempfile.TemporaryDirectory(prefix="gangwarden-bench-") as directory:
        path = Path(directory) / "jobs.yaml"
        path.write_text("---\n".join(map(job_text, range(JOBS))), encoding="utf-8")
        size = path.stat().st_size
        commands = {"check": _check(path)} | {name: [sys.executable, "-c", code, str(path)] for name, code in READERS.items()}
        environment = _compiled_environment(Path(directory))
        for command in commands.values():  # writes the compiled modules, and warms the disk's cache
            _in_process(command, environment)
        found: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
        for number in range(ROUNDS):
            for name in commands if number % 2 else reversed(commands):
                found[name].append(_in_process(commands[name], environment))
    seconds = {name: tuple(each["seconds"] for each in runs) for name, runs in found.items()}
    what = f"{JOBS:,} Jobs, {size / 1e6:.1f} MB of YAML"
    return Section(
        title="Checking a repository of Jobs",
        method=METHOD,
        ours="gangwarden check",
        anchor="libyaml",
        comparisons=(
            Comparison(what=f"{what}, over values", unit="s", ours=seconds["check"], anchor=seconds["values"]),
            Comparison(what=f"{what}, over bare events", unit="s", ours=seconds["check"], anchor=seconds["events"]),
        ),
        facts=tuple(
            Fact(what=f"most memory of {who}", unit="MiB", values=tuple(each["mib"] for each in found[name]))
            for who, name in (("`gangwarden check`", "check"), ("the reader of values", "values"))
        ),
    )


def _check(path: Path) -> list[str]:
    command = [sys.executable, "-c", "from webhook.cli import main; main()", "check"]
    for policy in POLICIES:
        command += ["-p", str(ROOT / "policies" / policy / "policy.yaml")]
    return [*command, str(path)]


def _compiled_environment(directory: Path) -> Mapping[str, str]:
    """Return an environment in which modules are compiled once, as in an installed package: make writes no such files here."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(directory / "compiled")}


def _in_process(command: list[str], environment: Mapping[str, str]) -> dict[str, float]:
    measuring = [sys.executable, "-m", "tests.bench.check", *command]
    done = subprocess.run(measuring, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def spend(command: list[str]) -> dict[str, float]:
    """Run a command; returns its CPU seconds and the most memory that it held."""
    done = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert done.stdout is not None
    said = len(done.stdout.read())
    _, status, used = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    assert done.returncode == 0, f"{command} ended with {done.returncode} after {said} bytes"
    return {"seconds": used.ru_utime + used.ru_stime, "mib": used.ru_maxrss / 1024}


def job_text(index: int) -> str:
    """Return a Job as its owner writes it: 2.2 KB, no two alike."""
    members = 2 + index % 15
    return f"""\
apiVersion: batch/v1
kind: Job
metadata:
  name: train-{index:04d}
  namespace: team-{index % 20}
  labels:
    app.kubernetes.io/name: trainer
    app.kubernetes.io/instance: train-{index:04d}
    app.kubernetes.io/part-of: research
    gangwarden.dev/gang: "{"true" if index % 2 else "false"}"
  annotations:
    example.com/owner: team-{index % 20}@example.com
    example.com/description: "Fine-tuning run {index} of the language model, with an evaluation"
spec:
  parallelism: {members}
  completions: {members}
  completionMode: Indexed
  backoffLimit: {members + 4}
  ttlSecondsAfterFinished: 3600
  template:
    metadata:
      labels:
        app.kubernetes.io/name: trainer
        app.kubernetes.io/instance: train-{index:04d}
    spec:
      restartPolicy: Never
      priorityClassName: training
      serviceAccountName: trainer
      terminationGracePeriodSeconds: 120
      subdomain: train-{index:04d}
      tolerations:
      - key: example.com/gpu
        operator: Exists
        effect: NoSchedule
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        fsGroup: 1000
      containers:
      - name: worker
        image: registry.example.com/research/trainer:1.{index}.0
        command:
        - torchrun
        - --nnodes={members}
        - --rdzv-backend=c10d
        - --rdzv-endpoint=train-{index:04d}-0.train-{index:04d}:29400
        - train.py
        env:
        - name: EPOCHS
          value: "{3 + index % 5}"
        - name: LEARNING_RATE
          value: "0.0003"
        - name: CHECKPOINTS
          value: /checkpoints/train-{index:04d}
        - name: TOKEN
          valueFrom:
            secretKeyRef:
              name: tracking
              key: token
        ports:
        - name: rendezvous
          containerPort: 29400
        resources:
          requests:
            cpu: "12"
            memory: 96Gi
          limits:
            memory: 96Gi
            example.com/gpu: "{1 << index % 4}"
        volumeMounts:
        - name: checkpoints
          mountPath: /checkpoints
        - name: shared-memory
          mountPath: /dev/shm
      volumes:
      - name: checkpoints
        persistentVolumeClaim:
          claimName: checkpoints-{index % 20}
      - name: shared-memory
        emptyDir:
          medium: Memory
          sizeLimit: 16Gi
"""


if __name__ == "__main__":
    print(json.dumps(spend(sys.argv[1:])))
