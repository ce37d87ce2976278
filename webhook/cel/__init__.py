"""CEL as the Kubernetes API server 1.37 has it. Knows the language, its libraries, and what an evaluation may cost.

Grammar, environment, runner and errors come from cel-python; syntax tree, type checker and evaluation are our own, over plain
JSON values. The room must not know policies, requests or the cluster: it is handed names, values, a budget, and host objects to
call. A function or a type that it does not have is refused when an expression is compiled, never guessed.
"""

from webhook.cel.authorization import access_variables
from webhook.cel.budget import Budget
from webhook.cel.codec import decode_tagged, encode_tagged
from webhook.cel.declarations import Declarations
from webhook.cel.errors import CompileError, EvaluationError
from webhook.cel.inspect import Inspection, inspect_expression, parse_expression
from webhook.cel.program import Program, compile_expression
from webhook.cel.quantities import Quantity, parse_quantity
from webhook.cel.values import HostObject

__all__ = [
    "Budget",
    "CompileError",
    "Declarations",
    "EvaluationError",
    "HostObject",
    "Inspection",
    "Program",
    "Quantity",
    "access_variables",
    "compile_expression",
    "decode_tagged",
    "encode_tagged",
    "inspect_expression",
    "parse_expression",
    "parse_quantity",
]
