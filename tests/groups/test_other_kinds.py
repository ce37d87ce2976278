"""Workloads of other kinds than Job: templates at several places, and what is only true of Jobs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admission.attaching import EVERYTHING, bound, denied, grouped, only
from tests.admission.attaching import answer as asked
from tests.builders import Built, job, job_set, pod
from tests.groups.building import compiled, group
from tests.rules.building import constraints, rule
from webhook.groups import CompiledWorkload, choose_route, is_finished, is_native, owners_above
from webhook.model.groups import POD_GROUP_ANNOTATION, Capabilities, Route
from webhook.model.objects import Object, ObjectKey
from webhook.model.policies import PodGroupSpec
from webhook.model.snapshot import snapshot_of

TEMPLATES = "spec.replicatedJobs[*].template.spec.template"
COUNT = "object.spec.replicatedJobs.map(each, each.replicas * each.template.spec.parallelism).sum()"
SETS = constraints(rule(operations=["CREATE"], api_groups=["jobset.x-k8s.io"], api_versions=["v1alpha2"], resources=["jobsets"]))


def sets(*groups: PodGroupSpec, **parts: Any) -> CompiledWorkload:
    return compiled(*(groups or (group(path=TEMPLATES, count=COUNT),)), match_constraints=SETS, **parts)


def templates(obj: Object) -> list[Object]:
    return [each["template"]["spec"]["template"]["spec"] for each in obj["spec"]["replicatedJobs"]]


def test_every_template_is_put_into_the_group() -> None:
    found = grouped(job_set(), bound(sets()))
    names = {spec["schedulingGroup"]["podGroupName"] for spec in templates(found.object)}
    assert names == {"train-0000000000"}
    assert found.object["metadata"]["annotations"][POD_GROUP_ANNOTATION] == "workers=train-0000000000"
    assert only(found).message == "5 pods in one PodGroup, 5 at once or none"


def test_roles_may_be_groups_of_their_own() -> None:
    roles = Built({"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "metadata": {"name": "m", "namespace": "team-a"}})
    spec = {"template": {"spec": {"containers": []}}}
    obj = roles.at("spec.roles", {"Launcher": spec, "Worker": spec, "Spare": spec}).build()
    policy = compiled(
        group("launcher", path="spec.roles.Launcher.template", count="1"),
        group("workers", paths=("spec.roles.Worker.template", "spec.roles.Spare.template"), count="2"),
        match_constraints=constraints(
            rule(operations=["CREATE"], api_groups=["kubeflow.org"], api_versions=["v1"], resources=["mpijobs"])
        ),
    )
    changed = grouped(obj, bound(policy)).object
    names = [role["template"]["spec"]["schedulingGroup"]["podGroupName"] for role in changed["spec"]["roles"].values()]
    assert names[0].startswith("m-launcher-")
    assert names[1].startswith("m-workers-")
    assert names[2] == names[1]


def test_a_mapping_of_roles_is_one_group_by_a_wildcard() -> None:
    spec = {"template": {"spec": {"containers": []}}}
    obj = job_set().at("spec", {"roles": {"a": spec, "b": spec}}).build()
    changed = grouped(obj, bound(sets(group(path="spec.roles[*].template", count="size(object.spec.roles)")))).object
    assert [list(role["template"]["spec"]) for role in changed["spec"]["roles"].values()] == [
        ["containers", "schedulingGroup"]
    ] * 2


@pytest.mark.parametrize("name", ["schedulerName", "preemptionPolicy", "priorityClassName"])
def test_templates_that_the_scheduler_would_never_take_together_are_refused(name: str) -> None:
    obj = job_set().build()
    templates(obj)[1][name] = "another"
    assert f"{name} differs within one group ('', 'another')" in denied(obj, bound(sets())).message


def test_one_role_without_a_pod_template_is_refused() -> None:
    obj = job_set().build()
    obj["spec"]["replicatedJobs"][1]["template"]["spec"]["template"] = None
    assert f"there is no pod template at {TEMPLATES} with a spec" in denied(obj, bound(sets())).message


def test_a_place_that_is_empty_is_none_where_another_has_a_template() -> None:
    obj = job_set().at("spec", {"head": {"spec": {}}}).build()
    made = sets(group(paths=("spec.head", "spec.rest[*]"), count="1"))
    assert grouped(obj, bound(made)).object["spec"]["head"]["spec"]["schedulingGroup"]


def test_only_jobs_are_left_to_the_job_controller() -> None:
    seen = Capabilities(group_objects=True, native_jobs=True, native_groups=True)
    assert choose_route(sets(group(count="1")).source, job_set().build(), seen) is Route.MANAGED
    assert not is_native(grouped(job_set(), bound(sets()), surroundings=None).object | {"spec": {"scheduling": {}}})


@pytest.mark.parametrize("manager", ["jobset.sigs.k8s.io/jobset-controller", "example.com/its-own"])
def test_its_own_controllers_name_is_the_kinds_affair(manager: str) -> None:
    assert grouped(job_set().at("spec.managedBy", manager), bound(sets()))


@pytest.mark.parametrize("path", ["spec.managedBy", "spec.runPolicy.managedBy"])
def test_what_kueue_runs_elsewhere_is_left_alone(path: str) -> None:
    found = asked(job_set().at(path, "kueue.x-k8s.io/multikueue"), bound(sets()))
    assert only(found).message == f"left as it is: {path} gives it to kueue.x-k8s.io/multikueue"


def test_a_wish_to_its_own_controller_is_left_as_it_is_whatever_the_gates_are() -> None:
    found = asked(job_set().at("spec.scheduling", {}), bound(sets()))
    assert only(found).message == "left as it is: it has spec.scheduling already"
    assert EVERYTHING.native_jobs


@pytest.mark.parametrize("word", ["Completed", "Succeeded", "Failed", "Complete"])
def test_it_has_ended_when_it_says_so(word: str) -> None:
    assert is_finished(job_set().at("status.conditions", [{"type": word, "status": "True"}]).build())
    assert not is_finished(job_set().at("status.conditions", [{"type": word, "status": "False"}]).build())


def chain() -> tuple[Object, Object, Object]:
    top = job_set().stored().build()
    child = job("train-worker-0").owned_by(top, controller=True).stored().build()
    return top, child, pod(group="g").owned_by(child, controller=True).build()


def test_a_pod_is_known_by_the_controllers_above_it() -> None:
    top, child, member = chain()
    assert list(owners_above(member, snapshot_of((top, child))))[:2] == [ObjectKey.of(child), ObjectKey.of(top)]


def test_the_chain_ends_where_an_owner_is_another_of_the_same_name() -> None:
    top, child, member = chain()
    stranger = child | {"metadata": child["metadata"] | {"uid": "another"}}
    assert list(owners_above(member, snapshot_of((top, stranger)))) == [ObjectKey.of(child)]


def test_a_ring_of_owners_has_an_end() -> None:
    ring = job("a").at("metadata.uid", "a").build()
    ring["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": "a", "controller": True}]
    assert len(list(owners_above(ring, snapshot_of((ring,))))) < 10


def test_a_job_whose_owner_declares_its_group_is_left_to_it() -> None:
    found = asked(job().annotate("scheduling.k8s.io/group-template-name", "workers"), bound())
    assert "says that its owner declares its group" in only(found).message
