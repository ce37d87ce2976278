"""cel-python's grammar, brought to the language of cel-go by asserted text patches, and the parser made from it.

cel-python 0.5.0 lacks optional selection and entries, escaped field names and trailing commas, and reads some literals
otherwise than cel-go (parser/gen/CEL.g4). Each patch must find its text exactly once: a release that changes the grammar
fails here, loudly, before it can change the meaning of a policy.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from typing import Any

import lark
from lark import Lark, Token, Transformer

from webhook.cel import _parser_table


class GrammarChanged(RuntimeError):  # noqa: N818 - says what happened
    """The installed cel-python has a grammar that our patches were not written for."""


@dataclass(frozen=True, slots=True)
class Patch:
    """One replacement within the grammar's text."""

    found: str
    replacement: str


_ESCAPE = r"""\\[abfnrtv"'\\?`]|\\[0-3][0-7]{2}|\\[xX][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}"""
_SHORT = r"""STRING_LIT     : /[rR]?"(?:\\[abfnrtv"'\\]|\\\d{3}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4-8}|.)*?"/
               | /[rR]?'(?:\\[abfnrtv"'\\]|\\\d{3}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|.)*?'/

"""
_LONG = r"""MLSTRING_LIT   : /[rR]?\"""(?:\\[abfnrtv"'\\]|\\\d{3}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4-8}|\r\n|\r|\n|.)*?\"""/
               | /[rR]?'''(?:\\[abfnrtv"'\\]|\\\d{3}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\r\n|\r|\n|.)*?'''/
""".replace('\\"""', '"""')
_NEW_SHORT = rf"""STRING_LIT     : /"(?:{_ESCAPE}|[^"\\\n\r])*"/
               | /'(?:{_ESCAPE}|[^'\\\n\r])*'/
               | /[rR]"[^"\n\r]*"/
               | /[rR]'[^'\n\r]*'/

"""
_NEW_LONG = rf'''MLSTRING_LIT   : /"""(?:{_ESCAPE}|[^\\])*?"""/
               | /\'\'\'(?:{_ESCAPE}|[^\\])*?\'\'\'/
               | /[rR]"""(?:.|[\n\r])*?"""/
               | /[rR]\'\'\'(?:.|[\n\r])*?\'\'\'/
'''.replace("\\'", "'")

PATCHES = (
    Patch(
        "member         : member_dot | member_dot_arg | member_index | member_object | primary",
        "member         : member_dot | member_dot_opt | member_dot_arg | member_index | member_index_opt | member_object\n"
        "               | primary",
    ),
    Patch(
        'member_dot     : member "." IDENT\n',
        'member_dot     : member "." field\nmember_dot_opt : member "." "?" field\nfield          : IDENT | ESC_IDENT\n',
    ),
    Patch(
        'member_index   : member "[" expr "]"\n',
        'member_index   : member "[" expr "]"\nmember_index_opt : member "[" "?" expr "]"\n',
    ),
    Patch('member_object  : member "{" [fieldinits] "}"\n', 'member_object  : member "{" [fieldinits] [","] "}"\n'),
    Patch('list_lit       : "[" [exprlist] "]"', 'list_lit       : "[" [listinits] [","] "]"'),
    Patch('map_lit        : "{" [mapinits] "}"', 'map_lit        : "{" [mapinits] [","] "}"'),
    Patch(
        'fieldinits     : IDENT ":" expr ("," IDENT ":" expr)*\n',
        'listinits      : listinit | listinits "," listinit\nlistinit       : ["?"] expr\n\n'
        'fieldinits     : fieldinit | fieldinits "," fieldinit\nfieldinit      : ["?"] field ":" expr\n',
    ),
    Patch(
        'mapinits       : expr ":" expr ("," expr ":" expr)*\n',
        'mapinits       : mapinit | mapinits "," mapinit\nmapinit        : ["?"] expr ":" expr\n',
    ),
    Patch(
        'FLOAT_LIT      : /-?/ DIGIT+ "." DIGIT* EXPONENT? | /-?/ DIGIT* "." DIGIT+ EXPONENT? | /-?/ DIGIT+ EXPONENT\n',
        'FLOAT_LIT      : /(-[ \\t\\n\\f\\r]*)?/ DIGIT* "." DIGIT+ EXPONENT? | /(-[ \\t\\n\\f\\r]*)?/ DIGIT+ EXPONENT\n',
    ),
    Patch(
        "INT_LIT        : /-?/ /0x/ HEXDIGIT+ | /-?/ DIGIT+\n",
        "INT_LIT        : /(-[ \\t\\n\\f\\r]*)?0x[0-9a-fA-F]+(?![0-9a-fA-FuU])/ | /(-[ \\t\\n\\f\\r]*)?[0-9]+(?![0-9uUxX])/\n",
    ),
    Patch("UINT_LIT       : INT_LIT /[uU]/\n", "UINT_LIT       : /0x[0-9a-fA-F]+[uU]/ | /[0-9]+[uU]/\n"),
    Patch(_SHORT, _NEW_SHORT),
    Patch(_LONG, _NEW_LONG),
    Patch("IDENT          : /[_a-zA-Z]", "ESC_IDENT      : /`[a-zA-Z0-9_.\\-\\/ ]+`/\n\nIDENT          : /[_a-zA-Z]"),
    Patch("COMMENT        : /\\/\\/.*/", "COMMENT        : /\\/\\/[^\\n]*/"),
)


