"""The cluster room on a real API server: what the fake one of tests/cluster cannot prove."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.controlplane.plan import EVERYTHING, NATIVE, NO_GROUPS
from tests.controlplane.scenes import job, pod_group
from webhook.cluster import (
    Api,
    Connection,
    Done,
    Elector,
    EventRecorder,
    Executor,
    Moot,
    SecretStore,
    SnapshotFeed,
    WebhookConfigurations,
    connect,
    probe_capabilities,
)
from webhook.errors import ClusterError
from webhook.model.actions import Apply, Delete, Tell
from webhook.model.groups import Capabilities
from webhook.model.objects import Kind, Object, ObjectKey, metadata_of
from webhook.settings import ClusterSettings, ControllerSettings

JOB, POD, NODE = Kind("batch", "v1", "Job"), Kind("", "v1", "Pod"), Kind("", "v1", "Node")
POD_GROUP = Kind("scheduling.k8s.io", "v1beta1", "PodGroup")
QUICK = ClusterSettings(backoff_initial_seconds=0.1, backoff_limit_seconds=1.0, idle_seconds=90.0)


@pytest.fixture
async def connection(control_plane: ControlPlane) -> AsyncIterator[Connection]:
    async with await connect(str(control_plane.kubeconfig), settings=QUICK) as opened:
        yield opened


@pytest.fixture
def api(connection: Connection) -> Api:
    return Api.over(connection)


async def until(true: Callable[[], object], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - a state of the cluster, which has no event
            await asyncio.sleep(0.05)


@asynccontextmanager
async def following(api: Api, *kinds: Kind) -> AsyncIterator[SnapshotFeed]:
    feed = SnapshotFeed(api, kinds)
    task = asyncio.create_task(feed.run())
    try:
        await feed.wait_synced(60)
        yield feed
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_a_job_and_its_pods_live_and_die_in_the_snapshot(api: Api, namespace: str) -> None:
    async with following(api, JOB, POD, NODE, POD_GROUP) as feed:
        assert len(list(feed.current.list("", "Node"))) == 4
        assert feed.current.knows("scheduling.k8s.io", "PodGroup")
        created = await api.create(job("train", namespace))
        await until(lambda: len(list(feed.current.list("", "Pod", namespace=namespace))) == 4)
        await until(lambda: all(pod["status"]["phase"] == "Running" for pod in feed.current.list("", "Pod", namespace=namespace)))
        for pod in feed.current.list("", "Pod", namespace=namespace):
            assert metadata_of(pod)["ownerReferences"][0]["uid"] == metadata_of(created)["uid"]
            assert {"image", "env"}.isdisjoint(pod["spec"]["containers"][0])
        await api.delete(ObjectKey.of(created), uid=metadata_of(created)["uid"])
        await until(lambda: not list(feed.current.list("", "Pod", namespace=namespace)))
        await until(lambda: feed.current.get(ObjectKey.of(created)) is None)


async def test_a_group_is_applied_once_and_deleted_only_by_its_uid(api: Api, namespace: str) -> None:
    executor = Executor(api, EventRecorder(api, instance="e2e"))
    apply = Apply(object=pod_group("g", namespace), reason="The Job has no PodGroup yet.")
    (first,), (second,) = await executor.perform([apply]), await executor.perform([apply])
    assert isinstance(first, Done)
    assert isinstance(second, Done)
    assert first.object is not None
    assert second.object == first.object
    key, uid = ObjectKey.of(first.object), metadata_of(first.object)["uid"]
    assert {entry["manager"] for entry in metadata_of(first.object)["managedFields"]} == {"gangwarden"}
    other, mine = await executor.perform([Delete(key=key, uid="another", reason="no"), Delete(key=key, uid=uid, reason="yes")])
    assert isinstance(other, Moot)
    assert isinstance(mine, Done)


async def test_an_event_is_read_in_kubectl_describe_with_its_count(control_plane: ControlPlane, api: Api, namespace: str) -> None:
    about = await api.create(job("train", namespace, suspend=True))
    tell = Tell(about=about, reason="QuorumNotReached", message="It waits for 4 pods; raise the quota.")
    for instance in ("one", "two", "three"):  # three processes, one after the other
        await EventRecorder(api, instance=instance).post(tell)
    described = control_plane.kubectl("describe", "job", "train", "-n", namespace)
    (line,) = [line for line in described.splitlines() if "QuorumNotReached" in line]
    assert "It waits for 4 pods; raise the quota." in line
    assert "(x3 over" in line


async def test_the_lease_is_handed_over_when_the_leader_stops(control_plane: ControlPlane, api: Api, namespace: str) -> None:
    settings = ControllerSettings(namespace=namespace, lease_seconds=600, retry_seconds=0.1)
    order: list[str] = []

    def work(name: str) -> Callable[[], asyncio.Future[None]]:
        async def lead() -> None:
            order.append(name)
            await asyncio.Event().wait()

        return lambda: asyncio.ensure_future(lead())

    first = asyncio.create_task(Elector(api, settings, identity="one").run(work("one")))
    await until(lambda: order == ["one"])
    second = asyncio.create_task(Elector(api, settings, identity="two").run(work("two")))
    first.cancel()
    await asyncio.wait({first})
    await until(lambda: order == ["one", "two"])
    lease = await api.get(ObjectKey("coordination.k8s.io", "Lease", namespace, settings.lease_name))
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("two", 1)
    second.cancel()
    await asyncio.wait({second})


async def test_an_api_server_that_restarts_loses_nothing(control_plane: ControlPlane, api: Api, namespace: str) -> None:
    elector = Elector(api, ControllerSettings(namespace=namespace, retry_seconds=0.1, renew_deadline_seconds=1.0), identity="one")
    stopped = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with following(api, JOB) as feed:
        leading = asyncio.create_task(elector.run(work))
        await until(lambda: elector.leading)
        control_plane.stop("kube-apiserver", kill=True)
        await asyncio.wait_for(stopped.wait(), 60)
        with pytest.raises(ClusterError, match="does not lead"):
            await api.fenced(elector.fence).create(job("late", namespace, suspend=True))
        assert feed.problems()
        await asyncio.to_thread(control_plane.start, "kube-apiserver")
        await until(lambda: not feed.problems())
        created = await api.create(job("train", namespace, suspend=True))
        await until(lambda: feed.current.get(ObjectKey.of(created)) is not None)
        await until(lambda: elector.leading)
        leading.cancel()
        await asyncio.wait({leading})


async def test_the_probe_sees_that_only_group_objects_are_on(api: Api) -> None:
    assert await probe_capabilities(api) == Capabilities(group_objects=True)


async def test_the_probe_sees_every_gate_and_no_gate() -> None:
    stable = Capabilities(group_objects=True, native_jobs=True, topology=True, shared_claims=True)
    everything = replace(stable, preemption_policy=True, composite_groups=True)
    with ControlPlane(gates=EVERYTHING) as other:
        async with await connect(str(other.kubeconfig)) as connection:
            api = Api.over(connection)
            assert await probe_capabilities(api) == everything
            assert await probe_capabilities(api, namespace="not-there") == everything  # by its metrics
        other.restart_all(NATIVE)
        async with await connect(str(other.kubeconfig)) as connection:
            assert await probe_capabilities(Api.over(connection)) == stable
        other.restart_all(NO_GROUPS)
        async with await connect(str(other.kubeconfig)) as connection:
            api = Api.over(connection)
            assert await probe_capabilities(api) == Capabilities()
            async with following(api, JOB, POD_GROUP) as feed:
                assert not feed.current.knows("scheduling.k8s.io", "PodGroup")


def configuration(name: str, *operations: str) -> Object:
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": list(operations), "resources": ["jobs"], "scope": "*"}
    webhook = {
        "name": "ignore.mutate.gangwarden.dev",
        "clientConfig": {"service": {"namespace": "none", "name": "none", "path": "/mutate/ignore"}},
        "rules": [rule],
        "failurePolicy": "Ignore",
        "namespaceSelector": {"matchLabels": {"none.example": "none"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    return kind | {"metadata": {"name": name}, "webhooks": [webhook]}


async def test_a_webhook_configuration_is_changed_in_place(control_plane: ControlPlane, api: Api, namespace: str) -> None:
    live, bundle = WebhookConfigurations(api, namespace), (control_plane.pki / "ca.crt").read_bytes()
    planned, changed = configuration(namespace, "CREATE"), configuration(namespace, "CREATE", "UPDATE")
    (key,) = await live.apply([planned])
    before = await api.get(key)
    await live.publish(bundle, {each.place: each.version for each in await live.published()})
    assert (await live.apply([planned]), await live.apply([changed])) == ((), (key,))
    after = await api.get(key)
    assert metadata_of(after)["uid"] == metadata_of(before)["uid"]
    assert after["webhooks"][0]["rules"][0]["operations"] == ["CREATE", "UPDATE"]
    assert [each.bundle for each in await live.published()] == [bundle]
    assert await live.delete() == (key,)


async def test_a_secret_is_written_only_over_the_version_that_was_read(api: Api, namespace: str) -> None:
    store = SecretStore(api, namespace=namespace, name="certs")
    read = await store.save({"tls.crt": b"one"}, None)
    await store.save({"tls.crt": b"two"}, read)
    with pytest.raises(ClusterError) as caught:
        await store.save({"tls.crt": b"three"}, read)
    assert caught.value.status == 409
    loaded = await store.load()
    assert loaded is not None
    assert loaded[0] == {"tls.crt": b"two"}


async def test_a_pod_is_evicted_by_its_uid(api: Api, namespace: str) -> None:
    await api.create(job("train", namespace, pods=1))
    async with following(api, POD) as feed:
        await until(lambda: len(list(feed.current.list("", "Pod", namespace=namespace))) == 1)
        (pod,) = feed.current.list("", "Pod", namespace=namespace)
        with pytest.raises(ClusterError) as caught:
            await api.evict(ObjectKey.of(pod), uid="another")
        assert caught.value.status == 409
        await api.evict(ObjectKey.of(pod), uid=metadata_of(pod)["uid"])
        await until(
            lambda: (
                feed.current.get(ObjectKey.of(pod)) is None
                or "deletionTimestamp" in metadata_of(feed.current.get(ObjectKey.of(pod)) or {})
            )
        )
