//! The judgement on the rules of a CRD: do they compile, can they be afforded?

use serde_json::Value;

use super::analyse::{Known, analyse};
use super::parse::Outcome;
use super::rule::Rule;
use super::types::{Kind, Ty};
use crate::schema::{Additional, ListType, Schema, Type, go_float};
use crate::status::FieldError;

const RULE_LIMIT: u64 = 10_000_000;
const SCHEMA_LIMIT: u64 = 100_000_000;
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Judges the rules of a CRD's schema at `path`.
pub fn check(raw: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let schema = Schema::compile(raw);
    if !schema.rules_below {
        return;
    }
    let mut check = Check { errors, total: 0, expensive: Vec::new() };
    check.node(&schema, path, true, &Context { cardinality: Some(1), uncorrelatable: None });
    let Check { total, expensive, .. } = check;
    if total > SCHEMA_LIMIT {
        for at in expensive {
            let text =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.push(FieldError::forbidden(at, text));
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(FieldError::forbidden(path, too_costly(what, total, SCHEMA_LIMIT)));
    }
}

/// How often a node can occur (`None`: as often as a request has room), and where its old value is lost.
#[derive(Clone)]
struct Context {
    cardinality: Option<u64>,
    uncorrelatable: Option<String>,
}

impl Context {
    fn times(&self, count: Option<u64>) -> Option<u64> {
        Some(self.cardinality?.saturating_mul(count?))
    }
}

struct Check<'e> {
    errors: &'e mut Vec<FieldError>,
    total: u64,
    expensive: Vec<String>,
}

