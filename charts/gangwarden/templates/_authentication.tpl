{{/* How callers of the webhook are known (docs/authentication.md): flags, files and permission, by what is in webhook.authentication. */}}
{{- define "gangwarden.authenticationArgs" -}}
{{- with .Values.webhook.authentication }}
{{- if has "client-certificate" .modes }}
- --client-ca-file=/authentication/clients/{{ .clientCA.key }}
{{- range .clientCA.allowedNames }}
- --client-allowed-name={{ . }}
{{- end }}
{{- end }}
{{- if has "bearer-token" .modes }}
- --bearer-token-file=/authentication/tokens/{{ .tokens.key }}
{{- end }}
{{- if has "webhook-bound-token" .modes }}
- --webhook-bound-tokens
{{- end }}
{{- end }}
{{- end }}

{{- define "gangwarden.authenticationMounts" -}}
{{- with .Values.webhook.authentication }}
{{- if has "client-certificate" .modes }}
- {name: authentication-clients, mountPath: /authentication/clients, readOnly: true}
{{- end }}
{{- if has "bearer-token" .modes }}
- {name: authentication-tokens, mountPath: /authentication/tokens, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- define "gangwarden.authenticationVolumes" -}}
{{- with .Values.webhook.authentication }}
{{- if has "client-certificate" .modes }}
- name: authentication-clients
  configMap:
    name: {{ required "webhook.authentication.clientCA.configMap names the ConfigMap with the authorities (mode client-certificate)" .clientCA.configMap }}
{{- end }}
{{- if has "bearer-token" .modes }}
- name: authentication-tokens
  secret:
    secretName: {{ required "webhook.authentication.tokens.secret names the Secret with the tokens (mode bearer-token)" .tokens.secret }}
{{- end }}
{{- end }}
{{- end }}

{{/* Whose a token is, the API server says to those who may ask. */}}
{{- define "gangwarden.authenticationRules" -}}
{{- if has "webhook-bound-token" .Values.webhook.authentication.modes }}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
{{- end }}
{{- end }}
