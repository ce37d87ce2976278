"""``gangwarden eval``: one expression, or JSON lines of them, for authors and for comparison with other engines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from types import MappingProxyType, NoneType
from typing import Any

import click

from webhook.cel import (
    Budget,
    CompileError,
    Declarations,
    EvaluationError,
    Program,
    access_variables,
    compile_expression,
    decode_tagged,
    encode_tagged,
    types,
)
from webhook.errors import InputError, UsageError
from webhook.model.access import AccessList, AccessQuestion, AccessUser, access_list
from webhook.model.objects import Object
from webhook.reports import json_text
from webhook.rules import ACCESS_TYPES, NAMESPACE_TYPE, REQUEST_TYPE
from webhook.settings import EvaluationSettings

STANDARD_VARIABLES = ("object", "oldObject", "request", "params", "namespaceObject", "variables")
"""What the API server's environment always declares; left out, they are null."""
_TYPES: Mapping[str, types.Type] = MappingProxyType(
    {
        "int": types.INT,
        "uint": types.UINT,
        "double": types.DOUBLE,
        "string": types.STRING,
        "bool": types.BOOL,
        "bytes": types.BYTES,
        "timestamp": types.TIMESTAMP,
        "duration": types.DURATION,
        "list": types.list_of(types.DYN),
        "map": types.map_of(types.STRING, types.DYN),
        "dyn": types.DYN,
    }
)
"""What ``types`` may say of a variable; those it does not name are dyn."""
MODES = ("dyn", "vap", "map")
"""``vap`` declares variables as a ValidatingAdmissionPolicy does, ``map`` as a MutatingAdmissionPolicy; ``dyn`` types none."""
_FORMS: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {"expr": (str,), "vars": (dict, NoneType), "types": (dict, NoneType), "authz": (list, NoneType)}
)
_WORDS: Mapping[type, str] = MappingProxyType({str: "a string", dict: "an object", list: "a list"})
_CHOICES: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {"mode": (None, *MODES), "env": (None, "stored", "new"), "nocheck": (None, False, True)}
)


@click.command("eval")
@click.argument("expression", required=False)
@click.option("--jsonl", is_flag=True, help="Read one JSON request a line from standard input, answer one a line.")
@click.option("--vars", "variables", metavar="JSON", default="{}", help="Variables by name, as one JSON object.")
@click.option("--cost", "priced", is_flag=True, help="Tell the cost as well: on stderr, with --jsonl in the answer.")
def eval_command(expression: str | None, variables: str, *, jsonl: bool, priced: bool) -> None:
    """Evaluate a CEL expression as the API server would. An error exits with 3 when compiling, with 1 when evaluating."""
    if jsonl == (expression is not None):
        raise UsageError("give either an expression or --jsonl")
    if jsonl:
        for number, line in enumerate(sys.stdin, 1):
            if line.strip():
                click.echo(json_text(answer(_request(line, number), priced=priced)))
        return
    reply = answer({"expr": expression, "vars": _given(variables)}, priced=True)
    if priced and "cost" in reply:
        click.echo(f"cost: {reply['cost']:,} of {EvaluationSettings().cost_per_expression:,} units", err=True)
    if reply["ok"]:
        click.echo(json_text(reply["result"], indent=2))
        return
    if reply["stage"] in {"request", "vars"}:
        raise UsageError(f"--vars: {reply['error']}")
    click.echo(f"error ({reply['stage']}): {reply['error']}", err=True)
    sys.exit(3 if reply["stage"] == "compile" else 1)


def answer(request: Object, *, priced: bool = False) -> Object:
    """Return the reply to one request: ``{id, ok, result}`` or ``{id, ok, stage, error}``; ``priced``: and ``cost`` if it ran."""
    known: Object = {"id": request["id"]} if "id" in request else {}
    budget = Budget(EvaluationSettings().cost_per_expression)
    try:
        found: Object = {"ok": True, "result": _result(request, budget)}
    except _RefusedError as refusal:
        found = {"ok": False, "stage": refusal.stage, "error": str(refusal)}
    has_run = found.get("stage", "eval") == "eval"
    return {**known, **found, **({"cost": budget.spent} if priced and has_run else {})}


class _RefusedError(Exception):
    """There is no result."""

    def __init__(self, stage: str, error: object) -> None:
        super().__init__(str(error))
        self.stage = stage


def prepare(request: Object) -> tuple[Program, Mapping[str, Any]]:
    """Return the program of a request and what it is evaluated with; raises CompileError for what cannot be compiled."""
    values = _values(request.get("vars") or {})
    program = compile_expression(request["expr"], _declared(request, values))
    return program, {**dict.fromkeys(STANDARD_VARIABLES), **values, **_access(request)}


def _result(request: Object, budget: Budget) -> Any:
    _check_form(request)
    try:
        program, activation = prepare(request)
        return encode_tagged(program.evaluate(activation, budget))
    except CompileError as error:
        raise _RefusedError("compile", error) from error
    except EvaluationError as error:
        raise _RefusedError("eval", error) from error


def _declared(request: Object, values: Object) -> Declarations:
    mode = request.get("mode") or "dyn"
    typed = {name: _TYPES.get(str(word), types.DYN) for name, word in (request.get("types") or {}).items()}
    if mode != "dyn":
        typed |= {"request": REQUEST_TYPE, "namespaceObject": NAMESPACE_TYPE, **ACCESS_TYPES}
    return Declarations(
        variables=frozenset((*STANDARD_VARIABLES, *values)),
        types=typed,
        patch_types=mode != "vap",
        new_expressions=request.get("env") == "new",
        checked=not request.get("nocheck"),
    )


def _access(request: Object) -> Mapping[str, Any]:
    """Return ``authorizer`` and ``authorizer.requestResource``, for the user and the resource that ``vars.request`` names."""
    if request.get("mode") in (None, "dyn"):
        return {}
    asked = _mapping((request.get("vars") or {}).get("request"))
    user, resource = _mapping(asked.get("userInfo")), _mapping(asked.get("resource"))
    question = AccessQuestion(
        user=AccessUser(
            name=str(user.get("username", "")), uid=str(user.get("uid", "")), groups=tuple(map(str, user.get("groups") or ()))
        ),
        verb="",
        group=str(resource.get("group", "")),
        resource=str(resource.get("resource", "")),
        subresource=str(asked.get("subResource", "")),
        namespace=str(asked.get("namespace", "")),
        name=str(asked.get("name", "")),
    )
    return access_variables(_rules(request.get("authz") or []), question.user, question)


def _mapping(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _rules(given: list[Any]) -> AccessList:
    try:
        return access_list(given, source="authz")
    except InputError as error:
        raise _RefusedError("request", error) from error


def _check_form(request: Object) -> None:
    for name, forms in _FORMS.items():
        if not isinstance(request.get(name), forms):
            raise _RefusedError("request", f"{name} must be {_WORDS[forms[0]]}")
    for name, choices in _CHOICES.items():
        if request.get(name) not in choices:
            raise _RefusedError("request", f"{name} {json.dumps(request[name])} is not supported by this version")


def _values(given: Object) -> Object:
    try:
        return {name: decode_tagged(value) for name, value in given.items()}
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, EvaluationError) as error:
        raise _RefusedError("vars", f"a tagged value cannot be read: {error}") from error


def _request(line: str, number: int) -> Object:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", source="<stdin>", line=number) from error
    if not isinstance(found, dict):
        raise InputError("a request must be a JSON object", source="<stdin>", line=number)
    return found


def _given(variables: str) -> Any:
    try:
        return json.loads(variables)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--vars is not JSON: {error}") from error
