"""Scenes for the rules of advice: fragments of policies, with the lines marked that a rule is to speak of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

PODS = "{resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}"
PODS_AND_JOBS = """{resourceRules: [
      {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]},
      {apiGroups: [batch], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [jobs]}]}"""
SELECTOR = """matchConstraints:
  objectSelector: {matchExpressions: [%s]}
  resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]"""
RULE = "matchConstraints: {resourceRules: [{apiGroups: %s}]}"
ANY_JOB = "{resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: ['*'], resources: [jobs]}]}"


@dataclass(frozen=True)
class Scene:
    """A sentence about a rule; marks in the fragment say where it speaks, or ``speaks`` whether it does at all."""

    sentence: str
    rule: str
    fragment: str
    speaks: bool = False
    says: str = ""

    def __str__(self) -> str:
        return f"{self.rule}: {self.sentence}"


def validations(*expressions: str, head: str = "") -> str:
    """Return a fragment with these validations."""
    entries = "".join(
        f"- expression: {expression.split('  #')[0]!r}{_comment(expression)}\n  message: nope\n" for expression in expressions
    )
    return f"{head}\nvalidations:\n{entries}"


def _comment(expression: str) -> str:
    return f"  #{expression.split('  #')[1]}" if "  #" in expression else ""


READING = (
    Scene(
        "an optional field is read without has()",
        "absent-field",
        validations(
            "object.spec.completions > 1  # warned",
            'object.spec.template.spec.nodeSelector.zone == "a"  # warned',
            'object.metadata.labels["team"] == "a"  # warned',
            "object.spec.template.spec.containers.all(c, c.securityContext.privileged == false)  # warned",
            'object.spec.template.spec.initContainers.all(c, c.image != "")  # warned',
        ),
        says="may be absent",
    ),
    Scene(
        "has(), in, ?. and filters are guards, in any order and by way of variables and conditions",
        "absent-field",
        validations(
            "!has(object.spec.completions) || object.spec.completions > 1",
            "object.spec.completions > 1 && has(object.spec.completions)",
            "has(object.spec.completions) ? object.spec.completions > 1 : true",
            "variables.grouped ? has(object.spec.scheduling.schedulingPolicy) : true",
            'object.metadata.?labels[?"team"].orValue("") == "a"',
            'has(object.metadata.labels) && "team" in object.metadata.labels && object.metadata.labels.team == "a"',
            "variables.limited.all(c, c.resources.limits.size() > 0)",
            "object.spec.template.spec.containers.all(c, !has(c.securityContext) || c.securityContext.?privileged.orValue(true))",
            "object.spec.activeDeadlineSeconds > 1",
            '["a"].exists(x, has(object.spec.ttlSecondsAfterFinished) && object.spec.ttlSecondsAfterFinished > 1)',
            head="""matchConditions:
