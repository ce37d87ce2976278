"""What can be tuned, by topic. Only ``cli`` reads flags and the environment; every other room is handed values."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """How much one evaluation may cost."""

    cost_per_expression: int = 1_000_000
    """What one expression may cost, in the API server's cost units: a field or an element looked at is about one, a
    character of text a tenth. The API server stops at the same sum (apiserver pkg/apis/cel/config.go, PerCallLimit)."""
    cost_per_policy: int = 10_000_000
    """What all expressions of one policy under one binding with one param may cost, the variables that they read
    included; beyond it none of the policy's validations counts, and its failurePolicy decides (the same file:
    RuntimeCELCostBudget)."""
    cost_per_conditions: int = 2_500_000
    """What all match conditions of one policy may cost (the same file: RuntimeCELCostBudgetMatchConditions)."""
    deadline_seconds: float = 5.0
    """Seconds for all rules of one review: below the 10 s that the API server waits for a webhook by default, so that
    the answer is ours, with the policy's name in it, and not a bare timeout."""
    access_rounds: int = 8
    """How often the rules of one review may have the API server asked who may do what, each time all that they must know.
    A second time is needed only where an answer decides what is asked next; beyond the last, the failurePolicy decides."""


@dataclass(frozen=True, kw_only=True)
class ServingSettings:
    """Limits of the HTTPS endpoint."""

    host: str = "0.0.0.0"  # noqa: S104 - a webhook serves the cluster network; the chart's NetworkPolicy narrows it
    """Address to listen on."""
    port: int = 9443
    """Port to listen on; 0 takes a free one."""
    body_limit_bytes: int = 16 * 1024 * 1024
    """Largest body. A review carries object and oldObject of up to 3 MiB each (apiserver request limit), which JSON
    escaping can grow; a tighter cap under failurePolicy Ignore would be a way around policy."""
    in_flight_limit_bytes: int = 256 * 1024 * 1024
    """Bound on all bodies in memory at once; beyond it the answer is 429."""
    in_flight_limit: int = 512
    """Reviews held at once (waiting or being decided); beyond it the answer is 429 instead of a collapse."""
    header_limit_bytes: int = 32 * 1024
    """httptools has no header cap; Go's default is 1 MiB, nginx' 32 KiB."""
    first_byte_seconds: float = 120.0
    """A connection without a request: Go parks surplus dials in its idle pool for 90 s."""
    request_seconds: float = 10.0
    """From the first byte to the last header, and again from there to the last byte of the body."""
    keep_alive_seconds: int = 120
    """Above the 90 s for which the API server keeps idle connections: a server that closes first makes a POST fail."""
    handshake_seconds: float = 10.0
    """From the accepted connection to the end of the TLS handshake; event loops allow 60."""
    inline_limit_bytes: int = 256 * 1024
    """Reviews up to this size are decided in the event loop, larger ones in one thread beside it. Deciding is pure
    Python, so a thread adds no speed, only hand-over; it is for the few that would keep all others waiting."""
    connection_limit: int = 4_000
    """Connections per process. Beyond it the one goes whose caller has kept us waiting longest, and the newest only where all are
    being answered. One idle TLS connection costs about 34 KB. Fewer where the system's limit of open files is lower."""
    handshake_limit: int = 1_000
    """Connections in their TLS handshake besides those, at about 55 KB each; beyond it the oldest one is given up. An API server
    that makes 200 calls at once opens some 900 connections."""
    drain_seconds: float = 5.0
    """From SIGTERM to the end of accepting: readiness is false and every answer says ``Connection: close``."""
    shutdown_seconds: int = 25
    """Longest wait for open requests after that; below the 30 s of Kubernetes' default grace period."""


