"""Schemas of the kinds of ``gangwarden.dev``, as their decoders read them."""

from __future__ import annotations

from dataclasses import fields as fields_of

from webhook.model.access import ACCESS_ANSWER, ACCESS_QUESTION
from webhook.model.groups import OVERRIDES, Capabilities
from webhook.model.requests import Operation
from webhook.model.verdicts import Verdict
from webhook.policies.exceptions import EXCEPTABLE
from webhook.policies.kinds import OURS
from webhook.policies.schemas.native import actions, binding_fields
from webhook.policies.schemas.parts import (
    Schema,
    anything,
    cel,
    conditions,
    document,
    fields,
    head,
    listed,
    text,
    texts,
)

_DURATION: Schema = {"pattern": r"^(\d+h)?(\d+m)?(\d+s)?$"}
_PATH: Schema = {"pattern": r"^[A-Za-z][A-Za-z0-9]*(\[\*\])?(\.[A-Za-z][A-Za-z0-9]*(\[\*\])?)*$"}


def workload_policy() -> Schema:
    """Describe a WorkloadPolicy."""
    spec = fields(
        "Which Workload and PodGroups a workload gets.",
        {
            **head(),
            "precedence": {"type": "integer", "default": 0, "description": "Of two that match the higher one decides."},
            "attach": text("Who makes the group objects.", choices=("Auto", "Native", "Managed"), default="Auto"),
            "podGroups": listed("The groups.", _pod_group(), minItems=1, maxItems=8),
            "compositePodGroups": listed("Groups of groups, instead.", _composite(), minItems=1, maxItems=8),
            "disruption": _disruption(),
            "overrides": fields(
                "What users may say on their objects.", {"allow": texts("Which words.", choices=OVERRIDES, uniqueItems=True)}
            ),
        },
        required=("matchConstraints",),
        oneOf=[{"required": ["podGroups"]}, {"required": ["compositePodGroups"]}],
    )
    return document("WorkloadPolicy", OURS, spec)


def workload_binding() -> Schema:
    """Describe a WorkloadPolicyBinding."""
    spec = fields("Makes a WorkloadPolicy act.", {**binding_fields(), "validationActions": actions()}, required=("policyName",))
    return document("WorkloadPolicyBinding", OURS, spec)


def policy_exception() -> Schema:
    """Describe a PolicyException."""
    rule = fields(
        "A rule that does not apply.",
        {
            "rule": text("As verdicts name it.", pattern=r"^((validations|mutations)\[\d+\]|podGroups)$"),
            "expression": text("What the rule says at the moment, so that another rule in its place is not excepted."),
        },
        required=("rule",),
    )
    spec = fields(
        "Rules of a policy that do not apply to some objects, until a day.",
        {
            "policyKind": text("The kind of the policy.", choices=EXCEPTABLE, default=EXCEPTABLE[0]),
            "policyName": text("The policy.", minLength=1),
            "rules": listed("Which of its rules.", rule, minItems=1),
            "matchConditions": {
                **conditions(),
                "minItems": 1,
                "description": "To which objects they do not apply; all must hold.",
            },
            "owner": text("Who answers for it.", pattern=r"\S"),
            "reason": text("Why.", pattern=r"\S"),
            "expires": text(
                "2026-12-31 (to the end of that day, UTC) or 2026-12-31T18:00:00Z.",
                pattern=r"^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(Z|[+-]\d{2}:\d{2}))?$",
            ),
        },
        required=("policyName", "rules", "matchConditions", "owner", "reason", "expires"),
    )
    return document("PolicyException", OURS, spec)


def policy_test() -> Schema:
    """Describe a PolicyTest."""
    spec = fields(
        "Cases for the policies beside it.",
        {
            "policies": texts("Files or folders, relative to this file; its own folder by default."),
            **_surroundings(),
            "cases": listed("Questions, each with the answer expected.", _case(), minItems=1),
        },
        required=("cases",),
    )
    metadata = {**anything("The name of the test."), "properties": {"name": text("The name.", minLength=1)}, "required": ["name"]}
    return document("PolicyTest", OURS, spec, metadata=metadata)


