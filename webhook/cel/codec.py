"""Tagged JSON: values that JSON cannot tell apart, as conformance suites and ``gangwarden eval --jsonl`` exchange them.

``{"$uint":"1"}``, ``{"$double":"1.5"}``, ``{"$bytes":base64}``, ``{"$timestamp":RFC 3339}``, ``{"$duration":nanoseconds}``,
``{"$type":name}``, ``{"$optional":[v]}`` or ``[]``, ``{"$map":[[k,v],…]}`` for keys that are not
text, ``{"$opaque":type,"str":text}``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from webhook.cel.authorization import AccessValue
from webhook.cel.errors import EvaluationError
from webhook.cel.show import show_double
from webhook.cel.structs import JsonPatch, TypedObject
from webhook.cel.times import parse_timestamp, show_timestamp
from webhook.cel.values import NONE, Duration, KeyedMap, Opaque, Optional, Timestamp, TypeValue, UInt, entries_of


def _read_timestamp(text: str) -> Timestamp:
    found = parse_timestamp(text)
    if found is None:
        raise ValueError(f"not a timestamp: {text!r}")
    return found


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "$uint": UInt,
    "$double": float,
    "$bytes": base64.b64decode,
    "$timestamp": _read_timestamp,
    "$duration": lambda text: Duration(int(text)),
    "$type": TypeValue,
    "$optional": lambda items: Optional(decode_tagged(items[0])) if items else NONE,
    "$map": lambda pairs: KeyedMap((decode_tagged(key), decode_tagged(value)) for key, value in pairs),
}


def decode_tagged(data: Any) -> Any:
    """Return the value that tagged JSON stands for; raises ValueError for a tag that has no value here."""
    if type(data) is list:
        return [decode_tagged(item) for item in data]
    if type(data) is not dict:
        return data
    if len(data) == 1 or "$opaque" in data:
        ((tag, content), *_) = data.items()
        if tag in _READERS:
            return _READERS[tag](content)
        if tag == "$opaque":
            raise ValueError(f"a value of type {content} cannot be read back; build it in the expression")
    return {key: decode_tagged(value) for key, value in data.items()}


def encode_tagged(value: Any) -> Any:
    """Return tagged JSON for a value; raises EvaluationError for what is no value, such as a host."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is list:
        return [encode_tagged(item) for item in value]
    if isinstance(value, Mapping):
        if all(type(key) is str for key in value):
            return {key: encode_tagged(item) for key, item in value.items()}
        return {"$map": [[encode_tagged(key), encode_tagged(item)] for key, item in entries_of(value)]}
    return _encode_special(value)


def _encode_field(value: Any) -> Any:
    """Return what a field of ``Object{…}`` becomes: objects within it are plain, as in the object that a patch is merged into."""
    if isinstance(value, TypedObject) and not isinstance(value, JsonPatch):
        return {field: _encode_field(item) for field, item in value.fields.items()}
    if type(value) is list:
        return [_encode_field(item) for item in value]
    return encode_tagged(value)


def _encode_special(value: Any) -> Any:
    match value:
        case UInt():
            return {"$uint": str(int(value))}
        case float():
            return {"$double": _double(value)}
        case bytes():
            return {"$bytes": base64.b64encode(value).decode()}
        case Timestamp():
            return {"$timestamp": show_timestamp(Timestamp(value.nanoseconds))}
        case Duration():
            return {"$duration": str(value.nanoseconds)}
        case TypeValue():
            return {"$type": value.name}
        case Optional():
            return {"$optional": [encode_tagged(value.value)] if value.present else []}
        case JsonPatch():
            fields = {"op": "", "path": "", **value.fields}
            return {"$jsonpatch": {field: encode_tagged(item) for field, item in fields.items() if item or field != "from"}}
        case TypedObject():
            return {"$object": value.name, "fields": {field: _encode_field(item) for field, item in value.fields.items()}}
        case AccessValue():
            return {"$opaque": value.cel_type.name, "str": "no such overload"}
        case Opaque():
            return {"$opaque": value.cel_type.name, "str": str(value)}
        case _:
            raise EvaluationError(f"a value of type {type(value).__name__} cannot leave an expression", "conversion")


def _double(value: float) -> str:
    return {"+Inf": "Infinity", "-Inf": "-Infinity"}.get(show_double(value), show_double(value))
