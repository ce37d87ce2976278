"""What calls cost in the API server's units: one table, read by both backends.

Sources: cel-go interpreter/runtimecost.go, ext/lists.go and ext/sets.go; apiserver pkg/cel/library/cost.go. Two rules of theirs
are easily missed. A function's own price counts only where the checker is left with one overload: ``object.a + object.b`` costs
1 however long the texts are, ``object.a + 'x'`` a tenth of a character. And a price is that of the *call*, whatever the work:
``list + list`` costs 1 there, because cel-go does not copy. Where our work, or memory, may grow beyond what they count,
``beyond`` is added; it is nothing below a thousand, so no ordinary expression has another cost here than there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from webhook.cel import types
from webhook.cel.budget import Budget
from webhook.cel.declare import Overload
from webhook.cel.errors import go_panic
from webhook.cel.networks import Address, Network
from webhook.cel.types import Kind, Type
from webhook.cel.values import UInt, entries_of, go_name

LIST, MAP, STRUCT = 10, 30, 40
"""Making a list, a map, a typed object (cel-go common/cost.go)."""

LONGEST_RANGE = 1_000_000
"""Longest list that ``lists.range`` makes (cel-go ext/lists.go, defaultMaxRangeSize)."""

_UNCOUNTED = 1_000
_FORMAT_SIZES: Mapping[str, int] = {
    "DNS1123Label": 30, "DNS1123Subdomain": 60, "DNS1035Label": 30, "QualifiedName": 60, "DNS1123LabelPrefix": 30,
    "DNS1123SubdomainPrefix": 60, "DNS1035LabelPrefix": 30, "LabelValue": 40, "URI": 1_103, "uuid": 72, "byte": 84,
    "date": 72, "datetime": 72,
}  # fmt: skip
"""Length that a named format's pattern counts with (apiserver pkg/cel/library/format.go, MaxRegexSize)."""


@dataclass(frozen=True, slots=True)
class Formula:
    """The price of a call by its arguments."""

    run: Callable[..., int]
    source: str = ""
    """The same in Python over ``{0}``, ``{1}``, … where these are text: generated code has it in place of a call."""
    charge: Callable[..., None] | None = None
    """Takes the price from a budget as it is being worked out, where that alone may be much work."""

    def pay(self, budget: Budget, *values: Any) -> None:
        """Take the price from a budget."""
        if self.charge is None:
            budget.spend(self.run(*values))
        else:
            self.charge(budget, *values)


def walk(length: int) -> int:
    """Return the price of walking once through text: a tenth of a unit for a character, rounded up."""
    return (length + 9) // 10


def beyond(size: int) -> int:
    """Return the price of work that the API server does not count: none up to a thousand elements or characters, then a tenth."""
    return size // 10 if size > _UNCOUNTED else 0