- {name: limited, expression: has(object.spec.activeDeadlineSeconds)}
variables:
- {name: grouped, expression: has(object.spec.scheduling)}
- {name: limited, expression: "object.spec.template.spec.containers.filter(c, has(c.resources) && has(c.resources.limits))"}""",
        ),
    ),
    Scene(
        "fields that the API server fills in are there",
        "absent-field",
        validations(
            'object.spec.parallelism > 0 && object.spec.backoffLimit > 0 && object.metadata.name != ""',
            'object.spec.template.spec.containers.all(c, c.image != "" && c.imagePullPolicy == "Always")',
            'object.spec.template.spec.restartPolicy == "Never"',
        ),
    ),
    Scene(
        "a variable is judged where it is read",
        "absent-field",
        """
        variables:
        - {name: some, expression: object.spec.completions}
        - {name: more, expression: object.spec.ttlSecondsAfterFinished}  # warned
        validations:
        - {expression: "!has(object.spec.completions) || variables.some > 1", message: nope}
        - {expression: variables.more > 1, message: nope}
        """,
    ),
    Scene(
        "a message whose rule has failed knows what the rule has asked",
        "fragile-message",
        """
        validations:
        - expression: "!has(object.spec.completions)"
          messageExpression: "'completions is ' + string(object.spec.completions)"
        - expression: object.spec.parallelism > 1
          messageExpression: "'completions is ' + string(object.spec.completions)"   # warned
        - expression: object.spec.parallelism > 2
          message: too few
          messageExpression: "'completions is ' + string(object.spec.completions)"   # noted
        """,
        says="shown instead",
    ),
    Scene(
        "a message that cannot fail",
        "fragile-message",
        "validations: [{expression: 'false', messageExpression: object.metadata.name}]",
    ),
    Scene(
        "object is null when it is deleted",
        "null-object",
        validations(
            "object.spec.parallelism > 0  # warned",
            'request.operation == "DELETE" || oldObject.spec.parallelism == object.spec.parallelism  # warned',
            'request.operation == "DELETE" || object.spec.parallelism > 0',
            "object == null || object.spec.parallelism > 0",
            "has(object.spec) ? object.spec.parallelism > 0 : true",
            '!(request.operation in ["CREATE", "UPDATE"]) || object.spec.parallelism > 0',
            head=f"matchConstraints: {ANY_JOB}",
        ),
    ),
    Scene(
        "a match condition keeps deletions and creations out",
        "null-object",
        validations(
            "object.spec.parallelism == oldObject.spec.parallelism",
            head=f"matchConstraints: {ANY_JOB}\nmatchConditions: [{{name: c, expression: \"request.operation == 'UPDATE'\"}}]",
        ),
    ),
    Scene(
        "each kind has operations of its own",
        "null-object",
        """
        matchConstraints:
          resourceRules:
          - {apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}
          - {apiGroups: [batch], apiVersions: [v1], operations: [UPDATE], resources: [cronjobs]}
        validations:
        - {expression: "object.kind == 'Job' || oldObject.spec.schedule == object.spec.schedule", message: nope}
        """,
    ),
)
MORE_READING = (
    Scene(
        "match conditions do not see the namespace",
        "null-object",
        """
        matchConditions:
        - {name: labelled, expression: "namespaceObject.metadata.labels['a'] == 'b'"}            # warned
        - {name: careful, expression: "namespaceObject.?metadata.?labels[?'a'].orValue('') != 'b'"}
        validations:
        - {expression: "namespaceObject.metadata.name != 'a'", message: nope}
        """,
        says="namespaceObject is null",
    ),
    Scene(
        "conditions of an exception are read as those of the policy",
        "absent-field",
        """
        apiVersion: gangwarden.dev/v1alpha1
        kind: PolicyException
        metadata: {name: some}
        spec:
          policyName: example
          rules: [{rule: "validations[0]"}]
          matchConditions:
          - {name: named, expression: "namespaceObject.metadata.name == 'team-a'"}
          - {name: old, expression: "object.metadata.labels.old == 'true'"}       # warned
          owner: me
          reason: because
          expires: 2027-01-31
        ---
        apiVersion: admissionregistration.k8s.io/v1
        kind: ValidatingAdmissionPolicy
        metadata: {name: example}
        spec:
          matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
          validations: [{expression: object.spec.parallelism > 0, message: nope}]
        """,
    ),
    Scene(
        "what is below an absent field is not told again",
        "absent-field",
        """
        validations:
        - expression: |-
            object.metadata   // nothing is missing yet
            .labels           // # warned
            .team == 'a'
          message: nope
        """,
    ),
    Scene(
        "an element of a list has no name to ask by",
        "absent-field",
        validations("object.spec.template.spec.containers.all(c, c.securityContext != null)  # warned"),
        says="[*].securityContext may be absent, and reading it then fails; ask has() first, or write .?securityContext",
    ),
    Scene(
        "null is told once in each expression",
        "null-object",
        f"""
        matchConstraints: {ANY_JOB}
        validations:
        - expression: |-
            object.spec.parallelism > 0       // # warned
            && object.spec.backoffLimit > 0
          message: nope
        """,
    ),
    Scene(
        "what other kinds share with Jobs",
        "absent-field",
        validations(
            "object.metadata.labels.team == 'a'  # warned",
            "object.spec.template.spec.containers.all(c, c.securityContext.privileged == false)  # warned",
            "object.spec.template.spec.containers.all(c, c.image != '')",
            "object.spec.paused == false",
            head="""matchConstraints:
  resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]""",
        ),
    ),
    Scene(
        "a name made from generateName comes after mutation",
        "absent-field",
        """
        apiVersion: admissionregistration.k8s.io/v1
        kind: MutatingAdmissionPolicy
        metadata: {name: example}
        spec:
          reinvocationPolicy: Never
          matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
          mutations:
          - patchType: ApplyConfiguration
            applyConfiguration:
              expression: "Object{metadata: Object.metadata{labels: {'job': object.metadata.name}}}"      # warned
        """,
    ),
    Scene(
        "mutations and groups are read too",
        "absent-field",
        """
        apiVersion: admissionregistration.k8s.io/v1
        kind: MutatingAdmissionPolicy
        metadata: {name: example}
        spec:
          reinvocationPolicy: Never
          matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
          mutations:
          - patchType: ApplyConfiguration
            applyConfiguration:
              expression: "Object{spec: Object.spec{parallelism: object.spec.completions}}"      # warned
        ---
        apiVersion: gangwarden.dev/v1alpha1
        kind: WorkloadPolicy
        metadata: {name: example}
        spec:
          matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
          podGroups:
          - {name: workers, members: {path: spec.template, countExpression: object.spec.completions}}   # warned
        """,
    ),
)
TYPES = (
    Scene(
        "a field that no Job has",
        "unknown-field",
        validations(
            "object.spec.paralellism > 0  # warned",
            'object.spec.template.spec.containers.exists(c, c.imge == "a")  # warned',
            "!has(object.spec.replicas)  # warned",
        ),
        says="undefined field",
    ),
    Scene(
        "a field that one of the kinds has, read for it alone",
        "unknown-field",
        validations(
            'object.kind != "Job" || object.spec.template.spec.restartPolicy == "Never"',
            '(object.kind == "Job" ? object.spec.template.spec : object.spec).restartPolicy == "Never"',
            '["Pod", "Deployment"].all(kind, object.kind != kind) || object.spec.restartPolicy == "Never"',
            'object.spec.template.spec.restartPolicy == "Never"  # warned',
            head=f"matchConstraints: {PODS_AND_JOBS}",
        ),
        says="of v1 Pod",
    ),
    Scene(
        "kinds that are not built in",
        "unknown-field",
        validations(
            "object.spec.anything == 1",
            head="""matchConstraints:
  resourceRules: [{apiGroups: [example.org], apiVersions: [v1], operations: [CREATE], resources: [cars]}]""",
        ),
    ),
    Scene(
        "types that do not fit",
        "type-mismatch",
        validations('object.spec.parallelism == "3"  # warned', "object.spec.suspend > 1  # warned"),
        says="no matching overload",
    ),
    Scene(
        "types that fit when evaluated, whatever the API server's checker thinks of them",
        "type-mismatch",
        validations(
            '(object.spec.template.spec.containers + object.spec.template.spec.initContainers).all(c, c.image != "")',
            'object.metadata.namespace != "" && object.spec.template.spec.containers.all(c, c.resources.limits["cpu"] != "")',
        ),
    ),
)
CONDITIONS = (
    Scene(
        "conditions and rules that are always the same",
        "constant-condition",
        """
        matchConditions:
        - {name: all, expression: "1 < 2"}                                        # warned
        validations:
        - {expression: "true", message: nope}                                       # warned
        - {expression: "request.operation != 'DELETE'", message: nope}              # warned
        - {expression: "false", message: nobody may}
        - {expression: "object.spec.parallelism > 0", message: nope}
        """,
        says="always",
    ),
    Scene("conditions that depend on the object", "constant-condition", validations("object.spec.suspend == true")),
    Scene(
        "a condition that no matched request meets",
        "never-applies",
        """
        matchConditions:
        - {name: named, expression: "has(object.metadata.name)"}
        - {name: deleted, expression: "request.operation == 'DELETE'"}            # warned
        """,
    ),
    Scene(
        "two conditions that exclude each other",
        "never-applies",
        f"""
        matchConstraints: {ANY_JOB}
        matchConditions:
        - {{name: made, expression: "request.operation == 'CREATE'"}}
        - {{name: changed, expression: "oldObject != null"}}                        # warned
        """,
        says="where the conditions before it hold",
    ),
    Scene(
        "a kind that is not matched",
        "never-applies",
        "matchConditions: [{name: c, expression: \"object.kind == 'Pod'\"}]",
        speaks=True,
    ),
    Scene(
        "a kind that is matched", "never-applies", "matchConditions: [{name: c, expression: \"object.kind in ['Pod', 'Job']\"}]"
    ),
)
SELECTORS = (
    Scene(
        "a label that is to be there and not to be there",
        "never-applies",
        SELECTOR % "{key: a, operator: Exists}, {key: a, operator: DoesNotExist}",
        speaks=True,
        says="the label 'a' cannot all hold",
    ),
    Scene(
        "no value is left",
        "never-applies",
        SELECTOR % "{key: a, operator: In, values: [x]}, {key: a, operator: NotIn, values: [x, y]}",
        speaks=True,
    ),
    Scene(
        "a value is left",
        "never-applies",
        SELECTOR % "{key: a, operator: In, values: [x, z]}, {key: a, operator: NotIn, values: [x]}",
    ),
    Scene(
        "absent, or another",
        "never-applies",
        SELECTOR % "{key: a, operator: DoesNotExist}, {key: a, operator: NotIn, values: [x]}",
    ),
)
PODS_RULES = (
    Scene(
        "images of containers only",
        "missed-containers",
        validations('object.spec.containers.all(c, c.image.startsWith("r/"))  # warned', head=f"matchConstraints: {PODS}"),
    ),
    Scene(
        "initContainers too, by a variable",
        "missed-containers",
        validations(
            'variables.all.all(c, c.image.startsWith("r/"))',
            head="""variables:
