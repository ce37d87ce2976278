"""Advice about rules that look at some of a pod's containers only, or at pods and not at what makes them."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.admission.advice.nodes import loops, mentions
from webhook.admission.advice.paths import ELEMENT, Scope, loop_names
from webhook.admission.advice.subject import Part, Role, Subject
from webhook.admission.advice.telling import at_node, at_policy
from webhook.admission.templates import ANNOTATION, asks_about_templates
from webhook.cel.syntax import Macro
from webhook.model.diagnostics import Diagnostic, Level

_GUARDED = ("image", "imagePullPolicy", "securityContext", "env", "envFrom", "volumeMounts", "command", "args", "lifecycle")
"""Fields of which a rule is meant for every container: what may run, and as whom. Resources and ports are another matter."""
_MAKERS = frozenset({"CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"})
_READING = (Role.VARIABLE, Role.VALIDATION)


def pod_advice(subject: Subject) -> Iterator[Diagnostic]:
    """Look at the rules about containers of a ValidatingAdmissionPolicy."""
    if subject.policy is None:
        return
    found = next(_container_loops(subject), None)
    if found is None:
        return
    part, loop = found
    kinds = {kind.kind for _, kind in subject.cases if kind is not None}
    if not _mentioned(subject, "initContainers"):
        message = "looks at containers only; initContainers run with the same rights: add object.spec.?initContainers.orValue([])"
        yield at_node(subject, part, loop, "missed-containers", message)
    elif "Pod" in kinds and not _mentioned(subject, "ephemeralContainers"):
        message = (
            "leaves ephemeralContainers out, which are added to running pods by the subresource pods/ephemeralcontainers; "
            "match it too, and add object.spec.?ephemeralContainers.orValue([])"
        )
        yield at_node(subject, part, loop, "missed-containers", message, level=Level.NOTE)
    if "Pod" in kinds and not kinds & _MAKERS and subject.denies and not asks_about_templates(subject.head):
        message = (
            "judges pods only: a Job or Deployment with such a template is admitted, and its pods are denied later, where nobody "
            f"looks; match jobs, cronjobs, deployments, statefulsets and daemonsets too, or annotate it {ANNOTATION}: 'true', "
            "and check tells it"
        )
        yield at_policy(subject, "missed-templates", message)


def _container_loops(subject: Subject) -> Iterator[tuple[Part, Macro]]:
    """Yield loops over containers whose bodies read a field that matters of every container."""
    scope = Scope.of(subject)
    for part in subject.having(*_READING):
        for loop, around in loops(part.root, scope.within(part)):
            paths = frozenset().union(*loop_names(loop, around).values())
            if any(path[-2:] == ("containers", ELEMENT) for path in paths) and mentions(loop.body, *_GUARDED):
                yield part, loop


def _mentioned(subject: Subject, field: str) -> bool:
    return any(mentions(part.root, field) for part in subject.parts)
