"""Who asks an offline command, who may do what, and what was there before: the parts of a request that no manifest tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webhook.admission import Asker
from webhook.cli.offline import placed
from webhook.errors import InputError, UsageError
from webhook.model.access import AccessList, access_list
from webhook.model.objects import Object, ObjectKey
from webhook.model.requests import Operation, UserInfo
from webhook.policies import BrokenSource, load_manifests, manifest_files, read_documents

_ANONYMOUS = "system:anonymous"
_SERVICE_ACCOUNT = "system:serviceaccount:"


def asker_of(operation: Operation, user: str, groups: Sequence[str]) -> Asker:
    """Return who asks; without a name and groups an administrator."""
    usual = Asker(operation=operation)
    if not (user or groups):
        return usual
    name = user or usual.user.username
    return Asker(operation=operation, user=UserInfo(username=name, groups=tuple(dict.fromkeys([*groups, *_given_groups(name)]))))


def _given_groups(name: str) -> tuple[str, ...]:
    """Return the groups that the API server itself gives a user (apiserver pkg/authentication/{group,serviceaccount})."""
    if name == _ANONYMOUS:
        return ("system:unauthenticated",)
    if not name.startswith(_SERVICE_ACCOUNT):
        return ("system:authenticated",)
    namespace = name.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")


def check_old(path: str | None, operation: Operation) -> None:
    """Raise UsageError where --old and --operation do not fit together."""
    if path is None and operation is Operation.UPDATE:
        raise UsageError("--operation UPDATE needs --old FILE, the object before the change")
    if path is not None and operation is not Operation.UPDATE:
        raise UsageError("--old goes with --operation UPDATE only")


@dataclass(frozen=True, slots=True)
class Before:
    """The objects as they were before an UPDATE."""

    path: str
    objects: Mapping[ObjectKey, Object]

    def of(self, obj: Object) -> Object:
        """Return what an object was; raises InputError when it is not there."""
        key = ObjectKey.of(obj)
        if key not in self.objects:
            raise InputError(f"holds no {key}, so there is nothing to compare the manifest with", source=self.path)
        return self.objects[key]


def load_access(path: str) -> AccessList:
    """Read who may do what: one YAML or JSON list of rules, of which the first that fits a question answers it."""
    files, errors = manifest_files([path])
    for error in errors:
        raise error
    try:
        documents = [document.root.plain() for file in files for document in read_documents(file.content, file.path)]
    except BrokenSource as error:
        raise InputError(error.message, source=path, line=error.line) from error
    return access_list(documents[0] if len(documents) == 1 else documents, source=path)


def load_before(path: str, default_namespace: str) -> Before:
    """Read the objects before an UPDATE."""
    found = (placed(manifest, default_namespace) for manifest in load_manifests([path]))
    return Before(path, {ObjectKey.of(obj): obj for obj in found})