def capabilities() -> Schema:
    """Describe the Capabilities document of a snapshot."""
    said: dict[str, Schema] = {
        camel(field.name): {"type": "boolean", "description": "Left out: not known."}
        if field.default is None
        else {"type": "boolean", "default": False, "description": "Left out: it does not work."}
        for field in fields_of(Capabilities)
    }
    return fields(
        "What the cluster of a snapshot can do.",
        {
            "apiVersion": {"const": OURS, "description": "Group and version of the kind."},
            "kind": {"const": "Capabilities", "description": "The kind."},
            "metadata": anything("The name; ignored."),
            **said,
        },
        required=("apiVersion", "kind"),
    )


def camel(name: str) -> str:
    """Return the name of a field as the API spells it."""
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


_COUNT: Schema = {"type": "integer", "minimum": 1}


def _members() -> Schema:
    return fields(
        "Which pods belong to it.",
        {
            "path": text("Where they are stamped from, such as spec.template.", **_PATH),
            "paths": listed("Several such places.", text("A place.", **_PATH), minItems=1),
            "where": cel("A bool over item: which entries of a list belong to it; with stamp Pod, which pods."),
            "through": texts("What stands between the workload and its pods, such as jobs.batch; with stamp Pod."),
            "count": {**_COUNT, "description": "How many there are."},
            "countExpression": cel("How many there are, an int."),
        },
        allOf=[
            {"not": {"required": ["path", "paths"]}},
            {"oneOf": [{"required": ["count"]}, {"required": ["countExpression"]}]},
        ],
    )


def _composite() -> Schema:
    gang = fields(
        "All groups start together, or none.",
        {
            "minGroupCount": {**_COUNT, "description": "How many at least; left out: all of them."},
            "minGroupCountExpression": cel("How many at least, an int."),
        },
    )
    return fields(
        "Groups that start together; alpha, needs --enable-alpha=CompositePodGroup.",
        {
            "name": text("Name of the CompositePodGroupTemplate, a DNS label.", minLength=1),
            "instances": text(
                "One for all groups, or one for each instance of them.", choices=("One", "PerInstance"), default="One"
            ),
            "schedulingPolicy": _union("How they start.", {"gang": gang, "basic": fields("Group by group.", {})}),
            "disruptionMode": _disruption_mode(),
            "schedulingConstraints": _constraints(),
            "podGroups": listed("Its groups.", _pod_group(), minItems=1, maxItems=8),
        },
        required=("name", "podGroups"),
    )


def _constraints() -> Schema:
    topology = fields(
        "All members within one domain.",
        {"key": text("A label of nodes."), "keyExpression": cel("A label of nodes.")},
        oneOf=[{"required": ["key"]}, {"required": ["keyExpression"]}],
    )
    return fields("Where it may run.", {"topology": listed("At most one.", topology, maxItems=1)})


def _disruption_mode() -> Schema:
    modes = {"all": fields("All or none.", {}), "single": fields("One by one.", {})}
    return _union("What the scheduler may preempt.", modes)


def _pod_group() -> Schema:
    gang = fields(
        "All start together, or none.",
        {
            "minCount": {**_COUNT, "description": "How many at least; left out: all of them."},
            "minCountExpression": cel("How many at least, an int."),
        },
    )
    return fields(
        "A group.",
        {
            "name": text("Name of the PodGroupTemplate, a DNS label.", minLength=1),
            "members": _members(),
            "instances": {
                "description": "How many groups: one, or one per entry of the list, or one per value of a key.",
                "default": "One",
                "anyOf": [
                    {"enum": ["One", "PerItem"]},
                    fields("One per value.", {"keyExpression": cel("The key.")}, required=("keyExpression",)),
                ],
            },
            "stamp": text("Where the pods' group is written.", choices=("Template", "Pod"), default="Template"),
            "schedulingPolicy": _union("How it starts.", {"gang": gang, "basic": fields("Pod by pod.", {})}),
            "disruptionMode": _disruption_mode(),
            "schedulingConstraints": _constraints(),
            "priorityClassName": text("Left out: that of the pods."),
            "priorityClassNameExpression": cel("A string."),
            "resourceClaims": listed("Claims that the group shares.", _claim(), maxItems=4),
        },
        required=("name", "members"),
    )


