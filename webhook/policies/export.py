"""What of a set of policies the API server can judge by itself, from files of its own, with the verdicts that it has here.

One broken file keeps the API server from starting, so everything that comes out is read back by our own loader, and its
expressions are compiled as the API server compiles new ones. What cannot be said in such files is left out with a reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import yaml

from webhook.admission.policyset import ParamIndex, PolicySet
from webhook.cel import CompileError, Program, compile_expression
from webhook.errors import PolicySetError
from webhook.model.objects import Object, ObjectKey
from webhook.model.policies import Binding, Head, Origin, ParamKind
from webhook.policies.files import SourceFile, Sources, read_sources
from webhook.policies.kinds import NATIVE, is_foreign_json, roots_of
from webhook.policies.load import compile_sources
from webhook.policies.nodes import read_documents
from webhook.policies.static import NAME_LIMIT, cannot_patch_with, static_binding, static_name, static_policy, with_params
from webhook.rules import CompiledMutating, CompiledPolicy
from webhook.settings import ReloadSettings

VALIDATING, MUTATING, WORKLOAD = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy", "WorkloadPolicy"
FOLDERS = {VALIDATING: "validating", MUTATING: "mutating"}
"""A folder for each kind: the API server's plugins have one each, and refuse a folder that holds anything else."""
MARK = "# Written by `gangwarden policies export`, which writes it again: edit the policy that it comes from."

