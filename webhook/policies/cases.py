"""Decoder of PolicyTest files. Everything misspelt is an error: a test that tests nothing must not pass.

``spec.policies`` names files or folders relative to the test's own file (default: its folder). ``namespaceObject``,
``params`` and ``snapshot`` serve all cases; a case may add its own. ``now`` is the moment at which exceptions are judged (the
clock's without it); ``authorizer`` lists who may do what (see model.access). Params and snapshot take objects or names of files.
A case has a ``name``, an ``operation`` (default CREATE; DELETE takes the object as the old one), ``object`` or ``file``
(``jobs.yaml#1`` is its second document), ``oldObject`` or ``oldFile``, ``subResource``, ``user``, ``groups``, ``expect``.
``expect`` needs a ``verdict`` (allow, deny, warn, audit, error, skip) and may say ``policy``, ``binding``, ``rule``
(``validations[0]``), ``message`` (a part), ``field``, ``patched`` (a part of the object after the change) and ``groups``
(parts of the objects that would be created; an empty list: none).
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from webhook.errors import CasesError, InputError, PolicyError
from webhook.model.access import ACCESS_ANSWER, ACCESS_QUESTION, AccessList, access_list
from webhook.model.cases import Case, Expectation, PolicyTest
from webhook.model.objects import Object
from webhook.model.requests import Operation, UserInfo
from webhook.model.verdicts import Verdict
from webhook.policies.cursor import Cursor
from webhook.policies.files import read_limited
from webhook.policies.heads import fail_repeated
from webhook.policies.kinds import Treatment, roots_of, treatment_of
from webhook.policies.moments import moment_of
from webhook.policies.native import spec_of
from webhook.policies.nodes import BrokenSource, Document, read_documents
from webhook.settings import ReloadSettings

_OPERATIONS = tuple(operation.value for operation in Operation)
_VERDICTS = tuple(verdict.value for verdict in Verdict)


def load_cases(path: str | Path) -> tuple[PolicyTest, ...]:
    """Load the tests of a file, files that they name included; raises CasesError with all that is wrong.

    Documents of other kinds in the file are left alone: policies and their tests may share one.
    """
    errors: list[PolicyError] = []
    roots = [root for document in _read(Path(path), errors) for root in roots_of(document, errors)]
    tests = [_test(root) for root in roots if treatment_of(root) is Treatment.TEST]
    if errors:
        raise CasesError(list({str(error): error for error in errors}.values()))
    return tuple(tests)


def _test(root: Cursor) -> PolicyTest:
    spec, meta = spec_of(root), root.mapping("metadata")
    spec.only("policies", "namespaceObject", "params", "snapshot", "now", "authorizer", "cases")
    folder = Path(root.document.path).parent
    policies = [folder / name for name in spec.texts("policies")] or [folder]
    for policy in policies:
        if not policy.exists():
            spec.fail(f"there is no {policy}", "policies")
    items = spec.mappings("cases")
    if not items:
        spec.fail("required: at least one case", "cases")
    fail_repeated(items, "name")
    if meta is None and not root.has("metadata"):
        root.fail("required", "metadata")
    return PolicyTest(
        name=meta.text("name", required=True) if meta else "",
        path=root.document.path,
        policies=tuple(map(str, policies)),
        cases=tuple(case for case in (_case(item, spec) for item in items) if case),
    )


def _case(cursor: Cursor, spec: Cursor) -> Case | None:
    cursor.only(
        "name", "operation", "object", "file", "oldObject", "oldFile", "subResource", "user", "groups", "namespaceObject",
        "params", "snapshot", "now", "authorizer", "expect",
    )  # fmt: skip
    operation = Operation(cursor.text("operation", "CREATE", choices=_OPERATIONS))
    obj, old = _given(cursor, "object", "file"), _given(cursor, "oldObject", "oldFile")
    if obj is None and old is None and not cursor.has("file"):
        cursor.fail("one of object, file, oldObject and oldFile is required")
    if operation is Operation.DELETE and old is None:
        obj, old = None, obj  # the API server sends what is to go as the old object
    if operation is Operation.UPDATE and (obj is None or old is None):
        cursor.fail("operation UPDATE needs an object and an old one")
    expect = _expectation(cursor)
    if expect is None:
        return None
    return Case(
        name=cursor.text("name", required=True),
        origin=cursor.origin,
        operation=operation,
        object=obj,
        old_object=old,
        sub_resource=cursor.text("subResource"),
        user=UserInfo(username=cursor.text("user"), groups=cursor.texts("groups")),
        namespace_object=_namespace(cursor) or _namespace(spec),
        params=(*_objects(spec, "params"), *_objects(cursor, "params")),
        now=_moment(cursor) or _moment(spec),
        authorizer=_access(cursor, spec),
        snapshot=(*_objects(spec, "snapshot"), *_objects(cursor, "snapshot")),
        expect=expect,
    )


def _expectation(case: Cursor) -> Expectation | None:
    cursor = case.mapping("expect")
    if cursor is None:
        case.fail("required", "expect") if not case.has("expect") else None
        return None
    cursor.only("verdict", "message", "policy", "binding", "rule", "field", "patched", "groups")
    verdict = cursor.text("verdict", "allow", required=True, choices=_VERDICTS)
    if not cursor.has("verdict"):
        cursor.fail("required", "verdict")
    patched = cursor.mapping("patched")
    return Expectation(
        verdict=Verdict(verdict),
        message=cursor.text("message"),
        policy=cursor.text("policy"),
        binding=cursor.text("binding"),
        rule=cursor.text("rule"),
        field=cursor.text("field"),
        patched=patched.plain() if patched else None,
        groups=tuple(item.plain() for item in cursor.mappings("groups")) if cursor.has("groups") else None,
    )


def _namespace(cursor: Cursor) -> Object | None:
    found = cursor.mapping("namespaceObject")
    return found.plain() if found else None


def _access(*places: Cursor) -> AccessList | None:
    """Read who may do what: the case's own rules before those of all cases, for the first that fits counts."""
    given = [place for place in places if place.has("authorizer")]
    rules: list[Object] = []
    for place in given:
        found = [item.only(*ACCESS_QUESTION, *ACCESS_ANSWER).plain() for item in place.mappings("authorizer")]
        try:
            access_list(found, source=place.document.path)
        except InputError as error:
            place.fail(str(error.args[0]), "authorizer")
        else:
            rules += found
    return access_list(rules, source=places[0].document.path) if given else None


