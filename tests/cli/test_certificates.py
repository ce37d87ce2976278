"""``certs``: material in a folder, and what is wrong with it in words."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Gangwarden
from webhook.certs import Profile, mint_authority, mint_leaf

NAMES = {"ca.crt", "ca.key", "tls.crt", "tls.key"}


@pytest.fixture
def made(gangwarden: Gangwarden, tmp_path: Path) -> Path:
    """A folder in which ``certs init`` has been."""
    result = gangwarden("certs", "init", tmp_path / "certs", "--service", "gw/hook")
    assert result.exit_code == 0, result.output
    return tmp_path / "certs"


def test_init_makes_files_that_only_their_owner_reads(made: Path) -> None:
    assert {path.name for path in made.iterdir() if not path.name.startswith(".")} == NAMES
    assert {(made / name).stat().st_mode & 0o777 for name in NAMES} == {0o600}


def test_init_keeps_what_is_there(made: Path, gangwarden: Gangwarden) -> None:
    before = {name: (made / name).read_bytes() for name in NAMES}
    assert gangwarden("certs", "init", made, "--service", "gw/hook").exit_code == 0
    assert {name: (made / name).read_bytes() for name in NAMES} == before


def test_init_renews_a_certificate_that_lacks_a_name(made: Path, gangwarden: Gangwarden) -> None:
    before = (made / "ca.crt").read_bytes()
    result = gangwarden("certs", "init", made, "--service", "gw/other")
    assert "other.gw.svc" in result.stdout
    assert (made / "ca.crt").read_bytes() == before


def test_show_tells_names_expiry_and_trust(made: Path, gangwarden: Gangwarden) -> None:
    result = gangwarden("certs", "show", made)
    assert result.exit_code == 0
    assert "hook.gw.svc, hook.gw.svc.cluster.local, " in result.stdout
    assert "callers that trust ca.crt accept it" in result.stdout
    facts = json.loads(gangwarden("certs", "show", made, "-o", "json").stdout)
    assert set(facts) == {"apiVersion", "authorities", "chain", "leaf", "live", "problem"}
    assert (facts["problem"], "hook.gw.svc" in facts["leaf"]["names"]) == ("", True)


def test_show_says_that_a_certificate_has_expired(tmp_path: Path, gangwarden: Gangwarden) -> None:
    past, profile = datetime.now(UTC) - timedelta(days=1000), Profile()
    authority = mint_authority(profile, past)
    leaf = mint_leaf(profile, authority, past)
    for name, content in {"ca.crt": authority.certificate, "tls.crt": leaf.certificate, "tls.key": leaf.key}.items():
        (tmp_path / name).write_bytes(content)
    result = gangwarden("certs", "show", tmp_path)
    assert result.exit_code == 1
    assert " expired 20" in result.stdout
    assert " days ago)" in result.stdout
    assert "verdict      an authority that signed it has expired" in result.stdout


def test_show_says_that_authority_and_certificate_do_not_belong_together(
    made: Path, tmp_path: Path, gangwarden: Gangwarden
) -> None:
    gangwarden("certs", "init", tmp_path / "other")
    shutil.copy(tmp_path / "other" / "ca.crt", made / "ca.crt")
    with_key = gangwarden("certs", "show", made)
    assert (with_key.exit_code, with_key.stdout) == (4, "")
    assert "ca.key does not belong to" in with_key.stderr
    (made / "ca.key").unlink()
    result = gangwarden("certs", "show", made)
    assert result.exit_code == 1
    assert "which the CA bundle does not hold" in result.stdout


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("tls.crt", b"words", "tls.crt"),
        ("tls.key", b"", "tls.key"),
        ("ca.crt", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "ca.crt"),
    ],
)
def test_unreadable_material_is_told_with_its_file(
    name: str, content: bytes, told: str, made: Path, gangwarden: Gangwarden
) -> None:
    (made / name).write_bytes(content)
    result = gangwarden("certs", "show", made)
    assert (result.exit_code, result.stdout) == (4, "")
    assert told in result.stderr


def test_a_folder_without_material_is_told_with_what_to_do(tmp_path: Path, gangwarden: Gangwarden) -> None:
    result = gangwarden("certs", "show", tmp_path)
    assert result.exit_code == 4
    assert f"make one with: gangwarden certs init {tmp_path}" in result.stderr


def test_a_profile_of_ones_own_is_checked(tmp_path: Path, gangwarden: Gangwarden) -> None:
    profile = tmp_path / "profile.yaml"
    profile.write_text("leafe: {}\n")
    result = gangwarden("certs", "init", tmp_path / "certs", "--profile", profile)
    assert result.exit_code == 4
    assert "leafe" in result.stderr
    assert not (tmp_path / "certs").exists()
