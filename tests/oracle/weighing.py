"""Calls of every function over values of growing size: what costs little on small objects must not stay cheap on large ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from tests.oracle.growing import OVERLOADS, Call, Grower
from tests.oracle.words import ACCESS, POLICY_ROOTS, POLICY_TYPED, TYPES, Vocabulary
from webhook.cel import types
from webhook.cel.types import DYN, Kind, Type, list_of, map_of

SIZES = (0, 1, 9, 10, 11, 100, 999, 1_001, 3_000)
FEW_SIZES = (0, 11, 100, 1_001, 3_000)
_SCENE = Vocabulary("map", POLICY_ROOTS, POLICY_TYPED)
_TEXTS = ("s", "object.text", "object.other", "params.text", "object.words[0]")
_SIZED: Mapping[Type, tuple[str, ...]] = {
    types.STRING: _TEXTS,
    types.BYTES: ("by", "bytes(object.text)", "bytes(s)"),
    types.INT: ("i", "object.size", "0", "size(object.text)", "object.ints.size()"),
    types.QUANTITY: ("quantity('1Gi')", "quantity(object.digits)"),
    types.URL: ("url('https://example.com/' + s)", "url('https://example.com/a')"),
    DYN: (*_TEXTS, "object.ints", "object.words", "object.map", "object.nested", "params.ints", "object.missing", "object", "i"),
    list_of(types.INT): ("object.ints", "lists.range(i)", "params.ints"),
    list_of(types.DOUBLE): ("object.doubles",),
    list_of(types.STRING): ("object.words", "request.userInfo.groups", "params.words"),
    list_of(DYN): ("l", "object.nested", "object.ints", "object.words"),
    list_of(list_of(types.INT)): ("object.nested", "object.ints.map(x, [x])"),
    map_of(types.STRING, DYN): ("m", "object.map", "params.map"),
}
_MACROS = (
    "{0}.all(x, {1} == {1})",
    "{0}.exists(x, x == {1})",
    "{0}.exists_one(x, x == {1})",
    "{0}.map(x, {1})",
    "{0}.map(x, x == {1}, x)",
    "{0}.filter(x, x != {1})",
    "{0}.all(k, v, v != {1})",
    "{0}.exists(k, v, v == {1})",
    "{0}.existsOne(k, v, v == {1})",
    "{0}.transformList(k, v, v)",
    "{0}.transformMap(k, v, v != {1}, v)",
    "{0}.transformMapEntry(k, v, {{string(k): v}})",
    "{0}.sortBy(x, x)",
    "{0}.sortBy(x, string(x))",
    "optional.of({0}).optMap(x, x == {1})",
    "optional.of({0}).optFlatMap(x, optional.of(x))",
)


class Weigher(Grower):
    """Writes calls whose arguments are as large as the variables are, or made of them."""

    def __init__(self, random: Random) -> None:
        super().__init__(random, _SCENE)
        self._random = random

    def grow(self, wanted: Type, depth: int) -> str:
        """Return an argument."""
        found = _SIZED.get(wanted)
        if found is None and wanted.kind is Kind.LIST:
            found = _SIZED[list_of(DYN)]
        if found is None and wanted.kind is Kind.MAP:
            found = _SIZED[map_of(types.STRING, DYN)]
        if found is None or self._random.random() < 0.1:
            return self.write(wanted, depth)
        return self._random.choice(found)

    def loop(self, macro: str) -> str:
        """Return one loop."""
        over = self._random.choice(("object.ints", "object.words", "object.map", "l", "m", "lists.range(i)", "object.nested"))
        return macro.format(over, self.grow(self._random.choice((types.STRING, types.INT, DYN)), 0))


def calls(seed: int, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield questions: every function and every macro, with arguments of every size."""
    weigher = Weigher(Random(seed))
    for size in sizes:
        values = values_of(size)
        texts = [weigher.render(Call(overload, {}), 0) for overload in OVERLOADS]
        texts += [weigher.loop(macro) for macro in _MACROS]
        yield from (_question(text, values) for text in texts)


def looped(question: Mapping[str, Any], turns: int) -> dict[str, Any]:
    """Ask for the same call many times over."""
    return {**question, "expr": f"lists.range({turns}).all(turn, dyn({question['expr']}) != null)"}


def _question(text: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Ask; what the expression does not read is null, for reading it is what takes the time of an oracle."""
    held = {name: value if re.search(rf"\b{name}\b", text) else None for name, value in values.items()}
    for root in ("object", "params"):
        held[root] = {name: value for name, value in values[root].items() if f"{root}.{name}" in text}
    return {"mode": "map", "expr": text, "vars": held, "types": TYPES, "authz": ACCESS}


def values_of(size: int) -> dict[str, Any]:
    """Return variables of one size."""
    words = [f"word {number}" for number in range(size)]
    ints = list(range(size))
    return {
        "i": size,
        "u": {"$uint": str(size)},
        "d": {"$double": "2.5"},
        "s": "ab" * (size // 2),
        "b": True,
        "by": {"$bytes": "AAH/" * (size // 3)},
        "t": {"$timestamp": "2024-02-29T12:34:56.789Z"},
        "du": {"$duration": "5400000000000"},
        "l": [*words[: size // 2], *ints[: size // 2]],
        "m": {word: number for number, word in enumerate(words)},
        "x": {"yes": True},
        "object": {
            "text": "a b" * (size // 3),
            "other": "a b" * (size // 3),
            "digits": "1" * max(size, 1),
            "size": size,
            "ints": ints,
            "words": words,
            "doubles": [{"$double": f"{number}.5"} for number in ints],
            "map": {word: word for word in words},
            "nested": [[number] for number in ints],
        },
        "oldObject": None,
        "params": {"text": "a b" * (size // 3), "ints": ints, "words": words[::-1], "map": {word: word for word in words}},
        "request": {
            "operation": "CREATE",
            "name": "train",
            "userInfo": {"username": "alice", "groups": words, "extra": {"scope": words}},
        },
    }
