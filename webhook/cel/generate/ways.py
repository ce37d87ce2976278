"""Names, fields, indexes and ``has()``: plain subscripts, which fail where a closure would have an error or another answer.

An optional that is taken apart at once (``object.?a.b.orValue(1)``, ``hasValue()``, ``optMap``) is never made.
"""

from __future__ import annotations

from collections.abc import Callable

from webhook.cel import access, structs, types
from webhook.cel.generate import runtime
from webhook.cel.generate.emitter import Emitter, Value
from webhook.cel.syntax import Constant, Index, Macro, Name, Node, Select
from webhook.cel.types import is_optional
from webhook.cel.values import NONE, Optional, TypeValue

Step = Select | Index


def emit_constant(emitter: Emitter, node: Constant) -> Value:
    """Write a literal."""
    return emitter.constant(node.value)


def emit_name(emitter: Emitter, node: Name | Select) -> Value:
    """Write a variable, a loop variable or a type."""
    name = emitter.checker.names.get(node)
    if name is None:
        assert isinstance(node, Name)  # noqa: S101 - the checker resolves every other name
        return Value(emitter.local(node.name))
    if emitter.checker.declarations.type_of(name) is None:
        return emitter.constant(TypeValue(types.TYPE_NAMES[name].name))
    return Value(emitter.root(name), is_way=True)


def emit_step(emitter: Emitter, node: Step) -> Value:
    """Write ``a.b``, ``a[b]``, ``a.?b`` or ``has(a.b)``."""
    if node in emitter.checker.names:
        assert isinstance(node, Select)  # noqa: S101 - an index is no name
        return emit_name(emitter, node)
    if isinstance(node, Select) and node.test:
        return _emit_test(emitter, node)
    if _is_left(emitter, node):
        return emitter.leave(node)
    if _is_optional_way(emitter, node):
        return emit_optional(emitter, node)
    operand = _operand(emitter, node.operand)
    if isinstance(node, Select):
        return emitter.step(operand, repr(node.field))
    return _emit_index(emitter, operand, node)


def _operand(emitter: Emitter, node: Node) -> Value:
    """Write what a step is taken from; a constant has a name, as Python would warn of ``None['x']``."""
    operand = emitter.value(node)
    return Value(emitter.refer(operand.constant[0], "OPERAND")) if operand.constant else operand


def _emit_index(emitter: Emitter, operand: Value, node: Index) -> Value:
    key = emitter.value(node.key)
    if key.is_constant(str):
        return emitter.step(operand, key.text)
    operand, key = emitter.atom(operand), emitter.atom(key)
    index = f"{emitter.refer(access.index, 'INDEX')}({operand.text}, {key.text})"
    if key.is_constant(int) and key.constant[0] >= 0:
        return Value(f"({operand.text}[{key.text}] if type({operand.text}) is list else {index})")
    return Value(f"({operand.text}[{key.text}] if type({key.text}) is str else {index})")


def _emit_test(emitter: Emitter, node: Select) -> Value:
    if _is_optional_way(emitter, node.operand) or _is_typed(emitter, node.operand):
        return emitter.leave(node)
    operand = emitter.atom(emitter.value(node.operand))
    emitter.guard(operand, f"type({operand.text}) is not dict")
    return Value(f"({node.field!r} in {operand.text})", types.BOOL)


def is_open_test(emitter: Emitter, node: Node) -> bool:
    """Tell whether a node is ``has()`` of an optional: as a branch of ``? :`` and as a key that is no bool."""
    return isinstance(node, Select) and node.test and is_optional_node(emitter, node.operand)


def _is_typed(emitter: Emitter, node: Node) -> bool:
    return emitter.checker.declarations.patch_types and structs.is_typed(emitter.checker.type_of(node))


def _is_left(emitter: Emitter, node: Step) -> bool:
    """Tell whether a node is a field of a typed object, of what an optional of unknown making holds, or has an odd key."""
    if isinstance(node, Select) and not node.optional and _is_typed(emitter, node.operand):
        return True
    if isinstance(node, Index) and is_open_test(emitter, node.key):
        return True
    start = _start_of(emitter, node)[0]
    return is_optional(emitter.checker.type_of(start))


