"""Thousands of hostile bodies to a webhook on a real control plane: it answers each in words, lives on and stays small."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests import builders
from tests.e2e.installation import Installation
from tests.soak.calling import Caller, is_review
from tests.soak.hostile import Attacker
from tests.soak.scene import Scene

ROOT = Path(__file__).resolve().parents[2]
BODIES = 20_000
PATHS = ("/mutate/ignore", "/mutate/fail", "/validate/fail", "/validate/ignore")
TYPES = ("application/json",) * 20 + ("text/plain", "application/json; charset=utf-16", "")
GROWTH_MIB = 64.0
"""What the process may grow by in the second half: by then every cache is as full as it will be."""


def honest() -> list[dict]:
    """Return reviews as an API server sends them."""
    job, pod, group = builders.job().gang(3).build(), builders.pod(group="train-a").build(), builders.pod_group("train-a").build()
    return [
        builders.review(job),
        builders.review(job, operation="UPDATE", old=builders.job().gang().stored().build()),
        builders.review(None, operation="DELETE", old=job),
        builders.review(pod),
        builders.review(group),
    ]


def what_is_wrong(status: int, answer: bytes, *, well_formed: bool) -> str:
    """Say what is wrong with an answer; empty if nothing is."""
    if 400 <= status < 500:
        return "" if answer.strip() else f"{status} without a word"
    if status == 200:
        return "" if is_review(json.loads(answer)) else f"no review: {answer[:200]!r}"
    return f"{status} for {'well-formed JSON' if well_formed else 'rubbish'}: {answer[:200]!r}"


def test_hostile_bodies(scene: Scene, control_plane, tmp_path):
    installed = Installation(control_plane, ROOT / "policies", tmp_path)
    attacker, count = Attacker(honest(), scene.random), scene.often(BODIES)
    statuses: Counter[str] = Counter()
    wrong: list[str] = []
    sizes: list[float] = []
    try:
        webhook = installed.start_webhook()
        with Caller(installed) as caller:
            for number in range(count):
                body, well_formed = attacker.body()
                path = scene.random.choice(PATHS)
                status, answer = caller.post(path, body, content_type=scene.random.choice(TYPES))
                problem = what_is_wrong(status, answer, well_formed=well_formed)
                if problem:
                    wrong.append(f"{number} {path}: {problem}; body {body[:1500]!r}")
                statuses[_named(status, answer)] += 1
                if number % (count // 8) == 0:
                    sizes.append(webhook.resident_mib)
        grown = webhook.resident_mib - sizes[4]
        print("MiB on the way:", *map(round, sizes))
        assert not wrong, f"{len(wrong)} of {count}, such as\n" + "\n".join(wrong[:5])
        assert webhook.alive
        assert grown < GROWTH_MIB
        assert installed.is_called()
    finally:
        installed.close()
        print(installed.logs()[-20_000:])
    told = ", ".join(f"{amount:,} {name}" for name, amount in statuses.most_common())
    scene.done(f"{count:,} bodies", f"{told}; memory +{grown:.0f} MiB in the second half")


def _named(status: int, answer: bytes) -> str:
    if status != 200:
        return f"HTTP {status}"
    return "allowed" if json.loads(answer)["response"]["allowed"] else "denied"
