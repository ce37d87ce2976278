{{- define "gangwarden.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Room is left for what is appended, "-controller-cleanup" at the longest. */}}
{{- define "gangwarden.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "gangwarden.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "gangwarden.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* What says whose an object is cannot be said otherwise: merge keeps what it has. */}}
{{- define "gangwarden.labels" -}}
{{- $own := dict "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") }}
{{- $own = merge $own (dict "app.kubernetes.io/name" (include "gangwarden.name" .) "app.kubernetes.io/instance" .Release.Name) }}
{{- $own = merge $own (dict "app.kubernetes.io/version" .Chart.AppVersion "app.kubernetes.io/managed-by" .Release.Service) }}
{{- toYaml (merge $own (dict "app.kubernetes.io/part-of" "gangwarden") .Values.commonLabels) }}
{{- end }}

{{/* Of an object with labels of its own. Takes (context, labels). */}}
{{- define "gangwarden.labelsWith" -}}
{{- toYaml (merge (dict) (index . 1) (include "gangwarden.labels" (index . 0) | fromYaml)) }}
{{- end }}

{{/* Of two names: a Deployment's selector is immutable, so nothing that may change belongs here. Takes (context, component). */}}
{{- define "gangwarden.selector" -}}
app.kubernetes.io/name: {{ include "gangwarden.name" (index . 0) }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Takes (context, component, labels of the values). */}}
{{- define "gangwarden.podLabels" -}}
{{- $ := index . 0 }}
{{- $own := merge (include "gangwarden.selector" . | fromYaml) (dict "app.kubernetes.io/instance" $.Release.Name) }}
{{- toYaml (merge $own (index . 2) $.Values.commonLabels) }}
{{- end }}

{{- define "gangwarden.image" -}}
{{- with .Values.image -}}
{{- with .registry }}{{ . }}/{{ end }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ with .digest }}@{{ . }}{{ end }}
{{- end }}
{{- end }}

{{- define "gangwarden.webhookAccount" -}}
{{- .Values.webhook.serviceAccount.name | default (printf "%s-webhook" (include "gangwarden.fullname" .)) }}
{{- end }}

{{- define "gangwarden.controllerAccount" -}}
{{- .Values.controller.serviceAccount.name | default (printf "%s-controller" (include "gangwarden.fullname" .)) }}
{{- end }}

{{- define "gangwarden.certSecret" -}}
{{- if eq .Values.certificates.mode "given" }}
{{- required "certificates.secretName names the Secret with tls.crt, tls.key and ca.crt (certificates.mode is given)" .Values.certificates.secretName }}
{{- else }}
{{- .Values.certificates.secretName | default (printf "%s-certs" (include "gangwarden.fullname" .)) }}
{{- end }}
{{- end }}

{{/* Where group fields are tried out by dry runs. */}}
{{- define "gangwarden.probeNamespace" -}}
{{- first .Values.namespaces | default "default" }}
{{- end }}

{{/* Namespaces whose objects are never sent. */}}
{{- define "gangwarden.unasked" -}}
{{- concat (list "kube-system" "gangwarden-system" .Release.Namespace) .Values.excludeNamespaces | uniq | sortAlpha | toJson }}
{{- end }}

{{- define "gangwarden.hasGroups" -}}
{{- $asked := toString .Values.nativePolicies.stampedWhenAway }}
{{- if or (eq $asked "true") (and (eq $asked "auto") (.Capabilities.APIVersions.Has "scheduling.k8s.io/v1beta1/PodGroup")) }}true{{ end }}
{{- end }}

{{- define "gangwarden.scopeArgs" -}}
{{- range .Values.namespaces }}
- --only-namespace={{ . }}
{{- end }}
{{- end }}

{{/* What webhook and controller must agree on. */}}
{{- define "gangwarden.commonArgs" -}}
- --log-format={{ .Values.logFormat }}
{{- range .Values.namespaces }}
- --only-namespace={{ . }}
{{- end }}
{{- range .Values.enableAlpha }}
- --enable-alpha={{ . }}
{{- end }}
{{- with include "gangwarden.policyArgs" . }}
{{ . | trim }}
{{- end }}
{{- with .Values.canaryNamespace }}
- --canary-namespace={{ . }}
{{- end }}
{{- end }}

{{- define "gangwarden.policyArgs" -}}
{{- if ne .Values.policies.source "bundled" }}
- --policies=/policies{{ with .Values.policies.path }}/{{ . }}{{ end }}
{{- end }}
{{- end }}

{{/* Of a container of ours: with podSecurityContext what a namespace that enforces "restricted" asks for. No value takes it away. */}}
{{- define "gangwarden.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "gangwarden.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if ne .Values.policies.source "bundled" }}
- {name: policies, mountPath: /policies, readOnly: true}
{{- end }}
{{- end }}

{{- define "gangwarden.volumes" -}}
- name: tmp                      # Python reads key material from files only; they live for one call
  emptyDir: {medium: Memory, sizeLimit: 16Mi}
{{- if eq .Values.policies.source "configMap" }}
- name: policies
  configMap:
    name: {{ required "policies.configMap names the ConfigMap (policies.source is configMap)" .Values.policies.configMap }}
{{- else if eq .Values.policies.source "volume" }}
{{- if not .Values.policies.volume }}{{ fail "policies.volume is a volume source (policies.source is volume)" }}{{ end }}
- name: policies
  {{- toYaml .Values.policies.volume | nindent 2 }}
{{- end }}
{{- end }}

{{/* What webhook and controller share of a pod's spec. Takes (context, values of the component, its name). */}}
{{- define "gangwarden.placement" -}}
{{- $values := index . 1 -}}
{{- with (index . 0).Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
automountServiceAccountToken: true
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
{{- if $values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with $values.dnsPolicy | default (ternary "ClusterFirstWithHostNet" "" $values.hostNetwork) }}
dnsPolicy: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
{{- with $values.topologySpreadConstraints }}
{{ toYaml . }}
{{- else }}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{ include "gangwarden.selector" (list (index . 0) (index . 2)) | nindent 6 }}
{{- end }}
{{- end }}

{{/* Of a container with a port for /healthz and /readyz. Takes (values of the component, name of the port, scheme). */}}
{{- define "gangwarden.probes" -}}
{{- $values := index . 0 }}
{{- $live := dict "path" "/healthz" "port" (index . 1) "scheme" (index . 2) }}
startupProbe: {{ merge (dict "httpGet" $live) $values.startupProbe | toYaml | nindent 2 }}
readinessProbe: {{ merge (dict "httpGet" (merge (dict "path" "/readyz") $live)) $values.readinessProbe | toYaml | nindent 2 }}
livenessProbe: {{ merge (dict "httpGet" $live) $values.livenessProbe | toYaml | nindent 2 }}
{{- end }}
