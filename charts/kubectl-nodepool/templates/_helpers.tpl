{{/*
One name and one namespace: a cluster has one controller of NodePools, and `kubectl nodepool` looks for it there. A second controller would
have its own lease.
*/}}
{{- define "nodepool.name" -}}
{{- if ne .Release.Namespace "nodepool-system" }}
{{- fail "the controller belongs into the namespace nodepool-system: add --namespace nodepool-system --create-namespace" }}
{{- end -}}
nodepool-controller
{{- end }}

{{- define "nodepool.selectorLabels" -}}
app.kubernetes.io/name: {{ include "nodepool.name" . }}
{{- end }}

{{- define "nodepool.labels" -}}
{{ include "nodepool.selectorLabels" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "nodepool.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The subject of each binding. */}}
{{- define "nodepool.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "nodepool.name" . }}
    namespace: {{ .Release.Namespace }}
{{- end }}

{{/* A file of manifests/. In a checkout, files/ has symbolic links to it; the published chart has copies. */}}
{{- define "nodepool.manifest" -}}
{{- $text := .files.Get (printf "files/%s" .name) }}
{{- if not (contains "\nkind: " $text) }}
{{- fail (printf "files/%s is not a manifest: this checkout has no symbolic links; use oci://ghcr.io/lailin-xyz/charts/kubectl-nodepool, or copy manifests/%s there" .name .name) }}
{{- end -}}
{{ $text }}
{{- end }}
