"""Calls of functions: the one overload that can answer is called in place, with its arguments looked at first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import webhook.cel.calls as closures
from webhook.cel import types
from webhook.cel.declare import CLASSES, Overload, guard_of
from webhook.cel.generate import operators, runtime
from webhook.cel.generate.emitter import Emitter, Value
from webhook.cel.generate.logic import emit_not
from webhook.cel.generate.ways import is_optional_node, walk_optional
from webhook.cel.generate.writer import NotGenerated
from webhook.cel.library import regex
from webhook.cel.library.regex import compile_pattern
from webhook.cel.library.regex_plain import compile_plain
from webhook.cel.syntax import Call, Constant, Node
from webhook.cel.types import Kind, Type

_NEVER_TWICE = frozenset({"check"})
"""Functions that ask someone: what they do must not be done again, so their expressions have no generated code."""

_IN_PLACE = {
    ("startsWith", types.STRING): "{0}.removeprefix({1}) is not {0}",
    ("endsWith", types.STRING): "{0}.removesuffix({1}) is not {0}",
    ("contains", types.STRING): "{1} in {0}",
    ("isGreaterThan", types.QUANTITY): "{0}.nano > {1}.nano",
    ("isLessThan", types.QUANTITY): "{0}.nano < {1}.nano",
}
"""What takes less than a call. Python calls ``startswith`` in a way that takes three times as long as ``removeprefix``, which
returns the very same text where there is nothing to remove."""
_REMOVING = frozenset({"startsWith", "endsWith"})
_KEPT_LENGTH = 32
"""Longest text whose meaning is kept (``Overload.kept``)."""
_OPERATORS: dict[str, Callable[[Emitter, Call], Value]] = {
    "_==_": operators.emit_equals,
    "_!=_": operators.emit_equals,
    "@in": operators.emit_membership,
    "!_": emit_not,
    **dict.fromkeys(operators.COMPARISONS, operators.emit_comparison),
    **dict.fromkeys(("_+_", "_-_", "_*_"), operators.emit_arithmetic),
}


def emit_call(emitter: Emitter, node: Call) -> Value:
    """Write a call of an operator, a function, a method, or a host's method."""
    name = emitter.checker.names.get(node, node.function)
    if node in emitter.checker.host_calls:
        return _emit_host_call(emitter, node)
    if name in _OPERATORS:
        return _OPERATORS[name](emitter, node)
    function, fitting = emitter.checker.functions[name], emitter.checker.overloads[node]
    parts = node.arguments if node.target is None or node in emitter.checker.names else [node.target, *node.arguments]
    if not function.takes(len(parts)):
        return emitter.leave(node)
    if name in ("orValue", "hasValue") and node.target is not None and is_optional_node(emitter, node.target):
        return (_emit_or_value if name == "orValue" else _emit_has_value)(emitter, node, node.target)
    if name in ("or", "orValue"):
        return emitter.leave(node)
    if name in ("matches", "find") and isinstance(parts[-1], Constant) and type(parts[-1].value) is str:
        return _emit_search(emitter, name, emitter.value(parts[0]), parts[-1].value)
    if name in _NEVER_TWICE:
        raise NotGenerated
    if any(item.metered for item in fitting) or function.metered:
        return emitter.leave(node)
    if len(fitting) == 1 and function.operator is None:
        return _emit_one(emitter, node, fitting[0], parts)
    arguments = [emitter.atom(emitter.value(part)) for part in parts]
    if name == "size":
        return Value(f"len({arguments[0].text})", types.INT)  # nothing else than what has a size in CEL has one in Python
    if function.operator is not None:
        return _emit_operator(emitter, node, function.operator, arguments)
    return _emit_any(emitter, node, arguments)


def require(emitter: Emitter, value: Value, wanted: Type) -> None:
    """Write a look at an argument's type, unless that is certain."""
    if value.kind == wanted or wanted.is_dyn or wanted.kind is Kind.PARAMETER:
        return
    class_ = CLASSES.get(wanted)
    if value.constant and guard_of(wanted)(value.constant[0]):
        return
    if class_ is None:
        emitter.guard(value, f"not {emitter.refer(guard_of(wanted), 'GUARD')}({value.text})")
    elif class_ is not type(None):
        name = class_.__name__ if class_ in (str, int, bool, float, bytes) else emitter.refer(class_, "CLASS")
        emitter.guard(value, f"type({value.text}) is not {name}")
        emitter.writer.know(value.text, value._replace(kind=wanted))


def _emit_one(emitter: Emitter, node: Call, chosen: Overload, parts: list[Node]) -> Value:
    arguments = []
    unguarded = _unguarded(chosen, parts)
    for part, guard, wanted in zip(parts, chosen.guards, chosen.parameters, strict=True):
        value = emitter.atom(emitter.value(part))
        if part in unguarded:
            pass
        elif wanted.parameters:
            emitter.guard(value, f"not {emitter.refer(guard, 'GUARD')}({value.text})")
        else:
            require(emitter, value, wanted)
        arguments.append(value)
    _pay(emitter, node, arguments)
    texts = [item.text for item in arguments]
    certain = (
        chosen.result
        if chosen.result in CLASSES or (chosen.result.kind is Kind.OPAQUE and not chosen.result.parameters)
        else None
    )
    if (chosen.function, chosen.parameters[0]) in _IN_PLACE and chosen.parameters[1:] == chosen.parameters[:1]:
        return _emit_in_place(emitter, chosen, arguments)
    if chosen.kept is not None:
        kept = f"{emitter.refer(chosen.kept, 'KEPT')}({texts[0]}) if len({texts[0]}) <= {_KEPT_LENGTH}"
        return emitter.atom(Value(f"{kept} else {emitter.refer(chosen.run)}({texts[0]})", certain))
    return emitter.atom(Value(f"{emitter.refer(chosen.run)}({', '.join(texts)})", certain))


