{{- /* The templates use functions of Go's text/template alone, so that tests render them with that engine itself. */ -}}

{{- /* A name of this release. */ -}}
{{- define "berth.name" -}}{{ .Release.Name }}-{{ .Chart.Name }}{{- end -}}

{{- define "berth.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}, app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "berth.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}, app.kubernetes.io/instance: {{ .Release.Name }}, app.kubernetes.io/managed-by: {{ .Release.Service }}, app.kubernetes.io/version: {{ printf "%q" .Chart.AppVersion }}
{{- end -}}

{{- /* Any value as JSON, which YAML contains. */ -}}
{{- define "berth.json" -}}
{{- $type := printf "%T" . -}}
{{- if eq (slice (printf "%s     " $type) 0 4) "map[" -}}
{ {{- $isFirst := true -}}{{- range $key, $value := . -}}{{- if not $isFirst }}, {{ end -}}{{- $isFirst = false -}}{{ printf "%q" $key }}: {{ template "berth.json" $value }}{{- end -}} }
{{- else if eq (slice (printf "%s     " $type) 0 3) "[]i" -}}
[ {{- range $index, $value := . -}}{{- if $index }}, {{ end -}}{{ template "berth.json" $value }}{{- end -}} ]
{{- else if eq $type "string" -}}
{{ printf "%q" . }}
{{- else -}}
{{ . }}
{{- end -}}
{{- end -}}
