"""Rows of soaks are kept until their scene runs again or is gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.soak.record import Row, load, merged, page, to_json

DRAIN = Row(
    file="test_drain.py",
    scene="drain: managed",
    repetitions="10 rounds",
    outcome="0 missed",
    seed="7",
    seconds=61.0,
    at="2027-03-01 12:30",
    commit="0123456",
    place="2 cores, Python 3.11.7",
)
NATIVE = replace(DRAIN, scene="drain: native")
LIVES = replace(DRAIN, file="test_lives.py", scene="lives")
FILES = {"test_drain.py", "test_lives.py"}


def test_a_run_of_some_scenes_replaces_their_rows_only():
    again = replace(NATIVE, outcome="**failed**", at="2027-03-02 08:00")
    assert merged([LIVES, DRAIN, NATIVE], [again], known={}, files=FILES) == [DRAIN, again, LIVES]


@pytest.mark.parametrize(
    ("known", "files", "left"),
    [
        ({}, {"test_lives.py"}, [LIVES]),
        ({"test_drain.py": {"drain: native"}}, FILES, [NATIVE, LIVES]),
        ({"test_lives.py": {"lives"}}, FILES, [DRAIN, NATIVE, LIVES]),
    ],
    ids=["its file is gone", "its file has it no more", "its file was not looked at"],
)
def test_the_row_of_a_scene_that_is_gone_goes(known, files, left):
    assert merged([DRAIN, NATIVE, LIVES], [], known=known, files=files) == left


def test_what_is_kept_is_read_again(tmp_path):
    path = tmp_path / "soak.json"
    assert load(path) == []
    path.write_text(to_json([DRAIN, LIVES]), encoding="utf-8")
    assert load(path) == [DRAIN, LIVES]


def test_each_line_has_its_own_date_and_commit():
    text = page([DRAIN, replace(LIVES, commit="89abcde", outcome="**failed**")])
    assert "On 2 cores, Python 3.11.7.\n" in text
    assert "| 2027-03-01 12:30 | 0123456 | drain: managed | 10 rounds | 0 missed | 61 | 7 |\n" in text
    assert "| 2027-03-01 12:30 | 89abcde | lives | 10 rounds | **failed** | 61 | 7 |\n" in text
