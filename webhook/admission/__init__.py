"""A review: decode, decide, mutate, diff, encode; and the same rounds for a manifest without an API server.

Knows policy sets, requests and group plans. Knows no HTTP, no file and no client: a review comes as a decoded body
and leaves as a document, and what it needs of the cluster is handed in as a snapshot.
"""

from typing import TYPE_CHECKING

from webhook.admission.ask import Asker, as_stored, in_namespace, is_cluster_scoped, request_for, review_of
from webhook.admission.attach import Surroundings, attach
from webhook.admission.bound import BoundWorkload
from webhook.admission.check import Checker, created_objects, is_finding
from webhook.admission.custom import NO_CUSTOM_KINDS, CustomKinds
from webhook.admission.defaults import DefaultsFiller, apply_defaults
from webhook.admission.fields import UnknownField, has_regular_fields, unknown_fields, wrong_types
from webhook.admission.misnamed import unknown_kind
from webhook.admission.policyset import (
    EMPTY_POLICIES,
    ParamIndex,
    PolicySet,
    bind_unbound,
    disruption_of,
    exceptions_of,
    guards_evictions,
    member_resources,
    owner_resources,
    recorded_bound,
    served_policies,
)
from webhook.admission.world import SnapshotWorld
from webhook.late import late_names

if TYPE_CHECKING:
    from webhook.admission.configurations import (
        CONFIGURATION_NAME,
        Endpoint,
        NamespaceScope,
        PathNeeds,
        WebhookNeeds,
        plan_configurations,
        webhook_needs,
    )
    from webhook.admission.coverage import Ledger
    from webhook.admission.decode import decode_review
    from webhook.admission.encode import encode_review
    from webhook.admission.expect import result_differences
    from webhook.admission.review import Round, decide

__all__ = [
    "CONFIGURATION_NAME",
    "EMPTY_POLICIES",
    "NO_CUSTOM_KINDS",
    "Asker",
    "BoundWorkload",
    "Checker",
    "CustomKinds",
    "DefaultsFiller",
    "Endpoint",
    "Ledger",
    "NamespaceScope",
    "ParamIndex",
    "PathNeeds",
    "PolicySet",
    "Round",
    "SnapshotWorld",
    "Surroundings",
    "UnknownField",
    "WebhookNeeds",
    "apply_defaults",
    "as_stored",
    "attach",
    "bind_unbound",
    "created_objects",
    "decide",
    "decode_review",
    "disruption_of",
    "encode_review",
    "exceptions_of",
    "guards_evictions",
    "has_regular_fields",
    "in_namespace",
    "is_cluster_scoped",
    "is_finding",
    "member_resources",
    "owner_resources",
    "plan_configurations",
    "recorded_bound",
    "request_for",
    "result_differences",
    "review_of",
    "served_policies",
    "unknown_fields",
    "unknown_kind",
    "webhook_needs",
    "wrong_types",
]

if not TYPE_CHECKING:  # else it would take every name for one that is there
    __getattr__ = late_names(
        __name__,
        {
            "configurations": (
                "CONFIGURATION_NAME",
                "Endpoint",
                "NamespaceScope",
                "PathNeeds",
                "WebhookNeeds",
                "plan_configurations",
                "webhook_needs",
            ),
            "coverage": ("Ledger",),
            "decode": ("decode_review",),
            "encode": ("encode_review",),
            "expect": ("result_differences",),
            "review": ("Round", "decide"),
        },
    )
    """A command that judges manifests receives no reviews, plans no configurations and counts no rules."""
