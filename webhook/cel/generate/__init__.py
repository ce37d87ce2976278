"""From a checked syntax tree to Python: the fast path of programs that are evaluated often.

Generated code knows how evaluations go that go well. It holds no error of CEL's: where a value is missing or of a type that is
rare, it fails in whatever way Python does, and ``recover`` starts again with the closures, whose answer counts. So there is one
meaning, and two things that generated code must get right wherever it does not fail: the value, and the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from webhook.cel.budget import DEFAULT_UNITS, Budget
from webhook.cel.check import Checker
from webhook.cel.errors import Overrun
from webhook.cel.generate import runtime
from webhook.cel.generate.calls import emit_call
from webhook.cel.generate.emitter import Emit, Emitter, Value
from webhook.cel.generate.logic import emit_conditional, emit_logical
from webhook.cel.generate.loops import emit_macro
from webhook.cel.generate.ways import emit_constant, emit_name, emit_step
from webhook.cel.generate.writer import NotGenerated, Writer
from webhook.cel.pricing import Prices
from webhook.cel.syntax import (
    Call,
    Conditional,
    Constant,
    Index,
    ListLiteral,
    Logical,
    Macro,
    MapLiteral,
    Name,
    Node,
    Select,
    StructLiteral,
)
from webhook.cel.values import HostObject

__all__ = ["generate", "write"]

Evaluate = Callable[..., Any]


def _emit_list(emitter: Emitter, node: ListLiteral) -> Value:
    if any(node.optional):
        return emitter.leave(node)
    return Value(f"[{', '.join(emitter.value(item).text for item in node.items)}]")


def _emit_map(emitter: Emitter, node: MapLiteral) -> Value:
    texts = all(isinstance(key, Constant) and type(key.value) is str for key in node.keys)
    if any(node.optional) or not texts:
        return emitter.leave(node)
    pairs = [(emitter.value(key).text, emitter.value(value).text) for key, value in zip(node.keys, node.values, strict=True)]
    return Value(f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}")


def _emit_struct(emitter: Emitter, node: StructLiteral) -> Value:
    return emitter.leave(node)


EMITTERS: Mapping[type, Emit] = {
    Constant: emit_constant,
    Name: emit_name,
    Select: emit_step,
    Index: emit_step,
    Call: emit_call,
    Logical: emit_logical,
    Conditional: emit_conditional,
    ListLiteral: _emit_list,
    MapLiteral: _emit_map,
    StructLiteral: _emit_struct,
    Macro: emit_macro,
}


def write(root: Node, checker: Checker) -> tuple[str, dict[str, Any]]:
    """Return the source of an expression's function, and what it refers to; raises NotGenerated."""
    namespace: dict[str, Any] = {"LEAVE": runtime.Leave, "RENEW": runtime.renew, "HOST": HostObject, "BUDGET": Budget}
    writer = Writer(namespace)
    emitter = Emitter(writer, checker, Prices(root, checker), EMITTERS)
    value = emitter.value(root)
    writer.add(f"v = {value.text}")
    namespace["MARGIN"] = emitter.refunds
    start = [f"{local} = A[{name!r}]" for name, local in emitter.roots.items()]
    start += ["T = L - B.look_at"] if emitter.looks else []
    lines = [
        "def evaluate(A, B=None):",
        f"  if B is None: B = BUDGET({DEFAULT_UNITS})",
        "  L = B.left",
        "  try:",
        *(f"    {line}" for line in start),
        f"    c = {emitter.due}",
        writer.text(),
        "    B.left = n = B.left - c",
        "    if n < B.look_at: B.look()",
        "    return v",
        "  except Exception as error:",
        "    return RECOVER(A, B, L, error)",
    ]
    return "\n".join(lines), namespace


def generate(root: Node, checker: Checker, closures: Evaluate) -> Evaluate | None:
    """Compile an expression's function; ``closures`` evaluate what it leaves. None: the expression is not one for that."""

    def recover(activation: Mapping[str, Any], budget: Budget, left: int, error: Exception) -> Any:
        if isinstance(error, Overrun) and error.kind in ("cost", "deadline"):
            try:
                raise error
            finally:
                del error  # it knows this frame now
        budget.left = left
        return closures(activation, budget)

    try:
        source, namespace = write(root, checker)
        code = compile(source, "<generated from CEL>", "exec", dont_inherit=True, optimize=2)
    except (NotGenerated, SyntaxError, RecursionError, MemoryError):
        return None
    namespace["RECOVER"] = recover
    exec(code, namespace)  # noqa: S102 - our own text: what comes from an expression is in it as literals only
    made: Evaluate = namespace.pop("evaluate")
    return made
