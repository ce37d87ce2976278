{{/* A Job of a hook, from our own image. Takes (context, name, ServiceAccount, seconds, args as YAML). */}}
{{- define "gangwarden.hookSpec" -}}
{{- $ := index . 0 -}}
backoffLimit: 3
activeDeadlineSeconds: {{ add (index . 3) 180 }}
template:
  metadata:
    labels:
      app.kubernetes.io/name: {{ include "gangwarden.name" $ }}
      app.kubernetes.io/component: {{ index . 1 }}
      app.kubernetes.io/instance: {{ $.Release.Name }}
      {{- with $.Values.commonLabels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
  spec:
    restartPolicy: Never
    serviceAccountName: {{ index . 2 }}
    {{- with $.Values.imagePullSecrets }}
    imagePullSecrets: {{ toYaml . | nindent 4 }}
    {{- end }}
    {{- with $.Values.hooks.nodeSelector }}
    nodeSelector: {{ toYaml . | nindent 6 }}
    {{- end }}
    {{- with $.Values.hooks.tolerations }}
    tolerations: {{ toYaml . | nindent 4 }}
    {{- end }}
    securityContext: {{ include "gangwarden.podSecurity" $ | nindent 6 }}
    containers:
    - name: {{ index . 1 }}
      image: {{ include "gangwarden.image" $ }}
      imagePullPolicy: {{ $.Values.image.pullPolicy }}
      args: {{ index . 4 | nindent 6 }}
      resources: {{ toYaml $.Values.hooks.resources | nindent 8 }}
      volumeMounts: {{ include "gangwarden.mounts" $ | nindent 6 }}
      securityContext: {{ include "gangwarden.containerSecurity" $ | nindent 8 }}
    volumes: {{ include "gangwarden.volumes" $ | nindent 4 }}
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
{{- include "gangwarden.policyArgs" . }}
{{- end }}
