//! Deployments and their kin, Jobs, CronJobs, autoscalers, disruption budgets.

use serde_json::{Value, json};

use super::{Errors, cron, list, pod, present, text};
use crate::builtin::names::{label_value, qualified_name};
use crate::builtin::prepare;
use crate::status::FieldError;

/// Deployment, ReplicaSet, StatefulSet, DaemonSet.
pub(super) fn check(kind: &str, spec: &Value, errors: &mut Errors) {
    selector(kind, spec, errors);
    match kind {
        "Deployment" => deployment(spec, errors),
        "StatefulSet" => stateful_set(spec, errors),
        _ => {}
    }
    let policy = text(&spec["template"]["spec"], "restartPolicy");
    if !matches!(policy, "" | "Always") {
        errors.push(FieldError::not_supported("spec.template.spec.restartPolicy", policy, &["Always"]));
    }
    pod::check(&spec["template"]["spec"], "spec.template.spec", errors);
}

fn selector(kind: &str, spec: &Value, errors: &mut Errors) {
    let labels = &spec["template"]["metadata"]["labels"];
    let mismatch = |errors: &mut Errors| {
        let text = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid("spec.template.metadata.labels", labels.clone(), text));
    };
    let Some(selector) = spec.get("selector").filter(|s| !s.is_null()) else {
        errors.push(FieldError::required("spec.selector", ""));
        mismatch(errors);
        return;
    };
    let found = errors.len();
    label_selector(selector, "spec.selector", errors);
    let empty = selector["matchLabels"].as_object().is_none_or(|m| m.is_empty())
        && list(selector, "matchExpressions").is_empty();
    if empty {
        let text = format!("empty selector is invalid for {}", kind.to_lowercase());
        errors.push(FieldError::invalid("spec.selector", json!({}), text));
    } else if errors.len() == found && !matches_labels(selector, labels) {
        mismatch(errors);
    }
}

/// Whether a label selector matches a map of labels.
fn matches_labels(selector: &Value, labels: &Value) -> bool {
    let all = selector["matchLabels"]
        .as_object()
        .is_none_or(|wanted| wanted.iter().all(|(k, v)| labels.get(k) == Some(v)));
    all && list(selector, "matchExpressions").iter().all(|expression| {
        let value = labels.get(text(expression, "key"));
        let listed = || value.is_some_and(|value| list(expression, "values").contains(value));
        match text(expression, "operator") {
            "In" => listed(),
            "NotIn" => !listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    })
}

fn label_selector(selector: &Value, path: &str, errors: &mut Errors) {
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        if let Err(why) = qualified_name(key) {
            errors.push(FieldError::invalid(format!("{path}.matchLabels"), key.clone(), why));
        }
        if let Err(why) = label_value(value.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid(format!("{path}.matchLabels"), value.clone(), why));
        }
    }
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        let at = format!("{path}.matchExpressions[{index}]");
        let values = list(expression, "values");
        match text(expression, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                let text = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(format!("{at}.values"), text));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(format!("{at}.values"), text));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => errors.push(FieldError::invalid(
                format!("{at}.operator"),
                other,
                "not a valid selector operator",
            )),
        }
    }
}

fn deployment(spec: &Value, errors: &mut Errors) {
    let strategy = &spec["strategy"];
    let rolling = &strategy["rollingUpdate"];
    match text(strategy, "type") {
        "RollingUpdate" => rolling_update(rolling, errors),
        "Recreate" if !rolling.is_null() => {
            let text = "may not be specified when strategy `type` is 'Recreate'";
            errors.push(FieldError::forbidden("spec.strategy.rollingUpdate", text));
        }
        "Recreate" => {}
        other => {
            let shown = format!("{{\"Type\":{},\"RollingUpdate\":null}}", json!(other));
            let body =
                format!("Unsupported value: {shown}: supported values: \"Recreate\", \"RollingUpdate\"");
            let kind = crate::status::FieldErrorKind::Verbatim("FieldValueNotSupported", body);
            errors.push(FieldError::new("spec.strategy", kind));
        }
    }
    let (deadline, ready) =
        (spec["progressDeadlineSeconds"].as_i64(), spec["minReadySeconds"].as_i64().unwrap_or(0));
    if let Some(deadline) = deadline {
        if deadline < 0 {
            let text = "must be greater than or equal to 0";
            errors.push(FieldError::invalid("spec.progressDeadlineSeconds", deadline, text));
        } else if deadline <= ready {
            let text = "must be greater than minReadySeconds";
            errors.push(FieldError::invalid("spec.progressDeadlineSeconds", deadline, text));
        }
    }
}

fn rolling_update(rolling: &Value, errors: &mut Errors) {
    let at = |field: &str| format!("spec.strategy.rollingUpdate.{field}");
    let found = errors.len();
    for field in ["maxUnavailable", "maxSurge"] {
        int_or_percent(&rolling[field], at(field), errors);
    }
    let zero = |value: &Value| value == 0 || value == "0%";
    if errors.len() == found && zero(&rolling["maxUnavailable"]) && zero(&rolling["maxSurge"]) {
        let text = "may not be 0 when `maxSurge` is 0";
        errors.push(FieldError::invalid(at("maxUnavailable"), rolling["maxUnavailable"].clone(), text));
    }
}

