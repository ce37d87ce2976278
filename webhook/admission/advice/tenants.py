"""Advice about exemptions that whoever writes the object decides, by a label or an annotation of its own.

A rule that a label switches on is left alone: it is a feature that people ask for. One that a label switches off is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from webhook.admission.advice.catalog import ADVICE
from webhook.admission.advice.nodes import roots_of, walk
from webhook.admission.advice.paths import Path, Paths, Scope, below, loop_names, paths_of
from webhook.admission.advice.subject import Part, Role, Subject
from webhook.admission.advice.telling import at_node, at_policy
from webhook.cel import parse_expression
from webhook.cel.syntax import Call, Constant, Index, Logical, Macro, Name, Node, Select, children
from webhook.model.diagnostics import Diagnostic
from webhook.model.exceptions import PolicyException
from webhook.model.policies import LabelSelector

_PASS = re.compile(
    r"allow|bypass|disable|exclu|exempt|except|glass|ignore|opt-?out|override|privileged|skip|unmanaged", re.IGNORECASE
)
_RULE = "tenant-decides"
_OWN_WORDS = (("labels",), ("annotations",))
"""Parts of the metadata that whoever writes an object fills in as they like."""


def tenant_advice(subject: Subject) -> Iterator[Diagnostic]:
    """Look for exemptions in a ValidatingAdmissionPolicy that denies: the selector, the conditions, the terms of a rule."""
    if subject.policy is None or not subject.denies:
        return
    selector = subject.head.match_constraints.object_selector
    key = _opt_out_key(selector)
    if key:
        message = (
            f"objectSelector leaves objects out by the label '{key}', which their authors set: everybody can exempt themselves"
        )
        yield at_policy(subject, _RULE, f"{message}; except by namespace, or by a PolicyException")
    scope = Scope.of(subject)
    for part in subject.having(Role.CONDITION):
        if any(_is_negative(term) and _is_own_word(term, scope) for term in _terms(part.root, "_&&_")):
            yield _exemption(subject, part, part.root, f"match condition '{part.name}' leaves objects out")
    for part in subject.having(Role.VALIDATION):
        terms = _terms(part.root, "_||_")
        own = [term for term in terms if not _is_negative(term) and _is_own_word(term, scope) and _asks_to_pass(term)]
        if own and any(_reads_more(term, scope) for term in terms if term not in own):
            yield _exemption(subject, part, own[0], f"validations[{part.index}] lets objects pass")


def exception_advice(exceptions: Iterable[PolicyException]) -> Iterator[Diagnostic]:
    """Look for PolicyExceptions that anybody can claim who knows the label, the name or the field."""
    for exception in exceptions:
        conditions = [parse_expression(one.expression.text) for one in exception.match_conditions]
        if conditions and all(map(_is_of_author, conditions)):
            yield Diagnostic(
                level=ADVICE[_RULE].level,
                rule=_RULE,
                message=(
                    "is for whatever has a label, name or field that authors set themselves; "
                    "name a namespace (request.namespace), or who asks, in one more condition"
                ),
                file=exception.origin.path,
                line=exception.origin.line,
                subject=f"PolicyException {exception.name}",
            )


def _exemption(subject: Subject, part: Part, node: Node, what: str) -> Diagnostic:
    message = (
        f"{what} by a label or annotation that their authors set: everybody can exempt themselves; "
        "decide by the namespace, by who asks, or by a PolicyException"
    )
    return at_node(subject, part, node, _RULE, message)


def _opt_out_key(selector: LabelSelector) -> str:
    return next((one.key for one in selector.match_expressions if one.operator in ("NotIn", "DoesNotExist")), "")


def _terms(node: Node, operator: str) -> list[Node]:
    return node.terms if isinstance(node, Logical) and node.operator == operator else [node]


def _is_negative(node: Node) -> bool:
    """Tell whether a condition asks that something be not so."""
    match node:
        case Call():
            return node.function in ("!_", "_!=_")
        case Logical():
            return all(map(_is_negative, node.terms))
        case _:
            return False


def _asks_to_pass(node: Node) -> bool:
    """Tell whether a condition has a word of exemption; any other word may be another way to fulfil the rule."""
    texts = (one.value if isinstance(one, Constant) else one.field for one in walk(node) if isinstance(one, Constant | Select))
    return any(isinstance(text, str) and _PASS.search(text) for text in texts)


def _is_own_word(node: Node, scope: Scope) -> bool:
    """Tell whether a condition reads labels or annotations of the object and nothing else."""
    found = _read(node, scope)
    is_only = roots_of(node) == {"object"} and bool(found)
    return is_only and all(map(_is_own, found))


def _is_of_author(node: Node) -> bool:
    """Tell whether a condition reads nothing but what whoever writes an object decides: all of it but its namespace."""
    found = _read(node, Scope({}, {}))
    is_only = roots_of(node) <= {"object", "oldObject"}
    return is_only and not any(path[1:3] == ("metadata", "namespace") for path in found)


def _reads_more(node: Node, scope: Scope) -> bool:
    """Tell whether an expression reads something of the object beside labels and annotations."""
    return any(not _is_own(path) for path in _read(node, scope))


def _is_own(path: Path) -> bool:
    return path[:2] == ("object", "metadata") and path[2:3] in _OWN_WORDS


def _read(node: Node, scope: Scope) -> Paths:
    """Return the paths of the object that an expression reads."""
    variable = scope.variable(node)
    if variable is not None:
        return scope.of_variable(variable, "_read", _read)
    if isinstance(node, Select | Index | Name):
        if isinstance(node, Select) and node.test:
            found = below(paths_of(node.operand, scope), node.field)
        else:
            found = paths_of(node, scope)
        if found:
            return found
    inner = scope.having(loop_names(node, scope)) if isinstance(node, Macro) else scope
    return frozenset[Path]().union(*(_read(child, inner) for child in children(node)))
