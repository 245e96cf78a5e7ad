{{- /* What values change, kind by kind; each changes the object that it is given and prints nothing. */ -}}

{{- define "maar.Deployment" }}
{{- $values := .root.Values }}
{{- $component := index .object.metadata.labels "app.kubernetes.io/component" }}
{{- $mine := index $values $component }}
{{- $pod := .object.spec.template.spec }}
{{- $container := index $pod.containers 0 }}
{{- $image := printf "%s:%s" $values.image.repository (default .root.Chart.Version $values.image.tag) }}
{{- $_ := set .object.spec "replicas" $mine.replicas }}
{{- $_ := set $container "image" $image }}
{{- $_ := set $container "imagePullPolicy" $values.image.pullPolicy }}
{{- $_ := set $container "resources" $mine.resources }}
{{- $flags := dict "--scheduler-name" $values.schedulerName }}
{{- if eq $component "webhooks" }}
{{- $_ := set $flags "--guarantee-over-total" $mine.guaranteeOverTotal }}
{{- $_ := set $flags "--child-capability" $mine.childCapability }}
{{- $_ := set $flags "--max-queue-depth" $mine.maxQueueDepth }}
{{- $_ := set $flags "--max-job-pods" ($mine.maxJobPods | int) }}
{{- end }}
{{- $arguments := list }}
{{- range $argument := $container.args }}
{{- $flag := index (splitList "=" $argument) 0 }}
{{- $arguments = append $arguments (ternary (printf "%s=%v" $flag (get $flags $flag)) $argument (hasKey $flags $flag)) }}
{{- end }}
{{- if and (eq $component "webhooks") (not $values.jobPlugins.ssh) }}
{{- $arguments = append $arguments "--disable-job-plugin=ssh" }}
{{- end }}
{{- if eq $component "webhooks" }}
{{- range $mine.clientNames }}{{- $arguments = append $arguments (printf "--client-name=%s" .) }}{{- end }}
{{- with $mine.clientCaSecret }}
{{- $arguments = append $arguments "--client-ca=/client-ca/ca.crt" }}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts (dict "name" "client-ca" "mountPath" "/client-ca" "readOnly" true)) }}
{{- $_ := set $pod "volumes" (append $pod.volumes (dict "name" "client-ca" "secret" (dict "secretName" .))) }}
{{- end }}
{{- end }}
{{- if eq $component "console" }}
{{- with $mine.publicUrl }}{{- $arguments = append $arguments (printf "--public-url=%s" .) }}{{- end }}
{{- with $mine.prometheus }}{{- $arguments = append $arguments (printf "--prometheus=%s" .) }}{{- end }}
{{- if $mine.allowWrites }}{{- $arguments = append $arguments "--allow-writes" }}{{- end }}
{{- with $mine.tlsSecret }}
{{- $arguments = concat $arguments (list "--tls-certificate=/tls/tls.crt" "--tls-key=/tls/tls.key") }}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts (dict "name" "tls" "mountPath" "/tls" "readOnly" true)) }}
{{- $_ := set $pod "volumes" (append $pod.volumes (dict "name" "tls" "secret" (dict "secretName" .))) }}
{{- range $probe := list $container.livenessProbe $container.readinessProbe }}{{- $_ := set $probe.httpGet "scheme" "HTTPS" }}{{- end }}
{{- end }}
{{- end }}
{{- $_ := set $container "args" (concat $arguments $mine.extraArgs) }}
{{- with $values.image.pullSecrets }}
{{- $secrets := list }}
{{- range . }}{{- $secrets = append $secrets (dict "name" .) }}{{- end }}
{{- $_ := set $pod "imagePullSecrets" $secrets }}
{{- end }}
{{- with $values.nodeSelector }}{{- $_ := set $pod "nodeSelector" . }}{{- end }}
{{- with $values.tolerations }}{{- $_ := set $pod "tolerations" . }}{{- end }}
{{- end }}

{{- define "maar.ConfigMap" }}
{{- $_ := set .object.data "maar-scheduler.conf" .root.Values.scheduler.configuration }}
{{- end }}

{{- define "maar.Service" }}
{{- $metrics := .root.Values.metrics }}
{{- if and (eq .object.metadata.name "maar-console") .root.Values.console.tlsSecret }}
{{- $_ := set .object.spec "ports" (list (dict "name" "https" "port" 443 "targetPort" "http")) }}
{{- end }}
{{- if eq .object.metadata.name "maar-metrics" }}
{{- with $metrics.annotations }}{{- $_ := set $.object.metadata "annotations" . }}{{- end }}
{{- if not $metrics.service }}{{- $_ := unset .object "kind" }}{{- end }}
{{- end }}
{{- end }}

{{- define "maar.NetworkPolicy" }}
{{- $network := .root.Values.networkPolicy }}
{{- $from := dict "https" $network.webhooksFrom "http" $network.consoleFrom "metrics" $network.metricsFrom }}
{{- range $rule := .object.spec.ingress }}
{{- $_ := unset $rule "from" }}
{{- with get $from (index $rule.ports 0).port }}{{- $_ := set $rule "from" . }}{{- end }}
{{- end }}
{{- if not $network.enabled }}{{- $_ := unset .object "kind" }}{{- end }}
{{- end }}

{{- define "maar.ValidatingWebhookConfiguration" }}
{{- $values := .root.Values }}
{{- range $webhook := .object.webhooks }}
{{- $_ := set $webhook "failurePolicy" $values.webhooks.failurePolicy }}
{{- $_ := set $webhook "timeoutSeconds" $values.webhooks.timeoutSeconds }}
{{- range $condition := $webhook.matchConditions }}
{{- if eq $condition.name "scheduler-name" }}
{{- $_ := set $condition "expression" (printf "object.spec.schedulerName in ['%s']" $values.schedulerName) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "maar.MutatingWebhookConfiguration" }}{{- include "maar.ValidatingWebhookConfiguration" . }}{{- end }}

{{- define "maar.CustomResourceDefinition" }}
{{- /* Helm would delete all queues and jobs with their definitions. */ -}}
{{- $_ := set .object.metadata "annotations" (dict "helm.sh/resource-policy" "keep") }}
{{- if not .root.Values.crds.install }}{{- $_ := unset .object "kind" }}{{- end }}
{{- end }}

{{- /* Helm makes the namespace of a release before it reads the chart. */ -}}
{{- define "maar.Namespace" }}{{- $_ := unset .object "kind" }}{{- end }}

{{- /* As they are. */ -}}
{{- define "maar.ServiceAccount" }}{{- end }}
{{- define "maar.ClusterRole" }}{{- end }}
{{- define "maar.ClusterRoleBinding" }}{{- end }}
{{- define "maar.Role" }}{{- end }}
{{- define "maar.RoleBinding" }}{{- end }}
{{- define "maar.ValidatingAdmissionPolicy" }}{{- end }}
{{- define "maar.ValidatingAdmissionPolicyBinding" }}{{- end }}
{{- define "maar.PriorityClass" }}{{- end }}
{{- define "maar.ValidatingAdmissionPolicy" }}{{- end }}
{{- define "maar.ValidatingAdmissionPolicyBinding" }}{{- end }}
{{- define "maar.PodDisruptionBudget" }}{{- end }}
