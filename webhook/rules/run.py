"""One policy under one binding with one param: the values that its expressions see, and the cost they share.

Follows apiserver pkg/admission/plugin/cel/{activation,composition,condition}.go.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from dataclasses import replace
from typing import Any
from weakref import ref

from webhook.cel import Budget, EvaluationError, Program, access_variables
from webhook.model.access import AccessAnswer, AccessQuestion, AccessUser
from webhook.model.objects import Kind, Object, metadata_of
from webhook.model.snapshot import EMPTY_SNAPSHOT
from webhook.rules.cluster import UNDECIDED, ClusterView
from webhook.rules.compile import CompiledHead
from webhook.rules.declare import ACCESS_TYPES, FETCHED
from webhook.rules.match import asked_resource
from webhook.rules.problems import RuleProblem
from webhook.rules.world import Situation

_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
_ACCESS_NAMES = frozenset(ACCESS_TYPES)
_NAMESPACE = Kind("", "v1", "Namespace")
_NAMESPACE_METADATA = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "labels", "annotations", "finalizers",
)  # fmt: skip
"""What the API server shows of a namespace's metadata (CreateNamespaceObject): no managedFields, no ownerReferences."""


class Run:
    """Evaluates programs over one activation; variables are computed once, when first read.

    Keep it while they are read: they know it weakly, or all that a request holds would wait for Python's search for cycles.
    """

    def __init__(self, head: CompiledHead, situation: Situation, params: Object | None) -> None:
        self.situation = situation
        self._head = head
        self.left = situation.limits.cost_per_policy
        self._limit, self._expired = situation.limits.cost_per_expression, situation.expired
        request = situation.request
        self.values: dict[str, Any] = {
            "object": request.object,
            "oldObject": request.old_object,
            "request": request.as_json(),
            "params": params,
            "namespaceObject": None,
            "cluster": situation.cluster or ClusterView(EMPTY_SNAPSHOT, request.namespace),
            "variables": Variables(head, self),
        }
        self._apart: dict[str, Any] | None = None
        self._lacks_access = True
        self._lacks_namespace = request.namespace != "" and (request.request_kind or request.kind) != _NAMESPACE

    @classmethod
    def of_conditions(cls, head: CompiledHead, situation: Situation, params: Object | None) -> Run:
        """Build the run of match conditions, which see the client's own resource and no namespaceObject (matcher.go)."""
        request = situation.request
        if request.request_resource not in (None, request.resource):
            situation = replace(situation, request=replace(request, resource=asked_resource(request)))
        run = cls(head, situation, params)
        run._lacks_namespace = False
        run.left = situation.limits.cost_per_conditions
        return run

    def turn_to(self, head: CompiledHead, units: int) -> None:
        """Begin anew with another policy on the same request, for programs that fetch nothing.

        The units are what remains beside the variables that are constants: those are there already.
        """
        self._head, self.left = head, units
        self.values["variables"] = variables = Variables(head, self)
        dict.update(variables, head.constants)

    def inputs(self) -> tuple[Any, ...]:
        """Return the objects that expressions read, as opposed to what they make of them."""
        return tuple(self.values[name] for name in ("object", "oldObject", "request", "params", "namespaceObject"))

    def refill(self) -> None:
        """Give a new total for the expressions that follow, as the API server does for audit annotations."""
        self.left = self.situation.limits.cost_per_policy

    def evaluate(self, program: Program) -> Any:
        """Return the value of a program; raises EvaluationError, or RuleProblem when the shared budget is spent."""
        try:
            value = self.evaluate_nested(program)
        except EvaluationError as error:
            if self.left < 0:
                raise RuleProblem(_OUT_OF_BUDGET) from error
            raise
        if self.left < 0:  # for variables, which the expression itself does not pay
            raise RuleProblem(_OUT_OF_BUDGET)
        return value

    def evaluate_with(self, program: Program, more: Mapping[str, Any]) -> Any:
        """Evaluate a program that reads more than others do, such as one ``item`` of a list; ``variables`` do not see it."""
        self.values.update(more)
        try:
            return self.evaluate(program)
        finally:
            for name in more:
                del self.values[name]

    def may_run_out(self, count: int) -> bool:
        """Tell whether so many more expressions could spend what is left, if each costs as much as one may."""
        return self.left < count * self.situation.limits.cost_per_expression

    def may_run_out_apart(self, count: int) -> bool:
        """Tell whether so many expressions apart could spend what is left, with the variables that are computed anew for them.

        A variable costs then what it has cost, unless an ``authorizer`` that it lacks sends it another way.
        """
        if not self.may_run_out(count + len(self._head.programs)):
            return False
        if any(not program.references.isdisjoint(_ACCESS_NAMES) for program in self._head.programs.values()):
            return True
        costs: dict[str, int] = self.values["variables"].costs
        unknown = count + len(self._head.programs) - len(costs)
        return self.left < sum(costs.values()) + unknown * self.situation.limits.cost_per_expression

    def evaluate_apart(self, program: Program) -> Any:
        """Evaluate as the API server does messages and audit annotations: without ``authorizer``.

        The ``variables`` are computed anew for them, and lack it too (plugin/policy/validating/validator.go).
        """
        if self._apart is None:
            self._apart = {name: value for name, value in self.values.items() if name not in ACCESS_TYPES}
            self._apart["variables"] = Variables(self._head, self)
        together, lacked = self.values, self._lacks_access
        self._apart["namespaceObject"] = together["namespaceObject"]
        self.values, self._lacks_access = self._apart, False
        try:
            return self.evaluate(program)
        finally:
            together["namespaceObject"] = self._apart["namespaceObject"]
            self.values, self._lacks_access = together, lacked

    def evaluate_nested(self, program: Program) -> Any:
        """Return the value of a program that another one is waiting for; raises EvaluationError only."""
        if not program.references.isdisjoint(FETCHED):
            self._fetch(program.references)
        if self._expired():  # a short expression may never look at the clock
            raise EvaluationError("operation interrupted: deadline exceeded", "deadline")
        left, limit = self.left, self._limit
        budget = Budget(limit if left > limit else max(0, left), self._expired)
        try:
            return program.evaluate(self.values, budget)
        finally:
            self.left -= budget.limit - budget.left

    def _fetch(self, references: frozenset[str]) -> None:
        if self._lacks_namespace and "namespaceObject" in references:
            self._load_namespace()
        if self._lacks_access and not references.isdisjoint(_ACCESS_NAMES):
            self._load_access()

    def _load_access(self) -> None:
        request = self.situation.request
        resource = asked_resource(request)
        asked = AccessQuestion(
            user=AccessUser.of(request.user),
            verb="",
            group=resource.group,
            resource=resource.resource,
            subresource=request.request_sub_resource if request.request_resource else request.sub_resource,
            namespace=request.namespace,
            name=request.name,
        )
        self.values.update(access_variables(self.situation.authorizer or _Nobody(), asked.user, asked))
        self._lacks_access = False

    def _load_namespace(self) -> None:
        """Fetch the request's namespace on first use, so that a missing one fails only the rules that read it."""
        name = self.situation.request.namespace
        found = self.situation.world.namespace(name)
        if found is None:
            raise EvaluationError(f'namespaces "{name}" not found')
        self.values["namespaceObject"] = trim_namespace(found)
        self._lacks_namespace = False


