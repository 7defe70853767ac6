//! Defaults of a kind as a whole, beyond those of the definitions it is made of.

use serde_json::{Map, Value, json};

use super::set;
use crate::resource::GroupVersionKind;

/// What must be there before the definitions are walked.
pub(super) fn before(gvk: &GroupVersionKind, object: &mut Value) {
    match (&*gvk.group, &*gvk.kind) {
        ("batch", "Job") => job(object),
        ("", "Service") => service(object),
        ("", "Pod") => pod(object),
        ("autoscaling", "HorizontalPodAutoscaler") if &*gvk.version == "v1" => old_autoscaler(object),
        _ => {}
    }
}

/// What follows from the filled-in object.
pub(super) fn after(gvk: &GroupVersionKind, object: &mut Value) {
    match (&*gvk.group, &*gvk.kind) {
        ("", "Secret") => secret(object),
        ("", "Namespace") => namespace(object),
        ("", "PersistentVolumeClaim" | "PersistentVolume") => status(object, "phase", json!("Pending")),
        ("", "Service") => ports_target_themselves(object),
        ("", "Pod") => host_ports(object),
        ("networking.k8s.io", "NetworkPolicy") => policy_types(object),
        ("autoscaling", "HorizontalPodAutoscaler") => scaling_behavior(object),
        ("batch", "Job") => labels_of_template(object),
        ("apps", "StatefulSet") => claim_templates(object),
        ("apps", "DaemonSet") => template_generation(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crate::schema::crd::default(object),
        _ => {}
    }
}

fn fields<'v>(object: &'v mut Value, name: &str) -> Option<&'v mut Map<String, Value>> {
    object.as_object_mut()?.entry(name).or_insert_with(|| json!({})).as_object_mut()
}

fn status(object: &mut Value, name: &str, value: Value) {
    if let Some(status) = fields(object, "status") {
        set(status, name, value);
    }
}

fn pod(object: &mut Value) {
    let Some(spec) = fields(object, "spec") else { return };
    set(spec, "enableServiceLinks", json!(true));
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            requests_from_limits(container);
        }
    }
    status(object, "phase", json!("Pending"));
}

fn requests_from_limits(container: &mut Value) {
    let Some(Value::Object(resources)) = container.get_mut("resources") else { return };
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    let requests = resources.entry("requests").or_insert_with(|| json!({}));
    if requests.is_null() {
        *requests = json!({});
    }
    if let Value::Object(requests) = requests {
        for (name, limit) in limits {
            requests.entry(name).or_insert(limit);
        }
    }
}

fn host_ports(object: &mut Value) {
    let Some(spec) = fields(object, "spec") else { return };
    if spec.get("hostNetwork") != Some(&Value::Bool(true)) {
        return;
    }
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                let number = port.get("containerPort").cloned().unwrap_or(Value::Null);
                if let Value::Object(port) = port
                    && port.get("hostPort").is_none_or(|p| p == 0)
                {
                    port.insert("hostPort".into(), number);
                }
            }
        }
    }
}

fn job(object: &mut Value) {
    let Some(spec) = fields(object, "spec") else { return };
    let unset = |spec: &Map<String, Value>, name: &str| spec.get(name).is_none_or(Value::is_null);
    if unset(spec, "completions") && unset(spec, "parallelism") {
        spec.insert("completions".into(), json!(1));
    }
    set(spec, "parallelism", json!(1));
    set(spec, "backoffLimit", json!(if unset(spec, "backoffLimitPerIndex") { 6 } else { i32::MAX }));
    set(spec, "completionMode", json!("NonIndexed"));
    set(spec, "suspend", json!(false));
    let replacement = if unset(spec, "podFailurePolicy") { "TerminatingOrFailed" } else { "Failed" };
    set(spec, "podReplacementPolicy", json!(replacement));
    set(spec, "manualSelector", json!(false));
}

/// A Job without labels has those of its template.
fn labels_of_template(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if labels.as_object().is_some_and(|all| !all.is_empty())
        && let Some(meta) = fields(object, "metadata")
        && meta.get("labels").and_then(Value::as_object).is_none_or(Map::is_empty)
    {
        meta.insert("labels".into(), labels);
    }
}