def search_price(text: int, pattern: int) -> int:
    """Return the price of a search: lengths of the text and of the pattern."""
    return ((text + 10) // 10) * ((pattern + 3) // 4)


def size_of(value: Any) -> int:
    """Return the size that costs count with: 1 for what has none, such as an argument that failed."""
    kind = type(value)
    if kind is str or kind is list or kind is dict or kind is bytes:
        return len(value)
    if getattr(value, "present", False):  # an optional: the size of what it holds
        return size_of(value.value)
    return len(value) if isinstance(value, Mapping) else 1


def comparison_price(left: Any, right: Any) -> int:
    """Return the price of ``==``: the shorter of both sides is walked through; never less than 1, empty text is 0 there."""
    return walk(min(size_of(left), size_of(right))) or 1


def traversal_price(value: Any) -> int:
    """Return the price of walking through everything below a value: 1 for a scalar, a tenth for a byte of text, rounded down."""
    return sum(_traverse(value))


def charge_traversal(budget: Budget, value: Any, *_: Any) -> None:
    """Take the price of walking through everything, which may be very much: lists may hold one list a thousand times."""
    for part in _traverse(value):
        budget.spend(part)


def _traverse(value: Any) -> Iterator[int]:
    """Yield the price of walking through everything in parts; lists and maps themselves cost nothing, unless very many."""
    total, containers = 0, 0
    open_: list[Iterator[Any]] = [iter((value,))]
    while open_:
        for item in open_[-1]:
            if total > _UNCOUNTED or containers > _UNCOUNTED:
                yield total + beyond(containers)
                total, containers = 0, 0
            kind = type(item)
            if kind is str and not item.isascii():
                yield total + len(item) // 10  # at least, before its bytes are counted, which takes a while
                total = len(item.encode("utf-8", "replace")) // 10 - len(item) // 10
            elif kind is str or kind is bytes:
                total += len(item) // 10
            elif kind is list or isinstance(item, Mapping):
                containers += 1
                open_.append(iter(item) if kind is list else chain.from_iterable(entries_of(item)))
                break
            else:
                total += 1
        else:
            open_.pop()
    yield total


def sorting_price(items: Any) -> int:
    """Return the price of comparing every element with every other one; Go panics over what is no list, even a failure."""
    if type(items) is not list:
        raise go_panic(f"interface conversion: {_go_class(items)} is not traits.Lister")
    if not items:
        return LIST + 1
    tenths = 21 if type(items[0]) in (str, bytes) else 20
    return len(items) * len(items) * tenths // 10 + LIST + 1


def _go_class(value: Any) -> str:
    return "*types.Err" if type(value) is object else go_name(value)


def _texts(times: int = 1) -> Formula:
    if times == 1:
        return Formula(lambda text, *_: (size_of(text) + 9) // 10, "(len({0}) + 9) // 10")
    return Formula(lambda text, *_: (size_of(text) * times + 9) // 10, f"(len({{0}}) * {times} + 9) // 10")


def _bits(network: Any) -> int:
    return (network.length + 7) // 8 if isinstance(network, Network) else size_of(network)


def _contains_ip(network: Any, address: Any) -> int:
    return walk(2 * _bits(network)) + (0 if isinstance(address, Address) else walk(size_of(address)))


def _contains_cidr(network: Any, other: Any) -> int:
    size = _bits(network)
    return walk(2 * size) + walk(size) + 1 + (0 if isinstance(other, Network) else walk(size_of(other)))


def _selector(_: Any, text: Any) -> int:
    length = size_of(text)
    return LIST + walk(length) + (length + 1) // 2 * (LIST + STRUCT)


def _validate(format_: Any, text: Any) -> int:
    longest = _FORMAT_SIZES.get(getattr(format_, "name", ""))
    return 1 if longest is None else search_price(size_of(text), longest)


def _flatten(items: Any, depth: Any = 1) -> int:
    if type(depth) is not int:
        raise go_panic(f"interface conversion: ref.Val is {_go_class(depth)}, not types.Int")
    return size_of(items) * abs(max(depth, -1)) + LIST + 1


def _slice(items: Any, start: Any, end: Any) -> int:
    """Price a slice by what comes out: 1 for a failure."""
    if type(items) is list and type(start) is type(end) is int and 0 <= start <= end <= len(items):
        return end - start + LIST + 1
    return 1 + LIST + 1


def _range(size: Any) -> int:
    return (size if type(size) is int and 0 <= size <= LONGEST_RANGE else 1) + LIST + 1


def _sets(times: int) -> Formula:
    return Formula(lambda left, right: size_of(left) * size_of(right) * times + 1)


def _add(left: Any, right: Any) -> int:
    """Price ``+`` where the types are not known: 1, and what the result takes of our memory."""
    kind = type(left)
    if kind is type(right) and (kind is str or kind is list or kind is bytes):
        return 1 + beyond(len(left) + len(right))
    return 1


def _join(items: Any, separator: Any = "") -> int:
    """Price what cannot be joined; the function itself spends for what it joins."""
    fits = type(items) is list and type(separator) is str and (not items or type(items[0]) is str)
    return 0 if fits else 1


def _sort(items: Any) -> int:
    """Price a sort of elements of unknown type: 1, and our comparisons."""
    return 1 + (beyond(len(items) * len(items).bit_length() // 16) if type(items) is list else 0)


_ONE_TEXT, _TWO_TEXTS = _texts(), _texts(2)
_TRAVERSAL = Formula(lambda target, *_: traversal_price(target), charge=charge_traversal)
_SEARCH = Formula(lambda text, pattern, *_: search_price(size_of(text), size_of(pattern)))

MEMBERSHIP = Formula(lambda _, items: size_of(items))
"""The price of ``x in list`` where the checker knows that it is a list."""

BY_NAME: Mapping[str, int | Formula] = {
    **dict.fromkeys(
        (
            "cidr", "isCIDR", "isIP", "isQuantity", "isSemver", "jsonpatch.escapeKey", "lowerAscii", "quantity", "semver",
            "substring", "trim", "upperAscii", "url",
        ),
        _ONE_TEXT,
    ),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _TWO_TEXTS),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _TRAVERSAL),
    **dict.fromkeys(("find", "findAll"), _SEARCH),
    **dict.fromkeys(("fieldSelector", "labelSelector"), Formula(_selector)),
    "validate": Formula(_validate),
    "containsIP": Formula(_contains_ip),
    "containsCIDR": Formula(_contains_cidr),
    "join": Formula(_join),
    "check": 350_000,  # an authorizer may be a webhook of its own
}  # fmt: skip
"""Prices by name alone, whatever the overload: those of Kubernetes' own estimator."""

_TEXT_COMPARISON = Formula(lambda left, right: walk(min(size_of(left), size_of(right))))
_TWO_SIDES = Formula(lambda left, right: walk(size_of(left) + size_of(right)), "(len({0}) + len({1}) + 9) // 10")
_BY_ONE_OVERLOAD: Mapping[tuple[str, Type | Kind], int | Formula] = {
    ("startsWith", types.STRING): Formula(lambda _, part: walk(size_of(part)), "(len({1}) + 9) // 10"),
    ("endsWith", types.STRING): Formula(lambda _, part: walk(size_of(part)), "(len({1}) + 9) // 10"),
    ("contains", types.STRING): Formula(
        lambda text, part: walk(size_of(text)) * walk(size_of(part)), "((len({0}) + 9) // 10) * ((len({1}) + 9) // 10)"
    ),
    ("matches", types.STRING): _SEARCH,
    ("ip", types.STRING): _ONE_TEXT,
    ("bytes", types.STRING): _ONE_TEXT,
    ("string", types.BYTES): _ONE_TEXT,
    ("strings.quote", types.STRING): _ONE_TEXT,
    ("format", types.STRING): _ONE_TEXT,
    ("_+_", types.STRING): _TWO_SIDES,
    ("_+_", types.BYTES): _TWO_SIDES,
    **{(name, type_): _TEXT_COMPARISON for name in ("_<_", "_<=_", "_>_", "_>=_") for type_ in (types.STRING, types.BYTES)},
    ("slice", Kind.LIST): Formula(_slice),
    ("flatten", Kind.LIST): Formula(_flatten),
    ("reverse", Kind.LIST): Formula(lambda items: size_of(items) + LIST + 1),
    ("distinct", Kind.LIST): Formula(sorting_price),
    ("sort", Kind.LIST): Formula(sorting_price),
    ("@sortByAssociatedKeys", Kind.LIST): Formula(sorting_price),
    ("lists.range", types.INT): Formula(_range),
    ("sets.contains", Kind.LIST): _sets(1),
    ("sets.intersects", Kind.LIST): _sets(1),
    ("sets.equivalent", Kind.LIST): _sets(2),
}
"""Prices of calls that one overload is left for, by its first parameter."""

ADDITION = Formula(_add)
"""The price of ``+`` where the checker does not know of what: 1, but for long text and lists."""

_BY_ANY_OVERLOAD: Mapping[str, Formula] = {
    "_+_": ADDITION,
    "sort": Formula(_sort),
    "@sortByAssociatedKeys": Formula(_sort),
    **dict.fromkeys(
        ("bytes", "string", "double", "duration", "timestamp", "isURL", "optional.unwrap", "unwrapOpt"),
        Formula(lambda value: 1 + beyond(size_of(value))),
    ),
}
"""Prices of calls that several overloads may answer, or of whose work the API server counts nothing."""


def price_of(name: str, fitting: tuple[Overload, ...]) -> int | Formula:
    """Return the price of a call, given the overloads that the checker left for it."""
    if name in BY_NAME:
        return BY_NAME[name]
    if len(fitting) == 1 and fitting[0].parameters:
        first = fitting[0].parameters[0]
        found = _BY_ONE_OVERLOAD.get((name, first), _BY_ONE_OVERLOAD.get((name, first.kind)))
        if found is not None:
            return found
        if first != types.STRING and first.kind not in (Kind.LIST, Kind.DYN):
            return 1
    return _BY_ANY_OVERLOAD.get(name, 1)


def is_member_type(value: Any) -> bool:
    """Tell whether ``x in [value, …]`` becomes a look into a set in cel-go, which costs nothing."""
    return type(value) in (str, bool, int, UInt, float)
