"""``gangwarden eval``: one expression, or JSON lines of them, for authors and for comparison with other engines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from webhook.cel import Budget, CompileError, Declarations, EvaluationError, compile_expression, decode_tagged, encode_tagged
from webhook.errors import InputError, UsageError
from webhook.model.objects import Object
from webhook.settings import EvaluationSettings

STANDARD_VARIABLES = ("object", "oldObject", "request", "params", "namespaceObject", "variables")
"""What the API server's environment always declares; left out, they are null."""


@click.command("eval")
@click.argument("expression", required=False)
@click.option("--jsonl", is_flag=True, help="Read one JSON request a line from standard input, answer one a line.")
@click.option("--vars", "variables", metavar="JSON", default="{}", help="Variables by name.")
def eval_command(expression: str | None, variables: str, *, jsonl: bool) -> None:
    """Evaluate a CEL expression as the API server would."""
    if jsonl == (expression is not None):
        raise UsageError("give either an expression or --jsonl")
    if jsonl:
        for number, line in enumerate(sys.stdin, 1):
            if line.strip():
                click.echo(json.dumps(answer(_request(line, number)), ensure_ascii=False))
        return
    reply = answer({"expr": expression, "vars": _json(variables, "--vars")})
    if reply["ok"]:
        click.echo(json.dumps(reply["result"], indent=2, ensure_ascii=False))
        return
    click.echo(f"error ({reply['stage']}): {reply['error']}", err=True)
    sys.exit(3 if reply["stage"] == "compile" else 1)


def answer(request: Object) -> Object:
    """Return the reply to one request: ``{id, ok, result}`` or ``{id, ok, stage, error}``."""
    known: Object = {"id": request["id"]} if "id" in request else {}
    refusal = _unsupported(request)
    if refusal:
        return {**known, "ok": False, "stage": "request", "error": refusal}
    given: Mapping[str, Any] = request.get("vars") or {}
    values = {name: decode_tagged(value) for name, value in given.items()}
    names = frozenset((*STANDARD_VARIABLES, *values, *(request.get("types") or {})))
    try:
        program = compile_expression(str(request.get("expr", "")), Declarations(variables=names))
    except CompileError as error:
        return {**known, "ok": False, "stage": "compile", "error": str(error)}
    try:
        budget = Budget(EvaluationSettings().steps_per_expression)
        result = program.evaluate({**dict.fromkeys(STANDARD_VARIABLES), **values}, budget)
        return {**known, "ok": True, "result": encode_tagged(result)}
    except EvaluationError as error:
        return {**known, "ok": False, "stage": "eval", "error": str(error)}


def _unsupported(request: Object) -> str:
    if not isinstance(request.get("expr"), str):
        return "expr must be a string"
    mode = request.get("mode", "dyn")
    if mode != "dyn":
        return f"mode {mode!r} is not supported by this version; use dyn"
    if not isinstance(request.get("vars") or {}, dict):
        return "vars must be an object"
    return ""


def _request(line: str, number: int) -> Object:
    found = _json(line, f"<stdin>:{number}")
    if not isinstance(found, dict):
        raise InputError("a request must be a JSON object", source="<stdin>", line=number)
    return found


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"is not JSON: {error}", source=where) from error
