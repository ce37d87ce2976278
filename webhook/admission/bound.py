"""A WorkloadPolicy as reviews see it."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.groups import CompiledWorkload
from webhook.model.policies import Binding


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundWorkload:
    """A WorkloadPolicy with the bindings that make it act."""

    policy: CompiledWorkload
    bindings: tuple[Binding, ...]