def _moment(cursor: Cursor) -> datetime | None:
    text = cursor.text("now")
    try:
        return moment_of(text) if text else None
    except ValueError:
        cursor.fail(f'"{text}" is not a moment: write 2026-12-31 or 2026-12-31T18:00:00Z', "now")
        return None


def _given(cursor: Cursor, inline: str, file: str) -> Object | None:
    """Return an object written in place, or one document of a file."""
    if cursor.has(inline) and cursor.has(file):
        cursor.fail(f"{inline} and {file} exclude each other", file)
    written = cursor.mapping(inline)
    if written is not None:
        return written.plain()
    name, _, index = cursor.text(file).partition("#")
    if not name:
        return None
    objects = _file(cursor, name, file)
    if index and not index.isdecimal():
        cursor.fail(f'"{index}" is not the number of a document', file)
    elif index and int(index) < len(objects):
        return objects[int(index)]
    elif not index and len(objects) == 1:
        return objects[0]
    elif objects:
        cursor.fail(f'{name} has {len(objects)} documents: choose one, such as "{name}#0"', file)
    return None


def _objects(cursor: Cursor, name: str) -> tuple[Object, ...]:
    """Return a list of objects, each written in place or one of those in a file."""
    found: list[Object] = []
    for item in cursor.items(name):
        if isinstance(item.node.value, str):
            found += _file(cursor, item.node.value, name)
        elif item.expect(dict, "a mapping or the name of a file"):
            found.append(item.plain())
    return tuple(found)


def _file(cursor: Cursor, name: str, field: str) -> list[Object]:
    path = Path(cursor.document.path).parent / name
    errors: list[PolicyError] = []
    roots = [root for document in _read(path, errors) for root in roots_of(document, errors)]
    for error in errors:
        cursor.fail(str(error), field)
    return [root.plain() for root in roots]


def _read(path: Path, errors: list[PolicyError]) -> list[Document]:
    try:
        content = read_limited(path, ReloadSettings().file_limit_bytes)
        return list(read_documents(content, str(path)))
    except OSError as error:
        errors.append(PolicyError(f"cannot be read: {error.strerror or error}", path=str(path)))
    except ValueError as error:
        errors.append(PolicyError(str(error), path=str(path)))
    except BrokenSource as error:
        errors.append(PolicyError(error.message, path=str(path), line=error.line, column=error.column))
    return []
