"""The tables in the repository are those of the grammar: nobody has to trust them, or remember to renew them."""

from __future__ import annotations

import pytest

from tests.cel import parser_table
from webhook.cel import _parser_table, grammar
from webhook.cel.parse import Builder


def test_the_tables_are_those_of_the_grammar() -> None:
    stored = grammar.stored_tables()
    assert stored is not None
    assert parser_table.as_json(stored) == parser_table.as_json(parser_table.computed()), "run python -m tests.cel.parser_table"


@pytest.mark.parametrize("name", ["GRAMMAR", "LARK"])
def test_tables_of_another_grammar_or_lark_are_not_used(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(_parser_table, name, "another")
    assert grammar.stored_tables() is None
    assert repr(grammar.load_parser(Builder()).parse("1 + 1")) == repr(grammar.build_parser(Builder()).parse("1 + 1"))


@pytest.mark.parametrize(
    "text", ["a.b[?'c'].d", "[1, ?x,].exists(y, y > 0x1fu)", "{'a': -1.5e3, ?'b': b'\\x00'}", "T{`x`: r'y'} // z"]
)
def test_a_parser_from_tables_reads_what_one_from_the_grammar_reads(text: str) -> None:
    assert repr(grammar.load_parser(Builder()).parse(text)) == repr(grammar.build_parser(Builder()).parse(text))