fn int_or_percent(value: &Value, path: String, errors: &mut Errors) {
    match value {
        Value::String(text) => {
            let digits = text.strip_suffix('%');
            if !digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit())) {
                let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
                           '93%', regex used for validation is '[0-9]+%')";
                errors.push(FieldError::invalid(path, text.clone(), why));
            } else if path.ends_with("maxUnavailable")
                && digits.and_then(|d| d.parse::<u64>().ok()).is_none_or(|n| n > 100)
            {
                errors.push(FieldError::invalid(path, text.clone(), "must not be greater than 100%"));
            }
        }
        Value::Number(number) if number.as_i64().is_some_and(|n| n < 0) => {
            errors.push(FieldError::invalid(path, value.clone(), "must be greater than or equal to 0"));
        }
        _ => {}
    }
}

fn stateful_set(spec: &Value, errors: &mut Errors) {
    let policy = text(spec, "podManagementPolicy");
    if !matches!(policy, "OrderedReady" | "Parallel") {
        let text = "must be 'OrderedReady' or 'Parallel'";
        errors.push(FieldError::invalid("spec.podManagementPolicy", policy, text));
    }
    let strategy = text(&spec["updateStrategy"], "type");
    if !matches!(strategy, "RollingUpdate" | "OnDelete") {
        let shown = format!("{{\"Type\":{},\"RollingUpdate\":null}}", json!(strategy));
        let text = "must be 'RollingUpdate' or 'OnDelete'";
        errors.push(FieldError::invalid_text("spec.updateStrategy", &shown, text));
    }
}

/// A Job that lets the server choose its selector may not bring labels that select otherwise.
pub(super) fn generated_selector(object: &Value, errors: &mut Errors) {
    let spec = &object["spec"];
    let Some(selector) = spec.get("selector").filter(|selector| !selector.is_null()) else { return };
    if spec["manualSelector"] == Value::Bool(true) {
        return;
    }
    let own = prepare::job_labels(object);
    let labels = &spec["template"]["metadata"]["labels"];
    for (key, value) in &own {
        let at = "spec.template.metadata.labels";
        match labels.get(*key) {
            None => errors.push(FieldError::required(
                format!("{at}[{key}]"),
                format!("must be '{}'", value.as_str().unwrap_or_default()),
            )),
            Some(given) if given != value => errors.push(FieldError::invalid(
                format!("{at}[{key}]"),
                labels.clone(),
                format!("must be '{}'", value.as_str().unwrap_or_default()),
            )),
            Some(_) => {}
        }
    }
    let expected: Value = own.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    if !matches_labels(selector, &expected) {
        errors.push(FieldError::invalid("spec.selector", selector.clone(), "`selector` not auto-generated"));
    }
}

/// A Job's spec, in a Job or in a CronJob's template.
pub(super) fn job(spec: &Value, path: &str, errors: &mut Errors) {
    let template = format!("{path}.template.spec");
    let pod = &spec["template"]["spec"];
    match text(pod, "restartPolicy") {
        "OnFailure" | "Never" => {}
        "" | "Always" => {
            let text = "valid values: \"OnFailure\", \"Never\"";
            errors.push(FieldError::required(format!("{template}.restartPolicy"), text));
        }
        other => {
            let at = format!("{template}.restartPolicy");
            errors.push(FieldError::not_supported(at, other, &["OnFailure", "Never"]));
        }
    }
    pod::check(pod, &template, errors);
}

pub(super) fn cron_job(object: &Value, errors: &mut Errors) {
    let spec = &object["spec"];
    let name = text(&object["metadata"], "name");
    if name.len() > 52 {
        errors.push(FieldError::invalid("metadata.name", name, "must be no more than 52 characters"));
    }
    let schedule = text(spec, "schedule");
    if schedule.is_empty() {
        errors.push(FieldError::required("spec.schedule", ""));
    } else if schedule.contains("TZ=") {
        let text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(FieldError::invalid("spec.schedule", schedule, text));
    } else if let Err(why) = cron::check(schedule) {
        errors.push(FieldError::invalid("spec.schedule", schedule, why));
    }
    if let Some(zone) = spec["timeZone"].as_str() {
        if zone.is_empty() {
            errors.push(FieldError::invalid("spec.timeZone", zone, "must be nil or non-empty string"));
        } else if zone.eq_ignore_ascii_case("Local") {
            errors.push(FieldError::invalid(
                "spec.timeZone",
                zone,
                "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
            ));
        } else if jiff::tz::TimeZone::get(zone).is_err() {
            errors.push(FieldError::invalid("spec.timeZone", zone, format!("unknown time zone {zone}")));
        }
    }
    job(&spec["jobTemplate"]["spec"], "spec.jobTemplate.spec", errors);
}

