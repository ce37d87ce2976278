"""Whole groups and the room they need: what nodes hold, who fits where. Knows no CEL policy, no client and no clock."""

from webhook.preemption.answers import NodeRoomView
from webhook.preemption.capacity import Capacity
from webhook.preemption.demand import demand_of

__all__ = ["Capacity", "NodeRoomView", "demand_of"]
