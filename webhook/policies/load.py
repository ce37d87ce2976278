"""From files to a policy set: read, decode, compile, join; one error list for everything that is wrong."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from webhook.admission.bound import BoundWorkload
from webhook.admission.policyset import ParamIndex, PolicySet, needs_of
from webhook.errors import PolicyError, PolicySetError
from webhook.groups import CompiledWorkload, compile_workload
from webhook.model.objects import Kind, ObjectKey, metadata_of
from webhook.model.policies import Binding, Head, PolicySource
from webhook.policies.cursor import hint
from webhook.policies.exceptions import compile_exceptions, exception_warnings
from webhook.policies.files import Sources, read_sources
from webhook.policies.kinds import Contents, is_foreign_json, read_document
from webhook.policies.nodes import BrokenSource, read_documents
from webhook.rules import CompiledException, CompiledMutating, CompiledPolicy, compile_mutating, compile_policy
from webhook.settings import ReloadSettings

_Source = TypeVar("_Source")
_Compiled = TypeVar("_Compiled", CompiledPolicy, CompiledMutating, CompiledWorkload)
_KINDS = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy", "WorkloadPolicy")


def load_policies(paths: Sequence[str | Path], *, limits: ReloadSettings | None = None, now: datetime | None = None) -> PolicySet:
    """Load every policy below the given files and folders; raises PolicySetError with all that is wrong.

    ``now`` decides which exceptions the warnings call expired; None: the clock does.
    """
    limit = (limits or ReloadSettings()).file_limit_bytes
    return compile_sources(read_sources(paths, limit_bytes=limit), now=now)


def compile_sources(sources: Sources, *, now: datetime | None = None) -> PolicySet:
    """Build the set of policies from files already read; raises PolicySetError with all that is wrong."""
    examined = examine_sources(sources, now=now)
    if examined.errors:
        raise PolicySetError(examined.errors)
    return examined.policies


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What files hold, for those who want to hear of the good parts also where others are broken."""

    policies: PolicySet
    """Those that could be compiled. Fit for advice; what serves takes all or nothing."""
    contents: Contents
    errors: tuple[PolicyError, ...]


def examine_sources(sources: Sources, *, now: datetime | None = None) -> Examined:
    """Compile what can be compiled, and note everything that is wrong."""
    contents = Contents(errors=list(sources.errors))
    for file in sources.files:
        try:
            for document in read_documents(file.content, file.path):
                if is_foreign_json(document):
                    contents.left_out.append(file.path)
                else:
                    read_document(document, contents)
        except BrokenSource as error:
            contents.errors.append(PolicyError(error.message, path=file.path, line=error.line, column=error.column))
    _keep_params(contents)
    _note_repeated(contents)
    excepted = compile_exceptions(contents.exceptions, dict(_policies(contents)), contents.errors)
    validating = _compile(contents.validating, compile_policy, excepted[_KINDS[0]], contents.errors)
    mutating = _compile(contents.mutating, compile_mutating, excepted[_KINDS[1]], contents.errors)
    workload = _compile(contents.workload, compile_workload, excepted[_KINDS[2]], contents.errors)
    bound = _by_policy(contents.bindings)
    policies = PolicySet(
        validating=tuple((p, bound.get((_KINDS[0], p.head.source.name), ())) for p in validating),
        mutating=tuple((p, bound.get((_KINDS[1], p.name), ())) for p in mutating),
        workload=tuple(BoundWorkload(policy=p, bindings=bound.get((_KINDS[2], p.name), ())) for p in workload),
        params=ParamIndex.of(obj for obj, _ in contents.others),
        revision=sources.revision,
        files={file.path: hashlib.sha256(file.content).hexdigest() for file in sources.files},
        warnings=(*_warnings(contents, bound), *exception_warnings(contents.exceptions, now or datetime.now(UTC))),
    )
    policies = replace(policies, needs=needs_of(policies))
    return Examined(policies=policies, contents=contents, errors=tuple(_unique(contents.errors)))


