"""Whole groups: in what state they are, what took their members, what may be done about it, and the room that they need.

Knows the words of the model and the groups of a workload. Knows no CEL policy, no client and no clock.
"""

from webhook.preemption.answers import NodeRoomView
from webhook.preemption.budgets import BudgetAnswer, BudgetsAllow, BudgetsHold, judge_budgets
from webhook.preemption.capacity import Capacity
from webhook.preemption.deadnodes import DeadNode, death_of
from webhook.preemption.demand import demand_of
from webhook.preemption.facts import BUDGET_KIND, GroupFacts, gather_facts
from webhook.preemption.foreign import Hand, Means, hand_on, is_held_down
from webhook.preemption.gate import EvictionGate
from webhook.preemption.health import judge_health
from webhook.preemption.intent import read_trace
from webhook.preemption.limits import Begun, Rates
from webhook.preemption.losses import loss_of_gone, preemptor_in
from webhook.preemption.membership import is_proved, owner_reference
from webhook.preemption.quorum import quorum_place, quorum_to_set
from webhook.preemption.restart import Seen, Turn, plan_abandon, plan_restart
from webhook.preemption.rollcall import RollCall, call_roll
from webhook.preemption.steps import about, repair, since_restart
from webhook.preemption.story import tell_story
from webhook.preemption.stranded import StrandedTime, burning
from webhook.preemption.telling import preemptor_name, tell_held, tell_lost, tell_stuck, tell_taken

__all__ = [
    "BUDGET_KIND",
    "Begun",
    "BudgetAnswer",
    "BudgetsAllow",
    "BudgetsHold",
    "Capacity",
    "DeadNode",
    "EvictionGate",
    "GroupFacts",
    "Hand",
    "Means",
    "NodeRoomView",
    "Rates",
    "RollCall",
    "Seen",
    "StrandedTime",
    "Turn",
    "about",
    "burning",
    "call_roll",
    "death_of",
    "demand_of",
    "gather_facts",
    "hand_on",
    "is_held_down",
    "is_proved",
    "judge_budgets",
    "judge_health",
    "loss_of_gone",
    "owner_reference",
    "plan_abandon",
    "plan_restart",
    "preemptor_in",
    "preemptor_name",
    "quorum_place",
    "quorum_to_set",
    "read_trace",
    "repair",
    "since_restart",
    "tell_held",
    "tell_lost",
    "tell_story",
    "tell_stuck",
    "tell_taken",
]
