{{- define "quintet.suffix" -}}
{{- dict "data" . "kind" "ConfigMap" "name" "" | toJson | sha256sum | trunc 10
  | replace "0" "g" | replace "1" "h" | replace "3" "k" | replace "a" "m" | replace "e" "t" -}}
{{- end -}}
