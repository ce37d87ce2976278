from __future__ import annotations

import pytest

from tests.builders import job
from webhook.groups.names import group_name, is_record_of_its_own, recorded_names, recorded_policy, write_names
from webhook.model.groups import GROUP_POLICY_ANNOTATION, GROUPED_AS_ANNOTATION, POD_GROUP_ANNOTATION


@pytest.mark.parametrize(
    ("workload", "alone", "wanted"),
    [
        pytest.param(job("train").build(), True, "train-0123456789", id="the workload's name and a token"),
        pytest.param(job("train").build(), False, "train-workers-0123456789", id="the template's name where there are several"),
        pytest.param({"kind": "Job", "metadata": {"generateName": "run-"}}, True, "run-0123456789", id="the generateName prefix"),
        pytest.param(job("a" * 39 + ".b").build(), True, "a" * 39 + "-0123456789", id="a cut name ends in a letter"),
        pytest.param({"kind": "Job", "metadata": {}}, True, "job-0123456789", id="the kind where nothing else is known"),
    ],
)
def test_a_name_is_made_of(workload, alone, wanted):
    assert group_name(workload, "workers", "0123456789", alone=alone) == wanted


def test_recorded_names_are_read_back():
    names = {"driver": "a-1", "workers": "a-2"}
    stored = job().annotate(POD_GROUP_ANNOTATION, write_names(names)).annotate(GROUP_POLICY_ANNOTATION, "p/b").build()
    assert recorded_names(stored) == names
    assert recorded_policy(stored) == ("p", "b")


@pytest.mark.parametrize(
    ("meta", "written_as", "own"),
    [
        pytest.param({"name": "train"}, "train", True, id="by name"),
        pytest.param({"name": "run-x", "generateName": "run-"}, "run-", True, id="by generateName"),
        pytest.param({"name": "copy"}, "train", False, id="for another"),
        pytest.param({"name": "train"}, None, False, id="by nobody who says"),
    ],
)
def test_a_record_on_a_stored_workload_was_written(meta, written_as, own):
    annotations = {} if written_as is None else {GROUPED_AS_ANNOTATION: written_as}
    assert is_record_of_its_own({"metadata": {**meta, "annotations": annotations}}) is own


@pytest.mark.parametrize("text", ["", "nonsense", "=x", "x=", ",,"])
def test_a_tampered_record_names_nothing(text):
    assert recorded_names(job().annotate(POD_GROUP_ANNOTATION, text).build()) == {}
