"""What offline commands do with policies that nothing binds (``--unbound``)."""

from __future__ import annotations

import click

from webhook.admission import PolicySet, bind_unbound

unbound_option = click.option(
    "--unbound",
    type=click.Choice(["deny", "skip"]),
    default="deny",
    show_default=True,
    help="What a policy without a binding does; in the API server it does nothing.",
)


def bound_or_not(policies: PolicySet, unbound: str) -> tuple[PolicySet, tuple[str, ...]]:
    """Return the policies as they are to be asked, and a note about those that were given a binding here."""
    if unbound != "deny":
        return policies, ()
    names = [p.head.source.name for p, bindings in policies.validating if not bindings]
    names += [policy.name for policy, bindings in policies.mutating if not bindings]
    names += [bound.policy.name for bound in policies.workload if not bound.bindings]
    note = f"note: without a binding, and taken as denying everywhere (--unbound=deny): {', '.join(names)}"
    return bind_unbound(policies), (note,) if names else ()
