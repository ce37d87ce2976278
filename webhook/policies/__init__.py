"""Policy files: read strictly, compiled to a set, watched and swapped; the one room that knows how they lie on disk.

Knows YAML, files and the kinds among them. Must not know what rules mean (``rules``, ``groups``), how a review travels
or who is told of a reload. A set that cannot be loaded whole is not loaded at all, and every error names its place.
"""

from typing import TYPE_CHECKING

from webhook.late import late_names
from webhook.policies.bundled import bundled_policies, bundled_profile
from webhook.policies.files import SourceFile, is_source
from webhook.policies.load import load_policies
from webhook.policies.manifests import Manifest, load_manifests, manifest_files, read_manifests
from webhook.policies.moments import moment_of
from webhook.policies.nodes import BrokenSource, Document, Node, read_documents
from webhook.policies.places import Places

if TYPE_CHECKING:
    from webhook.policies.cases import load_cases
    from webhook.policies.export import WORKLOAD, Export, Exported, LeftOut, plan_export
    from webhook.policies.export_files import write_export
    from webhook.policies.schemas import SCHEMA_KINDS, schema_of, schema_of_all
    from webhook.policies.store import Kept, PolicyStore, Swap, Swapped
    from webhook.policies.suites import find_tests, policy_files
    from webhook.policies.watch import PolicyWatcher

__all__ = [
    "SCHEMA_KINDS",
    "WORKLOAD",
    "BrokenSource",
    "Document",
    "Export",
    "Exported",
    "Kept",
    "LeftOut",
    "Manifest",
    "Node",
    "Places",
    "PolicyStore",
    "PolicyWatcher",
    "SourceFile",
    "Swap",
    "Swapped",
    "bundled_policies",
    "bundled_profile",
    "find_tests",
    "is_source",
    "load_cases",
    "load_manifests",
    "load_policies",
    "manifest_files",
    "moment_of",
    "plan_export",
    "policy_files",
    "read_documents",
    "read_manifests",
    "schema_of",
    "schema_of_all",
    "write_export",
]

if not TYPE_CHECKING:  # else it would take every name for one that is there
    __getattr__ = late_names(
        __name__,
        {
            "cases": ("load_cases",),
            "export": ("WORKLOAD", "Export", "Exported", "LeftOut", "plan_export"),
            "export_files": ("write_export",),
            "schemas": ("SCHEMA_KINDS", "schema_of", "schema_of_all"),
            "store": ("Kept", "PolicyStore", "Swap", "Swapped"),
            "suites": ("find_tests", "policy_files"),
            "watch": ("PolicyWatcher",),
        },
    )
    """Commands that read and judge once start without event loop, exports and schemas."""
