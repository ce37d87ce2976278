"""From text to syntax tree: one method for each rule of the grammar, called by the parser from the leaves up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from celpy.celparser import CELParser
from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from webhook.cel import grammar, macros
from webhook.cel.errors import CompileError
from webhook.cel.literals import read_literal
from webhook.cel.signs import first_part, take_sign
from webhook.cel.syntax import (
    Call,
    Conditional,
    Constant,
    Index,
    ListLiteral,
    Logical,
    MapLiteral,
    Name,
    Node,
    Place,
    Select,
    StructLiteral,
)

NESTING_LIMIT = 250
"""As in cel-go (parser/options.go, maxRecursionDepth)."""

DEPTH_LIMIT = 500
"""Levels of a syntax tree, which ``&&`` within ``||`` within parentheses makes twice as deep as the nesting. Checking takes at
most four Python frames for a level and evaluation two, so this keeps within the recursion limit of 2500 that cel-python sets."""

SIZE_LIMIT = 100_000
"""Longest expression in characters, as in cel-go (parser/options.go, expressionSizeCodePointLimit)."""

_KEYWORDS = frozenset({"in", "true", "false", "null"})
_RESERVED = _KEYWORDS | frozenset(
    "as break const continue else for function if import let loop package namespace return var void while".split()
)


class _Prefix(NamedTuple):
    """A run of ``!`` or of ``-`` before its operand: an even number of them cancels out, unlike nested ones in parentheses."""

    operator: str
    repeats: int
    operand: Node
    place: Place


class _Left(NamedTuple):
    """An operator with its left side, waiting for the right one."""

    operator: str
    operand: Node
    place: Place


class _Entry(NamedTuple):
    """An item of a list, map or struct literal."""

    optional: bool
    name: Any
    value: Node
    place: Place


def place_of(token: Token) -> Place:
    """Return where a token stands."""
    return (token.line or 1, token.column or 1)


def settle(node: Node, children: Sequence[Node], *, left: Node | None = None, step: int = 1) -> Node:
    """Set how deep a node is; raises CompileError beyond the limits.

    ``step`` is what it adds to the nesting of its children; ``left`` is what it goes on from (``left.field``, ``left + child``),
    which adds to the visits instead.
    """
    parts = children if left is None else [left, *children]
    node.depth = 1 + max((part.depth for part in parts), default=0)
    node.nesting = max(1, step + max((child.nesting for child in children), default=0), 0 if left is None else left.nesting)
    node.visits = (left is not None) + max((part.visits for part in parts), default=0)
    return _bounded(node)


def _bounded(node: Node) -> Node:
    if max(node.nesting, node.visits) > NESTING_LIMIT or node.depth > DEPTH_LIMIT:
        raise CompileError(f"expression recursion limit exceeded: {NESTING_LIMIT}", *node.place)
    return node


def _binary(operator: str) -> Any:
    def left(_: Any, children: list[Any]) -> _Left:
        return _Left(operator, children[0], place_of(children[1]))

    return left


class Builder(Transformer[Token, Any]):
    """Builds syntax nodes. Has no state, as one parser serves all threads."""

    relation_lt = _binary("_<_")
    relation_le = _binary("_<=_")
    relation_gt = _binary("_>_")
    relation_ge = _binary("_>=_")
    relation_eq = _binary("_==_")
    relation_ne = _binary("_!=_")
    relation_in = _binary("@in")
    addition_add = _binary("_+_")
    addition_sub = _binary("_-_")
    multiplication_mul = _binary("_*_")
    multiplication_div = _binary("_/_")
    multiplication_mod = _binary("_%_")

    def expr(self, children: list[Any]) -> Node:
        """Build a conditional, or pass a simpler expression on."""
        if len(children) == 1:
            return children[0]  # type: ignore[no-any-return]  # rules hand on what they were given
        test, mark, then, _, otherwise = children
        node = Conditional(test, then, otherwise, place=place_of(mark))
        settle(node, (then, otherwise), left=test, step=0)
        node.nesting = max(node.nesting, otherwise.nesting + 1)
        return _bounded(node)

    def conditionalor(self, children: list[Any]) -> Node:
        """Build a chain of ``||``."""
        return _chain("_||_", children)

    def conditionaland(self, children: list[Any]) -> Node:
        """Build a chain of ``&&``."""
        return _chain("_&&_", children)

    def relation(self, children: list[Any]) -> Node:
        """Build a comparison."""
        return _join(children)

    def addition(self, children: list[Any]) -> Node:
        """Build a sum."""
        return _join(children)

    def multiplication(self, children: list[Any]) -> Node:
        """Build a product."""
        children[-1] = _apply_prefix(children[-1])
        return _join(children)

    def unary_not(self, children: list[Any]) -> tuple[str, Place]:
        """Name the operator."""
        return "!_", place_of(children[0])

    def unary_neg(self, children: list[Any]) -> tuple[str, Place]:
        """Name the operator."""
        return "-_", place_of(children[0])

    def unary(self, children: list[Any]) -> Node | _Prefix:
        """Count prefix operators; they are applied when no more can come."""
        if len(children) == 1:
            return children[0]  # type: ignore[no-any-return]  # a member
        (operator, place), operand = children
        if not isinstance(operand, _Prefix):
            sign = int(operator == "-_" and take_sign(operand))
            return _Prefix(operator, 1 + sign, operand, place)
        if operand.operator == operator:
            return _Prefix(operator, operand.repeats + 1, operand.operand, place)
        raise CompileError("Syntax error: a mix of '!' and '-' needs parentheses", *operand.place)

    def member(self, children: list[Any]) -> Node:
        """Pass on."""
        return children[0]  # type: ignore[no-any-return]  # rules hand on what they were given

    primary = member

    def field(self, children: list[Any]) -> Token:
        """Take the name of a field, out of its backticks."""
        token: Token = children[0]
        if token.type == "ESC_IDENT":
            return Token.new_borrow_pos("ESC_IDENT", token.value[1:-1], token)
        if token.value in _KEYWORDS:
            raise CompileError(f"Syntax error: mismatched input '{token.value}' expecting a field name", *place_of(token))
        return token

    def member_dot(self, children: list[Any]) -> Node:
        """Build a field selection."""
        operand, dot, name = children
        node = Select(operand, name.value, field_place=place_of(name), place=place_of(dot))
        return settle(node, (), left=operand)

    def member_dot_opt(self, children: list[Any]) -> Node:
        """Build an optional field selection."""
        operand, dot, _, name = children
        node = Select(operand, name.value, optional=True, field_place=place_of(name), place=place_of(dot))
        return settle(node, (), left=operand)

    def member_index(self, children: list[Any]) -> Node:
        """Build an index."""
        operand, bracket, key, _ = children
        return settle(Index(operand, key, place=place_of(bracket)), (key,), left=operand)

    def member_index_opt(self, children: list[Any]) -> Node:
        """Build an optional index."""
        operand, bracket, _, key, _ = children
        return settle(Index(operand, key, optional=True, place=place_of(bracket)), (key,), left=operand)

    def member_dot_arg(self, children: list[Any]) -> Node:
        """Build a method call or a macro."""
        operand, _, name, bracket, *rest = children
        return _call(name.value, operand, _arguments(rest), place_of(bracket))

    def ident_arg(self, children: list[Any]) -> Node:
        """Build a function call or a macro."""
        name, bracket, *rest = children
        return _call(name.value, None, _arguments(rest), place_of(bracket))

    def dot_ident_arg(self, children: list[Any]) -> Node:
        """Build a call of a function by its absolute name: without containers all that changes is that it is no macro."""
        _, name, bracket, *rest = children
        arguments = _arguments(rest)
        return settle(Call(name.value, None, arguments, place=place_of(bracket)), arguments)

    def member_object(self, children: list[Any]) -> Node:
        """Build a typed object."""
        operand, brace, *rest = children
        name = _dotted_name(operand)
        if name is None:
            raise CompileError("Syntax error: mismatched input '{' expecting <EOF>", *place_of(brace))
        entries = _entries(rest)
        node = StructLiteral(
            name,
            [entry.name for entry in entries],
            [entry.value for entry in entries],
            [entry.optional for entry in entries],
            [entry.place for entry in entries],
            place=place_of(brace),
        )
        return settle(node, node.values)

    def ident(self, children: list[Any]) -> Node:
        """Build a name."""
        token: Token = children[0]
        if token.value in _RESERVED:
            raise CompileError(f"reserved identifier: {token.value}", *place_of(token))
        return Name(token.value, place=place_of(token))

    def dot_ident(self, children: list[Any]) -> Node:
        """Build an absolute name."""
        return Name(children[1].value, root=True, place=place_of(children[1]))

    def paren_expr(self, children: list[Any]) -> Node:
        """Drop the parentheses; the tree has its shape already."""
        node: Node = children[1]
        node.nesting += 1
        first = first_part(node)
        if first is not node:
            first.nesting += 1
        return _bounded(node)

    def list_lit(self, children: list[Any]) -> Node:
        """Build a list."""
        entries = _entries(children[1:])
        node = ListLiteral([entry.value for entry in entries], [entry.optional for entry in entries], place=place_of(children[0]))
        return settle(node, node.items)

    def map_lit(self, children: list[Any]) -> Node:
        """Build a map."""
        entries = _entries(children[1:])
        keys, values = [entry.name for entry in entries], [entry.value for entry in entries]
        node = MapLiteral(keys, values, [entry.optional for entry in entries], place=place_of(children[0]))
        return settle(node, keys + values)

    def exprlist(self, children: list[Any]) -> list[Node]:
        """Collect arguments."""
        return children[::2]

    def listinits(self, children: list[Any]) -> list[_Entry]:
        """Collect entries."""
        if len(children) == 1:
            return [children[0]]
        children[0].append(children[2])
        return children[0]  # type: ignore[no-any-return]  # the list made above

    mapinits = fieldinits = listinits

    def listinit(self, children: list[Any]) -> _Entry:
        """Build an item."""
        value = children[-1]
        return _Entry(len(children) == 2, None, value, value.place)

    def mapinit(self, children: list[Any]) -> _Entry:
        """Build an entry."""
        key, colon, value = children[-3:]
        return _Entry(len(children) == 4, key, value, place_of(colon))

    def fieldinit(self, children: list[Any]) -> _Entry:
        """Build a field."""
        name, colon, value = children[-3:]
        return _Entry(len(children) == 4, name.value, value, place_of(colon))

    def literal(self, children: list[Any]) -> Node:
        """Build a constant."""
        token: Token = children[0]
        try:
            value, type_ = read_literal(token.type, token.value)
        except ValueError as error:
            raise CompileError(str(error), *place_of(token)) from error
        return Constant(value, type_, place=place_of(token))


def _chain(operator: Any, children: list[Any]) -> Node:
    if len(children) == 1:
        return children[0]  # type: ignore[no-any-return]  # rules hand on what they were given
    left, token, right = children
    if isinstance(left, Logical) and left.operator == operator:
        left.terms.append(right)
        left.depth, left.nesting = max(left.depth, right.depth + 1), max(left.nesting, right.nesting)
        left.visits = max(left.visits, right.visits)
        return _bounded(left)
    return settle(Logical(operator, [left, right], place=place_of(token)), (left, right), step=0)


def _join(children: list[Any]) -> Node:
    if len(children) == 1:
        return children[0]  # type: ignore[no-any-return]  # rules hand on what they were given
    left, right = children
    return settle(Call(left.operator, None, [left.operand, right], place=left.place), (right,), left=left.operand)


def _apply_prefix(operand: Node | _Prefix) -> Node:
    if not isinstance(operand, _Prefix):
        return operand
    if operand.repeats % 2 == 0:
        return operand.operand
    return settle(Call(operand.operator, None, [operand.operand], place=operand.place), (operand.operand,), step=0)


def _arguments(rest: list[Any]) -> list[Node]:
    return rest[0] if len(rest) == 2 else []


def _entries(rest: list[Any]) -> list[_Entry]:
    return rest[0] if isinstance(rest[0], list) else []


def _call(function: str, target: Node | None, arguments: list[Node], place: Place) -> Node:
    node = macros.expand(function, target, arguments, place) or Call(function, target, arguments, place=place)
    return settle(node, arguments, left=target)


def _dotted_name(node: Node) -> str | None:
    parts: list[str] = []
    while isinstance(node, Select) and not node.optional and not node.test:
        parts.append(node.field)
        node = node.operand
    return ".".join([node.name, *reversed(parts)]) if isinstance(node, Name) else None


@cache
def shared_parser() -> Lark:
    """Make the parser once for the process: Lark parsers may be used by many threads."""
    return grammar.load_parser(Builder())


class KubernetesParser(CELParser):
    """cel-python's parser with our grammar.

    Its base keeps one parser in a class variable for everybody in the process;
    this one reads its own, so that cel-python stays usable beside us and no other use of it can change our language.
    """

    def __init__(self) -> None:  # the base's would fill that class variable
        self.text = ""

    def parse(self, text: str) -> Any:
        """Return the syntax tree of an expression; raises CompileError."""
        return parse(text)


def parse(text: str) -> Node:
    """Return the syntax tree of an expression; raises CompileError with the place of the first mistake."""
    if len(text) > SIZE_LIMIT:
        raise CompileError(f"expression code point size exceeds limit: size: {len(text)}, limit {SIZE_LIMIT}")
    try:
        return shared_parser().parse(text)  # type: ignore[return-value]  # Lark's stubs know trees only, not transformers
    except UnexpectedToken as error:
        raise _unexpected(error.token, text) from error
    except UnexpectedCharacters as error:
        raise CompileError(f"Syntax error: token recognition error at: '{error.char}'", error.line, error.column) from error
    except UnexpectedInput as error:
        raise CompileError(f"Syntax error: {error}", error.line, error.column) from error


def _unexpected(token: Token, text: str) -> CompileError:
    if token.type == "$END":
        lines = text.split("\n")
        return CompileError("Syntax error: unexpected end of the expression", len(lines), len(lines[-1]) + 1)
    return CompileError(f"Syntax error: unexpected '{token.value}'", *place_of(token))
