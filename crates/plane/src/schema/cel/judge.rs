//! The judgement of rules on an object.

use std::rc::Rc;

use serde_json::Value;

use super::eval::{Failure, evaluate};
use super::rule::Rule;
use super::value::Val;
use crate::schema::validate::Previous;
use crate::schema::{Additional, Schema, join};
use crate::status::{FieldError, FieldErrorKind as Kind};

/// What one evaluation may cost.
const CALL_LIMIT: u64 = 1_000_000;
/// What all rules on one object may cost.
const OBJECT_LIMIT: u64 = 10_000_000;

/// Evaluates the rules of `schema` on `new`.
///
/// Rules that look at the old value run only where there is one; other rules that fail on a value that has not changed
/// become warnings.
pub fn validate(
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    path: &str,
    errors: &mut Vec<FieldError>,
    warnings: &mut Vec<String>,
) {
    let mut judge = Judge { errors, warnings, left: OBJECT_LIMIT };
    let _ = judge.value(schema, new, old, path, path.is_empty());
}

struct Judge<'e> {
    errors: &'e mut Vec<FieldError>,
    warnings: &'e mut Vec<String>,
    left: u64,
}

/// The budget is spent: no further rules.
struct Spent;

impl Judge<'_> {
    fn value(
        &mut self,
        schema: &Schema,
        new: &Value,
        old: Option<&Value>,
        path: &str,
        root: bool,
    ) -> Result<(), Spent> {
        if !schema.rules_below || new.is_null() {
            return Ok(());
        }
        let root = root || schema.embedded_resource;
        for rule in &schema.rules.0 {
            self.rule(rule, schema, new, old, path, root)?;
        }
        match new {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let inner = match (schema.properties.get(name), &schema.additional) {
                        (Some(property), _) => property,
                        (None, Additional::Of(values)) => values,
                        _ => continue,
                    };
                    let before = old.and_then(|old| old.get(name));
                    self.value(inner, value, before, &join(path, name), false)?;
                }
            }
            Value::Array(elements) => {
                if let Some(items) = schema.element() {
                    let previous = Previous::new(schema, old);
                    for (index, element) in elements.iter().enumerate() {
                        self.value(items, element, previous.of(element), &format!("{path}[{index}]"), false)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn rule(
        &mut self,
        rule: &Rule,
        schema: &Schema,
        new: &Value,
        old: Option<&Value>,
        path: &str,
        root: bool,
    ) -> Result<(), Spent> {
        let Ok(parsed) = rule.parsed.as_ref() else { return Ok(()) };
        let optional = rule.optional_old_self == Some(true);
        if rule.transition && old.is_none() && !optional {
            return Ok(());
        }
        let variables = match variables(schema, new, old, root, optional) {
            Ok(variables) => variables,
            Err(error) => {
                self.failed(rule, schema, path, &error);
                return Ok(());
            }
        };
        let (outcome, spent) = evaluate(&parsed.root, variables.clone(), CALL_LIMIT.min(self.left));
        self.left = self.left.saturating_sub(spent);
        match outcome {
            Ok(Val::Bool(true)) => Ok(()),
            Ok(Val::Bool(false)) => {
                let message = self.message(rule, variables);
                let error = broken(rule, new, path, message);
                if !rule.transition && old == Some(new) {
                    self.warnings.push(error.to_string());
                } else {
                    self.errors.push(error);
                }
                Ok(())
            }
            Ok(_) => {
                self.failed(rule, schema, path, "rule does not evaluate to a bool");
                Ok(())
            }
            Err(Failure::Error(text)) if text == "no such overload" => {
                let text = format!(
                    "'{text}': call arguments did not match a supported operator, function or macro signature for rule: {}",
                    described(rule)
                );
                self.errors.push(FieldError::invalid(path, kind(schema), text));
                Ok(())
            }
            Err(Failure::Error(text)) => {
                self.failed(rule, schema, path, &text);
                Ok(())
            }
            Err(Failure::TooCostly) if self.left == 0 => {
                let text = "validation failed due to running out of cost budget, no further validation rules will be run";
                self.errors.push(FieldError::invalid(path, kind(schema), text));
                Err(Spent)
            }
            Err(Failure::TooCostly) => {
                let text = format!(
                    "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to \
                     call cost exceeds limit for rule: {}",
                    described(rule)
                );
                self.errors.push(FieldError::invalid(path, kind(schema), text));
                Err(Spent)
            }
        }
    }

    fn failed(&mut self, rule: &Rule, schema: &Schema, path: &str, what: &str) {
        let text = format!("{what} evaluating rule: {}", described(rule));
        self.errors.push(FieldError::invalid(path, kind(schema), text));
    }

    fn message(&mut self, rule: &Rule, variables: Vec<(String, Val<'_>)>) -> String {
        if let Some(Ok(parsed)) = rule.message_parsed.as_deref() {
            let (outcome, spent) = evaluate(&parsed.root, variables, CALL_LIMIT.min(self.left));
            self.left = self.left.saturating_sub(spent);
            if let Ok(Val::Text(text)) = outcome {
                let text = text.trim();
                if !text.is_empty() && !text.contains('\n') {
                    return text.to_owned();
                }
            }
        }
        if rule.message.is_empty() {
            format!("failed rule: {}", rule.source.trim())
        } else {
            rule.message.trim().to_owned()
        }
    }
}

fn variables<'v>(
    schema: &'v Schema,
    new: &'v Value,
    old: Option<&'v Value>,
    root: bool,
    optional: bool,
) -> Result<Vec<(String, Val<'v>)>, String> {
    let mut out = vec![("self".to_owned(), Val::of(Some(schema), new, root)?)];
    let before = old.map(|old| Val::of(Some(schema), old, root)).transpose()?;
    match (before, optional) {
        (before, true) => out.push(("oldSelf".to_owned(), Val::Optional(before.map(Rc::new)))),
        (Some(before), false) => out.push(("oldSelf".to_owned(), before)),
        (None, false) => {}
    }
    Ok(out)
}

/// The error of a rule that is false.
fn broken(rule: &Rule, new: &Value, path: &str, message: String) -> FieldError {
    let steps = rule.field_steps().unwrap_or_default();
    let at = steps.iter().fold(path.to_owned(), |path, step| join(&path, step));
    let shown = (!new.is_object() && !new.is_array()).then(|| new.clone());
    match rule.reason.as_deref() {
        Some("FieldValueRequired") => FieldError::required(at, message),
        Some("FieldValueForbidden") => FieldError::forbidden(at, message),
        Some("FieldValueDuplicate") => match shown {
            Some(value) => FieldError::duplicate(at, value),
            None => FieldError::new(at, Kind::DuplicateRule),
        },
        _ => match shown {
            Some(value) if steps.is_empty() => FieldError::invalid(at, value, message),
            _ => FieldError::new(at, Kind::InvalidRule(message)),
        },
    }
}

fn described(rule: &Rule) -> &str {
    if rule.message.is_empty() { rule.source.trim() } else { rule.message.trim() }
}

fn kind(schema: &Schema) -> &'static str {
    schema.kind.map_or("", |kind| kind.name())
}
