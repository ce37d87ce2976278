"""What a review costs: from the bytes of the body to the bytes of the answer, with the shipped policies.

The anchor is the least that any Python webhook must do with the same body: ``json.loads`` and ``json.dumps`` of it.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import yaml

from tests import builders
from tests.bench.cpu import in_turns
from tests.bench.figures import Comparison, Fact, Section
from webhook.admission import apply_defaults
from webhook.cli.reviewer import LiveReviewer
from webhook.model.groups import Capabilities
from webhook.model.objects import Object
from webhook.model.policies import FailurePolicy
from webhook.model.requests import Phase
from webhook.model.snapshot import snapshot_of
from webhook.policies import PolicyStore, bundled_policies, load_policies
from webhook.settings import EvaluationSettings

SETS_IN_MEMORY = 20
ROUNDS = 5
CALLS = ((Phase.MUTATE, FailurePolicy.IGNORE), (Phase.VALIDATE, FailurePolicy.FAIL), (Phase.VALIDATE, FailurePolicy.IGNORE))
METHOD = """\
A labelled Job as the API server sends it, with its defaults, through the whole reviewer (decode, attach or judge, encode; no
HTTP, no TLS) with all shipped policies and a snapshot of two namespaces. The anchor is `json.loads` and `json.dumps` of the same
body: what a webhook that decides nothing would pay with the standard library. *all calls* is what one Job costs in sum: the
mutating call and the validating call of each failurePolicy. Loading is compared with `yaml.safe_load_all` of the same files."""


def measure() -> Section:
    """Measure reviews, loading and the memory of loaded sets."""
    reviewer = _reviewer()
    found = [each for containers in (1, 20) for each in _reviews(reviewer, containers)]
    return Section(
        title="Reviews with the shipped policies",
        method=METHOD,
        ours="review",
        anchor="json of the body",
        comparisons=(*found, _loading()),
        facts=(
            Fact(what="memory of one more loaded policy set", unit="KiB", values=tuple(_memory() for _ in range(ROUNDS))),
            Fact(what="policies in the set", unit="policies", values=(float(_count()),)),
        ),
    )


def labelled(containers: int) -> Object:
    """Return a labelled Job with so many containers, each with some environment and resources, and the API server's defaults."""
    found = builders.job("train").gang().build()
    (first,) = found["spec"]["template"]["spec"]["containers"]
    environment = [{"name": f"NAME_{index}", "value": f"value {index}"} for index in range(6)]
    found["spec"]["template"]["spec"]["containers"] = [
        copy.deepcopy(first) | {"name": f"c{index}", "env": environment} for index in range(containers)
    ]
    return apply_defaults(found)


def _reviewer() -> LiveReviewer:
    snapshot = snapshot_of([builders.namespace("team-a"), builders.namespace("team-b")])
    return LiveReviewer(
        PolicyStore(load_policies([bundled_policies()])),
        lambda: snapshot,
        lambda: Capabilities(group_objects=True),
        limits=EvaluationSettings(),
    )


def _reviews(reviewer: LiveReviewer, containers: int) -> list[Comparison]:
    """Return the sum of a Job's calls, and each of them."""
    job = labelled(containers)
    asked = {call: body_of(job if call[0] is Phase.MUTATE else _stamped(reviewer, job)) for call in CALLS}
    plural = "container" if containers == 1 else "containers"
    each = []
    for (phase, failure), body in asked.items():
        ours, anchor = in_turns(_call(reviewer, body, phase, failure), lambda body=body: json.dumps(json.loads(body)))
        where = f"{phase.value}/{failure.value.lower()}"
        each.append(
            Comparison(what=f"{where}, {containers} {plural}, {len(body) / 1000:.1f} KB", unit="us", ours=ours, anchor=anchor)
        )
    total = Comparison(
        what=f"all calls, {containers} {plural}",
        unit="us",
        ours=tuple(map(sum, zip(*(one.ours for one in each), strict=True))),
        anchor=tuple(map(sum, zip(*(one.anchor for one in each), strict=True))),
    )
    return [total, *each]


def body_of(job: Object) -> bytes:
    """Return the body of a CREATE."""
    return json.dumps(builders.review(job)).encode()


def _call(reviewer: LiveReviewer, body: bytes, phase: Phase, failure: FailurePolicy) -> Callable[[], bytes]:
    def call() -> bytes:
        reviewed = reviewer.review(orjson.loads(body), phase=phase, failure_policy=failure, expired=lambda: False)
        return orjson.dumps(reviewed.document)

    return call


def _stamped(reviewer: LiveReviewer, job: Object) -> Object:
    """Return the Job as the validating calls see it."""
    body = json.loads(body_of(job))
    return reviewer.review(body, phase=Phase.MUTATE, failure_policy=FailurePolicy.IGNORE, expired=lambda: False).answer.object


def _loading() -> Comparison:
    files = [path.read_bytes() for path in sorted(bundled_policies().rglob("policy.yaml"))]
    ours, anchor = in_turns(
        lambda: load_policies([bundled_policies()]),
        lambda: [list(yaml.safe_load_all(content)) for content in files],
        rounds=ROUNDS,
    )
    to_ms = 1e-3
    return Comparison(
        what="loading all shipped policies (anchor: yaml)",
        unit="ms",
        ours=tuple(value * to_ms for value in ours),
        anchor=tuple(value * to_ms for value in anchor),
    )


def _count() -> int:
    policies = load_policies([bundled_policies()])
    return len(policies.validating) + len(policies.workload)


def _memory() -> float:
    """Return the KiB that one more set takes, in a process of its own: this one's heap has holes to fill."""
    done = subprocess.run([sys.executable, "-m", "tests.bench.review"], capture_output=True, text=True, check=True)
    return float(done.stdout)


def resident_kib() -> float:
    """Return the memory that this process holds."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return float(line.split()[1])


def _print_memory() -> None:
    kept = [load_policies([bundled_policies()])]  # the first one also pays for parser, caches and modules
    before = resident_kib()
    kept += [load_policies([bundled_policies()]) for _ in range(SETS_IN_MEMORY)]
    print((resident_kib() - before) / SETS_IN_MEMORY)


if __name__ == "__main__":
    _print_memory()
