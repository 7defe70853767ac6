//! What the server fills in.
//!
//! Most defaults are rows of [`FIELDS`]: definition, field, value. The few that depend on other fields are functions
//! beside it. Both apply wherever the definition occurs, so that a Deployment's pod template and a Pod get the same;
//! what only the kind itself gets is in [`kinds`].

mod kinds;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::table::{go_facts, schema};
use super::walk::each_definition;
use crate::resource::GroupVersionKind;

type Fields = Map<String, Value>;

/// Definition, field, value as JSON. Rows of an outer definition come before those of what they create.
const FIELDS: &[(&str, &str, &str)] = &[
    ("core.v1.PodSpec", "dnsPolicy", r#""ClusterFirst""#),
    ("core.v1.PodSpec", "restartPolicy", r#""Always""#),
    ("core.v1.PodSpec", "securityContext", "{}"),
    ("core.v1.PodSpec", "terminationGracePeriodSeconds", "30"),
    ("core.v1.PodSpec", "schedulerName", r#""default-scheduler""#),
    ("core.v1.Container", "resources", "{}"),
    ("core.v1.Container", "terminationMessagePath", r#""/dev/termination-log""#),
    ("core.v1.Container", "terminationMessagePolicy", r#""File""#),
    ("core.v1.EphemeralContainer", "resources", "{}"),
    ("core.v1.EphemeralContainer", "terminationMessagePath", r#""/dev/termination-log""#),
    ("core.v1.EphemeralContainer", "terminationMessagePolicy", r#""File""#),
    ("core.v1.ContainerPort", "protocol", r#""TCP""#),
    ("core.v1.Probe", "timeoutSeconds", "1"),
    ("core.v1.Probe", "periodSeconds", "10"),
    ("core.v1.Probe", "successThreshold", "1"),
    ("core.v1.Probe", "failureThreshold", "3"),
    ("core.v1.HTTPGetAction", "path", r#""/""#),
    ("core.v1.HTTPGetAction", "scheme", r#""HTTP""#),
    ("core.v1.GRPCAction", "service", r#""""#),
    ("core.v1.ConfigMapVolumeSource", "defaultMode", "420"),
    ("core.v1.SecretVolumeSource", "defaultMode", "420"),
    ("core.v1.DownwardAPIVolumeSource", "defaultMode", "420"),
    ("core.v1.ProjectedVolumeSource", "defaultMode", "420"),
    ("core.v1.HostPathVolumeSource", "type", r#""""#),
    ("core.v1.ServiceAccountTokenProjection", "expirationSeconds", "3600"),
    ("core.v1.ObjectFieldSelector", "apiVersion", r#""v1""#),
    ("core.v1.ISCSIVolumeSource", "iscsiInterface", r#""default""#),
    ("core.v1.EndpointPort", "protocol", r#""TCP""#),
    ("core.v1.ServicePort", "protocol", r#""TCP""#),
    ("core.v1.PersistentVolumeClaimSpec", "volumeMode", r#""Filesystem""#),
    ("core.v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy", r#""Retain""#),
    ("core.v1.PersistentVolumeSpec", "volumeMode", r#""Filesystem""#),
    ("apps.v1.DeploymentSpec", "replicas", "1"),
    ("apps.v1.DeploymentSpec", "strategy", "{}"),
    ("apps.v1.DeploymentSpec", "revisionHistoryLimit", "10"),
    ("apps.v1.DeploymentSpec", "progressDeadlineSeconds", "600"),
    ("apps.v1.DeploymentStrategy", "type", r#""RollingUpdate""#),
    ("apps.v1.RollingUpdateDeployment", "maxUnavailable", r#""25%""#),
    ("apps.v1.RollingUpdateDeployment", "maxSurge", r#""25%""#),
    ("apps.v1.ReplicaSetSpec", "replicas", "1"),
    ("core.v1.ReplicationControllerSpec", "replicas", "1"),
    ("apps.v1.StatefulSetSpec", "replicas", "1"),
    ("apps.v1.StatefulSetSpec", "podManagementPolicy", r#""OrderedReady""#),
    ("apps.v1.StatefulSetSpec", "updateStrategy", "{}"),
    ("apps.v1.StatefulSetSpec", "revisionHistoryLimit", "10"),
    ("apps.v1.StatefulSetSpec", "persistentVolumeClaimRetentionPolicy", "{}"),
    ("apps.v1.StatefulSetUpdateStrategy", "type", r#""RollingUpdate""#),
    ("apps.v1.RollingUpdateStatefulSetStrategy", "partition", "0"),
    ("apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted", r#""Retain""#),
    ("apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled", r#""Retain""#),
    ("apps.v1.DaemonSetSpec", "updateStrategy", "{}"),
    ("apps.v1.DaemonSetSpec", "revisionHistoryLimit", "10"),
    ("apps.v1.DaemonSetUpdateStrategy", "type", r#""RollingUpdate""#),
    ("apps.v1.RollingUpdateDaemonSet", "maxUnavailable", "1"),
    ("apps.v1.RollingUpdateDaemonSet", "maxSurge", "0"),
    ("batch.v1.CronJobSpec", "concurrencyPolicy", r#""Allow""#),
    ("batch.v1.CronJobSpec", "suspend", "false"),
    ("batch.v1.CronJobSpec", "successfulJobsHistoryLimit", "3"),
    ("batch.v1.CronJobSpec", "failedJobsHistoryLimit", "1"),
    ("autoscaling.v2.HorizontalPodAutoscalerSpec", "minReplicas", "1"),
    (
        "autoscaling.v2.HorizontalPodAutoscalerSpec",
        "metrics",
        r#"[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]"#,
    ),
    ("networking.v1.NetworkPolicyPort", "protocol", r#""TCP""#),
    ("discovery.v1.EndpointPort", "name", r#""""#),
    ("discovery.v1.EndpointPort", "protocol", r#""TCP""#),
    ("discovery.v1.Endpoint", "conditions", "{}"),
    ("storage.v1.StorageClass", "reclaimPolicy", r#""Delete""#),
    ("storage.v1.StorageClass", "volumeBindingMode", r#""Immediate""#),
    ("rbac.v1.RoleRef", "apiGroup", r#""rbac.authorization.k8s.io""#),
    ("admissionregistration.v1.MutatingWebhook", "failurePolicy", r#""Fail""#),
    ("admissionregistration.v1.MutatingWebhook", "matchPolicy", r#""Equivalent""#),
    ("admissionregistration.v1.MutatingWebhook", "namespaceSelector", "{}"),
    ("admissionregistration.v1.MutatingWebhook", "objectSelector", "{}"),
    ("admissionregistration.v1.MutatingWebhook", "timeoutSeconds", "10"),
    ("admissionregistration.v1.MutatingWebhook", "reinvocationPolicy", r#""Never""#),
    ("admissionregistration.v1.ValidatingWebhook", "failurePolicy", r#""Fail""#),
    ("admissionregistration.v1.ValidatingWebhook", "matchPolicy", r#""Equivalent""#),
    ("admissionregistration.v1.ValidatingWebhook", "namespaceSelector", "{}"),
    ("admissionregistration.v1.ValidatingWebhook", "objectSelector", "{}"),
    ("admissionregistration.v1.ValidatingWebhook", "timeoutSeconds", "10"),
    ("admissionregistration.v1.ServiceReference", "port", "443"),
    ("admissionregistration.v1.RuleWithOperations", "scope", r#""*""#),
    ("admissionregistration.v1.NamedRuleWithOperations", "scope", r#""*""#),
    ("admissionregistration.v1.ValidatingAdmissionPolicySpec", "failurePolicy", r#""Fail""#),
    ("admissionregistration.v1.MutatingAdmissionPolicySpec", "failurePolicy", r#""Fail""#),
    ("admissionregistration.v1.MatchResources", "matchPolicy", r#""Equivalent""#),
    ("admissionregistration.v1.MatchResources", "namespaceSelector", "{}"),
    ("admissionregistration.v1.MatchResources", "objectSelector", "{}"),
    ("apiextensions.v1.ServiceReference", "port", "443"),
    ("scheduling.v1.PriorityClass", "preemptionPolicy", r#""PreemptLowerPriority""#),
];

type Rows = HashMap<&'static str, Vec<(&'static str, Value)>>;

static ROWS: LazyLock<Rows> = LazyLock::new(|| {
    let mut rows = Rows::new();
    for (definition, field, value) in FIELDS {
        if let Ok(value) = serde_json::from_str(value) {
            rows.entry(definition).or_default().push((field, value));
        }
    }
    rows
});

/// Fills in an object of a built-in kind. `uid` and the like are not its business.
pub fn default(gvk: &GroupVersionKind, object: &mut Value) {
    kinds::before(gvk, object);
    let Some(schema) = schema(gvk) else { return };
    each_definition(schema, object, &mut |definition, fields| {
        // Structs exist in Go whether sent or not, so their defaults apply all the same.
        for name in go_facts(definition).into_iter().flat_map(|facts| &facts.structs) {
            set(fields, name, json!({}));
        }
        for (field, value) in ROWS.get(definition).into_iter().flatten() {
            if fields.get(*field).is_none_or(Value::is_null) {
                fields.insert((*field).to_owned(), value.clone());
            }
        }
        dependent(definition, fields);
    });
    kinds::after(gvk, object);
}

/// Defaults that depend on other fields of the same definition.
fn dependent(definition: &str, fields: &mut Fields) {
    match definition {
        "core.v1.Container" | "core.v1.EphemeralContainer" => {
            let policy = pull_policy(fields.get("image").and_then(Value::as_str).unwrap_or_default());
            set(fields, "imagePullPolicy", json!(policy));
        }
        // The old name of the field is kept in step.
        "core.v1.PodSpec" => {
            let given = |fields: &Fields, name: &str| {
                fields
                    .get(name)
                    .filter(|account| account.as_str().is_some_and(|text| !text.is_empty()))
                    .cloned()
            };
            if let Some(account) = given(fields, "serviceAccount") {
                set(fields, "serviceAccountName", account);
            }
            if let Some(account) = given(fields, "serviceAccountName") {
                fields.insert("serviceAccount".into(), account);
            }
        }
        "core.v1.Volume" if fields.keys().all(|name| name == "name") => set(fields, "emptyDir", json!({})),
        "apps.v1.DeploymentStrategy"
        | "apps.v1.StatefulSetUpdateStrategy"
        | "apps.v1.DaemonSetUpdateStrategy"
            if fields.get("type").is_some_and(|t| t == "RollingUpdate") =>
        {
            set(fields, "rollingUpdate", json!({}));
        }
        "rbac.v1.Subject" if matches!(fields.get("kind").and_then(Value::as_str), Some("User" | "Group")) => {
            set(fields, "apiGroup", json!("rbac.authorization.k8s.io"));
        }
        _ => {}
    }
}

/// Sets a field that is absent, `null` or an empty string.
fn set(fields: &mut Fields, name: &str, value: Value) {
    if fields.get(name).is_none_or(|old| old.is_null() || old == "") {
        fields.insert(name.to_owned(), value);
    }
}

/// `Always` for the tag `latest` and for no tag at all.
fn pull_policy(image: &str) -> &'static str {
    if image.contains('@') {
        return "IfNotPresent";
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, tag)) if tag != "latest" => "IfNotPresent",
        _ => "Always",
    }
}

#[cfg(test)]
mod tests;
