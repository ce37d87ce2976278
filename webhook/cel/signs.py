"""The sign of a number: part of the literal, unless another ``-`` stands before it (cel-go parser/gen/CEL.g4, unary)."""

from __future__ import annotations

from math import copysign

from webhook.cel.errors import CompileError
from webhook.cel.syntax import Call, Constant, Index, Macro, Node, Select
from webhook.cel.values import INT_MIN


def first_part(node: Node) -> Node:
    """Return what a way of fields, indexes and methods starts with."""
    while True:
        match node:
            case Select(test=False) | Index():
                node = node.operand
            case Call(target=target) if target is not None:
                node = target
            case Macro():
                node = node.range
            case _:
                return node


def take_sign(node: Node) -> bool:
    """Take the sign from the number that an operand of ``-`` starts with, if it has one and no parentheses are around it.

    All of a run of ``-`` are operators in cel-go, the last one too, so that ``--9223372036854775808`` has a number that is none.
    """
    first = first_part(node)
    if (
        not isinstance(first, Constant)
        or type(first.value) not in (int, float)
        or first.nesting > 1
        or copysign(1, first.value) > 0
    ):
        return False
    if first.value == INT_MIN:
        raise CompileError("invalid int literal", *first.place)
    first.value = -first.value
    return True
