//! Rules on single fields, by definition: one row each.

use serde_json::Value;

use super::Errors;
use crate::schema::{Schema, join};
use crate::status::FieldError;

enum Rule {
    Required,
    AtLeast(i64),
    Between(i64, i64),
    Port,
    Mode,
}

use Rule::{AtLeast, Between, Mode, Port, Required};

const ROWS: &[(&str, &str, Rule)] = &[
    ("core.v1.ContainerPort", "containerPort", Port),
    ("core.v1.ContainerPort", "hostPort", Port),
    ("core.v1.Probe", "initialDelaySeconds", AtLeast(0)),
    ("core.v1.Probe", "timeoutSeconds", AtLeast(0)),
    ("core.v1.Probe", "periodSeconds", AtLeast(0)),
    ("core.v1.Probe", "successThreshold", AtLeast(0)),
    ("core.v1.Probe", "failureThreshold", AtLeast(0)),
    ("core.v1.SecurityContext", "runAsUser", Between(0, 2147483647)),
    ("core.v1.SecurityContext", "runAsGroup", Between(0, 2147483647)),
    ("core.v1.PodSecurityContext", "runAsUser", Between(0, 2147483647)),
    ("core.v1.PodSecurityContext", "runAsGroup", Between(0, 2147483647)),
    ("core.v1.PodSecurityContext", "fsGroup", Between(0, 2147483647)),
    ("core.v1.PodSpec", "terminationGracePeriodSeconds", AtLeast(0)),
    ("core.v1.SecretVolumeSource", "secretName", Required),
    ("core.v1.ConfigMapVolumeSource", "name", Required),
    ("core.v1.PersistentVolumeClaimVolumeSource", "claimName", Required),
    ("core.v1.HostPathVolumeSource", "path", Required),
    ("core.v1.SecretVolumeSource", "defaultMode", Mode),
    ("core.v1.ConfigMapVolumeSource", "defaultMode", Mode),
    ("core.v1.DownwardAPIVolumeSource", "defaultMode", Mode),
    ("core.v1.ProjectedVolumeSource", "defaultMode", Mode),
    ("core.v1.KeyToPath", "mode", Mode),
    ("core.v1.KeyToPath", "key", Required),
    ("core.v1.KeyToPath", "path", Required),
    ("core.v1.ConfigMapKeySelector", "key", Required),
    ("core.v1.SecretKeySelector", "key", Required),
    ("core.v1.ObjectFieldSelector", "fieldPath", Required),
    ("core.v1.VolumeMount", "mountPath", Required),
    ("apps.v1.DeploymentSpec", "replicas", AtLeast(0)),
    ("apps.v1.DeploymentSpec", "minReadySeconds", AtLeast(0)),
    ("apps.v1.DeploymentSpec", "revisionHistoryLimit", AtLeast(0)),
    ("apps.v1.ReplicaSetSpec", "replicas", AtLeast(0)),
    ("apps.v1.ReplicaSetSpec", "minReadySeconds", AtLeast(0)),
    ("apps.v1.StatefulSetSpec", "replicas", AtLeast(0)),
    ("apps.v1.StatefulSetSpec", "minReadySeconds", AtLeast(0)),
    ("apps.v1.StatefulSetSpec", "revisionHistoryLimit", AtLeast(0)),
    ("apps.v1.DaemonSetSpec", "minReadySeconds", AtLeast(0)),
    ("batch.v1.JobSpec", "parallelism", AtLeast(0)),
    ("batch.v1.JobSpec", "completions", AtLeast(0)),
    ("batch.v1.JobSpec", "backoffLimit", AtLeast(0)),
    ("batch.v1.JobSpec", "activeDeadlineSeconds", AtLeast(0)),
    ("batch.v1.JobSpec", "ttlSecondsAfterFinished", AtLeast(0)),
    ("batch.v1.CronJobSpec", "startingDeadlineSeconds", AtLeast(0)),
    ("batch.v1.CronJobSpec", "successfulJobsHistoryLimit", AtLeast(0)),
    ("batch.v1.CronJobSpec", "failedJobsHistoryLimit", AtLeast(0)),
    ("coordination.v1.LeaseSpec", "leaseTransitions", AtLeast(0)),
    ("coordination.v1.LeaseSpec", "leaseDurationSeconds", AtLeast(1)),
    ("discovery.v1.EndpointSlice", "addressType", Required),
    ("storage.v1.StorageClass", "provisioner", Required),
];

