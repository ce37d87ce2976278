"""The loops that keep group objects beside their workloads, and running groups together: queues, workers, resyncs.

Knows when to look and what to do after a failure. Must not know how the API server is spoken to or how policies lie on
disk: it is handed a feed, an actor and a policy store, and calls the thinking rooms for every decision.
"""

from webhook.controller.keeper import KEEPER_KINDS, Carried, Hands, Keeper
from webhook.controller.members import MemberIndex
from webhook.controller.process import CONTROLLER_KINDS, Actor, Controller, Feed, Shortfall
from webhook.controller.upkeep import Upkeep

__all__ = [
    "CONTROLLER_KINDS",
    "KEEPER_KINDS",
    "Actor",
    "Carried",
    "Controller",
    "Feed",
    "Hands",
    "Keeper",
    "MemberIndex",
    "Shortfall",
    "Upkeep",
]
