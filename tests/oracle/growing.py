"""Random expressions that a policy author never writes: every library, wrong types, missing fields, loops within loops.

An expression grows from the type that it should have. Now and then a part of another type is taken, a name misspelt or a token
dropped, so that about a third is refused, a third fails and a third has a value. All literals are chosen so that neither engine
can be kept busy for long: no large ranges, no quantities with exponents of thousands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.oracle.idioms import HOLE_TYPES, IDIOMS, TEXTS
from tests.oracle.words import HINTS, LITERALS, Vocabulary
from webhook.cel import types
from webhook.cel.declare import Overload
from webhook.cel.library import MUTATION_FUNCTIONS
from webhook.cel.types import DYN, Kind, Type, list_of, map_of, optional_of

SCALARS = (types.INT, types.STRING, types.BOOL, types.DOUBLE, types.UINT, types.BYTES, types.TIMESTAMP, types.DURATION)
LIBRARY = (types.QUANTITY, types.URL, types.IP, types.CIDR, types.SEMVER, types.NAMED_FORMAT)
_INFIX = re.compile(r"_(\W+)_")
_HOLE = re.compile(r"<(#?)(\w+)((?: \w+:\w+)*)>")
_TOKEN = re.compile(r"'(?:\\.|[^'\\])*'|[A-Za-z_]\w*|\d[\w.]*|&&|\|\||[<>=!]=|\S")
_SKIPPED = frozenset({"cel.@mapInsert", "@sortByAssociatedKeys"})
OVERLOADS = tuple(o for f in MUTATION_FUNCTIONS.values() for o in f.overloads if o.function not in _SKIPPED)
_QUANTIFIERS = ("all", "exists", "exists_one", "existsOne")


@dataclass(frozen=True)
class Call:
    overload: Overload
    bound: dict[Type, Type]


INDEXES = ("0", "1", "-1", "0u", "1.0", "1.5", "true", "null", "'x'", "9223372036854775807")
"""Of lists and maps, right and wrong ones."""


class Grower:
    """Grows expressions over one vocabulary."""

    def __init__(self, random: Random, vocabulary: Vocabulary) -> None:
        self._random, self._vocabulary = random, vocabulary
        self._locals: list[tuple[str, Type]] = []

    def expression(self) -> str:
        """Return one expression."""
        random = self._random
        text = self.grow(self._any_type(), random.choice((1, 2, 2, 3, 3, 4)))
        if random.random() < 0.08:
            text = self._deepen(text)
        return self._break(text) if random.random() < 0.06 else text

    def grow(self, wanted: Type, depth: int) -> str:
        """Return an expression that has a type, mostly."""
        chance = self._random.random()
        if chance < 0.015:
            return self.grow(self._any_type(), depth)
        if chance < 0.04:
            return f"dyn({self.grow(wanted, depth - 1)})"
        if wanted == DYN:
            return self._random_dyn(depth)
        if depth <= 0 or chance < 0.15:
            return self._leaf(wanted, depth)
        if chance < 0.4:
            return self.idiom(wanted, depth)
        if chance < 0.45:
            parts = (self.grow(types.BOOL, depth - 1), self.grow(wanted, depth - 1), self.grow(wanted, depth - 1))
            return "({} ? {} : {})".format(*parts)
        if chance < 0.57:
            return self._loop(wanted, depth)
        return self._call(wanted, depth)

    def idiom(self, wanted: Type, depth: int) -> str:
        """Fill the holes of an idiom; what there is none for is called."""
        idioms = IDIOMS.get(wanted) or IDIOMS.get(_loosened(wanted))
        if not (known := self._vocabulary.known(idioms or ())):
            return self._call(wanted, depth)
        return _HOLE.sub(lambda hole: self._fill_hole(hole, depth - 1), self._random.choice(known))

    def _fill_hole(self, hole: re.Match[str], depth: int) -> str:
        is_text, name, variables = hole.groups()
        if is_text:
            return self._random.choice(TEXTS[name])
        before = len(self._locals)
        pairs = (variable.split(":") for variable in variables.split())
        self._locals += [(variable, HOLE_TYPES[type_]) for variable, type_ in pairs]
        try:
            return self.grow(HOLE_TYPES.get(name) or self._any_type(), depth)
        finally:
            del self._locals[before:]

    def _random_dyn(self, depth: int) -> str:
        chance = self._random.random()
        if chance < 0.4 or depth <= 0:
            return self._path()
        if chance < 0.6:
            return self.idiom(DYN, depth)
        return self.grow(self._random.choice((*SCALARS, types.NULL, list_of(types.INT), map_of(types.STRING, DYN))), depth)

    def _any_type(self) -> Type:
        random = self._random
        kind = random.random()
        if kind < 0.35:
            return types.BOOL
        if kind < 0.65:
            return random.choice(SCALARS)
        if kind < 0.75:
            return random.choice(LIBRARY)
        element = random.choice((*SCALARS, DYN))
        return random.choice((DYN, list_of(element), map_of(types.STRING, element), optional_of(element), types.type_of(element)))

    def _leaf(self, wanted: Type, depth: int) -> str:
        random = self._random
        near = [name for name, type_ in self._locals if type_ == wanted or random.random() < 0.1]
        if near and random.random() < 0.6:
            return random.choice(near)
        fitting = [path for path, type_ in self._vocabulary.typed if type_ == wanted]
        if fitting and random.random() < 0.4:
            return random.choice(fitting)
        if random.random() < 0.15:
            return self._path()
        return self.write(wanted, depth)

    def write(self, wanted: Type, depth: int) -> str:
        """Write a value out."""
        random = self._random
        if wanted in LITERALS:
            return random.choice(LITERALS[wanted])
        if wanted.kind is Kind.LIST:
            return self._items(wanted.parameters[0], depth)
        if wanted.kind is Kind.MAP:
            return self._entries(*wanted.parameters, depth)
        if types.is_optional(wanted):
            made = self.grow(wanted.parameters[0], depth - 1)
            return random.choice((f"optional.of({made})", f"optional.ofNonZeroValue({made})", "optional.none()"))
        if wanted.kind is Kind.TYPE:
            return random.choice(("int", "string", "null_type", "list", "map", f"type({self._path()})"))
        return self._path()

    def _items(self, element: Type, depth: int) -> str:
        items = [self.grow(element, depth - 1) for _ in range(self._random.choice((0, 1, 2, 2, 3, 4)))]
        if items and self._random.random() < 0.08:
            items[-1] = f"?{self.grow(optional_of(element), depth - 1)}"
        return f"[{', '.join(items)}{',' if items and self._random.random() < 0.1 else ''}]"

    def _entries(self, key: Type, value: Type, depth: int) -> str:
        size = self._random.choice((0, 1, 2, 3))
        entries = [f"{self.grow(key, 0)}: {self.grow(value, depth - 1)}" for _ in range(size)]
        if entries and self._random.random() < 0.08:
            entries[-1] = f"?{self.grow(key, 0)}: {self.grow(optional_of(value), depth - 1)}"
        return f"{{{', '.join(entries)}}}"

    def _path(self) -> str:
        """Walk into a variable, past where it ends now and then."""
        random = self._random
        roots = (*self._vocabulary.roots, *(name for name, _ in self._locals))
        text = random.choice(roots)
        for _ in range(random.choice((0, 1, 1, 2, 3))):
            text += self._step()
        if random.random() < 0.12:
            return f"has({text}.{random.choice(self._vocabulary.fields)})"
        return text

    def _step(self) -> str:
        random, field = self._random, self._random.choice(self._vocabulary.fields)
        chance = random.random()
        if chance < 0.6:
            return f".{field}"
        if chance < 0.7:
            return f".?{field}"
        if chance < 0.78:
            return f"['{field}']"
        if chance < 0.83:
            return f"[?{random.choice(LITERALS[random.choice((types.INT, types.STRING))])}]"
        return f"[{random.choice(INDEXES)}]"

    def _call(self, wanted: Type, depth: int) -> str:
        if wanted == types.BOOL and self._random.random() < 0.3:
            joint = self._random.choice((" && ", " || "))
            return f"({joint.join(self.grow(types.BOOL, depth - 1) for _ in range(self._random.choice((2, 2, 3))))})"
        fitting = [call for overload in self._vocabulary.choose(OVERLOADS) if (call := _bind(overload, wanted)) is not None]
        if not fitting:
            return self._leaf(wanted, depth)
        names = sorted({call.overload.function for call in fitting})
        name = self._random.choice(names)
        return self.render(self._random.choice([call for call in fitting if call.overload.function == name]), depth)

    def render(self, call: Call, depth: int) -> str:
        overload = call.overload
        fresh = self._random.choice((*SCALARS, DYN))
        wanted = [_fill(parameter, call.bound, fresh) for parameter in overload.parameters]
        arguments = [self._argument(overload.function, place, type_, depth) for place, type_ in enumerate(wanted)]
        if self._random.random() < 0.02:
            arguments.append(self.grow(self._any_type(), 0))
        name, infix = overload.function, _INFIX.fullmatch(overload.function)
        match name:
            case "_?_:_":
                return "({} ? {} : {})".format(*arguments[:3])
            case "_[_]":
                return f"{arguments[0]}[{arguments[1]}]"
            case "_[?_]":
                return f"{arguments[0]}[?{arguments[1]}]"
            case "@in":
                return f"({arguments[0]} in {arguments[1]})"
            case "!_" | "-_":
                return f"{name[0]}({arguments[0]})"
        if infix:
            return f"({arguments[0]} {infix[1]} {arguments[1]})"
        if overload.is_method:
            return f"{arguments[0]}.{name}({', '.join(arguments[1:])})"
        return f"{name}({', '.join(arguments)})"

    def _argument(self, function: str, place: int, wanted: Type, depth: int) -> str:
        if function == "lists.range":
            return self._random.choice(("0", "3", "-1", "10", "i % 10", "'a'", "size('abc')"))
        hints = HINTS.get((function, place))
        if hints and self._random.random() < 0.85:
            return self._random.choice(hints)
        if function == "format" and place == 1:
            return f"[{', '.join(self.grow(self._any_type(), 0) for _ in range(self._random.choice((0, 1, 1, 2))))}]"
        return self.grow(wanted, depth - 1)

    def _loop(self, wanted: Type, depth: int) -> str:
        random = self._random
        element = random.choice((*SCALARS, DYN))
        ranged = random.choice((list_of(element), list_of(element), map_of(types.STRING, element), DYN))
        over = self.grow(ranged, depth - 1)
        two = random.random() < 0.3
        variables = (
            random.choice((*[("k", "v"), ("i", "x"), ("v", "k")] * 5, ("a", "a")))
            if two
            else (random.choice(("x", "y", "c", "object")),)
        )
        held = self._held(ranged, element, two=two)
        before = len(self._locals)
        self._locals += list(zip(variables, held, strict=True))
        names = ", ".join(variables)
        try:
            return f"{over}.{self._macro(wanted, names, depth, two=two)}"
        finally:
            del self._locals[before:]

    def _held(self, ranged: Type, element: Type, *, two: bool) -> tuple[Type, ...]:
        key = types.STRING if ranged.kind is Kind.MAP else types.INT if ranged.kind is Kind.LIST else DYN
        if two:
            return (key, element if ranged != DYN else DYN)
        return (types.STRING if ranged.kind is Kind.MAP else element if ranged != DYN else DYN,)

    def _macro(self, wanted: Type, names: str, depth: int, *, two: bool) -> str:
        random = self._random
        if wanted == types.BOOL:
            return f"{random.choice(_QUANTIFIERS)}({names}, {self.grow(types.BOOL, depth - 1)})"
        condition = self.grow(types.BOOL, depth - 1)
        body = self.grow(wanted.parameters[-1] if wanted.parameters else DYN, depth - 1)
        if types.is_optional(wanted):
            return f"{random.choice(('optMap', 'optFlatMap'))}({names}, {body})"
        if not two:
            one = (
                f"filter({names}, {condition})",
                f"map({names}, {body})",
                f"map({names}, {condition}, {body})",
                f"sortBy({names}, {body})",
            )
            return random.choice(one)
        entry = f"{{{self.grow(types.STRING, 0)}: {body}}}"
        made = (
            f"transformList({names}, {body})",
            f"transformList({names}, {condition}, {body})",
            f"transformMap({names}, {body})",
            f"transformMap({names}, {condition}, {body})",
            f"transformMapEntry({names}, {entry})",
            f"transformMapEntry({names}, {condition}, {entry})",
        )
        return random.choice(made)

    def _deepen(self, text: str) -> str:
        """Wrap an expression many times, about as deep as the API server still takes it."""
        random = self._random
        many = random.choice((5, 20, 40, 60, 120, 200, 300))
        wraps: Sequence[str] = (
            "(" * many + text + ")" * many,
            " && ".join([f"({text})"] * min(many, 40)),
            "[" * many + text + "]" * many,
            "".join(f"(i == {n}) ? {n} : " for n in range(many)) + "0",
            " + ".join(["i"] * many),
            "".join("[1].all(x, " for _ in range(many % 50)) + "true" + ")" * (many % 50),
            "!" * many + "b",
            "object" + ".spec" * many,
        )
        return random.choice(wraps)

    def _break(self, text: str) -> str:
        tokens = _TOKEN.findall(text)
        place = self._random.randrange(len(tokens))
        change = self._random.random()
        if change < 0.4:
            del tokens[place]
        elif change < 0.7:
            tokens[place] = self._random.choice(tokens)
        else:
            tokens.insert(
                place, self._random.choice((",", ".", "?", "-", "!", "null", "in", "'", "0x1F", "1e3", "//c\n", "r'\\d'"))
            )
        return " ".join(tokens)


def _loosened(type_: Type) -> Type:
    """Return a type of the same kind whose parameters may be anything."""
    if type_.kind is Kind.LIST:
        return list_of(DYN)
    if type_.kind is Kind.MAP:
        return map_of(types.STRING, DYN)
    return optional_of(DYN) if types.is_optional(type_) else type_


def _bind(overload: Overload, wanted: Type) -> Call | None:
    """Bind the type parameters of an overload so that it returns a type, or return None."""
    bound: dict[Type, Type] = {}
    return Call(overload, bound) if _unify(overload.result, wanted, bound) else None


def _unify(left: Type, right: Type, bound: dict[Type, Type]) -> bool:
    if left.kind is Kind.PARAMETER:
        return bound.setdefault(left, right) == right
    if left.kind is not right.kind or left.name != right.name or len(left.parameters) != len(right.parameters):
        return False
    return all(_unify(one, other, bound) for one, other in zip(left.parameters, right.parameters, strict=True))


def _fill(type_: Type, bound: dict[Type, Type], fresh: Type) -> Type:
    if type_.kind is Kind.PARAMETER:
        return bound.get(type_, fresh)
    return Type(type_.kind, type_.name, tuple(_fill(part, bound, fresh) for part in type_.parameters), type_.fields)
