"""The state of generating one expression: what is written, what is due, and which names stand for what.

``due`` adds up the prices of a straight run of nodes, as in the planner, and is written where the run begins. Besides, generated
code must know whether a turn of a loop has a fixed price: ``extra`` is the sum of what may be paid later within the turn, and
``open_ended`` says that there are loops within it, prices that depend on values, or what may be paid back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from webhook.cel import types
from webhook.cel.check import Checker
from webhook.cel.declare import CLASSES
from webhook.cel.generate.writer import Line, Writer
from webhook.cel.plan import Planner
from webhook.cel.pricing import Prices
from webhook.cel.syntax import Call, ListLiteral, Macro, MapLiteral, Name, Node, Select, children

LOOK = "if c > T: T = RENEW(B, c, MARGIN)"
WRITTEN = (str, int, bool, type(None))
"""Classes of constants that generated code has in its text."""


class Value(NamedTuple):
    """A Python expression that has a node's value; ``kind`` where its type is certain, ``constant`` where the value is known.

    ``is_way`` says that it reads names and nothing but fields of what they stand for: it comes to the same each time.
    """

    text: str
    kind: types.Type | None = None
    constant: tuple[Any, ...] = ()
    is_way: bool = False

    def is_constant(self, *classes: type) -> bool:
        """Tell whether the value is known, and of one of these classes."""
        return bool(self.constant) and type(self.constant[0]) in classes


Emit = Callable[["Emitter", Any], Value]


@dataclass(slots=True)
class _Loop:
    """A loop that is being written, and names that its first turn gives values to: those do not depend on the turn."""

    start: Line
    body: int
    """Depth of its statements."""
    names: list[str] = field(default_factory=list)
    looks: bool = False
    """Whether every turn that is not the last looks at what is left."""


class Emitter:
    """Writes one function; ``emitters`` has one function for each kind of node."""

    def __init__(self, writer: Writer, checker: Checker, prices: Prices, emitters: Mapping[type, Emit]) -> None:
        self.writer = writer
        self.checker = checker
        self.prices = prices
        self.due = 0
        self.extra = 0
        self.open_ended = False
        self.looks = False
        """Whether budget and clock are looked at before the end."""
        self.roots: dict[str, str] = {}
        """Variables that are read at the start, as they are needed whatever the values."""
        self.refunds = 0
        """Most that is charged at any time and may yet be paid back."""
        self._scopes: list[dict[str, str]] = []
        self._emitters = emitters
        self._uncertain = 0
        self._loops: list[_Loop] = []
        self._homes = {"A": 0}
        """In how many loops a name gets its value."""
        self._slots: dict[str, Line] = {}
        """Names that have their values from a first turn, and a line there for what follows from the value."""

    def value(self, node: Node) -> Value:
        """Write what it takes to have a node's value, and return the expression that is it."""
        if self._is_closed(node):
            return self._fold(node)
        self.due += self.prices.of(node)
        return self._emitters[type(node)](self, node)

    def atom(self, value: Value) -> Value:
        """Return a value that may be written more than once."""
        if value.is_constant(*WRITTEN):
            return value
        known: Value = self.writer.known(value.text) or value
        if known.text.isidentifier():
            return self.writer.known(known.text) or known
        name = self.writer.name("v")
        self._homes[name] = len(self._loops)
        with self.once(name, value) as is_once:
            self.writer.add(f"{name} = {value.text}")
            if is_once:
                self._slots[name] = self.writer.reserve()
        made = value._replace(text=name)
        if value.is_way:
            self.writer.know(value.text, made)
        return made

    def step(self, operand: Value, key: str) -> Value:
        """Return a field, with the name that it has got if it was read before."""
        text = f"{operand.text}[{key}]"
        known: Value | None = self.writer.known(text)
        return known or Value(text, is_way=operand.is_way or operand.text.isidentifier())

    @contextmanager
    def once(self, name: str, value: Value) -> Iterator[bool]:
        """Write what gives a name its value: in the first turn of loops on which that does not depend. Says whether there are."""
        start = re.match(r"\w+", value.text)
        home = self._homes.get(start[0], len(self._loops)) if start and value.is_way else len(self._loops)
        if home == len(self._loops):
            yield False
            return
        self._loops[home].names.append(name)
        with self.writer.block(f"if {name} is None:"):
            yield True

    def guard(self, value: Value, condition: str) -> None:
        """Write that what fits a condition, such as ``type(v1) is not str``, is left; not again where that is known already.

        It goes where the value came from, if that was just now: elsewhere, it might be asked without need.
        """
        if self.writer.known(condition):
            return
        line = self._slots.get(value.text)
        if line is not None and self.writer.is_last(line):
            del self._slots[value.text]
        else:
            line = self.writer.reserve()
        line.text = f"if {condition}: raise LEAVE"
        self.writer.know(condition)

    def fact(self, value: Value, condition: str) -> str | None:
        """Return a name for whether a condition holds that cannot fail, if it need not be asked in every turn."""
        line = self._slots.pop(value.text, None)
        if line is None:
            return None
        name = self.writer.name("f")
        line.text = f"{name} = {condition}"
        return name

    def constant(self, value: Any) -> Value:
        """Return a constant."""
        known = next((type_ for type_, class_ in CLASSES.items() if class_ is type(value)), None)
        text = repr(value) if type(value) in WRITTEN else self.writer.refer(value, "K")
        return Value(text, known, (value,))

    def refer(self, value: Any, prefix: str = "F") -> str:
        """Return the name of an object that is made now."""
        return self.writer.refer(value, prefix)

    # What is paid

    @contextmanager
    def uncertain(self) -> Iterator[None]:
        """Write what does not run whenever what surrounds it does."""
        self._uncertain += 1
        yield
        self._uncertain -= 1

    @contextmanager
    def apart(self) -> Iterator[Line]:
        """Write what pays for itself, where it begins."""
        due, self.due = self.due, 0
        line = self.writer.reserve()
        with self.uncertain():
            yield line
        if self.due:
            line.text = f"c += {self.due}"
            self.extra += self.due
        self.due = due

    @contextmanager
    def turn(self, local: Sequence[str]) -> Iterator[_Loop]:
        """Write a loop, which pays for its turns: their price is ``due``, ``extra`` and ``open_ended`` inside."""
        outer = self.due, self.extra, self.open_ended
        self.due, self.extra, self.open_ended = 0, 0, False
        loop = _Loop(self.writer.reserve(), self.writer.depth + 1)
        self._loops.append(loop)
        self._homes.update(dict.fromkeys(local, len(self._loops)))
        with self.uncertain():
            yield loop
        self._loops.pop()
        if loop.names:
            loop.start.text = f"{' = '.join(loop.names)} = None"
        self.due, self.extra, self.open_ended = outer
        self.open_ended = True

    def is_fixed(self) -> bool:
        """Tell whether a turn costs what is ``due``, no more and no less."""
        return not self.extra and not self.open_ended

    def refund(self, line: Line, units: int, *, last: bool) -> None:
        """Write into a line that something is paid back which was not evaluated; ``last``: a loop ends with that."""
        if units:
            line.text = f"c -= {units}"
            self.refunds += units
            self.open_ended = self.open_ended or not last

    def pay(self, price: str) -> None:
        """Write that something is paid whose price depends on values."""
        self.writer.add(f"c += {price}")
        self.open_ended = True

    def look(self) -> None:
        """Write a look at what is left, after a price that may be high."""
        self.writer.add(LOOK)
        self.looked()

    def looked(self) -> None:
        """Note that a look was written."""
        self.looks = True
        if self._loops and self._loops[-1].body == self.writer.depth:
            self._loops[-1].looks = True

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Write that the budget is told all costs so far, but for what may be paid back: what is written within takes from it."""
        self.writer.add("B.left += MARGIN - c; c = 0; T = -1")
        yield
        self.writer.add("B.left -= MARGIN")
        self.looks = True

    # Names

    @contextmanager
    def scope(self, names: Sequence[str], local: Sequence[str]) -> Iterator[None]:
        """Write where loop variables are known."""
        self._scopes.append(dict(zip(names, local, strict=True)))
        yield
        self._scopes.pop()

    def root(self, name: str) -> str:
        """Return the expression of a root variable."""
        if name in self.roots:
            return self.roots[name]
        if self._uncertain:
            return f"A[{name!r}]"
        local = self.roots[name] = self.writer.name("r")
        self._homes[local] = 0
        return local

    def local(self, name: str) -> str:
        """Return the name of a loop variable."""
        return next(scope[name] for scope in reversed(self._scopes) if name in scope)

    # What is left to closures

    def leave(self, node: Node) -> Value:
        """Write a call of a node's closure: for what is too rare, or too intricate, to have code of its own."""
        visible = {name: local for scope in self._scopes for name, local in scope.items()}
        planner = Planner(self.checker, self.prices, tuple(visible))
        closure = planner.plan(node)
        self.due += planner.due - self.prices.of(node)
        self.open_ended = True
        frame = ", ".join(["A", "B", *visible.values(), *["None"] * (planner.slots - len(visible))])
        with self.settled():
            return self.atom(Value(f"{self.refer(closure)}([{frame}])"))

    def _is_closed(self, node: Node) -> bool:
        """Tell whether a call or literal reads no variable at all."""
        if not isinstance(node, Call | ListLiteral | MapLiteral) or node in self.checker.host_calls:
            return False
        return all(self._is_closed_part(part) for part in children(node)) or self._is_qualified_call(node)

    def _is_qualified_call(self, node: Node) -> bool:
        return isinstance(node, Call) and node in self.checker.names and all(map(self._is_closed_part, node.arguments))

    def _is_closed_part(self, node: Node) -> bool:
        if isinstance(node, Name | Select) and node in self.checker.names:
            return self.checker.declarations.type_of(self.checker.names[node]) is None
        if isinstance(node, Call | ListLiteral | MapLiteral):
            return self._is_closed(node)
        return not isinstance(node, Name | Macro) and all(map(self._is_closed_part, children(node)))

    def _fold(self, node: Node) -> Value:
        planner = Planner(self.checker, self.prices)
        closure = planner.plan(node)
        known, value = planner.constant_of(closure)
        if known:
            self.due += planner.due
            return self.constant(value)
        self.due += self.prices.of(node)
        return self.leave(node)


def is_bool(value: Value) -> bool:
    """Tell whether a value is certainly true or false."""
    return value.kind == types.BOOL