def _unguarded(chosen: Overload, parts: list[Node]) -> list[Node]:
    """Return the arguments whose type needs no look: what is written in place fails if they are no text beside text."""
    if (chosen.function, chosen.parameters[0]) not in _IN_PLACE or chosen.parameters[0] != types.STRING:
        return []
    text, other = parts
    if isinstance(other, Constant):
        return [text] if chosen.function in _REMOVING else []
    return [other]


def _emit_in_place(emitter: Emitter, chosen: Overload, arguments: list[Value]) -> Value:
    one, other = arguments
    name = emitter.refer(one.constant[0], "K") if one.constant else one.text  # Python warns of ``'a' is not``
    text = _IN_PLACE[chosen.function, chosen.parameters[0]].format(name, other.text)
    if chosen.function in _REMOVING and not (other.constant and other.constant[0]):
        text += f" or not {other.text}"
    return Value(f"({text})", chosen.result)


def _pay(emitter: Emitter, node: Call, arguments: list[Value]) -> None:
    formula = emitter.prices.formula(node)
    if formula is None:
        return
    if formula.charge is not None:
        with emitter.settled():
            emitter.writer.add(f"{emitter.refer(formula.charge, 'CHARGE')}(B, {', '.join(item.text for item in arguments)})")
        return
    price = operators.price_text(emitter, formula, arguments, certain=True)
    if price.isdecimal():
        emitter.due += int(price)
        return
    emitter.pay(price)
    emitter.look()


def _emit_any(emitter: Emitter, node: Call, arguments: list[Value]) -> Value:
    """Write a call that several overloads may answer: the class of the only argument decides, or their guards do."""
    function = emitter.checker.functions[emitter.checker.names.get(node, node.function)]
    if emitter.prices.formula(node) is not None:
        _pay(emitter, node, arguments)
    by_class = closures.by_class(function, len(arguments))
    result = {item.result for item in function.overloads if len(item.parameters) == len(arguments)}
    certain = next(iter(result)) if len(result) == 1 and next(iter(result)) in CLASSES else None
    if len(arguments) == 1:
        value = arguments[0].text
        text = f"{emitter.refer(by_class, 'BY_CLASS')}[type({value})]({value})"
        kept = next((item.kept for item in function.overloads if item.kept is not None), None)
        if kept is not None and arguments[0].kind is None:
            is_short = f"type({value}) is str and len({value}) <= {_KEPT_LENGTH}"
            text = f"{emitter.refer(kept, 'KEPT')}({value}) if {is_short} else {text}"
        return emitter.atom(Value(text, certain))
    pick = emitter.refer(closures.dispatch(function, len(arguments)), "DISPATCH")
    return emitter.atom(Value(f"{pick}({', '.join(item.text for item in arguments)})", certain))


def _emit_operator(emitter: Emitter, node: Call, answer: Callable[..., Any], arguments: list[Value]) -> Value:
    formula = emitter.prices.formula(node)
    texts = [item.text for item in arguments]
    if formula is not None:
        emitter.pay(f"{emitter.refer(formula.run, 'PRICE')}({', '.join(texts)})")
        emitter.look()
    return emitter.atom(Value(f"{emitter.refer(answer)}({', '.join(texts)})"))


def _emit_search(emitter: Emitter, name: str, text: Value, pattern: str) -> Value:
    text = emitter.atom(text)
    require(emitter, text, types.STRING)
    emitter.pay(f"(len({text.text}) + 10) // 10 * {(len(pattern) + 3) // 4}")
    emitter.look()
    plain = compile_plain(pattern) if name == "matches" else None
    if plain is not None:
        return Value(f"({emitter.refer(plain.match, 'MATCHES')}({text.text}) is not None)", types.BOOL)
    compiled = emitter.refer(compile_pattern(pattern), "PATTERN")
    search = emitter.refer(regex.matches if name == "matches" else regex.find, "SEARCH")
    return emitter.atom(Value(f"{search}({compiled}, {text.text})", types.BOOL if name == "matches" else types.STRING))


def _emit_or_value(emitter: Emitter, node: Call, target: Node) -> Value:
    """Write ``target.orValue(other)`` without making the optional."""
    writer, nothing = emitter.writer, emitter.refer(runtime.ABSENT, "ABSENT")
    result = writer.name("v")
    writer.add(f"{result} = {nothing}")
    with writer.block("while True:"):
        held = walk_optional(emitter, target, lambda: writer.add("break"))
        writer.add(f"{result} = {held.text}")
        writer.add("break")
    with writer.block(f"if {result} is {nothing}:"), emitter.apart():
        writer.add(f"{result} = {emitter.value(node.arguments[0]).text}")
    return Value(result)


def _emit_has_value(emitter: Emitter, _: Call, target: Node) -> Value:
    writer = emitter.writer
    result = writer.name("v")
    writer.add(f"{result} = False")
    with writer.block("while True:"):
        walk_optional(emitter, target, lambda: writer.add("break"))
        writer.add(f"{result} = True")
        writer.add("break")
    return Value(result, types.BOOL)


def _emit_host_call(emitter: Emitter, node: Call) -> Value:
    arguments = "".join(f"{emitter.value(argument).text}, " for argument in node.arguments)
    host = emitter.atom(Value(emitter.root(emitter.checker.host_calls[node])))
    emitter.writer.add(f"if not isinstance({host.text}, HOST): raise LEAVE")
    return emitter.atom(Value(f"{host.text}.call({node.function!r}, ({arguments}))"))
