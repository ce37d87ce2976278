"""The groups of one workload: a policy's expressions evaluated over it, the user's allowed words applied."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.cel import EvaluationError, Program
from webhook.groups.compile import CompiledGroup, CompiledWorkload
from webhook.groups.paths import read_path
from webhook.model.groups import MIN_COUNT_ANNOTATION, TOPOLOGY_KEY_ANNOTATION, Capabilities, PlannedGroup
from webhook.model.objects import Object, annotations_of
from webhook.rules import RuleProblem, Run


class GroupProblem(Exception):  # noqa: N818 - a verdict in the making, not an error of the program
    """A workload cannot have the group that its policy asks for; ``field`` is where in the workload, if known."""

    def __init__(self, message: str, *, rule: str, field: str = "") -> None:
        super().__init__(message)
        self.rule, self.field = rule, field


class GroupFailure(GroupProblem):
    """An expression of the policy could not be evaluated: its failurePolicy decides."""


def resolve_groups(compiled: CompiledWorkload, run: Run, names: Mapping[str, str]) -> tuple[PlannedGroup, ...]:
    """Evaluate a policy for the object of a run; ``names`` are PodGroup names by template. Raises GroupProblem."""
    workload = run.situation.request.object
    if workload is None:
        raise GroupProblem("there is no object to group", rule="podGroups")
    return tuple(
        _Resolver(compiled, run, workload=workload, group=group, rule=f"podGroups[{index}]").resolve(names[group.source.name])
        for index, group in enumerate(compiled.groups)
        if group.source.name in names
    )


def check_capabilities(groups: tuple[PlannedGroup, ...], capabilities: Capabilities) -> None:
    """Raise GroupProblem where a group needs what this cluster would drop without a word."""
    for index, group in enumerate(groups):
        if group.topology_key and not capabilities.topology:
            raise GroupProblem(
                f"the group is to stay within one {group.topology_key}, but feature gate TopologyAwareWorkloadScheduling is "
                "off in this cluster, which would drop that without a word",
                rule=f"podGroups[{index}].schedulingConstraints",
            )
        if group.resource_claims and not capabilities.shared_claims:
            raise GroupProblem(
                "the group is to share resource claims, but feature gate DRAWorkloadResourceClaims is off in this cluster, which "
                "would drop them without a word",
                rule=f"podGroups[{index}].resourceClaims",
            )


class _Resolver:
    """One group of one workload."""

    def __init__(self, compiled: CompiledWorkload, run: Run, *, workload: Object, group: CompiledGroup, rule: str) -> None:
        self._allowed = compiled.source.allowed_overrides
        self._run, self._workload, self._group, self._rule = run, workload, group, rule

    def resolve(self, name: str) -> PlannedGroup:
        spec = self._group.source
        count = self._whole_number(self._group.count, "members.countExpression", least=0)
        key = self._override(TOPOLOGY_KEY_ANNOTATION)
        return PlannedGroup(
            template=spec.name,
            pod_group=name,
            count=count,
            min_count=self._min_count(count) if spec.gang else None,
            disrupt_all=spec.disrupt_all,
            topology_key=key or self._text(self._group.topology_key, "schedulingConstraints.topology[0].keyExpression"),
            priority_class_name=self._priority_class(),
            resource_claims=spec.resource_claims,
            paths=(spec.members.path,),
        )

    def _min_count(self, count: int) -> int:
        """Return the quorum: the user's, else the policy's, else every member; at least 1, as the API requires."""
        asked, most = self._override(MIN_COUNT_ANNOTATION), max(count, 1)
        if asked:
            field = f"metadata.annotations[{MIN_COUNT_ANNOTATION}]"
            if not asked.isascii() or not asked.isdigit() or not 1 <= int(asked) <= most:
                problem = f"{field} is {asked!r}; it must be a whole number from 1 to the {count} pods of the workload"
                raise GroupProblem(problem, rule=self._rule, field=field)
            return int(asked)
        if self._group.min_count is None:
            return most
        wanted = self._whole_number(self._group.min_count, "schedulingPolicy.gang.minCountExpression", least=1)
        if wanted > most:
            problem = f"minCount {wanted} is more than the {count} pods of the workload, so it would never start"
            raise GroupProblem(problem, rule=f"{self._rule}.schedulingPolicy.gang.minCountExpression")
        return wanted

    def _override(self, name: str) -> str:
        value = annotations_of(self._workload).get(name, "")
        if value and name not in self._allowed:
            field = f"metadata.annotations[{name}]"
            problem = f"{field} is set, but the policy does not allow it (spec.overrides.allow)"
            raise GroupProblem(problem, rule="overrides", field=field)
        return value

    def _priority_class(self) -> str:
        """Return the group's priority class: pods whose priority differs from their group's are never scheduled."""
        if self._group.priority_class_name is not None:
            return self._text(self._group.priority_class_name, "priorityClassNameExpression")
        path = f"{self._group.source.members.path}.spec"
        named = {spec.get("priorityClassName", "") for spec in read_path(self._workload, path) if isinstance(spec, dict)}
        if len(named) > 1:
            field, values = f"{path}.priorityClassName", ", ".join(map(repr, sorted(named)))
            raise GroupProblem(
                f"{field} differs within one group ({values}), which is never scheduled", rule=self._rule, field=field
            )
        return str(next(iter(named), ""))

    def _text(self, program: Program | None, rule: str) -> str:
        value = "" if program is None else self._value(program, rule)
        if not isinstance(value, str):
            raise GroupFailure(f"{self._rule}.{rule} gave {value!r}, not a string", rule=f"{self._rule}.{rule}")
        return value

    def _whole_number(self, program: Program, rule: str, *, least: int) -> int:
        value = self._value(program, rule)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            problem = f"{self._rule}.{rule} gave {value!r}, not a whole number of at least {least}"
            raise GroupFailure(problem, rule=f"{self._rule}.{rule}")
        return value

    def _value(self, program: Program, rule: str) -> object:
        try:
            return self._run.evaluate(program)
        except (EvaluationError, RuleProblem) as error:
            raise GroupFailure(f"{self._rule}.{rule} failed: {error}", rule=f"{self._rule}.{rule}") from error
