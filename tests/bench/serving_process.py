"""The webhook as one process of its own on a free port: what ``gangwarden serve`` runs, on policy files and without a cluster.

Application, reviewer, limits, cost budgets, metrics, TLS and the log of one JSON line a decision are production's own. What is
missing is what stands beside them in a cluster: the snapshot's feed, the renewal of certificates, the webhook configurations.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import uvloop
from prometheus_client import CollectorRegistry

from webhook.admission import bind_unbound
from webhook.certs import Material, Tls
from webhook.cli.reviewer import LiveReviewer
from webhook.model.groups import Capabilities
from webhook.model.snapshot import EMPTY_SNAPSHOT
from webhook.policies import PolicyStore, load_policies
from webhook.server import Metrics, build_app, configure_logging, serve, stop_on_signals
from webhook.settings import Settings


async def run(policies: Path, material: Material) -> None:
    """Serve until SIGTERM; the port is the only line on standard output."""
    defaults = Settings()
    serving = replace(defaults.serving, host="127.0.0.1", port=0, drain_seconds=0.0, shutdown_seconds=1)
    store = PolicyStore(bind_unbound(load_policies([policies])))
    metrics, stop = Metrics(CollectorRegistry()), asyncio.Event()
    stop_on_signals(stop)
    app = build_app(
        LiveReviewer(store, lambda: EMPTY_SNAPSHOT, lambda: Capabilities(group_objects=True), limits=defaults.evaluation),
        list,
        metrics=metrics,
        serving=serving,
        evaluation=defaults.evaluation,
        stop=stop,
    )
    told = {"started": lambda port: print(port, flush=True), "metrics": metrics}
    await serve(app, Tls(material).context, serving, stop=stop, **told)


if __name__ == "__main__":
    configure_logging(json=True)
    source, *pair = map(Path, sys.argv[1:])
    chain, private = (path.read_bytes() for path in pair)
    uvloop.run(run(source, Material(ca=b"", ca_key=b"", certificate=chain, key=private)))