def _claim() -> Schema:
    return fields(
        "A claim.",
        {
            "name": text("Its name, a DNS label.", minLength=1),
            "resourceClaimName": text("A ResourceClaim."),
            "resourceClaimTemplateName": text("A ResourceClaimTemplate."),
        },
        required=("name",),
        oneOf=[{"required": ["resourceClaimName"]}, {"required": ["resourceClaimTemplateName"]}],
    )


def _union(description: str, members: dict[str, Schema]) -> Schema:
    return fields(description, members, minProperties=1, maxProperties=1)


def _disruption() -> Schema:
    return fields(
        "What is done for a group that lost a member.",
        {
            "onDisruption": text("It was taken.", choices=("Restart", "IfNotReplaced", "Ignore"), default="Restart"),
            "onMemberFailure": text("Its program failed.", choices=("Restart", "Ignore"), default="Ignore"),
            "replacementGracePeriod": text("How long to wait for a replacement.", default="0s", **_DURATION),
            "onEviction": text("What an evicted group does next.", choices=("Finish", "Hold"), default="Finish"),
            "budgets": text("PodDisruptionBudgets.", choices=("Respect", "Ignore"), default="Respect"),
            "budgetTimeout": text("How long to wait for them.", default="10m", **_DURATION),
            "onBudgetTimeout": text("What to do then.", choices=("Hold", "Restart"), default="Hold"),
            "maxRestarts": {"type": "integer", "minimum": 0, "default": 10, "description": "How often at most."},
            "fastRestart": {"type": "boolean", "default": False, "description": "Give Indexed Jobs a back-off for each index."},
            "restart": fields(
                "In which way: by a field that suspends, or by eviction.",
                {"suspendPath": text("Such as spec.suspend.", **_PATH), "evict": fields("By eviction.", {})},
                oneOf=[{"required": ["suspendPath"]}, {"required": ["evict"]}],
            ),
        },
    )


def _surroundings() -> dict[str, Schema]:
    objects: Schema = {"anyOf": [{"type": "string"}, {"type": "object"}]}
    return {
        "namespaceObject": anything("The Namespace of the object."),
        "params": listed("Params beside those among the policies: objects, or names of files.", objects),
        "snapshot": listed("The cluster: objects, or names of files.", objects),
        "authorizer": listed("Who may do what, for policies that ask; the first rule that fits answers.", _access()),
        "now": text("When it is asked, for exceptions: 2026-12-31 or 2026-12-31T18:00:00Z; the clock's by default."),
    }


def _access() -> Schema:
    question = {name: text("Left out or *: any.") for name in ACCESS_QUESTION}
    answer: dict[str, Schema] = {
        name: {"type": "boolean" if kind is bool else "string", "description": "The answer."}
        for name, kind in ACCESS_ANSWER.items()
    }
    return fields("A rule; one with a path speaks of paths of the API server only.", {**question, **answer})


def _case() -> Schema:
    expect = fields(
        "What is expected; what is left out is not looked at.",
        {
            "verdict": text("The strongest finding.", choices=[verdict.value for verdict in Verdict]),
            "message": text("A part of the message."),
            "policy": text("The policy that said so."),
            "binding": text("Its binding."),
            "rule": text("The rule, such as validations[0]."),
            "field": text("The field that it is about."),
            "patched": anything("A part of the object after the change."),
            "groups": listed("Parts of the objects that would be created; an empty list: none.", {"type": "object"}),
        },
        required=("verdict",),
    )
    return fields(
        "A question and its answer.",
        {
            "name": text("A sentence.", minLength=1),
            "operation": text(
                "What is done to the object.", choices=[operation.value for operation in Operation], default="CREATE"
            ),
            "object": anything("The object."),
            "file": text("The object's file; jobs.yaml#1 is its second document."),
            "oldObject": anything("The object before the change."),
            "oldFile": text("Its file."),
            "subResource": text("Such as status."),
            "user": text("Who asks; an administrator by default."),
            "groups": texts("The groups of who asks."),
            **_surroundings(),
            "expect": expect,
        },
        required=("name", "expect"),
        anyOf=[{"required": [name]} for name in ("object", "file", "oldObject", "oldFile")],
    )
