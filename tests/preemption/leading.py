"""A keeper without its loops: one look at the group of a simulated cluster, and what comes of it, write by write."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from tests.preemption.simulated import Cluster, named
from webhook.groups import has_ended
from webhook.model.actions import Apply, Delete, Evict, Resume, SetCondition, SetQuorum, Suspend, Write
from webhook.model.disruption import Health, Intent, Loss, Past, Step
from webhook.model.groups import PlannedGroup
from webhook.model.objects import Object, metadata_of
from webhook.model.policies import DisruptionSpec
from webhook.preemption import GroupFacts, Turn, gather_facts, judge_health, loss_of_gone, plan_abandon, plan_restart, read_trace
from webhook.preemption.limits import Begun, Rates
from webhook.preemption.restart import Seen
from webhook.preemption.steps import repair, since_restart

RATES = Rates(
    per_namespace=1000, per_owner=1000, window_seconds=60, backoff_initial_seconds=2, backoff_limit_seconds=10, calm_seconds=60
)


@dataclass(frozen=True, slots=True)
class Look:
    """What one look saw and did."""

    facts: GroupFacts
    health: Health
    """Of the members, without the intent."""
    told: Health
    """As users see it."""
    turn: Turn
    done: tuple[Write, ...]
    allowed: int | None
    """What the budget allowed then; None: there was none."""


@dataclass
class Leader:
    """The controller that leads; another one knows only what is written."""

    cluster: Cluster
    spec: DisruptionSpec
    losses: dict[str, Loss] = field(default_factory=dict)
    absent: dict[str, datetime] = field(default_factory=dict)
    short_since: datetime | None = None
    intent: Intent | None = None
    is_inherited: bool = False
    past: Past | None = None
    begun: int = 0
    seen_pods: dict[str, Object] = field(default_factory=dict)

    def take_over(self) -> None:
        """Begin to lead: what is written of a restart is all there is."""
        trace = read_trace(self.cluster.group)
        self.intent, self.past, self.short_since = trace.intent, trace.past, None
        self.is_inherited = trace.intent is not None

    def watch(self) -> None:
        """Notice what is gone since the last time."""
        pods, now = self.cluster.pods, self.cluster.now
        for name, last in self.seen_pods.items():
            is_gone = name not in pods and self.cluster.is_own(last)
            if is_gone and (loss := loss_of_gone(last, now)) is not None:
                self.losses[loss.uid] = loss
        self.seen_pods = self.cluster.seen_pods()
        on = {str(one["spec"].get("nodeName") or "") for one in pods.values()} - {""}
        self.absent = {name: self.absent.get(name, now) for name in on if name not in self.cluster.nodes}

    def facts(self) -> GroupFacts:
        cluster = self.cluster
        return gather_facts(
            cluster.group,
            list(cluster.seen_pods().values()),
            cluster.snapshot(),
            spec=self.spec,
            now=cluster.now,
            planned=PlannedGroup(template="workers", pod_group="g", count=cluster.parallelism, min_count=cluster.asked),
            losses=self.losses.values(),
            absent_nodes=self.absent,
            short_since=self.short_since,
            intent=self.intent,
        )

    def look(self, *, die_after: int | None = None) -> Look:
        """Look at the group once; ``die_after`` so many writes another leader takes over."""
        self.watch()
        facts = self.facts()
        allowed = min((one["status"]["disruptionsAllowed"] for one in self.cluster.budgets.values()), default=None)
        health = judge_health(since_restart(facts))
        self.short_since = (self.short_since or facts.now) if health.is_short else None
        self._keep(health.losses)
        seen = Seen(
            facts=facts,
            health=health,
            past=self.past,
            begun=Begun(),
            rates=RATES,
            fresh_id=f"r{self.begun}",
            await_seconds=60,
            is_inherited=self.is_inherited,
        )
        turn = plan_restart(seen)
        writes = (*turn.writes, *(repair(facts) if turn.intent is None and facts.intent is None else ()))
        done, moot = self._carry_out(writes[:die_after])
        if moot and turn.intent is not None:
            turn = plan_abandon(replace(seen, facts=replace(facts, intent=turn.intent)), moot)
            done += self._carry_out(turn.writes)[0]
        look = Look(facts, health, judge_health(facts), turn, tuple(done), allowed)
        if die_after is not None and die_after < len(writes):
            self.take_over()
            return look
        self.begun += turn.began
        if turn.intent is not None and any(isinstance(one, Suspend) for one in done):
            turn = replace(turn, intent=replace(turn.intent, suspended_by_us=True))
        if turn.intent is not None and turn.intent.step is Step.FORMING and self.intent != turn.intent:
            self.losses, self.short_since = {}, None
        self.intent, self.past, self.is_inherited = turn.intent, turn.past, False
        return look

    def _keep(self, losses: tuple[Loss, ...]) -> None:
        kept = {loss.uid for loss in losses}
        self.losses = {uid: loss for uid, loss in self.losses.items() if uid in kept}

    def _carry_out(self, writes: tuple[Write, ...]) -> tuple[list[Write], str]:
        done: list[Write] = []
        for write in writes:
            moot = self._write(write)
            if moot:
                return done, moot
            done.append(write)
        return done, ""

    def _write(self, write: Write) -> str:
        """Do what the executor does; return why it was moot and somebody else's business."""
        match write:
            case Suspend():
                return self._suspend()
            case Resume():
                return self._resume()
            case SetQuorum():
                self.cluster.group["spec"]["schedulingPolicy"]["gang"]["minCount"] = write.min_count
            case Evict() | Delete():
                self._take(write)
            case SetCondition():
                self._set_condition(write)
            case Apply():
                raise AssertionError("a restart applies nothing")
        return ""

    def _suspend(self) -> str:
        job = self.cluster.job
        if job is None or self.cluster.is_suspended:
            return "" if job is None or self.cluster.suspended_by == "us" else "spec.suspend is held by kubectl"
        job["spec"]["suspend"], self.cluster.suspended_by = True, "us"
        return ""

    def _resume(self) -> str:
        job = self.cluster.job
        if job is None or not self.cluster.is_suspended:
            return ""
        if self.cluster.suspended_by != "us":
            return "spec.suspend is held by kubectl" if self.intent else ""
        job["spec"]["suspend"], self.cluster.suspended_by, self.cluster.is_resumed = False, "", True
        return ""

    def _take(self, write: Evict | Delete) -> None:
        one = self._pod(write.key.name, write.uid)
        if one is None:
            return
        if isinstance(write, Evict):
            if not has_ended(one):
                self.cluster.evict(one)
        elif write.force:
            del self.cluster.pods[named(one)]
        else:
            self.cluster.delete_pod(one)

    def _pod(self, name: str, uid: str) -> Object | None:
        found = self.cluster.pods.get(name)
        return found if found is not None and metadata_of(found)["uid"] == uid else None

    def _set_condition(self, write: SetCondition) -> None:
        conditions = self.cluster.group["status"]["conditions"]
        conditions[:] = [one for one in conditions if one["type"] != write.type]
        if write.status is not None:
            since = self.cluster.text(write.since)
            status = "True" if write.status else "False"
            conditions.append(
                {
                    "type": write.type,
                    "status": status,
                    "reason": write.word,
                    "message": write.message,
                    "lastTransitionTime": since,
                }
            )
