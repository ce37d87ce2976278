"""Expressions whose failure costs the API server more than they may, and operators that make up for failures.

cel-go evaluates both sides of a call of two although the first one failed, and every turn of a ``map``. It panics where a price
is made of a list that is none. Both end the whole evaluation: nothing may absorb them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VARIABLES: Mapping[str, Any] = {"object": {"l": list(range(1_000)), "t": "a" * 1_000, "n": 5}}

DEAR = "object.l.map(y, object.l.map(z, z))"
LOSING = (
    f"object.missing == {DEAR}",
    f"object.missing != {DEAR}",
    f"object.missing < {DEAR}[0][0]",
    f"object.missing + {DEAR} == []",
    f"object.missing - {DEAR}.size() == 1",
    f"object.missing in {DEAR}",
    f"object.missing.contains({DEAR}[0][0])",
    f"object.missing.matches({DEAR}[0][0])",
    f"sets.contains(object.missing, {DEAR})",
    f"{DEAR}.all(x, 1 / 0 == 1)",
    "object.l.map(x, x == 0 ? [1 / 0] : object.l.map(y, y)) == []",
    "object.l.map(x, true, x == 0 ? [1 / 0] : object.l.map(y, y)) == []",
    "object.l.filter(x, x == 0 ? 1 / 0 == 1 : object.l.all(y, y == y)) == []",
    "object.l.exists_one(x, x == 0 ? 1 / 0 == 1 : object.l.all(y, y == y))",
    "object.l.transformList(i, x, x == 0 ? [1 / 0] : object.l.map(y, y)) == []",
    "object.l.transformMap(i, x, x == 0 ? 1 / 0 == 1 : object.l.all(y, y == y), x) == {}",
    "object.l.transformMapEntry(i, x, {i: x == 0 ? 1 / 0 : object.l.map(y, y).size()}) == {}",
    "object.l.transformMapEntry(i, x, {'same': object.l.map(y, y).size()}) == {}",
    "object.l.exists(x, object.l.exists(y, object.t.contains(object.missing)))",
    "object.l.all(x, object.l.all(y, object.t.replace('a', object.missing) == ''))",
    "object.l.all(x, object.l.matches(object.l))",
    "object.l.all(x, quantity(object.l).isLessThan(quantity('1')) && object.l.all(y, false || quantity(object.l).isInteger()))",
    "object.l.all(x, object.l.sortBy(y, -y).size() != x)",
)
"""Stopped for their cost, wherever they stand."""

PANICS = (
    "object.missing.distinct() == []",
    "object.n.distinct() == []",
    "[0, 2].map(x, 1 / x).sort() == []",
    "object.l.sortBy(x, 1 / (x - 5)) == []",
    "object.n.sortBy(x, 1) == []",
    "object.l.flatten(int(object.missing)) == []",
    "{bytes(object.t): 1}[object.n] == 1",
)
"""Ended by a panic, wherever they stand."""

ABSORBING = (
    "{} || true",
    "!({} && false)",
    "true == (({}) || true)",
    "[{}, true].exists(x, x) || true",
    "[1, 2].exists(x, x == 2 || (x == 1 && ({})))",
    "![1, 2].all(x, x == 1 && ({}))",
    "[1, 2].exists(i, x, i == 1 || (i == 0 && ({})))",
    "(({}) ? true : true) || true",
    "optional.of({}).orValue(true) || true",
    "optional.of(1).optMap(x, {}).orValue(true) || true",
    "dyn(1) != ({}) || true",
    "[({})].map(x, x) != [] || true",
)
"""What gives a value, or another error, where a part has none."""
