"""Every function of the API server's environment that this engine has: one module for each of its libraries.

A module offers ``OVERLOADS`` (dispatched on the types of values) or ``OPERATORS`` (one implementation for all types). What is
not listed here does not exist: an expression that uses it is refused when it is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from webhook.cel.declare import Function, group
from webhook.cel.library import (
    arithmetic,
    authorization,
    convert,
    core,
    formatting,
    jsonpatch,
    listing,
    lists,
    named_formats,
    network,
    optionals,
    quantity,
    regex,
    semver,
    sets,
    strings,
    url,
)

_MODULES = (
    authorization,
    core,
    convert,
    optionals,
    formatting,
    lists,
    listing,
    named_formats,
    network,
    quantity,
    regex,
    semver,
    sets,
    strings,
    url,
)


def _collect() -> Mapping[str, Function]:
    found = group(chain.from_iterable(module.OVERLOADS for module in _MODULES))
    for function in (*arithmetic.OPERATORS, *core.OPERATORS, *listing.OPERATORS):
        found[function.name] = function
    return found


FUNCTIONS: Mapping[str, Function] = _collect()

MUTATION_FUNCTIONS: Mapping[str, Function] = {**FUNCTIONS, **group(jsonpatch.OVERLOADS)}
"""With those that only expressions of a MutatingAdmissionPolicy know."""
