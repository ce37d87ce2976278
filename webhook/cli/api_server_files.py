"""Write the files by which an API server shows who it is to our webhook: AdmissionConfiguration, kubeconfig, credentials.

Source of the forms: apiserver pkg/apis/apiserver/v1 and pkg/admission/plugin/webhook/config; of how a user of the kubeconfig
is found, pkg/util/webhook/authentication.go: by ``host:port``, a Service as ``NAME.NAMESPACE.svc``, without port if it is 443.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from webhook.admission import Endpoint
from webhook.certs import Profile, mint_authority, mint_client
from webhook.errors import UsageError
from webhook.model.objects import Object

CERTIFICATE, TOKEN = "client-certificate", "bearer-token"
MODES = (CERTIFICATE, TOKEN)
CLIENT_NAME = "gangwarden-webhook-client"
"""Common name of a certificate that is made here. Not a user of Kubernetes: it must open nothing but our webhook."""
_GROUP = "apiserver.config.k8s.io/v1"
_PLUGINS = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
_CREDENTIALS = {CERTIFICATE: ("client.crt", "client.key"), TOKEN: ("token",)}
_CONFIGURATION_HEAD = """\
# For kube-apiserver, on every host of the control plane: --admission-control-config-file={place}/admission.yaml
# The folder {place} must be mounted into its pod, readable for it alone. If there is such a file already, put
# these two plugins there. The API server reads this file and the kubeconfig at its start, the credentials again and again.
"""
_KUBECONFIG_HEAD = """\
# By these credentials the API server shows to Gangwarden's webhook, and to no other, who it is. The name of a user is host and
# port of the webhook, as its configurations have them; paths are relative to this file. If other webhooks have users in
# such a file already, put this one there.
"""


def write_files(endpoint: Endpoint, mode: str, *, out: Path, place: str) -> list[str]:
    """Write the files into a folder, with new credentials where there are none; returns what was done, line by line.

    ``place`` is where the folder will be on the hosts of the API servers. Raises UsageError for what cannot be.
    """
    if not place.startswith("/"):
        raise UsageError(f"--api-server-dir {place} must begin with /: the API server takes absolute paths only")
    texts = {
        "admission.yaml": _CONFIGURATION_HEAD.format(place=place) + _dumped(_configuration(place)),
        "kubeconfig.yaml": _KUBECONFIG_HEAD + _dumped(_kubeconfig(endpoint, mode)),
    }
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = [name for name in _CREDENTIALS[mode] if (out / name).exists()]
        if there and len(there) < len(_CREDENTIALS[mode]):
            raise UsageError(f"{out} holds {there[0]} alone; put both client.crt and client.key there, or neither")
        made = {} if there else _new_credentials(mode)
        _write(out, {**texts, **made})
    except OSError as error:
        raise UsageError(f"{error.filename or out} cannot be written: {error.strerror}") from error
    kept = [f"{out / name} is kept" for name in there]
    return [*(f"{out / name} written" for name in (*texts, *made)), *kept, *_next_steps(mode, out, place)]


def user_of(endpoint: Endpoint) -> str:
    """Return under which name an API server looks for the credentials that a webhook is to get."""
    parts = urlsplit(endpoint.origin)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else str(parts.hostname)
    return f"{host}:{parts.port or 443}"


def _configuration(place: str) -> Object:
    named = {
        "apiVersion": _GROUP,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": f"{place.rstrip('/')}/kubeconfig.yaml",
    }
    plugins = [{"name": plugin, "configuration": dict(named)} for plugin in _PLUGINS]
    return {"apiVersion": _GROUP, "kind": "AdmissionConfiguration", "plugins": plugins}


def _kubeconfig(endpoint: Endpoint, mode: str) -> Object:
    user = {"tokenFile": "token"} if mode == TOKEN else {"client-certificate": "client.crt", "client-key": "client.key"}
    return {"apiVersion": "v1", "kind": "Config", "users": [{"name": user_of(endpoint), "user": user}]}


def _dumped(obj: Object) -> str:
    return str(yaml.safe_dump(obj, sort_keys=False))


def _new_credentials(mode: str) -> Mapping[str, str]:
    """Make credentials. The key of the authority is thrown away: nobody can sign a second certificate with it."""
    if mode == TOKEN:
        return {"token": secrets.token_urlsafe(32)}
    now, profile = datetime.now(UTC), Profile()
    authority = mint_authority(profile, now)
    client = mint_client(profile, authority, now, name=CLIENT_NAME)
    made = {"client-ca.crt": authority.certificate, "client.crt": client.certificate, "client.key": client.key}
    return {name: content.decode() for name, content in made.items()}


def _write(out: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        path = out / name
        path.unlink(missing_ok=True)  # so that the mode below holds for it, whatever it was
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)


def _next_steps(mode: str, out: Path, place: str) -> list[str]:
    given = f"{out / 'token'} to --bearer-token-file" if mode == TOKEN else f"{out / 'client-ca.crt'} to --client-ca-file"
    return [
        f"1. copy {out} to {place} on every host of the control plane, and start kube-apiserver with",
        f"   --admission-control-config-file={place.rstrip('/')}/admission.yaml",
        f"2. then give {given} of the webhook (docs/authentication.md)",
    ]