def _split_words(token: Token) -> Token:
    """Tell the words ``true`` and ``false`` from names (as cel-python does; the lexer sees one terminal)."""
    return Token.new_borrow_pos("BOOL_LIT", token.value, token) if token.value in ("true", "false") else token


_CALLBACKS = {"IDENT": _split_words}
_OPTIONS: dict[str, Any] = {
    "parser": "lalr",
    "lexer": "contextual",
    "start": "expr",
    "g_regex_flags": re.MULTILINE,
    "keep_all_tokens": True,
    "maybe_placeholders": False,
    "priority": "invert",
}


def patch_grammar(text: str) -> str:
    """Apply every patch; raises ``GrammarChanged`` where one does not match exactly once."""
    for patch in PATCHES:
        matches = text.count(patch.found)
        if matches != 1:
            raise GrammarChanged(
                f"cel-python's grammar matches {matches} times instead of once: {patch.found!r}. "
                "Install the cel-python version of requirements.lock, or adapt webhook/cel/grammar.py."
            )
        text = text.replace(patch.found, patch.replacement)
    return text


def read_grammar() -> str:
    """Return the grammar that the installed cel-python carries."""
    return resources.files("celpy").joinpath("cel.lark").read_text(encoding="utf-8")


def fingerprint() -> str:
    """Return what tells our grammar from another; raises ``GrammarChanged`` like ``patch_grammar``."""
    return sha256(patch_grammar(read_grammar()).encode()).hexdigest()


def load_parser(transformer: Transformer[Token, object]) -> Lark:
    """Return the parser of ``build_parser`` from stored tables; builds it where those are of another grammar or Lark."""
    tables = stored_tables()
    if tables is None:
        return build_parser(transformer)
    tables["data"]["options"] = dict(_OPTIONS)
    loaded: Lark = Lark.__new__(Lark)._load(tables, transformer=transformer, lexer_callbacks=_CALLBACKS)  # noqa: SLF001 - as Lark.load does, without a file and pickle
    return loaded


def stored_tables() -> dict[str, Any] | None:
    """Return the tables of the parser, as Lark takes them; None where they are of another grammar or Lark."""
    if (fingerprint(), lark.__version__) != (_parser_table.GRAMMAR, _parser_table.LARK):
        return None
    found: dict[str, Any] = json.loads(zlib.decompress(b64decode(_parser_table.TABLES)), object_hook=_numbered)
    return found


def _numbered(found: dict[str, Any]) -> dict[str | int, Any]:
    """Return a mapping with the numbers back that JSON has made text of."""
    return {int(key) if key.isdigit() else key: value for key, value in found.items()}


def build_parser(transformer: Transformer[Token, object]) -> Lark:
    """Build an LALR parser that hands every rule to ``transformer`` as soon as it is complete.

    No tree is built and nothing recurses, so the depth of an expression costs the parser nothing. All tokens are kept:
    an operator's position is what the API server reports for it.
    """
    return Lark(
        patch_grammar(read_grammar()),
        **_OPTIONS,
        lexer_callbacks=_CALLBACKS,
        transformer=transformer,
    )
