"""What random expressions are made of: literals, texts that functions look for, and the variables of three scenes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from webhook.cel import types
from webhook.cel.declare import Overload
from webhook.cel.types import DYN, Kind, Type, list_of, map_of

QUANTITIES = (
    "'1'",
    "'1Gi'",
    "'-500m'",
    "'1.5Ki'",
    "'0.1'",
    "'3e2'",
    "'1E2'",
    "'.5'",
    "'5.'",
    "'Mi'",
    "''",
    "'1k'",
    "'abc'",
    "'9223372036854775807'",
    "'1e-9'",
    "'1n'",
    "'0.0000000001'",
    "'+7'",
    "' 1'",
    "'12Ei'",
)
ADDRESSES = (
    "'10.0.0.1'",
    "'127.0.0.1'",
    "'::1'",
    "'::ffff:1.2.3.4'",
    "'2001:DB8::'",
    "'fe80::1'",
    "'010.0.0.1'",
    "'1.2.3'",
    "'fe80::1%eth0'",
    "'0.0.0.0'",
    "'224.0.0.1'",
    "''",
)
BLOCKS = (
    "'10.0.0.0/8'",
    "'10.1.2.3/24'",
    "'::1/128'",
    "'2001:db8::/32'",
    "'10.0.0.0/33'",
    "'10.0.0.0'",
    "'::ffff:1.2.3.4/96'",
    "'0.0.0.0/0'",
    "'10.0.0.0/08'",
)
VERSIONS = ("'1.2.3'", "'1.2.3-rc.1+b5'", "'v1.2.3'", "'1.2'", "'01.2.3'", "'1.2.3-01'", "'0.0.0'", "'1.2.3-a.b'", "'1.x'", "''")
ADDRESS_TEXTS = (
    "'https://example.com:80/a%20b?x=1&x=2#f'",
    "'/rel/path?q='",
    "'http://[::1]:8080/'",
    "'not a url'",
    "''",
    "'http://user:pw@host/'",
    "'mailto:a@b'",
    "'https://h/?a;b=%zz'",
    "'http://h:port/'",
)
PATTERNS = ("'a+'", "'^[a-z]*$'", "'(a|b)*c'", "'('", "'\\\\d{2,3}'", "''", "'(?i)ABC'", "'a{1001}'", "'\\\\bx'", "'é'", "'.'")
MOMENTS = (
    "'2024-02-29T12:34:56Z'",
    "'1970-01-01T00:00:00.000000001Z'",
    "'2023-12-31T23:59:59.999+05:30'",
    "'0001-01-01T00:00:00Z'",
    "'9999-12-31T23:59:59Z'",
    "'2023-02-30T00:00:00Z'",
    "'2024-01-01'",
    "'10000-01-01T00:00:00Z'",
    "''",
)
SPANS = ("'1h30m'", "'-2s'", "'1.5s'", "'100ms'", "'1ns'", "'0'", "'1d'", "'1h1'", "'9223372036s'", "''", "'+1us'", "'1µs'")
ZONES = ("'UTC'", "'+02:00'", "'-08:30'", "'Europe/Berlin'", "'nowhere'", "''", "'02:00'", "'America/New_York'", "'+2:0'")
FORMATS = (
    "'%s'",
    "'%d'",
    "'%f'",
    "'%.2f'",
    "'%e'",
    "'%b'",
    "'%x'",
    "'%X'",
    "'%o'",
    "'%%'",
    "'%s and %s'",
    "'%.3e'",
    "'%q'",
    "'%'",
    "'plain'",
    "'%.1d'",
)
NAMES = (
    "'my-name'",
    "'My_Name'",
    "'a.b.c'",
    "'a/b'",
    "'-x'",
    "'x-'",
    "''",
    "'1a'",
    "'aGk='",
    "'123e4567-e89b-12d3-a456-426614174000'",
    "'2024-02-30'",
    "'2024-02-29'",
    "'2024-02-29T01:02:03Z'",
    "'/x?y'",
    "'http://x/y'",
)
FORMAT_NAMES = (
    "'dns1123Label'",
    "'dns1123Subdomain'",
    "'uri'",
    "'byte'",
    "'date'",
    "'datetime'",
    "'uuid'",
    "'nope'",
    "'labelValue'",
)
VERBS = ("'get'", "'create'", "'*'", "''")


def _hints(texts: Iterable[str], place: int, *functions: str) -> dict[tuple[str, int], tuple[str, ...]]:
    return {(function, place): tuple(texts) for function in functions}


HINTS: Mapping[tuple[str, int], tuple[str, ...]] = {
    **_hints(QUANTITIES, 0, "quantity", "isQuantity"),
    **_hints(ADDRESSES, 0, "ip", "isIP", "ip.isCanonical"),
    **_hints(BLOCKS, 0, "cidr", "isCIDR"),
    **_hints((*ADDRESSES, "ip('10.0.0.1')"), 1, "containsIP"),
    **_hints((*BLOCKS, "cidr('10.0.0.0/9')"), 1, "containsCIDR"),
    **_hints(VERSIONS, 0, "semver", "isSemver"),
    **_hints(ADDRESS_TEXTS, 0, "url", "isURL"),
    **_hints(PATTERNS, 1, "matches", "find", "findAll"),
    **_hints(MOMENTS, 0, "timestamp"),
    **_hints(SPANS, 0, "duration"),
    **_hints(
        ZONES,
        1,
        "getHours",
        "getFullYear",
        "getDate",
        "getDayOfWeek",
        "getMinutes",
        "getDayOfYear",
        "getMonth",
        "getMilliseconds",
        "getSeconds",
        "getDayOfMonth",
    ),
    **_hints(FORMATS, 0, "format"),
    **_hints(FORMAT_NAMES, 0, "format.named"),
    **_hints(NAMES, 1, "validate"),
    **_hints(VERBS, 1, "check"),
    **_hints(("'/healthz'", "''", "' '", "'/x'"), 1, "path"),
    **_hints(("'batch'", "''", "'apps'"), 1, "group"),
    **_hints(("'jobs'", "''", "'pods'", "'\t'"), 1, "resource"),
    **_hints(("'ml'", "'Bad NS'", "'a.b'", "''"), 1, "serviceAccount"),
    **_hints(("'runner'", "'a.b'", "'Bad'", "''"), 2, "serviceAccount"),
    **_hints(("'metadata.name=a'", "'!!'", "''"), 1, "fieldSelector", "labelSelector"),
}
"""Texts that an argument of a function is mostly made of; others would nearly always be refused."""

LITERALS: Mapping[Type, tuple[str, ...]] = {
    types.INT: (
        "0",
        "1",
        "-1",
        "2",
        "3",
        "7",
        "100",
        "9223372036854775807",
        "-9223372036854775808",
        "9007199254740993",
        "0x10",
        "i",
    ),
    types.UINT: ("0u", "1u", "2u", "18446744073709551615u", "9223372036854775808u", "u"),
    types.DOUBLE: (
        "0.0",
        "1.0",
        "-1.5",
        "2.0",
        "1e300",
        "9007199254740993.0",
        "9223372036854775807.0",
        "-0.0",
        "double('NaN')",
        "double('Infinity')",
        "1e-7",
        "d",
        "123456789.125",
    ),
    types.BOOL: ("true", "false", "b", "x.yes"),
    types.STRING: (
        "'a'",
        "''",
        "'abc'",
        "'é'",
        "'😀b'",
        "'A B'",
        "'1'",
        "'true'",
        "'1.5'",
        "r'\\d'",
        "'a\\nb'",
        "s",
        "'-1'",
        "'\"q\"'",
        '"d"',
        "'''t'''",
        "' pad '",
        "'main'",
        "'aXbXc'",
        "'9223372036854775808'",
    ),
    types.BYTES: ("b''", "b'ab'", "b'\\xff'", "by", "bytes('é')", "b'\\x00'"),
    types.TIMESTAMP: ("t", *(f"timestamp({text})" for text in MOMENTS[:5]), "timestamp(0)", "timestamp(-1)"),
    types.DURATION: ("du", *(f"duration({text})" for text in SPANS[:5])),
    types.NULL: ("null", "x.none", "oldObject"),
    types.QUANTITY: tuple(f"quantity({text})" for text in QUANTITIES[:7]),
    types.URL: tuple(f"url({text})" for text in ADDRESS_TEXTS[:4]),
    types.IP: tuple(f"ip({text})" for text in ADDRESSES[:6]),
    types.CIDR: tuple(f"cidr({text})" for text in BLOCKS[:5]),
    types.SEMVER: (*(f"semver({text})" for text in VERSIONS[:2]), "semver('v1.2', true)", "semver('01.02.03', true)"),
    types.NAMED_FORMAT: (
        "format.dns1123Label()",
        "format.uri()",
        "format.byte()",
        "format.date()",
        "format.qualifiedName()",
        "format.dns1123SubdomainPrefix()",
        "format.datetime()",
        "format.labelValue()",
        "format.uuid()",
    ),
    types.AUTHORIZER: ("authorizer", "authorizer.serviceAccount('ml', 'runner')"),
    types.RESOURCE_CHECK: ("authorizer.requestResource", "authorizer.group('batch').resource('jobs')"),
    types.GROUP_CHECK: ("authorizer.group('')", "authorizer.group('batch')"),
    types.PATH_CHECK: ("authorizer.path('/healthz')",),
    types.DECISION: ("authorizer.path('/healthz').check('get')", "authorizer.requestResource.check('create')"),
}


@dataclass(frozen=True)
class Vocabulary:
    """What expressions of one scene may speak of."""

    mode: str
    roots: tuple[str, ...]
    typed: tuple[tuple[str, Type], ...] = ()
    """Expressions whose type is declared."""
    fields: tuple[str, ...] = (
        "spec",
        "metadata",
        "name",
        "labels",
        "containers",
        "limits",
        "cpu",
        "replicas",
        "none",
        "list",
        "map",
        "`a.b/c`",
        "namespace",
        "yes",
        "deep",
        "missing",
    )

    def choose(self, overloads: Iterable[Overload]) -> list[Overload]:
        """Leave out what the scene has no use for."""
        has_access = self.mode != "dyn"
        return [item for item in overloads if has_access or not any(part.kind is Kind.STRUCT for part in item.parameters)]

    def known(self, idioms: Iterable[str]) -> list[str]:
        """Leave out what speaks of variables and types that the scene has not."""
        unknown = {"dyn": ("user>", "authorizer", "request", "Object{", "JSONPatch{"), "vap": ("Object{", "JSONPatch{")}.get(
            self.mode, ()
        )
        return [text for text in idioms if not any(word in text for word in unknown)]


TYPED: tuple[tuple[str, Type], ...] = (
    ("i", types.INT),
    ("u", types.UINT),
    ("d", types.DOUBLE),
    ("s", types.STRING),
    ("b", types.BOOL),
    ("by", types.BYTES),
    ("t", types.TIMESTAMP),
    ("du", types.DURATION),
    ("l", list_of(DYN)),
    ("x.list", list_of(DYN)),
    ("x.map", map_of(types.STRING, DYN)),
)
ROOTS = (
    "object",
    "object.spec",
    "object.metadata",
    "object.spec.containers",
    "object.spec.containers[0]",
    "x",
    "x.list",
    "x.map",
    "x.deep",
    "l",
    "m",
    "oldObject",
    "object.metadata.labels",
    "n",
)
POLICY_TYPED: tuple[tuple[str, Type], ...] = (
    *TYPED,
    ("request.userInfo.groups", list_of(types.STRING)),
    ("request.name", types.STRING),
    ("request.dryRun", types.BOOL),
    ("request.operation", types.STRING),
    ("request.subResource", types.STRING),
    ("request.kind.kind", types.STRING),
    ("request.userInfo.extra", map_of(types.STRING, list_of(types.STRING))),
    ("namespaceObject.metadata.name", types.STRING),
    ("namespaceObject.metadata.labels", map_of(types.STRING, types.STRING)),
    ("namespaceObject.status.phase", types.STRING),
    ("namespaceObject.metadata.creationTimestamp", types.TIMESTAMP),
    ("namespaceObject.spec.finalizers", list_of(types.STRING)),
)
POLICY_ROOTS = (
    *ROOTS,
    "request",
    "request.userInfo",
    "request.requestKind",
    "request.options",
    "namespaceObject",
    "params",
    "namespaceObject.metadata",
    "namespaceObject.status",
    "authorizer",
    "authorizer.requestResource",
)
PATCHES = (
    "Object{spec: Object.spec{replicas: 3}}",
    "Object{}",
    "Object.spec{?replicas: optional.of(1)}",
    "JSONPatch{op: 'add'}",
    "JSONPatch{op: 'replace', path: '/spec/' + jsonpatch.escapeKey('a/b'), value: i}",
    "JSONPatch{op: 1}",
    "Other{}",
    "Object{metadata: Object.metadata{labels: {'a': 'b'}}}",
    "Object{spec: 1}",
    "JSONPatch{nope: ''}",
)
VOCABULARIES = (
    Vocabulary("dyn", ROOTS, TYPED),
    Vocabulary("vap", POLICY_ROOTS, POLICY_TYPED),
    Vocabulary("map", (*POLICY_ROOTS, *PATCHES), POLICY_TYPED),
)

TYPES = {
    "i": "int",
    "u": "uint",
    "d": "double",
    "s": "string",
    "b": "bool",
    "by": "bytes",
    "t": "timestamp",
    "du": "duration",
    "l": "list",
    "m": "map",
}
VALUES: Mapping[str, Any] = {
    "i": 5,
    "u": {"$uint": "6"},
    "d": {"$double": "2.5"},
    "s": "hello",
    "b": True,
    "by": {"$bytes": "AAH/"},
    "t": {"$timestamp": "2024-02-29T12:34:56.789Z"},
    "du": {"$duration": "5400000000000"},
    "l": [1, "a", None, [2], {"k": 1}],
    "m": {"a": 1, "b": "x"},
    "n": {"$map": [[1, "one"], [True, "yes"], [{"$uint": "2"}, "two"]]},
    "x": {
        "yes": True,
        "none": None,
        "list": [3, 1, 2],
        "map": {"a": 1, "b": 2},
        "a.b/c": "tick",
        "deep": {"list": [[1], []], "name": ""},
        "name": "x",
        "cpu": "500m",
        "replicas": {"$double": "2.0"},
    },
    "object": {
        "metadata": {"name": "train", "namespace": "ml", "labels": {"app": "a", "team": "b"}, "annotations": {}},
        "spec": {
            "replicas": 3,
            "cpu": "1",
            "containers": [
                {"name": "main", "limits": {"cpu": "2", "memory": "4Gi"}, "yes": True},
                {"name": "side", "list": [], "none": None},
            ],
        },
    },
    "oldObject": None,
    "params": {"spec": {"replicas": 2}, "list": ["a", "b"]},
    "request": {
        "operation": "CREATE",
        "name": "train",
        "namespace": "ml",
        "dryRun": False,
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
        "userInfo": {"username": "alice", "groups": ["dev", "ops"], "extra": {"scope": ["a"]}},
    },
    "namespaceObject": {
        "metadata": {"name": "ml", "labels": {"team": "a"}, "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    },
}
ACCESS = [
    {"path": "/healthz", "verb": "get", "allowed": True, "reason": "open"},
    {"group": "batch", "resource": "jobs", "verb": "create", "allowed": True},
    {"resource": "pods", "allowed": False, "error": "webhook is down"},
    {"user": "system:serviceaccount:ml:runner", "allowed": True, "reason": "bot"},
]
