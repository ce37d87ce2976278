"""``gangwarden explain``: what became of a group, with the cause in one sentence and the next step."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial

import click
from click.shell_completion import CompletionItem

from webhook.admission import PolicySet, disruption_of
from webhook.cli.options import FILE_OR_FOLDER, Moment, cluster_options, policy_option
from webhook.errors import UsageError
from webhook.model.groups import SCHEDULING_GROUP
from webhook.model.objects import Kind, Object, ObjectKey
from webhook.model.policies import DisruptionSpec
from webhook.model.snapshot import Snapshot
from webhook.model.stories import Story
from webhook.policies import bundled_policies, load_manifests, load_policies
from webhook.preemption import tell_story
from webhook.reports import note_lines, show, story_json, story_lines

_KINDS = {
    "pod": (Kind("", "v1", "Pod"), ("po", "pods")),
    "job": (Kind("batch", "v1", "Job"), ("jobs",)),
    "podgroup": (Kind(SCHEDULING_GROUP, "v1beta1", "PodGroup"), ("pg", "podgroups")),
    "jobset": (Kind("jobset.x-k8s.io", "", "JobSet"), ("jobsets",)),
    "leaderworkerset": (Kind("leaderworkerset.x-k8s.io", "", "LeaderWorkerSet"), ("lws", "leaderworkersets")),
    "mpijob": (Kind("kubeflow.org", "", "MPIJob"), ("mpijobs",)),
    "pytorchjob": (Kind("kubeflow.org", "", "PyTorchJob"), ("pytorchjobs",)),
    "trainjob": (Kind("trainer.kubeflow.org", "", "TrainJob"), ("trainjobs",)),
    "raycluster": (Kind("ray.io", "", "RayCluster"), ("rayclusters",)),
    "rayjob": (Kind("ray.io", "", "RayJob"), ("rayjobs",)),
    "sparkapplication": (Kind("sparkoperator.k8s.io", "", "SparkApplication"), ("sparkapp", "sparkapplications")),
}
"""What a person may call a kind; any other as KIND.GROUP, such as ``trial.example.com``."""
_DEFAULT = "default"


def _offered(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in _KINDS if name.startswith(incomplete)]


@click.command("explain")
@click.argument("words", metavar="KIND/NAME | KIND NAME", nargs=-1, required=True, shell_complete=_offered)
@click.option(
    "-n", "--namespace", default="", metavar="NS", help="Where the object is; that of the kubeconfig's context by default."
)
@cluster_options
@click.option(
    "--snapshot",
    multiple=True,
    metavar="PATH",
    type=FILE_OR_FOLDER,
    help="Objects from files instead of a cluster, as kubectl prints them: Jobs, PodGroups, pods, events.",
)
@policy_option
@click.option("--now", type=Moment(), default=None, metavar="TIME", help="As of this moment; the clock's by default.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="What is printed.")
@click.pass_context
def explain_command(  # noqa: PLR0917 - click passes flags by name
    ctx: click.Context,
    words: tuple[str, ...],
    namespace: str,
    kubeconfig: str | None,
    context: str | None,
    snapshot: tuple[str, ...],
    policies: tuple[str, ...],
    now: datetime | None,
    output: str,
) -> None:
    """Tell what became of a pod, a PodGroup or a workload, and why, from its objects and their events.

    KIND is pod, job, podgroup, jobset and the like, or KIND.GROUP. Exits with 1 when something keeps the group from working.
    """
    kind, name = _asked(words)
    policy_set = load_policies(policies or (bundled_policies(),))
    tell = partial(_tell, now=now or datetime.now(UTC), policies=policy_set)
    target = ObjectKey(kind.group, kind.kind, namespace, name)
    notes: list[str] = []
    if snapshot:
        story = _offline(snapshot, kind, target, tell)
    else:
        story = asyncio.run(_live(kubeconfig, context, kind, target, tell, notes))
    if output == "json":
        click.echo(story_json(story))
    else:
        show(story_lines(story), sys.stdout)
    show(note_lines(notes), sys.stderr)
    ctx.exit(any(one.is_finding for one in story.groups))


Teller = Callable[[ObjectKey, Snapshot, dict[str, str]], Story]


def _tell(target: ObjectKey, snapshot: Snapshot, names: dict[str, str], *, now: datetime, policies: PolicySet) -> Story:
    found = snapshot.get(target)
    if found is None:
        raise UsageError(f"there is no {target}")

    def spec_of(workload: Object) -> DisruptionSpec:
        judged = disruption_of(policies, workload)
        return DisruptionSpec() if judged is None else judged[1]

    return tell_story(found, snapshot, spec_of=spec_of, now=now, names=names)


def _offline(paths: tuple[str, ...], kind: Kind, target: ObjectKey, tell: Teller) -> Story:
    from webhook.cluster import load_snapshot  # noqa: PLC0415 - brings the Kubernetes client

    snapshot, _ = load_snapshot(load_manifests(paths))
    known = next(_known_as(kind, snapshot), kind)
    return tell(ObjectKey(known.group, known.kind, target.namespace or _DEFAULT, target.name), snapshot, {})


def _known_as(kind: Kind, snapshot: Snapshot) -> Iterator[Kind]:
    """Yield how a snapshot spells a kind that a person wrote in lower case."""
    for group, name in snapshot.buckets:
        if group == kind.group and name.lower() in (kind.kind.lower(), kind.kind.lower().removesuffix("s")):
            yield Kind(group, "", name)


async def _live(  # noqa: PLR0917 - one question, and where to note what could not be read
    kubeconfig: str | None, context: str | None, kind: Kind, target: ObjectKey, tell: Teller, notes: list[str]
) -> Story:
    from webhook.cli.survey import Survey, served_kind  # noqa: PLC0415 - brings the Kubernetes client
    from webhook.cluster import Api, connect  # noqa: PLC0415

    async with await connect(kubeconfig, context) as connection:
        api = Api.over(connection)
        kind = await served_kind(api, kind)
        namespace = target.namespace or connection.namespace or _DEFAULT
        target = ObjectKey(kind.group, kind.kind, namespace, target.name)
        survey = Survey(api, target.namespace)
        snapshot = await survey.take(kind)
        story = tell(target, snapshot, {})
        if story.unresolved:
            story = tell(target, snapshot, await survey.names_of(story.unresolved))
        notes += survey.notes
        return story


def _asked(words: tuple[str, ...]) -> tuple[Kind, str]:
    """Return kind and name from ``KIND/NAME`` or ``KIND NAME``. Raises UsageError."""
    parts = words[0].split("/") if len(words) == 1 else list(words)
    if len(parts) != 2 or not all(parts):
        raise UsageError(f"say which object: KIND/NAME or KIND NAME, such as job/train, not {' '.join(words)!r}")
    word, name = parts[0].lower(), parts[1]
    for full, (kind, others) in _KINDS.items():
        if word in (full, *others, f"{full}.{kind.group}"):
            return kind, name
    plain, dot, group = word.partition(".")
    if not dot:
        raise UsageError(
            f"{parts[0]!r} is none of {', '.join(_KINDS)}; say any other kind with its group, as {plain}.example.com"
        )
    return Kind(group, "", plain), name