@dataclass(frozen=True, kw_only=True)
class AuthenticationSettings:
    """How callers of the webhook are known, where that is asked for."""

    poll_seconds: float = 5.0
    """How often the client CA file and the file of bearer tokens are read: as long as a token that was taken out may still
    count. A mounted Secret takes the kubelet a minute or so."""
    token_seconds: float = 10.0
    """How long the API server's answer about a token is kept (its own components, as aggregated servers: 10)."""
    token_limit: int = 1_000
    """How many such answers are kept; the oldest go first."""
    token_reviews_at_once: int = 4
    """How many tokens the API server is asked about at the same time; further ones wait."""
    token_reviews_limit: int = 64
    """How many tokens are being asked about, or wait for it; beyond it the caller is told to try again."""
    log_seconds: float = 10.0
    """One log line about refused callers in this time, for each reason: anybody may be refused as often as he likes."""


@dataclass(frozen=True, kw_only=True)
class CertificateSettings:
    """Lifetimes of the own certificate authority and its leaf."""

    ca_days: float = 365.0
    """Lifetime of the authority in days."""
    leaf_days: float = 7.0
    """Lifetime of the serving certificate in days; short, so that rotation is everyday work (cert-manager: 7)."""
    renew_after_fraction: float = 2 / 3
    """Share of a lifetime after which a new one is made. Two thirds leaves a third to notice a failing rotation."""
    clock_skew_seconds: float = 300.0
    """``notBefore`` lies this far in the past, for clients whose clocks are behind."""
    overlap_seconds: float = 300.0
    """How long a new authority must have been seen in every webhook configuration before a leaf of it is served: longer than the
    kubelet needs to refresh a mounted Secret (about 60 to 90 s) and the API servers to see a new caBundle."""
    check_seconds: float = 30.0
    """How often material is looked at again. One missed look costs nothing: renewal is due days before expiry."""


@dataclass(frozen=True, kw_only=True)
class ReloadSettings:
    """How policy files are watched."""

    poll_seconds: float = 2.0
    """Interval of the content-hash poll beside inotify, which misses ConfigMap flips on some mounts (KEP-5793)."""
    settle_seconds: float = 0.1
    """Quiet time after a change before files are read: editors write in several steps."""
    file_limit_bytes: int = 4 * 1024 * 1024
    """Largest policy file. A ConfigMap holds 1 MiB; the API server takes requests of 3 MiB."""


@dataclass(frozen=True, kw_only=True)
class ControllerSettings:
    """Loops of the controller process."""

    namespace: str = "gangwarden-system"
    """Where the Lease lives."""
    lease_name: str = "gangwarden-controller"
    """Name of the Lease."""
    lease_seconds: float = 15.0
    """Another replica may take over when a Lease was not renewed for this long (client-go: 15)."""
    renew_deadline_seconds: float = 10.0
    """The leader stops all writes when its last renewal is older than this (client-go: 10)."""
    retry_seconds: float = 2.0
    """Pause between attempts on the Lease (client-go: 2)."""
    resync_seconds: float = 300.0
    """Every workload is looked at again this often, so that a lost event costs minutes, not for ever."""
    backoff_initial_seconds: float = 0.5
    """First pause after a failed reconciliation; doubled up to ``backoff_limit_seconds``."""
    backoff_limit_seconds: float = 60.0
    """Longest pause after failed reconciliations."""
    collect_seconds: float = 10.0
    """How often PodGroups without a workload are looked for."""
    settle_seconds: float = 0.2
    """How long changes of pods and group objects gather before their workload is looked at: a group of a thousand pods
    starts with some four thousand changes, and nobody waits for what is done about any of them. A new or edited workload
    is looked at at once: its pods wait for their group."""
    orphan_grace_seconds: float = 30.0
    """How long a PodGroup of ours may stand without owner and without pods before it is deleted."""
    native_seconds: float = 20.0
    """How long the Job controller has for making the group of a new Job on the native route before the Job gets an event."""
    silent_wait_seconds: float = 5.0
    """How long a group may wait for its quorum before the Job gets an event that says why."""


