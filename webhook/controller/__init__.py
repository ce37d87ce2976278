"""The loops that keep group objects beside their workloads: a queue, workers, a resync, a collection of orphans.

Knows when to look and what to do after a failure. Must not know how the API server is spoken to or how policies lie on
disk: it is handed a feed, an actor and a policy store, and calls the thinking rooms for every decision.
"""

from webhook.controller.process import CONTROLLER_KINDS, Actor, Controller, Feed, Shortfall
from webhook.controller.upkeep import Upkeep

__all__ = ["CONTROLLER_KINDS", "Actor", "Controller", "Feed", "Shortfall", "Upkeep"]