_Documents = Mapping[tuple[str, str], Object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """One policy for the API server, with its bindings. Several come of a policy whose bindings bring different params."""

    kind: str
    policy: str
    """The name of the policy that it comes from."""
    name: str
    bindings: tuple[str, ...]
    """The names of the bindings as they are in the file."""
    params: str = ""
    """The object that was written into the expressions; empty for none."""
    text: str = ""

    @property
    def file(self) -> str:
        """Return where it belongs, below the folder of the export."""
        return f"{FOLDERS[self.kind]}/{self.name}.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What the API server cannot judge from files; ``binding`` is empty for a whole policy."""

    kind: str
    policy: str
    binding: str = ""
    reason: str
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Files for the API server, what is not in them, and what to know about them."""

    exported: tuple[Exported, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Variant:
    """A policy with the params that some of its bindings bring."""

    params: Object | None
    bindings: list[tuple[Binding, tuple[str, ...]]] = field(default_factory=list)
    """With each binding what its name needs to stand in several variants."""


class _Refused(Exception):  # noqa: N818 - caught a few lines below where it is raised
    """It cannot be exported; the text is the reason."""


def plan_export(paths: Sequence[str | Path], *, now: datetime | None = None) -> Export:
    """Read policies and write those of them that the API server can take; raises PolicySetError where one is broken.

    ``now`` decides which exceptions have expired; None: the clock does.
    """
    sources = read_sources(paths, limit_bytes=ReloadSettings().file_limit_bytes)
    policies = compile_sources(sources)
    plan = _Plan(policies, dict(_documents(sources)), now or datetime.now(UTC))
    native = [(VALIDATING, policy, policy.references, bindings) for policy, bindings in policies.validating]
    native += [(MUTATING, one, one.references, bindings) for one, bindings in policies.mutating]  # type: ignore[misc]  # both have heads
    for kind, policy, references, bindings in native:
        plan.add(kind, policy, references, bindings)
    for bound in policies.workload:
        plan.leave(WORKLOAD, bound.policy.source.head, "it makes groups, which the API server does not")
    return plan.result()


def _documents(sources: Sources) -> Iterator[tuple[tuple[str, str], Object]]:
    for file in sources.files:
        for document in read_documents(file.content, file.path):
            for root in () if is_foreign_json(document) else roots_of(document, []):
                obj = root.plain()
                if obj["apiVersion"] == NATIVE:
                    yield (obj["kind"], obj["metadata"]["name"]), obj


class _Plan:
    def __init__(self, policies: PolicySet, documents: _Documents, now: datetime) -> None:
        self._params, self._documents, self._now = policies.params, documents, now
        self._names: dict[tuple[str, str], str] = {}
        self._exported: list[Exported] = []
        self._left_out: list[LeftOut] = []
        self._notes: list[str] = []

    def result(self) -> Export:
        return Export(exported=tuple(self._exported), left_out=tuple(self._left_out), notes=tuple(self._notes))

    def leave(self, kind: str, head: Head, reason: str, binding: str = "") -> None:
        self._left_out.append(LeftOut(kind=kind, policy=head.name, binding=binding, reason=reason, origin=head.origin))

    def add(
        self, kind: str, policy: CompiledPolicy | CompiledMutating, references: frozenset[str], bindings: tuple[Binding, ...]
    ) -> None:
        """Export one policy, in as many variants as its bindings bring different params."""
        head = policy.head.source
        lasting = next((one for one in policy.exceptions if one.source.expires > self._now), None)
        if "cluster" in references:
            self.leave(kind, head, "it reads `cluster`, which only Gangwarden knows")
        elif lasting:
            ends = "ends by itself, as nothing in these files does; leave the policy to the webhook until then"
            self.leave(kind, head, f"PolicyException '{lasting.name}' until {lasting.until} {ends}")
        elif not bindings:
            self.leave(kind, head, "it has no binding, so it does nothing; give it one")
        else:
            variants = self._variants(kind, head, bindings)
            for variant in variants:
                try:
                    self._exported.append(self._export(kind, policy, variant, alone=len(variants) == 1))
                except _Refused as refusal:
                    for binding, _ in variant.bindings:
                        self.leave(kind, head, str(refusal), binding.name)

    def _variants(self, kind: str, head: Head, bindings: tuple[Binding, ...]) -> list[_Variant]:
        found: dict[str, _Variant] = {}
        for binding in bindings:
            try:
                brought = _params_of(head.param_kind, binding, self._params)
            except _Refused as refusal:
                self.leave(kind, head, str(refusal), binding.name)
                continue
            if binding.param_ref and binding.param_ref.selector is not None and head.param_kind:
                self._notes.append(
                    f"binding '{binding.name}' takes params by a selector: those among the files are written down, others that "
                    "the cluster may hold are not"
                )
            for params in brought:
                apart = (ObjectKey.of(params).name,) if params and len(brought) > 1 else ()
                found.setdefault(json.dumps(params, sort_keys=True), _Variant(params)).bindings.append((binding, apart))
        return list(found.values())

    def _export(self, kind: str, policy: CompiledPolicy | CompiledMutating, variant: _Variant, *, alone: bool) -> Exported:
        head, params = policy.head.source, variant.params
        first, apart = variant.bindings[0]
        name = self._claim(kind, head.name, static_name(head.name, *(() if alone else (first.name, *apart))))
        document = self._documents[kind, head.name]
        if head.param_kind:
            document = _inlined(document, params)
        bindings = []
        for binding, apart in variant.bindings:
            bound = self._claim(f"{kind}Binding", binding.name, static_name(binding.name, *apart))
            bindings.append(static_binding(self._documents[f"{kind}Binding", binding.name], bound, name))
        text = f"{MARK}\n" + "---\n".join(_yaml(one) for one in (static_policy(document, name), *bindings))
        _check(text, name)
        return Exported(
            kind=kind,
            policy=head.name,
            name=name,
            bindings=tuple(one["metadata"]["name"] for one in bindings),
            params=str(ObjectKey.of(params)) if params else "",
            text=text,
        )

    def _claim(self, kind: str, given: str, name: str) -> str:
        if len(name) > NAME_LIMIT:
            raise _Refused(f"its name in the files would be longer than {NAME_LIMIT} characters; shorten it")
        other = self._names.setdefault((kind, name), given)
        if other != given:
            raise _Refused(f"its name in the files would be {name}, as that of '{other}'; rename one of them")
        return name


def _params_of(kind: ParamKind | None, binding: Binding, params: ParamIndex) -> tuple[Object | None, ...]:
    """Return the params that a binding brings to every request."""
    reference = binding.param_ref
    if kind is None or reference is None:
        return (None,)
    namespaced = params.is_namespaced(kind)
    if namespaced and not reference.namespace:
        raise _Refused("its params come from the namespace of each request; name one namespace in paramRef")
    if namespaced is False and reference.namespace:
        raise _Refused(f"paramRef names a namespace, but a {kind.kind} has none")
    found = params.params(kind, reference.namespace, name=reference.name or None, selector=reference.selector)
    if not found:
        raise _Refused(f"its params ({kind.kind}) are not among the files; put them beside the policy")
    return found


def _inlined(document: Object, params: Object | None) -> Object:
    try:
        part = cannot_patch_with(document, params)
        if part:
            raise _Refused(f"{part} holds lists or maps within others, which an applyConfiguration refuses once they are CEL")
        return with_params(document, params)
    except CompileError as error:
        raise _Refused(f"its params cannot be written into an expression: {error}") from error


def _check(text: str, name: str) -> None:
    """Read a file as the API server will."""
    sources = Sources(files=(SourceFile(name, text.encode()),), errors=(), revision="")
    try:
        policies = compile_sources(sources)
        for policy, _ in policies.validating:
            programs = [named.program for named in policy.audit_annotations]
            programs += [program for one in policy.validations for program in (one.program, one.message) if program]
            _compile_as_new(policy, programs, patch_types=False)
        for mutating, _ in policies.mutating:
            _compile_as_new(mutating, [one.program for one in mutating.mutations], patch_types=True)
    except PolicySetError as error:
        raise _Refused("; ".join(f"{one.field}: {one.args[0]}" for one in error.errors)) from error


def _compile_as_new(policy: CompiledPolicy | CompiledMutating, programs: Sequence[Program], *, patch_types: bool) -> None:
    """Refuse functions that the API server takes from stored objects only; files are new to it every time."""
    head = policy.head
    shared = [named.program for named in (*head.match_conditions, *head.variables)]
    declarations = replace(head.declarations, new_expressions=True)
    for program in (*shared, *programs):
        try:
            compile_expression(program.text, replace(declarations, patch_types=patch_types and program not in shared))
        except CompileError as error:
            raise _Refused(f"the API server refuses `{program.text}` in a new policy: {error.message}") from error


class _Dumper(yaml.SafeDumper):
    """Writes expressions as an author would, and no anchors where one value stands twice."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - yaml's signature
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _yaml(document: Object) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
