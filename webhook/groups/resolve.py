"""The groups of one workload: a policy's expressions evaluated over it, the user's allowed words applied."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from webhook.cel import EvaluationError, Program
from webhook.groups.compile import ITEM, ITEMS, CompiledGroup, CompiledWorkload
from webhook.groups.instances import Instance, chooses, instances_of
from webhook.groups.paths import read_path
from webhook.model.groups import CLAIM_SOURCES, MIN_COUNT_ANNOTATION, TOPOLOGY_KEY_ANNOTATION, Capabilities, PlannedGroup, slot_of
from webhook.model.names import wrong_label, wrong_qualified_name
from webhook.model.objects import Object, annotations_of
from webhook.rules import UNDECIDED, RuleProblem, Run

TOPOLOGY_RULE = "schedulingConstraints.topology[0].keyExpression"
_MOST = 2**31 - 1
"""Counts of the API are int32."""
_DIGITS = 10
"""Of the largest count; Python refuses to read a number of thousands of digits."""
AGREED = ("schedulerName", "preemptionPolicy")
"""Fields of a pod in which all members of a group must agree, beside the priority (schedule_one_podgroup.go)."""
_SHOWN = 80
"""Characters of a foreign value in a message."""


class GroupProblem(Exception):  # noqa: N818 - a verdict in the making, not an error of the program
    """A workload cannot have the group that its policy asks for; ``field`` is where in the workload, if known."""

    def __init__(self, message: str, *, rule: str, field: str = "") -> None:
        super().__init__(message)
        self.rule, self.field = rule, field


class GroupFailure(GroupProblem):
    """An expression of the policy could not be evaluated: its failurePolicy decides.

    ``undecided``: it asks for something that is not in the snapshot, and an offline command skips it.
    """

    def __init__(self, message: str, *, rule: str, undecided: bool = False) -> None:
        super().__init__(message, rule=rule)
        self.undecided = undecided


def resolve_groups(
    compiled: CompiledWorkload,
    run: Run,
    name_of: Callable[[str], str | None],
    *,
    stored: bool = False,
    keys: Collection[str] = ("",),
) -> tuple[PlannedGroup, ...]:
    """Evaluate a policy for the object of a run; ``name_of`` says what the PodGroup of a slot is called. Raises GroupProblem.

    A slot without a name gets no group. ``keys`` tell apart the groups whose pods are stamped one by one. ``stored``: the
    object was admitted before and may have shrunk since, so a quorum above its count follows the count.
    """
    workload = run.situation.request.object
    if workload is None:
        raise GroupProblem("there is no object to group", rule="podGroups")
    resolvers = [
        _Resolver(compiled, run, workload=workload, group=group, rule=f"podGroups[{index}]", stored=stored, keys=keys)
        for index, group in enumerate(compiled.groups)
    ]
    groups = tuple(group for resolver in resolvers for group in resolver.resolve(name_of))
    _check_apart(groups)
    return groups


def place_groups(compiled: CompiledWorkload, run: Run, names: Mapping[str, str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the PodGroups of the object of a run, each with the paths of its templates; nothing else is evaluated.

    ``names`` are PodGroup names by slot. Raises GroupProblem.
    """
    workload = run.situation.request.object or {}
    resolvers = (
        _Resolver(compiled, run, workload=workload, group=group, rule=f"podGroups[{index}]", stored=True)
        for index, group in enumerate(compiled.groups)
    )
    return tuple((name, instance.paths) for resolver in resolvers for name, instance in resolver.instances(names.get))


def _check_apart(groups: Iterable[PlannedGroup]) -> None:
    """Refuse a template that two entries of a policy choose: a pod has one group."""
    taken: dict[str, str] = {}
    for group in groups:
        for path in group.paths:
            if taken.setdefault(path, group.slot) != group.slot:
                problem = f"the pods at {path} belong to {taken[path]} and to {group.slot}; a pod has one group"
                raise GroupProblem(problem, rule="podGroups", field=path)


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


class Values:
    """What the expressions of one entry of a policy give; what they should not give is a GroupFailure that names the rule."""

    def __init__(self, run: Run, rule: str) -> None:
        self._run, self._rule = run, rule

    def text(self, program: Program | None, rule: str, seen: Mapping[str, object]) -> str:
        """Return a text; empty where there is no expression."""
        value = "" if program is None else self.value(program, rule, seen)
        if not isinstance(value, str):
            raise self.failure(f"gave {_shown(value)}, not a string", rule)
        return value

    def label_key(self, program: Program | None, rule: str, seen: Mapping[str, object]) -> str:
        """Return the key of a label; empty where there is none."""
        key = self.text(program, rule, seen)
        if key and wrong_qualified_name(key):
            raise self.failure(f"gave {_shown(key)}, which is no label key", rule)
        return key

    def whole_number(self, program: Program, rule: str, seen: Mapping[str, object], *, least: int) -> int:
        """Return a number that a count of the API can hold."""
        value = self.value(program, rule, seen)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
            raise self.failure(f"gave {_shown(value)}, not a whole number from {least} to {_MOST}", rule)
        return value

    def value(self, program: Program, rule: str, seen: Mapping[str, object]) -> object:
        """Return whatever it gives."""
        try:
            return self._run.evaluate_with(program, seen)
        except EvaluationError as error:
            raise self.failure(f"failed: {error}", rule, undecided=error.kind == UNDECIDED) from error
        except RuleProblem as problem:
            raise self.failure(f"failed: {problem}", rule, undecided=problem.undecided) from problem

    def failure(self, message: str, rule: str, *, undecided: bool = False) -> GroupFailure:
        """Return the failure of one expression."""
        return GroupFailure(f"{self._rule}.{rule} {message}", rule=f"{self._rule}.{rule}", undecided=undecided)


