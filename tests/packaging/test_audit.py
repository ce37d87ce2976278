"""What must hold of dependencies without asking anybody, and what the audit makes of the answers that it gets."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from tests.audit import FOUND, UNANSWERED, judge
from tests.packaging.test_lock import HASH, HOSTS, PIN, ROOT, pins

FLOORS = {
    "starlette": "0.49.1",  # CVE-2025-62727: a Range header of many parts took its square
    "cryptography": "46.0.0",  # earlier wheels carry older OpenSSL
    "aiohttp": "3.13.0",
    "urllib3": "2.6.0",
    "requests": "2.32.4",
    "h11": "0.16.0",  # CVE-2025-43859
}
LOCK = Path("a.lock")
FINE = {"name": "a", "version": "1", "vulns": []}
SKIPPED = {"name": "b", "skip_reason": "Dependency not found on PyPI and could not be audited: b (1)"}
FLAWED = {"name": "c", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}]}


@pytest.mark.parametrize("name", FLOORS)
def test_no_version_is_locked_whose_flaw_we_know(name: str) -> None:
    assert name not in pins() or pins()[name] >= Version(FLOORS[name])


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-runtime.lock"])
def test_a_lock_file_is_versions_and_hashes_and_names_no_host(lock: str) -> None:
    lines = (ROOT / lock).read_text().splitlines()
    assert all(PIN.fullmatch(line) or HASH.fullmatch(line) for line in lines if line)
    followed = zip(lines, [*lines[1:], ""], strict=True)
    assert [line for line, after in followed if PIN.fullmatch(line) and not HASH.fullmatch(after)] == []
    assert not [word for word in HOSTS if any(word in line for line in lines)]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param([FINE], 0, id="nothing known"),
        pytest.param([FINE, FLAWED], FOUND, id="an advisory"),
        pytest.param([FINE, SKIPPED], UNANSWERED, id="one not answered for"),
        pytest.param([SKIPPED, SKIPPED], UNANSWERED, id="none answered for"),
        pytest.param([], UNANSWERED, id="no answer at all"),
        pytest.param([FLAWED, SKIPPED], UNANSWERED, id="both"),
    ],
)
def test_silence_of_the_database_is_no_all_clear(answer: list, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert judge(LOCK, answer) == code
    assert ("NOT AUDITED" in capsys.readouterr().err) is (code == UNANSWERED)
