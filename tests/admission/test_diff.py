"""The patch leads to the same object, checked against an independent RFC 6902 library."""

from __future__ import annotations

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.admission.diff import diff, pointer

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, width=16) | st.text("ab/~", max_size=3)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=4)
)
OBJECTS = st.dictionaries(st.text("ab/~", max_size=2), VALUES, max_size=5)


@given(OBJECTS, OBJECTS)
def test_a_patch_leads_from_one_object_to_the_other(before, after):
    patched = jsonpatch.apply_patch(before, list(diff(before, after)))
    assert diff(patched, after) == ()
    assert patched == after


@given(OBJECTS)
def test_equal_objects_need_no_patch(value):
    assert diff(value, value) == ()


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        pytest.param(
            {"a": 1}, {"a": 1, "b": {"c": 2}}, [{"op": "add", "path": "/b", "value": {"c": 2}}], id="a new map is added whole"
        ),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, [{"op": "remove", "path": "/a/c"}], id="a lost key is removed"),
        pytest.param({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}], id="true is not one"),
        pytest.param({"a": 1}, {"a": 1.0}, [{"op": "replace", "path": "/a", "value": 1.0}], id="a double is not an int"),
        pytest.param({"a": [1]}, {"a": [1, 2]}, [{"op": "add", "path": "/a/-", "value": 2}], id="a longer list gets its tail"),
        pytest.param(
            {"a": [1, 2, 3]},
            {"a": [1]},
            [{"op": "remove", "path": "/a/2"}, {"op": "remove", "path": "/a/1"}],
            id="a shorter list loses its tail from the end",
        ),
    ],
)
def test_only_what_differs_is_named(before, after, wanted):
    assert list(diff(before, after)) == wanted


def test_a_slash_and_a_tilde_are_escaped():
    assert pointer("metadata", "annotations", "a.dev/x~y", 0) == "/metadata/annotations/a.dev~1x~0y/0"
