r"""Unicode classes that Go knows and RE2 does not, or otherwise: Go counts what is not assigned to ``\pC``, and takes long names.

Source: regexp/syntax of Go 1.26 (parse.go, unicodeTable). Go looks for scripts by one word only, so that it
finds none whose name has two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from webhook.cel.errors import EvaluationError

_CLASS = re.compile(r"\\[pP](?:[A-Za-z]|\{[^}]*\})")
_PARTS = re.compile(
    rf"(?P<quoted>\\Q.*?(?:\\E|\Z))|(?P<class>{_CLASS.pattern})|\\.|(?P<named>\[:\^?\w+:\])|(?P<open>\[\^?\]?)|(?P<close>\])|.",
    re.DOTALL,
)
_CHARACTERS = r"\pL\pM\pN\pP\pS\pZ"
_ASSIGNED = _CHARACTERS + r"\p{Cc}\p{Cf}\p{Cs}\p{Co}"
_MADE: Mapping[str, tuple[bool, str]] = {
    "c": (False, _CHARACTERS), "other": (False, _CHARACTERS), "cn": (False, _ASSIGNED), "unassigned": (False, _ASSIGNED),
    "assigned": (True, _ASSIGNED), "lc": (True, r"\p{Lu}\p{Ll}\p{Lt}"), "casedletter": (True, r"\p{Lu}\p{Ll}\p{Lt}"),
    "ascii": (True, r"\x00-\x7F"), "any": (True, r"\x{0}-\x{10FFFF}"),
}  # fmt: skip
"""What classes are made of: whether they are these, or all but these."""
_NAMES: Mapping[str, str] = {
    "control": "Cc", "cntrl": "Cc", "format": "Cf", "privateuse": "Co", "surrogate": "Cs", "letter": "L",
    "lowercaseletter": "Ll", "modifierletter": "Lm", "otherletter": "Lo", "titlecaseletter": "Lt", "uppercaseletter": "Lu",
    "mark": "M", "combiningmark": "M", "spacingmark": "Mc", "enclosingmark": "Me", "nonspacingmark": "Mn", "number": "N",
    "decimalnumber": "Nd", "digit": "Nd", "letternumber": "Nl", "othernumber": "No", "punctuation": "P", "punct": "P",
    "connectorpunctuation": "Pc", "dashpunctuation": "Pd", "closepunctuation": "Pe", "finalpunctuation": "Pf",
    "initialpunctuation": "Pi", "otherpunctuation": "Po", "openpunctuation": "Ps", "symbol": "S", "currencysymbol": "Sc",
    "modifiersymbol": "Sk", "mathsymbol": "Sm", "othersymbol": "So", "separator": "Z", "lineseparator": "Zl",
    "paragraphseparator": "Zp", "spaceseparator": "Zs",
}  # fmt: skip
_SHORT: Mapping[str, str] = {name.lower(): name for name in _NAMES.values()}


def with_classes_of_go(pattern: str) -> str:
    """Write a pattern so that RE2 takes its classes as Go does; raises EvaluationError for one that has no words for that."""
    if _CLASS.search(pattern) is None:
        return pattern
    parts, within = [], False
    for match in _PARTS.finditer(pattern):
        kind = match.lastgroup
        parts.append(_written(match[0], within=within) if kind == "class" else match[0])
        within = (kind == "open" or within) and kind != "close"
    return "".join(parts)


def _written(text: str, *, within: bool) -> str:
    inner = text[2:].strip("{}")
    is_meant = (text[1] == "p") is not inner.startswith("^")
    name = re.sub(r"[ _-]", "", inner.removeprefix("^")).lower()
    if name not in _MADE:
        known = _NAMES.get(name) or _SHORT.get(name) or name.capitalize()
        return rf"\{'p' if is_meant else 'P'}{{{known}}}"
    is_these, members = _MADE[name]
    is_these = is_these is is_meant
    if not within:
        return f"[{'' if is_these else '^'}{members}]"
    if not is_these:
        raise EvaluationError(f"error parsing regexp: {text} within brackets is not supported", "parse")
    return members