- name: all
  expression: object.spec.template.spec.containers + object.spec.template.spec.?initContainers.orValue([])""",
        ),
    ),
    Scene(
        "requests of containers, which are another matter",
        "missed-containers",
        validations("object.spec.containers.all(c, c.?resources.?requests.hasValue())", head=f"matchConstraints: {PODS}"),
    ),
    Scene(
        "debug containers, which come later",
        "missed-containers",
        validations(
            '(object.spec.containers + object.spec.?initContainers.orValue([])).all(c, c.image.startsWith("r/"))  # noted',
            head=f"matchConstraints: {PODS}",
        ),
        says="ephemeralContainers",
    ),
    Scene(
        "pods and nothing that makes them",
        "missed-templates",
        validations('object.spec.containers.all(c, c.image != "a")', head=f"matchConstraints: {PODS}"),
        speaks=True,
    ),
    Scene(
        "pods and Jobs",
        "missed-templates",
        validations(
            '(object.kind == "Pod" ? object.spec : object.spec.template.spec).containers.all(c, c.image != "a")',
            head=f"matchConstraints: {PODS_AND_JOBS}",
        ),
    ),
)
CONDUCT = (
    Scene("no message", "no-message", "validations: [{expression: object.spec.parallelism > 0}]  # warned"),
    Scene(
        "a composed message",
        "no-message",
        "validations: [{expression: object.spec.parallelism > 0, messageExpression: '\"no\"'}]",
    ),
    Scene("denies and ignores", "ignored-failures", "failurePolicy: Ignore", speaks=True),
    Scene("denies and fails", "ignored-failures", "failurePolicy: Fail"),
    Scene(
        "every resource",
        "matches-everything",
        "matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: ['*']}]}",
        speaks=True,
    ),
    Scene(
        "every resource, without holding anything up",
        "matches-everything",
        "failurePolicy: Ignore\n"
        "matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: ['*']}]}",
    ),
    Scene(
        "a label switches the rule off",
        "tenant-decides",
        """
        matchConditions:
        - {name: not-exempt, expression: "object.metadata.?labels[?'exempt'].orValue('') != 'true'"}              # warned
        - {name: not-skipped, expression: "!has(object.metadata.annotations) || !('a' in object.metadata.annotations)"}  # warned
        - {name: is-a-gang, expression: "object.metadata.?labels[?'gang'].orValue('') == 'true'"}
        - {name: not-ours, expression: "request.userInfo.username != 'admin'"}
        validations:
        - {expression: "object.spec.parallelism > 0 || 'skip' in object.metadata.?labels.orValue({})", message: nope}   # warned
        - {expression: "!has(object.metadata.labels) || object.metadata.labels.all(k, k != 'a')", message: nope}
        """,
    ),
    Scene(
        "an annotation that fulfils the rule in another way",
        "tenant-decides",
        validations(
            "has(object.spec.template.spec.securityContext) || object.metadata.?annotations[?'seccomp'].orValue('') == 'default'"
        ),
    ),
    Scene(
        "a selector leaves out what has a label",
        "tenant-decides",
        """
        matchConstraints:
          objectSelector: {matchExpressions: [{key: exempt, operator: DoesNotExist}]}
          resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]
        """,
        speaks=True,
        says="'exempt'",
    ),
    Scene(
        "a selector asks for a label, and a rule about a label",
        "tenant-decides",
        """
        matchConstraints:
          objectSelector: {matchLabels: {gang: "true"}}
          resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]
        variables:
        - {name: trusted, expression: "request.userInfo.username == 'admin'"}
        validations:
        - {expression: "variables.trusted || object.metadata.?labels[?'team'].orValue('') == 'a'", message: nope}
        """,
    ),
    Scene(
        "an exception for whoever has a label",
        "tenant-decides",
        """
        apiVersion: gangwarden.dev/v1alpha1     # warned
        kind: PolicyException
        metadata: {name: some}
        spec:
          policyName: example
          rules: [{rule: "validations[0]"}]
          matchConditions: [{name: c, expression: "object.metadata.?labels[?'exempt'].orValue('') == 'true'"}]
          owner: me
          reason: because
          expires: 2027-01-31
        ---
        apiVersion: admissionregistration.k8s.io/v1
        kind: ValidatingAdmissionPolicy
        metadata: {name: example}
        spec:
          matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
          validations: [{expression: object.spec.parallelism > 0, message: nope}]
        """,
        says="authors set themselves",
    ),
)
EXCEPTION = """
apiVersion: gangwarden.dev/v1alpha1
kind: PolicyException
metadata: {{name: some}}
spec:
  policyName: example
  rules: [{{rule: "validations[0]"}}]
  matchConditions: [{{name: c, expression: "request.namespace == 'team-a'"}}]
  owner: me
  reason: because
  expires: {expires}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: example}}
