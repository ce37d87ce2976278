"""The world that rules ask about: params from the policy files first, then namespaces and params from the snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webhook.admission.policyset import ParamIndex
from webhook.model.objects import Kind, Object, ObjectKey, labels_of, metadata_of
from webhook.model.policies import LabelSelector, ParamKind
from webhook.model.snapshot import Snapshot
from webhook.rules import bare_namespace, selects


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotWorld:
    """Fits ``rules.World`` over a snapshot and the params among the policy files."""

    snapshot: Snapshot
    files: ParamIndex
    invents_namespaces: bool = False
    """True offline: a namespace that nobody described exists, with its name label. In a cluster it is missing."""

    def namespace(self, name: str) -> Object | None:
        """Return a Namespace, or None when it is not known."""
        found = self.snapshot.get(ObjectKey("", "Namespace", "", name))
        return bare_namespace(name) if found is None and self.invents_namespaces else found

    def params(self, kind: ParamKind, namespace: str, *, name: str | None, selector: LabelSelector | None) -> Sequence[Object]:
        """Return the params in one namespace; a file wins over a live object of the same name."""
        if name is not None and (filed := self.files.params(kind, namespace, name=name, selector=selector)):
            return filed[-1:]
        found = {
            str(metadata_of(obj).get("name")): {**obj, "apiVersion": kind.api_version, "kind": kind.kind}
            for obj in self._live(kind, namespace, name=name)
            if selector is None or selects(selector, labels_of(obj))
        }
        for obj in self.files.params(kind, namespace, name=name, selector=selector):
            found[str(metadata_of(obj).get("name"))] = obj
        return [found[name] for name in sorted(found)]

    def is_namespaced(self, kind: ParamKind) -> bool | None:
        """Tell whether params of this kind live in namespaces; None when nothing is known of the kind."""
        filed = self.files.is_namespaced(kind)
        if filed is not None:
            return filed
        live = next(self.snapshot.list(_group(kind), kind.kind), None)
        return None if live is None else bool(metadata_of(live).get("namespace"))

    def _live(self, kind: ParamKind, namespace: str, *, name: str | None) -> Iterable[Object]:
        if name is None:
            return self.snapshot.list(_group(kind), kind.kind, namespace=namespace)
        found = self.snapshot.get(ObjectKey(_group(kind), kind.kind, namespace, name))
        return () if found is None else (found,)


def _group(kind: ParamKind) -> str:
    return Kind.parse(kind.api_version, kind.kind).group
