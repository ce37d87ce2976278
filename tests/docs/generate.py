"""Writes the parts of the documentation that the code knows better; run as ``python -m tests.docs.generate``.

A part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``; a test fails when it is not what the code says.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import fill

import click
import yaml
from prometheus_client import CollectorRegistry

from tests.docs.pages import PAGES, ROOT
from webhook.admission.advice import ADVICE
from webhook.cel import library
from webhook.cel.declare import Overload
from webhook.cel.macros import MACROS
from webhook.cli import main as command_line
from webhook.groups.catalogue import Topic, notes_on
from webhook.policies import SCHEMA_KINDS, schema_of, schema_of_all
from webhook.reports import json_text
from webhook.server import GroupMetrics, Metrics

WIDTH = 100
PAGE = 150
_PART = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def help_of(*names: str) -> str:
    """Return the help of a command as it is printed on a terminal of a fixed width."""
    command: click.Command = command_line
    context = click.Context(command, info_name="gangwarden", terminal_width=WIDTH, **command_line.context_settings)
    for name in names:
        assert isinstance(command, click.Group)
        found = command.get_command(context, name)
        assert found, f"no such command: {' '.join(names)}"
        command, context = found, click.Context(found, info_name=name, parent=context)
    return command.get_help(context)


def commands(*path: str) -> Iterator[tuple[str, ...]]:
    """Yield the path of every command, groups before what they hold."""
    group: click.Command = command_line
    context = click.Context(command_line, info_name="gangwarden")
    for name in path:
        assert isinstance(group, click.Group)
        group = group.get_command(context, name) or group
    if path:
        yield path
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            yield from commands(*path, name)


def _help() -> str:
    return f"```text\n{help_of()}\n```\n"


def _commands() -> str:
    return "\n".join(f"## gangwarden {' '.join(path)}\n\n```text\n{help_of(*path)}\n```\n" for path in commands())


def _policies() -> str:
    rows = ["| policy | in a sentence | asked | action |", "| --- | --- | --- | --- |"]
    for path in sorted((ROOT / "policies").glob("*/*/policy.yaml")):
        folder = path.parent.relative_to(ROOT).as_posix()
        _, _, sentence = (path.parent / "README.md").read_text().partition("\n")[0].partition(": ")
        documents = list(yaml.safe_load_all(path.read_text()))
        rows.append(
            f"| [{folder.removeprefix('policies/')}]({folder}/) | {sentence} | {_asked(documents[0])} | {_action(documents)} |"
        )
    return "\n".join(rows) + "\n"


def _asked(policy: dict) -> str:
    is_native = (policy["metadata"].get("labels") or {}).get("gangwarden.dev/install") == "native"
    return "in the API server" if is_native else "in Gangwarden"


def _action(documents: list[dict]) -> str:
    if documents[0]["kind"] == "WorkloadPolicy":
        return "groups"
    if documents[0]["kind"] == "MutatingAdmissionPolicy":
        return "changes"
    return ", ".join(action for doc in documents for action in doc.get("spec", {}).get("validationActions", ()))


def _metrics() -> str:
    rows = ["| metric | type | labels | meaning |", "| --- | --- | --- | --- |"]
    registry = CollectorRegistry()
    Metrics(registry)
    GroupMetrics(registry, stranded=dict, leads=bool)
    for collector in dict.fromkeys(registry._names_to_collectors.values()):
        (family,) = collector.describe()
        name = family.name + ("_total" if family.type == "counter" else "")
        labels = ", ".join(f"`{label}`" for label in getattr(collector, "_labelnames", None) or getattr(collector, "_labels", ()))
        rows.append(f"| `{name}` | {family.type} | {labels} | {family.documentation} |")
    return "\n".join(rows) + "\n"


def _cel_functions() -> str:
    rows = ["| library | functions and methods |", "| --- | --- |"]
    for module in (*library._MODULES, library.jsonpatch):
        names = dict.fromkeys(_written(overload) for overload in module.OVERLOADS)
        topic = module.__name__.rpartition(".")[2].replace("_", " ")
        rows.append(f"| {topic} | {', '.join(f'`{name}`' for name in names if name)} |")
    return "\n".join(rows) + "\n"


def _written(overload: Overload) -> str:
    """Return a function as an author writes it; empty for operators and what macros call."""
    if not re.fullmatch(r"[\w.]+", overload.function) or overload.function.startswith("_"):
        return ""
    return f"{'.' if overload.is_method else ''}{overload.function}()"


def _cel_macros() -> str:
    forms: dict[str, list[int]] = {}
    for name, arguments in MACROS:
        forms.setdefault(name, []).append(arguments)
    return (
        "".join(f"- `.{name}()` with {' or '.join(map(str, counts))} arguments\n" for name, counts in forms.items())
        + "- `has()`\n"
    )


def _limits() -> str:
    rows = ["| topic | setting | value | why |", "| --- | --- | --- | --- |"]
    tree = ast.parse((ROOT / "webhook/settings.py").read_text())
    for topic in (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name != "Settings"):
        for field, sentence in zip(topic.body, topic.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(sentence, ast.Expr) and field.value:
                why = " ".join(ast.literal_eval(sentence.value).split())
                name = topic.name.removesuffix("Settings").lower()
                rows.append(f"| {name} | `{ast.unparse(field.target)}` | `{ast.unparse(field.value)}` | {why} |")
    return "\n".join(rows) + "\n"


def _lint_rules() -> str:
    rows = ["| rule | level | what it looks for |", "| --- | --- | --- |"]
    rows += [f"| [{name}](#{name}) | {advice.level} | {advice.sentence} |" for name, advice in ADVICE.items()]
    return "\n".join(rows) + "\n"


def _notes(topic: Topic) -> Callable[[], str]:
    """Return the part of the runbook on one topic: a heading for each entry, so that an answer can point at it."""
    return lambda: "\n".join(
        f"### {note.code}\n\n{fill(note.meaning, PAGE)}\n{fill(f'**Next:** {note.next_step}', PAGE)}\n"
        for note in notes_on(topic)
    )


def _action_inputs() -> str:
    action = yaml.safe_load((ROOT / ".github/actions/gangwarden/action.yml").read_text())
    rows = ["| input | default | meaning |", "| --- | --- | --- |"]
    for name, spec in action["inputs"].items():
        default = f"`{spec['default']}`" if spec["default"] else "none"
        rows.append(f"| `{name}` | {default} | {spec['description']} |")
    return "\n".join(rows) + "\n"


PARTS: Mapping[str, Callable[[], str]] = {
    "help": _help,
    "commands": _commands,
    "policies": _policies,
    "metrics": _metrics,
    "cel-functions": _cel_functions,
    "cel-macros": _cel_macros,
    "limits": _limits,
    "action-inputs": _action_inputs,
    "lint-rules": _lint_rules,
    "events": _notes(Topic.EVENT),
    "losses": _notes(Topic.LOSS),
    "findings": _notes(Topic.FINDING),
}


def renewed(text: str) -> str:
    """Return a page with its generated parts as the code has them now."""
    return _PART.sub(lambda found: f"{found[1]}{PARTS[found['name']]()}", text)


def schema_files() -> dict[Path, str]:
    """Return the JSON Schemas that editors may point at, by file: one of all kinds, and one of each."""
    folder = ROOT / "docs/schemas"
    schemas = {"gangwarden": schema_of_all(), **{kind.lower(): schema_of(kind) for kind in SCHEMA_KINDS}}
    return {folder / f"{name}.json": json_text(schema, indent=1) + "\n" for name, schema in schemas.items()}


def main() -> int:
    """Rewrite every page that has generated parts, and the schemas."""
    for page in PAGES:
        write(page, renewed(page.read_text(encoding="utf-8")))
    for path, text in schema_files().items():
        write(path, text)
    return 0


def write(path: Path, text: str) -> None:
    """Rewrite one file if it is out of date."""
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
