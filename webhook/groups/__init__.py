"""Which workload gets which group, by which route, and the objects of a group.

Knows WorkloadPolicies, the rules that every policy shares, and the shapes of ``scheduling.k8s.io/v1beta1``. Knows no
client and no clock; it never asks the cluster and never creates anything: it returns plans.
"""

from typing import TYPE_CHECKING

from webhook.groups.claims import (
    IGNORED_GROUPS,
    NO_GROUP_OBJECTS,
    foreign_manager,
    foreign_system,
    has_native_scheduling,
    is_cron_jobs,
    reason_to_leave_alone,
)
from webhook.groups.compile import CompiledGroup, CompiledWorkload, compile_workload
from webhook.groups.composites import check_composites, resolve_tree
from webhook.groups.hasten import hasten, is_hastened, obstacle_to_haste, plan_release
from webhook.groups.members import Member, find_member, seen_keys
from webhook.groups.names import (
    group_name,
    is_record_of_another,
    is_record_of_its_own,
    is_recorded_for_pods,
    missing_groups,
    name_for_pods,
    recorded_names,
    recorded_policy,
)
from webhook.groups.native import check_native, choose_route, is_job, is_native, native_group, planned_by_kubernetes, schedule
from webhook.groups.objects import composite_object, pod_group_object, restore_stamp, stamp, workload_object
from webhook.groups.paths import read_path
from webhook.groups.recorded import is_whole, place_recorded, plan_recorded, plan_without_policy
from webhook.groups.resolve import GroupFailure, GroupProblem, check_capabilities, resolve_groups
from webhook.late import late_names

if TYPE_CHECKING:
    from webhook.groups.building import GroupItem, Wrong, check_item, plan_item
    from webhook.groups.causes import Cause, why_waiting
    from webhook.groups.delegated import is_delegated, tell_delegated
    from webhook.groups.dropped import (
        asks_for_gang,
        has_lost_its_group,
        has_lost_scheduling,
        tell_fields_dropped,
        tell_not_grouped,
        tell_parts_dropped,
        tell_scheduling_dropped,
    )
    from webhook.groups.gates import tell_gates
    from webhook.groups.orphans import plan_orphans
    from webhook.groups.owners import owners_above
    from webhook.groups.plan import plan_group
    from webhook.groups.quorum import is_draining_queue, is_quorum_ours, quorum_on_job, repaired_quorum, still_to_run
    from webhook.groups.states import age_seconds, condition, has_ended, is_finished, is_suspended, is_true, members_of, node_of

__all__ = [
    "IGNORED_GROUPS",
    "NO_GROUP_OBJECTS",
    "Cause",
    "CompiledGroup",
    "CompiledWorkload",
    "GroupFailure",
    "GroupItem",
    "GroupProblem",
    "Member",
    "Wrong",
    "age_seconds",
    "asks_for_gang",
    "check_capabilities",
    "check_composites",
    "check_item",
    "check_native",
    "choose_route",
    "compile_workload",
    "composite_object",
    "condition",
    "find_member",
    "foreign_manager",
    "foreign_system",
    "group_name",
    "has_ended",
    "has_lost_its_group",
    "has_lost_scheduling",
    "has_native_scheduling",
    "hasten",
    "is_cron_jobs",
    "is_delegated",
    "is_draining_queue",
    "is_finished",
    "is_hastened",
    "is_job",
    "is_native",
    "is_quorum_ours",
    "is_record_of_another",
    "is_record_of_its_own",
    "is_recorded_for_pods",
    "is_suspended",
    "is_true",
    "is_whole",
    "members_of",
    "missing_groups",
    "name_for_pods",
    "native_group",
    "node_of",
    "obstacle_to_haste",
    "owners_above",
    "place_recorded",
    "plan_group",
    "plan_item",
    "plan_orphans",
    "plan_recorded",
    "plan_release",
    "plan_without_policy",
    "planned_by_kubernetes",
    "pod_group_object",
    "quorum_on_job",
    "read_path",
    "reason_to_leave_alone",
    "recorded_names",
    "recorded_policy",
    "repaired_quorum",
    "resolve_groups",
    "resolve_tree",
    "restore_stamp",
    "schedule",
    "seen_keys",
    "stamp",
    "still_to_run",
    "tell_delegated",
    "tell_fields_dropped",
    "tell_gates",
    "tell_not_grouped",
    "tell_parts_dropped",
    "tell_scheduling_dropped",
    "why_waiting",
    "workload_object",
]

if not TYPE_CHECKING:  # else it would take every name for one that is there
    __getattr__ = late_names(
        __name__,
        {
            "building": ("GroupItem", "Wrong", "check_item", "plan_item"),
            "causes": ("Cause", "why_waiting"),
            "delegated": ("is_delegated", "tell_delegated"),
            "dropped": (
                "asks_for_gang",
                "has_lost_its_group",
                "has_lost_scheduling",
                "tell_fields_dropped",
                "tell_not_grouped",
                "tell_parts_dropped",
                "tell_scheduling_dropped",
            ),
            "gates": ("tell_gates",),
            "orphans": ("plan_orphans",),
            "owners": ("owners_above",),
            "plan": ("plan_group",),
            "quorum": ("is_draining_queue", "is_quorum_ours", "quorum_on_job", "repaired_quorum", "still_to_run"),
            "states": (
                "age_seconds",
                "condition",
                "has_ended",
                "is_finished",
                "is_suspended",
                "is_true",
                "members_of",
                "node_of",
            ),
        },
    )
    """Commands that read and judge once start without what only the controller asks."""
