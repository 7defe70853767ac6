//! ValidatingAdmissionPolicy: expressions that every matching write must satisfy.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::hooks::AdmissionRequest;
use crate::label_selector::LabelSelector;
use crate::status::{Cause, Details, Error, Result};

use super::condition::{self, MatchCondition};
use super::configuration::RuleWithOperations;
use super::dispatch::variables;
use super::expression::{Expression, Variables, cel_value};
use super::matching;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Policy {
    metadata: Name,
    spec: PolicySpec,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PolicySpec {
    param_kind: Option<Value>,
    match_constraints: Option<MatchResources>,
    #[serde(default)]
    match_conditions: Vec<MatchCondition>,
    #[serde(default)]
    variables: Vec<Variable>,
    #[serde(default)]
    validations: Vec<Validation>,
    failure_policy: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct MatchResources {
    resource_rules: Vec<RuleWithOperations>,
    exclude_resource_rules: Vec<RuleWithOperations>,
    namespace_selector: Option<LabelSelector>,
    object_selector: Option<LabelSelector>,
}

#[derive(Deserialize)]
struct Variable {
    name: String,
    expression: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Validation {
    expression: String,
    message: Option<String>,
    message_expression: Option<String>,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Binding {
    metadata: Name,
    spec: BindingSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BindingSpec {
    policy_name: String,
    param_ref: Option<Value>,
    match_resources: Option<MatchResources>,
    #[serde(default)]
    validation_actions: Vec<String>,
}

/// Checks a write against every policy that a binding puts in force.
pub(super) fn check(
    policies: &[Arc<Value>],
    bindings: &[Arc<Value>],
    request: &AdmissionRequest,
    namespace: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    for policy in policies {
        let policy = Policy::deserialize(&**policy).map_err(|error| Error::internal(error.to_string()))?;
        if !policy
            .spec
            .match_constraints
            .as_ref()
            .is_some_and(|constraints| constraints.cover(request, namespace))
        {
            continue;
        }
        for binding in bindings {
            let binding =
                Binding::deserialize(&**binding).map_err(|error| Error::internal(error.to_string()))?;
            let covered = binding.spec.match_resources.as_ref().is_none_or(|m| m.narrow(request, namespace));
            if binding.spec.policy_name == policy.metadata.name && covered {
                check_one(&policy, &binding, request, namespace, warnings)?;
            }
        }
    }
    Ok(())
}

fn check_one(
    policy: &Policy,
    binding: &Binding,
    request: &AdmissionRequest,
    namespace: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let tolerant = policy.spec.failure_policy.as_deref() == Some("Ignore");
    let by = format!(
        "ValidatingAdmissionPolicy '{}' with binding '{}'",
        policy.metadata.name, binding.metadata.name
    );
    let mut deny = |text: String, reason: Option<&str>| -> Result<()> {
        let message = format!("{by} denied request: {text}");
        let actions = &binding.spec.validation_actions;
        if actions.iter().any(|action| action == "Warn") {
            warnings.push(format!("Validation failed for {by}: {text}"));
        }
        if actions.iter().any(|action| action == "Deny") {
            Err(denial(request, message, reason))
        } else {
            Ok(())
        }
    };
    if policy.spec.param_kind.is_some() || binding.spec.param_ref.is_some() {
        // Letting the write through would be worse than saying what is missing.
        return deny("parameters (paramKind, paramRef) are not supported by this server".into(), None);
    }
    let mut scope = variables(request).with("namespaceObject", namespace.unwrap_or(&Value::Null));
    match condition::all_hold(&policy.spec.match_conditions, &scope) {
        Ok(true) => {}
        Ok(false) => return Ok(()),
        Err(_) if tolerant => return Ok(()),
        Err(why) => return deny(why, None),
    }
    bind_variables(&policy.spec.variables, &mut scope);
    for validation in &policy.spec.validations {
        match Expression::new(&validation.expression).holds(&scope) {
            Ok(true) => {}
            Ok(false) => deny(validation.text(&scope), validation.reason.as_deref())?,
            Err(_) if tolerant => {}
            Err(why) => {
                deny(format!("expression '{}' resulted in error: {why}", validation.expression), None)?
            }
        }
    }
    Ok(())
}

/// Later variables may use earlier ones. One that fails stays unset, and whoever uses it fails with it.
fn bind_variables(declared: &[Variable], scope: &mut Variables<'_>) {
    let mut values = std::collections::HashMap::new();
    scope.set("variables", cel_value(&Value::Object(serde_json::Map::new())));
    for variable in declared {
        if let Ok(value) = Expression::new(&variable.expression).evaluate(scope) {
            values.insert(variable.name.clone(), value);
            scope.set("variables", cel::Value::Map(values.clone().into()));
        }
    }
}

impl Validation {
    fn text(&self, scope: &Variables<'_>) -> String {
        let computed =
            self.message_expression.as_ref().and_then(|text| match Expression::new(text).evaluate(scope) {
                Ok(cel::Value::String(text)) if !text.trim().is_empty() && !text.contains('\n') => {
                    Some(text.to_string())
                }
                _ => None,
            });
        computed
            .or_else(|| self.message.clone().filter(|message| !message.is_empty()))
            .unwrap_or_else(|| format!("failed expression: {}", self.expression.trim()))
    }
}

impl MatchResources {
    /// Whether a policy's constraints cover the request: some rule must.
    fn cover(&self, request: &AdmissionRequest, namespace: Option<&Value>) -> bool {
        !self.resource_rules.is_empty() && self.narrow(request, namespace)
    }

    /// Whether a binding's narrowing leaves the request in: no rules means all.
    fn narrow(&self, request: &AdmissionRequest, namespace: Option<&Value>) -> bool {
        let version = &*request.kind.version;
        let any = |rules: &[RuleWithOperations]| rules.iter().any(|rule| rule.covers(request, version));
        (self.resource_rules.is_empty() || any(&self.resource_rules))
            && !any(&self.exclude_resource_rules)
            && matching::namespace_matches(self.namespace_selector.as_ref(), request, namespace)
            && matching::object_matches(self.object_selector.as_ref(), request)
    }
}

/// Reads as forbidden, but is Invalid unless the validation says otherwise.
fn denial(request: &AdmissionRequest, message: String, reason: Option<&str>) -> Error {
    let (code, reason) = match reason {
        Some("Forbidden") => (403, "Forbidden"),
        Some("Unauthorized") => (401, "Unauthorized"),
        Some("RequestEntityTooLarge") => (413, "RequestEntityTooLarge"),
        _ => (422, "Invalid"),
    };
    let shown = Error::forbidden(&request.names, &request.name, &message).message;
    let details = Details {
        name: request.name.clone(),
        group: request.names.group.to_string(),
        kind: request.names.plural.to_string(),
        causes: vec![Cause { message, ..Cause::default() }],
        ..Details::default()
    };
    Error::new(code, reason, shown).with_details(details)
}
