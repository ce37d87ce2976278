"""Advice about types: what the API server's controller would write into the ``status.typeChecking`` of a policy.

Source: apiserver pkg/admission/plugin/policy/validating/typechecking.go. Like that, it looks at validations and their messages
only, with the variables that they read, once for each built-in kind that the rules name outright. ``expression_warnings``
says it word for word; the advice leaves out what the checker says of fields that are there (``rules.field_types``), and names
what is wrong in a variable, of which the checker says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from webhook.admission.advice.subject import Part, Role, Subject, kinds_of
from webhook.admission.advice.telling import at_place
from webhook.cel import CompileError, Declarations, Inspection
from webhook.cel.inspect import inspect_node
from webhook.cel.types import AUTHORIZER, Type
from webhook.model.diagnostics import Diagnostic
from webhook.model.objects import Kind
from webhook.rules.declare import ADMISSION_ROOTS, declare, with_variables
from webhook.rules.field_types import object_type

_KINDS_LIMIT = 10
"""The checker looks at no more kinds than that (maxTypesToCheck)."""
_WORDS = {Role.VALIDATION: "expression", Role.MESSAGE: "messageExpression"}
UNKNOWN_FIELD = "unknown-field"
_STRUCTURAL = re.compile(r"applied to .*\b(object|map\(dyn, dyn\))")
"""Complaints about structs of several types, or a struct and a map: to the checker different, when evaluated all of them maps."""
_HINT = re.compile(r"; did you mean '[^']*'\?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionWarning:
    """One entry of ``status.typeChecking.expressionWarnings``."""

    field: str
    """Such as ``spec.validations[0].expression``."""
    warning: str


def expression_warnings(subject: Subject) -> tuple[ExpressionWarning, ...]:
    """Return what the API server's controller writes into the status of a ValidatingAdmissionPolicy."""
    found = []
    for part, inspections in _inspections(subject, exact=True).items():
        texts = [
            f"{kind.group}/{kind.version}, Kind={kind.kind}: {_told(inspected, part)}\n"
            for kind, inspected in inspections
            if inspected.errors
        ]
        if texts and part.role in _WORDS:
            field = f"spec.validations[{part.index}].{_WORDS[part.role]}"
            found.append(ExpressionWarning(field=field, warning="\n".join(texts)))
    return tuple(found)


def typing_advice(subject: Subject) -> Iterator[Diagnostic]:
    """Tell what is wrong for every kind that is matched.

    What is wrong for some is most likely read for the others only (``object.kind == 'Pod' ? …``), which the checker does not see.
    """
    if subject.policy is None:
        return
    for part, inspections in _inspections(subject, exact=False).items():
        places = [{(error.line, error.column) for error in inspected.errors} for _, inspected in inspections]
        everywhere = set.intersection(*places)
        for error in inspections[0][1].errors:
            if (error.line, error.column) in everywhere and not _STRUCTURAL.search(error.message):
                rule = UNKNOWN_FIELD if error.message.startswith("undefined field") else "type-mismatch"
                yield at_place(subject, part, (error.line, error.column), rule, error.message)


def _inspections(subject: Subject, *, exact: bool) -> dict[Part, list[tuple[Kind, Inspection]]]:
    """Check variables, validations and messages for each kind; no entry where there is no kind to check them for."""
    base = declare(ADMISSION_ROOTS, has_params=subject.head.param_kind is not None)
    types = {name: type_ for name, type_ in base.types.items() if not exact or name != "authorizer.requestResource"}
    if (params := subject.head.param_kind) and (
        declared := object_type(Kind.parse(params.api_version, params.kind), exact=exact)
    ):
        types["params"] = declared
    found: dict[Part, list[tuple[Kind, Inspection]]] = {}
    for kind in _checked_kinds(subject):
        declared = object_type(kind, exact=exact)
        if declared is not None:
            declarations = replace(base, types={**types, "object": declared, "oldObject": declared})
            for part, inspected in _inspected(subject, declarations):
                found.setdefault(part, []).append((kind, inspected))
    return found


def _inspected(subject: Subject, base: Declarations) -> Iterator[tuple[Part, Inspection]]:
    """Check expressions under some declarations, to which each variable adds its type for those after it."""
    known: dict[str, Type] = {}
    for part in subject.having(Role.VARIABLE, Role.VALIDATION, Role.MESSAGE):
        inspected = inspect_node(part.root, with_variables(base, known))
        if part.role is Role.VARIABLE:
            known[part.name] = inspected.type
        yield part, inspected


def _checked_kinds(subject: Subject) -> tuple[Kind, ...]:
    found: set[Kind] = set()
    for rule in subject.head.match_constraints.resource_rules:
        if "*" in (*rule.api_groups, *rule.api_versions):
            continue
        for resource in rule.resources:
            found |= kinds_of(replace(rule, resources=(resource,))) or set()
    return tuple(sorted(found)[:_KINDS_LIMIT])


def _told(inspected: Inspection, part: Part) -> str:
    """Return the errors as cel-go prints them, with the line of the expression and a caret."""
    lines = part.expression.text.split("\n")
    return "\n".join(_printed(error, lines[error.line - 1] if error.line <= len(lines) else "") for error in inspected.errors)


def _printed(error: CompileError, line: str) -> str:
    dots = "".join("." if char.isascii() else "\uff0e" for char in line[: error.column - 1])
    caret = "^" if error.column > len(line) or line[error.column - 1].isascii() else "\uff3e"
    snippet = line.replace("\t", " ")
    message = _HINT.sub("", error.message)
    if line[: error.column - 1].endswith("authorizer"):  # cel-go knows that type by its name only, and fails in another way
        message = f"unexpected failed resolution of '{AUTHORIZER.name}'"
    return f"ERROR: <input>:{error.line}:{error.column}: {message}\n | {snippet}\n | {dots}{caret}"
