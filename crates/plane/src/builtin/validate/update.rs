//! What may not change.

use serde_json::Value;

use super::Errors;
use crate::resource::GroupVersionKind;
use crate::status::FieldError;

/// Group, kind and the paths that stay as they were made; the refusal shows the new value.
const FIXED: &[(&str, &str, &[&str])] = &[
    ("apps", "Deployment", &["spec.selector"]),
    ("apps", "ReplicaSet", &["spec.selector"]),
    ("apps", "DaemonSet", &["spec.selector"]),
    (
        "batch",
        "Job",
        &[
            "spec.selector",
            "spec.template",
            "spec.podFailurePolicy",
            "spec.backoffLimitPerIndex",
            "spec.completionMode",
            "spec.manualSelector",
        ],
    ),
    ("", "Secret", &["type"]),
    ("storage.k8s.io", "StorageClass", &["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"]),
    ("discovery.k8s.io", "EndpointSlice", &["addressType"]),
    ("scheduling.k8s.io", "PriorityClass", &["preemptionPolicy"]),
    ("apps", "ControllerRevision", &["data"]),
    ("networking.k8s.io", "IngressClass", &["spec.controller"]),
];

pub(super) fn check(gvk: &GroupVersionKind, new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    for (_, _, paths) in FIXED.iter().filter(|(group, kind, _)| *group == &*gvk.group && *kind == &*gvk.kind)
    {
        for path in *paths {
            let (value, before) = (at(new, path), at(old, path));
            if value != before && !(*path == "spec.template" && resumable(new, old)) {
                errors.push(FieldError::invalid(
                    *path,
                    value.cloned().unwrap_or(Value::Null),
                    "field is immutable",
                ));
            }
        }
    }
    match (&*gvk.group, &*gvk.kind) {
        ("apps", "StatefulSet") => stateful_set(new, old, &mut errors),
        ("batch", "Job") => completions(new, old, &mut errors),
        ("scheduling.k8s.io", "PriorityClass") if at(new, "value") != at(old, "value") => {
            errors.push(FieldError::forbidden("value", "may not be changed in an update."));
        }
        ("events.k8s.io", "Event") => event(new, old, &mut errors),
        ("", "Pod") => pod(new, old, &mut errors),
        ("", "Service") => service(new, old, &mut errors),
        ("", "PersistentVolumeClaim") => claim(new, old, &mut errors),
        ("", "ConfigMap" | "Secret") => sealed(new, old, &mut errors),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => binding(new, old, &mut errors),
        _ => {}
    }
    errors
}

fn at<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(object, |value, name| value.get(name)).filter(|value| !value.is_null())
}

fn without(object: &Value, names: &[&str]) -> Value {
    let mut object = object.clone();
    if let Value::Object(fields) = &mut object {
        fields.retain(|name, _| !names.contains(&name.as_str()));
    }
    object
}

