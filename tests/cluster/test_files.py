"""The cluster on paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import job
from webhook.cluster import load_snapshot, save_snapshot
from webhook.errors import InputError, UsageError
from webhook.model.groups import Capabilities
from webhook.model.objects import Object, ObjectKey
from webhook.model.snapshot import Snapshot, snapshot_of

JOB = job("train").at("metadata.namespace", "a").build()
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "a", "name": "s"}, "data": {"k": "dg=="}}
CAPABILITIES = {"apiVersion": "gangwarden.dev/v1alpha1", "kind": "Capabilities", "metadata": {"name": "cluster"}}


@dataclass(frozen=True)
class Document:
    source: str
    object: Object


def documents(*objects: Any) -> list[Document]:
    return [Document(f"snapshot.yaml#{index}", obj) for index, obj in enumerate(objects)]


def test_objects_and_lists_of_them_make_a_snapshot() -> None:
    other = job("other").at("metadata.namespace", "a").build()
    snapshot, capabilities = load_snapshot(documents(JOB, {"apiVersion": "v1", "kind": "List", "items": [other]}))
    assert sorted(obj["metadata"]["name"] for obj in snapshot.list("batch", "Job")) == ["other", "train"]
    assert capabilities == Capabilities()


def test_a_typed_list_gives_its_items_their_kind_and_says_that_it_is_known() -> None:
    items = [{"metadata": {"name": "n0"}}]
    snapshot, _ = load_snapshot(documents({"apiVersion": "v1", "kind": "NodeList", "items": items}))
    assert snapshot.get(ObjectKey("", "Node", "", "n0")) == {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}}
    empty, _ = load_snapshot(documents({"apiVersion": "v1", "kind": "NodeList", "items": []}))
    assert (empty.knows("", "Node"), empty.knows("", "Pod")) == (True, False)


def test_capabilities_are_read_by_their_names() -> None:
    _, capabilities = load_snapshot(documents(CAPABILITIES | {"groupObjects": True, "sharedClaims": True}))
    assert capabilities == Capabilities(group_objects=True, shared_claims=True)


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            [CAPABILITIES | {"groupObject": True}],
            "snapshot.yaml#0: Capabilities has no field groupObject; did you mean groupObjects?",
        ),
        ([CAPABILITIES | {"topology": "yes"}], "snapshot.yaml#0: Capabilities.topology must be true or false, not 'yes'"),
        ([CAPABILITIES, CAPABILITIES], "snapshot.yaml#1: a second Capabilities document (the first is snapshot.yaml#0)"),
        ([JOB, JOB], "snapshot.yaml#1: Job a/train occurs twice (first in snapshot.yaml#0)"),
        ([{"apiVersion": "v1", "kind": "Pod", "metadata": {}}], "snapshot.yaml#0: this Pod has no metadata.name"),
        (
            [{"apiVersion": "v1", "kind": "List", "items": [{"metadata": {}}]}],
            "snapshot.yaml#0: an item of the list has no apiVersion or no kind",
        ),
        ([{"apiVersion": "v1", "kind": "PodList", "items": ["x"]}], "snapshot.yaml#0: an item of the list is no object"),
        (
            [NODE | {"metadata": {"name": "n", "labels": ["x"]}}],
            "snapshot.yaml#0: Node n: metadata.labels must be a mapping, not a list; mend it, or save the snapshot anew",
        ),
        ([NODE | {"spec": "x"}], "snapshot.yaml#0: Node n: spec must be a mapping; mend it, or save the snapshot anew"),
        (
            [NODE | {"spec": {"taints": {}}}],
            "snapshot.yaml#0: Node n: spec.taints must be a list; mend it, or save the snapshot anew",
        ),
        (
            [NODE | {"spec": {"taints": [1]}}],
            "snapshot.yaml#0: Node n: spec.taints must hold mappings; mend it, or save the snapshot anew",
        ),
        (
            [NODE | {"status": {"allocatable": [1]}}],
            "snapshot.yaml#0: Node n: status.allocatable must be a mapping; mend it, or save the snapshot anew",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(given: list[Object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_snapshot(documents(*given))
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["snapshot.json", "snapshot.yaml"])
def test_what_is_saved_is_loaded_again_but_for_secrets(tmp_path: Path, name: str) -> None:
    held = snapshot_of([JOB, SECRET])
    known = Snapshot({("", "Node"): {}} | dict(held.buckets))
    save_snapshot(tmp_path / name, known, Capabilities(topology=True))
    snapshot, capabilities = load_snapshot(documents(*yaml.safe_load_all((tmp_path / name).read_text())))
    assert snapshot.buckets == {("batch", "Job"): {"a": {"train": JOB}}, ("", "Node"): {}}
    assert capabilities == Capabilities(topology=True)


@pytest.mark.parametrize("known", [True, False, None])
def test_what_nobody_asked_the_scheduler_is_left_out_and_stays_unknown(tmp_path: Path, *, known: bool | None) -> None:
    path, saved = tmp_path / "snapshot.yaml", Capabilities(group_objects=True, scheduler_groups=known)
    save_snapshot(path, snapshot_of([]), saved)
    head = next(yaml.safe_load_all(path.read_text()))
    assert head.get("schedulerGroups", "left out") == ("left out" if known is None else known)
    assert load_snapshot(documents(head))[1] == saved


def test_a_place_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        save_snapshot(tmp_path / "none" / "snapshot.yaml", snapshot_of([]), Capabilities())
