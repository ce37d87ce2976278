"""Material on disk: for its owner alone, whole or not at all, and of one generation when a Secret is mounted."""

import stat
from pathlib import Path

import pytest

from webhook.certs import FileStore, load_material, write_material
from webhook.errors import CertificateError, ClusterError

FILES = {"ca.crt": b"a", "ca.key": b"b", "tls.crt": b"c", "tls.key": b"d"}


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    write_material(tmp_path / "certs", FILES)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "certs").iterdir()} == {0o600}
    assert stat.S_IMODE((tmp_path / "certs").stat().st_mode) == 0o700


def test_a_readable_file_is_replaced_by_one_that_is_not(tmp_path: Path) -> None:
    (tmp_path / "tls.key").write_bytes(b"old")
    (tmp_path / "tls.key").chmod(0o644)
    write_material(tmp_path, FILES)
    assert stat.S_IMODE((tmp_path / "tls.key").stat().st_mode) == 0o600


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_material(tmp_path, FILES)
    assert load_material(tmp_path) == FILES
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)


def test_files_not_given_are_removed(tmp_path: Path) -> None:
    write_material(tmp_path, FILES)
    write_material(tmp_path, {"ca.crt": b"a"})
    assert load_material(tmp_path) == {"ca.crt": b"a"}


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CertificateError, match=f"{tmp_path}/file"):
        write_material(tmp_path / "file", FILES)


def test_a_mounted_secret_is_read_as_one_generation(tmp_path: Path) -> None:
    for generation in ("..1", "..2"):
        (tmp_path / generation).mkdir()
        (tmp_path / generation / "tls.crt").write_text(generation)
    (tmp_path / "..data").symlink_to("..2")
    (tmp_path / "tls.crt").symlink_to("..1/tls.crt")  # a link that the kubelet has not moved yet
    assert load_material(tmp_path) == {"tls.crt": b"..2"}


async def test_an_empty_directory_holds_nothing(tmp_path: Path) -> None:
    assert await FileStore(tmp_path / "none").load() is None


async def test_a_store_gives_back_what_it_saved(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    version = await store.save(FILES, None)
    assert await store.load() == (FILES, version)


@pytest.mark.parametrize("version", [None, "0000"], ids=["a creation", "a stale update"])
async def test_the_slower_of_two_writers_is_told(tmp_path: Path, version: str | None) -> None:
    store = FileStore(tmp_path)
    await store.save(FILES, None)
    with pytest.raises(ClusterError) as caught:
        await store.save({"ca.crt": b"z"}, version)
    assert caught.value.status == 409
    assert load_material(tmp_path) == FILES
