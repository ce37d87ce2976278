"""A field is found in its file again: by document, by entry of a List, and by the nearest thing that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook.policies import Places

TEXT = """\
# a comment
kind: Job
apiVersion: batch/v1
metadata:
  annotations:
    "gangwarden.dev/min-count": "4"
spec:
  parallelism: 4
  template:
    spec:
      containers:
      - name: main
        image: train
---
kind: List
apiVersion: v1
items:
- {kind: Job, apiVersion: batch/v1, spec: {parallelism: 1}}
- kind: Job
  apiVersion: batch/v1
  spec:
    completions: 3
"""


@pytest.mark.parametrize(
    ("source", "field", "line", "column"),
    [
        ("#0", "", 2, 1),
        ("#0", "spec.parallelism", 8, 3),
        ("#0", "spec.template.spec.containers[0].image", 13, 9),
        ("#0", "spec.template.spec.containers[0]", 12, 9),
        ("#0", "spec.template.spec.containers[7].image", 11, 7),
        ("#0", "metadata.annotations['gangwarden.dev/min-count']", 6, 5),
        ("#0", "spec.completions", 7, 1),
        ("#0", "status.active", 2, 1),
        ("#1[0]", "spec.parallelism", 18, 44),
        ("#1[1]", "spec.completions", 22, 5),
        ("#7", "spec", 0, 0),
    ],
)
def test_a_field_or_what_is_nearest_to_it(source: str, field: str, line: int, column: int, tmp_path: Path) -> None:
    path = tmp_path / "a#b.yaml"
    path.write_text(TEXT)
    assert Places().find(f"{path}{source}", field) == (str(path), line, column)


def test_standard_input_and_what_is_gone_have_no_place(tmp_path: Path) -> None:
    assert Places().find("<stdin>#0", "spec") == ("", 0, 0)
    assert Places().find(f"{tmp_path}/gone.yaml#0", "spec") == ("", 0, 0)


def test_results_may_come_from_files_in_any_order(tmp_path: Path) -> None:
    for name, lines in (("a", 1), ("b", 4)):
        (tmp_path / f"{name}.yaml").write_text("\n" * lines + "kind: Job\napiVersion: batch/v1\n")
    places = Places()
    assert [places.find(f"{tmp_path}/{name}.yaml#0").line for name in "aba"] == [2, 5, 2]


def test_a_file_that_broke_in_the_meantime_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: [")
    assert Places().find(f"{path}#0", "a") == (str(path), 0, 0)
