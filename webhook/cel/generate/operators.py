"""Operators: what nearly always happens, two ints or two texts, is in place; everything else is a call."""

from __future__ import annotations

from typing import Any

from webhook.cel import logic, types
from webhook.cel.compare import contains, equal, order
from webhook.cel.costs import ADDITION, Formula, size_of
from webhook.cel.generate import runtime
from webhook.cel.generate.emitter import Emitter, Value
from webhook.cel.syntax import Call
from webhook.cel.types import Type

COMPARISONS = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_CHEAP_TEXT = 10
"""Longest text whose comparison costs one unit."""
_SHORT_LIST = 1_000
"""Longest list that may be searched without a price (costs.beyond)."""


def emit_equals(emitter: Emitter, node: Call) -> Value:
    """Write ``left == right`` or ``left != right``."""
    left, right = (emitter.value(argument) for argument in node.arguments)
    negated = node.function == "_!=_"
    if left.is_constant(int, bool, str, type(None)) and not right.constant:  # of others, the order of the sides matters
        left, right = right, left
    if right.is_constant(type(None)):
        return Value(f"({left.text} is {'not ' if negated else ''}None)", types.BOOL)
    left, right = emitter.atom(left), emitter.atom(right)
    if right.is_constant(int, bool, str):
        return _equals_constant(emitter, left, right, negated=negated)
    return _equals(emitter, left, right, negated=negated)


def _equals_constant(emitter: Emitter, left: Value, right: Value, *, negated: bool) -> Value:
    """Compare with an int, a bool or text; its class is nearly always that of the other side."""
    constant = right.constant[0]
    operator = "!=" if negated else "=="
    if isinstance(constant, str) and len(constant) > _CHEAP_TEXT:
        return _equals(emitter, left, right, negated=negated)
    compared = f"{left.text} {operator} {right.text}"
    if left.kind == right.kind:
        return Value(f"({compared})", types.BOOL)
    slow = f"{emitter.refer(logic.unequal, 'DIFFER') if negated else emitter.refer(equal, 'MATCH')}({left.text}, {right.text}, B)"
    return Value(f"({compared} if type({left.text}) is {type(constant).__name__} else {slow})", types.BOOL)


def _equals(emitter: Emitter, left: Value, right: Value, *, negated: bool) -> Value:
    writer = emitter.writer
    one, other = left.text, right.text
    result = writer.name("v")
    operator = "!=" if negated else "=="
    texts = " and ".join(f"type({item.text}) is str" for item in (left, right) if item.kind != types.STRING)
    start = "el" if _emit_short(emitter, left, right, f"{result} = {one} {operator} {other}") else ""
    with writer.block(f"{start}if {texts or 'True'}:"):
        with writer.block(f"if len({one}) > {_CHEAP_TEXT} < len({other}):"):
            writer.add(f"c += (min(len({one}), len({other})) - 1) // 10")
            emitter.look()
        writer.add(f"{result} = {one} {operator} {other}")
    if types.STRING not in (left.kind, right.kind):
        with writer.block(f"elif type({one}) is type({other}) is int:"):
            writer.add(f"{result} = {one} {operator} {other}")
    with writer.block("else:"), emitter.settled():
        slow = emitter.refer(logic.unequal if negated else logic.equal_priced, "DIFFER" if negated else "EQUAL")
        writer.add(f"{result} = {slow}({one}, {other}, B)")
    return Value(result, types.BOOL)


def _emit_short(emitter: Emitter, left: Value, right: Value, compare: str) -> bool:
    """Write a comparison with text that is short in every turn, so that nobody needs to know how long the other one is."""
    for side, other in ((left, right), (right, left)):
        is_short = emitter.fact(side, f"type({side.text}) is str and len({side.text}) <= {_CHEAP_TEXT}")
        if is_short is not None:
            known = "" if other.kind == types.STRING else f" and type({other.text}) is str"
            with emitter.writer.block(f"if {is_short}{known}:"):
                emitter.writer.add(compare)
            return True
    return False


def emit_comparison(emitter: Emitter, node: Call) -> Value:
    """Write ``<``, ``<=``, ``>`` or ``>=``."""
    left, right = (emitter.value(argument) for argument in node.arguments)
    operator, formula = COMPARISONS[node.function], emitter.prices.formula(node)
    if left.kind == right.kind == types.INT and formula is None:
        return Value(f"({left.text} {operator} {right.text})", types.BOOL)
    left, right = emitter.atom(left), emitter.atom(right)
    if formula is not None:
        emitter.pay(f"{emitter.refer(formula.run, 'PRICE')}({left.text}, {right.text})")
        emitter.look()
    unsure = any(item.kind != types.INT for item in (left, right))
    compared = f"{left.text} {operator} {right.text}"
    if not unsure:
        return Value(f"({compared})", types.BOOL)
    ints = _are_ints(emitter, *(item for item in (left, right) if item.kind != types.INT))
    slow = f"{emitter.refer(order, 'ORDER')}({left.text}, {right.text}, {node.function!r}) {operator} 0"
    return Value(f"({compared} if {ints} else {slow})", types.BOOL)