impl Check<'_> {
    fn node(&mut self, schema: &Schema, path: &str, root: bool, context: &Context) {
        if !schema.rules_below {
            return;
        }
        let root = root || schema.embedded_resource;
        if !schema.rules.is_empty() {
            match Ty::of(schema, root) {
                Some(ty) => {
                    for (index, rule) in schema.rules.0.iter().enumerate() {
                        let at = format!("{path}.x-kubernetes-validations[{index}]");
                        self.rule(rule, schema, &ty, &at, context);
                    }
                }
                None => self.errors.push(FieldError::required(
                    format!("{path}.type"),
                    "must be specified for schemas with x-kubernetes-validations",
                )),
            }
        }
        for (name, property) in &schema.properties {
            self.node(property, &format!("{path}.properties[{name}]"), false, context);
        }
        if let Additional::Of(values) = &schema.additional {
            let inner = Context { cardinality: context.times(schema.max_properties), ..context.clone() };
            self.node(values, &format!("{path}.additionalProperties"), false, &inner);
        }
        if let Some(items) = schema.element() {
            let mut inner = Context { cardinality: context.times(schema.max_items), ..context.clone() };
            if schema.list_type != Some(ListType::Map) && inner.uncorrelatable.is_none() {
                inner.uncorrelatable = Some(path.to_owned());
            }
            self.node(items, &format!("{path}.items"), false, &inner);
        }
    }

    fn rule(&mut self, rule: &Rule, schema: &Schema, ty: &Ty, path: &str, context: &Context) {
        let at = |field: &str| format!("{path}.{field}");
        if rule.source.trim().is_empty() {
            self.errors.push(FieldError::required(at("rule"), "rule is not specified"));
            return;
        }
        if rule.message.is_empty() {
            if rule.source.trim().contains('\n') && rule.message_source.is_empty() {
                let text = "message must be specified if rule contains line breaks";
                self.errors.push(FieldError::required(at("message"), text));
            }
        } else if rule.message.trim().is_empty() {
            self.errors.push(FieldError::invalid(
                at("message"),
                rule.message.clone(),
                "message must be non-empty if specified",
            ));
        } else if rule.message.contains('\n') {
            self.errors.push(FieldError::invalid(
                at("message"),
                rule.message.clone(),
                "must not contain line breaks",
            ));
        }
        if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
            self.errors.push(FieldError::not_supported(at("reason"), reason, &REASONS));
        }
        if !rule.field_path.is_empty() && !leads_somewhere(rule, schema) {
            self.errors.push(FieldError::invalid(
                at("fieldPath"),
                rule.field_path.clone(),
                "must be a valid path",
            ));
        }
        let optional = rule.optional_old_self == Some(true);
        let old = if optional { Kind::Optional(Box::new(ty.clone())).into() } else { ty.clone() };
        let variables = [("self", ty.clone()), ("oldSelf", old)];
        let known = match analysed(&rule.parsed, &variables) {
            Ok(known) => known,
            Err(issues) => {
                let text = format!("compilation failed: {issues}");
                self.errors.push(FieldError::invalid_text(at("rule"), &rule.shown(), &text));
                return;
            }
        };
        if !matches!(known.ty.kind, Kind::Bool | Kind::Dyn) {
            let text = "cel expression must evaluate to a bool";
            self.errors.push(FieldError::invalid_text(at("rule"), &rule.shown(), text));
            return;
        }
        if rule.optional_old_self.is_some() && !rule.transition {
            let text = "may not be set if oldSelf is not used in rule";
            self.errors.push(FieldError::invalid(at("optionalOldSelf"), optional, text));
        }
        if rule.transition
            && let Some(within) = &context.uncorrelatable
        {
            let text =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            self.errors.push(FieldError::invalid_text(at("rule"), &rule.shown(), &text));
        }
        let times = context.cardinality.unwrap_or_else(|| ty.max_cardinality());
        self.afford(known.cost.max.saturating_mul(times), "estimated rule cost", at("rule"));
        self.message(rule, &variables, times, at("messageExpression"));
    }

    fn message(&mut self, rule: &Rule, variables: &[(&str, Ty)], times: u64, at: String) {
        let Some(parsed) = &rule.message_parsed else { return };
        match analysed(parsed, variables) {
            Err(issues) => {
                let text = format!("messageExpression compilation failed: {issues}");
                self.errors.push(FieldError::invalid_text(at, &rule.shown(), &text));
            }
            Ok(known) if !matches!(known.ty.kind, Kind::String | Kind::Dyn) => {
                let text = "messageExpression must evaluate to a string";
                self.errors.push(FieldError::invalid_text(at, &rule.shown(), text));
            }
            Ok(known) => {
                self.afford(known.cost.max.saturating_mul(times), "estimated messageExpression cost", at)
            }
        }
    }

    fn afford(&mut self, cost: u64, what: &str, at: String) {
        self.total = self.total.saturating_add(cost);
        if cost > SCHEMA_LIMIT / 100 {
            self.expensive.push(at.clone());
        }
        if cost > RULE_LIMIT {
            self.errors.push(FieldError::forbidden(at, too_costly(what, cost, RULE_LIMIT)));
        }
    }
}

/// Types and cost of an expression, or the issues with it.
fn analysed(parsed: &Outcome, variables: &[(&str, Ty)]) -> Result<Known, String> {
    match parsed.as_ref() {
        Ok(parsed) => analyse(parsed, variables),
        Err(issues) => Err(issues.clone()),
    }
}

fn too_costly(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}")
    } else {
        go_float((factor * 10.0).round() / 10.0)
    };
    let factor = if factor.contains('.') || factor.contains(' ') { factor } else { format!("{factor}.0") };
    format!(
        "{what} exceeds budget by factor of {factor}x (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// Whether the rule's `fieldPath` names a field below the node.
fn leads_somewhere(rule: &Rule, schema: &Schema) -> bool {
    let Some(steps) = rule.field_steps() else { return false };
    let mut here = schema;
    for step in &steps {
        if here.kind != Some(Type::Object) {
            return false;
        }
        match here.field(step) {
            Some(next) => here = next,
            None => return false,
        }
    }
    !steps.is_empty()
}
