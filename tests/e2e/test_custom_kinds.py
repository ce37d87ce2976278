"""The real API server makes of custom objects what we make of them offline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.admission.custom import CRD, OBJECTS, custom
from tests.controlplane.client import ApiError, Client, wait_for
from tests.controlplane.cluster import ControlPlane
from webhook.admission import CustomKinds


@pytest.fixture(scope="module")
def pools(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A control plane that serves the kind."""
    name = f"crd/{CRD['metadata']['name']}"
    control_plane.kubectl("create", "-f", "-", stdin=json.dumps(CRD))
    wait_for(lambda: is_served(control_plane.client), what="the kind is served")
    yield control_plane
    control_plane.kubectl("delete", name)


def is_served(client: Client) -> bool:
    try:
        return client.list("example.com/v1/pools", "default") == []
    except ApiError as error:
        if error.status not in (404, 429, 503):
            raise
        return False


@pytest.mark.parametrize("given", [given for given, _ in OBJECTS.values()], ids=OBJECTS)
def test_the_api_server_completes_an_object_alike(pools: ControlPlane, namespace: str, given: Any) -> None:
    obj = {**custom(given), "metadata": {"name": "x", "namespace": namespace}}
    theirs = pools.client.request("POST", f"/apis/example.com/v1/namespaces/{namespace}/pools?dryRun=All", obj)
    assert CustomKinds.of([("crd", CRD)]).complete(obj)["spec"] == theirs["spec"]