def _start_of(emitter: Emitter, node: Node) -> tuple[Node, list[Step]]:
    """Split a way into where it starts and its steps."""
    steps: list[Step] = []
    while isinstance(node, Select | Index) and node not in emitter.checker.names:
        if isinstance(node, Select) and (node.test or (not node.optional and _is_typed(emitter, node.operand))):
            break
        steps.insert(0, node)
        node = node.operand
    return node, steps


def _is_optional_way(emitter: Emitter, node: Node) -> bool:
    return any(step.optional for step in _start_of(emitter, node)[1])


def emit_optional(emitter: Emitter, node: Step | Macro) -> Value:
    """Write a way, or ``optMap``, whose optional is wanted."""
    writer = emitter.writer
    result = writer.name("v")
    writer.add(f"{result} = {emitter.refer(NONE, 'NONE')}")
    emitter.due -= emitter.prices.of(node)  # walk_optional counts it too
    with writer.block("while True:"):
        held = walk_optional(emitter, node, lambda: writer.add("break"))
        writer.add(f"{result} = {emitter.refer(Optional, 'OPTIONAL')}({held.text})")
        writer.add("break")
    return Value(result)


def walk_optional(emitter: Emitter, node: Node, absent: Callable[[], None]) -> Value:
    """Write a node that is an optional, and return what it holds; ``absent`` writes how to leave where it holds nothing."""
    if isinstance(node, Macro) and can_walk(emitter, node):
        return _walk_map(emitter, node, absent)
    start, steps = _start_of(emitter, node)
    if not any(step.optional for step in steps) or is_optional(emitter.checker.type_of(start)):
        held = emitter.atom(Value(f"{emitter.refer(runtime.open_optional, 'OPEN')}({emitter.value(node).text})"))
        _leave_if_absent(emitter, held, absent, 0)
        return held
    for step in steps:
        emitter.due += emitter.prices.of(step)
    value = _operand(emitter, start)
    reached = False
    for taken, step in enumerate(steps):
        reached = reached or step.optional
        if not reached:
            value = _emit_index(emitter, value, step) if isinstance(step, Index) else emitter.step(value, repr(step.field))
            continue
        key = emitter.constant(step.field) if isinstance(step, Select) else emitter.atom(emitter.value(step.key))
        value = _take(emitter, emitter.atom(value), key)
        _leave_if_absent(emitter, value, absent, len(steps) - taken)
    return value


def _take(emitter: Emitter, value: Value, key: Value) -> Value:
    nothing, find = emitter.refer(runtime.ABSENT, "ABSENT"), emitter.refer(runtime.find, "FIND")
    found = f"{find}({value.text}, {key.text})"
    if key.is_constant(str):
        found = f"{value.text}.get({key.text}, {nothing}) if type({value.text}) is dict else {found}"
    return emitter.atom(Value(f"({found})"))


def _leave_if_absent(emitter: Emitter, value: Value, absent: Callable[[], None], refund: int) -> None:
    with emitter.writer.block(f"if {value.text} is {emitter.refer(runtime.ABSENT, 'ABSENT')}:"):
        emitter.refund(emitter.writer.reserve(), refund, last=False)
        absent()


def can_walk(emitter: Emitter, node: Macro) -> bool:
    """Tell whether a macro is ``optMap`` over a way of names alone, whose second evaluation costs what the first one did."""
    start, steps = _start_of(emitter, node.range)
    plain = all(isinstance(step, Select) or isinstance(step.key, Constant) for step in steps)
    return node.name == "optMap" and plain and isinstance(start, Name) and any(step.optional for step in steps)


def _walk_map(emitter: Emitter, node: Macro, absent: Callable[[], None]) -> Value:
    emitter.due += emitter.prices.of(node)
    before = emitter.due
    held = emitter.atom(walk_optional(emitter, node.range, absent))
    second = emitter.due - before + 1 if emitter.prices.reads_twice(node) else 0
    with emitter.apart(), emitter.scope(node.variables, [held.text]):
        emitter.due += second
        return emitter.atom(emitter.value(node.body))


def is_optional_node(emitter: Emitter, node: Node) -> bool:
    """Tell whether a node is certainly an optional."""
    return _is_optional_way(emitter, node) or is_optional(emitter.checker.type_of(node))
