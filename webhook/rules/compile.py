"""From the policy as written to programs; everything that can be refused is refused here, with its place in the file.

What an expression may read follows apiserver pkg/admission/plugin/cel/compile.go: match conditions know no variables,
a variable knows the earlier ones, ``params`` exists only with a paramKind. ``compile_head`` serves every policy kind;
a kind with expressions of its own compiles them with ``compile_one`` over the head's declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from webhook.cel import Budget, CompileError, Declarations, EvaluationError, Program, compile_expression
from webhook.cel.budget import LOOK_EVERY
from webhook.cel.types import DYN, Type
from webhook.errors import PolicyError, PolicySetError
from webhook.model.exceptions import PolicyException
from webhook.model.policies import Expression, Head, NamedExpression, ValidatingPolicy, Validation
from webhook.rules.declare import (
    ADMISSION_ROOTS,
    FETCHED,
    IS_BOOL,
    IS_TEXT,
    IS_TEXT_OR_NULL,
    declare,
    with_variables,
    without_access,
)

_WHY_NOT = {
    "authorizer": "authorizer cannot be used here: a message is composed, and a WorkloadPolicy evaluated again, without it",
    "request": "a WorkloadPolicy may not read request: the controller evaluates it again when no request is at hand",
    "oldObject": "a WorkloadPolicy may not read oldObject: the controller evaluates it again when no request is at hand",
    "params": "params is known only to a policy with spec.paramKind",
    "variables": "variables cannot be read here",
}
_STRING = re.compile(r"(?P<quote>[\"'])(?:\\.|(?!(?P=quote))[^\\])*+(?P<end>(?P=quote))?")
"""A string, or what begins as one and never ends: looked through again from each of its quotes, that would cost its square."""
_OBJECT_PATH = re.compile(r"(?<![\w.])object((?:\.\??[A-Za-z_]\w*)+)(\()?")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedProgram:
    """A compiled match condition, variable or audit annotation."""

    name: str
    program: Program


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledHead:
    """What every policy kind shares, compiled."""

    source: Head
    match_conditions: tuple[NamedProgram, ...] = ()
    variables: tuple[NamedProgram, ...] = ()
    declarations: Declarations
    """What further expressions of the policy may read: everything, all variables included."""
    programs: Mapping[str, Program] = field(init=False, repr=False, compare=False)
    """The variables by name."""
    constants: Mapping[str, Any] = field(init=False, repr=False, compare=False)
    """The values of those that are the same for every request."""
    cost_of_constants: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Look up once what every request does: the programs of the variables, and what is constant among them."""
        object.__setattr__(self, "programs", {variable.name: variable.program for variable in self.variables})
        values = dict(_constants(self.variables, budget := Budget(LOOK_EVERY)))
        object.__setattr__(self, "constants", values)
        object.__setattr__(self, "cost_of_constants", budget.spent)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledException:
    """A PolicyException, ready to be asked."""

    source: PolicyException
    head: CompiledHead
    references: frozenset[str]
    """Every root variable that some condition reads."""

    @property
    def name(self) -> str:
        """Return the exception's name."""
        return self.source.name

    @property
    def until(self) -> str:
        """Return the moment of expiry as RFC 3339 has it."""
        return self.source.expires.isoformat().replace("+00:00", "Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledValidation:
    """One validation; ``field`` is the object path it speaks of, if it is exactly one."""

    source: Validation
    program: Program
    message: Program | None = None
    field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledPolicy:
    """A ValidatingAdmissionPolicy, ready to be evaluated."""

    source: ValidatingPolicy
    head: CompiledHead
    validations: tuple[CompiledValidation, ...] = ()
    audit_annotations: tuple[NamedProgram, ...] = ()
    exceptions: tuple[CompiledException, ...] = ()
    """In the order of their names."""
    references: frozenset[str] = field(default_factory=frozenset)
    """Every root variable that some expression of the policy reads."""
    messages: int = field(init=False, repr=False, compare=False)
    """How many validations compose their message."""
    is_plain: bool = field(init=False, repr=False, compare=False)
    """It selects nothing by labels, has no params and no audit annotations, and reads nothing that must be fetched."""
    conditions: tuple[Program, ...] = field(init=False, repr=False, compare=False)
    programs: tuple[Program, ...] = field(init=False, repr=False, compare=False)
    """Of the validations, in their order."""

    def __post_init__(self) -> None:
        """Settle once what every request asks."""
        source = self.head.source
        is_plain = source.match_constraints.is_bare and not source.param_kind and not self.audit_annotations
        object.__setattr__(self, "is_plain", is_plain and self.references.isdisjoint(FETCHED))
        object.__setattr__(self, "conditions", tuple(condition.program for condition in self.head.match_conditions))
        object.__setattr__(self, "programs", tuple(validation.program for validation in self.validations))
        object.__setattr__(self, "messages", sum(validation.message is not None for validation in self.validations))


def compile_policy(policy: ValidatingPolicy) -> CompiledPolicy:
    """Compile a policy; raises PolicySetError with every expression that is wrong."""
    errors: list[PolicyError] = []
    head = _head(policy.head, ADMISSION_ROOTS, errors)
    validations = [_validation(validation, head.declarations, errors) for validation in policy.validations]
    annotations = _named(policy.audit_annotations, head.declarations, IS_TEXT_OR_NULL, errors)
    if errors:
        raise PolicySetError(errors)
    programs = [program for v in validations if v for program in (v.program, v.message) if program]
    everything = [*programs, *(named.program for named in (*head.match_conditions, *head.variables, *annotations))]
    return CompiledPolicy(
        source=policy,
        head=head,
        validations=tuple(validation for validation in validations if validation),
        audit_annotations=annotations,
        references=references(everything),
    )


def compile_head(head: Head, *, roots: frozenset[str] = ADMISSION_ROOTS) -> CompiledHead:
    """Compile conditions and variables; raises PolicySetError with every expression that is wrong."""
    errors: list[PolicyError] = []
    compiled = _head(head, roots, errors)
    if errors:
        raise PolicySetError(errors)
    return compiled


def compile_one(expression: Expression, declarations: Declarations, wanted: tuple[Type, ...] = ()) -> Program:
    """Compile an expression whose result is one of the wanted types; raises PolicyError with its place in the file.

    It is a PolicySetError where there are several mistakes. As in the API server, a type that is only known at run time
    (``dyn``) is not one of those wanted.
    """
    try:
        program = compile_expression(expression.text, declarations)
    except CompileError as error:
        found = [
            _error(expression, _explain(one.message, expression.text, declarations), one.line, one.column)
            for one in (error, *error.others)
        ]
        raise (PolicySetError(found) if error.others else found[0]) from error
    if wanted and program.type not in wanted:
        one_of = str(wanted[0]) if len(wanted) == 1 else f"one of {' and '.join(map(str, wanted))}"
        raise _error(expression, f"must evaluate to {one_of}, not to {program.type}", 1, 1)
    return program


def references(programs: Iterable[Program]) -> frozenset[str]:
    """Return every root variable that some program reads."""
    return frozenset().union(*(program.references for program in programs))


def object_path(text: str) -> str:
    """Return the one path of ``object`` that an expression reads, such as ``spec.completions``; empty if not just one."""
    paths = set()
    for found in _OBJECT_PATH.finditer(_without_strings(text)):
        path = found[1].lstrip(".").replace("?", "")
        paths.add(path.rpartition(".")[0] if found[2] else path)  # a name before '(' is a function
    return paths.pop() if len(paths) == 1 else ""


def _head(head: Head, roots: frozenset[str], errors: list[PolicyError]) -> CompiledHead:
    base = declare(roots, has_params=head.param_kind is not None)
    conditions = _named(head.match_conditions, base, IS_BOOL, errors)
    known: dict[str, Type] = {}
    variables: list[NamedProgram] = []
    for variable in head.variables:
        compiled = _named((variable,), with_variables(base, known), (), errors)
        variables += compiled
        known[variable.name] = compiled[0].program.type if compiled else DYN  # one mistake makes one error
    return CompiledHead(
        source=head, match_conditions=conditions, variables=tuple(variables), declarations=with_variables(base, known)
    )


def _named(
    sources: Iterable[NamedExpression], declarations: Declarations, wanted: tuple[Type, ...], errors: list[PolicyError]
) -> tuple[NamedProgram, ...]:
    programs = ((source.name, _collect(source.expression, declarations, wanted, errors)) for source in sources)
    return tuple(NamedProgram(name=name, program=program) for name, program in programs if program)


def _constants(variables: Iterable[NamedProgram], budget: Budget) -> Iterator[tuple[str, Any]]:
    """Yield the values of variables that read nothing, as far as a small budget goes for all of them together."""
    for variable in variables:
        program = variable.program
        if program.references or "evaluate" in vars(program):  # somebody observes it, and wants it to be asked
            continue
        try:
            value = program.evaluate({}, budget)
        except EvaluationError:
            return
        yield variable.name, value


def _validation(source: Validation, declarations: Declarations, errors: list[PolicyError]) -> CompiledValidation | None:
    program = _collect(source.expression, declarations, IS_BOOL, errors)
    composed = source.message_expression
    message = _collect(composed, without_access(declarations), IS_TEXT, errors) if composed else None
    if program is None:
        return None
    return CompiledValidation(source=source, program=program, message=message, field=object_path(source.expression.text))


def _collect(
    expression: Expression, declarations: Declarations, wanted: tuple[Type, ...], errors: list[PolicyError]
) -> Program | None:
    try:
        return compile_one(expression, declarations, wanted)
    except PolicyError as error:
        errors.append(error)
        return None


def _error(expression: Expression, message: str, line: int, column: int) -> PolicyError:
    line, column = expression.place(line, column)
    origin = expression.origin
    return PolicyError(message, path=origin.path, line=line, column=column, field=origin.field)


def _explain(message: str, text: str, declarations: Declarations) -> str:
    """Say why a name is not declared here, where there is a reason worth telling."""
    bare = _without_strings(text)
    for root, reason in _WHY_NOT.items():
        if root not in declarations.names and f"'{root}'" in message and re.search(rf"(?<![\w.]){root}\b", bare):
            return reason
    return message.removesuffix(" (in container '')")


def _without_strings(text: str) -> str:
    """Empty the strings of an expression; an apostrophe in a comment begins none, and what follows stays."""
    return _STRING.sub(lambda found: "''" if found["end"] else found[0], text)
