"""What every policy kind shares: whether it speaks of a request, with which params, and what its expressions say.

Knows policies, requests and CEL programs; follows the API server's own plugins (apiserver pkg/admission/plugin), texts
included. Must not know files, clients, clocks or how a review travels; what it needs of the world it asks ``World``.
"""

from webhook.rules.answers import Inquiry
from webhook.rules.cluster import NEEDED_KINDS, UNDECIDED, ClusterView
from webhook.rules.compile import (
    CompiledException,
    CompiledHead,
    CompiledPolicy,
    CompiledValidation,
    NamedProgram,
    compile_head,
    compile_one,
    compile_policy,
    references,
)
from webhook.rules.declare import ACCESS_TYPES, ADMISSION_ROOTS, NAMESPACE_TYPE, REQUEST_TYPE, WORKLOAD_ROOTS
from webhook.rules.exceptions import compile_exception, excepted, rule_on
from webhook.rules.glance import Panels
from webhook.rules.invocations import Invocation, Misconfigured, Step, conditions_hold, invocations
from webhook.rules.judge import denial_text, judge, warning_text
from webhook.rules.match import SORTS, match, may_match
from webhook.rules.mutate import BoundMutating, Change, Complete, Mutated, mutate, mutation_denial_text
from webhook.rules.mutations import CompiledMutating, CompiledMutation, compile_mutating
from webhook.rules.params import collect_params
from webhook.rules.problems import RuleProblem
from webhook.rules.run import Run
from webhook.rules.selectors import selector_of, selects
from webhook.rules.world import Situation, World, bare_namespace

__all__ = [
    "ACCESS_TYPES",
    "ADMISSION_ROOTS",
    "NAMESPACE_TYPE",
    "NEEDED_KINDS",
    "REQUEST_TYPE",
    "SORTS",
    "UNDECIDED",
    "WORKLOAD_ROOTS",
    "BoundMutating",
    "Change",
    "ClusterView",
    "CompiledException",
    "CompiledHead",
    "CompiledMutating",
    "CompiledMutation",
    "CompiledPolicy",
    "CompiledValidation",
    "Complete",
    "Inquiry",
    "Invocation",
    "Misconfigured",
    "Mutated",
    "NamedProgram",
    "Panels",
    "RuleProblem",
    "Run",
    "Situation",
    "Step",
    "World",
    "bare_namespace",
    "collect_params",
    "compile_exception",
    "compile_head",
    "compile_mutating",
    "compile_one",
    "compile_policy",
    "conditions_hold",
    "denial_text",
    "excepted",
    "invocations",
    "judge",
    "match",
    "may_match",
    "mutate",
    "mutation_denial_text",
    "references",
    "rule_on",
    "selector_of",
    "selects",
    "warning_text",
]