def _are_ints(emitter: Emitter, *unsure: Value) -> str:
    """Return the test of one value or of two, where possible with what was found out about one in a first turn."""
    if len(unsure) == 1:
        return emitter.fact(unsure[0], f"type({unsure[0].text}) is int") or f"type({unsure[0].text}) is int"
    for side, other in (unsure, reversed(unsure)):
        is_int = emitter.fact(side, f"type({side.text}) is int")
        if is_int is not None:
            return f"{is_int} and type({other.text}) is int"
    return " is ".join([*(f"type({item.text})" for item in unsure), "int"])


def emit_membership(emitter: Emitter, node: Call) -> Value:
    """Write ``left in right``."""
    left, right = (emitter.atom(emitter.value(argument)) for argument in node.arguments)
    item, items = left.text, right.text
    is_text = "" if left.kind == types.STRING else f"type({item}) is str and "
    if right.is_constant(list) and emitter.prices.formula(node) is None and emitter.prices.of(node) == 0:
        return _emit_set(emitter, left, right.constant[0])
    formula = emitter.prices.formula(node)
    if formula is not None:
        emitter.pay(f"{emitter.refer(size_of, 'SIZE')}({items})")
    result = emitter.writer.name("v")
    known = f"type({items}) is dict or type({items}) is list and len({items}) <= {_SHORT_LIST}"
    known = emitter.fact(right, known) or f"({known})"
    with emitter.writer.block(f"if {is_text}{known}:"):
        emitter.writer.add(f"{result} = {item} in {items}")
    with emitter.writer.block("else:"), emitter.settled():
        emitter.writer.add(f"{result} = {emitter.refer(contains, 'CONTAINS')}({items}, {item}, B)")
    return Value(result, types.BOOL)


def _emit_set(emitter: Emitter, item: Value, items: list[Any]) -> Value:
    if not items:
        return Value("False", types.BOOL)
    classes = {type(member) for member in items}
    if len(classes) > 1 or not classes <= {str, int, bool}:
        emitter.writer.add("raise LEAVE")
        return Value("False", types.BOOL)
    (class_,) = classes
    if item.kind is None or not item.is_constant(class_):
        emitter.writer.add(f"if type({item.text}) is not {class_.__name__}: raise LEAVE")
    return Value(f"({item.text} in {emitter.refer(frozenset(items), 'K')})", types.BOOL)


_ARITHMETIC = {"_+_": "+", "_-_": "-", "_*_": "*"}


def emit_arithmetic(emitter: Emitter, node: Call) -> Value:
    """Write ``+``, ``-`` or ``*`` of ints; everything else is a call."""
    left, right = (emitter.atom(emitter.value(argument)) for argument in node.arguments)
    writer, result = emitter.writer, emitter.writer.name("v")
    operator = emitter.checker.functions[node.function].operator
    formula = emitter.prices.formula(node)
    known = {left.kind, right.kind} - {None}
    if known <= {types.INT} and formula in (None, ADDITION):
        if formula is not None:
            emitter.due += 1
        checks = " and ".join(f"type({item.text}) is int" for item in (left, right) if item.kind is None)
        slow = runtime.plus if node.function == "_+_" else operator
        with writer.block(f"if {checks or 'True'}:"):
            writer.add(f"{result} = {left.text} {_ARITHMETIC[node.function]} {right.text}")
            writer.add(f"if not -0x8000000000000000 <= {result} <= 0x7fffffffffffffff: raise LEAVE")
        with writer.block("else:"):
            writer.add(f"{result} = {emitter.refer(slow, 'SLOW')}({left.text}, {right.text})")
        return Value(result, types.INT if left.kind == right.kind == types.INT else None)
    if formula is not None:
        emitter.pay(price_text(emitter, formula, [left, right], certain=False))
        emitter.look()
    return Value(f"{emitter.refer(operator, 'SLOW')}({left.text}, {right.text})", _joined(left.kind, right.kind))


def _joined(left: Type | None, right: Type | None) -> Type | None:
    return types.STRING if types.STRING in (left, right) else None


def price_text(emitter: Emitter, formula: Formula, arguments: list[Value], *, certain: bool) -> str:
    """Return the price of a call as an expression; ``certain``: the arguments are of the classes that are wanted."""
    known = [item.constant for item in arguments]
    if all(known):
        return str(formula.run(*(item[0] for item in known)))
    texts = [item.text for item in arguments]
    if formula.source and certain:
        source = _with_lengths(formula.source.format(*texts), arguments)
        return source if "len(" in source else str(formula.run(*(item[0] if item else "" for item in known)))
    return f"{emitter.refer(formula.run, 'PRICE')}({', '.join(texts)})"


def _with_lengths(source: str, arguments: list[Value]) -> str:
    """Put lengths of constant text in their place."""
    for item in arguments:
        if item.is_constant(str):
            source = source.replace(f"len({item.text})", str(len(item.constant[0])))
    return source
