"""Bodies that no API server sends: reviews with a piece exchanged, and bytes that are no reviews at all."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

Body = tuple[bytes, bool]
"""A body, and whether it is well-formed JSON."""


class Attacker:
    """Makes hostile bodies from honest ones; everything comes from one seeded source."""

    def __init__(self, honest: list[dict[str, Any]], random: Random) -> None:
        self._honest, self._random = honest, random

    def body(self) -> Body:
        """Return the next body."""
        if self._random.random() < 0.8:
            return self._exchanged(), True
        return self._random.choice(_RUBBISH)(self._random, json.dumps(self._random.choice(self._honest)).encode())

    def _exchanged(self) -> bytes:
        """Return a review in which one to four pieces are something else, gone, or under another name."""
        review = copy.deepcopy(self._random.choice(self._honest))
        for _ in range(self._random.randint(1, 4)):
            place, key = self._place(review)
            match self._random.randrange(5):
                case 0:
                    del place[key]
                case 1 if isinstance(place, dict):
                    place[self._text()] = place.pop(key)
                case _:
                    place[key] = self._value(3)
            if not review:
                break
        return json.dumps(review, ensure_ascii=self._random.random() < 0.5).encode("utf-8", "surrogatepass")

    def _place(self, root: Any) -> tuple[Any, Any]:
        """Return a random container below the root, and a random key of it."""
        found, waiting = [], [root]
        while waiting:
            node = waiting.pop()
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            found += [(node, key) for key in keys]
            waiting += [node[key] for key in keys if isinstance(node[key], dict | list) and node[key]]
        return self._random.choice(found)

    def _value(self, depth: int) -> Any:
        choice = self._random.randrange(10 if depth else 7)
        match choice:
            case 0:
                return None
            case 1:
                return self._random.random() < 0.5
            case 2:
                return self._random.choice((0, 1, -1, 2**31, 2**63 - 1, -(2**63), 2**63, 2**64, 10**30))
            case 3:
                return self._random.choice((0.0, -0.0, 1.5, 1e308, 5e-324))
            case 4 | 5:
                return self._text()
            case 6:
                return self._random.choice(([], {}, [[]], [{}], {"": None}))
            case 7:
                return [self._value(depth - 1) for _ in range(self._random.randint(0, 4))]
            case _:
                return {self._text(): self._value(depth - 1) for _ in range(self._random.randint(0, 4))}

    def _text(self) -> str:
        words = (
            "",
            "true",
            "CREATE",
            "batch",
            "Job",
            "../..",
            "\x00",
            "\x1b[2J",
            "\u202e",
            "\U0001d56c",
            "%s%n",
            "{{7*7}}",
            "-1",
            "1e999",
            "128Gi",
        )
        names = ("apiVersion", "kind", "metadata", "labels", "spec", "template", "schedulingGroup", "parallelism", "__class__")
        long = self._random.choice('a\u00e9\\"') * self._random.choice((254, 5_000, 70_000))
        return self._random.choice((*words, *names, long))


def _truncated(random: Random, body: bytes) -> Body:
    return body[: random.randrange(len(body))], False


def _noise(random: Random, _body: bytes) -> Body:
    return random.randbytes(random.randint(0, 2_000)), False


def _spoiled(random: Random, body: bytes) -> Body:
    spoiled = bytearray(body)
    for _ in range(random.randint(1, 8)):
        spoiled[random.randrange(len(spoiled))] = random.randrange(256)
    return bytes(spoiled), False


def _deep(random: Random, _body: bytes) -> Body:
    levels, opening, closing = random.choice((100, 1_000, 10_000, 200_000)), *random.choice(((b"[", b"]"), (b'{"a":', b"}")))
    return opening * levels + b"1" + closing * levels, False  # our decoder refuses deep ones, so it may count as either


def _deep_object(random: Random, body: bytes) -> Body:
    levels = random.choice((50, 500, 900))
    nested = b'{"spec":' * levels + b"{}" + b"}" * levels
    return body.replace(b'"object": {', b'"object": {"deep": ' + nested + b", ", 1), True


def _scalar(random: Random, _body: bytes) -> Body:
    return random.choice((b"null", b"true", b"0", b'""', b"[]", b"{}", b'"\\ud800"', b"-", b"NaN", b"1e999", b"")), False


def _twice(_random: Random, body: bytes) -> Body:
    return body.replace(b'"object"', b'"object": null, "object"', 1), True


def _wide(random: Random, body: bytes) -> Body:
    items = b", ".join(b'{"name": "n%d"}' % index for index in range(random.choice((1_000, 20_000))))
    return body.replace(b'"containers": [', b'"containers": [' + items + b", ", 1), True


_RUBBISH: tuple[Callable[[Random, bytes], Body], ...] = (
    _truncated,
    _noise,
    _spoiled,
    _deep,
    _deep_object,
    _scalar,
    _twice,
    _wide,
)