@dataclass(frozen=True, kw_only=True)
class DisruptionSettings:
    """How groups that lose members are looked after."""

    restarts: bool = True
    """Restart them. Off, they are only looked at, told of and counted: a group that lost a member stays in part until somebody
    does something."""
    workers: int = 4
    """Groups looked at at the same time: each waits for the API server most of the time."""
    settle_seconds: float = 0.2
    """How long changes that are no loss gather before a group is looked at; a loss is looked at at once, for each further
    member that goes doubles the time until the Job makes new ones."""
    resync_seconds: float = 60.0
    """Every group is looked at again this often, so that a lost event costs a minute."""
    await_seconds: float = 120.0
    """After this long a restart says which members have not ended yet, and goes on waiting for them."""
    per_namespace: int = 30
    """Restarts begun in one namespace within ``window_seconds``: a rack that goes takes many groups with it, a mistake all."""
    per_owner: int = 3
    """Restarts begun of one workload within ``window_seconds``."""
    window_seconds: float = 60.0
    """What these two counts are taken over."""
    backoff_initial_seconds: float = 10.0
    """Pause before the second restart of a group in a row, doubled for each further one (as the Job controller's own)."""
    backoff_limit_seconds: float = 600.0
    """Longest such pause (as the Job controller's own)."""
    calm_seconds: float = 600.0
    """A group that has been whole for this long counts its restarts in a row anew."""


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """How the Kubernetes API is spoken to."""

    request_seconds: float = 5.0
    """Longest wait for one call. A write that passes the leader's fence must have ended before the Lease does:
    ``renew_deadline_seconds`` + this <= ``lease_seconds``."""
    connect_seconds: float = 10.0
    """Longest wait for a TCP and TLS connection of a watch."""
    idle_seconds: float = 150.0
    """A watch that is silent for this long is dead: the API server sends a bookmark every 60 s (measured)."""
    watch_seconds: tuple[float, float] = (300.0, 600.0)
    """The API server is asked to end a watch at a random time in between (client-go: 5 to 10 minutes)."""
    page_size: int = 500
    """Objects per page where a list is needed (client-go's pager: 500)."""
    backoff_initial_seconds: float = 0.8
    """First pause after a failed watch (client-go's reflector: 0.8), doubled and jittered up to ``backoff_limit_seconds``."""
    backoff_limit_seconds: float = 30.0
    """Longest pause between watches (client-go's reflector: 30)."""
    credentials_seconds: float = 30.0
    """How often CA, client certificate and token files are looked at; kubelet rotates them well before they end."""
    access_seconds: float = 5.0
    """How long an answer to who may do what is kept: as long as a permission that was taken away may still count."""
    access_limit: int = 10_000
    """How many such answers are kept, about 2 KB each; the oldest go first."""
    access_at_once: int = 16
    """How many such questions are put to the API server at the same time; further ones wait."""


@dataclass(frozen=True, kw_only=True)
class GuardSettings:
    """The webhook on evictions of group members."""

    longest_hold_seconds: float = 3600.0
    """How long evictions of one group may wait in all, whatever its policy says: no tenant may block a drain for ever."""
    forget_seconds: float = 600.0
    """After so long without a question about a group its wait begins anew; ``kubectl drain`` asks every 5 s."""
    controller_user: str = "system:serviceaccount:gangwarden-system:gangwarden-controller"
    """Whose evictions are never held: they complete a restart."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything, with defaults that suit a production cluster."""

    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    serving: ServingSettings = field(default_factory=ServingSettings)
    authentication: AuthenticationSettings = field(default_factory=AuthenticationSettings)
    certificates: CertificateSettings = field(default_factory=CertificateSettings)
    reload: ReloadSettings = field(default_factory=ReloadSettings)
    controller: ControllerSettings = field(default_factory=ControllerSettings)
    disruption: DisruptionSettings = field(default_factory=DisruptionSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    guard: GuardSettings = field(default_factory=GuardSettings)