fn service(object: &mut Value) {
    let Some(spec) = fields(object, "spec") else { return };
    set(spec, "sessionAffinity", json!("None"));
    set(spec, "type", json!("ClusterIP"));
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if spec.get("sessionAffinity").is_some_and(|a| a == "ClientIP") {
        let config = spec.entry("sessionAffinityConfig").or_insert_with(|| json!({}));
        if let Value::Object(config) = config
            && let Value::Object(client) = config.entry("clientIP").or_insert_with(|| json!({}))
        {
            set(client, "timeoutSeconds", json!(10800));
        }
    }
    if kind != "ExternalName" {
        set(spec, "internalTrafficPolicy", json!("Cluster"));
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        set(spec, "externalTrafficPolicy", json!("Cluster"));
    }
    if kind == "LoadBalancer" {
        set(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
    status(object, "loadBalancer", json!({}));
}

fn ports_target_themselves(object: &mut Value) {
    let Some(spec) = fields(object, "spec") else { return };
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let Value::Object(port) = port else { continue };
        if port.get("targetPort").is_none_or(|t| t.is_null() || t == 0 || t == "") {
            let number = port.get("port").cloned().unwrap_or(json!(0));
            port.insert("targetPort".into(), number);
        }
    }
}

fn secret(object: &mut Value) {
    use base64::Engine;
    let Value::Object(secret) = object else { return };
    set(secret, "type", json!("Opaque"));
    if let Some(Value::Object(plain)) = secret.remove("stringData") {
        let data = secret.entry("data").or_insert_with(|| json!({}));
        if data.is_null() {
            *data = json!({});
        }
        if let Value::Object(data) = data {
            for (name, value) in plain {
                let text = value.as_str().unwrap_or_default();
                data.insert(name, json!(base64::engine::general_purpose::STANDARD.encode(text)));
            }
        }
    }
}

fn namespace(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    if let Some(meta) = fields(object, "metadata")
        && name.as_str().is_some_and(|name| !name.is_empty())
        && let Value::Object(labels) = meta.entry("labels").or_insert_with(|| json!({}))
    {
        labels.entry("kubernetes.io/metadata.name").or_insert(name);
    }
    status(object, "phase", json!("Active"));
}

fn policy_types(object: &mut Value) {
    let Some(spec) = fields(object, "spec") else { return };
    let filled = |name: &str| spec.get(name).and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    if !filled("policyTypes") {
        let types = if filled("egress") { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
        spec.insert("policyTypes".into(), types);
    }
}

/// The first version knows one metric; the others are in an annotation.
fn old_autoscaler(object: &mut Value) {
    let only = object["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"].is_null();
    let Some(spec) = fields(object, "spec") else { return };
    set(spec, "minReplicas", json!(1));
    if only {
        set(spec, "targetCPUUtilizationPercentage", json!(80));
    }
}

/// A behaviour that is given at all is completed for both directions.
fn scaling_behavior(object: &mut Value) {
    let Some(Value::Object(behavior)) = object.pointer_mut("/spec/behavior") else { return };
    let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    let directions = [("scaleUp", Some(0), json!([pods, percent])), ("scaleDown", None, json!([percent]))];
    for (direction, window, policies) in directions {
        let rules = behavior.entry(direction).or_insert_with(|| json!({}));
        if rules.is_null() {
            *rules = json!({});
        }
        let Value::Object(rules) = rules else { continue };
        set(rules, "selectPolicy", json!("Max"));
        set(rules, "policies", policies);
        if let Some(seconds) = window {
            set(rules, "stabilizationWindowSeconds", json!(seconds));
        }
    }
}

fn claim_templates(object: &mut Value) {
    let Some(spec) = fields(object, "spec") else { return };
    for claim in spec.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut).into_iter().flatten() {
        status(claim, "phase", json!("Pending"));
        if let Value::Object(claim) = claim {
            set(claim, "kind", json!("PersistentVolumeClaim"));
            set(claim, "apiVersion", json!("v1"));
        }
    }
}

fn template_generation(object: &mut Value) {
    if let Some(meta) = fields(object, "metadata") {
        let annotations = meta.entry("annotations").or_insert_with(|| json!({}));
        if let Value::Object(annotations) = annotations {
            annotations.entry("deprecated.daemonset.template.generation").or_insert(json!("1"));
        }
    }
}
