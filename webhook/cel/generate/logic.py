"""``&&``, ``||``, ``?:`` and ``!``, and leaving a loop by what they come to.

Code expects the terms of ``&&`` to hold: they are all paid in advance, and what is not evaluated is paid back. Of ``||`` it
expects the first term to hold: every other one pays for itself.
"""

from __future__ import annotations

from collections.abc import Callable

from webhook.cel import types
from webhook.cel.generate.emitter import Emitter, Value, is_bool
from webhook.cel.generate.runtime import is_true
from webhook.cel.generate.ways import is_open_test
from webhook.cel.generate.writer import Line
from webhook.cel.syntax import Call, Conditional, Logical, Node


def jump(emitter: Emitter, node: Node, leave: Callable[[], None], *, when: bool, last: bool = False) -> None:
    """Write a test: where the node is ``when``, what ``leave`` writes, such as ``break``; otherwise go on below.

    ``last`` says that the loop around it ends there.
    """
    match node:
        case Logical() if (node.operator == "_||_") is when:
            (_jump_or if when else _jump_and)(emitter, node.terms, leave, last=last)
        case Call(function="!_", target=None):
            emitter.due += emitter.prices.of(node)
            jump(emitter, node.arguments[0], leave, when=not when, last=last)
        case _:
            _branch(emitter, emitter.value(node), leave, when=when)


def _branch(emitter: Emitter, value: Value, leave: Callable[[], None], *, when: bool) -> None:
    writer = emitter.writer
    if is_bool(value):
        with writer.block(f"if {value.text}:" if when else f"if not {value.text}:"):
            leave()
        return
    if value.constant:
        writer.add("raise LEAVE")
        return
    name = emitter.atom(value).text
    with writer.block(f"if {name} is not {not when}:"):
        writer.add(f"if {name} is not {when}: raise LEAVE")
        leave()


def _jump_or(emitter: Emitter, terms: list[Node], leave: Callable[[], None], *, last: bool) -> None:
    jump(emitter, terms[0], leave, when=True, last=last)
    for term in terms[1:]:
        with emitter.apart():
            jump(emitter, term, leave, when=True, last=last)


def _jump_and(emitter: Emitter, terms: list[Node], leave: Callable[[], None], *, last: bool) -> None:
    refunds: list[tuple[Line, int]] = []

    def refund_and_leave() -> None:
        refunds.append((emitter.writer.reserve(), len(dues)))
        leave()

    dues: list[int] = []
    before = emitter.due
    for position, term in enumerate(terms):
        if position:
            with emitter.uncertain():
                jump(emitter, term, refund_and_leave, when=False, last=last)
        else:
            jump(emitter, term, refund_and_leave, when=False, last=last)
        dues.append(emitter.due - before)
        before = emitter.due
    for line, position in refunds:
        emitter.refund(line, sum(dues[position + 1 :]), last=last)


def emit_logical(emitter: Emitter, node: Logical) -> Value:
    """Write a chain whose value is wanted."""
    writer = emitter.writer
    stop = node.operator == "_||_"
    result = writer.name("v")
    writer.add(f"{result} = {stop}")
    with writer.block("while True:"):
        jump(emitter, node, lambda: writer.add("break"), when=stop)
        writer.add(f"{result} = {not stop}")
        writer.add("break")
    return Value(result, types.BOOL)


def emit_conditional(emitter: Emitter, node: Conditional) -> Value:
    """Write ``test ? then : otherwise``."""
    if any(is_open_test(emitter, branch) for branch in (node.then, node.otherwise)):
        return emitter.leave(node)
    writer = emitter.writer
    test = emitter.value(node.test)
    if not is_bool(test):
        test = Value(f"{emitter.refer(is_true, 'IS_TRUE')}({test.text})", types.BOOL)
    result = writer.name("v")
    found: list[Value] = []
    for head, branch in ((f"if {test.text}:", node.then), ("else:", node.otherwise)):
        with writer.block(head), emitter.apart():
            found.append(emitter.value(branch))
            writer.add(f"{result} = {found[-1].text}")
    then, otherwise = found
    return Value(result, then.kind if then.kind == otherwise.kind else None)


def emit_not(emitter: Emitter, node: Call) -> Value:
    """Write ``!operand``."""
    operand = emitter.value(node.arguments[0])
    if is_bool(operand):
        return Value(f"(not {operand.text})", types.BOOL)
    name = emitter.atom(operand).text
    if operand.constant:
        emitter.writer.add("raise LEAVE")
        return Value("False", types.BOOL)
    emitter.writer.add(f"if {name} is not True and {name} is not False: raise LEAVE")
    return Value(f"(not {name})", types.BOOL)
