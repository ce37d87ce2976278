"""What a scene sees of the webhook from outside: its certificate, and what the API server trusts."""

from __future__ import annotations

import socket
import ssl

from tests.e2e.installation import CONFIGURATIONS, labelled_job


def served(port, *, trusting):
    """Return the certificate that is served, once it verifies against a bundle."""
    context = ssl.create_default_context(cadata=trusting)
    plain = socket.create_connection(("127.0.0.1", port), timeout=10)
    with context.wrap_socket(plain, server_hostname="localhost") as shielded:
        return shielded.getpeercert(binary_form=True)


def live(client):
    found = [client.get(f"admissionregistration.k8s.io/v1/{resource}", "", "gangwarden") for resource in CONFIGURATIONS]
    return [webhook for configuration in found for webhook in configuration["webhooks"]]


def bundles(client):
    return {webhook["clientConfig"]["caBundle"] for webhook in live(client)}


def is_stamped(client, namespace):
    seen = client.create(labelled_job("probe", namespace), dry_run=True)
    return "schedulingGroup" in seen["spec"]["template"]["spec"]
