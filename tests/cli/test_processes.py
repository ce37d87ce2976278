"""The processes in a cluster, before there is a cluster."""

from __future__ import annotations

import asyncio

import pytest
from click.testing import CliRunner

from webhook.cli import processes
from webhook.cli.cluster_process import ClusterProcess


@pytest.mark.parametrize(
    ("command", "follows"),
    [(processes.serve_command, False), (processes.controller_command, True), (processes.run_command, True)],
)
def test_groups_of_groups_are_followed_by_who_makes_them_where_they_were_asked_for(
    command, monkeypatch: pytest.MonkeyPatch, *, follows: bool
) -> None:
    seen = []

    async def noted(self: ClusterProcess) -> None:
        seen.append(any(kind.kind == "CompositePodGroup" for kind in self._kinds()))

    monkeypatch.setattr(ClusterProcess, "run", noted)
    for flags in ([], ["--enable-alpha=CompositePodGroup"]):
        assert CliRunner().invoke(command, flags).exit_code == 0
    assert seen == [False, follows]


def test_alpha_is_asked_for_by_names_that_are_known() -> None:
    told = CliRunner().invoke(processes.serve_command, ["--enable-alpha=Everything"])
    assert (told.exit_code, "CompositePodGroup" in told.output) == (2, True)


@pytest.mark.parametrize("command", [processes.serve_command, processes.controller_command, processes.run_command])
def test_a_process_runs_on_uvloop(command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its TLS holds a tenth of the memory per idle connection, and the server's tests run on it."""
    loops = []

    class Process:
        def __init__(self, plan: processes.Plan) -> None: ...

        async def run(self) -> None:
            loops.append(type(asyncio.get_running_loop()).__module__)

    monkeypatch.setattr(processes, "ClusterProcess", Process)
    assert CliRunner().invoke(command, []).exit_code == 0
    assert loops == ["uvloop"]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[processes.Plan]:
    """What processes would do that are started in this test; none of them does it."""
    made: list[processes.Plan] = []

    class Process:
        def __init__(self, plan: processes.Plan) -> None:
            made.append(plan)

        async def run(self) -> None: ...

    monkeypatch.setattr(processes, "ClusterProcess", Process)
    return made


def test_a_process_keeps_to_the_namespaces_that_are_named(plans: list[processes.Plan]) -> None:
    flags = ["--only-namespace", "a", "--only-namespace", "b"]
    for command, more in ((processes.serve_command, ["--cert-given"]), (processes.controller_command, [])):
        assert CliRunner().invoke(command, [*flags, *more]).exit_code == 0
    assert [(plan.scope.only, plan.cert_given) for plan in plans] == [(("a", "b"), True), (("a", "b"), False)]


def test_only_a_controller_by_itself_tells_its_status_on_a_port_of_its_own(plans: list[processes.Plan]) -> None:
    for command in (processes.controller_command, processes.serve_command, processes.run_command):
        assert CliRunner().invoke(command, []).exit_code == 0
    assert [plan.status_port for plan in plans] == [9444, None, None]


def test_a_webhook_tells_its_policies_where_it_is_told_to(plans: list[processes.Plan]) -> None:
    for command in (processes.serve_command, processes.run_command):
        assert CliRunner().invoke(command, ["--status-host=127.0.0.1", "--status-port=0"]).exit_code == 0
    assert [(plan.status_host, plan.status_port) for plan in plans] == [("127.0.0.1", 0)] * 2
