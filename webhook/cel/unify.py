"""Whether a value of one type may stand where another is wanted, and what type parameters become (cel-go checker/types.go)."""

from __future__ import annotations

from collections.abc import Sequence

from webhook.cel.types import DURATION, DYN, TIMESTAMP, Kind, Type

Bindings = dict[Type, Type]
"""What type parameters stand for so far. Every trial works on a copy, so that a failed one leaves no traces."""

_PARAMETRIC = (Kind.OPAQUE, Kind.LIST, Kind.MAP)


def assign(bindings: Bindings, given: Sequence[Type], wanted: Sequence[Type]) -> Bindings | None:
    """Return the bindings under which the types in ``given`` fit ``wanted``, or None when they do not."""
    trial = dict(bindings)
    return trial if _fits_all(trial, given, wanted) else None


def _fits_all(bindings: Bindings, left: Sequence[Type], right: Sequence[Type]) -> bool:
    return len(left) == len(right) and all(_fits(bindings, one, other) for one, other in zip(left, right, strict=True))


def _fits(bindings: Bindings, left: Type, right: Type) -> bool:
    if right.kind is Kind.PARAMETER:
        valid, bound = _stands_for(bindings, left, right)
        if valid or bound:
            return valid
    if left.kind is Kind.PARAMETER:
        return _stands_for(bindings, right, left)[0]
    if left.is_dyn or right.is_dyn:
        return True
    if left.kind is Kind.NULL:
        return _takes_null(right)
    if right.kind is Kind.NULL:
        return _takes_null(left)
    if left.kind is Kind.TYPE:
        return right.kind is Kind.TYPE
    if left.kind in _PARAMETRIC:
        return left.kind is right.kind and left.name == right.name and _fits_all(bindings, left.parameters, right.parameters)
    return left == right


def _takes_null(type_: Type) -> bool:
    return type_.kind in (Kind.OPAQUE, Kind.STRUCT, Kind.NULL) or type_ in (TIMESTAMP, DURATION)


def _stands_for(bindings: Bindings, type_: Type, parameter: Type) -> tuple[bool, bool]:
    """Tell whether ``parameter`` may be ``type_``, and whether it was bound before."""
    if type_ == parameter:
        return True, True
    bound = bindings.get(parameter)
    if bound is not None:
        if type_ == bound:
            return True, True
        if not _fits(bindings, type_, bound):
            return False, True
        general = more_general(type_, bound)
        if not _occurs(bindings, parameter, general):
            bindings[parameter] = general
        return True, True
    if _occurs(bindings, parameter, type_):
        return False, False
    bindings[parameter] = type_
    return True, False


def _occurs(bindings: Bindings, parameter: Type, within: Type) -> bool:
    if parameter == within:
        return True
    if within.kind is Kind.PARAMETER:
        bound = bindings.get(within)
        return bound is not None and _occurs(bindings, parameter, bound)
    return any(_occurs(bindings, parameter, part) for part in within.parameters)


def more_general(left: Type, right: Type) -> Type:
    """Return the less specific of two types that fit each other."""
    return left if _is_less_specific(left, right) else right


def _is_less_specific(left: Type, right: Type) -> bool:
    if left.kind in (Kind.DYN, Kind.PARAMETER):
        return True
    if right.kind in (Kind.DYN, Kind.PARAMETER) or left.kind is not right.kind:
        return False
    if left.kind in _PARAMETRIC:
        if left.name != right.name or len(left.parameters) != len(right.parameters):
            return False
        return all(_is_less_specific(one, other) for one, other in zip(left.parameters, right.parameters, strict=True))
    return left.kind is Kind.TYPE or left == right


def resolve(bindings: Bindings, type_: Type, *, unbound_to_dyn: bool = False) -> Type:
    """Replace the bound parameters within a type; the others become dyn if asked."""
    if type_.kind is Kind.PARAMETER:
        bound = bindings.get(type_)
        if bound is not None:
            return resolve(bindings, bound, unbound_to_dyn=unbound_to_dyn)
        return DYN if unbound_to_dyn else type_
    if not type_.parameters:
        return type_
    parts = tuple(resolve(bindings, part, unbound_to_dyn=unbound_to_dyn) for part in type_.parameters)
    return Type(type_.kind, type_.name, parts, type_.fields)
