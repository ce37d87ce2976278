"""Loops. Where a turn has a price that is known, the loop pays once; where not, it looks at what is left at every turn."""

from __future__ import annotations

from webhook.cel import types
from webhook.cel.generate import runtime
from webhook.cel.generate.emitter import LOOK, Emitter, Value
from webhook.cel.generate.logic import jump
from webhook.cel.generate.ways import can_walk, emit_optional
from webhook.cel.generate.writer import Line
from webhook.cel.syntax import Macro, Node


def emit_macro(emitter: Emitter, node: Macro) -> Value:
    """Write a loop, or ``optMap``."""
    match node.name:
        case "all" | "exists":
            return _emit_quantifier(emitter, node, stop=node.name == "exists")
        case "map" | "transformList" | "filter" | "exists_one":
            return _emit_collection(emitter, node)
        case "optMap" if can_walk(emitter, node):
            return emit_optional(emitter, node)
        case _:
            return emitter.leave(node)


def _emit_items(emitter: Emitter, node: Macro) -> tuple[str, list[str], Line]:
    """Write what the loop runs over, a list; returns its name, those of the loop variables, and a line for what follows from it.

    With two variables it is a list of pairs only for a map; ``_head`` counts the elements of a list as it goes.
    """
    value, items = emitter.value(node.range), emitter.writer.name("l")
    make = emitter.refer(runtime.pairs, "PAIRS") if len(node.variables) == 2 else emitter.refer(runtime.keys, "KEYS")
    with emitter.once(items, value):
        emitter.writer.add(f"{items} = {value.text}")  # a name of its own: it may be made of a map
        if len(node.variables) == 2:
            emitter.writer.add(f"{items}_counted = type({items}) is list")
        emitter.writer.add(f"if type({items}) is not list: {items} = {make}({items})")
        before = emitter.writer.reserve()
    return items, [emitter.writer.name("x") for _ in node.variables], before


def _head(items: str, run: str, local: list[str]) -> str:
    """Return the head of the loop over ``run``, which is the list ``items`` or an iterator of it."""
    if len(local) == 2:
        run = f"(enumerate({run}) if {items}_counted else {run})"
    return f"for {', '.join(local)} in {run}:"


def _emit_quantifier(emitter: Emitter, node: Macro, *, stop: bool) -> Value:
    writer, rates = emitter.writer, emitter.prices.rates(node)
    items, local, before = _emit_items(emitter, node)
    result, run, full = writer.name("v"), writer.name("t"), writer.name("m")
    writer.add(f"{run} = {items}")
    room = writer.reserve()
    writer.add(f"{result} = {stop}")
    turns = _Turns(emitter, items, local, counted=stop or len(local) == 2)
    with emitter.turn(local) as loop:
        with writer.block(_head(items, run, local)):
            turn, count, look = writer.reserve(), writer.reserve(), writer.reserve()
            with emitter.scope(node.variables, local):
                jump(emitter, node.body, lambda: writer.add("break"), when=stop, last=True)
            writer.add("pass")
        with writer.block("else:"):
            writer.add(f"{result} = {not stop}")
            end = writer.reserve()
        price, by_turn = rates.each + emitter.due, not emitter.is_fixed()
    with writer.block(f"if {result}:" if stop else f"if not {result}:"):
        if by_turn:
            writer.add(f"if {turns.are_left()}: c += {rates.check}")
        else:
            turns.pay(full, price, rates.check)
    count.text = turns.count(1 if by_turn else price)
    if by_turn:
        turn.text, look.text = f"c += {price}", "" if loop.looks else LOOK
        emitter.looks = True
    else:
        before.text = f"{full} = len({items}) * {price}"
        enter = emitter.refer(runtime.room, "ROOM")
        room.text = f"if c + {full} > T: {run}, T = {enter}(B, {items}, c, {price}, MARGIN)"
        end.text = f"c += {full}"
        emitter.looked()
    return Value(result, types.BOOL)


class _Turns:
    """How many turns a loop took that did not run to its end.

    ``exists`` finds what it looks for more often than not, so its turns are counted. ``all`` looks for the item that it ended
    with: the first that is that very object, for it would have ended there.
    """

    def __init__(self, emitter: Emitter, items: str, local: list[str], *, counted: bool) -> None:
        self._writer, self._items, self._local = emitter.writer, items, local
        self._counter = self._writer.name("k") if counted else ""
        self._left = f"{emitter.refer(runtime.left_after, 'LEFT')}({items}, {local[0]})"
        if counted:
            self._writer.add(f"{self._counter} = 0")

    def count(self, units: int) -> str:
        """Return what each turn does for it."""
        return f"{self._counter} += {units}" if self._counter else ""

    def are_left(self) -> str:
        """Return whether there would have been more."""
        return f"{self._counter} < len({self._items})" if self._counter else self._left

    def pay(self, full: str, price: int, check: int) -> None:
        """Write that the turns are paid; ``full`` is the price of all."""
        counter = self._counter
        if counter:
            self._writer.add(f"c += {counter} if {counter} == {full} else {counter} + {check}")
            return
        left = self._writer.name("n")
        self._writer.add(f"{left} = {self._left}")
        self._writer.add(f"c += {full} - {left} * {price} + ({check} if {left} else 0)")


def _emit_collection(emitter: Emitter, node: Macro) -> Value:
    """Write a loop that runs to its end: what a filter keeps is put in a list, or counted."""
    writer, rates = emitter.writer, emitter.prices.rates(node)
    items, local, _ = _emit_items(emitter, node)
    result = writer.name("v")
    before, look_before = writer.reserve(), writer.reserve()
    counted = node.name == "exists_one"
    writer.add(f"{result} = 0" if counted else f"{result} = []")
    if not counted:
        writer.add(f"{result}_add = {result}.append")
    test = node.body if node.name in ("filter", "exists_one") else node.filter
    refunds = emitter.refunds
    with emitter.turn(local):
        with writer.block(_head(items, items, local)), emitter.scope(node.variables, local):
            turn, look = writer.reserve(), writer.reserve()
            _emit_turn(emitter, node, test, f"{result} += 1" if counted else f"{result}_add({{}})")
        each = rates.each + emitter.due
        if not emitter.is_fixed():
            look.text = LOOK
    if refunds < emitter.refunds:  # in advance it would be too much
        turn.text, look.text = f"c += {each}", LOOK
    elif each:
        before.text, look_before.text = f"c += len({items}) * {each}", LOOK
    if node.name in ("filter", "exists_one"):
        writer.add(f"c += {result if counted else f'len({result})'} * {rates.kept}")
    emitter.look()
    return Value(f"({result} == 1)", types.BOOL) if counted else Value(result)


def _emit_turn(emitter: Emitter, node: Macro, test: Node | None, take: str) -> None:
    """Write a turn; what is kept is paid afterwards, if nothing is done with it."""
    if test is not None:
        jump(emitter, test, lambda: emitter.writer.add("continue"), when=False)
    if test is node.body:
        emitter.writer.add(take.format(_first_variable(emitter, node)))
    elif test is None:
        emitter.writer.add(take.format(emitter.value(node.body).text))
    else:
        with emitter.apart():
            emitter.due += emitter.prices.rates(node).kept
            emitter.writer.add(take.format(emitter.value(node.body).text))


def _first_variable(emitter: Emitter, node: Macro) -> str:
    return emitter.local(node.variables[0])
