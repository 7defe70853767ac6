//! Expressions outside of schemas: the conditions of webhooks, and admission policies.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use super::analyse::analyse;
use super::authz::{Asking, Authorizer, Question};
use super::eval::{Failure, evaluate};
use super::parse::{Outcome, parse};
use super::types::{Fields, Kind, Ty};
use super::value::Val;

/// What one evaluation may cost.
const CALL_LIMIT: u64 = 1_000_000;

/// An expression, parsed.
#[derive(Debug, Clone)]
pub struct Expression {
    text: String,
    parsed: Outcome,
}

/// What an expression must come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A truth value.
    Bool,
    /// A text.
    Text,
    /// Whatever it is.
    Anything,
}

/// Which names there are besides `object`, `oldObject`, `request`, `namespaceObject` and `authorizer`.
#[derive(Debug, Clone, Default)]
pub struct Names<'n> {
    /// `params`.
    pub params: bool,
    /// The fields of `variables`; none of them means that there is no such name.
    pub variables: &'n [String],
}

/// Why an expression gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// It failed.
    #[error("expression '{expression}' resulted in error: {why}")]
    Failed {
        /// The expression.
        expression: String,
        /// What happened.
        why: String,
    },
    /// All that was granted is spent.
    #[error("validation failed due to running out of cost budget, no further validation rules will be run")]
    OutOfBudget,
}

impl Expression {
    /// Reads an expression; whether it compiles is asked later.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let parsed = parse(text.trim());
        Self { text, parsed }
    }

    /// What is wrong with it, if anything.
    pub fn check(&self, names: &Names<'_>, wanted: Wanted) -> Result<(), String> {
        let failed = |issues: &String| format!("compilation failed: {issues}");
        let parsed = self.parsed.as_ref().as_ref().map_err(failed)?;
        let known = analyse(parsed, &environment(names)).map_err(|issues| failed(&issues))?;
        match (wanted, &known.ty.kind) {
            (Wanted::Anything, _) | (Wanted::Bool, Kind::Bool) | (Wanted::Text, Kind::String) => Ok(()),
            (Wanted::Bool, _) => Err(format!("must evaluate to bool but got {}", known.ty)),
            (Wanted::Text, _) => Err(format!("must evaluate to string but got {}", known.ty)),
        }
    }

    fn value<'a>(&self, scope: &mut Scope<'a>) -> Result<Val<'a>, Unanswered> {
        let failed = |why: String| Unanswered::Failed { expression: self.text.clone(), why };
        let parsed = self.parsed.as_ref().as_ref().map_err(|issues| failed(issues.clone()))?;
        let mut variables = scope.variables.clone();
        variables.push(("variables".to_owned(), Val::Map(Rc::new(scope.made.clone()))));
        let (outcome, spent) = evaluate(&parsed.root, variables, CALL_LIMIT);
        if spent > scope.left {
            scope.left = 0;
            return Err(Unanswered::OutOfBudget);
        }
        scope.left -= spent;
        outcome.map_err(|failure| match failure {
            Failure::Error(why) => failed(why),
            Failure::TooCostly => failed("operation cancelled: actual cost limit exceeded".into()),
        })
    }

    /// Whether it holds.
    pub fn holds(&self, scope: &mut Scope<'_>) -> Result<bool, Unanswered> {
        match self.value(scope)? {
            Val::Bool(holds) => Ok(holds),
            other => Err(Unanswered::Failed {
                expression: self.text.clone(),
                why: format!("expected bool, got {}", other.type_name()),
            }),
        }
    }

    /// The text it comes to; none if it fails or comes to anything else.
    pub fn text(&self, scope: &mut Scope<'_>) -> Option<String> {
        match self.value(scope) {
            Ok(Val::Text(text)) => Some(text.to_string()),
            _ => None,
        }
    }
}

/// What an expression may speak of, and what it may still cost.
#[derive(Clone)]
pub struct Scope<'a> {
    variables: Vec<(String, Val<'a>)>,
    /// The fields of `variables`.
    made: BTreeMap<String, Val<'a>>,
    left: u64,
}

impl<'a> Scope<'a> {
    /// Nothing to speak of yet; all expressions together may cost `budget`.
    pub fn new(budget: u64) -> Self {
        Self { variables: vec![], made: BTreeMap::new(), left: budget }
    }

    /// A name for some JSON.
    pub fn with(mut self, name: &str, json: &'a Value) -> Self {
        // Without a schema nothing can be of the wrong type.
        let value = Val::of(None, json, false).unwrap_or(Val::Null);
        self.variables.push((name.to_owned(), value));
        self
    }

    /// `authorizer`, for a request about `own`.
    pub fn with_authorizer(mut self, authorizer: &'a dyn Authorizer, own: Question) -> Self {
        let asking = Val::Asking(Rc::new(Asking::new(authorizer, own)));
        self.variables.push(("authorizer".to_owned(), asking));
        self
    }

    /// `variables.<name>`. One that fails takes down those who read it, and only them.
    pub fn define(&mut self, name: &str, expression: &Expression) {
        let value = expression.value(self).unwrap_or_else(|error| {
            let why = match error {
                Unanswered::Failed { why, .. } => why,
                Unanswered::OutOfBudget => error.to_string(),
            };
            Val::Broken(format!("composited variable {name:?} fails to evaluate: {why}").into())
        });
        self.made.insert(name.to_owned(), value);
    }
}

fn environment(names: &Names<'_>) -> Vec<(&'static str, Ty)> {
    let any = || Ty::from(Kind::Dyn);
    let mut all = vec![
        ("object", any()),
        ("oldObject", any()),
        ("namespaceObject", any()),
        ("request", request()),
        ("authorizer", Ty::from(Kind::Opaque("kubernetes.authorization.Authorizer"))),
    ];
    if names.params {
        all.push(("params", any()));
    }
    if !names.variables.is_empty() {
        let fields = names.variables.iter().map(|name| (name.clone(), any())).collect();
        all.push(("variables", Ty::from(Kind::Object(Arc::new(Fields(fields))))));
    }
    all
}

/// The type of `request`: an AdmissionRequest without its objects.
fn request() -> Ty {
    let object = |fields: Vec<(&str, Ty)>| {
        let fields = fields.into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect();
        Ty::from(Kind::Object(Arc::new(Fields(fields))))
    };
    let text = || Ty::from(Kind::String);
    let list = |of: Ty| Ty::from(Kind::List(Box::new(of)));
    let kind = || object(vec![("group", text()), ("version", text()), ("kind", text())]);
    let resource = || object(vec![("group", text()), ("version", text()), ("resource", text())]);
    let extra = Ty::from(Kind::Map(Box::new(text()), Box::new(list(text()))));
    let user =
        object(vec![("username", text()), ("uid", text()), ("groups", list(text())), ("extra", extra)]);
    object(vec![
        ("kind", kind()),
        ("resource", resource()),
        ("subResource", text()),
        ("requestKind", kind()),
        ("requestResource", resource()),
        ("requestSubResource", text()),
        ("name", text()),
        ("namespace", text()),
        ("operation", text()),
        ("userInfo", user),
        ("dryRun", Ty::from(Kind::Bool)),
        ("options", Ty::from(Kind::Dyn)),
    ])
}