class _Nobody:
    """Answers no question of access."""

    def authorize(self, question: AccessQuestion) -> AccessAnswer:
        """Say that it cannot be told."""
        what = question.path or f"{question.resource} of group '{question.group}'"
        raise EvaluationError(f"authorizer: nobody can tell here who may {question.verb} {what}", UNDECIDED)


class Variables(dict[str, Any]):
    """CEL's ``variables``: each is evaluated when first read, and never again.

    What holds a value is found without a call. A dict, yet one of all names from the start: whoever asks what is in it, or walks
    through it, is told of the programs.
    """

    __slots__ = ("_failed", "_programs", "_run", "costs")

    def __init__(self, head: CompiledHead, run: Run) -> None:
        self._programs = head.programs
        self._run = ref(run)
        self._failed: dict[str, EvaluationError] | None = None
        self.costs: dict[str, int] = {}
        """What each has cost so far, with the others that it was the first to read."""

    def __missing__(self, name: str) -> Any:
        if self._failed is not None and name in self._failed:
            raise self._failed[name].bare()
        run = self._run()
        assert run is not None, "the variables are read after their run"  # noqa: S101 - see Run
        before = run.left
        try:
            value = self[name] = run.evaluate_nested(self._programs[name])
        except EvaluationError as error:
            # composition.go makes an ordinary error of it, whatever it was, and says which variable failed
            told = f'composited variable "{name}" fails to evaluate: {error.message}'
            failed = (type(error) if error.kind == "deadline" else EvaluationError)(told, error.kind)
            self._failed = {**(self._failed or {}), name: failed}
            raise failed.bare() from None
        finally:
            self.costs[name] = before - run.left
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._programs)

    def __len__(self) -> int:
        return len(self._programs)

    def __contains__(self, name: object) -> bool:
        return name in self._programs

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, computed if need be."""
        return self[name] if name in self._programs else default

    def keys(self) -> KeysView[str]:  # type: ignore[override]  # a view all the same, of names that have no value yet
        """Return the names."""
        return KeysView(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override]  # see keys
        """Return the values, computed one by one."""
        return ValuesView(self)

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]  # see keys
        """Return names and values, computed one by one."""
        return ItemsView(self)


def trim_namespace(namespace: Object) -> Object:
    """Return what CEL sees of a Namespace, as the API server's CreateNamespaceObject."""
    meta = metadata_of(namespace)
    return {
        "metadata": {key: meta[key] for key in _NAMESPACE_METADATA if key in meta},
        "spec": namespace.get("spec") or {},
        "status": namespace.get("status") or {},
    }
