//! What the server refuses in objects of built-in kinds.
//!
//! What is said of a definition wherever it occurs is a row in `rules`; what needs a look at several fields has a
//! function in the file of its kind. `update` holds what may not change.

mod admission;
mod config;
mod containers;
mod cron;
mod network;
mod pod;
mod rbac;
mod rules;
mod update;
mod volumes;
mod workloads;

use serde_json::Value;

use super::table::schema;
use crate::resource::GroupVersionKind;
use crate::status::FieldError;

type Errors = Vec<FieldError>;

/// Judges an object, new or changed.
pub fn validate(gvk: &GroupVersionKind, object: &Value, old: Option<&Value>) -> Errors {
    match old {
        None => validate_create(gvk, object),
        Some(old) => validate_update(gvk, object, old),
    }
}

/// Judges a new object, after defaulting. Metadata is judged by the caller, for all kinds alike.
pub fn validate_create(gvk: &GroupVersionKind, object: &Value) -> Errors {
    let mut errors = Errors::new();
    if let Some(schema) = schema(gvk) {
        rules::check(schema, object, &mut errors);
    }
    let spec = &object["spec"];
    match (&*gvk.group, &*gvk.kind) {
        ("", "Pod") => pod::check(spec, "spec", &mut errors),
        ("", "Service") => network::service(spec, &mut errors),
        ("", "ConfigMap") => config::config_map(object, &mut errors),
        ("", "Secret") => config::secret(object, &mut errors),
        ("", "PersistentVolumeClaim") => config::claim(spec, &mut errors),
        ("", "PersistentVolume") => config::volume(spec, &mut errors),
        ("storage.k8s.io", "StorageClass") => config::storage_class(object, &mut errors),
        ("", "Endpoints") => network::endpoints(object, &mut errors),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(object, &mut errors),
        ("scheduling.k8s.io", "PriorityClass") => workloads::priority_class(object, &mut errors),
        ("", "Event") => config::event(object, &mut errors),
        ("events.k8s.io", "Event") => config::new_event(object, &mut errors),
        ("apps", kind @ ("Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")) => {
            workloads::check(kind, spec, &mut errors);
        }
        ("batch", "Job") => {
            workloads::generated_selector(object, &mut errors);
            workloads::job(spec, "spec", &mut errors);
        }
        ("batch", "CronJob") => workloads::cron_job(object, &mut errors),
        ("autoscaling", "HorizontalPodAutoscaler") => workloads::autoscaler(spec, &mut errors),
        ("policy", "PodDisruptionBudget") => workloads::disruption_budget(spec, &mut errors),
        ("networking.k8s.io", "Ingress") => network::ingress(spec, &mut errors),
        ("networking.k8s.io", "NetworkPolicy") => network::policy(spec, &mut errors),
        ("rbac.authorization.k8s.io", kind @ ("Role" | "ClusterRole")) => {
            rbac::role(kind, object, &mut errors)
        }
        ("rbac.authorization.k8s.io", kind @ ("RoleBinding" | "ClusterRoleBinding")) => {
            rbac::binding(kind, object, &mut errors);
        }
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => {
            admission::webhooks(object, &mut errors);
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            admission::policy(spec, &mut errors);
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            admission::policy_binding(spec, &mut errors);
        }
        _ => {}
    }
    errors
}

/// Judges a changed object: what a new one must be, and what may not change.
pub fn validate_update(gvk: &GroupVersionKind, object: &Value, old: &Value) -> Errors {
    let mut errors = update::check(gvk, object, old);
    // A Pod's fields are fixed, so that one judged before need not be judged again.
    if (&*gvk.group, &*gvk.kind) != ("", "Pod") {
        errors.extend(validate_create(gvk, object));
    }
    errors
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn present(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|v| !v.is_null())
}

/// A port number, or a port's name.
fn port(value: &Value, path: String, errors: &mut Errors) {
    match value {
        Value::String(name) => {
            for why in super::names::port_name(name) {
                errors.push(FieldError::invalid(path.clone(), name.clone(), why));
            }
        }
        number => {
            if !number.as_i64().is_some_and(|n| (1..=65535).contains(&n)) {
                let number = if number.is_null() { Value::from(0) } else { number.clone() };
                errors.push(FieldError::invalid(path, number, "must be between 1 and 65535, inclusive"));
            }
        }
    }
}

#[cfg(test)]
mod tests;
