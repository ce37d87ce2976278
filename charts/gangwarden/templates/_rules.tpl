{{/* What the processes ask of the API server on objects of namespaces, verb by verb. tests/charts holds it to docs/install. */}}
{{- define "gangwarden.webhookRules" -}}
- apiGroups: [scheduling.k8s.io]
  resources: [podgroups]
  verbs: [list, watch]
{{ include "gangwarden.workloadRules" . }}
{{- with .Values.rbac.extraWebhookRules }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Workloads and their pods: whose a new pod is, and what its group waits for. A kind that is not installed costs nothing. */}}
{{- define "gangwarden.workloadRules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [list, watch]
- apiGroups: [jobset.x-k8s.io]
  resources: [jobsets]
  verbs: [list, watch]
- apiGroups: [kubeflow.org]
  resources: [mpijobs, pytorchjobs]
  verbs: [list, watch]
- apiGroups: [trainer.kubeflow.org]
  resources: [trainjobs]
  verbs: [list, watch]
- apiGroups: [ray.io]
  resources: [rayclusters, rayjobs]
  verbs: [list, watch]
- apiGroups: [leaderworkerset.x-k8s.io]
  resources: [leaderworkersets]
  verbs: [list, watch]
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkapplications]
  verbs: [list, watch]
{{- end }}

{{- define "gangwarden.controllerRules" -}}
{{ include "gangwarden.workloadRules" . }}
- apiGroups: [batch]              # only where admission plugin OwnerReferencesPermissionEnforcement is on: PodGroups name
  resources: [jobs/finalizers]    # their workload with blockOwnerDeletion
  verbs: [update]
- apiGroups: [jobset.x-k8s.io]
  resources: [jobsets/finalizers]
  verbs: [update]
- apiGroups: [kubeflow.org]
  resources: [mpijobs/finalizers, pytorchjobs/finalizers]
  verbs: [update]
- apiGroups: [trainer.kubeflow.org]
  resources: [trainjobs/finalizers]
  verbs: [update]
- apiGroups: [ray.io]
  resources: [rayclusters/finalizers, rayjobs/finalizers]
  verbs: [update]
- apiGroups: [leaderworkerset.x-k8s.io]
  resources: [leaderworkersets/finalizers]
  verbs: [update]
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkapplications/finalizers]
  verbs: [update]
- apiGroups: [scheduling.k8s.io]
  resources: [podgroups, workloads]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [events.k8s.io]      # get and patch count repetitions up
  resources: [events]
  verbs: [create, get, patch]
{{- with .Values.rbac.extraControllerRules }}
{{ toYaml . }}
{{- end }}
{{- end }}
