{{/* A hook has no sidecar: where one keeps the policies in an emptyDir, hooks use those of the image. */}}
{{- define "gangwarden.hookValues" -}}
{{- $policies := .Values.policies }}
{{- if and (eq $policies.source "volume") (hasKey $policies.volume "emptyDir") }}
{{- $policies = dict "source" "bundled" }}
{{- end }}
{{- dict "Values" (dict "policies" $policies) | toYaml }}
{{- end }}

{{/* A Job of a hook, from our own image. Takes (context, name, ServiceAccount, seconds, args as YAML). */}}
{{- define "gangwarden.hookSpec" -}}
{{- $ := index . 0 -}}
{{- $seen := include "gangwarden.hookValues" $ | fromYaml -}}
backoffLimit: 3
activeDeadlineSeconds: {{ add (index . 3) 180 }}
template:
  metadata:
    labels: {{ include "gangwarden.podLabels" (list $ (index . 1) $.Values.hooks.podLabels) | nindent 6 }}
    {{- with $.Values.hooks.podAnnotations }}
    annotations: {{ toYaml . | nindent 6 }}
    {{- end }}
  spec:
    restartPolicy: Never
    serviceAccountName: {{ index . 2 }}
    automountServiceAccountToken: true
    {{- with $.Values.imagePullSecrets }}
    imagePullSecrets: {{ toYaml . | nindent 4 }}
    {{- end }}
    {{- with $.Values.hooks.nodeSelector }}
    nodeSelector: {{ toYaml . | nindent 6 }}
    {{- end }}
    {{- with $.Values.hooks.tolerations }}
    tolerations: {{ toYaml . | nindent 4 }}
    {{- end }}
    securityContext: {{ toYaml $.Values.podSecurityContext | nindent 6 }}
    containers:
    - name: {{ index . 1 }}
      image: {{ include "gangwarden.image" $ }}
      imagePullPolicy: {{ $.Values.image.pullPolicy }}
      args: {{ index . 4 | nindent 6 }}
      resources: {{ toYaml $.Values.hooks.resources | nindent 8 }}
      volumeMounts: {{ include "gangwarden.mounts" $seen | nindent 6 }}
      securityContext: {{ include "gangwarden.containerSecurity" $ | nindent 8 }}
    volumes: {{ include "gangwarden.volumes" $seen | nindent 4 }}
{{- end }}

{{- define "gangwarden.probeArgs" -}}
- webhooks
- probe
- --namespace={{ include "gangwarden.probeNamespace" . }}
- --timeout={{ .Values.hooks.probe.timeoutSeconds }}
{{- end }}

{{- define "gangwarden.hookAnnotations" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: "-5"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
{{- end }}

{{- define "gangwarden.cleanupArgs" -}}
{{- $name := include "gangwarden.fullname" . -}}
- webhooks
- delete
{{- if include "gangwarden.hasGroups" . }}
- --binding=stamped-when-away.gangwarden.dev
{{- end }}
- --deployment={{ .Release.Namespace }}/{{ $name }}-webhook
- --create-groups
- --controller={{ .Release.Namespace }}/{{ $name }}-controller
- --lease={{ .Release.Namespace }}/gangwarden-controller
{{- if eq .Values.certificates.mode "self-managed" }}
- --secret={{ .Release.Namespace }}/{{ include "gangwarden.certSecret" . }}
{{- end }}
- --timeout={{ .Values.hooks.cleanup.timeoutSeconds }}
{{- include "gangwarden.scopeArgs" . }}
{{- include "gangwarden.policyArgs" (include "gangwarden.hookValues" . | fromYaml) }}
{{- end }}
