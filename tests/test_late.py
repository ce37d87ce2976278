"""Doors of which a part is imported when it is asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from webhook.late import late_names

DOORS = ("webhook.admission", "webhook.groups", "webhook.policies", "webhook.reports")


@pytest.mark.parametrize("door", DOORS)
def test_a_door_has_all_that_it_names(door: str) -> None:
    module = import_module(door)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize("door", DOORS)
def test_a_door_has_nothing_else(door: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{door}' has no attribute 'unheard_of'"):
        import_module(door).unheard_of  # noqa: B018 - the look-up is what is tested


def test_a_module_is_imported_when_one_of_its_names_is_asked_for() -> None:
    find = late_names("xml", {"dom": ("Node", "registerDOMImplementation")})
    assert find("Node") is import_module("xml.dom").Node


def test_a_judging_command_starts_without_the_forms_of_reports_and_exports() -> None:
    code = "import sys, webhook.cli.check; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    unwanted = {"webhook.reports.junit", "webhook.reports.sarif", "webhook.policies.export", "webhook.policies.watch", "asyncio"}
    unwanted |= {"webhook.preemption", "webhook.groups.plan", "webhook.model.actions", "webhook.admission.configurations"}
    assert "webhook.cli.check" in loaded
    assert unwanted.isdisjoint(loaded)