/// A Job that is suspended and never ran may get other scheduling directives and resources.
fn resumable(new: &Value, old: &Value) -> bool {
    if old["spec"]["suspend"] != Value::Bool(true) || at(old, "status.startTime").is_some() {
        return false;
    }
    let bare = |job: &Value| {
        let mut template = job["spec"]["template"].clone();
        if let Some(Value::Object(meta)) = template.get_mut("metadata") {
            meta.retain(|name, _| !matches!(name.as_str(), "labels" | "annotations"));
        }
        template["spec"] =
            without(&template["spec"], &["nodeSelector", "affinity", "tolerations", "schedulingGates"]);
        for list in ["containers", "initContainers"] {
            for container in
                template["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten()
            {
                *container = without(container, &["resources"]);
            }
        }
        template
    };
    bare(new) == bare(old)
}

fn stateful_set(new: &Value, old: &Value, errors: &mut Errors) {
    const FREE: [&str; 7] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    if without(&new["spec"], &FREE) != without(&old["spec"], &FREE) {
        errors.push(FieldError::forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
             'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ));
    }
}

/// Completions stay, unless the Job is indexed and its parallelism goes with them.
fn completions(new: &Value, old: &Value, errors: &mut Errors) {
    let (now, before) = (at(new, "spec.completions"), at(old, "spec.completions"));
    if now == before {
        return;
    }
    let shown = now.cloned().unwrap_or(Value::Null);
    if at(new, "spec.completionMode").is_none_or(|mode| mode != "Indexed") {
        errors.push(FieldError::invalid("spec.completions", shown, "field is immutable"));
    } else if now.is_none() || now != at(new, "spec.parallelism") {
        let text = "can only be modified in tandem with spec.parallelism";
        errors.push(FieldError::invalid("spec.completions", shown, text));
    }
}

/// An event of the new kind only ever becomes a series. The names are those of the old kind.
fn event(new: &Value, old: &Value, errors: &mut Errors) {
    const NAMES: [(&str, &str); 10] = [
        ("regarding", "involvedObject"),
        ("reason", "reason"),
        ("note", "message"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("type", "type"),
        ("action", "action"),
        ("related", "related"),
    ];
    for (field, shown) in NAMES {
        if at(new, field) != at(old, field) {
            let value = at(new, field).cloned().unwrap_or(Value::Null);
            errors.push(FieldError::invalid(shown, value, "field is immutable"));
        }
    }
}

fn pod(new: &Value, old: &Value, errors: &mut Errors) {
    let bare = |pod: &Value| {
        let mut spec = without(&pod["spec"], &["activeDeadlineSeconds", "tolerations", "schedulingGates"]);
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                *container = without(container, &["image"]);
            }
        }
        spec
    };
    let kept = old["spec"]["tolerations"].as_array().is_none_or(|before| {
        before.iter().all(|t| new["spec"]["tolerations"].as_array().is_some_and(|now| now.contains(t)))
    });
    // Binding to a node comes by its own subresource and is let through.
    let bound =
        |spec: Value| if old["spec"]["nodeName"].is_null() { without(&spec, &["nodeName"]) } else { spec };
    if bound(bare(new)) != bound(bare(old)) || !kept {
        errors.push(FieldError::forbidden(
            "spec",
            "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
             `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
             `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        ));
    }
}

fn service(new: &Value, old: &Value, errors: &mut Errors) {
    let addressed = |service: &Value| service["spec"]["type"] != "ExternalName";
    let before = &old["spec"]["clusterIPs"];
    if addressed(new) && addressed(old) && before.is_array() && new["spec"]["clusterIPs"].is_array() {
        let (was, is) = (&before[0], &new["spec"]["clusterIPs"][0]);
        if was != is && !was.is_null() && was != "" {
            errors.push(FieldError::invalid(
                "spec.clusterIPs[0]",
                new["spec"]["clusterIPs"].clone(),
                "may not change once set",
            ));
        }
    }
}

fn claim(new: &Value, old: &Value, errors: &mut Errors) {
    let bound = at(old, "status.phase").is_some_and(|phase| phase == "Bound");
    let mut free = vec!["volumeName"];
    if at(old, "spec.storageClassName").is_none() {
        free.push("storageClassName");
    }
    if bound {
        free.push("volumeAttributesClassName");
    }
    let bare = |claim: &Value| {
        let mut spec = without(&claim["spec"], &free);
        if bound && let Some(Value::Object(resources)) = spec.get_mut("resources") {
            resources.remove("requests");
        }
        spec
    };
    if bare(new) != bare(old) {
        errors.push(FieldError::forbidden(
            "spec",
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ));
    }
    let size = |claim: &Value| {
        let text = claim["spec"]["resources"]["requests"]["storage"].as_str()?;
        crate::builtin::quantity::Quantity::parse(text)
    };
    if bound
        && let (Some(now), Some(was)) = (size(new), size(old))
        && now < was
    {
        let text = "field can not be less than previous value";
        errors.push(FieldError::forbidden("spec.resources.requests.storage", text));
    }
}

/// Nothing of an immutable ConfigMap or Secret changes, not even that it is immutable.
fn sealed(new: &Value, old: &Value, errors: &mut Errors) {
    if old["immutable"] != Value::Bool(true) {
        return;
    }
    for field in ["immutable", "data", "binaryData"] {
        if at(new, field) != at(old, field) {
            errors.push(FieldError::forbidden(field, "field is immutable when `immutable` is set"));
        }
    }
}

fn binding(new: &Value, old: &Value, errors: &mut Errors) {
    let role = &new["roleRef"];
    if *role != old["roleRef"] {
        let shown = format!(
            "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
            role["apiGroup"], role["kind"], role["name"]
        );
        errors.push(FieldError::invalid_text("roleRef", &shown, "cannot change roleRef"));
    }
}
