"""The command lines of a control plane, in the order of starting."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.controlplane.nodes import FAKE_NODE_SELECTOR

KWOK_CONFIG = Path(__file__).resolve().parent / "kwok.yaml"
AUDIT_POLICY = KWOK_CONFIG.with_name("audit.yaml")
AUDIT_LOG = "audit.log"
"""In the directory of the control plane."""


@dataclass(frozen=True, slots=True)
class Gates:
    """What is switched on, in the words of ``--feature-gates`` and ``--runtime-config``."""

    features: tuple[str, ...]
    runtime: tuple[str, ...] = ()
    scheduler: tuple[str, ...] | None = None
    """What the scheduler has instead; None: the same. Each component of Kubernetes has gates of its own."""
    calls_per_second: int = 0
    """How often each controller of the controller manager may call, for a cluster that is busy; 0: as it comes, 20."""


MANAGED = Gates(("GenericWorkload=true",), ("scheduling.k8s.io/v1beta1=true",))
"""Group objects only: Gangwarden's controller creates Workloads and PodGroups."""
NATIVE = Gates(
    ("GenericWorkload=true", "DRAWorkloadResourceClaims=true", "WorkloadWithJob=true", "TopologyAwareWorkloadScheduling=true"),
    ("scheduling.k8s.io/v1beta1=true", "scheduling.k8s.io/v1alpha3=true"),
)
"""What group scheduling of 1.37 offers short of CompositePodGroup: the Job controller makes the groups."""
EVERYTHING = Gates((*NATIVE.features, "PodGroupPreemptionPolicy=true", "CompositePodGroup=true"), NATIVE.runtime)
"""All that Kubernetes 1.37 has for groups, alpha included."""
NO_GROUPS = Gates(())
"""A cluster that knows no groups."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the programs listen."""

    etcd: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    scheduler: int


@dataclass(frozen=True, slots=True)
class Launch:
    """How one program is started, and the URL that says when it is ready (empty: nothing to ask)."""

    name: str
    command: tuple[str, ...]
    health_url: str = ""


def plan_launches(
    bin_dir: Path,
    directory: Path,
    ports: Ports,
    gates: Gates,
    *,
    admission_config: Path | None,
    egress_config: Path | None = None,
) -> tuple[Launch, ...]:
    """Return how to start each program; the API server must be ready before those that follow it."""
    programs = (
        _etcd(directory, ports),
        _apiserver(directory, ports, gates, admission_config, egress_config),
        _controller_manager(directory / "pki", ports, gates),
        _scheduler(directory / "pki", ports, gates),
        _kwok(directory / "pki"),
    )
    return tuple(Launch(found.name, (str(bin_dir / found.name), *found.command), found.health_url) for found in programs)


def _etcd(directory: Path, ports: Ports) -> Launch:
    clients, peers = f"http://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.etcd_peer}"
    return Launch(
        "etcd",
        (
            f"--data-dir={directory / 'etcd'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",  # the default port would clash with a second instance
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
        ),
        f"{clients}/readyz",
    )


def _apiserver(directory: Path, ports: Ports, gates: Gates, admission_config: Path | None, egress_config: Path | None) -> Launch:
    pki = directory / "pki"
    command = [
        f"--etcd-servers=http://127.0.0.1:{ports.etcd}",
        "--bind-address=127.0.0.1",
        f"--secure-port={ports.apiserver}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki / 'sa.key'}",
        f"--service-account-signing-key-file={pki / 'sa.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=RBAC",
        f"--audit-policy-file={AUDIT_POLICY}",
        f"--audit-log-path={directory / AUDIT_LOG}",
        "--disable-admission-plugins=ServiceAccount",  # bare pods need not wait for the default service account
        *_switches(gates),
    ]
    if gates.runtime:
        command.append(f"--runtime-config={','.join(gates.runtime)}")
    if admission_config is not None:
        command.append(f"--admission-control-config-file={admission_config}")
    if egress_config is not None:
        command.append(f"--egress-selector-config-file={egress_config}")
    return Launch("kube-apiserver", tuple(command), f"https://127.0.0.1:{ports.apiserver}/readyz")


def _controller_manager(pki: Path, ports: Ports, gates: Gates) -> Launch:
    name = "kube-controller-manager"
    own = (
        "--use-service-account-credentials=true",  # each controller's RBAC hangs on a service account of its own
        f"--service-account-private-key-file={pki / 'sa.key'}",
        f"--root-ca-file={pki / 'ca.crt'}",
        *(
            (f"--kube-api-qps={gates.calls_per_second}", f"--kube-api-burst={2 * gates.calls_per_second}")
            if gates.calls_per_second
            else ()
        ),
    )
    return Launch(name, (*_secondary(name, pki, ports.controller_manager, gates), *own), _healthz(ports.controller_manager))


def _scheduler(pki: Path, ports: Ports, gates: Gates) -> Launch:
    name, own = "kube-scheduler", gates if gates.scheduler is None else Gates(gates.scheduler)
    return Launch(name, _secondary(name, pki, ports.scheduler, own), _healthz(ports.scheduler))


def _secondary(name: str, pki: Path, port: int, gates: Gates) -> tuple[str, ...]:
    config = pki / f"{name}.kubeconfig"
    return (
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",  # so that only ours answers when asked for its health
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        "--leader-elect=false",
        *_switches(gates),
    )


def _kwok(pki: Path) -> Launch:
    return Launch(
        "kwok",
        (
            f"--kubeconfig={pki / 'admin.kubeconfig'}",
            f"--config={KWOK_CONFIG}",
            "--manage-all-nodes=false",
            f"--manage-nodes-with-annotation-selector={FAKE_NODE_SELECTOR}",
            "--node-lease-duration-seconds=40",  # without leases the nodes turn NotReady after 50 seconds
        ),
    )


def _switches(gates: Gates) -> tuple[str, ...]:
    return (f"--feature-gates={','.join(gates.features)}",) if gates.features else ()


def _healthz(port: int) -> str:
    return f"https://127.0.0.1:{port}/healthz"
