"""Every field that the expressions of a policy read, with what is known at the place where they read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from webhook.admission.advice.narrowing import Context, optional_paths, when, when_all, when_others
from webhook.admission.advice.paths import Paths, Scope, below, is_optional, loop_names, paths_of, step_of
from webhook.admission.advice.subject import Part, Role, Subject
from webhook.cel.syntax import Conditional, Index, Logical, Macro, Node, Select, children


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A field of something that an expression reads in earnest: without ``?.``, so that it must be there."""

    part: Part
    """The expression in which it is written."""
    within: Part
    """The one for which it is evaluated: a variable is read by others."""
    node: Select | Index
    bases: Paths
    """What the field is read of: one path for each way to get there."""
    step: str
    context: Context

    @property
    def paths(self) -> Paths:
        """Return the paths of the field."""
        return below(self.bases, self.step)


@dataclass(slots=True)
class Walker:
    """Walks the expressions of one policy; a variable is walked where it is read, with what is known there."""

    subject: Subject
    scope: Scope = field(init=False)
    _seen: set[tuple[Part, Part, Context]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.scope = Scope.of(self.subject)

    def accesses(self) -> Iterator[Access]:
        """Yield what is read, expression by expression; a place may come more than once."""
        for part in self.subject.parts:
            if part.role is not Role.VARIABLE:
                yield from self._visit(part.root, part, part, self.context_of(part), self.scope)

    def start(self) -> Context:
        """Return what is known by the rules alone."""
        return Context(self.subject.cases)

    def context_of(self, part: Part) -> Context:
        """Return what is known where an expression begins: the match conditions hold, and for a message the rule has failed."""
        conditions = [one.root for one in self.subject.having(Role.CONDITION) if one is not part]
        context = when_all(conditions, self.start(), self.scope)
        if part.role is Role.MESSAGE:
            (rule,) = (one for one in self.subject.having(Role.VALIDATION) if one.index == part.index)
            context = when(rule.root, context, self.scope, holds=False)
        return context

    def _visit(self, node: Node, part: Part, within: Part, context: Context, scope: Scope) -> Iterator[Access]:
        if not context.cases:
            return
        match node:
            case Logical():
                contexts = when_others(node.terms, context, scope, hold=node.operator == "_&&_")
                for term, known in zip(node.terms, contexts, strict=True):
                    yield from self._visit(term, part, within, known, scope)
            case Conditional():
                yield from self._visit(node.test, part, within, context, scope)
                yield from self._visit(node.then, part, within, when(node.test, context, scope, holds=True), scope)
                yield from self._visit(node.otherwise, part, within, when(node.test, context, scope, holds=False), scope)
            case Macro():
                yield from self._visit(node.range, part, within, context, scope)
                yield from self._visit_loop(node, part, within, context, scope)
            case Select() if (variable := scope.variable(node)) is not None:
                if (variable, within, context) not in self._seen:
                    self._seen.add((variable, within, context))
                    yield from self._visit(variable.root, variable, within, context, scope.within(variable))
            case _:
                if isinstance(node, Select | Index):
                    yield from self._access(node, part, within, context, scope)
                for child in children(node):
                    yield from self._visit(child, part, within, context, scope)

    def _access(self, node: Select | Index, part: Part, within: Part, context: Context, scope: Scope) -> Iterator[Access]:
        if is_optional(node, scope) or (isinstance(node, Select) and node.test):
            return
        step = node.field if isinstance(node, Select) else step_of(node.key)
        bases = frozenset(path for path in paths_of(node.operand, scope) if path[0] in ("object", "oldObject"))
        if bases:
            known = self._of_entry(node.operand, context, scope)
            yield Access(part=part, within=within, node=node, bases=bases, step=step, context=known)

    def _visit_loop(self, node: Macro, part: Part, within: Part, context: Context, scope: Scope) -> Iterator[Access]:
        inner = scope.having(loop_names(node, scope))
        known = self._of_element(node.range, context.with_asked(optional_paths(node.range, scope)), scope)
        if node.filter is not None:
            yield from self._visit(node.filter, part, within, known, inner)
            known = when(node.filter, known, inner, holds=True)
        yield from self._visit(node.body, part, within, known, inner)

    def _of_element(self, ranged: Node, context: Context, scope: Scope) -> Context:
        """Return what is known of the elements of a list: what filters have left over."""
        variable = scope.variable(ranged)
        if variable is not None:
            return self._of_element(variable.root, context, scope.within(variable))
        if not isinstance(ranged, Macro) or ranged.name != "filter":
            return context
        context = self._of_element(ranged.range, context, scope)
        return when(ranged.body, context, scope.having(loop_names(ranged, scope)), holds=True)

    def _of_entry(self, node: Node, context: Context, scope: Scope) -> Context:
        """Return what is known of something in an entry of a list, such as ``list.filter(…)[0].field``."""
        while isinstance(node, Select | Index) and scope.variable(node) is None:
            if isinstance(node, Index):
                context = self._of_element(node.operand, context, scope)
            node = node.operand
        return context
