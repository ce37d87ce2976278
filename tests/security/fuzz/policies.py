"""Policy files: whatever is in one, it is loaded or refused with file and reason, and what was loaded judges without a crash."""

from __future__ import annotations

from random import Random

import yaml

from tests import builders
from tests.security.fuzz.reviews import PATHS, in_words, reviewed, reviewer_of
from tests.soak.hostile import Attacker
from webhook.admission import PolicySet
from webhook.errors import InputError, PolicySetError
from webhook.policies import SourceFile, bundled_policies, read_manifests
from webhook.policies.files import Sources
from webhook.policies.load import compile_sources

FAMILIAR = builders.review(builders.job().gang(3).build())


class Target:
    """A file, from its bytes to the verdict of the policies in it."""

    def __init__(self) -> None:
        self._shipped = [path.read_text() for path in sorted(bundled_policies().rglob("policy.yaml"))]

    def run(self, data: bytes) -> None:
        """Load one file; raises whatever is not an error for its author."""
        file = SourceFile("policy.yaml", data)
        policies = loaded(file)
        if policies is not None and (policies.validating or policies.mutating or policies.workload):
            reviewer = reviewer_of(policies)
            for phase, failure_policy in PATHS:
                reviewed(reviewer, FAMILIAR, phase, failure_policy)
        try:
            list(read_manifests(file))
        except InputError as error:
            in_words(error, begin="policy.yaml")

    def mutate(self, data: bytes, random: Random) -> bytes | None:
        """Change a policy in terms of its lines or of its values."""
        text = data.decode("utf-8", "replace")
        if random.random() < 0.5:
            return _by_lines(text, random.choice(self._shipped), random).encode()
        try:
            documents = [one for one in yaml.load_all(text, yaml.CSafeLoader) if isinstance(one, dict) and one]
            changed = [Attacker([one], random)._exchanged() for one in documents]
        except (yaml.YAMLError, ValueError, TypeError, RecursionError, IndexError):
            return None
        return b"\n---\n".join(changed) or None


def loaded(file: SourceFile) -> PolicySet | None:
    """Return the policies of a file, or None where it was refused, with the place."""
    try:
        return compile_sources(Sources((file,), (), "fuzz"))
    except PolicySetError as refused:
        for error in refused.errors:
            in_words(error, begin=file.path)
            in_words(error.args[0])
        return None


def _by_lines(text: str, other: str, random: Random) -> str:
    lines, foreign = text.split("\n"), other.split("\n")
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(lines) + 1)
        match random.randrange(5):
            case 0 if len(lines) > 1:
                del lines[at % len(lines)]
            case 1:
                lines.insert(at, random.choice(lines))
            case 2:
                start = random.randrange(len(foreign))
                lines[at:at] = foreign[start : start + random.randint(1, 8)]
            case 3:
                lines[at % len(lines)] = " " * random.randint(0, 8) + lines[at % len(lines)].lstrip()
            case _:
                chosen = lines[at % len(lines)]
                lines[at % len(lines)] = chosen.replace(": ", f": {random.choice(_VALUES)} #", 1)
    return "\n".join(lines)


_VALUES = (
    "",
    "null",
    "[]",
    "{}",
    "-1",
    "1.5",
    "true",
    "'x'",
    "*a",
    "&a [x]",
    "!!str 1",
    "|",
    '"\\ud800"',
    "9" * 40,
    "object.spec",
    "[a, a]",
)