pub(super) fn autoscaler(spec: &Value, errors: &mut Errors) {
    let target = &spec["scaleTargetRef"];
    for field in ["kind", "name"] {
        if text(target, field).is_empty() {
            errors.push(FieldError::required(format!("spec.scaleTargetRef.{field}"), ""));
        }
    }
    let version = text(target, "apiVersion");
    if !version.contains('/') && version != "v1" {
        errors.push(FieldError::invalid(
            "spec.scaleTargetRef.apiVersion",
            version,
            "apiVersion must specify API group",
        ));
    }
    let (least, most) =
        (spec["minReplicas"].as_i64().unwrap_or(1), spec["maxReplicas"].as_i64().unwrap_or(0));
    if least < 1 {
        errors.push(FieldError::invalid("spec.minReplicas", least, "must be greater than or equal to 1"));
        if !list(spec, "metrics").iter().any(|metric| matches!(text(metric, "type"), "Object" | "External")) {
            let text =
                "must specify at least one Object or External metric to support scaling to zero replicas";
            errors.push(FieldError::forbidden("spec.metrics", text));
        }
    }
    if most < 1 {
        errors.push(FieldError::required("spec.maxReplicas", "must be set and greater than 0"));
    }
    if most < least {
        errors.push(FieldError::invalid(
            "spec.maxReplicas",
            most,
            "must be greater than or equal to `minReplicas`",
        ));
    }
    for direction in ["scaleUp", "scaleDown"] {
        scaling_rules(&spec["behavior"][direction], &format!("spec.behavior.{direction}"), errors);
    }
    for (index, metric) in list(spec, "metrics").iter().enumerate() {
        let at = format!("spec.metrics[{index}]");
        let kinds = ["ContainerResource", "External", "Object", "Pods", "Resource"];
        if !kinds.contains(&text(metric, "type")) {
            // Told twice by the real server, once for the type and once for what it does not go with.
            for _ in 0..2 {
                errors.push(FieldError::not_supported(format!("{at}.type"), text(metric, "type"), &kinds));
            }
        }
        let target = &metric["resource"]["target"];
        if text(metric, "type") == "Resource"
            && !present(target, "averageUtilization")
            && !present(target, "averageValue")
        {
            let text = "must set either a target raw value or a target utilization";
            errors.push(FieldError::required(format!("{at}.resource.target.averageUtilization"), text));
        }
    }
}

/// How fast an autoscaler may scale in one direction.
fn scaling_rules(rules: &Value, path: &str, errors: &mut Errors) {
    let window = rules["stabilizationWindowSeconds"].as_i64();
    if let Some(seconds) = window.filter(|seconds| *seconds < 0) {
        let text = "must be greater than or equal to zero";
        errors.push(FieldError::invalid(format!("{path}.stabilizationWindowSeconds"), seconds, text));
    } else if let Some(seconds) = window.filter(|seconds| *seconds > 3600) {
        let text = "must be less than or equal to 3600";
        errors.push(FieldError::invalid(format!("{path}.stabilizationWindowSeconds"), seconds, text));
    }
    let policy = text(rules, "selectPolicy");
    if !matches!(policy, "" | "Max" | "Min" | "Disabled") {
        let supported = &["Disabled", "Max", "Min"];
        errors.push(FieldError::not_supported(format!("{path}.selectPolicy"), policy, supported));
    }
    for (index, policy) in list(rules, "policies").iter().enumerate() {
        let at = |field: &str| format!("{path}.policies[{index}].{field}");
        let kind = text(policy, "type");
        if !matches!(kind, "Pods" | "Percent") {
            errors.push(FieldError::not_supported(at("type"), kind, &["Percent", "Pods"]));
        }
        for field in ["value", "periodSeconds"] {
            let number = policy[field].as_i64().unwrap_or(0);
            if number <= 0 {
                errors.push(FieldError::invalid(at(field), number, "must be greater than zero"));
            } else if field == "periodSeconds" && number > 1800 {
                errors.push(FieldError::invalid(at(field), number, "must be less than or equal to 1800"));
            }
        }
    }
}

pub(super) fn priority_class(object: &Value, errors: &mut Errors) {
    const HIGHEST: i64 = 1_000_000_000;
    const SYSTEM: [&str; 2] = ["system-cluster-critical", "system-node-critical"];
    let name = text(&object["metadata"], "name");
    if name.starts_with("system-") {
        if !SYSTEM.contains(&name) {
            let text = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known \
                 system priority class"
            );
            errors.push(FieldError::forbidden("metadata.name", text));
        }
    } else if object["value"].as_i64().is_some_and(|value| value > HIGHEST) {
        let text = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        errors.push(FieldError::forbidden("value", text));
    }
    let policy = text(object, "preemptionPolicy");
    if !matches!(policy, "" | "PreemptLowerPriority" | "Never") {
        let supported = &["PreemptLowerPriority", "Never"];
        errors.push(FieldError::not_supported("preemptionPolicy", policy, supported));
    }
}

pub(super) fn disruption_budget(spec: &Value, errors: &mut Errors) {
    if present(spec, "minAvailable") && present(spec, "maxUnavailable") {
        let text = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid("spec", spec.clone(), text));
    }
    for field in ["minAvailable", "maxUnavailable"] {
        int_or_percent(&spec[field], format!("spec.{field}"), errors);
    }
}
