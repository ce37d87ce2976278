"""Which kinds are followed for the policies in force: found by discovery, looked for again while they are not served."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.admission.attaching import bound
from tests.admission.test_member import on_pods
from tests.controller.fakes import Holder
from tests.groups.test_other_kinds import sets
from webhook.admission import PolicySet, owner_resources
from webhook.cli import looking, owner_kinds
from webhook.cli.owner_kinds import OwnerKinds
from webhook.errors import ClusterError
from webhook.model.objects import Kind, Resource

JOB, SET = Kind("batch", "v1", "Job"), Kind("jobset.x-k8s.io", "v1alpha2", "JobSet")
BOTH = PolicySet(workload=(bound(), bound(sets())))


@dataclass
class Served:
    """Stands for an Api, and for its mapper."""

    kinds: dict[str, Kind] = field(default_factory=lambda: {"jobs": JOB})
    away: bool = False
    asked: list[str] = field(default_factory=list)

    @property
    def mapper(self) -> Served:
        return self

    async def kind_of(self, resource: Resource) -> Kind:
        self.asked.append(resource.resource)
        if self.away or resource.resource not in self.kinds:
            raise ClusterError("no", verb="discover", key=resource.resource, status=500 if self.away else 404, reason="")
        return self.kinds[resource.resource]


def followed(served: Any, store: Holder) -> tuple[OwnerKinds, asyncio.Queue[tuple[Kind, ...]]]:
    told: asyncio.Queue[tuple[Kind, ...]] = asyncio.Queue()
    made = OwnerKinds(served, store, lambda: told.put_nowait(made.current))
    return made, told


async def until_both(told: asyncio.Queue[tuple[Kind, ...]]) -> None:
    async with asyncio.timeout(60):
        while await told.get() != (JOB, SET):
            pass


def test_the_resources_are_those_of_bound_policies_once_each() -> None:
    unbound = bound(sets(name="inert"))
    policies = PolicySet(workload=(bound(), bound(), bound(sets()), type(unbound)(policy=unbound.policy, bindings=())))
    assert [resource.resource for resource in owner_resources(policies)] == ["jobs", "jobsets"]
    assert owner_resources(PolicySet(workload=(type(unbound)(policy=unbound.policy, bindings=()),))) == ()


async def test_a_kind_that_is_not_served_is_no_obstacle_and_is_followed_when_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_kinds, "_LOOK_SECONDS", 0.01)
    served = Served()
    made, changed = followed(served, Holder(BOTH))
    await made.look_first(1)
    assert made.current == (JOB,)
    task = asyncio.create_task(made.run())
    served.kinds["jobsets"] = SET
    await until_both(changed)
    task.cancel()
    assert made.places() == {("batch", "Job"), ("jobset.x-k8s.io", "JobSet")}
    assert served.asked.count("jobs") == 1


async def test_an_api_server_that_does_not_answer_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_AGAIN_SECONDS", 0.01)
    made, _ = followed(Served(away=True), Holder(BOTH))
    with pytest.raises(ClusterError):
        await made.look_first(0.05)


async def test_other_policies_are_looked_at_at_once() -> None:
    served = Served(kinds={"jobs": JOB, "jobsets": SET})
    store = Holder(PolicySet(workload=(bound(),)))
    made, changed = followed(served, store)
    await made.look_first(1)
    task = asyncio.create_task(made.run())
    store.current = BOTH
    made.look_soon()
    await until_both(changed)
    task.cancel()
    assert made.current == (JOB, SET)


async def test_what_is_between_is_followed_only_where_the_workload_can_be() -> None:
    store = Holder(PolicySet(workload=(bound(on_pods()),)))
    absent, _ = followed(Served(), store)
    await absent.look_first(1)
    assert (absent.current, absent.of_members) == ((), ())
    served, _ = followed(Served(kinds={"jobs": JOB, "jobsets": SET}), store)
    await served.look_first(1)
    assert (served.current, served.of_members) == ((SET,), (SET, JOB))