spec:
  matchConstraints: {{resourceRules: [{{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}}]}}
  validations: [{{expression: object.spec.parallelism > 0, message: nope}}]
"""
WORKLOAD = """
apiVersion: gangwarden.dev/v1alpha1
kind: WorkloadPolicy
metadata: {name: example}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
  podGroups: [{name: workers, members: {path: spec.template, countExpression: object.spec.parallelism}}]
"""
LONE = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: example}
spec: {policyName: exmaple, validationActions: [Deny]%s}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
  validations: [{expression: object.spec.parallelism > 0, message: nope}]
"""
IGNORING = "metadata: {name: example, annotations: {gangwarden.dev/lint-ignore: %s}}"
PARAMS = "paramKind: {apiVersion: v1, kind: ConfigMap}"
REFERENCE = ", paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}"
PARAMETRIC = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: example}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}
  validations:
  - {expression: object.spec.parallelism <= int(params.data.max), message: too many pods}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: example}
spec:
  policyName: example
  validationActions: [Deny]
  paramRef: {name: %s, namespace: default, parameterNotFoundAction: Deny}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, namespace: %s}
data: {max: "16"}
"""
WIRING = (
    Scene("a policy for us alone", "not-exportable", WORKLOAD, speaks=True),
    Scene("a policy that asks the cluster", "not-exportable", validations('cluster.group("a").hasValue()'), speaks=True),
    Scene("a policy for the API server", "not-exportable", ""),
    Scene("a name that nobody has", "binding-without-policy", LONE % ("", "example"), speaks=True, says="did you mean example?"),
    Scene("a name that a policy has", "binding-without-policy", LONE % ("", "exmaple")),
    Scene("a policy that nothing binds", "policy-without-binding", LONE % ("", "example"), speaks=True),
    Scene("a policy that is bound", "policy-without-binding", LONE % ("", "exmaple")),
    Scene("params for a policy that takes none", "param-ref-unused", LONE % (REFERENCE, "exmaple"), speaks=True),
    Scene("no params for a policy that takes none", "param-ref-unused", ""),
    *(
        Scene(sentence, "unknown-resource", RULE % rule, speaks=True, says=says)
        for sentence, rule, says in (
            ("the singular", "[batch], apiVersions: [v1], operations: [CREATE], resources: [job]", "did you mean jobs?"),
            ("a kind", "[batch], apiVersions: [v1], operations: [CREATE], resources: [Job]", "did you mean jobs?"),
            (
                "a group of its own",
                "[''], apiVersions: [v1], operations: [CREATE], resources: [jobs]",
                "it is in API group batch",
            ),
            ("a letter too few", "[bach], apiVersions: [v1], operations: [CREATE], resources: [jobs]", "did you mean batch?"),
            ("a letter too many", "[battch], apiVersions: [v1], operations: [CREATE], resources: [jobs]", "did you mean batch?"),
            ("two letters that changed places", "[bacth], apiVersions: [v1], operations: [CREATE], resources: [jobs]", "batch?"),
            ("the core group by a name", "[core], apiVersions: [v1], operations: [CREATE], resources: [pods]", 'is written ""'),
            ("a version", "[batch], apiVersions: [v1beta9], operations: [CREATE], resources: [jobs]", "has only v1"),
        )
    ),
    *(
        Scene(sentence, "unknown-resource", RULE % rule)
        for sentence, rule in (
            ("a subresource", "[''], apiVersions: [v1], operations: [CREATE], resources: [pods/eviction, 'pods/*', '*/scale']"),
            ("resources of several groups", "['', batch], apiVersions: [v1], operations: [CREATE], resources: [pods, jobs]"),
            ("custom resources", "[jobset.x-k8s.io, batch], apiVersions: ['*'], operations: [CREATE], resources: [jobsets]"),
            ("an older version as well", "[batch], apiVersions: [v1, v1beta1], operations: [CREATE], resources: [cronjobs]"),
            ("a group without a schema here", "[certificates.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [x]"),
            ("a group of somebody's own", "[apps.example.com], apiVersions: [v1], operations: [CREATE], resources: [job]"),
        )
    ),
    Scene("no policy at all", "no-policy", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: example}", speaks=True),
    Scene("a policy", "no-policy", ""),
    Scene(
        "no params for a policy that reads them",
        "param-ref-missing",
        validations('params.data.max != ""', head=PARAMS),
        speaks=True,
    ),
    Scene("no params, and none are read", "param-ref-missing", PARAMS),
    Scene(
        "a param that nobody has", "param-not-found", PARAMETRIC % ("limit", "default"), speaks=True, says="did you mean limits?"
    ),
    Scene(
        "a param in another namespace",
        "param-not-found",
        PARAMETRIC % ("limits", "other"),
        speaks=True,
        says="in namespace default",
    ),
    Scene("a param that is there", "param-not-found", PARAMETRIC % ("limits", "default")),
    Scene(
        "a param of a kind that no file has",
        "param-not-found",
        PARAMETRIC.split("---\napiVersion: v1\n", maxsplit=1)[0] % "limit",
    ),
    Scene("params that no expression reads", "unused-params", PARAMS, speaks=True),
    Scene("params that are read", "unused-params", validations('params.data.max != ""', head=PARAMS)),
    Scene(
        "a variable that no expression reads",
        "unused-variable",
        """
        variables:
        - {name: pods, expression: object.spec.parallelism}
        - {name: twice, expression: variables.pods * 2}   # warned
        """,
    ),
    Scene(
        "variables that are read",
        "unused-variable",
        validations("variables.a > 1", head="variables: [{name: a, expression: '2'}]"),
    ),
    Scene("an end that has passed", "exception-expiry", EXCEPTION.format(expires="2020-01-31"), speaks=True, says="has expired"),
    Scene(
        "an end that is not near",
        "exception-expiry",
        EXCEPTION.format(expires=f"{datetime.now(UTC) + timedelta(days=100):%Y-%m-%d}"),
    ),
    Scene(
        "loops in loops in loops",
        "costly",
        validations(
            "variables.v.all(a, variables.v.all(b, variables.v.all(c, variables.v.all(d, variables.v.all(e, variables.v.all(f,"
            " variables.v.all(g, a.name == b.name)))))))  # warned",
            head="variables: [{name: v, expression: object.spec.template.spec.volumes}]",
        ),
        says="made-up object",
    ),
    Scene("one loop", "costly", validations('object.spec.template.spec.containers.all(c, c.image != "")')),
    Scene(
        "a rule that there is not",
        "unknown-lint-rule",
        """
        apiVersion: admissionregistration.k8s.io/v1
        kind: ValidatingAdmissionPolicy
        metadata: {name: example, annotations: {gangwarden.dev/lint-ignore: no-mesage}}
        spec:
          matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
          validations: [{expression: object.spec.parallelism > 0}]
        """,
        speaks=True,
        says="did you mean no-message?",
    ),
    Scene("no annotation", "unknown-lint-rule", ""),
    Scene(
        "a binding asks for a rule to be left out",
        "param-ref-unused",
        (LONE % (REFERENCE, "exmaple")).replace("metadata: {name: example}", IGNORING % "param-ref-unused", 1),
    ),
    Scene(
        "a binding names a rule that there is not",
        "unknown-lint-rule",
        (LONE % ("", "exmaple")).replace("metadata: {name: example}", IGNORING % "all", 1),
        speaks=True,
    ),
    Scene("an expression that is none", "refused", "validations: [{expression: object.spec >}]  # warned"),
    Scene("a policy that loads", "refused", ""),
)
SCENES = (*READING, *MORE_READING, *TYPES, *CONDITIONS, *SELECTORS, *PODS_RULES, *CONDUCT, *WIRING)
