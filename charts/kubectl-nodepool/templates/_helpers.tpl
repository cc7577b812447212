{{/* One name for all objects: a cluster has one controller of NodePools, and a second release is refused by Helm. */}}
{{- define "nodepool.name" -}}
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
