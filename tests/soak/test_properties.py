"""The properties of the diff and of CEL, with far more examples than a commit can wait for."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from tests.admission import test_diff as diff_properties
from tests.cel import test_program as cel_properties
from tests.soak.scene import Scene

CEL = {"data": cel_properties.JSON, "program": st.sampled_from(cel_properties.PROGRAMS)}
DIFF = diff_properties.OBJECTS
PROPERTIES = [
    pytest.param(
        diff_properties.test_a_patch_leads_from_one_object_to_the_other,
        {"before": DIFF, "after": DIFF},
        3_000,
        id="a patch leads from one object to the other",
    ),
    pytest.param(diff_properties.test_equal_objects_need_no_patch, {"value": DIFF}, 3_000, id="equal objects need no patch"),
    pytest.param(
        cel_properties.test_whatever_the_object_there_is_a_value_or_an_evaluation_error,
        CEL,
        10_000,
        id="whatever the object, there is a value or an evaluation error",
    ),
    pytest.param(
        cel_properties.test_no_evaluation_error_covers_up_a_bug_of_ours,
        CEL,
        10_000,
        id="no evaluation error covers up a bug of ours",
    ),
]


@pytest.mark.parametrize(("prove", "strategies", "examples"), PROPERTIES)
def test_property(scene: Scene, prove, strategies, examples):
    profile = settings(
        max_examples=scene.often(examples), deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
    )
    seeded(scene.seed)(profile(given(**strategies)(prove.hypothesis.inner_test)))()
    scene.done(f"{scene.often(examples):,} examples", "holds")
