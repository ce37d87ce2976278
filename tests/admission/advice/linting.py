"""Policies of a few lines, completed and linted: what is not written is that of a policy which nothing is wrong with."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from webhook.cli.lint import lint
from webhook.model.diagnostics import Diagnostic

MARK = re.compile(r"# (?:warned|noted)")
_DEFAULTS = {
    "matchConstraints": "{resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}",
    "validations": '[{expression: "object.spec.parallelism > 0", message: spec.parallelism must not be 0}]',
}
_BINDING = """---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: example}
spec: {policyName: example, validationActions: [Deny]}
"""


def whole(fragment: str) -> str:
    """Return a policy with its binding; a fragment holds fields of its spec, or whole documents."""
    text = textwrap.dedent(fragment).strip("\n")
    if text.lstrip("# \n").startswith("apiVersion:"):
        return text + "\n"
    written = set(re.findall(r"^(\w+):", text, re.MULTILINE))
    filled = "".join(f"  {name}: {value}\n" for name, value in _DEFAULTS.items() if name not in written)
    head = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: example}\nspec:\n"
    return f"{head}{filled}{textwrap.indent(text, '  ')}\n{_BINDING}"


def linted(fragment: str, folder: Path) -> tuple[Diagnostic, ...]:
    """Return what lint says of a fragment."""
    (folder / "policy.yaml").write_text(whole(fragment))
    return lint([str(folder / "policy.yaml")]).diagnostics


def marked(fragment: str) -> list[int]:
    """Return the lines of the whole text that a fragment marks with ``# warned`` or ``# noted``."""
    return [number for number, line in enumerate(whole(fragment).split("\n"), 1) if MARK.search(line)]
