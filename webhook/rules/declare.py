"""What expressions of a policy may refer to, and of which types: apiserver pkg/admission/plugin/cel/compile.go.

The types bind at compile time only. At run time the API server hands over plain JSON, so ``metadata.UID`` of a
namespace compiles and is never there, and its timestamps are declared as such but are text. Where that hurts an
author it does so in the API server as well, and one verdict is worth more than a nicer one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from webhook.cel import Declarations
from webhook.cel.types import (
    AUTHORIZER,
    BOOL,
    DOUBLE,
    DYN,
    INT,
    NULL,
    RESOURCE_CHECK,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    list_of,
    map_of,
)
from webhook.rules.cluster import CLUSTER_METHODS

_OWN = "gangwarden."
"""Types that the API server does not have, and so has no say about."""
ADMISSION_ROOTS = frozenset({"object", "oldObject", "request", "namespaceObject"})
"""What expressions read that are evaluated in a review and never again."""
WORKLOAD_ROOTS = frozenset({"object", "namespaceObject"})
"""What expressions read that the controller evaluates again later, when no request is at hand."""


def _struct(name: str, /, **fields: Type) -> Type:
    return Type(Kind.STRUCT, f"kubernetes.{name}", fields=fields)


def _own_struct(name: str, /, **fields: Type) -> Type:
    return Type(Kind.STRUCT, f"{_OWN}{name}", fields=fields)


_KIND = _struct("GroupVersionKind", group=STRING, version=STRING, kind=STRING)
_RESOURCE = _struct("GroupVersionResource", group=STRING, version=STRING, resource=STRING)
_USER = _struct("UserInfo", username=STRING, uid=STRING, groups=list_of(STRING), extra=map_of(STRING, list_of(STRING)))
REQUEST_TYPE = _struct(
    "AdmissionRequest",
    kind=_KIND,
    resource=_RESOURCE,
    subResource=STRING,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=STRING,
    name=STRING,
    namespace=STRING,
    operation=STRING,
    userInfo=_USER,
    dryRun=BOOL,
    options=DYN,
)
_NAMESPACE_METADATA = _struct(
    "NamespaceMetadata",
    name=STRING,
    generateName=STRING,
    namespace=STRING,
    labels=map_of(STRING, STRING),
    annotations=map_of(STRING, STRING),
    UID=STRING,
    creationTimestamp=TIMESTAMP,
    deletionGracePeriodSeconds=INT,
    deletionTimestamp=TIMESTAMP,
    generation=INT,
    resourceVersion=STRING,
    finalizers=list_of(STRING),
)
_CONDITION = _struct(
    "NamespaceCondition", status=STRING, type=STRING, lastTransitionTime=TIMESTAMP, message=STRING, reason=STRING
)
NAMESPACE_TYPE = _struct(
    "Namespace",
    metadata=_NAMESPACE_METADATA,
    spec=_struct("NamespaceSpec", finalizers=list_of(STRING)),
    status=_struct("NamespaceStatus", conditions=list_of(_CONDITION), phase=STRING),
)
_TYPED = {"request": REQUEST_TYPE, "namespaceObject": NAMESPACE_TYPE}
_ROOM = {"fits": BOOL, "largest": INT, "domain": STRING, "reason": STRING}
_AMOUNTS = map_of(STRING, STRING)
CLUSTER_RESULTS: Mapping[str, Type] = {
    "cluster.fit": _own_struct("Fit", **_ROOM, whenEmpty=_own_struct("EmptyFit", **_ROOM), notModelled=list_of(STRING)),
    "cluster.topology": list_of(_own_struct("Domain", name=STRING, nodes=INT, allocatable=_AMOUNTS, free=_AMOUNTS)),
    "cluster.capability": BOOL,
    "cluster.ageSeconds": DOUBLE,
    "cluster.quotas": list_of(DYN),
    "cluster.controllers": list_of(STRING),
}
"""What ``cluster`` answers with, so that a slip in a field's name is found at load; objects by name are dyn."""
ACCESS_TYPES: Mapping[str, Type] = {"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK}
"""The variables by which an expression asks what somebody may do; they need somebody who made a request."""
FETCHED = frozenset({"namespaceObject", *ACCESS_TYPES})
"""The variables that are there only once a program reads them."""


def declare(roots: frozenset[str], *, has_params: bool) -> Declarations:
    """Declare what the expressions of a policy may read, variables aside."""
    typed = {root: type_ for root, type_ in _TYPED.items() if root in roots}
    return Declarations(
        variables=(roots - _TYPED.keys()) | ({"params"} if has_params else set()),
        hosts={"cluster": CLUSTER_METHODS},
        results=CLUSTER_RESULTS,
        types={**typed, **ACCESS_TYPES} if "request" in roots else typed,
    )


def without_access(base: Declarations) -> Declarations:
    """Take ``authorizer`` away: a messageExpression does not have it (plugin/policy/validating/plugin.go, compilePolicy)."""
    return replace(base, types={name: type_ for name, type_ in base.types.items() if name not in ACCESS_TYPES})


def with_variables(base: Declarations, variables: Mapping[str, Type]) -> Declarations:
    """Add ``variables`` with the types of the variables that may be read so far."""
    fields = {name: _as_field(type_) for name, type_ in variables.items()}
    return replace(base, types={**base.types, "variables": _struct("variables", **fields)})


def _as_field(type_: Type) -> Type:
    """Return what is left of a type in a field of ``variables`` (composition.go, convertCelTypeToDeclType)."""
    if type_.kind in (Kind.LIST, Kind.MAP):
        return replace(type_, parameters=tuple(map(_as_field, type_.parameters)))
    return type_ if type_.kind in (Kind.PLAIN, Kind.NULL) or type_.name.startswith(_OWN) else DYN


IS_BOOL = (BOOL,)
IS_TEXT = (STRING,)
IS_TEXT_OR_NULL = (STRING, NULL)
