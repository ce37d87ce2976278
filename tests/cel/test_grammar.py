"""The patched grammar: every patch is asserted, and what it adds can be parsed."""

from __future__ import annotations

import pytest

from webhook.cel import CompileError, Declarations, compile_expression
from webhook.cel.grammar import PATCHES, GrammarChanged, Patch, patch_grammar, read_grammar

NAMES = Declarations(variables=frozenset({"object"}))


@pytest.mark.parametrize("patch", PATCHES, ids=[patch.found.split()[0] for patch in PATCHES])
def test_a_grammar_without_the_text_of_a_patch_fails_loudly(patch: Patch) -> None:
    with pytest.raises(GrammarChanged, match="0 times"):
        patch_grammar(read_grammar().replace(patch.found, ""))


@pytest.mark.parametrize("patch", PATCHES, ids=[patch.found.split()[0] for patch in PATCHES])
def test_a_grammar_with_that_text_twice_fails_loudly(patch: Patch) -> None:
    with pytest.raises(GrammarChanged, match="2 times"):
        patch_grammar(patch.found + read_grammar())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("object.?a.?b.orValue(1)", 1),
        ("object[?'a'].hasValue()", False),
        ("object.`x-y/z.w`", 7),
        ("[1, 2,]", [1, 2]),
        ("{'a': 1,}", {"a": 1}),
        ("[?object.?a, ?object.?`x-y/z.w`]", [7]),
        ("{?'a': object.?a, 'b': dyn(1)}", {"b": 1}),
        (r"r'\d' + '\x41\101\u00e9\U0001F600\`\?'", "\\dAAé😀`?"),
        ("'''a\nb'''", "a\nb"),
        ('"""say "hi\\""""', 'say "hi"'),
        (r"""r"a\" + "b" """, "a\\b"),
        (r"b'\377\x00é'", b"\xff\x00\xc3\xa9"),
        ("1 // one\n+ 1", 2),
        ("object['x-y/z.w']-1", 6),
        ("- 1 - -1", 0),
        ("!!true", True),
        ("--1", 1),
        (".5e1 + 1e0", 6.0),
        ("0x1F", 31),
    ],
)
def test_the_language_of_cel_go_is_read(text: str, value: object) -> None:
    assert compile_expression(text, NAMES).evaluate({"object": {"x-y/z.w": 7}}) == value


@pytest.mark.parametrize(
    "text",
    [
        "object.in",
        "object.true",
        "for",
        "a b",
        "f(1,)",
        "1.",
        "'a\nb'",
        "'\\q'",
        "b'\\u00e9'",
        "'\\ud800'",
        "[,1]",
        "object.all()",
        "!-1",
        "`a`",
        "1e400",
    ],
)
def test_what_cel_go_cannot_read_is_refused(text: str) -> None:
    with pytest.raises(CompileError):
        compile_expression(text, NAMES)


def test_a_leading_dot_makes_a_plain_call_of_a_macro() -> None:
    with pytest.raises(CompileError, match="undeclared reference to 'has'"):
        compile_expression(".has(object.a)", Declarations(variables=frozenset({"object"})))
    assert compile_expression(".size('abc')", Declarations()).evaluate({}) == 3
