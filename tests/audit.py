"""Ask the public database of advisories about every locked package: ``make audit``.

pip-audit passes over what the database did not answer for and ends well all the same; here that is a failure of its own, for
"nothing was found" must mean that somebody looked.

Exit codes: 0 nothing is known against any of them; 1 something is; 2 the database did not answer for all.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements-runtime.lock", "requirements.lock")
SECONDS = 600
FOUND, UNANSWERED = 1, 2


def main() -> int:
    """Audit both lock files, the image's first."""
    return max(audit(ROOT / name) for name in LOCKS)


def audit(lock: Path) -> int:
    """Audit one lock file, and say what came of it."""
    options = ["--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json"]
    command = [sys.executable, "-m", "pip_audit", "-r", str(lock), *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        answer = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        return unanswered(lock, f"no answer within {SECONDS} s")
    except (ValueError, KeyError, TypeError):
        return unanswered(lock, (done.stderr.strip().splitlines() or ["no word"])[-1])
    return judge(lock, answer)


def judge(lock: Path, dependencies: Sequence[dict[str, Any]]) -> int:
    """Return the exit code for what pip-audit says of the packages of a lock file."""
    skipped = [one["name"] for one in dependencies if "skip_reason" in one]
    known = [(one, flaw) for one in dependencies for flaw in one.get("vulns", ())]
    for one, flaw in known:
        mended = ", ".join(flaw.get("fix_versions", ())) or "no version yet"
        print(f"{lock.name}: {one['name']} {one['version']}: {flaw['id']}, mended in {mended}", file=sys.stderr)
    if skipped or not dependencies:
        return max(FOUND if known else 0, unanswered(lock, f"no answer for {len(skipped)} of {len(dependencies)} packages"))
    print(f"{lock.name}: {len(dependencies)} packages asked about, {len(known)} advisories")
    return FOUND if known else 0


def unanswered(lock: Path, why: str) -> int:
    """Say that this is no all-clear."""
    print(f"{lock.name}: NOT AUDITED: the database of advisories did not answer ({why}); this says nothing", file=sys.stderr)
    return UNANSWERED


if __name__ == "__main__":
    sys.exit(main())
