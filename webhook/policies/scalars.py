"""What a plain YAML scalar means, as ``sigs.k8s.io/yaml`` has it: the same file must mean the same to kubectl and us.

That is YAML 1.1's booleans (``on``, ``yes``, ``y``), octal ``017``, ``_`` in numbers, but neither its base 60 nor its
timestamps, which stay text. Source: go.yaml.in/yaml/v2 resolve.go. The detour through JSON turns ``1.0`` into 1.
"""

from __future__ import annotations

import math
import re

Scalar = str | int | float | bool | None

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NOT_JSON = frozenset(f"{sign}.{word}" for sign in ("", "+", "-") for word in ("inf", "Inf", "INF")) | {".nan", ".NaN", ".NAN"}
_INTEGER = re.compile(
    r"[-+]?(?:0[bB](?P<two>[01]+)|0[xX](?P<sixteen>[0-9a-fA-F]+)|0[oO]?(?P<eight>[0-7]+)|(?P<ten>0|[1-9][0-9]*))"
)
_BASES = {"two": 2, "sixteen": 16, "eight": 8, "ten": 10}
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LONGEST_INTEGER = 4000
"""Of more characters Python makes no integer without being asked to; they are text, as every number that no double holds."""
_STRAY = re.compile(r"(?<![0-9])_|_(?![0-9])")
"""Go's own float parser, which sees only numbers that begin with a point, takes ``_`` just between digits."""
_STARTS = frozenset("+-.0123456789")


def resolve_plain(text: str) -> Scalar:
    """Return the value of an unquoted scalar; raises ValueError for what JSON cannot say."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _STARTS:
        return text
    if text in _NOT_JSON:
        raise ValueError(f"{text} is not a number that JSON knows; quote it if it is text")
    return _number(text)


def _number(text: str) -> Scalar:
    bare = text if text[0] == "." and _STRAY.search(text) else text.replace("_", "")
    found = _INTEGER.fullmatch(bare)
    if found and len(bare) <= _LONGEST_INTEGER:
        base = next(base for name, base in _BASES.items() if found[name])
        value = int(found[found.lastgroup or 0], base) * (-1 if bare[0] == "-" else 1)
        if -(2**63) <= value < 2**64:
            return float(value) if value >= 2**63 else value
    number = float(bare) if _FLOAT.fullmatch(bare) else math.inf
    if math.isinf(number):  # no number, or none that a double can hold: text
        return text
    return int(number) if number.is_integer() and abs(number) < 2**63 else number