/// Fields with an enum in the schema whose refusal is worded otherwise, in the file of their kind.
const OWN_WORDS: [(&str, &str); 15] = [
    ("core.v1.PodSpec", "restartPolicy"),
    ("apps.v1.DeploymentStrategy", "type"),
    ("apps.v1.StatefulSetSpec", "podManagementPolicy"),
    ("apps.v1.StatefulSetUpdateStrategy", "type"),
    ("networking.v1.NetworkPolicySpec", "policyTypes"),
    ("networking.v1.HTTPIngressPath", "pathType"),
    ("networking.v1.NetworkPolicyPort", "protocol"),
    ("scheduling.v1.PriorityClass", "preemptionPolicy"),
    ("storage.v1.StorageClass", "reclaimPolicy"),
    ("discovery.v1.EndpointSlice", "addressType"),
    ("autoscaling.v2.HPAScalingRules", "selectPolicy"),
    ("autoscaling.v2.HPAScalingPolicy", "type"),
    ("core.v1.PersistentVolumeClaimSpec", "accessModes"),
    ("admissionregistration.v1.ValidatingWebhook", "sideEffects"),
    ("admissionregistration.v1.MutatingWebhook", "sideEffects"),
];

/// Checks every definition in `object` (but not its status, which controllers write).
pub(super) fn check(schema: &Schema, object: &Value, errors: &mut Errors) {
    walk(schema, object, "", errors);
}

fn walk(schema: &Schema, value: &Value, path: &str, errors: &mut Errors) {
    match value {
        Value::Object(fields) => {
            let definition = schema.definition.as_deref().unwrap_or_default();
            for (_, field, rule) in ROWS.iter().filter(|row| row.0 == definition) {
                judge(rule, fields.get(*field).unwrap_or(&Value::Null), join(path, field), errors);
            }
            for (name, value) in fields {
                if path.is_empty() && matches!(name.as_str(), "status" | "metadata") {
                    continue;
                }
                let Some(inner) = schema.field(name) else { continue };
                let here = join(path, name);
                if !inner.enumeration.is_empty() && !OWN_WORDS.contains(&(definition, name.as_str())) {
                    enumerated(inner, value, &here, errors);
                }
                walk(inner, value, &here, errors);
            }
        }
        Value::Array(elements) => {
            if let Some(items) = schema.element() {
                for (index, element) in elements.iter().enumerate() {
                    walk(items, element, &format!("{path}[{index}]"), errors);
                }
            }
        }
        _ => {}
    }
}

fn enumerated(schema: &Schema, value: &Value, path: &str, errors: &mut Errors) {
    let known = |text: &str| schema.enumeration.iter().any(|known| known == text);
    if let Some(text) = value.as_str().filter(|text| !known(text)) {
        let all = schema.enumeration.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect();
        errors.push(FieldError::unsupported(path, text, all));
    }
}

fn judge(rule: &Rule, value: &Value, path: String, errors: &mut Errors) {
    let number = value.as_i64();
    match rule {
        Required if value.as_str().is_none_or(str::is_empty) => errors.push(FieldError::required(path, "")),
        AtLeast(1) if number.is_some_and(|n| n < 1) => {
            errors.push(FieldError::invalid(path, value.clone(), "must be greater than 0"));
        }
        AtLeast(least) if number.is_some_and(|n| n < *least) => {
            let text = format!("must be greater than or equal to {least}");
            errors.push(FieldError::invalid(path, value.clone(), text));
        }
        Between(least, most) if number.is_some_and(|n| !(*least..=*most).contains(&n)) => {
            let text = format!("must be between {least} and {most}, inclusive");
            errors.push(FieldError::invalid(path, value.clone(), text));
        }
        Port => {
            let container = path.ends_with("containerPort");
            if container && number.is_none_or(|n| n == 0) {
                errors.push(FieldError::required(path, ""));
            } else if number.is_some_and(|n| n != 0 || container) {
                super::port(value, path, errors);
            }
        }
        Mode if number.is_some_and(|n| !(0..=0o777).contains(&n)) => {
            let text = "must be a number between 0 and 0777 (octal), both inclusive";
            errors.push(FieldError::invalid(path, value.clone(), text));
        }
        _ => {}
    }
}
