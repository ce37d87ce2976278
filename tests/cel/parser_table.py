"""Writes ``webhook/cel/_parser_table.py``: the parser's tables, which Lark would compute for a seventh of a second at each start.

Lark numbers states in an order that changes from run to run; here they are numbered in the order in which they are met.
"""

from __future__ import annotations

import base64
import json
import textwrap
import zlib
from pathlib import Path
from typing import Any

import lark

from webhook.cel import grammar
from webhook.cel.parse import Builder

TARGET = Path(__file__).parents[2] / "webhook" / "cel" / "_parser_table.py"
HEAD = '''\
"""The parser's tables as Lark computes them from our grammar: JSON, compressed. Generated; do not edit.

Printed by ``python -m tests.cel.parser_table``. Whoever changes the grammar or Lark runs it again: until then tables are
computed at every start, because ``GRAMMAR`` and ``LARK`` say what these were made from.
"""

'''


def computed() -> dict[str, Any]:
    """Return the tables as they are computed from the grammar, in a form that is the same in every run."""
    parser = grammar.build_parser(Builder())
    data, memo = parser.memo_serialize([lark.lexer.TerminalDef, lark.grammar.Rule])
    del data["options"]
    data["parser"]["parser"] = _in_order(data["parser"]["parser"])
    return {"data": data, "memo": memo}


def as_json(tables: dict[str, Any]) -> str:
    """Return tables as text; flags of regular expressions become numbers."""
    return json.dumps(tables, default=int, separators=(",", ":"))


def _in_order(tables: dict[str, Any]) -> dict[str, Any]:
    names = tables["tokens"]
    tokens = sorted(names.values())
    numbers = {name: number for number, name in enumerate(tokens)}
    order = list(tables["start_states"].values())
    for state in order:  # grows while it is walked
        actions = sorted(tables["states"][state].items(), key=lambda item: names[item[0]])
        order += dict.fromkeys(target for _, (kind, target) in actions if kind == 0 and target not in order)
    place = {state: number for number, state in enumerate(order)}
    return {
        "tokens": dict(enumerate(tokens)),
        "states": {
            place[state]: {
                numbers[names[token]]: (kind, place[target] if kind == 0 else target)
                for token, (kind, target) in sorted(tables["states"][state].items(), key=lambda item: names[item[0]])
            }
            for state in order
        },
        "start_states": {name: place[state] for name, state in tables["start_states"].items()},
        "end_states": {name: place[state] for name, state in tables["end_states"].items()},
    }


def source() -> str:
    """Return the module's text."""
    text = as_json(computed()).encode()
    lines = textwrap.wrap(base64.b64encode(zlib.compress(text, 9)).decode(), 125)
    told = f'GRAMMAR = "{grammar.fingerprint()}"\nLARK = "{lark.__version__}"\n'
    return f'{HEAD}{told}TABLES = """\n' + "\n".join(lines) + '\n"""\n'


if __name__ == "__main__":
    TARGET.write_text(source(), encoding="utf-8")
