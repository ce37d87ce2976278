"""A policy that says by which edit it judges, and ways in which an edit breaks it."""

from __future__ import annotations

from collections.abc import Callable

BREAKS: dict[str, Callable[[str], str]] = {
    "a tab": lambda text: text.replace("  ", "\t", 1),
    "half of it": lambda text: text[: len(text) // 2].rstrip() + "\n  - {",
    "a key twice": lambda text: text.replace("kind:", "kind: Other\nkind:", 1),
    "an unknown field": lambda text: text.replace("spec:", "spec:\n  failurPolicy: Fail", 1),
    "a CEL error": lambda text: text.replace("expression: 'false'", "expression: object.spec.parallelism <=", 1),
    "a name that nobody declared": lambda text: text.replace("expression: 'false'", "expression: objct.spec == 1", 1),
    "an alias": lambda text: text.replace("metadata:", "metadata: &a\n  generateName: *a", 1),
    "bytes": lambda text: "\x00\x01" + text,
}


def numbered(name: str, number: int, *, action: str = "Warn", failure_policy: str = "Fail", label: str = "") -> str:
    """Return a policy, bound, that says the number of its edit about every new Job; with ``label`` only where that is true."""
    selector = f"\n    objectSelector: {{matchLabels: {{{label}: 'true'}}}}" if label else ""
    return f"""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {name}
spec:
  failurePolicy: {failure_policy}
  matchConstraints:
    resourceRules: [{{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}}]{selector}
  validations:
  - expression: 'false'
    message: edit {number}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {name}
spec:
  policyName: {name}
  validationActions: [{action}]
"""
