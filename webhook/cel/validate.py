"""Checks that the API server makes after type checking: constants that can never be read, and mixed literals.

Sources: cel-go cel/validator.go and ext/formatting.go, as chosen in apiserver pkg/cel/environment/base.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from webhook.cel import types
from webhook.cel.check import Checker, mismatch
from webhook.cel.errors import CompileError, EvaluationError
from webhook.cel.library.formatting import REFUSALS, Clause, read_clauses
from webhook.cel.library.regex import compile_pattern
from webhook.cel.syntax import Call, Constant, ListLiteral, MapLiteral, Node, children
from webhook.cel.times import parse_duration, parse_timestamp
from webhook.cel.types import Type


def validate(node: Node, checker: Checker) -> None:
    """Refuse a checked expression that the API server's validators refuse."""
    for part, exempt in _walk(node):
        if isinstance(part, Call):
            _validate_call(part)
            _validate_search(part)
            _validate_format(checker, part)
        elif isinstance(part, ListLiteral) and not exempt:
            _validate_homogeneous(checker, part.items, part.optional)
        elif isinstance(part, MapLiteral) and not exempt:
            _validate_homogeneous(checker, part.keys, [False] * len(part.keys))
            _validate_homogeneous(checker, part.values, part.optional)


def _walk(root: Node) -> Iterator[tuple[Node, bool]]:
    """Yield every node, and whether it is within a call of ``format``, whose arguments may be of any mix of types."""
    waiting = [(root, False)]
    while waiting:
        node, exempt = waiting.pop()
        yield node, exempt
        exempt = exempt or (isinstance(node, Call) and node.function == "format")
        waiting.extend((child, exempt) for child in reversed(children(node)))


def _validate_call(call: Call) -> None:
    if not call.arguments or call.function not in ("duration", "timestamp", "matches"):
        return
    argument = call.arguments[0]
    if isinstance(argument, Constant) and type(argument.value) is str and not _is_readable(call.function, argument.value):
        raise CompileError(f"invalid {call.function} argument", *argument.place)


def _validate_search(call: Call) -> None:
    """Compile a constant pattern, as the API server does when it builds a program (cel/library/regex.go)."""
    if call.function not in ("find", "findAll") or call.target is None or not call.arguments:
        return
    pattern = call.arguments[0]
    if isinstance(pattern, Constant) and type(pattern.value) is str:
        try:
            compile_pattern(pattern.value)
        except EvaluationError as error:
            raise CompileError(error.message, *call.place) from error


def _validate_format(checker: Checker, call: Call) -> None:
    """Try a constant format text with the types of its arguments, where these are written out."""
    target, arguments = call.target, call.arguments
    if call.function != "format" or not isinstance(target, Constant) or type(target.value) is not str or len(arguments) != 1:
        return
    if not isinstance(arguments[0], ListLiteral):
        return
    items = arguments[0].items
    used = 0
    try:
        for clause in read_clauses(target.value, len(items)):
            if isinstance(clause, Clause):
                used += 1
                _validate_argument(checker, clause, items[clause.position])
    except EvaluationError as error:
        raise CompileError(error.message, *call.place) from error
    if len(items) > used:
        raise CompileError(f"too many arguments supplied to string.format (expected {used}, got {len(items)})", *call.place)


_TAKES: Mapping[str, tuple[str, ...]] = {
    "d": ("int", "uint"),
    "f": ("double", "string"),
    "e": ("double", "string"),
    "b": ("int", "uint", "bool"),
    "x": ("int", "uint", "string", "bytes"),
    "X": ("int", "uint", "string", "bytes"),
    "o": ("int", "uint"),
}
_WRITABLE = (
    types.TIMESTAMP.name,
    types.DURATION.name,
    "list",
    "map",
    "int",
    "uint",
    "double",
    "bool",
    "string",
    "bytes",
    "type",
    "null_type",
)


def _validate_argument(checker: Checker, clause: Clause, item: Node) -> None:
    found = checker.type_of(item)
    if found != types.DYN and found.name not in _TAKES.get(clause.verb, _WRITABLE):
        raise CompileError(f"error during formatting: {REFUSALS[clause.verb]}, was given {found.name}", *item.place)
    if clause.verb == "s" and isinstance(item, ListLiteral | MapLiteral):
        for part in children(item):
            _validate_argument(checker, clause, part)


def _is_readable(function: str, text: str) -> bool:
    try:
        if function == "duration":
            return parse_duration(text) is not None
        if function == "timestamp":
            return parse_timestamp(text) is not None
        compile_pattern(text)
    except EvaluationError:
        return False
    return True


def _validate_homogeneous(checker: Checker, items: Iterable[Node], optional: Iterable[bool]) -> None:
    wanted: Type | None = None
    for item, may_miss in zip(items, optional, strict=True):
        found = checker.type_of(item)
        if may_miss:
            found, was_optional = types.unwrap_optional(found)
            if not was_optional:  # cel-go's validator panics
                raise CompileError(f"expected type 'optional_type' but found '{found}'", *item.place)
        if wanted is not None and wanted != found:
            raise mismatch(item, wanted, found)
        wanted = wanted or found
