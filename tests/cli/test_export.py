"""``policies export``: what is printed, and by which exit code a script knows that something was left out."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Gangwarden, Write
from tests.policies.writing import binding, validating, workload, workload_binding

FILE = "out/validating/sizes.static.k8s.io.yaml"
ON_SNAPSHOT = validating("fits", "cluster.group('g').hasValue()")


def test_what_was_written_and_what_was_not_is_told(gangwarden: Gangwarden, write: Write) -> None:
    write("p.yaml", validating(), binding(), ON_SNAPSHOT)
    done = gangwarden("policies", "export", "-p", "p.yaml", "--out", "out")
    assert done.stdout.splitlines() == [
        f"{FILE}: ValidatingAdmissionPolicy 'sizes'",
        "not exported: ValidatingAdmissionPolicy 'fits' (p.yaml:6): it reads `cluster`, which only Gangwarden knows",
    ]
    assert done.exit_code == 1
    assert Path(FILE).read_text().startswith("# Written by `gangwarden policies export`")


def test_everything_that_is_native_was_exported(gangwarden: Gangwarden, write: Write) -> None:
    write("p.yaml", validating(), binding(), workload(), workload_binding())
    done = gangwarden("policies", "export", "-p", "p.yaml", "--out", "out")
    assert "not exported: WorkloadPolicy 'gangs'" in done.stdout
    assert done.exit_code == 0


def test_json_says_the_same(gangwarden: Gangwarden, write: Write) -> None:
    write("p.yaml", validating(), binding())
    gangwarden("policies", "export", "-p", "p.yaml", "--out", "out")
    write("p.yaml", ON_SNAPSHOT)
    done = gangwarden("policies", "export", "-p", "p.yaml", "--out", "out", "-o", "json")
    assert json.loads(done.stdout) == {
        "apiVersion": "gangwarden.dev/v1alpha1",
        "kind": "PolicyExport",
        "exported": [],
        "notExported": [
            {
                "kind": "ValidatingAdmissionPolicy",
                "policy": "fits",
                "binding": None,
                "reason": "it reads `cluster`, which only Gangwarden knows",
                "source": "p.yaml:2",
            }
        ],
        "removed": [FILE],
        "notes": [],
    }


def test_a_selector_of_params_is_noted(gangwarden: Gangwarden, write: Write) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    chosen = {"namespace": "n", "parameterNotFoundAction": "Deny", "selector": {}}
    write(
        "p.yaml",
        validating("sizes", "params.data.a == 'b'", paramKind=kind),
        binding(paramRef=chosen),
        {**kind, "metadata": {"name": "c", "namespace": "n"}, "data": {}},
    )
    done = gangwarden("policies", "export", "-p", "p.yaml", "--out", "out")
    assert done.stdout == f"{FILE}: ValidatingAdmissionPolicy 'sizes', with ConfigMap n/c written in\n"
    assert done.stderr.startswith("note: binding 'everywhere' takes params by a selector")


def test_exit_codes(gangwarden: Gangwarden, write: Write) -> None:
    write("p.yaml", validating("sizes", "object."), binding())
    assert gangwarden("policies", "export", "-p", "p.yaml", "--out", "out").exit_code == 3
    assert gangwarden("policies", "export", "-p", "p.yaml").exit_code == 2
    write("p.yaml", validating(), binding())
    write(FILE, "kind: Mine")
    assert gangwarden("policies", "export", "-p", "p.yaml", "--out", "out").exit_code == 2


def test_an_export_does_not_go_where_the_next_one_reads(gangwarden: Gangwarden, write: Write) -> None:
    write("policies/p.yaml", validating(), binding())
    done = gangwarden("policies", "export", "-p", "policies", "--out", "policies/out")
    assert done.exit_code == 2
    assert "--out policies/out lies within policies" in done.stderr
    assert not Path("policies/out").exists()
