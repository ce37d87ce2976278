"""cel-python's own interpreter as a third opinion: what it can be asked, and its answers in the form of ours."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import celpy
from celpy import celtypes
from celpy.celparser import CELParseError
from celpy.evaluation import base_functions
from lark import Tree

from tests.cel.suites import Case
from webhook.cel import decode_tagged

_MACROS = frozenset({"all", "exists", "exists_one", "map", "filter"})
_FUNCTIONS = {*base_functions, "dyn", "has"}
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_TYPES: Mapping[type, str] = {
    celtypes.BoolType: "bool",
    celtypes.BytesType: "bytes",
    celtypes.DoubleType: "double",
    celtypes.DurationType: "google.protobuf.Duration",
    celtypes.IntType: "int",
    celtypes.ListType: "list",
    celtypes.MapType: "map",
    celtypes.StringType: "string",
    celtypes.TimestampType: "google.protobuf.Timestamp",
    celtypes.TypeType: "type",
    celtypes.UintType: "uint",
    type(None): "null_type",
}
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "$uint": lambda text: celtypes.UintType(int(text)),
    "$double": lambda text: celtypes.DoubleType(float(text)),
    "$bytes": lambda text: celtypes.BytesType(base64.b64decode(text)),
    "$timestamp": celtypes.TimestampType,
    "$duration": lambda text: celtypes.DurationType(timedelta(microseconds=int(text) // 1_000)),
    "$map": lambda pairs: celtypes.MapType([(_given(key), _given(value)) for key, value in pairs]),
}


@cache
def interpreter() -> celpy.Environment:
    """Make the environment at first use."""
    return celpy.Environment(runner_class=celpy.InterpretedRunner)


def interpret(case: Case) -> tuple[str, Any] | None:
    """Return the stage that was reached and the value, or None where cel-python lacks the syntax or a function."""
    try:
        tree = interpreter().compile(case["expr"])
    except CELParseError:
        return None
    if not _is_common(tree):
        return None
    variables = {name: _given(value) for name, value in (case.get("vars") or {}).items()}
    try:
        return "value", plain(interpreter().program(tree).evaluate(variables))
    except (celpy.CELEvalError, ValueError) as error:  # it lets errors of int() through
        return None if "undeclared reference" in str(error) else ("eval", str(error))  # such as sets, Object


def _is_common(tree: Tree[Any]) -> bool:
    """Tell whether cel-python has every function that is called; to call others fills the memory with its message."""
    for call in tree.find_pred(lambda node: node.data in ("ident_arg", "dot_ident_arg", "member_dot_arg")):
        name = next(str(child) for child in call.children if not isinstance(child, Tree))
        if not (_arguments(call) == 2 if name in _MACROS else name in _FUNCTIONS):
            return False
    return True


def _arguments(call: Tree[Any]) -> int:
    lists = [child for child in call.children if isinstance(child, Tree) and child.data == "exprlist"]
    return len(lists[0].children) if lists else 0


def _given(value: Any) -> Any:
    if isinstance(value, list):
        return celtypes.ListType([_given(item) for item in value])
    if not isinstance(value, dict):
        return celpy.json_to_cel(value)
    if len(value) == 1 and (tag := next(iter(value))) in _READERS:
        return _READERS[tag](value[tag])
    return celtypes.MapType([(celtypes.StringType(key), _given(item)) for key, item in value.items()])


def plain(value: Any) -> Any:
    """Write a value of cel-python as ``normal`` writes one of ours."""
    match value:
        case celtypes.BoolType() | bool():
            return bool(value)
        case celtypes.UintType():
            return {"$uint": int(value)}
        case celtypes.IntType():
            return int(value)
        case float():
            return {"$double": repr(float(value))}
        case bytes():
            return {"$bytes": list(value)}
        case list():
            return [plain(item) for item in value]
        case celtypes.MapType():
            return _pairs([plain(key), plain(item)] for key, item in value.items())
        case datetime():
            return {"$timestamp": (value - _EPOCH) // _MICROSECOND}
        case timedelta():
            return {"$duration": value // _MICROSECOND}
        case type():
            return {"$type": _TYPES[value]}
    return None if value is None else str(value)


def normal(tagged: Any) -> Any:
    """Write a tagged value so that it can be compared: times in microseconds, cel-python knows nothing finer."""
    if isinstance(tagged, list):
        return [normal(item) for item in tagged]
    if not isinstance(tagged, dict):
        return tagged
    match list(tagged.items()):
        case [("$map", pairs)]:
            return _pairs([normal(key), normal(item)] for key, item in pairs)
        case [(("$timestamp" | "$duration") as tag, _)]:
            return {tag: decode_tagged(tagged).nanoseconds // 1_000}
        case [("$uint", text)]:
            return {"$uint": int(text)}
        case [("$double", text)]:
            return {"$double": repr(float(text))}
        case [("$bytes", text)]:
            return {"$bytes": list(base64.b64decode(text))}
        case [("$type", name)]:
            return {"$type": name}
    return _pairs([key, normal(item)] for key, item in tagged.items())


def _pairs(pairs: Any) -> Any:
    return {"$map": sorted(pairs, key=json.dumps)}
