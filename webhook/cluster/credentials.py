"""Where the API server is and who we are there: from a kubeconfig, or from the pod's service account.

Reading them is the library's work. Three things it leaves out are ours (kubernetes 37.0.2): ``tokenFile`` and
certificates of a kubeconfig are read once, an exec plugin's token is never renewed, and a failed plugin is only logged.
So everything that can change is named here, and ``Connection`` reads it again when it did.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from kubernetes.aio import config
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import incluster_config

from webhook.errors import ClusterError, UsageError

_RENEW_BEFORE = timedelta(minutes=5)
"""An exec token counts as used up this long before its end; the library's own margin (kube_config.py)."""

Stamp = tuple[tuple[str, int, int, int], ...]
"""Files as path, inode, size and mtime in ns: a Secret volume's ``..data`` flip changes the inode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A loaded configuration, and what tells that it has become old."""

    configuration: Any
    files: tuple[str, ...]
    stamp: Stamp
    tls_stamp: Stamp
    expires: datetime | None = None
    namespace: str = ""
    """Of the kubeconfig's context; empty where it names none."""

    def is_stale(self, now: datetime) -> bool:
        """Tell whether a file changed or an exec token is about to end."""
        ending = self.expires is not None and self.expires - _RENEW_BEFORE <= now
        return ending or stamp_of(self.files) != self.stamp


def stamp_of(files: Iterable[str]) -> Stamp:
    """Take the identity of each file that exists."""
    found = []
    for name in files:
        try:
            status = Path(name).stat()
        except OSError:
            continue
        found.append((name, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)


async def load_credentials(kubeconfig: str | None, context: str | None) -> Credentials:
    """Read a kubeconfig (given, else the default place), or else the pod's service account."""
    configuration = Configuration()
    # Python 3.13 verifies RFC 5280 strictly by default and refuses the authorities of many clusters, which lack an
    # authority key identifier; Go's verifier, and so kubectl, takes them.
    configuration.disable_strict_ssl_verification = True
    # Each watch holds a connection for as long as it lives; with kinds times namespaces the default of 100 would one day
    # leave none for writes and the Lease. 0: no limit.
    configuration.connection_pool_maxsize = 0
    paths = _kubeconfig_paths(kubeconfig)
    try:
        if kubeconfig is None and context is None and not paths:
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call] # as below
            return _credentials(configuration, (incluster_config.SERVICE_TOKEN_FILENAME,))
        loader = await config.load_kube_config(  # type: ignore[no-untyped-call] # the package has no annotations
            config_file=kubeconfig, context=context, client_configuration=configuration, persist_config=False
        )
    except (config.ConfigException, OSError, yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError) as error:
        # TypeError, KeyError and AttributeError are what the loader's own code raises on a kubeconfig of the wrong shape.
        raise ClusterError(f"no usable credentials in {_place(kubeconfig)}: {_told(error)}", verb="connect") from error
    if _has_password(configuration.host):  # never shown: every error names the address
        what = "the address of the cluster holds a name and password; use a token instead"
        raise ClusterError(f"no usable credentials in {_place(kubeconfig)}: {what}", verb="connect")
    user = loader._user.value if loader._user else {}  # noqa: SLF001 - as the library's own refresh_token does
    if "exec" in user and not (configuration.api_key or configuration.cert_file):
        command = user["exec"].get("command")
        raise ClusterError(f"the credential plugin {command!r} of {_place(kubeconfig)} failed; run it by hand", verb="connect")
    files = [*paths, *(str(Path(path).parent / user["tokenFile"]) for path in paths if "tokenFile" in user)]
    namespace = (loader.current_context.get("context") or {}).get("namespace") or ""
    return _credentials(configuration, files, expires=getattr(loader, "exec_plugin_expiry", None), namespace=str(namespace))


def _has_password(address: str) -> bool:
    try:
        return "@" in urlsplit(address).netloc
    except ValueError:  # no address at all, which the first call will tell
        return False


def _credentials(
    configuration: Any, files: Iterable[str], *, expires: datetime | None = None, namespace: str = ""
) -> Credentials:
    tls = tuple(path for path in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file) if path)
    everything = (*files, *tls)
    return Credentials(
        configuration=configuration,
        files=everything,
        stamp=stamp_of(everything),
        tls_stamp=stamp_of(tls),
        expires=expires.astimezone(UTC) if expires else None,
        namespace=namespace,
    )


def _kubeconfig_paths(kubeconfig: str | None) -> tuple[str, ...]:
    """List the kubeconfig files that exist; a path that was given must exist."""
    names = (kubeconfig or config.KUBE_CONFIG_DEFAULT_LOCATION).split(":")
    found = tuple(str(path) for path in (Path(name).expanduser() for name in names if name) if path.is_file())
    if kubeconfig is not None and not found:
        raise UsageError(f"there is no kubeconfig at {kubeconfig}")
    return found


def _told(error: Exception) -> str:
    """Say what is wrong in one line; what the loader stumbled over tells a reader nothing."""
    if isinstance(error, TypeError | KeyError | AttributeError):
        return "it does not have the form of a kubeconfig"
    return " ".join(str(error).split())


def _place(kubeconfig: str | None) -> str:
    return kubeconfig or f"{config.KUBE_CONFIG_DEFAULT_LOCATION} or the pod's service account"
