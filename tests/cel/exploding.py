"""Expressions that can be made to explode: their work grows with ``n``, within one call or over many turns of a loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from webhook.cel import Declarations, types

DECLARED = Declarations(variables=frozenset({"object", "words"}), types={"words": types.list_of(types.STRING)})
"""The variables; ``words`` is the list of the object, with a type."""

Values = Callable[[int], Any]


class Growth(NamedTuple):
    """An expression over ``object``, what the object is by size, and the size that it is measured at."""

    text: str
    values: Values
    size: int


def activation(growth: Growth, size: int) -> dict[str, Any]:
    """Return the variables of a size."""
    made = growth.values(size)
    return {"object": made, "words": made.get("l")}


def letters(n: int) -> Any:
    """Make a text."""
    return {"t": "a" * n}


def mixed(n: int) -> Any:
    """Make a text of words that differ."""
    return {"t": " ".join(str(number) for number in range(n))}


def numbers(n: int) -> Any:
    """Make a list of numbers."""
    return {"l": list(range(n))}


def words(n: int) -> Any:
    """Make a list of short texts."""
    return {"l": [f"word {number}" for number in range(n)]}


def turns(n: int) -> Any:
    """Make many turns of a loop, over one list and text of a moderate size."""
    return {
        "l": list(range(n)),
        "few": list(range(300)),
        "words": [f"word {number}" for number in range(300)],
        "t": "ab" * 1_000,
        "digits": "1" * 1_000,
        "map": {f"key {number}": number for number in range(300)},
    }


def twins(n: int) -> Any:
    """Make two equal structures."""
    return {"a": [{"k": [number]} for number in range(n)], "b": [{"k": [number]} for number in range(n)]}


def twin_maps(n: int) -> Any:
    """Make two equal maps."""
    return {"a": {str(number): [number] for number in range(n)}, "b": {str(number): [number] for number in range(n)}}


def _two_texts(n: int) -> Any:
    return {"t": "a" * n, "u": "a" * (n - 1) + "b"}


def _same_texts(n: int) -> Any:
    return {"t": "a" * n, "u": "a" * n}


def _url(n: int) -> Any:
    return {"t": "https://example.com/" + "a" * n + "?q=" + "b" * n}


ONE_CALL: Mapping[str, Growth] = {
    "text + text": Growth("(object.t + '').size() > 0 && (object.t + object.t).size() > 0", letters, 1_000_000),
    "replace": Growth("object.t.replace('a', 'bcdefghijk').size() > 0", letters, 500_000),
    "join": Growth("object.l.join(', ').size() > 0", words, 20_000),
    "split": Growth("object.t.split(' ').size() > 0", mixed, 50_000),
    "format of text": Growth("'%s and %s'.format([object.t, object.t]).size() > 0", letters, 1_000_000),
    "format of a list": Growth("'%s'.format([object.l]).size() > 0", words, 20_000),
    "quote": Growth("strings.quote(object.t).size() > 0", letters, 1_000_000),
    "lists.range": Growth("lists.range(object.t.size()).size() > 0", letters, 120_000),
    "flatten": Growth("[object.l, object.l].flatten().size() > 0", numbers, 500_000),
    "distinct": Growth("object.l.distinct().size() > 0", numbers, 500),
    "distinct of text": Growth("object.l.distinct().size() > 0", words, 500),
    "sort": Growth("words.sort().size() > 0", words, 600),
    "sort of anything": Growth("object.l.sort().size() > 0", numbers, 50_000),
    "sortBy": Growth("object.l.sortBy(x, -x).size() > 0", numbers, 500),
    "list + list": Growth("(object.l + object.l).size() > 0", numbers, 500_000),
    "reverse": Growth("object.l.reverse().size() > 0", numbers, 500_000),
    "slice": Growth("object.l.slice(0, object.l.size()).size() > 0", numbers, 500_000),
    "matches, constant": Growth("object.t.matches('(a|b)*c')", letters, 1_000_000),
    "matches, dynamic": Growth("object.t.matches(object.t.substring(0, 100) + 'c')", letters, 200_000),
    "find, constant": Growth("object.t.find('a+c') == ''", letters, 1_000_000),
    "findAll, constant": Growth("object.t.findAll('a').size() > 0", letters, 300_000),
    "findAll to the end": Growth("object.t.findAll('a.*c|a').size() > 0", letters, 20_000),
    "sets.contains": Growth("sets.contains(object.l, object.l)", numbers, 700),
    "sets.equivalent": Growth("sets.equivalent(object.l, object.l)", numbers, 500),
    "bytes and back": Growth("string(bytes(object.t)).size() > 0", letters, 1_000_000),
    "map": Growth("object.l.map(x, x + 1).size() > 0", numbers, 40_000),
    "filter": Growth("object.l.filter(x, x >= 0).size() > 0", numbers, 40_000),
    "map within map": Growth("object.l.map(x, object.l.map(y, x + y)).size() > 0", numbers, 250),
    "transformMap": Growth("object.l.transformMap(i, x, x + 1).size() > 0", numbers, 60_000),
    "transformMapEntry": Growth("object.l.transformMapEntry(i, x, {string(x): i}).size() > 0", numbers, 20_000),
    "quantity": Growth("isQuantity(object.t)", lambda n: {"t": "1" * n}, 1_000_000),
    "url": Growth("url(object.t).getQuery().size() > 0", _url, 100_000),
    "semver": Growth("isSemver('1.2.3-' + object.t)", letters, 400_000),
    "named format": Growth("!format.dns1123Label().validate(object.t).hasValue()", letters, 100_000),
    "equal lists": Growth("object.a == object.b", twins, 50_000),
    "equal maps": Growth("object.a == object.b", twin_maps, 50_000),
    "in a list": Growth("-1 in object.l", numbers, 500_000),
    "in a list of text": Growth("'' in object.l", words, 500_000),
    "indexOf": Growth("object.l.indexOf(-1) < 0", numbers, 300_000),
    "indexOf of text that is not ASCII": Growth("object.t.indexOf('b') < 0", lambda n: {"t": "é" * n}, 1_000_000),
    "sum": Growth("[1].map(x, object.l)[0].sum() > 0", numbers, 300_000),
    "double of text": Growth("double(object.t) > 0.0", lambda n: {"t": "0." + "1" * n}, 1_000_000),
    "upperAscii": Growth("object.t.upperAscii().size() > 0", letters, 1_000_000),
    "lastIndexOf of text": Growth("object.t.lastIndexOf('b') < 0", letters, 1_000_000),
    "contains": Growth("object.t.contains(object.u)", _two_texts, 200_000),
    "equal texts": Growth("object.t == object.u", _two_texts, 10_000_000),
    "unlike texts": Growth("object.t != object.u", _two_texts, 10_000_000),
    "startsWith": Growth("object.t.startsWith(object.u)", _same_texts, 10_000_000),
    "endsWith": Growth("object.t.endsWith(object.u)", _same_texts, 10_000_000),
    "order of texts": Growth("words[0] <= words[1]", lambda n: {"l": ["a" * n, "a" * n]}, 10_000_000),
}  # fmt: skip
"""Work within one call."""

SMALL: Mapping[str, Growth] = {
    "equal texts": Growth("object.t == object.u", _two_texts, 66_666),
    "startsWith": Growth("object.t.startsWith(object.u)", _same_texts, 66_666),
    "one field": Growth("object.t == 'a'", letters, 1),
}
"""What takes a few microseconds and less than a hundredth of the least budget: nothing explodes there, and being stopped takes as
long as it always does."""

MANY_TURNS: Mapping[str, Growth] = {
    name: Growth(f"object.l.all(x, {text})", turns, size)
    for name, (text, size) in {
        "text + text": ("(object.t + object.t).size() > 0", 500),
        "replace": ("object.t.replace('a', object.t).size() > 0", 20),
        "join": ("object.words.join(object.t).size() > 0", 20),
        "split": ("object.t.split('').size() > 0", 1_000),
        "format": ("'%s%s'.format([object.words, object.map]).size() > 0", 100),
        "format with digits": ("'%.900f'.format([1.5]).size() > 0", 50_000),
        "quote": ("strings.quote(object.t).size() > 0", 1_000),
        "lists.range": ("lists.range(10000).size() > 0", 50),
        "flatten": ("[object.few, object.few, object.few, object.few].flatten().size() > 0", 1_000),
        "distinct": ("object.few.distinct().size() > 0", 4),
        "sort": ("object.words.sort().size() > 0", 1_000),
        "list + list": ("(object.few + object.few).size() > 0", 5_000),
        "matches, constant": ("!object.t.matches('(a|b)*c')", 1_000),
        "matches, dynamic": ("!object.t.matches(object.words[1] + '|x+y')", 500),
        "findAll": ("object.t.findAll('[ab]').size() > 0", 200),
        "a pattern of its own": ("!'abc'.matches('x{' + string(x % 900 + 1) + '}')", 2_000),
        "a set of its own": ("sets.contains(object.few, object.few)", 5),
        "bytes": ("bytes(object.t) != b''", 1_000),
        "map": ("object.few.map(y, x).size() > 0", 100),
        "filter": ("object.few.filter(y, y >= x - x).size() > 0", 100),
        "quantity": ("quantity(object.digits).isGreaterThan(quantity('1'))", 2_000),
        "string of a large number": ("string(9223372036854775807).size() > 0", 50_000),
        "url": ("isURL('http://a/' + object.t)", 200),
        "equal maps": ("object.map == object.map", 1_000),
        "in a list": ("!('x' in object.words)", 10_000),
        "time": ("timestamp('2024-02-29T12:34:56Z').getFullYear('Europe/Berlin') > 0", 50_000),
        "semver": ("semver('1.2.3-a.b').isLessThan(semver('1.2.4'))", 50_000),
        "addresses": ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", 50_000),
        "fields": ("object.map['key 7'] == 7", 50_000),
        "arithmetic": ("x * 2 + 1 > x", 20_000),
    }.items()
}
"""Work in a loop over ``n`` elements."""
