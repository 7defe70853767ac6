//! ValidatingAdmissionPolicy: expressions that every matching write must satisfy.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::hooks::AdmissionRequest;
use crate::label_selector::LabelSelector;
use crate::resource::GroupVersionKind;
use crate::schema::cel::{Expression, Scope};
use crate::status::{Cause, Details, Error, Result};

use super::condition::{self, MatchCondition};
use super::configuration::RuleWithOperations;
use super::rights::{self, Rights};
use super::{Surroundings, matching, review};

/// What the expressions of one policy may cost together, for one binding and parameter.
const BUDGET: u64 = 10_000_000;

#[derive(Deserialize)]
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
    param_kind: Option<ParamKind>,
    match_constraints: Option<MatchResources>,
    #[serde(default)]
    match_conditions: Vec<MatchCondition>,
    #[serde(default)]
    variables: Vec<Variable>,
    #[serde(default)]
    validations: Vec<Validation>,
    failure_policy: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ParamKind {
    api_version: String,
    kind: String,
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
    param_ref: Option<ParamRef>,
    match_resources: Option<MatchResources>,
    #[serde(default)]
    validation_actions: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ParamRef {
    name: String,
    namespace: String,
    selector: Option<LabelSelector>,
    parameter_not_found_action: Option<String>,
}

/// One write under judgement.
pub(super) struct Judgement<'a> {
    pub(super) surroundings: &'a dyn Surroundings,
    pub(super) request: &'a AdmissionRequest,
    pub(super) namespace: Option<Arc<Value>>,
    pub(super) warnings: Vec<String>,
    /// The first refusal: the others are heard for their warnings.
    refusal: Option<Error>,
}

/// Checks a write against every policy that a binding puts in force; the warnings come with the outcome.
pub(super) fn check(
    surroundings: &dyn Surroundings,
    request: &AdmissionRequest,
) -> (Result<()>, Vec<String>) {
    let (policies, bindings) = surroundings.policies();
    if policies.is_empty() || bindings.is_empty() {
        return (Ok(()), vec![]);
    }
    let namespace = surroundings.namespace(&request.namespace);
    let mut judgement = Judgement { surroundings, request, namespace, warnings: vec![], refusal: None };
    let outcome = judgement.all(&policies, &bindings);
    let refusal = judgement.refusal.map_or(Ok(()), Err);
    (outcome.and(refusal), judgement.warnings)
}

