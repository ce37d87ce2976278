"""Static types of expressions, as the API server's checker has them (cel-go common/types/types.go)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """Shapes of types that the rules of assignability tell apart."""

    DYN = "dyn"
    ERROR = "error"
    NULL = "null"
    PLAIN = "plain"
    LIST = "list"
    MAP = "map"
    TYPE = "type"
    OPAQUE = "opaque"
    STRUCT = "struct"
    PARAMETER = "parameter"


@dataclass(frozen=True, slots=True)
class Type:
    """A type; ``name`` is what ``type(x)`` shows at run time."""

    kind: Kind
    name: str
    parameters: tuple[Type, ...] = ()
    fields: Mapping[str, Type] | None = field(default=None, compare=False, hash=False)
    """Of a STRUCT only: its fields. ``None``: every field is there, and dyn."""

    def __str__(self) -> str:
        """Return the name as compile errors of the API server write it."""
        shown = _SHORT_NAMES.get(self.name, self.name)
        if self.kind is Kind.OPAQUE and not self.parameters:
            return f"{shown}"
        return f"{shown}({', '.join(map(str, self.parameters))})" if self.parameters else shown

    @property
    def is_dyn(self) -> bool:
        """Tell whether any value may stand here (an error has been reported already, so it fits too)."""
        return self.kind is Kind.DYN or self.kind is Kind.ERROR


_SHORT_NAMES = {"google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration", "null_type": "null"}

DYN = Type(Kind.DYN, "dyn")
ERROR = Type(Kind.ERROR, "!error!")
NULL = Type(Kind.NULL, "null_type")
BOOL = Type(Kind.PLAIN, "bool")
INT = Type(Kind.PLAIN, "int")
UINT = Type(Kind.PLAIN, "uint")
DOUBLE = Type(Kind.PLAIN, "double")
STRING = Type(Kind.PLAIN, "string")
BYTES = Type(Kind.PLAIN, "bytes")
TIMESTAMP = Type(Kind.PLAIN, "google.protobuf.Timestamp")
DURATION = Type(Kind.PLAIN, "google.protobuf.Duration")
TYPE = Type(Kind.TYPE, "type")
QUANTITY = Type(Kind.OPAQUE, "kubernetes.Quantity")
URL = Type(Kind.OPAQUE, "kubernetes.URL")
IP = Type(Kind.OPAQUE, "net.IP")
CIDR = Type(Kind.OPAQUE, "net.CIDR")
SEMVER = Type(Kind.OPAQUE, "kubernetes.Semver")
NAMED_FORMAT = Type(Kind.OPAQUE, "kubernetes.NamedFormat")
AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION = (
    Type(Kind.STRUCT, f"kubernetes.authorization.{name}", fields={})
    for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)
"""Objects without fields: nothing but methods applies to them."""
STRUCT_NAMES = frozenset({"google.protobuf.Timestamp", "google.protobuf.Duration"})


def list_of(element: Type) -> Type:
    """Make the type of a list."""
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Make the type of a map."""
    return Type(Kind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    """Make the type of an optional."""
    return Type(Kind.OPAQUE, "optional_type", (value,))


def type_of(value: Type) -> Type:
    """Make the type of a type value."""
    return Type(Kind.TYPE, "type", (value,))


def parameter(name: str) -> Type:
    """Make a type parameter: ``A`` in ``list(A)``."""
    return Type(Kind.PARAMETER, name)


def is_optional(type_: Type) -> bool:
    """Tell whether a value of this type is an optional."""
    return type_.name == "optional_type" and type_.kind is Kind.OPAQUE


def unwrap_optional(type_: Type) -> tuple[Type, bool]:
    """Return what an optional holds, and whether it was one."""
    return (type_.parameters[0], True) if is_optional(type_) else (type_, False)


TYPE_NAMES: Mapping[str, Type] = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "int": INT,
    "uint": UINT,
    "string": STRING,
    "null_type": NULL,
    "type": TYPE,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.Duration": DURATION,
    "optional_type": optional_of(DYN),
    "net.IP": IP,
    "net.CIDR": CIDR,
}
"""Names of types that may stand as values: ``type(x) == int``."""