def asked_topology_key(workload: Object, allowed: Collection[str]) -> str:
    """Return the topology key that the workload's owner asks for; empty: none. Raises GroupProblem."""
    asked = asked_value(workload, TOPOLOGY_KEY_ANNOTATION, allowed)
    if asked and wrong_qualified_name(asked):
        field = f"metadata.annotations[{TOPOLOGY_KEY_ANNOTATION}]"
        raise GroupProblem(f"{field} is {_shown(asked)}, which is no label key", rule="overrides", field=field)
    return asked


def asked_value(workload: Object, name: str, allowed: Collection[str]) -> str:
    """Return what the workload's owner says in an annotation. Raises GroupProblem where the policy does not allow it."""
    value = annotations_of(workload).get(name, "")
    if value and name not in allowed:
        field = f"metadata.annotations[{name}]"
        problem = f"{field} is set, but the policy does not allow it (spec.overrides.allow)"
        raise GroupProblem(problem, rule="overrides", field=field)
    return value


class _Resolver:
    """One group of one workload."""

    def __init__(
        self,
        compiled: CompiledWorkload,
        run: Run,
        *,
        workload: Object,
        group: CompiledGroup,
        rule: str,
        stored: bool,
        keys: Collection[str] = (),
    ) -> None:
        self._keys = keys
        self._allowed = compiled.source.allowed_overrides
        self._run, self._workload, self._group, self._rule, self._stored = run, workload, group, rule, stored
        self._values = Values(run, rule)
        self._instance = Instance(key="", paths=group.source.members.paths)

    def resolve(self, name_of: Callable[[str], str | None]) -> Iterator[PlannedGroup]:
        for name, instance in self.instances(name_of):
            self._instance = instance
            yield self._resolve_one(name)

    def instances(self, name_of: Callable[[str], str | None]) -> Iterator[tuple[str, Instance]]:
        """Yield those groups of the entry that have a name."""
        spec = self._group.source
        if spec.on_pods:
            yield from self._known_instances(name_of)
            return
        for instance in instances_of(spec, self._workload, is_member=self._is_member, key_of=self._key_of):
            if instance.key and wrong_label(instance.key):
                shown = _shown(instance.key)
                raise self._values.failure(f"gave {shown}, which cannot be part of a name (a DNS label)", "instances")
            name = name_of(slot_of(spec.name, instance.key))
            if name:
                yield name, instance

    def _known_instances(self, name_of: Callable[[str], str | None]) -> Iterator[tuple[str, Instance]]:
        """Yield the groups of which pods were seen, and the only one there can be also without a pod."""
        spec = self._group.source
        for key in self._keys if spec.instances == "Key" else ("",):
            name = name_of(slot_of(spec.name, key))
            if name:
                yield name, Instance(key=key, paths=spec.members.paths)

    def _resolve_one(self, name: str) -> PlannedGroup:
        spec = self._group.source
        self._check_templates()
        count = self._values.whole_number(self._group.count, "members.countExpression", self._seen(), least=0)
        return PlannedGroup(
            template=spec.name,
            pod_group=name,
            count=count,
            min_count=self._min_count(count) if spec.gang else None,
            disrupt_all=spec.disrupt_all,
            topology_key=self._topology_key(),
            priority_class_name=self._priority_class(),
            resource_claims=spec.resource_claims,
            instance=self._instance.key,
            paths=() if spec.on_pods else self._instance.paths,
        )

    def _is_member(self, item: object) -> bool:
        if self._group.where is None:
            return True
        value = self._values.value(self._group.where, "members.where", {ITEM: item})
        if not isinstance(value, bool):
            raise self._values.failure(f"gave {_shown(value)}, not true or false", "members.where")
        return value

    def _key_of(self, item: object) -> str:
        return self._values.text(self._group.instance_key, "instances.keyExpression", {ITEM: item})

    def _check_templates(self) -> None:
        paths = self._instance.paths
        found = [(path, template) for path in paths for template in read_path(self._workload, path)]
        if not found and not self._group.source.on_pods:
            problem = f"there is no pod template at {' or '.join(paths)}, from which its pods would be grouped"
            raise GroupProblem(problem, rule=f"{self._rule}.members.path", field=paths[0])
        for path, template in found:
            if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
                problem = f"there is no pod template at {path} with a spec, from which its pods would be grouped"
                raise GroupProblem(problem, rule=f"{self._rule}.members.path", field=path)
        for name in AGREED:
            self._check_agreed(name)
        if not self._stored:  # it was admitted as it is, and cannot be changed any more
            self._check_claims(found)

    def _check_claims(self, templates: Iterable[tuple[str, Object]]) -> None:
        """Raise GroupProblem for pods that would each get a claim of their own, silently, beside the group's unused one.

        Source: dynamic-resource-allocation/resourceclaim, Name: a pod shares what it names in the very same words.
        """
        for claim in self._group.source.resource_claims:
            for path, template in templates:
                if _claim_words(claim) not in map(_claim_words, template["spec"].get("resourceClaims") or ()):
                    problem = (
                        f"the group shares the claim {_claim_said(claim)}, but no entry of {path}.spec.resourceClaims is equal "
                        "to it in name and source, so the pods would not share it; write the same entry there"
                    )
                    raise GroupProblem(problem, rule=f"{self._rule}.resourceClaims", field=f"{path}.spec.resourceClaims")

    def _check_agreed(self, name: str) -> None:
        """Refuse pods of one group that differ in what the scheduler wants to be the same in all of them."""
        given = {str(spec.get(name) or "") for spec in self._specs()}
        if len(given) > 1:
            problem = f"{name} differs within one group ({_listed(given)}), which is never scheduled as a whole"
            raise GroupProblem(problem, rule=self._rule, field=f"{self._instance.paths[0]}.spec.{name}")

    def _specs(self) -> tuple[Object, ...]:
        return tuple(spec for path in self._instance.paths for spec in read_path(self._workload, f"{path}.spec"))

    def _min_count(self, count: int) -> int:
        """Return the quorum: the user's, else the policy's, else every member; at least 1, as the API requires."""
        asked, most = asked_value(self._workload, MIN_COUNT_ANNOTATION, self._allowed), max(count, 1)
        if asked:
            return self._asked_min_count(asked, count)
        if self._group.min_count is None:
            return most
        rule = "schedulingPolicy.gang.minCountExpression"
        wanted = self._values.whole_number(self._group.min_count, rule, self._seen(), least=1)
        if wanted > most and not self._stored:
            problem = f"minCount {wanted} is more than the {_pods(count)} of the workload, so it would never start"
            raise GroupProblem(problem, rule=f"{self._rule}.{rule}")
        return min(wanted, most)

    def _asked_min_count(self, asked: str, count: int) -> int:
        most = max(count, 1)
        field = f"metadata.annotations[{MIN_COUNT_ANNOTATION}]"
        number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) <= _DIGITS else 0
        if number < 1 or (number > most and not self._stored):
            problem = f"{field} is {_shown(asked)}; it must be a whole number from 1 to the {_pods(count)} of the workload"
            raise GroupProblem(problem, rule=self._rule, field=field)
        return min(number, most)

    def _topology_key(self) -> str:
        """Return the label key within one value of which the group must stay; empty: anywhere.

        What the owner asks for is meant of the whole, so within a group of groups it is that of the latter.
        """
        asked = "" if self._group.source.composite else asked_topology_key(self._workload, self._allowed)
        return asked or self._values.label_key(self._group.topology_key, TOPOLOGY_RULE, self._seen())

    def _priority_class(self) -> str:
        """Return the group's priority class: pods whose priority differs from their group's are never scheduled."""
        rule = "priorityClassNameExpression"
        wanted = (
            None
            if self._group.priority_class_name is None
            else self._values.text(self._group.priority_class_name, rule, self._seen())
        )
        named = {str(spec.get("priorityClassName") or "") for spec in self._specs()}
        if not named:  # templates that are nowhere to be seen, of pods that are stamped one by one
            return wanted or ""
        field = f"{self._instance.paths[0]}.spec.priorityClassName"
        if wanted is not None and named != {wanted}:
            problem = f"{field} is {_listed(named)}, but the group's is {wanted!r}, so it would never be scheduled"
            raise GroupProblem(problem, rule=f"{self._rule}.{rule}", field=field)
        if len(named) > 1:
            problem = f"{field} differs within one group ({_listed(named)}), which is never scheduled"
            raise GroupProblem(problem, rule=self._rule, field=field)
        return next(iter(named))

    def _seen(self) -> Mapping[str, object]:
        """Return the variables that only the expressions of this group may read."""
        return {ITEMS: list(self._instance.items)} if chooses(self._group.source) else {}


def _claim_words(claim: object) -> tuple[object, ...]:
    """Return what the scheduler compares of a claim."""
    return tuple(claim.get(name) or "" for name in ("name", *CLAIM_SOURCES)) if isinstance(claim, dict) else ()


def _claim_said(claim: Mapping[str, str]) -> str:
    source = next((f"{name} {_shown(claim[name])}" for name in CLAIM_SOURCES if claim.get(name)), "nothing")
    return f"{_shown(claim.get('name'))} from {source}"


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _shown(value: object) -> str:
    """Return a value for a message, cut: an annotation may hold 256 KiB."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, sorted(names)))
