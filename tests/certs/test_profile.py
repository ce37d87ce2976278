"""What an operator writes about certificates is taken as written, or refused with the field's name."""

from pathlib import Path

import pytest

from webhook.certs import Profile, decode_profile, load_profile
from webhook.errors import InputError
from webhook.settings import CertificateSettings

ROOT = Path(__file__).parents[2]
HEAD = "apiVersion: gangwarden.dev/v1alpha1\nkind: CertificateProfile\n"


def load(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "profile.yaml"
    path.write_text(text)
    return load_profile(path, CertificateSettings())


def test_the_shipped_profile_says_what_the_defaults_say() -> None:
    profile = load_profile(ROOT / "certs/profile.yaml", CertificateSettings())
    assert profile.settings == CertificateSettings(renew_after_fraction=0.667)
    assert "gangwarden.gangwarden-system.svc" in profile.names


def test_what_a_profile_leaves_out_comes_from_the_settings(tmp_path: Path) -> None:
    profile = load(tmp_path, HEAD + "spec: {leafDays: 2}\n")
    assert profile.settings == CertificateSettings(leaf_days=2)
    assert profile.dns_names == ("localhost",)


@pytest.mark.parametrize(
    "spec, words",
    [
        pytest.param("{leafDay: 2}", "unknown field spec.leafDay", id="a misspelt field"),
        pytest.param("{leafDays: two}", "spec.leafDays must be a positive number", id="a word for a number"),
        pytest.param("{leafDays: true}", "spec.leafDays must be a positive number", id="a boolean for a number"),
        pytest.param("{leafDays: .nan}", "spec.leafDays must be a positive number", id="not a number"),
        pytest.param("{leafDays: 400}", "leafDays must not exceed", id="a leaf that outlives its authority"),
        pytest.param("{renewAfterFraction: 1}", "between 0 and 1", id="renewal at the very end"),
        pytest.param("{dnsNames: [a_b]}", "spec.dnsNames[0]", id="an underscore in a DNS name"),
        pytest.param("{ipAddresses: [1.2.3]}", "spec.ipAddresses[0]", id="half an address"),
        pytest.param("{dnsNames: localhost}", "spec.dnsNames must be a list", id="a name for a list"),
        pytest.param("{dnsNames: [], ipAddresses: []}", "nobody could call", id="no name at all"),
        pytest.param("{leafDays: 1, leafDays: 2}", "duplicate key leafDays", id="a field given twice"),
        pytest.param("{dnsNames: &a [x], ipAddresses: *a}", "aliases are not allowed", id="an alias"),
        pytest.param("{? [a] : b}", "unhashable", id="a list for a key"),
        pytest.param("{", "is not YAML", id="broken YAML"),
        pytest.param("[]", "spec must be a mapping", id="a list for the spec"),
    ],
)
def test_a_broken_profile_is_refused_by_field(tmp_path: Path, spec: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, HEAD + f"spec: {spec}\n")
    assert words in str(caught.value)
    assert str(tmp_path / "profile.yaml") in str(caught.value)


def test_a_duplicate_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"profile\.yaml:5"):
        load(tmp_path, HEAD + "spec:\n  leafDays: 1\n  leafDays: 2\n")


def test_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match=r"expected gangwarden\.dev/v1alpha1 CertificateProfile"):
        decode_profile({"apiVersion": "v1", "kind": "ConfigMap"}, CertificateSettings(), source="x")


def test_a_missing_profile_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_profile(tmp_path / "none.yaml", CertificateSettings())


def test_a_huge_profile_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is larger than"):
        load(tmp_path, "#" * 70_000)


def test_the_service_names_are_added_once() -> None:
    profile = Profile().with_dns_names("a.b.svc", "localhost")
    assert profile.dns_names == ("localhost", "a.b.svc")
