"""Which calls are macros, and what they say.

Like cel-go's parser this looks only at the name, the number of arguments and
whether there is a target; a call that is none of these is a function call (parser/macro.go, ext/comprehensions.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from webhook.cel.errors import CompileError
from webhook.cel.syntax import Constant, Macro, MacroName, MapLiteral, Name, Node, Place, Select, StructLiteral


class _Shape(NamedTuple):
    """What the arguments of a macro are: ``variables`` names first, then a filter if it has one, then the body."""

    name: MacroName
    variables: int
    filtered: bool = False
    bad_name: str = "argument must be a simple name"


_NOT_IDENTIFIER = "argument is not an identifier"

MACROS: Mapping[tuple[str, int], _Shape] = {
    ("all", 2): _Shape("all", 1),
    ("exists", 2): _Shape("exists", 1),
    ("exists_one", 2): _Shape("exists_one", 1),
    ("map", 2): _Shape("map", 1, bad_name=_NOT_IDENTIFIER),
    ("map", 3): _Shape("map", 1, filtered=True, bad_name=_NOT_IDENTIFIER),
    ("filter", 2): _Shape("filter", 1, bad_name=_NOT_IDENTIFIER),
    ("all", 3): _Shape("all", 2),
    ("exists", 3): _Shape("exists", 2),
    ("exists_one", 3): _Shape("exists_one", 2),
    ("existsOne", 3): _Shape("exists_one", 2),
    ("transformList", 3): _Shape("transformList", 2),
    ("transformList", 4): _Shape("transformList", 2, filtered=True),
    ("transformMap", 3): _Shape("transformMap", 2),
    ("transformMap", 4): _Shape("transformMap", 2, filtered=True),
    ("transformMapEntry", 3): _Shape("transformMapEntry", 2),
    ("transformMapEntry", 4): _Shape("transformMapEntry", 2, filtered=True),
    ("sortBy", 2): _Shape("sortBy", 1),
    ("optMap", 2): _Shape("optMap", 1, bad_name="optMap() variable name must be a simple identifier"),
    ("optFlatMap", 2): _Shape("optFlatMap", 1, bad_name="optFlatMap() variable name must be a simple identifier"),
}


def expand(function: str, target: Node | None, arguments: list[Node], place: Place) -> Node | None:
    """Return what a macro says, None for a plain call; raises CompileError for a macro with unfit arguments."""
    if target is None:
        return _expand_has(arguments[0], place) if function == "has" and len(arguments) == 1 else None
    shape = MACROS.get((function, len(arguments)))
    if shape is None:
        return None
    if function == "sortBy" and isinstance(target, Constant | MapLiteral | StructLiteral):
        text = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise CompileError(text, *target.place)
    variables = [_variable(argument, shape) for argument in arguments[: shape.variables]]
    if len(set(variables)) < len(variables):
        raise CompileError(f"duplicate variable name: {variables[0]}", *arguments[1].place)
    filter_ = arguments[shape.variables] if shape.filtered else None
    return Macro(shape.name, target, variables, filter_, arguments[-1], place=place)


def _expand_has(argument: Node, place: Place) -> Node:
    if not isinstance(argument, Select) or argument.optional:  # has(has(a.b)) is has(a.b) to cel-go
        raise CompileError("invalid argument to has() macro", *argument.place)
    return Select(argument.operand, argument.field, test=True, field_place=argument.field_place, place=place)


def _variable(argument: Node, shape: _Shape) -> str:
    if not isinstance(argument, Name) or argument.root:
        raise CompileError(shape.bad_name, *argument.place)
    if argument.name in ("__result__", "@result"):
        raise CompileError("iteration variable overwrites accumulator variable", *argument.place)
    return argument.name