def _compile(
    sources: Iterable[_Source],
    compiler: Callable[[_Source], _Compiled],
    exceptions: Mapping[str, tuple[CompiledException, ...]],
    errors: list[PolicyError],
) -> list[_Compiled]:
    compiled: list[_Compiled] = []
    for source in sorted(sources, key=_name):
        try:
            compiled.append(replace(compiler(source), exceptions=exceptions.get(_name(source), ())))
        except PolicySetError as error:
            errors.extend(error.errors)
    return compiled


def _name(source: object) -> str:
    head: Head = source.head  # type: ignore[attr-defined]  # every policy kind has one
    return head.name


def _by_policy(bindings: Iterable[Binding]) -> dict[tuple[str, str], tuple[Binding, ...]]:
    found: dict[tuple[str, str], list[Binding]] = defaultdict(list)
    for binding in sorted(bindings, key=lambda binding: binding.name):
        found[binding.policy_kind, binding.policy_name].append(binding)
    return {key: tuple(values) for key, values in found.items()}


def _keep_params(contents: Contents) -> None:
    """Drop the objects that no policy takes as params: a repository of policies holds much else."""
    kinds = {head.param_kind for _, policies in _policies(contents) for head in (p.head for p in policies)}
    wanted = {(kind.api_version, kind.kind) for kind in kinds if kind}
    contents.others = [
        (obj, origin)
        for obj, origin in contents.others
        if (obj["apiVersion"], obj["kind"]) in wanted and metadata_of(obj).get("name")
    ]


def _note_repeated(contents: Contents) -> None:
    """Note objects of one kind and name: which one would be in force depended on the order of files."""
    named = [
        *((kind, policy.head.name, policy.head.origin) for kind, policies in _policies(contents) for policy in policies),
        *((f"{binding.policy_kind}Binding", binding.name, binding.origin) for binding in contents.bindings),
        *(("PolicyException", exception.name, exception.origin) for exception in contents.exceptions),
    ]
    named += [(str(Kind.of(obj)), str(ObjectKey.of(obj)).partition(" ")[2], origin) for obj, origin in contents.others]
    seen: dict[tuple[str, str], str] = {}
    for kind, name, origin in named:
        place = f"{origin.path}:{origin.line}"
        if name and (kind, name) in seen:
            message = f'{kind} "{name}" is there twice: also in {seen[kind, name]}'
            contents.errors.append(PolicyError(message, path=origin.path, line=origin.line, field="metadata.name"))
        seen.setdefault((kind, name), place)


def _warnings(contents: Contents, bound: dict[tuple[str, str], tuple[Binding, ...]]) -> Iterator[str]:
    for path in contents.left_out:
        yield f"{path}: is no Kubernetes object (no apiVersion and kind), left out"
    names = {kind: {_name(policy) for policy in policies} for kind, policies in _policies(contents)}
    for kind, policies in _policies(contents):
        for policy in policies:
            origin = policy.head.origin
            if (kind, policy.head.name) not in bound:
                yield f"{origin.path}:{origin.line}: {kind} '{policy.head.name}' has no binding: in a cluster it does nothing"
    for binding in contents.bindings:
        place = f"{binding.origin.path}:{binding.origin.line}: binding '{binding.name}'"
        known = names[binding.policy_kind]
        if binding.policy_name not in known:
            near = hint(binding.policy_name, known)
            yield f"{place} names {binding.policy_kind} '{binding.policy_name}', which is not among the files{near}"


def _policies(contents: Contents) -> tuple[tuple[str, Sequence[PolicySource]], ...]:
    return tuple(zip(_KINDS, (contents.validating, contents.mutating, contents.workload), strict=True))


def _unique(errors: Iterable[PolicyError]) -> list[PolicyError]:
    """Return each error once, by file and line."""
    by_text = {str(error): error for error in errors}
    return sorted(by_text.values(), key=lambda error: (error.path, error.line, error.column))
