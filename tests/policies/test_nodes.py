"""What YAML means: the same as to kubectl. The values were compared with sigs.k8s.io/yaml v1.6.0 over 30,000 scalars."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.policies import BrokenSource, read_documents


def read(text: str, path: str = "x.yaml") -> list[Any]:
    return [document.root.plain() for document in read_documents(text.encode(), path)]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("on", True), ("yes", True), ("y", True), ("N", False), ("off", False), ("True", True), ("tRue", "tRue"),
        ("~", None), ("", None), ("null", None), ("nUll", "nUll"),
        ("17", 17), ("017", 15), ("0o17", 15), ("08", 8), ("0x1F", 31), ("0b101", 5), ("1_000", 1000), ("-0", 0),
        ("1.0", 1), ("1.5", 1.5), (".5", 0.5), ("1e3", 1000), ("9223372036854775807", 9223372036854775807), ("1e400", "1e400"),
        ("18446744073709551615", 18446744073709551615.0), ("12:30", "12:30"), ("2001-12-14", "2001-12-14"), ("1.2.3", "1.2.3"),
        ("9" * 5000, "9" * 5000),
        ("100Mi", "100Mi"), ("'on'", "on"), ('"17"', "17"), ("!!str 17", "17"), ("!!int '17'", 17), ("<<", "<<"), ("=", "="),
    ],
)  # fmt: skip
def test_a_scalar_means_what_it_means_to_kubernetes(written: str, value: Any) -> None:
    (found,) = read(f"a: {written}")
    assert (found["a"], type(found["a"])) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("yes: 1\n2: 3\n1.5: 4", {"true": 1, "2": 3, "1.5": 4}, id="keys become text"),
        pytest.param("x: &a {p: 1, q: 2}\nz: {<<: *a, q: 3}", {"x": {"p": 1, "q": 2}, "z": {"p": 1, "q": 3}}, id="a merge"),
        pytest.param("a: &a [1]\nb: *a", {"a": [1], "b": [1]}, id="an alias"),
        pytest.param("a: [1,\n\t2]", {"a": [1, 2]}, id="a tab within brackets"),
        pytest.param("a: |\n  x\n   y\n\n  z\n", {"a": "x\n y\n\nz\n"}, id="a block"),
    ],
)
def test_a_document_means_what_it_means_to_kubernetes(text: str, value: Any) -> None:
    assert read(text) == [value]


def test_documents_are_many_and_empty_ones_are_left_out() -> None:
    assert read("# nothing\n---\na: 1\n---\n---\nb: 2\n...\n") == [{"a": 1}, {"b": 2}]


def test_json_is_read_with_its_own_escapes() -> None:
    assert read('{\n\t"a": "\\ud83d\\ude00 \\u00e9 \\\\ud83d \\/", "b": [true, null, 1.5]\n}', "x.json") == [
        {"a": "😀 é \\ud83d /", "b": [True, None, 1.5]}
    ]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        pytest.param("a:\n\t- b", "a tab stands where YAML wants spaces", 2, 1, id="a tab before a list entry"),
        pytest.param("a: 1\n\tb: 2", "a tab stands where YAML wants spaces", 2, 1, id="a tab before a key"),
        pytest.param("a:\n  \tb: 2", "a tab stands where YAML wants spaces", 2, 3, id="a tab after spaces"),
        pytest.param("a: 1\nb: 2\na: 3", 'duplicate key "a" (first at line 1)', 3, 1, id="a duplicate key"),
        pytest.param("yes: 1\ntrue: 2", 'duplicate key "true" (first at line 1)', 2, 1, id="two keys that mean the same"),
        pytest.param(
            BOMB, "aliases stand for more than 10000 values: refused as a possible alias bomb", 5, 8, id="an alias bomb"
        ),
        pytest.param("a: &a [*a]", "alias *a has no anchor before it", 1, 8, id="an alias to itself"),
        pytest.param("a: *x", "alias *x has no anchor before it", 1, 4, id="an alias to nothing"),
        pytest.param("[" * 500, "nested deeper than 100 levels", 1, 102, id="deep nesting"),
        pytest.param("a: b: c", "not YAML: mapping values are not allowed in this context", 1, 5, id="two colons"),
        pytest.param("a: .inf", ".inf is not a number that JSON knows; quote it if it is text", 1, 4, id="infinity"),
        pytest.param("? [a]\n: b", "a key must be a plain text", 1, 3, id="a list as key"),
        pytest.param("~: 1", "a key must not be null", 1, 1, id="null as key"),
        pytest.param("a: !!python/object:os.system x", "tag !!python/object:os.system is not supported", 1, 4, id="a Python tag"),
        pytest.param("a: !!int x", "cannot read 'x' as !!int", 1, 4, id="a tag that does not fit"),
        pytest.param("a: 1\nb: \x01", "not YAML: control characters are not allowed", 2, 0, id="a control character"),
        pytest.param(
            "a: 'x", "not YAML: while scanning a quoted scalar found unexpected end of stream", 1, 6, id="an open quote"
        ),
    ],
)
def test_a_broken_text_says_what_and_where(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(BrokenSource) as raised:
        read(text)
    assert (raised.value.message, raised.value.line, raised.value.column) == (message, line, column)


def test_bytes_that_are_not_utf8_are_told_by_line() -> None:
    with pytest.raises(BrokenSource, match="not UTF-8") as raised:
        list(read_documents(b"a: 1\nb: \xff", "x.yaml"))
    assert raised.value.line == 2
