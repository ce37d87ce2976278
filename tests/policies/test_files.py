"""Which files count, and that a mounted ConfigMap is read once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from webhook.policies.files import Sources, read_sources

LIMIT = 1000


def write(path: Path, text: str = "a: 1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def read(*paths: Path) -> Sources:
    return read_sources(paths, limit_bytes=LIMIT)


def names(sources: Sources, root: Path) -> list[str]:
    return [os.path.relpath(file.path, root) for file in sources.files]


def mount(folder: Path, files: dict[str, str], version: str) -> None:
    """Write files as kubelet does for a ConfigMap: a new folder, then one rename of the ``..data`` symlink."""
    for name, text in files.items():
        write(folder / f"..{version}" / name, text)
    (folder / "..data_tmp").symlink_to(f"..{version}")
    (folder / "..data_tmp").rename(folder / "..data")
    for name in files:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")


def test_yaml_and_json_count_wherever_they_lie(tmp_path: Path) -> None:
    for name in ("b/policy.yaml", "a.yml", "c.json", "README.md", "d.yaml.bak", ".git/e.yaml", ".hidden.yaml"):
        write(tmp_path / name)
    assert names(read(tmp_path), tmp_path) == ["a.yml", "b/policy.yaml", "c.json"]


def test_a_file_that_is_named_counts_whatever_it_is_called(tmp_path: Path) -> None:
    assert len(read(write(tmp_path / "policy.txt")).files) == 1


def test_a_config_map_is_read_once_and_by_its_own_names(tmp_path: Path) -> None:
    mount(tmp_path, {"p.yaml": "a: 1\n", "q.yaml": "b: 1\n"}, "2026_01")
    assert names(read(tmp_path), tmp_path) == ["p.yaml", "q.yaml"]


def test_a_file_that_is_reached_twice_is_read_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a" / "p.yaml")
    (tmp_path / "b").symlink_to("a")
    assert len(read(tmp_path, tmp_path / "a", file).files) == 1


def test_a_folder_within_itself_ends(tmp_path: Path) -> None:
    write(tmp_path / "p.yaml")
    (tmp_path / "loop").symlink_to(".")
    assert len(read(tmp_path).files) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "the file is empty"), ("\n \n", "the file is empty"), ("x" * (LIMIT + 1), f"larger than {LIMIT} bytes")],
)
def test_a_file_without_sense_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    (error,) = read(write(tmp_path / "p.yaml", text)).errors
    assert (error.path, error.args[0]) == (str(tmp_path / "p.yaml"), message)


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "p.yaml")
    assert [str(error) for error in read(tmp_path, tmp_path / "gone").errors] == [
        f"{tmp_path / 'gone'}: there is no such file or folder"
    ]


def test_a_dangling_link_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").symlink_to("nowhere")
    assert "No such file" in str(read(tmp_path).errors[0])


def test_a_folder_without_policies_is_an_error(tmp_path: Path) -> None:
    assert "no file (.yaml, .yml, .json) is there" in str(read(tmp_path).errors[0])


def test_the_revision_follows_names_and_contents(tmp_path: Path) -> None:
    file = write(tmp_path / "p.yaml")
    revisions = [read(tmp_path).revision]
    write(file, "a: 2\n")
    revisions.append(read(tmp_path).revision)
    file.rename(tmp_path / "q.yaml")
    revisions.append(read(tmp_path).revision)
    write(tmp_path / "r.yaml", "")
    revisions.append(read(tmp_path).revision)
    assert len(set(revisions)) == 4


def test_a_pipe_in_a_folder_is_told_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.yaml")
    (error,) = read(tmp_path).errors
    assert (error.path, "a pipe or device" in error.args[0]) == (str(tmp_path / "p.yaml"), True)
