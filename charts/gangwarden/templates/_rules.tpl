{{/* What the processes ask of the API server, verb by verb, is in files/rules, for objects of namespaces and for all others. */}}
{{- define "gangwarden.rules" -}}
{{- $ := index . 0 -}}
{{ $.Files.Get (printf "files/rules/%s.yaml" (index . 1)) | trim }}
{{- with index . 2 }}
{{ toYaml . }}
{{- end }}
{{- end }}
