"""The Kubernetes API: watch, snapshot, apply, evict, lease, capability probe, and its file twin for offline use.

Knows credentials, REST, versions, retries and how objects are kept in memory; the only importer of ``kubernetes`` and
``aiohttp``. Must not know policies, or why an action was planned: it is handed kinds to follow, actions to do and
objects to write, and answers with objects, outcomes and ClusterErrors.
"""

from webhook.cluster.access import AccessReviews
from webhook.cluster.api import Api
from webhook.cluster.canary import job_controller_makes_groups
from webhook.cluster.configurations import WebhookConfigurations
from webhook.cluster.connection import Connection, connect
from webhook.cluster.elector import Elector
from webhook.cluster.events import EventRecorder
from webhook.cluster.executor import Done, Executor, Failed, Moot, Outcome
from webhook.cluster.feed import Change, Listener, SnapshotFeed, fetch_snapshot
from webhook.cluster.files import load_snapshot, save_snapshot
from webhook.cluster.informer import Informer
from webhook.cluster.probe import probe_capabilities
from webhook.cluster.scheduler_canary import scheduler_keeps_groups
from webhook.cluster.secret import SecretStore
from webhook.cluster.token_reviews import TokenReviews
from webhook.cluster.trim import Trimmer

__all__ = [
    "AccessReviews",
    "Api",
    "Change",
    "Connection",
    "Done",
    "Elector",
    "EventRecorder",
    "Executor",
    "Failed",
    "Informer",
    "Listener",
    "Moot",
    "Outcome",
    "SecretStore",
    "SnapshotFeed",
    "TokenReviews",
    "Trimmer",
    "WebhookConfigurations",
    "connect",
    "fetch_snapshot",
    "job_controller_makes_groups",
    "load_snapshot",
    "probe_capabilities",
    "save_snapshot",
    "scheduler_keeps_groups",
]
