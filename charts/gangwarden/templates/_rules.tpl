{{/* What the processes ask of the API server, verb by verb, is in files/rules, for objects of namespaces and for all others. */}}
{{- define "gangwarden.rules" -}}
{{- $ := index . 0 -}}
{{ $.Files.Get (printf "files/rules/%s.yaml" (index . 1)) | trim }}
{{- if eq (index . 1) "webhook-cluster" }}
{{- with include "gangwarden.authenticationRules" $ | trim }}
{{ . }}
{{- end }}
{{- end }}
{{- if and (eq (index . 1) "controller") $.Values.controller.restarts }}
{{ $.Files.Get "files/rules/controller-suspend.yaml" | trim }}
{{ $.Files.Get "files/rules/controller-restarts.yaml" | trim }}
{{- end }}
{{- if and (eq (index . 1) "controller") (has "CompositePodGroup" $.Values.enableAlpha) }}
{{ $.Files.Get "files/rules/controller-trees.yaml" | trim }}
{{- end }}
{{- with index . 2 }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Policies of files/policies with the labels that every object of a release carries. Takes (context, documents). */}}
{{- define "gangwarden.native" -}}
{{- $labels := include "gangwarden.labels" (index . 0) | fromYaml }}
{{- range splitList "\n---\n" (index . 1) }}
{{- $object := fromYaml . }}
{{- $_ := set $object.metadata "labels" (merge (dict) ($object.metadata.labels | default dict) $labels) }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
