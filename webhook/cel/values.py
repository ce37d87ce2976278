"""Values that JSON does not have.

Everything else in an evaluation is plain JSON as the parser made it: None, bool, int (a CEL int), float (a CEL double), str,
list, dict or another mapping; bytes are bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, ClassVar

from webhook.cel import types
from webhook.cel.types import Type

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
UINT_MAX = 2**64 - 1


class UInt(int):
    """A CEL uint. A class of its own, because ``1u`` and ``1`` differ in arithmetic and in ``type()``."""

    __slots__ = ()


class Duration:
    """A span of time in nanoseconds; Go's time.Duration."""

    __slots__ = ("nanoseconds",)
    cel_type = types.DURATION

    def __init__(self, nanoseconds: int) -> None:
        self.nanoseconds = nanoseconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanoseconds == other.nanoseconds

    def __hash__(self) -> int:
        return hash(("duration", self.nanoseconds))

    def __repr__(self) -> str:
        return f"Duration({self.nanoseconds})"


class Timestamp:
    """A moment, in nanoseconds since 1970 (datetime's microseconds would not do).

    ``offset_seconds`` is how it was written: it shows in ``string()`` and nowhere else.
    """

    __slots__ = ("nanoseconds", "offset_seconds")
    cel_type = types.TIMESTAMP

    def __init__(self, nanoseconds: int, offset_seconds: int = 0) -> None:
        self.nanoseconds = nanoseconds
        self.offset_seconds = offset_seconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanoseconds == other.nanoseconds

    def __hash__(self) -> int:
        return hash(("timestamp", self.nanoseconds))

    def __repr__(self) -> str:
        return f"Timestamp({self.nanoseconds})"


class Optional:
    """A value that may be absent: ``NONE``, or one that holds a value."""

    __slots__ = ("present", "value")
    cel_type = types.optional_of(types.DYN)

    def __init__(self, value: Any, *, present: bool = True) -> None:
        self.value = value
        self.present = present

    def __repr__(self) -> str:
        return f"Optional({self.value!r})" if self.present else "NONE"


NONE = Optional(None, present=False)


class TypeValue:
    """What ``type(x)`` returns; equal by name, as type parameters are erased at run time."""

    __slots__ = ("name",)
    cel_type = types.TYPE

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash(("type", self.name))

    def __repr__(self) -> str:
        return f"TypeValue({self.name!r})"


class Opaque(ABC):
    """A value of a library: nothing but that library's functions, equality and ``type()`` apply to it."""

    __slots__ = ()
    cel_type: Type
    may_be_key: ClassVar[bool] = True
    """False where Go cannot hash it: a map with such a key, or a look for one, ends the evaluation there."""
    is_pointer: ClassVar[bool] = False
    """Whether Go tells keys apart by where they are, so that two that were made apart are two keys."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the text that stands for the value in tagged JSON."""

    @abstractmethod
    def equals(self, other: Any) -> bool:
        """Compare with a value of the same class."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.equals(other)

    def __hash__(self) -> int:
        return hash(str(self))


class HostObject(ABC):
    """A variable whose only use is to call its methods: a window into something that is not JSON."""

    __slots__ = ()

    @abstractmethod
    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """Answer a method that ``Declarations.hosts`` declares; raise EvaluationError where there is no answer."""


class KeyedMap(Mapping[Any, Any]):
    """A map whose keys are not all text. A dict would not do: to Python ``true``, ``1`` and ``1u`` are the same key."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Iterable[tuple[Any, Any]]) -> None:
        self._entries = {_identify(key): (key, value) for key, value in entries}

    def __getitem__(self, key: Any) -> Any:
        found = self._find(key)
        if found is None:
            raise KeyError(key)
        return found[1]

    def __contains__(self, key: object) -> bool:
        return self._find(key) is not None

    def insert(self, key: Any, value: Any) -> None:
        """Add an entry while the map is made; nobody else holds it yet."""
        self._entries[_identify(key)] = (key, value)

    def _find(self, key: Any) -> tuple[Any, Any] | None:
        """Look for the key, then for a number of another type with the same value (cel-go common/types/map.go, Find)."""
        kind = type(key)
        found = self._entries.get(_identify(key))
        if found is not None or kind not in _NUMBERS or not isfinite(key):
            return found
        if kind is float and not key.is_integer():
            return None
        return self._entries.get((int, int(key))) or self._entries.get((UInt, int(key)))

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def entries(self) -> Iterable[tuple[Any, Any]]:
        """List keys with values without looking the keys up: a list that is a key cannot be looked up and is still there."""
        return self._entries.values()

    def __repr__(self) -> str:
        return f"KeyedMap({list(self._entries.values())!r})"


_NUMBERS = (int, UInt, float)
_SHARED_ZONES = frozenset(range(-12 * 3600, 15 * 3600, 3600))
"""Offsets of which Go has one zone for all (time.FixedZone)."""
_HASHED = (int, UInt, float, bool, str, type(None), Duration, Timestamp, TypeValue)


def _identify(key: Any) -> tuple[type, Any]:
    """Tell keys apart as Go's maps do: scalars by type and value, lists and maps by which one they are.

    Constants and what is kept of parsed texts are made once here and each time there, so pointers to them are taken for new ones,
    as are timestamps with an offset, which have a pointer to their zone.
    """
    kind = type(key)
    if kind is Timestamp and key.offset_seconds:
        return kind, (key.nanoseconds, key.offset_seconds) if key.offset_seconds in _SHARED_ZONES else object()
    if kind in _HASHED:
        return kind, key
    if isinstance(key, Opaque):
        return kind, object() if key.is_pointer else str(key)
    return kind, id(key)


_TYPE_NAMES: Mapping[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
}


def type_name(value: Any) -> str:
    """Name the run-time type of a value, as ``type()`` and error messages do."""
    name = _TYPE_NAMES.get(type(value))
    if name is not None:
        return name
    if isinstance(value, Mapping):
        return "map"
    if isinstance(value, HostObject):
        return "host"
    return str(value.cel_type.name)


_GO_NAMES: Mapping[type, str] = {
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    type(None): "types.Null",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    Optional: "*types.Optional",
    TypeValue: "*types.Type",
}


def go_name(value: Any) -> str:
    """Name the Go type of a value: some error messages of the API server show it."""
    name = _GO_NAMES.get(type(value)) or type_name(value)
    return name.replace("kubernetes.", "cel.").replace("net.", "cel.")


def make_map(entries: list[tuple[Any, Any]]) -> Mapping[Any, Any]:
    """Make a map from entries; the last of equal keys wins, as in cel-go."""
    if all(type(key) is str for key, _ in entries):
        return dict(entries)
    return KeyedMap(entries)


def entries_of(value: Mapping[Any, Any]) -> Iterable[tuple[Any, Any]]:
    """List keys with values of any map."""
    return value.entries() if isinstance(value, KeyedMap) else value.items()
