"""Count what admission does, under the names that operators' dashboards and alerts use.

One registry, handed in: a test, or a process that serves and controls side by side, must not share counters by accident.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder

from webhook.model.verdicts import Trail
from webhook.server.tally import Tally

# An allow takes a millisecond, the API server waits 10 s by default and 30 s at most.
DURATION_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
RELOAD_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # a dozen policies, to a thousand
KINDS_LIMIT = 100  # a cluster's policies match a dozen kinds; more means that somebody sends invented ones
OTHER = "other"
OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})


class Metrics:
    """The counters of a process that answers reviews."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._kinds: set[str] = set()
        self._requests = Tally(
            "gangwarden_admission_requests_total",
            "Reviews answered, by what was said.",
            ["path", "operation", "kind", "verdict"],
            registry=registry,
        )
        self._duration = Histogram(
            "gangwarden_admission_duration_seconds",
            "Time from the last header of a review to its answer.",
            ["path"],
            buckets=DURATION_BUCKETS,
            registry=registry,
        )
        self._callers = _refusals(registry)
        self._evaluations = Tally(
            "gangwarden_policy_evaluations_total", "What single policies said.", ["policy", "verdict"], registry=registry
        )
        self._durations: dict[str, Histogram] = {}
        self._exceptions = Counter(
            "gangwarden_policy_exceptions_total",
            "Rules that were not applied because of an exception.",
            ["exception", "policy"],
            registry=registry,
        )
        self._exception_expiry = Gauge(
            "gangwarden_policy_exception_expiry_timestamp_seconds",
            "When an exception of the policy set in force expires.",
            ["exception", "policy"],
            registry=registry,
        )
        self._reloads = Counter(
            "gangwarden_policy_reloads_total", "Attempts to take over edited policies.", ["status"], registry=registry
        )
        self._reload_duration = Histogram(
            "gangwarden_policy_reload_duration_seconds", "Time to load policies.", buckets=RELOAD_BUCKETS, registry=registry
        )
        self._measure(registry)

    def _measure(self, registry: CollectorRegistry) -> None:
        """Set up what is not counted but measured, and what is closed."""
        self._policy_set = Gauge("gangwarden_policy_set_info", "The policy set in force.", ["hash"], registry=registry)
        self._last_reload = Gauge(
            "gangwarden_policy_last_reload_timestamp_seconds", "When the policy set in force was taken over.", registry=registry
        )
        self._expiry = Gauge(
            "gangwarden_certificate_expiry_timestamp_seconds", "When a certificate expires.", ["use"], registry=registry
        )
        self._ready = Gauge(
            "gangwarden_ready", "Whether a process is ready (1), as /readyz says.", ["process"], registry=registry
        )
        self._connections = Gauge("gangwarden_connections", "Connections of callers that are open.", registry=registry)
        self._closed = Counter(
            "gangwarden_connections_closed_total",
            "Connections that were closed although their callers would have kept them.",
            ["reason"],
            registry=registry,
        )
        self._age = Gauge(
            "gangwarden_snapshot_age_seconds",
            "How long ago the API server was last heard of, by the followed kind for which that is longest.",
            registry=registry,
        )

    def answered(self, path: str, seconds: float, *, operation: str, kind: str, verdict: str) -> None:
        """Count one answer; what a caller may invent is bounded, for each label value costs memory for good."""
        operation = operation if operation in OPERATIONS else OTHER
        self._requests.add(path, operation, self._known(kind), verdict)
        duration = self._durations.get(path)
        if duration is None:
            duration = self._durations[path] = self._duration.labels(path=path)
        duration.observe(seconds)

    def caller_refused(self, reason: str) -> None:
        """Count a call that was not answered because of who made it."""
        self._callers.labels(reason=reason).inc()

    def evaluated(self, policy: str, verdict: str) -> None:
        """Count what one policy said of one object."""
        self._evaluations.add(policy, verdict)

    def found(self, trail: Trail) -> None:
        """Count all that the policies said of one object."""
        if trail.is_plain:
            self._evaluations.add_bundle(trail, lambda: _said(trail))
        else:
            self._evaluations.add_all(_said(trail))

    def excepted(self, exception: str, policy: str) -> None:
        """Count a rule that was not applied because of an exception."""
        self._exceptions.labels(exception=exception, policy=policy).inc()

    def exceptions_in_force(self, expiries: Mapping[tuple[str, str], float]) -> None:
        """Note the exceptions of a new policy set: by names of exception and policy, in seconds since the epoch.

        Each is counted from 0, so that one which nobody needs can be found.
        """
        self._exception_expiry.clear()
        for (exception, policy), at in expiries.items():
            self._exception_expiry.labels(exception=exception, policy=policy).set(at)
            self._exceptions.labels(exception=exception, policy=policy)

    def reload_took(self, seconds: float) -> None:
        """Note how long loading edited policies took, whatever came of it."""
        self._reload_duration.observe(seconds)

    def reload_succeeded(self, revision: str, at: float) -> None:
        """Note a new policy set; ``at`` in seconds since the epoch."""
        self._reloads.labels(status="success").inc()
        self._policy_set.clear()
        self._policy_set.labels(hash=revision).set(1)
        self._last_reload.set(at)

    def reload_failed(self) -> None:
        """Note that an edit was refused and the old set kept."""
        self._reloads.labels(status="failure").inc()

    def certificate_expires(self, use: str, at: float) -> None:
        """Note when the certificate for this use (``serving``, ``authority``) ends, in seconds since the epoch."""
        self._expiry.labels(use=use).set(at)

    def connections_are(self, count: Callable[[], int]) -> None:
        """Ask this at each scrape how many connections are open."""
        self._connections.set_function(count)

    def connection_closed(self, reason: str) -> None:
        """Count a connection that was closed for being in the way; reasons are words of ours."""
        self._closed.labels(reason=reason).inc()

    def ready_when(self, process: str, is_ready: Callable[[], bool]) -> None:
        """Ask this at each scrape whether the process (``webhook``) is ready; one that nobody told of is not on the page."""
        self._ready.labels(process=process).set_function(lambda: float(is_ready()))

    def snapshot_ages(self, age_seconds: Callable[[], float]) -> None:
        """Ask this at each scrape how old the snapshot is."""
        self._age.set_function(age_seconds)

    def render(self, accept: str) -> tuple[bytes, str]:
        """Return the page and its content type, in the format that the scraper accepts."""
        encoder, content_type = choose_encoder(accept)
        return encoder(self.registry), content_type

    def _known(self, kind: str) -> str:
        if kind not in self._kinds:
            if len(self._kinds) >= KINDS_LIMIT:
                return OTHER
            self._kinds.add(kind)
        return kind


def _said(trail: Trail) -> list[tuple[str, ...]]:
    return [(finding.policy, finding.verdict) for finding in trail.findings]


def _refusals(registry: CollectorRegistry) -> Counter:
    told = "Reviews that were not read because nobody knows who sent them."
    return Counter("gangwarden_callers_refused_total", told, ["reason"], registry=registry)