impl Judgement<'_> {
    fn all(&mut self, policies: &[Arc<Value>], bindings: &[Arc<Value>]) -> Result<()> {
        let unreadable = |error: serde_json::Error| Error::internal(error.to_string());
        let namespace = self.namespace.clone();
        for policy in policies {
            let policy = Policy::deserialize(&**policy).map_err(unreadable)?;
            let constraints = policy.spec.match_constraints.as_ref();
            if !constraints.is_some_and(|some| some.cover(self.request, namespace.as_deref())) {
                continue;
            }
            for binding in bindings {
                let binding = Binding::deserialize(&**binding).map_err(unreadable)?;
                let narrowed = binding.spec.match_resources.as_ref();
                if binding.spec.policy_name == policy.metadata.name
                    && narrowed.is_none_or(|some| some.narrow(self.request, namespace.as_deref()))
                {
                    self.bound(&policy, &binding);
                }
            }
        }
        Ok(())
    }

    /// One policy by one binding, once for each parameter.
    fn bound(&mut self, policy: &Policy, binding: &Binding) {
        match self.parameters(policy, binding) {
            Ok(parameters) => {
                for parameter in parameters {
                    self.one(policy, binding, parameter.as_deref().unwrap_or(&Value::Null));
                }
            }
            Err(_) if policy.tolerates_failures() => {}
            Err(why) => self.refuse(policy, binding, &format!("failed to configure binding: {why}"), None),
        }
    }

    fn one(&mut self, policy: &Policy, binding: &Binding, parameter: &Value) {
        let rights = Rights { surroundings: self.surroundings, user: &self.request.user };
        let (request, nothing) = (review::described(self.request), Value::Null);
        let namespace = self.namespace.clone();
        let mut scope = Scope::new(BUDGET)
            .with("object", &self.request.object)
            .with("oldObject", &self.request.old_object)
            .with("request", &request)
            .with("params", parameter)
            .with("namespaceObject", namespace.as_deref().unwrap_or(&nothing))
            .with_authorizer(&rights, rights::own(self.request));
        match condition::all_hold(&policy.spec.match_conditions, &mut scope) {
            Ok(true) => {}
            Ok(false) => return,
            Err(_) if policy.tolerates_failures() => return,
            Err(why) => return self.fail(policy, binding, &why, None),
        }
        for Variable { name, expression } in &policy.spec.variables {
            scope.define(name, &Expression::new(expression));
        }
        for validation in &policy.spec.validations {
            match Expression::new(&validation.expression).holds(&mut scope) {
                Ok(true) => {}
                Ok(false) => {
                    let text = validation.text(&mut scope);
                    self.fail(policy, binding, &text, validation.reason.as_deref());
                }
                Err(_) if policy.tolerates_failures() => {}
                Err(error) => self.fail(policy, binding, &error.to_string(), None),
            }
        }
    }

    /// Does what the binding says of a validation that failed.
    fn fail(&mut self, policy: &Policy, binding: &Binding, text: &str, reason: Option<&str>) {
        let actions = &binding.spec.validation_actions;
        if actions.iter().any(|action| action == "Warn") {
            self.warnings.push(format!("Validation failed for {}: {text}", by(policy, binding)));
        }
        if actions.iter().any(|action| action == "Deny") {
            self.refuse(policy, binding, text, reason);
        }
    }

    fn refuse(&mut self, policy: &Policy, binding: &Binding, text: &str, reason: Option<&str>) {
        let message = format!("{} denied request: {text}", by(policy, binding));
        self.refusal.get_or_insert_with(|| denial(self.request, message, reason));
    }

    /// The parameters that a binding names; one that is none where the policy takes no parameters.
    fn parameters(&self, policy: &Policy, binding: &Binding) -> Result<Vec<Option<Arc<Value>>>, String> {
        let (Some(kind), Some(wanted)) = (&policy.spec.param_kind, &binding.spec.param_ref) else {
            return Ok(vec![None]);
        };
        let gvk = GroupVersionKind::from_api_version(&kind.api_version, &kind.kind);
        let (namespaced, objects) =
            self.surroundings.objects(&gvk).ok_or_else(|| format!("paramKind kind `{gvk}` not known"))?;
        if !namespaced && !wanted.namespace.is_empty() {
            return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".into());
        }
        let namespace = if wanted.namespace.is_empty() { &self.request.namespace } else { &wanted.namespace };
        if namespaced && namespace.is_empty() {
            let why =
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
            return Err(why.into());
        }
        let fits = |object: &Arc<Value>| {
            let meta = &object["metadata"];
            (!namespaced || meta["namespace"] == **namespace)
                && match &wanted.selector {
                    Some(selector) if wanted.name.is_empty() => selector.matches_object(object),
                    _ => meta["name"] == *wanted.name,
                }
        };
        let found: Vec<Option<Arc<Value>>> = objects.into_iter().filter(fits).map(Some).collect();
        if found.is_empty() && wanted.parameter_not_found_action.as_deref() == Some("Deny") {
            return Err("no params found for policy binding with `Deny` parameterNotFoundAction".into());
        }
        Ok(found)
    }
}

impl Policy {
    fn tolerates_failures(&self) -> bool {
        self.spec.failure_policy.as_deref() == Some("Ignore")
    }
}

fn by(policy: &Policy, binding: &Binding) -> String {
    let (policy, binding) = (&policy.metadata.name, &binding.metadata.name);
    format!("ValidatingAdmissionPolicy '{policy}' with binding '{binding}'")
}

impl Validation {
    fn text(&self, scope: &mut Scope<'_>) -> String {
        let computed = self.message_expression.as_ref().and_then(|text| Expression::new(text).text(scope));
        let usable = |text: &String| !text.trim().is_empty() && !text.contains('\n');
        computed
            .filter(usable)
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
